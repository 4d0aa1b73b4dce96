"""The charts of one answer set on the page of its model: accuracy, discordant pairs, gaps."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from fairstats._lib.formatting import percent_range, point_range, points
from fairstats.report.board_figures import Panel
from fairstats.report.chart_marks import Axis, axis_over, bar, dot, interval, tick, words
from fairstats.report.model_sets import UNKNOWN, AnswerSet, Figure, figure_of
from fairstats.report.page_output import ACCENT_A, ACCENT_B, NEUTRAL_DARK
from fairstats.report.row_chart import Cell, Chart, Row

_LONGEST = 22


def accuracy_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the accuracy of both groups of each pair, and that with the neutral text.

    Parameters
    ----------
    own : AnswerSet
        The answer set to draw.
    name : str
        The chart's name, unique on the page.
    """
    if own.many:
        return groups_chart(own, name=name)
    figures = [_sides(own, pair) for pair in own.pairs]
    neutral = own.neutral or UNKNOWN
    ends = [end for both in figures for f in both for end in (f.low, f.high)]
    axis = axis_over(
        [*ends, neutral.low, neutral.high],
        key="accuracy",
        label="",
        note="accuracy, %",
        room=0.04,
        lead=0.04,
        limits=(0, 100),
        signed=False,
        unit="%",
    )

    def cell(pair: Panel) -> Cell:
        marks, said = "", []
        # A small distance, because intervals may overlap.
        places = ((ACCENT_B, "57%", "84%"), (ACCENT_A, "43%", "16%"))
        for side, (figure, (colour, y, beside)) in enumerate(
            zip(_sides(own, pair), places, strict=True)
        ):
            text = f"{figure.estimate:.1f}" if figure.known else "range"
            label = f"{_cut(own.group(pair, side))} {text}"
            at = figure.estimate if figure.known else (figure.low + figure.high) / 2
            marks += interval(axis, figure.estimate, figure.low, figure.high, colour=colour, y=y)
            marks += _above(axis, at, label, beside)
            limits = percent_range(figure.low / 100, figure.high / 100)
            said.append(f"{own.group(pair, side)} {text}% ({limits})")
        if neutral.known:
            limits = percent_range(neutral.low / 100, neutral.high / 100)
            said.append(f"neutral text {neutral.estimate:.1f}% ({limits})")
        marks += tick(axis, neutral.estimate, reach=18)
        return Cell(marks, "; ".join(said))

    return _chart(own, name, "Accuracy of each group", axis, cell, height=60)


def groups_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the accuracy of each group with its interval; parameters as for `accuracy_chart`."""
    neutral = own.neutral or UNKNOWN
    ends = [end for figure in own.accuracies.values() for end in (figure.low, figure.high)]
    axis = axis_over(
        [*ends, neutral.low, neutral.high],
        key="accuracy",
        label="",
        note="accuracy, %",
        room=0.25,
        lead=0.04,
        signed=False,
        unit="%",
    )

    def row(group: tuple[str, str], figure: Figure) -> Row:
        limits = percent_range(figure.low / 100, figure.high / 100)
        label = f"{figure.estimate:.1f}" if figure.known else "range"
        marks = interval(
            axis, figure.estimate, figure.low, figure.high, label=label, colour=ACCENT_B
        )
        marks += tick(axis, neutral.estimate, reach=30)
        return Row(own.group_name(*group), (Cell(marks, f"{label} ({limits})%"),))

    rows = tuple(row(group, figure) for group, figure in own.accuracies.items())
    caption = f"Accuracy of each group: {own.label}"
    return Chart(name, caption, "Group", (axis,), rows, height=24)


def discordant_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the number of pairs right for one group only; parameters as for `accuracy_chart`."""
    counts = {pair: _discordant(own, pair) for pair in own.charted}
    known = [both for both in counts.values() if both is not None]
    most = max((max(both) for both in known), default=0) or 1
    other = max((second for _, second in known), default=0)
    # Room for the groups' names on both sides of the line.
    low, high = -max(1.25 * other, 0.5 * most), max(1.25 * most, 1.0)
    axis = Axis("discordant", "", "pairs right for one group only", low, high, labelled=False)

    def cell(pair: Panel) -> Cell:
        both = counts[pair]
        if both is None:
            return Cell(words(axis, 0, "not known"), "not known")
        first, second = both
        names = [_cut(own.group(pair, side)) for side in (0, 1)]
        marks = bar(axis, 0, first, colour=ACCENT_B, y=66, reach=24)
        marks += bar(axis, -second, 0, colour=ACCENT_A, y=66, reach=24)
        marks += words(axis, first, f"{first}", y="66%", shift=6)
        marks += words(axis, -second, f"{second}", anchor="end", y="66%", shift=-6)
        marks += words(axis, 0, f"{names[0]} →", y="20%", shift=5)
        marks += words(axis, 0, f"← {names[1]}", anchor="end", y="20%", shift=-5)
        groups = [own.group(pair, side) for side in (0, 1)]
        return Cell(marks, f"{first} right for {groups[0]} only, {second} for {groups[1]} only")

    return _chart(own, name, "Pairs right for one group only", axis, cell, height=54)


