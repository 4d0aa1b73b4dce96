"""List the pages of a release, and set up the project folder that they are drawn from."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fairstats._lib.formatting import escape_markdown, quoted
from fairstats._lib.installation import resource
from fairstats._lib.problems import input_error
from fairstats.answers.strategies import read_strategy
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.benchmarks.kinds import CHOICE, DECISION, KINDS, LEVEL
from fairstats.comparisons.compare import STRATEGY, VERSION
from fairstats.release.contents import Release
from fairstats.report.about.methods import has_benchmarks
from fairstats.report.board.figures import is_long
from fairstats.report.site_settings import (
    HEADER,
    MADE,
    NOTES,
    OWN_PAGES,
    SETTINGS,
    read_pages,
    read_settings,
    shown_text,
)

#: What a release may have. A page of that name has content if the release has this.
_HAS: Mapping[str, Callable[[Release], bool]] = {
    "samples": lambda release: "same_prompt_agreement" in set(release.estimates["metric"]),
    "comparisons": lambda release: not release.comparisons.empty,
    "versions": lambda release: VERSION in set(release.all_comparisons["kind"]),
    "strategies": lambda release: STRATEGY in set(release.all_comparisons["kind"]),
    "retrieval": lambda release: (
        any(read_strategy(str(name)).retriever for name in release.estimates["strategy"].unique())
        or not release.table("overlap").empty
    ),
    "ratings": lambda release: not release.ratings.empty,
    "vignettes": lambda release: not release.table("vignette_findings").empty,
    "benchmarks": has_benchmarks,
    "replication": lambda release: not release.replication.empty,
    "all-models": lambda release: any(map(is_long, release.boards)),
}


@dataclass(frozen=True)
class Page:
    """A page that a site includes if it has content.

    Attributes
    ----------
    path : str
        Its ``.qmd`` below the project's folder; the HTML is at the same place.
    text : str
        Its name in the navigation.
    in_navigation : bool
        Whether the navigation lists it; if not, other pages link to it.
    """

    path: str
    text: str
    in_navigation: bool = True

    def has_content(self, release: Release) -> bool:
        """Check whether the page has content for a release; if not, it is not published."""
        name = Path(self.path).stem
        return name not in _HAS or _HAS[name](release)


#: The pages of a site, in the order of its navigation; each model has one on top.
PAGES = (
    Page("index.qmd", "Leaderboard"),
    Page("reports/all-models.qmd", "All models", in_navigation=False),
    Page("reports/versions.qmd", "Compare versions"),
    Page("reports/strategies.qmd", "Compare prompts"),
    Page("reports/retrieval.qmd", "Retrieval"),
    Page("reports/ratings.qmd", "Ratings"),
    Page("reports/vignettes.qmd", "Vignettes"),
    Page("reports/benchmarks.qmd", "Benchmarks", in_navigation=False),
    Page("reports/replication.qmd", "Published vs recomputed"),
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


#: The index that a reader of the site searches, in the form of Quarto's: one entry per page.
SEARCH_INDEX = "search.json"
#: Left out: the tables have the figures, and formulas and drawings contain no words.
_SILENT = frozenset(("script", "style", "svg", "math", "td", "h1"))
#: A place in a template for the text of a page, or for one of its sections.
_PAGE_TEXT = re.compile(r"\{\{(index\.qmd|reports/\w+\.qmd)(?:#([\w ]+))?\}\}")


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
        "keyed_decisions": any(one.has_key for one in known if one.kind == DECISION),
        "keyed_levels": any(one.has_key for one in known if one.kind == LEVEL),
        "clusters": any(benchmark.cluster for benchmark in known),
        "few": any(benchmark.few_units for benchmark in known),
        "controls": any(attribute.control for attribute in attributes),
        "neutral": any(attribute.name == BASELINE for attribute in attributes),
        "selected": any(benchmark.selected_on for benchmark in known),
        "slanted": any(benchmark.slanted for benchmark in known),
    }


def conditions(release: Release) -> dict[str, bool]:
    """Return what a release has: each name is that of a ``when-meta`` without ``has.``."""
    return benchmark_conditions(release.benchmarks.values()) | {
        name: has(release) for name, has in _HAS.items()
    }


def stage(release: Release, project: Path) -> list[str]:
    """Fill an empty project folder with all that a renderer needs; return the pages of the site.

    It contains what the publisher of the release changed in its pages.
    """
    copy_pages(project)
    if (release.path / OWN_PAGES).is_dir():
        read_pages(release.path / OWN_PAGES).write(project)
    for page in PAGES:
        if not page.has_content(release):
            (project / page.path).unlink()
    return prepare(project, release)


def copy_pages(project: Path) -> None:
    """Copy the pages, the style sheet and the templates into an empty folder."""
    for name in (PROJECT, SETTINGS, "index.qmd"):
        shutil.copyfile(resource(name), project / name)
    shutil.copytree(
        resource("reports"),
        project / "reports",
        ignore=shutil.ignore_patterns(*MADE),
    )


def write_built_in(folder: Path) -> list[str]:
    """Write the pages of fairstats, to be edited, into a new folder: a Quarto project."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise input_error(folder, "is not empty", "choose a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    copy_pages(folder)
    # Those of documents, which are not part of a site.
    for name in ("audit", "ratings", "vignettes"):
        (folder / "reports" / f"_{name}_report.qmd").unlink()
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in files)


