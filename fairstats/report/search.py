"""The index that a reader of the site searches, in the form of Quarto's: one entry per page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

SEARCH_INDEX = "search.json"
#: Left out: the tables have the figures, and formulas and drawings contain no words.
_SILENT = frozenset(("script", "style", "svg", "math", "td", "h1"))


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
        text = " ".join(page.text)
        title = " ".join("".join(page.title).split())
        entries.append(
            {"objectID": href, "href": href, "title": title, "section": "", "text": text}
        )
    content = json.dumps(entries, ensure_ascii=False, indent=1)
    (site / SEARCH_INDEX).write_text(content, encoding="utf-8")
