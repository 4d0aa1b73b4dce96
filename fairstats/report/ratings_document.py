"""Write a report of ratings as one file, for ratings without letter answers."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import escape_markdown
from fairstats._lib.installation import __version__
from fairstats._lib.safe_names import file_sha256
from fairstats.answers.files import write_parquet
from fairstats.ratings.files import rating_files, read_ratings
from fairstats.ratings.rubrics import Rubrics, copy_rubrics, load_rubrics
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.report.builtin_renderer import draw_document
from fairstats.report.page_output import show_markdown
from fairstats.report.site_pages import copy_pages


def report_ratings(
    ratings: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    to: Literal["pdf", "html"] = "html",
    out: str | os.PathLike[str] | None = None,
    title: str = "Ratings",
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> Path:
    """Write a report of ratings: the Ratings page of a site, with methods and hashes.

    Parameters
    ----------
    ratings : path, or iterable of paths
        As for `fairstats.read_ratings`.
    to : {"html", "pdf"}
        One HTML file with everything in it, or a typeset PDF.
    out : path, optional
        The file to write (default: ``ratings.html`` or ``ratings.pdf`` in the current folder).
    title : str
        The report's title.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Rubrics that are not built in.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    InputError
        If the ratings have a problem.
    fairstats.report.builtin_renderer.PageError
        If the report cannot be drawn. Then no file is written.
    """
    paths = [ratings] if isinstance(ratings, (str, os.PathLike)) else list(ratings)
    frame = read_ratings(paths, rubrics=rubrics)
    known = load_rubrics(frame["rubric"].unique(), rubrics)
    files = rating_files(paths) or [Path(path) for path in paths]
    target = Path(out or f"ratings.{to}")
    with temporary_folder("report") as temporary:
        folder, project = temporary / "ratings", temporary / "pages"
        project.mkdir()
        made = Release(folder)
        write_parquet(frame, made.ratings_path)
        for name, table in RATING_TABLES.items():
            found = table.make(frame, alpha=alpha, rubrics=known)
            write_parquet(found, folder / DOWNLOADS / f"{name}.parquet")
        copy_rubrics(known, folder / "rubrics")
        manifest = {
            "release": title,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "arguments": {"alpha": alpha},
            "sources": [{"name": path.name, "sha256": file_sha256(path)} for path in files],
        }
        (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        copy_pages(project)
        body = (project / "reports" / "_ratings_report.qmd").read_text(encoding="utf-8")
        draw_document(made, project, "ratings", body, title=title, to=to, target=target)
    return target


def show_head(release: Release) -> None:
    """Show when the report was made, and from how many files."""
    count = len(release.manifest["sources"])
    files = f"{count} file{'' if count == 1 else 's'}"
    show_markdown(f"::: kicker\nRatings · {release.created_at.date()} · {files}\n:::")


def show_provenance(release: Release) -> None:
    """Show hashes, versions and arguments."""
    sources = release.manifest["sources"]
    rubrics = ", ".join(f"{r.name} {r.version}" for r in release.rubrics.values())
    lines = [
        *(f"{source['name']}: sha256 {source['sha256']}" for source in sources),
        f"Rubrics: {rubrics}; alpha = {release.alpha}; fairstats {__version__}, "
        f"Python {platform.python_version()}",
    ]
    listed = "\n".join(f"- {escape_markdown(line)}" for line in lines)
    show_markdown(f"## Input files and versions\n\n{listed}")
