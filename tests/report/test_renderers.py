"""Both renderers draw the same pages; an error names the failing page and the reason."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fairstats.answers.files import write_answers
from fairstats.publishing.publish import publish
from fairstats.release.contents import Release
from fairstats.report import render
from fairstats.report.page_output import RELEASE_VARIABLE
from fairstats.report.render import (
    PageError,
    RenderError,
    quarto_version,
    render_builtin,
    render_document,
)
from fairstats.report.site_pages import stage

from .conftest import HOSTILE, answers_of_models
from .reading import pdf_words, squeezed

_SILENT = ("script", "style", "math", "title")
quarto_only = pytest.mark.skipif(shutil.which("quarto") is None, reason="no quarto on the path")


class _Structure(HTMLParser):
    """The parts of a page: its type, elements, folded parts, links and words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.doctype = ""
        self.elements: list[str] = []
        #: The elements of each folded part and whether it is open, in the order of their ends.
        self.folded: list[tuple[bool, Counter[str]]] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self._open: list[tuple[bool, Counter[str]]] = []
        self._silent = 0
        self.feed(text)

    def handle_decl(self, decl: str) -> None:
        self.doctype = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append(tag)
        for _, inside in self._open:
            inside[tag] += 1
        if tag == "details":
            self._open.append(("open" in attributes, Counter()))
        if tag == "a":
            self.links.append((attributes["href"] or "").removeprefix("./"))
        self._silent += tag in _SILENT

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in _SILENT
        if tag == "details":
            self.folded.append(self._open.pop())

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words += data.split()


def test_folded_parts_have_their_content(pages):
    folded = [part for text in pages.values() for part in _Structure(text).folded]
    assert len(folded) > 10
    assert not any(is_open for is_open, _ in folded)
    assert all(set(inside) - {"summary"} for _, inside in folded), "a folded part is empty"


def test_every_page_is_drawn_in_standards_mode(pages):
    # Quarto drops the document type in lower case; browsers then draw the page in quirks mode.
    for name, text in pages.items():
        assert text.startswith("<!DOCTYPE html>\n"), name


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Draw a release with the built-in renderer, and with Quarto under a user's settings."""
    folder = tmp_path_factory.mktemp("both")
    answers = write_answers(answers_of_models(("Model-1", *HOSTILE)), folder / "a.parquet")
    built_in = publish(answers, release="r", out=folder / "b", renderer="builtin")
    with pytest.MonkeyPatch.context() as patch:
        # The built-in renderer shows no warnings of libraries, for any settings of the user.
        patch.setenv("PYTHONWARNINGS", "always")
        quarto = publish(answers, release="r", out=folder / "q", renderer="quarto")
    return built_in, quarto


@quarto_only
def test_quarto_and_the_built_in_renderer_draw_the_same(both):
    built_in, quarto = both
    names = sorted(p.relative_to(built_in.path) for p in built_in.path.rglob("*.html"))
    assert names == sorted(p.relative_to(quarto.path) for p in quarto.path.rglob("*.html"))
    for name in names:
        text = (quarto.path / name).read_text(encoding="utf-8")
        assert "cdn" not in text
        ours = _Structure((built_in.path / name).read_text(encoding="utf-8"))
        theirs = _Structure(text)
        for part in ("doctype", "elements", "folded", "links", "words"):
            assert getattr(ours, part) == getattr(theirs, part), (name, part)
    for name in ("search.json", "reports/style.css"):
        assert (built_in.path / name).read_text() == (quarto.path / name).read_text()


@quarto_only
def test_quarto_and_the_built_in_renderer_typeset_the_same_words(both):
    ours, theirs = (pdf_words(release.pdf, title="Leaderboard") for release in both)
    assert ours == theirs
    assert len(ours) > 10_000


