"""What pages a release has, and the project folder they are drawn from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from fairstats._lib.formatting import escape_markdown
from fairstats._lib.resources import resource
from fairstats.release.contents import Release
from fairstats.report.theme import style_sheet

#: The pages of every site; one a model comes on top. Each becomes HTML at the same place.
FIXED_PAGES = (
    "index.qmd",
    "reports/versions.qmd",
    "reports/strategies.qmd",
    "reports/retrieval.qmd",
    "reports/ratings.qmd",
    "reports/vignettes.qmd",
    "reports/replication.qmd",
    "reports/benchmarks.qmd",
    "reports/releases.qmd",
    "reports/methods.qmd",
    "reports/data.qmd",
)
PDF_PAGE = "reports/leaderboard.qmd"
MODEL_FOLDER = "reports/models"
PROJECT = "_quarto.yml"
THEME = "reports/theme.scss"
STYLE_SHEET = "reports/style.css"
HTML_TEMPLATE = "reports/template.html"
TYPST_TEMPLATE = "reports/template.typ"


def stage(release: Release, project: Path) -> list[str]:
    """Make a project folder with everything that a renderer needs for a release.

    Parameters
    ----------
    release : Release
        The release to draw.
    project : Path
        An empty folder.

    Returns
    -------
    list of str
        The pages of the site, as paths below `project`.
    """
    copy_pages(project)
    return prepare(project, release)


def copy_pages(project: Path) -> None:
    """Copy the pages, the style sheet and the templates into an empty folder."""
    for name in (PROJECT, "index.qmd"):
        shutil.copyfile(resource(name), project / name)
    shutil.copytree(
        resource("reports"),
        project / "reports",
        ignore=shutil.ignore_patterns("models", "assets", ".quarto", "__pycache__", "*.pdf"),
    )
    write_style_sheet(project)


def write_style_sheet(project: Path) -> None:
    """Write the style sheet of a project folder from its theme."""
    (project / STYLE_SHEET).write_text(style_sheet(project / THEME), encoding="utf-8")


def prepare(project: Path, release: Release) -> list[str]:
    """Write the models' pages into a project folder.

    Returns
    -------
    list of str
        All pages of the site.
    """
    folder = project / MODEL_FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    template = (project / "reports" / "_model.qmd").read_text(encoding="utf-8")
    pages = []
    for model, slug in release.slugs.items():
        # A JSON string is a YAML string; the name in it is escaped for Markdown besides.
        text = template.replace(
            '"{{TITLE}}"', json.dumps(escape_markdown(model), ensure_ascii=False)
        )
        page = f"{MODEL_FOLDER}/{slug}.qmd"
        (project / page).write_text(text.replace("{{SLUG}}", slug), encoding="utf-8")
        pages.append(page)
    return [*FIXED_PAGES, *pages]
