"""A publisher's own site: settings, pages and images are drawn, kept, verified, and checked."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from fairstats._lib.problems import InputError
from fairstats.publishing.board_repository import create_board
from fairstats.publishing.publish import publish
from fairstats.publishing.verify import verify
from fairstats.report.page_output import ACCENT_A, DIM, INK, drawing, in_page_colours, save_asset
from fairstats.report.site_pages import write_built_in
from fairstats.report.site_settings import OWN_PAGES, SiteSettings, read_pages
from tests.publishing.edited_releases import rehash, relink, run
from tests.report.conftest import answers_of_models
from tests.report.reading import broken_links, pdf_words

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'
    '<circle cx="4" cy="4" r="4" fill="#118811"/></svg>'
)
XHTML = "xmlns:x='http://www.w3.org/1999/xhtml'"
SETTINGS = """\
title = "Our <b>*board*"
publisher = "Ward 9 & partners"
licence = "CC BY 4.0"
logo = "logo.svg"
navigation = ["index", "own", "methods", "data"]
colours = { a = "#0f7a0f" }
dark_colours = { a = "#88ff88" }
"""
OWN = """\
---
title: "Who we are"
root: "../"
---

We are **ward 9**.

![Our mark](logo.svg)

::: {.content-visible when-meta="has.ratings"}
Not shown.
:::
"""


#: In this, typst would use up its stack and end the process.
FRACTIONS = "$" + "\\frac{1}{" * 1000 + "x" + "}" * 1000 + "$"


def png(width: int, height: int) -> bytes:
    """Return the first bytes of an image of this size."""
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + size + b"\x01\x00\x00\x00\x00"


@pytest.fixture(scope="module")
def built_in(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built-in") / "pages"
    write_built_in(folder)
    return folder


@pytest.fixture
def folder(built_in, tmp_path):
    """The pages of fairstats, to be changed."""
    return shutil.copytree(built_in, tmp_path / "pages")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "a.parquet"
    answers_of_models(("One",)).to_parquet(path)
    return path


@pytest.fixture(scope="module")
def published(built_in, answers, tmp_path_factory):
    """A release with an edited paragraph, a title, a logo, colours and a page."""
    folder = tmp_path_factory.mktemp("own")
    pages = shutil.copytree(built_in, folder / "pages")
    (pages / "site.toml").write_text(SETTINGS)
    (pages / "reports" / "logo.svg").write_text(LOGO)
    (pages / "reports" / "own.qmd").write_text(OWN)
    methods = pages / "reports" / "methods.qmd"
    text = methods.read_text(encoding="utf-8")
    methods.write_text(text.replace("## Verdicts\n", "## Verdicts\n\nAs our board decided.\n"))
    style = pages / "reports" / "style.css"
    style.write_text(style.read_text(encoding="utf-8") + "/* ours */\n")
    publish(answers, release="1", out=folder / "site", renderer="builtin", pages=pages)
    return folder / "site"


@pytest.fixture
def site(published, tmp_path):
    """A copy to be changed."""
    return shutil.copytree(published, tmp_path / "site")


def test_changes_are_on_the_pages(published):
    release = published / "v" / "1"
    assert broken_links(published) == []
    methods = (release / "reports" / "methods.html").read_text(encoding="utf-8")
    assert "<p>As our board decided.</p>" in methods
    index = (release / "index.html").read_text(encoding="utf-8")
    own = (release / "reports" / "own.html").read_text(encoding="utf-8")
    for page, root in ((index, ""), (own, "../"), (methods, "../")):
        assert re.search(r"<title>.* · Our &lt;b&gt;\*board\*</title>", page)
        assert f'<img src="{root}reports/logo.svg" alt="">' in page
        assert "(prefers-color-scheme:light){:root{--a:#0f7a0f;}}" in page
        assert "(prefers-color-scheme:dark){:root{--a:#88ff88;}}" in page
        assert "Published by Ward 9 &amp; partners." in page
        assert "Licence: CC BY 4.0." in page
        navigation = page.partition("<nav")[2].partition("</nav>")[0]
        names = re.findall(r">([^<]+)</a>", navigation)
        assert names == ["Leaderboard", "Who we are", "Methods", "Data"]
    assert "We are <strong>ward 9</strong>." in own
    assert "Not shown" not in own
    assert (release / "reports" / "logo.svg").read_text() == LOGO
    assert (release / "reports" / "style.css").read_text().endswith("/* ours */\n")
    search = json.loads((release / "search.json").read_text(encoding="utf-8"))
    assert "Who we are" in {entry["title"] for entry in search}
    assert not any(entry["href"].startswith(OWN_PAGES) for entry in search)
    assert "Asourboarddecided" in pdf_words(release / "leaderboard.pdf")
    assert "<h1>Our &lt;b&gt;*board*</h1>" in (published / "index.html").read_text()
    assert "<title>Our &lt;b&gt;*board* releases</title>" in (published / "feed.xml").read_text()
    assert "<rights>CC BY 4.0</rights>" in (published / "feed.xml").read_text()
    cited = json.loads((release / "CITATION.cff").read_text())
    assert cited["authors"] == [{"name": "Ward 9 & partners"}]
    assert cited["title"].startswith("Our <b>*board*. Leaderboard of ")
    assert cited["abstract"] == "Licence: CC BY 4.0"
    data = (release / "reports" / "data.html").read_text(encoding="utf-8")
    assert "Our &lt;b&gt;*board*, release 1" in data


def test_documents_have_the_title_and_colours_too(published, tmp_path):
    out = tmp_path / "audit.html"
    done = run("report", "One", "--release", published / "v" / "1", "--to", "html", "--out", out)
    assert done.exit_code == 0
    html = out.read_text(encoding="utf-8")
    assert "<title>Audit of “One” · Our &lt;b&gt;*board*</title>" in html
    assert ":root{--a:#0f7a0f;}" in html
    assert "logo.svg" not in html


def test_the_release_keeps_what_was_changed_and_verifies(published):
    pages = published / "v" / "1" / OWN_PAGES
    kept = {path.relative_to(pages).as_posix() for path in pages.rglob("*.*")}
    assert kept == {
        "site.toml", "reports/logo.svg", "reports/own.qmd", "reports/methods.qmd",
        "reports/style.css",
    }  # fmt: skip
    release, site = verify(published)
    assert (release.problems, site.problems) == ((), ())
    (note,) = [note for note in release.notes if "what the publisher states or hides" in note]
    # A style sheet can write into cells and hide columns.
    assert all(name in note for name in kept)


def test_a_changed_page_of_a_release_is_found(site):
    page = site / "v" / "1" / OWN_PAGES / "reports" / "own.qmd"
    page.write_text(OWN.replace("ward 9", "ward 8"))
    problems = verify(site)[0].problems
    assert any(problem.path.endswith("pages/reports/own.qmd") for problem in problems)
    # With a manifest that fits, the page that is drawn from it differs.
    rehash(site / "v" / "1")
    relink(site)
    problems = verify(site)[0].problems
    assert any(problem.path.endswith("v/1/reports/own.html") for problem in problems)


@pytest.mark.parametrize("name", ["index.qmd", "reports/own.qmd"])
def test_code_in_a_release_is_not_run(site, name, tmp_path):
    made = tmp_path / "made"
    cell = f'```{{python}}\nopen({str(made)!r}, "w")\n```\n'
    page = site / "v" / "1" / OWN_PAGES / name
    page.write_text(f'---\ntitle: "T"\nroot: "../"\n---\n\n{cell}')
    rehash(site / "v" / "1")
    relink(site)
    problems = verify(site)[0].problems
    assert any("is not a cell of the built-in pages" in problem.message for problem in problems)
    assert not made.exists()


def test_the_same_answers_with_other_pages_are_another_release(published, answers, folder):
    with pytest.raises(InputError, match="already published with different pages"):
        publish(answers, release="1", out=published, renderer="builtin", pages=folder)
    with pytest.raises(InputError, match="already published with different pages"):
        publish(answers, release="1", out=published, renderer="builtin")


def test_unchanged_pages_are_not_kept(folder):
    found = read_pages(folder)
    assert found.files == {}
    assert found.settings == SiteSettings()


def test_a_changed_note_can_be_part_of_a_site(folder):
    note = folder / "reports" / "_notes" / "ratings-rates.md"
    note.write_text("Read **{{level}}** intervals.\n", encoding="utf-8")
    assert list(read_pages(folder).files) == ["reports/_notes/ratings-rates.md"]
    note.write_text('````{=typst}\n#read("secret")\n````\n', encoding="utf-8")
    with pytest.raises(InputError, match="is a raw block of a format that pages cannot have"):
        read_pages(folder)
    note.rename(note.with_name("other.md"))
    with pytest.raises(InputError, match="cannot be part of a publisher's pages"):
        read_pages(folder)


def test_a_changed_frame_can_be_part_of_a_site(folder):
    template = folder / "reports" / "template.html"
    text = template.read_text(encoding="utf-8").replace("Made with", "Drawn with")
    template.write_text(text, encoding="utf-8")
    assert list(read_pages(folder).files) == ["reports/template.html"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("site.toml", 'titel = "X"', "titel"),
        ("site.toml", 'title = "a\\nb"', "title.*must be one short line"),
        ("site.toml", 'title = " "', "title.*is empty"),
        ("site.toml", 'logo = "../logo.svg"', "logo.*is not the name of an image"),
        ("site.toml", 'logo = "logo.svg"', "logo = 'logo.svg': no such image"),
        ("site.toml", 'colours = { a = "red;}" }', "is not a colour"),
        ("site.toml", 'colours = { body = "#118811" }', "does not have"),
        ("site.toml", 'navigation = ["data", "index", "data"]', "navigation.*has a page twice"),
        ("site.toml", 'navigation = ["nowhere"]', "no such page; choose from.*methods"),
        ("reports/own.qmd", "text", "has no title"),
        ("reports/own.qmd", '---\ntitle: "T"\n---\n', 'add the line root: "../"'),
        ("reports/own.qmd", OWN + "```{python}\n1 / 0\n```\n", "cell 1 = '1 / 0': is not a cell"),
        ("reports/own.qmd", OWN + "  ```{python}\n  1\n  ```\n", "is not a cell of the pages"),
        ("reports/own.qmd", OWN + "````{python}\n1\n````\n", "is not a cell of the pages"),
        ("reports/own.qmd", OWN + "```{r}\n1\n```\n", "line 13 = '{r}': is not a cell"),
        ("reports/own.qmd", OWN + "> ~~~ {bash}\n> ls\n> ~~~\n", "is not a cell of the pages"),
        ("reports/own.qmd", OWN + "`{python} 1`\n", "is code within a text"),
        ("reports/own.qmd", OWN + "{{< include ../../x >}}\n", "is a shortcode"),
        ("reports/own.qmd", OWN + "See @fig-x.\n", "@fig-x.*is a cross-reference"),
        ("reports/own.qmd", OWN + '```{=typst}\n#read("x")\n```\n', "typst.*raw block"),
        ("reports/own.qmd", OWN + "`#panic()`{=typst}\n", "typst.*raw block"),
        ("reports/own.qmd", OWN.replace("Who we are", "`x`{=typst}"), "typst.*raw block"),
        ("reports/own.qmd", OWN.replace("root:", "filters: [a.lua]\nroot:"), "in the header"),
        ("reports/own.qmd", OWN.replace('"Who', '@Who'), "cannot be read"),
        ("reports/own.qmd", OWN + "\n---\nengine: knitr\n---\n", "engine.*cannot be set"),
        ("reports/own.qmd", OWN + "<a " * 20_000, "cannot be read.*longer than 2 seconds"),
        ("reports/own.qmd", OWN + FRACTIONS, "has a formula of 10,001 characters"),
        ("reports/Own.qmd", OWN, "cannot be part of"),
        ("reports/own.py", "1", "cannot be part of"),
        ("reports/prepare.py", "1", "cannot be part of.*restore"),
        ("reports/template.typ", "1", "cannot be part of.*restore"),
        ("_quarto.yml", "project: {pre-render: x}", "cannot be part of.*restore"),
        ("reports/template.html", "$body$ ${ /etc/passwd() }", "includes another file"),
        ("reports/template.html", "$for(x)$$x:../../y()$$endfor$", "includes another file"),
        ("reports/template.html", "$for(a)$${for(b)}${ for(c) }", "has loops in loops in loops"),
        ("reports/template.html", "$body$" + " " * 70_000, "is larger than 65,536 bytes"),
        ("reports/logo.png", "<svg/>", "is not a PNG file"),
        ("reports/logo.png", png(70_000, 70_000), "has more than"),
        ("reports/logo.svg", "x", "is not an SVG file"),
        ("reports/logo.svg", LOGO.replace("<circle", "<script>1</script><circle"), "<script>"),
        ("reports/logo.svg", LOGO.replace("<circle", "<circle onload='1'"), "onload"),
        ("reports/logo.svg", LOGO.replace("<circle", "<use href='http://x/#a'/><circle"), "href"),
        ("reports/logo.svg", f"<!DOCTYPE svg [<!ENTITY a 'b'>]>{LOGO}", "a document type"),
        ("reports/logo.svg", LOGO.replace("<circle", f"<x:script {XHTML}/><circle"), "<script>"),
        ("reports/logo.svg", f"{LOGO}{' ' * 300_000}", "is larger than"),
    ],
)  # fmt: skip
def test_hostile_files_are_refused(name, text, message, folder, monkeypatch):
    monkeypatch.setattr("fairstats.report.site_settings._MOST_SECONDS", 2)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message):
        read_pages(folder)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('colours = { dim = "#8a8a8a" }', r"colours.dim = '#8a8a8a': is too close to paper .* 4.5"),
        ('colours = { paper = "#778899" }', r"colours.paper = '#778899': is too close to dim"),
        ('dark_colours = { b = "#1f5f7a" }', r"dark_colours.b .* a lighter colour for the text"),
    ],
)
def test_colours_in_which_text_is_hard_to_read_are_refused(text, problem, folder):
    (folder / "site.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"site\.toml: {problem}"):
        read_pages(folder)


def test_colours_of_marks_are_free(folder):
    text = 'colours = { rule = "#fefefe", band = "#fdfcf9" }\ndark_colours = { n1 = "#14181d" }'
    (folder / "site.toml").write_text(text, encoding="utf-8")
    assert read_pages(folder).settings.colours["rule"] == "#fefefe"


def test_plots_on_paper_have_the_publishers_colours(tmp_path, monkeypatch):
    (tmp_path / "_quarto.yml").touch()
    (tmp_path / "site.toml").write_text(f'colours = {{ a = "{INK}", ink = "#0f7a0f" }}')
    monkeypatch.chdir(tmp_path)
    svg = f'<svg><path fill="{ACCENT_A}"/><path fill="{INK}"/><path fill="{DIM}"/></svg>'
    assert in_page_colours(svg).count("var(--") == 3
    with drawing(tmp_path, "typst"):
        shown = (tmp_path / save_asset("plot.svg", svg)).read_text()
    assert re.findall('fill="(.*?)"', shown) == [INK, "#0f7a0f", DIM]


def test_a_link_to_another_file_is_refused(folder, tmp_path):
    (tmp_path / "secret").write_text("x")
    (folder / "reports" / "own.qmd").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="is a symbolic link"):
        read_pages(folder)


def test_a_new_board_has_its_title_publisher_and_licence(tmp_path):
    named = {
        "title": 'The "first" \\ {version} board',
        "publisher": "{title} & partners",
        "licence": "CC BY 4.0",
    }
    board = tmp_path / "board"
    words = [word for name, text in named.items() for word in (f"--{name}", text)]
    assert run("site", "init", board, *words).exit_code == 0
    settings = read_pages(board).settings
    assert {name: getattr(settings, name) for name in named} == named
    assert (board / "README.md").read_text().startswith(f"# {named['title']}\n")
    create_board(tmp_path / "other")
    assert read_pages(tmp_path / "other").settings.licence == ""


@pytest.mark.parametrize(
    ("name", "value"), [("title", ""), ("publisher", "a\nb"), ("licence", "x" * 101)]
)
def test_a_board_without_a_printable_name_is_refused(tmp_path, name, value):
    with pytest.raises(InputError, match=f"{name}=.*cannot be used; use 1 to 100 printable"):
        create_board(tmp_path / "board", **{name: value})
    assert not (tmp_path / "board").exists()


def test_command_writes_the_pages_into_a_new_folder_only(tmp_path):
    done = run("site", "pages", tmp_path / "new")
    assert done.exit_code == 0
    assert (tmp_path / "new" / "site.toml").is_file()
    assert (tmp_path / "new" / "reports" / "methods.qmd").is_file()
    assert run("site", "pages", tmp_path / "new").exit_code == 1
