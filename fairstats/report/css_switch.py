"""Make controls that choose visible parts of a page, with radio buttons and CSS, no script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fairstats._lib.formatting import escape_html


def switch(name: str, legend: str, options: Mapping[str, str]) -> str:
    """Return radio buttons as HTML; the first one is chosen.

    Parameters
    ----------
    name : str
        The name of the control, unique on the page.
    legend : str
        The control's purpose, for screen readers and the page's script.
    options : mapping of str to str
        Each value with its label, both as plain text.
    """
    parts = []
    for number, (value, label) in enumerate(options.items()):
        checked = " checked" if number == 0 else ""
        parts.append(
            f'<label><input type="radio" name="{escape_html(name)}" '
            f'value="{escape_html(value)}"{checked}><span>{escape_html(label)}</span></label>'
        )
    return (
        f'<fieldset class="seg"><legend>{escape_html(legend)}</legend>{"".join(parts)}</fieldset>'
    )


def switch_rules(scope: str, name: str, attribute: str, values: Sequence[str]) -> str:
    """Return the CSS that hides elements of values that are not chosen.

    Parameters
    ----------
    scope : str
        The id of the element that contains the control and the elements that it switches.
    name : str
        The name of the control, see `switch`.
    attribute : str
        The ``data-`` attribute, without this prefix, that lists the values an element is shown
        for, separated by spaces. An element without it is always shown.
    values : sequence of str
        The values of the control; they contain no spaces.

    Examples
    --------
    >>> print(switch_rules("board", "measure", "measure", ["cfr"]))
    #board:has(input[name="measure"][value="cfr"]:checked) \
[data-measure]:not([data-measure~="cfr"]){display:none}
    """
    rules = []
    for value in values:
        # A JSON string is a CSS string; "<" is escaped for the style element around it.
        quoted, control = (json.dumps(text).replace("<", "\\3c ") for text in (value, name))
        rules.append(
            f"#{scope}:has(input[name={control}][value={quoted}]:checked) "
            f"[data-{attribute}]:not([data-{attribute}~={quoted}]){{display:none}}"
        )
    return "\n".join(rules)
