"""Write the files of a release that follow from its tables, for publishing and verifying."""

from __future__ import annotations

import importlib.metadata
from functools import cache
from pathlib import Path

from fairstats._lib.table_text import write_text
from fairstats.answers.files import write_parquet
from fairstats.exports.site_files import write_site_files
from fairstats.publishing.diff import changes
from fairstats.publishing.json_api import write_api
from fairstats.release.citation import citation_cff
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.release.downloads import write_table
from fairstats.release.tables import ReleaseInputs
from fairstats.report.render import Renderer, render

API = "api"
CITATION = "CITATION.cff"
PDF = "leaderboard.pdf"
#: The tables of changes since the previous release. The first release does not have them.
CHANGES = ("answer_set_changes", "figure_changes", "verdict_changes")

_LIBRARIES = (
    "great-tables",
    "narwhals",
    "nbclient",
    "numpy",
    "pandas",
    "pandera",
    "plotnine",
    "pyarrow",
    "pypandoc_binary",
    "scipy",
    "statsmodels",
    "typst",
)


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that compute and draw a release."""
    return {name: importlib.metadata.version(name) for name in _LIBRARIES}


def write_inputs(of: ReleaseInputs, release: Release) -> None:
    """Write the inputs of a release's tables, which were checked, into its folder."""
    write_parquet(of.answers, release.answers_path)
    write_parquet(of.retrievals, release.retrievals_path)
    write_parquet(of.ratings, release.ratings_path)
    write_parquet(of.measures, release.measures_path)
    write_parquet(of.submissions, release.submissions_path)


def write_changes(old: Release, new: Release, folder: Path) -> None:
    """Write the tables of changes since the previous release."""
    found = changes(old, new)
    tables = (found.answer_sets, found.figures, found.verdicts)
    for name, table in zip(CHANGES, tables, strict=True):
        write_table(table, folder / DOWNLOADS, name)


def write_documents(release: Release, folder: Path) -> None:
    """Write the JSON API, its badges, the citation file and the exports among the downloads."""
    write_api(release, folder / API, model_pages="../reports/models")
    write_text(citation_cff(release), folder / CITATION)
    write_site_files(release, folder)


def draw_pages(release: Release, folder: Path, renderer: Renderer) -> str:
    """Draw the pages and the PDF; return the name of the renderer."""
    return render(release, site=folder, pdf=folder / PDF, renderer=renderer)
