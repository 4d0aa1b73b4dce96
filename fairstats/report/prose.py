"""Read the paragraphs of ``reports/_notes``, which a publisher can edit."""

from __future__ import annotations

from pathlib import Path

from fairstats._lib.installation import resource
from fairstats.report.page_output import page_root

_NOTES = ("reports", "_notes")


def prose(name: str, **words: str) -> str:
    """Return a note that sections show as it is, as Markdown.

    Parameters
    ----------
    name : str
        The file's name without its suffix. The project's own file comes first.
    **words : str
        What replaces ``{{name}}`` in the note; names from outside have to be escaped.
    """
    own = Path(page_root(), *_NOTES, f"{name}.md")
    path = own if own.is_file() else resource(*_NOTES, f"{name}.md")
    text = path.read_text(encoding="utf-8").strip()
    for word, value in words.items():
        text = text.replace(f"{{{{{word}}}}}", value)
    return text
