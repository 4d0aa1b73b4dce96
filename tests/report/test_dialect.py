"""The pages use only the part of Quarto's dialect that the built-in renderer supports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairstats.release.contents import Release
from fairstats.report.site_pages import conditions

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "index.qmd", *(ROOT / "reports").glob("*.qmd")])
_KNOWN_HEADER = {
    "title", "headline", "page", "root", "execute", "format", "output-divs", "has", "frame"
}  # fmt: skip
_KNOWN_DIVS = {"content-visible", "foot", "kicker", "lede"}


def test_pages_exist():
    assert len(PAGES) >= 7


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_steps_not_outside_the_shared_dialect(path):
    text = path.read_text(encoding="utf-8")
    header = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    body = text
    if header:
        keys = set(re.findall(r"^(\w[\w-]*):", header[1], re.MULTILINE))
        assert keys <= _KNOWN_HEADER, f"unknown in the header: {keys - _KNOWN_HEADER}"
        body = text[header.end() :]
    shortcodes = set(re.findall(r"\{\{<\s*(\w+)", body))
    assert not shortcodes, f"shortcodes: {shortcodes}"
    fences = set(re.findall(r"^```+(\{.*?\})?", body, re.MULTILINE)) - {""}
    assert fences <= {"{python}"}, f"cells: {fences}"
    assert not re.search(r"^#\|", body, re.MULTILINE), "cell options are not understood"
    assert not re.search(r"(?<![\w.])@(fig|tbl|sec|eq)-", body), "cross references"
    assert not re.search(r"(?<!`)`(\{python\}|r )", body), "inline code"
    divs = set(re.findall(r"^:::+ *\{?\.?([\w-]+)", body, re.MULTILINE))
    assert divs <= _KNOWN_DIVS, f"divs: {divs - _KNOWN_DIVS}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_condition_is_one_that_releases_answer(path, release):
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r'(?:when|unless)-meta="(.*?)"', text))
    assert named <= {f"has.{name}" for name in conditions(Release(release.path))}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_table_of_a_page_has_no_caption(path):
    """Quarto leaves it out of its PDF."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"^\|.*\n\n(Table)?: ", text, re.MULTILINE)
