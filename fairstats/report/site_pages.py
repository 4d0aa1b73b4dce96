"""List the pages of a release, and set up the project folder that they are drawn from."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fairstats._lib.formatting import escape_markdown
from fairstats._lib.installation import resource
from fairstats.answers.strategies import read_strategy
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.benchmarks.kinds import CHOICE, KINDS
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
    return lambda release: kind in set(release.comparisons["kind"])


def _has_retrieval(release: Release) -> bool:
    strategies = map(str, release.estimates["strategy"].unique())
    asked = any(read_strategy(strategy).retriever for strategy in strategies)
    return asked or not release.table("overlap").empty


def _has_ratings(release: Release) -> bool:
    return not release.ratings.empty


def _has_vignettes(release: Release) -> bool:
    return not release.table("vignette_findings").empty


#: The pages of a site, in the order of its navigation; each model has one on top.
PAGES = (
    Page("index.qmd", "Leaderboard"),
    Page("reports/versions.qmd", "Compare versions", _compares(VERSION)),
    Page("reports/strategies.qmd", "Compare prompts", _compares(STRATEGY)),
    Page("reports/retrieval.qmd", "Retrieval", _has_retrieval),
    Page("reports/ratings.qmd", "Ratings", _has_ratings),
    Page("reports/vignettes.qmd", "Vignettes", _has_vignettes),
    Page("reports/benchmarks.qmd", "Benchmarks", has_benchmarks, in_navigation=False),
    Page("reports/replication.qmd", "Published vs recomputed", lambda r: not r.replication.empty),
    Page("reports/releases.qmd", "Releases", in_navigation=False),
    Page("reports/methods.qmd", "Methods"),
    Page("reports/data.qmd", "Data"),
)
PDF_PAGE = "reports/leaderboard.qmd"
MODEL_FOLDER = "reports/models"
PROJECT = "_quarto.yml"
#: The navigation of the release that is drawn; both renderers read it.
NAVIGATION = "reports/navigation.yml"
STYLE_SHEET = "reports/style.css"
HTML_TEMPLATE = "reports/template.html"
TYPST_TEMPLATE = "reports/template.typ"


#: A place in a template for the text of a page, or for one of its sections.
_PAGE_TEXT = re.compile(r"\{\{(index\.qmd|reports/\w+\.qmd)(?:#([\w ]+))?\}\}")
_HEADER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def benchmark_conditions(benchmarks: Iterable[Benchmark]) -> dict[str, bool]:
    """Return what benchmarks have, by the names that conditional content of pages uses."""
    known = list(benchmarks)
    used = {benchmark.kind.name for benchmark in known}
    attributes = [one for benchmark in known for one in benchmark.attributes.values()]
    return {
        **{name: name in used for name in KINDS},
        "other": used != {CHOICE.name},
        "shares": any(not benchmark.kind.numeric for benchmark in known),
        "numbers": any(benchmark.kind.numeric for benchmark in known),
        "options": any(benchmark.options for benchmark in known),
        "key": any(benchmark.has_key for benchmark in known),
        "clusters": any(benchmark.cluster for benchmark in known),
        "controls": any(attribute.control for attribute in attributes),
        "neutral": any(attribute.name == BASELINE for attribute in attributes),
        "selected": any(benchmark.selected_on for benchmark in known),
        "slanted": any(benchmark.slanted for benchmark in known),
    }


def conditions(release: Release) -> dict[str, bool]:
    """Return what a release has: each name is that of a ``when-meta`` without ``has.``."""
    return benchmark_conditions(release.benchmarks.values()) | {
        "samples": "same_prompt_agreement" in set(release.estimates["metric"]),
        "comparisons": not release.comparisons.empty,
        "retrieval": _has_retrieval(release),
        "ratings": _has_ratings(release),
        "vignettes": _has_vignettes(release),
    }


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
    """Write the navigation, the models' pages and the page of the PDF into a project folder.

    Returns
    -------
    list of str
        All pages of the site.
    """
    shown = [page for page in PAGES if page.has_content(release)]
    links = [{"text": p.text, "href": f"/{p.path}"} for p in shown if p.in_navigation]
    # JSON is YAML. Quarto takes `navigation` for an option of slides and refuses the list.
    has = conditions(release)
    metadata = {"pages": links, "release": escape_markdown(release.name), "has": has}
    (project / NAVIGATION).write_text(json.dumps(metadata, indent=1), encoding="utf-8")
    template = (project / "reports" / "_leaderboard.qmd").read_text(encoding="utf-8")
    document = with_page_texts(template.replace("{{HAS}}", json.dumps(has)), project)
    (project / PDF_PAGE).write_text(document, encoding="utf-8")
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


def with_page_texts(template: str, project: Path) -> str:
    """Fill the places of a template that name a page with the page's text, without its header.

    A place is ``{{reports/methods.qmd}}``, or ``{{reports/methods.qmd#Ratings}}`` for the text
    below that heading, up to the next one or to the end of the conditional part that it is in.
    """

    def text_of(place: re.Match[str]) -> str:
        text = _HEADER.sub("", (project / place[1]).read_text(encoding="utf-8")).strip()
        if place[2] is None:
            return text
        _, _, below = text.partition(f"\n## {place[2]}\n")
        return re.split(r"^(?:## |:::$)", below, maxsplit=1, flags=re.MULTILINE)[0].strip()

    return _PAGE_TEXT.sub(text_of, template)
