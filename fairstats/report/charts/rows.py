"""Charts of one row per model, pair or prompt, with figures on a common axis.

In HTML a chart is a table. Every row has its drawings, which screen readers read as text. The
page's script can sort and filter it. On paper it is one SVG.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TypeVar

from markupsafe import Markup

from fairstats.report.charts.marks import Axis, element, svg_text
from fairstats.report.page_output import (
    DIM,
    INK,
    filled,
    in_page_colours,
    output_format,
    save_asset,
    show_html,
    show_markdown,
)

#: Charts show this number of pairs, those with the largest differences; tables show all.
MOST_CHARTED = 12
# Pixels of an average character and of a line, on paper.
_CHARACTER, _LINE = 5.4, 11.5
_PAPER_WIDTH = 680
# A head of a column has at most so many lines.
_MOST_LINES = 3
_PAPER_FONT = "Libertinus Serif"
_LONGEST_NAME, _LONGEST_NOTE = 32, 40
_Item = TypeVar("_Item")
_Column = TypeVar("_Column")


def largest(items: Sequence[_Item], size: Callable[[_Item], float]) -> Sequence[_Item]:
    """Return the items that charts show, in order: of many, those of the largest absolute size.

    Examples
    --------
    >>> largest(range(-20, 5), lambda number: number)[-2:]
    [-10, -9]
    """
    if len(items) <= MOST_CHARTED:
        return items
    sizes = [abs(size(item)) for item in items]
    order = sorted(range(len(sizes)), key=lambda n: (math.isnan(sizes[n]), -sizes[n]))
    return [items[number] for number in sorted(order[:MOST_CHARTED])]


@dataclass(frozen=True)
class Cell:
    """The content of one row in one panel: marks and the same in words."""

    #: From the functions of `fairstats.report.charts.marks`; any other text is escaped.
    marks: Markup
    words: str
    #: The sort key for the page's script; the lowest comes first.
    value: float = math.nan


@dataclass(frozen=True)
class Row:
    """One row of a chart.

    Attributes
    ----------
    label : str
        Its name, as plain text.
    cells : tuple of Cell
        One per panel; an empty tuple makes the row a heading for those that follow.
    texts : tuple of str
        The content of the text columns, as plain text.
    note, reason : str
        A remark below the name, and why a figure of the row is missing.
    href : str
        The address that the name links to, in HTML.
    """

    label: str
    cells: tuple[Cell, ...] = ()
    texts: tuple[str, ...] = ()
    note: str = ""
    href: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart with one row per case.

    Attributes
    ----------
    name : str
        Its name on the page, for the file on paper.
    caption : str
        Its content, in plain text.
    heading : str
        The heading of the rows, e.g. ``"Model"``.
    heads : tuple of str
        The headings of the columns of text, in the order of `Row.texts`.
    axes : tuple of Axis
        One per panel.
    rows : tuple of Row
        From the top.
    height : int
        Pixels of a row.
    css_class : str
        Its classes in the style sheet.
    """

    name: str
    caption: str
    heading: str
    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]
    heads: tuple[str, ...] = ()
    height: int = 26
    css_class: str = ""

    def panels(self, row: Row) -> Iterable[tuple[Axis, Cell]]:
        """Return a row's cells with their axes."""
        return zip(self.axes, row.cells, strict=True)


def chart_of(
    name: str,
    caption: str,
    heading: str,
    rows: Iterable[tuple[Row, _Item]],
    columns: Iterable[tuple[_Column, Axis]],
    cell: Callable[[_Item, _Column, Axis], Cell],
    *,
    heads: tuple[str, ...] = (),
    height: int = 26,
) -> Chart:
    """Make a chart whose cells are drawn by a function of their row and column.

    `rows` are each row without its cells, and what it is about. `columns` are what each panel is
    about, and its axis. `cell` draws what a row is about in a panel.
    """
    panels = list(columns)
    drawn = tuple(
        replace(row, cells=tuple(cell(item, column, axis) for column, axis in panels))
        for row, item in rows
    )
    return Chart(name, caption, heading, tuple(axis for _, axis in panels), drawn, heads, height)


def show_chart(chart: Chart) -> None:
    """Show a chart in the page, in the format that the page is drawn for."""
    if output_format() == "html":
        show_html(chart_html(chart))
        return
    file = save_asset(f"{chart.name}.svg", chart_svg(chart))
    show_markdown(f"![]({file}){{width=100%}}")


