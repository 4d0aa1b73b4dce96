"""What the charts of an answer set with one row per pair have in common."""

from __future__ import annotations

from collections.abc import Callable

from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.charts.marks import Axis, words
from fairstats.report.charts.rows import Cell, Chart, Row

_LONGEST = 22


def pair_chart(
    own: AnswerSet,
    name: str,
    caption: str,
    axis: Axis,
    cell: Callable[[Pair], Cell],
    *,
    height: int,
) -> Chart:
    """Return a chart with a row per pair, made by `cell`; `height` of a row in pixels."""
    rows = tuple(Row(pair.name, (cell(pair),)) for pair in own.charted)
    return Chart(name, f"{caption}: {own.label}", "Pair", (axis,), rows, height=height)


def above(axis: Axis, value: float, text: str, y: str) -> str:
    """Place a text centred above or below a value, but inside the panel."""
    share = (value - axis.low) / (axis.high - axis.low)
    anchor = "start" if share < 0.15 else "end" if share > 0.85 else "middle"
    return words(axis, value, text, anchor=anchor, shift=0, y=y)


def cut(label: str) -> str:
    """Return a group's name, shortened to fit next to a mark."""
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
