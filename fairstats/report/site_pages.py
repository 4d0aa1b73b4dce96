"""List the pages of a release, and set up the project folder that they are drawn from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairstats._lib.formatting import escape_markdown
from fairstats._lib.installation import resource
from fairstats.answers.strategies import read_strategy
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.compare import STRATEGY, VERSION
from fairstats.release.contents import Release
from fairstats.report.about.benchmarks import has_benchmarks


def _always(release: Release) -> bool:
    return True


@dataclass(frozen=True)
class Page:
    """A page that a site includes if it has content.

    Attributes
    ----------
    path : str
        Its ``.qmd`` below the project's folder; the HTML is at the same place.
    text : str
        Its name in the navigation.
    has_content : callable
        Whether it has content for a release. An empty page is not published.
    in_navigation : bool
        Whether the navigation lists it; if not, other pages link to it.
    """

    path: str
    text: str
    has_content: Callable[[Release], bool] = _always
    in_navigation: bool = True


def _compares(kind: str) -> Callable[[Release], bool]:
    return lambda release: kind in set(release.all_comparisons["kind"])


def _has_retrieval(release: Release) -> bool:
    strategies = map(str, release.estimates["strategy"].unique())
    asked = any(read_strategy(strategy).retriever for strategy in strategies)
    return asked or not release.table("overlap").empty


#: The pages of a site, in the order of its navigation; each model has one on top.
PAGES = (
    Page("index.qmd", "Leaderboard"),
    Page("reports/versions.qmd", "Compare versions", _compares(VERSION)),
    Page("reports/strategies.qmd", "Compare prompts", _compares(STRATEGY)),
    Page("reports/retrieval.qmd", "Retrieval", _has_retrieval),
    Page("reports/ratings.qmd", "Ratings", lambda r: not r.ratings.empty),
    Page("reports/vignettes.qmd", "Vignettes", lambda r: not r.table("vignette_findings").empty),
    Page("reports/benchmarks.qmd", "Benchmarks", has_benchmarks, in_navigation=False),
    Page("reports/replication.qmd", "Published vs recomputed", lambda r: not r.replication.empty),
    Page("reports/releases.qmd", "Releases", in_navigation=False),
    Page("reports/methods.qmd", "Methods"),
    Page("reports/data.qmd", "Data"),
)
#: The texts that speak of right answers, and have another version for releases without choices.
_BY_KIND = ("_methods", "_data")
PDF_PAGE = "reports/leaderboard.qmd"
MODEL_FOLDER = "reports/models"
PROJECT = "_quarto.yml"
#: The navigation of the release that is drawn; both renderers read it.
NAVIGATION = "reports/navigation.yml"
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
    if CHOICE not in {benchmark.kind for benchmark in release.benchmarks.values()}:
        for name in _BY_KIND:
            shutil.copyfile(
                project / "reports" / f"{name}_kinds.qmd", project / f"reports/{name}.qmd"
            )
    for page in PAGES:
        if not page.has_content(release):
            (project / page.path).unlink()
    return prepare(project, release)


def copy_pages(project: Path) -> None:
    """Copy the pages, the style sheet and the templates into an empty folder."""
    for name in (PROJECT, "index.qmd"):
        shutil.copyfile(resource(name), project / name)
    shutil.copytree(
        resource("reports"),
        project / "reports",
        ignore=shutil.ignore_patterns(
            "models", "assets", ".quarto", "__pycache__", "*.pdf", Path(NAVIGATION).name
        ),
    )


def prepare(project: Path, release: Release) -> list[str]:
    """Write the navigation and the models' pages into a project folder.

    Returns
    -------
    list of str
        All pages of the site.
    """
    shown = [page for page in PAGES if page.has_content(release)]
    links = [{"text": p.text, "href": f"/{p.path}"} for p in shown if p.in_navigation]
    # JSON is YAML. Quarto takes `navigation` for an option of slides and refuses the list.
    text = json.dumps({"pages": links, "release": escape_markdown(release.name)}, indent=1)
    (project / NAVIGATION).write_text(text, encoding="utf-8")
    folder = project / MODEL_FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    template = (project / "reports" / "_model.qmd").read_text(encoding="utf-8")
    pages = []
    for model, slug in release.slugs.items():
        # A JSON string is also a YAML string; the name in it is escaped for Markdown too.
        text = template.replace(
            '"{{TITLE}}"', json.dumps(escape_markdown(model), ensure_ascii=False)
        )
        page = f"{MODEL_FOLDER}/{slug}.qmd"
        (project / page).write_text(text.replace("{{SLUG}}", slug), encoding="utf-8")
        pages.append(page)
    return [*(page.path for page in shown), *pages]
