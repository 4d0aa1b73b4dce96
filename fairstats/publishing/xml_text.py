"""Write XML from any text: drop characters that XML forbids, and escape special ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree.ElementTree import Element, indent, tostring

# XML 1.0, section 2.2: the other characters are forbidden, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(tag: str, attributes: Mapping[str, str] | None = None, text: str = "") -> Element:
    """Return an element with attributes and a text, without the characters that XML forbids.

    Examples
    --------
    >>> print(xml_document(element("title", {"lang": "en"}, "a < b\\x00")), end="")
    <?xml version="1.0" encoding="utf-8"?>
    <title lang="en">a &lt; b</title>
    """
    made = Element(tag, {name: _allowed(value) for name, value in (attributes or {}).items()})
    made.text = _allowed(text) or None
    return made


def xml_document(root: Element) -> str:
    """Return an element and its content as a document, to be stored as UTF-8."""
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("", text)
