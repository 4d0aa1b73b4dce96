"""Draw a release's pages, with Quarto if it is available, or with the built-in renderer."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.problems import RenderError, keyword
from fairstats.release.contents import Release
from fairstats.report.builtin_renderer import render_builtin
from fairstats.report.page_output import PUBLISHED_VARIABLE, RELEASE_VARIABLE
from fairstats.report.site_pages import PDF_PAGE, images, stage
from fairstats.report.site_settings import OWN_PAGES

#: The first Quarto that draws the pages; `_quarto.yml` requires it too.
_OLDEST_QUARTO = (1, 9)
#: The modules with which Quarto runs the cells in this Python.
_QUARTO_NEEDS = ("ipykernel", "nbclient", "yaml")

Renderer = Literal["auto", "quarto", "builtin"]

#: The index that a reader of the site searches, in the form of Quarto's: one entry per page.
SEARCH_INDEX = "search.json"
#: Left out: the tables have the figures, and formulas and drawings contain no words.
_SILENT = frozenset(("script", "style", "svg", "math", "td", "h1"))


def render(release: Release, *, site: Path, pdf: Path, renderer: Renderer = "auto") -> str:
    """Draw the site and the PDF of a release.

    Parameters
    ----------
    release : Release
        A folder with estimates, manifest and benchmarks.
    site : Path
        The folder for the HTML pages.
    pdf : Path
        The file for the PDF.
    renderer : {"auto", "quarto", "builtin"}
        ``auto`` uses Quarto 1.9 or newer if it is on the path, else the built-in renderer.

    Returns
    -------
    str
        The renderer of the pages, with its version.

    Raises
    ------
    RenderError
        If Quarto is required but cannot be used, or a page cannot be drawn.
    """
    program = None
    if renderer != "builtin" and all(map(find_spec, _QUARTO_NEEDS)):
        program = shutil.which("quarto")
    if renderer == "quarto" and program is None:
        raise RenderError(
            "Quarto cannot be used: there is no `quarto` on the path, or no "
            f"{', '.join(_QUARTO_NEEDS)} in this Python. Run pip install 'fairstats[quarto]' for "
            f"all of them, or use {keyword('renderer', 'builtin')}, which draws the same pages"
        )
    version = quarto_version(program) if program else ""
    if program and _parts(version) < _OLDEST_QUARTO:
        if renderer == "quarto":
            raise RenderError(
                f"Quarto {version} is too old: install 1.9 or newer, or use "
                f"{keyword('renderer', 'builtin')}, which draws the same pages"
            )
        program = None
    with temporary_folder("pages") as project:
        pages = stage(release, project)
        if program is None:
            drawn_by = render_builtin(release, project, pages, site=site, pdf=pdf)
        else:
            _render_quarto(program, release, project, site=site, pdf=pdf)
            drawn_by = f"quarto {version}"
        for image in images(project):
            shutil.copyfile(project / image, site / image)
    write_search_index(site)
    return drawn_by


def quarto_version(program: str) -> str:
    """Return the version that a Quarto program reports, e.g. ``1.10.18``."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparison; empty if it has no number."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _render_quarto(program: str, release: Release, project: Path, *, site: Path, pdf: Path) -> None:
    environment = {
        **os.environ,
        RELEASE_VARIABLE: str(release.path.resolve()),
        PUBLISHED_VARIABLE: "1",
        # The pages' cells have to run where fairstats is installed.
        "QUARTO_PYTHON": sys.executable,
    }
    _run([program, "render", "--metadata", "published:true"], project, environment)
    shutil.copytree(project / "_site", site, dirs_exist_ok=True)
    # Outside the website project: there, Quarto would add the PDF to the site.
    folder = project / "pdf"
    shutil.copytree(project / "reports", folder)
    page = folder / Path(PDF_PAGE).name
    _run([program, "render", page.name, "--to", "typst"], folder, environment)
    shutil.move(page.with_suffix(".pdf"), pdf)


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=dict(environment), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise RenderError(f"{' '.join(command)} failed:\n{last}")


def finish(site: Path, project: Path, release: Release) -> None:
    """Complete a site that Quarto drew in a project, without publishing it.

    Parameters
    ----------
    site : Path
        What Quarto drew.
    project : Path
        The project, with the images.
    release : Release
        The release. What its pages link to is copied.
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
    """Write the search index of a drawn site, the same for both renderers.

    Parameters
    ----------
    site : Path
        The folder with the pages; the index becomes ``search.json`` there.
    """
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
