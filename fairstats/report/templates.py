"""Fill the templates of HTML and SVG fragments, which escape every value, and read the notes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairstats._lib.installation import resource

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def filled(name: str, /, **values: Any) -> Markup:
    """Fill a template of `fairstats/report/templates`.

    Parameters
    ----------
    name : str
        The file's name without its suffix.
    **values
        What the template names. A text is escaped; `markupsafe.Markup`, which only this function
        makes, is not.

    Returns
    -------
    markupsafe.Markup
        The fragment, which other templates can contain.

    Raises
    ------
    jinja2.UndefinedError
        If a value that the template names is missing.
    """
    from markupsafe import Markup

    return Markup(_environment().get_template(f"{name}.html").render(values))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("fairstats.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def page_root() -> str:
    """Return the path from the running page's folder to the site's first page, e.g. ``../``."""
    for depth, folder in enumerate((Path.cwd(), *Path.cwd().parents)):
        if (folder / "_quarto.yml").is_file():
            return "../" * depth
    return ""


_NOTES = ("reports", "_notes")


def prose(name: str, /, **words: str) -> str:
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
