"""Compare the words, drawings and scripts of HTML pages from either renderer."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
#: Not words of the page; formulas are written in other ways by other renderers.
_SILENT = ("script", "style", "svg", "math", "title")
_ACTIVE = ("script", "iframe", "frame", "object", "embed", "form", "base")


def page_differences(published: str, drawn: str) -> list[str]:
    """Name what differs between two HTML pages: words, drawings, scripts.

    Returns
    -------
    list of str
        Empty if both show the same words in the same order and the same drawings, and run the same
        scripts. Layout, styles and formulas may differ.

    Examples
    --------
    >>> page_differences("<p>CFR 91.9%</p>", "<div>CFR <b>91.9%</b></div>")
    []
    >>> page_differences("<p onclick='x()'>CFR 99%</p>", "<p>CFR 91.9%</p>")
    ['words', 'scripts']
    """
    one, other = _Content(published), _Content(drawn)
    sides = {
        "words": (one.words.split(), other.words.split()),
        "drawings": (_DRAWING.findall(published), _DRAWING.findall(drawn)),
        "scripts": (one.active, other.active),
    }
    return [name for name, (a, b) in sides.items() if a != b]


class _Content(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.words = ""
        self.active: list[object] = []
        self._silent: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        if tag in _ACTIVE or (tag == "meta" and ("http-equiv", "refresh") in attrs):
            self.active.append((tag, attrs))
        for name, value in attrs:
            address = re.sub(r"[\s\x00-\x1f]", "", value or "").lower()
            if name.startswith("on") or address.startswith("javascript:"):
                self.active.append((tag, name, value))

    def handle_endtag(self, tag: str) -> None:
        if self._silent and self._silent[-1] == tag:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words += f"{data} "
        elif self._silent[-1] == "script":
            self.active.append(data)
