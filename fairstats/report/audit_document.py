"""Draw the audit report of one model from a release, as one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from fairstats._lib.safe_names import unique_slugs
from fairstats._lib.temporary_folders import temporary_folder
from fairstats.release.folder import open_release
from fairstats.report.audit_sections import model_of
from fairstats.report.document import draw_document
from fairstats.report.project import stage


def report_model(
    model: str,
    release: str | os.PathLike[str],
    *,
    to: Literal["pdf", "html"] = "pdf",
    out: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the audit report of one model.

    Parameters
    ----------
    model : str
        The model's name, or the last part of its page's address.
    release : path
        The release's folder.
    to : {"pdf", "html"}
        A typeset PDF, or one HTML file with everything in it.
    out : path, optional
        Where to; by default a file in the current folder, named after release and model.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    InputError
        As `fairstats.release.folder.open_release`; and when the release has no such model.
    fairstats.report.builtin.PageError
        When the report cannot be drawn; nothing is written then.

    Notes
    -----
    Every figure is read from the release, also those in sentences. The report is drawn by pandoc
    and typst, and is the same whether Quarto is there or not.
    """
    chosen = open_release(release)
    name = model_of(chosen, model)
    target = Path(out or f"audit-{chosen.name}-{unique_slugs(chosen.models)[name]}.{to}")
    with temporary_folder("report") as project:
        stage(chosen, project)
        body = (project / "reports" / "_audit.qmd").read_text(encoding="utf-8")
        draw_document(
            chosen,
            project,
            "audit",
            body.replace("{{SLUG}}", chosen.slugs[name]),
            title=f"Audit of {name}",
            to=to,
            target=target,
        )
    return target
