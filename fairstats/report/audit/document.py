"""Draw the audit report of one model from a release, as one file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from fairstats._lib.problems import InputError, Problem, keyword
from fairstats._lib.safe_names import unique_slugs
from fairstats.release.contents import Release
from fairstats.release.manifest import open_release
from fairstats.report.answer_sets import answer_sets
from fairstats.report.audit.facts import AuditFacts, origin_of, read_facts
from fairstats.report.separate_reports import draw_report
from fairstats.report.site_pages import benchmark_conditions


def report_model(
    model: str,
    release: str | os.PathLike[str],
    *,
    to: Literal["pdf", "html"] = "pdf",
    out: str | os.PathLike[str] | None = None,
    crosswalk: bool = False,
    facts: AuditFacts | str | os.PathLike[str] | None = None,
    finish: Callable[[bytes], bytes] = bytes,
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
        The file to write, by default in the current folder and named after release and model. A
        name without the format's suffix gets it.
    crosswalk : bool
        Whether to append what laws and standards ask for, next to what the report shows of it.
    facts : AuditFacts or path, optional
        What the auditor declares, or the TOML file with it
        (`fairstats.report.audit.facts.read_facts`).
    finish : callable
        Makes the content of the file from the drawn one, e.g. signs it
        (`fairstats.publishing.report_signature.report_signer`).

    Returns
    -------
    Path
        The report.

    Raises
    ------
    InputError
        As `fairstats.release.manifest.open_release` and `read_facts`. Also if the release has no
        such model, or the file's name is for the other format.
    fairstats.report.render.PageError
        If the report cannot be drawn. Then no file is written.

    Notes
    -----
    Every figure is read from the release, also those in sentences. The report is drawn by pandoc
    and typst, so it is the same with and without Quarto. The keywords of a PDF state the model, the
    sha256 of the release's manifest, and the declared facts.
    """
    chosen = open_release(release)
    name = model_of(chosen, model)
    given = facts if isinstance(facts, AuditFacts) else read_facts(facts) if facts else AuditFacts()
    target = _target(out or f"audit-{chosen.name}-{unique_slugs(chosen.models)[name]}", to)
    draw_report(
        chosen,
        "audit",
        {"SLUG": chosen.slugs[name], "FACTS": given.encoded, "CROSSWALK": str(crosswalk)},
        title=f"Audit of {name}",
        to=to,
        target=target,
        headline=True,
        keywords=str(origin_of(chosen, name, crosswalk=crosswalk, facts=given)),
        conditions=benchmark_conditions(a.benchmark for a in answer_sets(chosen, name)),
        finish=finish,
    )
    return target


def model_of(release: Release, slug: str) -> str:
    """Return the model with this name or page address.

    Raises
    ------
    InputError
        If the release has no such model.
    """
    for model, own in release.slugs.items():
        if slug in (model, own):
            return model
    known = ", ".join(release.models)
    raise InputError([Problem(slug, f"is no model of release {release.name}", f"one of: {known}")])


def _target(out: str | os.PathLike[str], to: str) -> Path:
    """Return the file to write, with a suffix; the given name may lack it, and may have dots."""
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix == f".{to}":
        return path
    if suffix in (".pdf", ".html"):
        remedy = f"name a file that ends in .{to}, or use {keyword('to', suffix[1:])}"
        raise InputError([Problem(str(path), f"is not a name for {to}", remedy)])
    return path.with_name(f"{path.name}.{to}")
