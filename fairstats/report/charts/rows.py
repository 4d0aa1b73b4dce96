"""Charts of one row per model, pair or prompt, with figures on a common axis.

In HTML a chart is a table. Every row has its drawings, which screen readers read as text. The
page's script can sort and filter it. On paper it is one SVG.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fairstats._lib.formatting import escape_html
from fairstats.report.charts.marks import Axis, svg_text
from fairstats.report.page_output import (
    DIM,
    in_page_colours,
    output_format,
    save_asset,
    show_html,
    show_markdown,
)

#: Charts show this number of pairs, those with the largest differences; tables show all.
MOST_CHARTED = 12
# Pixels of an average character, on paper.
_CHARACTER = 5.4
_PAPER_FONT = "Libertinus Serif"
_LONGEST_NAME = 32
# Without this, Quarto would take the table apart and drop its drawings.
_TABLE = '<table data-quarto-disable-processing="true">'
_Item = TypeVar("_Item")


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
    """The content of one row in one panel: marks, as SVG, and the same in words."""

    marks: str
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
    note : str
        A remark below the name.
    href : str
        The address that the name links to, in HTML.
    """

    label: str
    cells: tuple[Cell, ...] = ()
    texts: tuple[str, ...] = ()
    note: str = ""
    href: str = ""


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
    """

    name: str
    caption: str
    heading: str
    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]
    heads: tuple[str, ...] = ()
    height: int = 26


def show_chart(chart: Chart, *, css_class: str = "") -> None:
    """Show a chart in the page, in the format that the page is drawn for."""
    if output_format() == "html":
        show_html(chart_html(chart, css_class=css_class))
        return
    file = save_asset(f"{chart.name}.svg", chart_svg(chart))
    show_markdown(f"![]({file}){{width=100%}}")


def chart_html(chart: Chart, *, css_class: str = "") -> str:
    """Return a chart as an HTML table.

    Parameters
    ----------
    chart : Chart
        The chart; all its texts are escaped here.
    css_class : str
        Further classes for the style sheet.
    """
    caption = escape_html(chart.caption)
    heads = [f'<th scope="col">{escape_html(chart.heading)}</th>']
    heads += [
        f'<th scope="col" class="text t{number}">{escape_html(head)}</th>'
        for number, head in enumerate(chart.heads)
    ]
    for number, axis in enumerate(chart.axes):
        scale = f'<svg aria-hidden="true" height="17">{axis.scale()}</svg>'
        heads.append(
            f'<th scope="col" {_panel(axis, number)}><b>{escape_html(axis.label)}</b> '
            f"<small>{escape_html(axis.note)}</small>{scale}</th>"
        )
    body = "".join(_row_html(chart, row) for row in chart.rows)
    markup = (
        f'<div class="table-wrap chart {css_class}" role="region" tabindex="0" '
        f'aria-label="{caption}">{_TABLE}<caption class="unseen">{caption}</caption>'
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    return in_page_colours(markup)


def _panel(axis: Axis, number: int) -> str:
    return f'class="panel{" more" * (number > 0)}" data-panel="{escape_html(axis.key)}"'


def _row_html(chart: Chart, row: Row) -> str:
    name = escape_html(row.label)
    if row.href:
        name = f'<a href="{escape_html(row.href)}">{name}</a>'
    if row.note:
        name += f" <small>{escape_html(row.note)}</small>"
    if not row.cells:
        span = 1 + len(chart.heads) + len(chart.axes)
        return f'<tr class="group"><th scope="rowgroup" colspan="{span}">{name}</th></tr>'
    texts = "".join(
        f'<td class="text t{number}">{escape_html(text)}</td>'
        for number, text in enumerate(row.texts)
    )
    cells = ""
    for number, (axis, cell) in enumerate(zip(chart.axes, row.cells, strict=True)):
        value = "" if math.isnan(cell.value) else f' data-value="{cell.value:.6g}"'
        cells += (
            f"<td {_panel(axis, number)}{value}>"
            f'<svg role="img" aria-label="{escape_html(cell.words)}" height="{chart.height}">'
            f"<title>{escape_html(cell.words)}</title>{axis.grid()}{cell.marks}</svg></td>"
        )
    return f'<tr><th scope="row">{name}</th>{texts}{cells}</tr>'


def chart_svg(chart: Chart, *, width: int = 680) -> str:
    """Return a chart as one SVG, for paper.

    Parameters
    ----------
    chart : Chart
        The chart; all its texts are escaped here.
    width : int
        Pixels.
    """
    names = [_cut(row.label) for row in chart.rows if row.cells]
    notes = [_cut(row.note) for row in chart.rows if row.cells]
    columns = [_wide([*names, *notes, chart.heading])]
    for number, head in enumerate(chart.heads):
        texts = [row.texts[number] for row in chart.rows if row.cells]
        columns.append(_wide([*texts, *head.split()]))
    left = sum(columns)
    panel = max((width - left) / max(len(chart.axes), 1), 60)
    top, height = 38, max(chart.height, 28 if any(notes) else 0)
    parts, x = [], 0.0
    for head, wide in zip([chart.heading, *chart.heads], columns, strict=True):
        lines = [head] if _wide([head]) <= wide else head.split()
        for up, line in enumerate(reversed(lines)):
            parts.append(svg_text(f"{x:.0f}", line, y=f"{top - 10 - 11 * up}", colour=DIM, size=11))
        x += wide
    for number, axis in enumerate(chart.axes):
        at = left + number * panel
        parts.append(svg_text(f"{at + 8:.1f}", axis.label, y="9", size=12, weight=600))
        if axis.note:
            note = _cut(axis.note, int((panel - 8) / 4.4))
            parts.append(svg_text(f"{at + 8:.1f}", note, y="21", colour=DIM, size=10))
        parts.append(_nested(at, top - 12, panel, 14, axis.scale()))
    y = float(top)
    for row in chart.rows:
        middle = y + height / 2 - (6 if row.note and row.cells else 0)
        bold = None if row.cells else 600
        # A heading has the whole width.
        name = _cut(row.label) if row.cells else ", ".join(filter(None, (row.label, row.note)))
        parts.append(svg_text("0", name, y=f"{middle:.1f}", size=12, weight=bold))
        if row.note and row.cells:
            parts.append(
                svg_text("0", _cut(row.note), y=f"{middle + 12:.1f}", size=9.5, colour=DIM)
            )
        x = columns[0]
        for text, wide in zip(row.texts, columns[1:], strict=False):
            parts.append(svg_text(f"{x:.1f}", text, y=f"{y + height / 2:.1f}", size=12))
            x += wide
        for number, (axis, cell) in enumerate(zip(chart.axes, row.cells, strict=False)):
            at = left + number * panel
            parts.append(_nested(at, y, panel, height, axis.grid() + cell.marks))
        y += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 4:.0f}" '
        f'font-family="{_PAPER_FONT}">{"".join(parts)}</svg>'
    )


def _nested(x: float, y: float, width: float, height: float, inside: str) -> str:
    return f'<svg x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">{inside}</svg>'


def _cut(text: str, longest: int = _LONGEST_NAME) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _wide(texts: Sequence[str]) -> float:
    return _CHARACTER * max(map(len, texts), default=0) + 9
