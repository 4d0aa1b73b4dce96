"""What the charts of an answer set have in common: one axis, one row per pair or group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.charts.marks import Axis, axis_over, words
from fairstats.report.charts.rows import Cell, Chart, Row, chart_of
from fairstats.report.figures import Figure

_LONGEST = 22
_Case = TypeVar("_Case")


def axis_of(figures: Iterable[Figure], key: str, note: str, **options: Any) -> Axis:
    """Return an axis that fits figures; the options are those of `axis_over`."""
    ends = [end for figure in figures for end in figure.all]
    return axis_over(ends, key=key, note=note, **{"label": "", "lead": 0.04, **options})


def set_chart(
    own: AnswerSet,
    name: str,
    caption: str,
    axis: Axis,
    cases: Iterable[tuple[str, _Case]],
    cell: Callable[[_Case], Cell],
    *,
    heading: str = "Group",
    height: int = 24,
) -> Chart:
    """Return a chart with a row per case, made by `cell`; `height` of a row in pixels."""
    rows = ((Row(label), case) for label, case in cases)
    caption = f"{caption}: {own.label}"
    return chart_of(
        name, caption, heading, rows, [(None, axis)], lambda case, *_: cell(case), height=height
    )


def pair_chart(
    own: AnswerSet,
    name: str,
    caption: str,
    axis: Axis,
    cell: Callable[[Pair], Cell],
    *,
    height: int,
) -> Chart:
    """Return a chart with a row per pair of groups."""
    cases = ((pair.name, pair) for pair in own.charted)
    return set_chart(own, name, caption, axis, cases, cell, heading="Pair", height=height)


def above(axis: Axis, value: float, text: str, y: str) -> str:
    """Place a text centred above or below a value, but inside the panel."""
    if math.isnan(value):
        return words(axis, axis.low, text, y=y)
    share = (value - axis.low) / (axis.high - axis.low)
    anchor = "start" if share < 0.15 else "end" if share > 0.85 else "middle"
    return words(axis, value, text, anchor=anchor, shift=0, y=y)


def cut(label: str) -> str:
    """Return a group's name, shortened to fit next to a mark."""
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
