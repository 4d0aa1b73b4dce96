"""The site of the documentation: complete, with sound links, and in the look of the board."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import build_site
import guide_cells
import pytest
from api_pages import api_pages, other_names

import fairstats

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site once, next to a board, without running the guides."""
    board = tmp_path_factory.mktemp("board")
    for name in ("index.html", "releases.json"):
        (board / name).touch()
    build_site.build(board / "docs", run=False)
    return board / "docs"


@pytest.fixture(scope="module")
def pages(site):
    found = sorted(site.rglob("*.html"))
    return {page.relative_to(site).as_posix(): page.read_text(encoding="utf-8") for page in found}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a folder of documents with one page, which the builder reads instead of docs/."""
    (tmp_path / "index.md").write_text("# Start\n\nRead this.\n", encoding="utf-8")
    (tmp_path / "navigation.toml").write_text(
        '[[group]]\ntext = "Start"\n[group.pages]\n"index.md" = "Start"\n', encoding="utf-8"
    )
    monkeypatch.setattr(build_site, "DOCS", tmp_path)
    monkeypatch.setattr(build_site, "NAVIGATION", tmp_path / "navigation.toml")
    monkeypatch.setattr(build_site, "api_pages", dict)
    return tmp_path


def test_navigation_lists_every_document():
    listed = {path for group in build_site.navigation({}) for path in group.pages}
    docs = ROOT / "docs"
    assert listed == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


def test_document_outside_the_navigation_is_refused(small):
    (small / "new.md").write_text("# New\n\nText.\n", encoding="utf-8")
    with pytest.raises(build_site.SiteError, match=r"does not list new\.md; add a line"):
        build_site.build(small / "out")


def test_entry_without_a_document_and_empty_group_are_left_out(small):
    with (small / "navigation.toml").open("a", encoding="utf-8") as file:
        file.write('"later.md" = "Later"\n[[group]]\ntext = "Empty"\n[group.pages]\n"b.md" = "B"\n')
    (page,) = build_site.build(small / "out", run=False)
    text = page.read_text(encoding="utf-8")
    assert "Later" not in text
    assert "Empty" not in text


def test_document_that_is_listed_twice_is_refused(small):
    with (small / "navigation.toml").open("a", encoding="utf-8") as file:
        file.write('[[group]]\ntext = "Again"\n[group.pages]\n"index.md" = "Start"\n')
    with pytest.raises(build_site.SiteError, match=r"lists index\.md twice; remove one"):
        build_site.build(small / "out")


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("[a](absent.md)", r"docs/index\.md links to absent\.md, which does not exist"),
        ("[a](#absent)", r"index\.html links to #absent, which has no such heading"),
        ("![a](absent.png)", r"docs/index\.md links to absent\.png, which does not exist"),
    ],
)
def test_link_to_nothing_is_refused(small, link, message):
    with (small / "index.md").open("a", encoding="utf-8") as file:
        file.write(f"\n{link}\n")
    with pytest.raises(build_site.SiteError, match=message):
        build_site.build(small / "out", run=False)


def test_links_lead_to_pages_files_and_the_repository(pages, site):
    start = pages["index.html"]
    assert '<a href="guides/spreadsheet.html">' in start
    assert 'src="leaderboard.png"' in start
    assert (site / "leaderboard.png").read_bytes() == (ROOT / "docs/leaderboard.png").read_bytes()
    assert (site / "guides" / "submitted.csv").is_file()
    checked = "github.com/fairstats/fairstats/tree/main/tests/r"
    assert checked in pages["statistics.html"]
    assert not [name for name, text in pages.items() if re.search(r'href="[^":]*\.(md|qmd)', text)]


def test_every_page_has_one_title_a_description_and_its_place(pages):
    titles, descriptions = set(), set()
    for name, text in pages.items():
        (title,) = re.findall(r"<title>(.*?)</title>", text)
        (heading,) = re.findall(r"<h1>(.*?)</h1>", text)
        (description,) = re.findall(r'<meta name="description" content="(.*?)">', text)
        assert title == f"{re.sub('<.*?>', '', heading)} · fairstats"
        assert 10 < len(description) <= 200, (name, description)
        titles.add(title)
        descriptions.add(description)
        # In the list of all pages, and at the top.
        assert text.count('aria-current="page"') == 1, name
        assert text.count('aria-current="true"') == 1, name
    assert len(titles) == len(descriptions) == len(pages)


def test_pages_load_nothing_from_other_sites(pages, site):
    for text in pages.values():
        loaded = re.findall(r'<(?:script|img|link)[^>]*?(?:src|href)="([^"]*)"', text)
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)]
    assert "url(" not in (site / "style.css").read_text(encoding="utf-8")


def test_pages_have_the_template_and_style_of_the_board(pages, site):
    style = (ROOT / "reports" / "style.css").read_text(encoding="utf-8")
    assert (site / "style.css").read_text(encoding="utf-8") == style
    script = (ROOT / "reports" / "template.html").read_text(encoding="utf-8")
    policy = re.findall(r"script-src '(sha256-\S+)'", script)
    assert all(policy[0] in text for text in pages.values())
    assert 'href="../index.html">Leaderboard</a>' in pages["index.html"]
    assert 'href="../../index.html">Leaderboard</a>' in pages["guides/audit.html"]


def test_site_without_a_board_has_no_link_to_one(small):
    (page,) = build_site.build(small / "out", run=False)
    assert "Leaderboard" not in page.read_text(encoding="utf-8")


def test_api_pages_document_every_listed_name(pages):
    text = "".join(page for name, page in pages.items() if name.startswith("api/"))
    for name in set(fairstats.__all__) - {"__version__"} | set(other_names()):
        assert f'<h2 id="{name.lower()}">{name}</h2>' in text
    assert set(api_pages()) == {
        name.replace(".html", ".md") for name in pages if name.startswith("api/")
    }


def test_api_entry_has_call_parameters_links_and_example(pages):
    page = pages["api/inference.html"]
    _, _, entry = page.partition('<h2 id="difference_interval">')
    entry, _, _ = entry.partition("<h2 ")
    code = re.sub("<.*?>", "", entry)
    assert "from fairstats import difference_interval" in code
    assert "difference_interval(" in code
    assert "method=&#39;tango&#39;" in code
    assert "Raises" in code
    assert 'href="inference.html#bootstrap"' in entry
    assert "&gt;&gt;&gt; " in entry


def test_code_is_highlighted(pages):
    assert '<span class="im">import</span>' in pages["statistics.html"]
    assert 'class="sourceCode bash"' in pages["guides/spreadsheet.html"]


def test_code_of_a_guide_is_run_and_shown_in_page_and_notebook(tmp_path):
    guide = tmp_path / "guide.md"
    guide.write_text(
        "# G\n\nText.\n\n```python\nx = 6\nprint(x * 7)\n```\n\n"
        "```python\nimport pandas as pd\npd.DataFrame({'a': [x]})\n```\n\n"
        "```sh\n# a comment\ncat \\\n  data.csv\n```\n\n```bash\nnot-run\n```\n",
        encoding="utf-8",
    )
    (tmp_path / "data.csv").write_text("<b>,1\n", encoding="utf-8")
    ran = guide_cells.run_guide(guide, tmp_path)
    assert '<pre class="output">42</pre>' in ran.text
    assert '<pre class="output">&lt;b&gt;,1</pre>' in ran.text
    assert "<td>6</td>" in ran.text
    assert ran.text.count("```bash\nnot-run\n```") == 1
    assert '"!cat data.csv"' in ran.notebook
    assert "not-run" not in re.sub(r'(?s)"cell_type": "markdown".*?\]', "", ran.notebook)
    assert str(tmp_path) not in ran.notebook


def test_guide_that_fails_stops_the_build(tmp_path):
    guide = tmp_path / "guide.md"
    guide.write_text("# G\n\nText.\n\n```python\n1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        guide_cells.run_guide(guide, tmp_path)


def test_command_that_fails_stops_the_build(tmp_path):
    guide = tmp_path / "guide.md"
    guide.write_text("# G\n\nText.\n\n```sh\nfalse\n```\n", encoding="utf-8")
    with pytest.raises(Exception, match="false"):
        guide_cells.run_guide(guide, tmp_path)


def test_output_is_emptied_before_building(small):
    out = small / "out"
    build_site.build(out, run=False)
    (out / "old.html").touch()
    build_site.build(out, run=False)
    assert not (out / "old.html").exists()
    shutil.rmtree(out)
