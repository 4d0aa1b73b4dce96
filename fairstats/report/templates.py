"""Fill the templates of HTML and SVG fragments, which escape every value by themselves."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def filled(name: str, **values: Any) -> Markup:
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
