"""Write reports of files outside a release: each is a page of the files' tables, with hashes."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import counted, escape_markdown
from fairstats._lib.installation import __version__
from fairstats._lib.safe_names import file_sha256
from fairstats.answers.files import write_parquet
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.report.page_output import show_markdown
from fairstats.report.render import draw_document
from fairstats.report.site_pages import copy_pages


def write_tables(
    folder: Path,
    tables: Mapping[str, pd.DataFrame],
    *,
    title: str,
    alpha: float,
    sources: Iterable[Path],
    **facts: Any,
) -> Release:
    """Write what a report reads, as a release without a site.

    Parameters
    ----------
    folder : Path
        The folder to write.
    tables : mapping of str to pandas.DataFrame
        The tables, by name.
    title : str
        Plain text.
    alpha : float
        1 − confidence level.
    sources : iterable of Path
        The files that the tables are made from.
    **facts
        Other entries of the manifest.
    """
    for name, table in tables.items():
        write_parquet(table, folder / DOWNLOADS / f"{name}.parquet")
    manifest = {
        "release": title,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "fairstats": __version__,
        "arguments": {"alpha": alpha},
        **facts,
        "sources": [{"name": path.name, "sha256": file_sha256(path)} for path in sources],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return Release(folder)


def draw_report(
    release: Release,
    page: str,
    values: Mapping[str, str] | None = None,
    *,
    title: str,
    to: Literal["html", "pdf"],
    target: Path,
    **options: Any,
) -> None:
    """Draw the report ``reports/_<page>_report.qmd``.

    Parameters
    ----------
    release : Release
        What it shows.
    page : str
        Its name.
    values : mapping, optional
        What replaces ``{{name}}`` in its cells.
    title, to, target, **options
        As for `fairstats.report.render.draw_document`.
    """
    with temporary_folder("report") as project:
        copy_pages(project)
        body = (project / "reports" / f"_{page}_report.qmd").read_text(encoding="utf-8")
        for key, value in (values or {}).items():
            body = body.replace(f"{{{{{key}}}}}", value)
        draw_document(release, project, page, body, title=title, to=to, target=target, **options)


def show_head(release: Release) -> None:
    """Show when the report was made, and from what."""
    manifest = release.manifest
    facts = [str(release.created_at.date())]
    if version := manifest.get("benchmark_version"):
        facts.append(f"version {version}")
    if "items" in manifest:
        facts.append(counted(manifest["items"], "item"))
    facts.append(counted(len(manifest["sources"]), "file"))
    show_markdown(f"::: kicker\n{escape_markdown(' · '.join(facts))}\n:::")


def show_sources(release: Release) -> None:
    """Show the hashes of the files, the rubrics of ratings, the level and the versions."""
    rubrics = ", ".join(f"{rubric.name} {rubric.version}" for rubric in release.rubrics.values())
    lines = [
        *(f"{source['name']}: sha256 {source['sha256']}" for source in release.manifest["sources"]),
        "; ".join(
            [
                *([f"Rubrics: {rubrics}"] if rubrics else []),
                f"alpha = {release.alpha}",
                f"fairstats {__version__}, Python {platform.python_version()}",
            ]
        ),
    ]
    listed = "\n".join(f"- {escape_markdown(line)}" for line in lines)
    show_markdown(f"## Input files and versions\n\n{listed}")