@quarto_only
def test_the_manifest_names_the_version_of_quarto(both):
    program = shutil.which("quarto")
    manifest = json.loads((both[1].path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["drawn_by"] == f"quarto {quarto_version(program)}"


@quarto_only
def test_a_page_that_quarto_typesets_has_its_tables(release, tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    stage(Release(release.path), project)
    monkeypatch.setenv(RELEASE_VARIABLE, str(release.path))
    monkeypatch.setenv("QUARTO_PYTHON", sys.executable)
    page = ["quarto", "render", "reports/data.qmd", "--to", "typst"]
    subprocess.run(page, cwd=project, check=True, capture_output=True)
    (pdf,) = project.rglob("data.pdf")
    html = (release.path / "reports" / "data.html").read_text(encoding="utf-8")
    captions = re.findall(r"<caption><span>(.*?)</span>", html)
    assert captions
    assert all(squeezed(unescape(caption)) in pdf_words(pdf) for caption in captions)


def test_missing_quarto_is_reported_with_a_remedy(release, tmp_path, monkeypatch):
    monkeypatch.setattr(render.shutil, "which", lambda name: None)
    with pytest.raises(RenderError, match="renderer='builtin'"):
        render.render(
            Release(release.path), site=tmp_path / "s", pdf=tmp_path / "p", renderer="quarto"
        )
    assert not (tmp_path / "s").exists()


@pytest.fixture
def project(release, tmp_path) -> Path:
    """Return a staged project."""
    folder = tmp_path / "project"
    folder.mkdir()
    stage(Release(release.path), folder)
    return folder


def with_cells(project: Path, release, *cells: str) -> str:
    """Return a page of these cells as HTML."""
    page = project / "reports" / "methods.qmd"
    blocks = "\n".join(f"```{{python}}\n{cell}\n```\n" for cell in cells)
    page.write_text(f"---\ntitle: T\n---\n\n{blocks}", encoding="utf-8")
    (project / "reports" / "leaderboard.qmd").write_text("---\ntitle: T\n---\n\nText.\n")
    pages = ["reports/methods.qmd", "reports/releases.qmd"]
    site = project.parent / "site"
    render_builtin(Release(release.path), project, pages, site=site, pdf=project.parent / "a.pdf")
    return (site / "reports" / "methods.html").read_text(encoding="utf-8")


def test_copies_of_the_process_draw_the_same_pages(release, project, monkeypatch):
    pages = ["reports/methods.qmd", "reports/data.qmd"]
    drawn = []
    for name, few in (("threads", 16), ("copies", 1)):
        monkeypatch.setattr(render, "_FEW_PAGES", few)
        site = project.parent / name
        render_builtin(
            Release(release.path), project, pages, site=site, pdf=site.with_suffix(".pdf")
        )
        drawn.append({path.name: path.read_bytes() for path in site.rglob("*.html")})
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 2


@pytest.mark.parametrize(
    ("cell", "cause"),
    [
        ("print('before')\n1 / 0", "ZeroDivisionError: division by zero; it printed: before"),
        ("import sys\nsys.exit('out')", "SystemExit: out"),
        ("x = (", "SyntaxError: "),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_a_failing_cell_is_named(cell, cause, release, project):
    here = Path.cwd()
    with pytest.raises(PageError, match=re.escape(f"cell 2 of methods.qmd failed: {cause}")):
        with_cells(project, release, "x = 1", cell)
    assert not (project.parent / "site").exists()
    assert Path.cwd() == here


def test_text_that_a_cell_prints_and_its_last_value_are_in_the_page(release, project):
    html = with_cells(
        project,
        release,
        "from fairstats.report.page_output import show_markdown\n"
        "print('a <b> ````')\nshow_markdown('*shown*')\n6 * 7",
        "class Written:\n    def _repr_markdown_(self):\n        return '**bold**'\nWritten()",
        "value = 1; print('later')",
        "value",
        "None",
    )
    assert "a &lt;b&gt; ````" in html
    assert "<em>shown</em>" in html
    assert "<strong>bold</strong>" in html
    assert re.findall(r"<pre><code>(.*?)</code></pre>", html) == [
        "42",
        "a &lt;b&gt; ````",
        "later",
        "1",
    ]


def test_figures_and_frames_of_a_users_page_are_drawn(release, project):
    html = with_cells(
        project,
        release,
        "from matplotlib import pyplot\npyplot.plot([1, 2])\npyplot.title('Two <points>')",
        "import pandas\npandas.DataFrame({'name': ['a <b>'], 'value': [1]})",
        "import plotnine\nplotnine.ggplot()",
    )
    assert 'aria-label="Two &lt;points&gt;"' in html
    assert html.count('<figure class="plot">') == 2
    assert "<td>a &lt;b&gt;</td>" in html
    assert "Line2D" not in html


def test_figures_and_frames_are_on_paper_too(release, project):
    text = (
        "---\ntitle: T\n---\n\n```{python}\nfrom matplotlib import pyplot\nimport pandas\n"
        "pyplot.suptitle('Two points')\npandas.DataFrame({'Column': ['Cell']})\n```\n"
    )
    (project / "reports" / "a.qmd").write_text(text)
    render_document(Release(release.path), project, "reports/a.qmd", out=project / "a.pdf")
    assert "ColumnCell" in re.sub(r"\d", "", pdf_words(project / "a.pdf"))
    assert (project / "reports" / "assets" / "a-1-1.svg").is_file()


def test_a_value_that_needs_jupyter_is_refused(release, project):
    cell = "class Widget:\n    def _repr_mimebundle_(self, **_):\n        return {}\nWidget()"
    with pytest.raises(PageError, match="Widget cannot be shown without Jupyter"):
        with_cells(project, release, cell)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("See @fig-x.", "line 5 = '@fig-x': is a cross-reference; link to the part"),
        ("{{< video x >}}", "is a shortcode"),
        ("```{r}\n1\n```", "is not a cell of the pages"),
    ],
)
def test_a_page_that_would_look_different_with_quarto_is_refused(text, message, release, project):
    (project / "reports" / "a.qmd").write_text(f"---\ntitle: T\n---\n\n{text}\n")
    with pytest.raises(PageError, match=re.escape(message)):
        render_document(Release(release.path), project, "reports/a.qmd", out=project / "a.html")


def test_a_page_leaves_nothing_to_the_next_one_or_to_its_caller(release, project):
    import matplotlib as mpl
    from matplotlib import pyplot

    kept = pyplot.figure()
    before = (mpl.rcParams["font.size"], Path.cwd(), dict(os.environ), warnings.filters[:])
    other = project / "reports" / "releases.qmd"
    other.write_text(
        "---\ntitle: T\n---\n\n```{python}\nimport matplotlib as mpl\n"
        "sorted(name for name in globals() if name == 'secret'), mpl.rcParams['font.size'] == 99\n"
        "```\n"
    )
    with_cells(
        project,
        release,
        "import warnings, matplotlib as mpl\nfrom matplotlib import pyplot\nsecret = 1\n"
        "mpl.rcParams['font.size'] = 99\nwarnings.simplefilter('error')\nfigure = pyplot.figure()",
        "secret",
    )
    html = (project.parent / "site" / "reports" / "releases.html").read_text(encoding="utf-8")
    assert "([], False)" in html
    after = (mpl.rcParams["font.size"], Path.cwd(), dict(os.environ), warnings.filters[:])
    assert after == before
    assert pyplot.get_fignums() == [kept.number]
    pyplot.close(kept)


def test_a_cell_that_loads_matplotlib_leaves_no_settings_or_figures():
    code = """
import sys
from fairstats.report.render import _isolated
with _isolated():
    assert "matplotlib" not in sys.modules
    from matplotlib import pyplot, rcParams
    size = rcParams["font.size"]
    rcParams["font.size"] = 99
    pyplot.figure()
assert (rcParams["font.size"], pyplot.get_fignums()) == (size, [])
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_libraries_show_no_warnings_in_pages(release, project, capfd):
    with_cells(project, release, "import warnings\nwarnings.warn('deprecated')")
    assert "deprecated" not in "".join(capfd.readouterr())