def chart_html(chart: Chart) -> str:
    """Return a chart as an HTML table."""
    return in_page_colours(str(filled("chart", chart=chart)))


def chart_svg(chart: Chart) -> str:
    """Return a chart as one SVG, for paper."""
    cases = [row for row in chart.rows if row.cells]
    named = [_name_lines(row) for row in cases]
    small = _LONGEST_NAME / _LONGEST_NOTE
    wide = max(
        (_wide([text]) * (1 if size == 12 else small) for lines in named for text, size in lines),
        default=0,
    )
    columns = [max(wide, _wide([chart.heading]))]
    for number, head in enumerate(chart.heads):
        columns.append(_wide([*(row.texts[number] for row in cases), *_wrapped(head)]))
    starts = [sum(columns[:number]) for number in range(len(columns) + 1)]
    panel = max((_PAPER_WIDTH - starts[-1]) / max(len(chart.axes), 1), 60)
    places = [starts[-1] + number * panel for number in range(len(chart.axes))]
    notes = [
        wrap(axis.note, int((panel - 8) / 4.4), max_lines=2, placeholder="…") for axis in chart.axes
    ]
    parts, y = [], 27.0 + 11 * max(1, *map(len, notes))
    for head, x, wide in zip([chart.heading, *chart.heads], starts, columns, strict=False):
        for up, line in enumerate(reversed(_wrapped(head, wide))):
            parts.append(svg_text(f"{x:.0f}", line, y=f"{y - 10 - 11 * up:g}", colour=DIM, size=11))
    for axis, note, x in zip(chart.axes, notes, places, strict=True):
        parts.append(svg_text(f"{x + 8:.1f}", axis.label, y="9", size=12, weight=600))
        for down, line in enumerate(note):
            at = f"{21 + 11 * down}"
            parts.append(svg_text(f"{x + 8:.1f}", line, y=at, colour=DIM, size=10))
        parts.append(_nested(x, y - 12, panel, 14, axis.scale()))
    for row in chart.rows:
        # A heading has the whole width.
        lines = (
            _name_lines(row)
            if row.cells
            else [(", ".join(filter(None, (row.label, row.note))), 12)]
        )
        height = max(chart.height, _LINE * len(lines) + 5)
        middle = y + height / 2
        for number, (text, size) in enumerate(lines):
            at = f"{middle + _LINE * (number - (len(lines) - 1) / 2):.1f}"
            colour, weight = (INK if size == 12 else DIM), None if row.cells else 600
            parts.append(svg_text("0", text, y=at, size=size, colour=colour, weight=weight))
        for text, x in zip(row.texts, starts[1:], strict=False):
            parts.append(svg_text(f"{x:.1f}", text, y=f"{middle:.1f}", size=12))
        if row.cells:
            for (axis, cell), x in zip(chart.panels(row), places, strict=True):
                parts.append(_nested(x, y, panel, height, axis.grid() + cell.marks))
        y += height
    picture = element(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        width=_PAPER_WIDTH,
        height=f"{y + 4:.0f}",
        font_family=_PAPER_FONT,
    )
    return str(picture)


def _nested(x: float, y: float, width: float, height: float, inside: Markup) -> Markup:
    x_, y_, width_, height_ = (f"{value:.1f}" for value in (x, y, width, height))
    return element("svg", inside, x=x_, y=y_, width=width_, height=height_, overflow="visible")


def _name_lines(row: Row) -> list[tuple[str, float]]:
    """Return the lines of a row's name, note and reason with the size of their letters."""
    named = [(line, 12.0) for line in wrap(row.label, _LONGEST_NAME, max_lines=2, placeholder="…")]
    small = (
        cut(row.note, _LONGEST_NOTE),
        *wrap(row.reason, _LONGEST_NOTE, max_lines=2, placeholder="…"),
    )
    return [*named, *((line, 9.5) for line in small if line)]


def _wrapped(text: str, width: float = 0) -> list[str]:
    """Return a text in lines that are as wide as its longest word, or wider if it needs more."""
    characters = max(int(width / _CHARACTER), *map(len, text.split() or [""]), 1)
    while len(lines := wrap(text, characters)) > _MOST_LINES:
        characters += 1
    return lines


def cut(text: str, longest: int) -> str:
    """Return a text, shortened to so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _wide(texts: Sequence[str]) -> float:
    return _CHARACTER * max(map(len, texts), default=0) + 9