def prepare(project: Path, release: Release, *, preview: bool = False) -> list[str]:
    """Write navigation, models' pages and the PDF's page into a project folder; return all pages.

    With `preview`, pages allow the script with which Quarto's preview reloads them.
    """
    settings = read_settings(project)
    shown = [page for page in PAGES if page.has_content(release)] + own_pages(project)
    names = {Path(page.path).stem: page for page in shown}
    listed = settings.navigation or [n for n, page in names.items() if page.in_navigation]
    links = [
        {"text": shown_text(names[name].text), "href": f"/{names[name].path}"}
        for name in listed
        if name in names
    ]
    has, frame = conditions(release), settings.metadata
    # JSON is YAML. Quarto takes `navigation` for an option of slides and refuses the list.
    metadata: dict[str, Any] = {
        "pages": links,
        "release": shown_text(release.name),
        "has": has,
        "frame": frame,
    }
    if preview:
        # Quarto's preview watches the files that the metadata name.
        notes = sorted((project / NOTES).glob("*.md"))
        metadata |= {"preview": True, "watched": [n.relative_to(project).as_posix() for n in notes]}
        _forget_frozen(project, notes)
    # After this script Quarto reads again which pages it draws: those with content.
    paths = {page.path for page in shown}
    empty = [f"!/{page.path}" for page in PAGES if page.path not in paths]
    if empty:
        metadata["project"] = {"render": empty}
    _write(project / NAVIGATION, json.dumps(metadata, indent=1))
    template = (project / "reports" / "_leaderboard.qmd").read_text(encoding="utf-8")
    for name, value in {"HAS": has, "FRAME": frame}.items():
        template = template.replace(f"{{{{{name}}}}}", json.dumps(value))
    _write(project / PDF_PAGE, with_page_texts(template, project))
    return [*(page.path for page in shown), *_model_pages(project, release)]


def _forget_frozen(project: Path, notes: Iterable[Path]) -> None:
    """Remove the results of cells that the preview keeps, if they are older than a note."""
    frozen = project / ".quarto" / "_freeze"
    if frozen.is_dir() and any(note.stat().st_mtime > frozen.stat().st_mtime for note in notes):
        shutil.rmtree(frozen)


def _model_pages(project: Path, release: Release) -> list[str]:
    """Write one page per model; remove those of other models."""
    folder = project / MODEL_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.qmd"):
        if path.stem not in release.slugs.values():
            path.unlink()
    template = (project / "reports" / "_model.qmd").read_text(encoding="utf-8")
    for model, slug in release.slugs.items():
        # A JSON string is also a YAML string; the name in it is escaped for Markdown too.
        title = json.dumps(escape_markdown(quoted(model)), ensure_ascii=False)
        text = template.replace('"{{TITLE}}"', title).replace("{{SLUG}}", slug)
        _write(folder / f"{slug}.qmd", text)
    return [f"{MODEL_FOLDER}/{slug}.qmd" for slug in release.slugs.values()]