def gap_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw each gap with its interval, the margin, and the gaps of the board's other models."""
    others = others_of(own)
    gaps = {pair: own.figure("accuracy_difference", pair) for pair in own.charted}
    values = [end for gap in gaps.values() for end in (gap.estimate, gap.low, gap.high)]
    for pair in own.charted:
        values += others[pair]
    axis = axis_over(
        values,
        key="gap",
        label="",
        note="accuracy gap, points",
        band=(-own.margin, own.margin),
        room=0.06,
        lead=0.04,
    )

    def cell(pair: Panel) -> Cell:
        gap, there = gaps[pair], others[pair]
        label = points(gap.estimate / 100) if gap.known else "range"
        at = gap.estimate if gap.known else (gap.low + gap.high) / 2
        marks = "".join(dot(axis, v, colour=NEUTRAL_DARK, hollow=True, y="80%") for v in there)
        marks += interval(axis, gap.estimate, gap.low, gap.high) + _above(axis, at, label, "18%")
        said = f"{pair.note}: {label}, {point_range(gap.low / 100, gap.high / 100)} points"
        if there:
            span = point_range(min(there) / 100, max(there) / 100)
            said += f"; the other models {span}"
        return Cell(marks, said)

    return _chart(own, name, "Accuracy gaps in percentage points", axis, cell, height=54)


def others_of(own: AnswerSet) -> dict[Panel, list[float]]:
    """Return the gaps of the board's other models, except those that helped select the items."""
    models = [
        model
        for model in own.board.models
        if model != own.model and model not in own.benchmark.selected_on
    ]
    found = {}
    for pair in own.pairs:
        rows = [own.figures.row(model, "accuracy_difference", pair) for model in models]
        figures = [figure_of(row) for row in rows]
        found[pair] = [figure.estimate for figure in figures if figure.known]
    return found


def _chart(
    own: AnswerSet,
    name: str,
    caption: str,
    axis: Axis,
    cell: Callable[[Panel], Cell],
    *,
    height: int,
) -> Chart:
    rows = tuple(Row(own.name(pair), (cell(pair),)) for pair in own.charted)
    caption = f"{caption}: {own.label}"
    return Chart(name, caption, "Pair", (axis,), rows, height=height)


def _sides(own: AnswerSet, pair: Panel) -> tuple[Figure, Figure]:
    return own.figure("accuracy_a", pair), own.figure("accuracy_b", pair)


def _discordant(own: AnswerSet, pair: Panel) -> tuple[int, int] | None:
    row = own.row("mcnemar", pair)
    if row is None or pd.isna(row["n10"]) or pd.isna(row["n01"]):
        return None
    return int(row["n10"]), int(row["n01"])


def _above(axis: Axis, value: float, text: str, y: str) -> str:
    """Place a text centred above or below a value, but inside the panel."""
    share = (value - axis.low) / (axis.high - axis.low)
    anchor = "start" if share < 0.15 else "end" if share > 0.85 else "middle"
    return words(axis, value, text, anchor=anchor, shift=0, y=y)


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
