"""Draw the changes between two versions of a model, or between two prompts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fairstats._lib.formatting import level
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.kinds import CHOICE
from fairstats.report.changes.rows import (
    Comparison,
    PairChange,
    change_text,
    change_words,
    directed,
    figures_of,
    gap_of,
    written_as,
)
from fairstats.report.charts.marks import Axis, axis_over, dot, line, words
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK
from fairstats.report.words import scaled

#: The colours of changes that are better, worse or unclear.
COLOURS = {1: ACCENT_B, -1: ACCENT_A, 0: DIM}
#: The share of a panel's range that labels at its right need.
_CHANGE_ROOM, _GAP_ROOM = 0.95, 0.22
#: A heading and its note, with the cells of each pair.
_Group = tuple[str, str, list[tuple[PairChange, tuple[Cell, ...]]]]


def change_chart(compared: Sequence[Comparison], *, name: str) -> Chart:
    """Draw changes by pair of groups: of versions a panel per figure, of prompts one per prompt.

    Parameters
    ----------
    compared : sequence of Comparison
        Models with the version before them, or prompts with one reference, of one benchmark.
    name : str
        The chart's name on the page.
    """
    if compared[0].reference:
        return _prompt_chart(compared, name)
    return _version_chart(compared, name)


def _version_chart(compared: Sequence[Comparison], name: str) -> Chart:
    kind = compared[0].benchmark.kind
    axes = {metric: _figure_axis(metric, compared) for metric in figures_of(kind)}
    several = len({one.context for one in compared}) > 1
    groups: list[_Group] = []
    for one in compared:
        notes = [one.context] * several + ["different questions, no verdict"] * (not one.alike)
        rows = [
            (pair, tuple(_figure(axis, metric, pair) for metric, axis in axes.items()))
            for pair in one.charted
        ]
        groups.append((one.models, ", ".join(notes), rows))
    rate, cfr, gap = (label for label, _ in figures_of(kind).values())
    caption = f"{rate}, {cfr} and {gap if kind == CHOICE else gap.lower()} of each model and the "
    caption += "version before it, by pair of groups"
    return _chart(name, caption, axes.values(), groups, "changed")


def _figure_axis(metric: str, compared: Sequence[Comparison]) -> Axis:
    """Return an axis from 0 for the gap; the same axis, up to 100%, for all shares."""
    benchmark = compared[0].benchmark
    kind, gap = benchmark.kind, f"delta_{benchmark.kind.disparity}"
    own = written_as(metric, kind)
    shown = {metric} if metric == gap or kind.numeric else set(figures_of(kind)) - {gap}
    values = [
        scaled(written_as(m, kind), pair.figures[m][side])
        for one in compared for pair in one.charted for m in shown for side in ("old", "new")
    ]  # fmt: skip
    options: dict[str, Any] = {}
    if metric == gap:
        values.append(0.0)
    elif own.numeric:
        options = {"limits": benchmark.limits}
    else:
        values.append(100.0)
        options = {"limits": (0.0, 100.0), "unit": "%"}
    label, note = figures_of(kind)[metric]
    # Changes of levels and scores have two decimals.
    room = 1.3 * _CHANGE_ROOM if own.numeric else _CHANGE_ROOM
    axis = _axis(values, label, note=note, room=room, **options)
    return replace(axis, label=directed(kind)[metric])


def _axis(values: Sequence[float], label: str, *, room: float, **options: Any) -> Axis:
    """Return an axis with room for labels at its right, a share of its range, without ticks."""
    options = {"note": "", "limits": (0.0, math.inf)} | options
    axis = axis_over(values, key=label, label=label, room=0, signed=False, **options)
    return replace(axis, high=axis.high + room * (axis.high - axis.low), end=axis.high)


def _figure(axis: Axis, metric: str, pair: PairChange) -> Cell:
    """Draw a line from the older to the newer value, and write the change."""
    row, direction = pair.figures[metric], pair.direction(metric)
    kind, colour = written_as(metric, pair.kind), COLOURS[direction]
    old, new = scaled(kind, row["old"]), scaled(kind, row["new"])
    marks = line(axis, old, new, colour=colour)
    marks += dot(axis, old, colour=DIM, hollow=True) + dot(axis, new, colour=colour)
    ink = INK if direction else DIM
    marks += words(axis, axis.high, change_text(row, kind), anchor="end", shift=6, colour=ink)
    return Cell(marks, change_words(metric, pair), row["estimate"])


def _prompt_chart(compared: Sequence[Comparison], name: str) -> Chart:
    values = [value for one in compared for pair in one.charted for value in _gaps(pair)]
    benchmark = compared[0].benchmark
    band = (0.0, scaled(benchmark.kind, benchmark.equivalence_margin))
    axes = {
        one.prompt: _axis([0.0, *values], strategy_label(one.prompt), room=_GAP_ROOM, band=band)
        for one in compared
    }
    several = len({one.context for one in compared}) > 1
    groups: list[_Group] = []
    for model, context in dict.fromkeys((one.new, one.context) for one in compared):
        own = [one for one in compared if (one.new, one.context) == (model, context)]
        pairs = {pair.pair: pair for one in own for pair in one.charted}
        tested = {(one.prompt, pair.pair): pair for one in own for pair in one.pairs}
        rows = [
            (pair, tuple(_gap(axis, tested.get((prompt, key))) for prompt, axis in axes.items()))
            for key, pair in pairs.items()
        ]
        groups.append((model, context if several else "", rows))
    gap = "AD" if benchmark.kind == CHOICE else "Gap"
    reference = prompt_label(compared[0].reference)
    caption = f"{gap} of each model with each prompt and with the {reference}, by pair of groups"
    return _chart(name, caption, axes.values(), groups, "changed prompts")


def _gaps(pair: PairChange) -> tuple[float, ...]:
    """Return the gap with the reference and the other prompt, and the limits of the change."""
    row, most = pair.gap, math.inf if pair.kind.numeric else 1.0
    old = row["old"]
    # AD is in [0, 1], but the interval of a change is not limited by the old AD.
    ends = (old + row[side] for side in ("ci_low", "ci_high"))
    shown = (old, row["new"], *(v if math.isnan(v) else min(max(v, 0.0), most) for v in ends))
    return tuple(scaled(pair.kind, value) for value in shown)


def _gap(axis: Axis, pair: PairChange | None) -> Cell:
    """Draw the gap with both prompts, and the interval of the change."""
    if pair is None:
        return _without_marks(axis, "not tested", "not tested")
    metric, row = f"delta_{pair.kind.disparity}", pair.gap
    direction, said = pair.direction(metric), change_words(metric, pair)
    if math.isnan(row["estimate"]):
        return _without_marks(axis, change_text(row, pair.kind), said)
    reference, other, low, high = _gaps(pair)
    marks = line(axis, low, high, colour=COLOURS[direction])
    marks += dot(axis, reference, colour=DIM, hollow=True)
    marks += dot(axis, other, colour=COLOURS[direction])
    label, ink = pair.kind.signed(row["estimate"]), INK if direction else DIM
    marks += words(axis, max(reference, other, high), label, colour=ink, shift=8)
    return Cell(marks, said, row["estimate"])


def _without_marks(axis: Axis, text: str, said: str) -> Cell:
    middle = (axis.low + axis.end) / 2
    return Cell(words(axis, middle, text, anchor="middle", shift=0, colour=DIM), said)


def _chart(
    name: str, caption: str, axes: Iterable[Axis], groups: Sequence[_Group], css_class: str
) -> Chart:
    """Give each group a heading above its pairs; none if each has a single pair."""
    alone, rows = all(len(pairs) == 1 for _, _, pairs in groups), []
    for heading, note, pairs in groups:
        if not alone:
            rows.append(Row(heading, note=note))
        for pair, cells in pairs:
            both = ", ".join(filter(None, (pair.name, note)))
            rows.append(Row(heading, cells, note=both) if alone else Row(pair.name, cells))
    return Chart(name, caption, "Pair", (*axes,), (*rows,), height=24, css_class=css_class)


def chart_key(compared: Sequence[Comparison], alpha: float) -> list[tuple[str, str]]:
    """Return what the marks of `change_chart` mean, each with its class in the style sheet.

    Parameters
    ----------
    compared : sequence of Comparison
        What the chart shows.
    alpha : float
        The level of significance.
    """
    one, sure = compared[0], level(alpha)
    kind, gap = one.benchmark.kind, gap_of(one.benchmark.kind).removeprefix("the ")
    unit = f"{kind.unit} or points" if kind.numeric and not one.reference else kind.unit
    if one.ranged:
        return [(f"figures: range of the change, in {unit}", "")]
    older, newer, better, worse = "older version", "newer version", "better", "worse"
    more = [f"figures: change in {unit}, with its {sure} interval"]
    if one.reference:
        older, newer = f"{gap} with the {prompt_label(one.reference)}", "with another prompt"
        better, worse = f"smaller {gap}", f"larger {gap}"
        margin = f"{kind.shown_margin(one.benchmark.equivalence_margin)} {kind.unit}"
        more = [f"figures: change in {unit}", f"lines: its {sure} interval"]
        more.append(f"shaded: up to {margin}, the equivalence margin")
    return [
        (older, "hollow"),
        (f"{newer}: no significant change", "dim"),
        (f"significantly {better} (adjusted p at most {alpha:g})", "b"),
        (f"significantly {worse}", "a"),
        *((text, "") for text in more),
    ]