def _write(path: Path, text: str) -> None:
    """Write a file if its content changes: Quarto's preview draws again what was written."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def own_pages(project: Path) -> list[Page]:
    """Return the pages of a project that are not in `PAGES`, named by their titles."""
    known = {PDF_PAGE, *(page.path for page in PAGES)}
    found = []
    for path in sorted((project / "reports").glob("[!_.]*.qmd")):
        name = path.relative_to(project).as_posix()
        if name not in known:
            title = re.search(r"^title: *(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            text = title[1].strip().strip("\"'") if title else path.stem
            found.append(Page(name, text or path.stem))
    return found


def page_files(release: Release) -> set[str]:
    """List the files that drawing may produce; a page without content is not drawn."""
    pages = [page.path for page in (*PAGES, *own_pages(release.path / OWN_PAGES))]
    pages += [f"{MODEL_FOLDER}/{slug}.qmd" for slug in release.slugs.values()]
    html = {Path(page).with_suffix(".html").as_posix() for page in pages}
    return {*html, STYLE_SHEET, *images(release.path / OWN_PAGES)}


def images(project: Path) -> list[str]:
    """Return the images next to the pages."""
    found = [*(project / "reports").glob("*.png"), *(project / "reports").glob("*.svg")]
    return sorted(path.relative_to(project).as_posix() for path in found)


def with_page_texts(template: str, project: Path) -> str:
    """Fill the places of a template that name a page with the page's text, without its header.

    A place is ``{{reports/methods.qmd}}``, or ``{{reports/methods.qmd#Ratings}}`` for the text
    below that heading, up to the next one or to the end of the conditional part that it is in.
    """

    def text_of(place: re.Match[str]) -> str:
        text = HEADER.sub("", (project / place[1]).read_text(encoding="utf-8")).strip()
        if place[2] is None:
            return text
        _, _, below = text.partition(f"\n## {place[2]}\n")
        return re.split(r"^(?:## |:::$)", below, maxsplit=1, flags=re.MULTILINE)[0].strip()

    return _PAGE_TEXT.sub(text_of, template)


def finish(site: Path, project: Path, release: Release) -> None:
    """Complete a site that Quarto drew in a project, without publishing it.

    What its pages link to is copied.
    """
    drawn = {"index.html", "reports", SEARCH_INDEX, OWN_PAGES}
    for path in release.path.iterdir():
        if path.is_dir() and path.name not in drawn:
            shutil.copytree(path, site / path.name, dirs_exist_ok=True)
        elif path.name not in drawn:
            shutil.copyfile(path, site / path.name)
    for image in images(project):
        shutil.copyfile(project / image, site / image)
    write_search_index(site)


class _Main(HTMLParser):
    """The title and the words of a page's main part."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.title: list[str] = []
        self.text: list[str] = []
        self._open = {"main": 0, "h1": 0, "silent": 0}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._count(tag, 1)

    def handle_endtag(self, tag: str) -> None:
        self._count(tag, -1)

    def handle_data(self, data: str) -> None:
        if self._open["main"] and self._open["h1"]:
            self.title.append(data)
        elif self._open["main"] and not self._open["silent"]:
            self.text += data.split()

    def _count(self, tag: str, change: int) -> None:
        if tag in ("main", "h1"):
            self._open[tag] += change
        self._open["silent"] += change * (tag in _SILENT)


def write_search_index(site: Path) -> None:
    """Write the search index of a drawn site, the same for both renderers."""
    entries = []
    for path in sorted(site.rglob("*.html")):
        page, href = _Main(path.read_text(encoding="utf-8")), path.relative_to(site).as_posix()
        if href.startswith(f"{OWN_PAGES}/"):  # the publisher's template
            continue
        text = " ".join(page.text)
        title = " ".join("".join(page.title).split())
        entries.append(
            {"objectID": href, "href": href, "title": title, "section": "", "text": text}
        )
    content = json.dumps(entries, ensure_ascii=False, indent=1)
    (site / SEARCH_INDEX).write_text(content, encoding="utf-8")
