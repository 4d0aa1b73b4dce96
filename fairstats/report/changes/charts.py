"""Draw the changes between two versions of a model, or between two prompts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.report.changes.rows import (
    Comparison,
    PairChange,
    change_text,
    change_words,
    directed,
    figures_of,
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
#: A model or two with the cells of each pair.
_Group = tuple[str, str, list[tuple[PairChange, tuple[Cell, ...]]]]


def version_chart(compared: Sequence[Comparison], *, name: str) -> Chart:
    """Draw accuracy, CFR and AD of older and newer models, one row per pair of groups.

    Parameters
    ----------
    compared : sequence of Comparison
        Models with the version before them, of one benchmark.
    name : str
        The chart's name on the page.
    """
    kind = compared[0].benchmark.kind
    figures, named = figures_of(kind), directed(kind)
    axes = tuple(replace(_figure_axis(m, compared), label=named[m]) for m in figures)
    several = len({one.context for one in compared}) > 1
    groups: list[_Group] = []
    for one in compared:
        notes = [one.context] * several + ["different questions, no verdict"] * (not one.alike)
        rows = [
            (pair, tuple(map(_labelled, axes, figures, [pair] * len(axes)))) for pair in one.charted
        ]
        groups.append((one.models, ", ".join(notes), rows))
    rate, cfr, gap = (label for label, _ in figures.values())
    caption = f"{rate}, {cfr} and {gap if kind == CHOICE else gap.lower()} of each model and the "
    caption += "version before it, by pair of groups"
    return Chart(name, caption, "Pair", axes, tuple(_rows(groups)), height=24)


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
    label, note = figures_of(kind)[metric]
    # Changes of levels and scores have two decimals.
    room = 1.3 * _CHANGE_ROOM if own.numeric else _CHANGE_ROOM
    if metric == gap:
        return _axis([0.0, *values], label, note, room=room)
    if own.numeric:
        return _axis(values, label, note, room=room, limits=benchmark.limits)
    return _axis([*values, 100.0], label, note, room=room, limits=(0.0, 100.0), unit="%")


def _axis(
    values: Sequence[float],
    label: str,
    note: str = "",
    *,
    room: float,
    limits: tuple[float, float] = (0.0, math.inf),
    **options: Any,
) -> Axis:
    """Return an axis with room for labels at its right, a share of its range, without ticks."""
    options |= {"key": label, "label": label, "note": note, "limits": limits}
    axis = axis_over(values, room=0, signed=False, **options)
    return replace(axis, high=axis.high + room * (axis.high - axis.low), end=axis.high)


def dumbbell(axis: Axis, row: Mapping[Any, Any], kind: Kind, colour: str) -> Markup:
    """Draw a line from the old to the new value of a row of the comparisons."""
    old, new = scaled(kind, row["old"]), scaled(kind, row["new"])
    marks = line(axis, old, new, colour=colour)
    return marks + dot(axis, old, colour=DIM, hollow=True) + dot(axis, new, colour=colour)


def _labelled(axis: Axis, metric: str, pair: PairChange) -> Cell:
    row, direction = pair.figures[metric], pair.direction(metric)
    kind = written_as(metric, pair.kind)
    marks = dumbbell(axis, row, kind, COLOURS[direction])
    ink = INK if direction else DIM
    marks += words(axis, axis.high, change_text(row, kind), anchor="end", shift=6, colour=ink)
    return Cell(marks, change_words(metric, pair), row["estimate"])


def prompt_chart(compared: Sequence[Comparison], *, name: str) -> Chart:
    """Draw the gap with each prompt and the reference: a panel per prompt, a row per pair.

    Parameters
    ----------
    compared : sequence of Comparison
        Prompts with one reference, of one benchmark.
    name : str
        The chart's name on the page.
    """
    prompts = list(dict.fromkeys(one.prompt for one in compared))
    values = [value for one in compared for pair in one.charted for value in _gaps(pair)]
    benchmark = compared[0].benchmark
    band = (0.0, scaled(benchmark.kind, benchmark.equivalence_margin))
    axes = {
        prompt: _axis([0.0, *values], strategy_label(prompt), room=_GAP_ROOM, band=band)
        for prompt in prompts
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
    return Chart(name, caption, "Pair", tuple(axes.values()), tuple(_rows(groups)), height=24)


def _gaps(pair: PairChange) -> tuple[float, ...]:
    """Return the gap with the reference and the other prompt, and the limits of the change."""
    row, most = pair.gap, math.inf if pair.kind.numeric else 1.0
    old = row["old"]
    # AD is in [0, 1], but the interval of a change is not limited by the old AD.
    ends = (old + row[side] for side in ("ci_low", "ci_high"))
    shown = (old, row["new"], *(v if math.isnan(v) else min(max(v, 0.0), most) for v in ends))
    return tuple(scaled(pair.kind, value) for value in shown)


def _gap(axis: Axis, pair: PairChange | None) -> Cell:
    if pair is None:
        return _without_marks(axis, "not tested", "not tested")
    metric, row = f"delta_{pair.kind.disparity}", pair.gap
    direction, said = pair.direction(metric), change_words(metric, pair)
    plain, other, low, high = _gaps(pair)
    if math.isnan(row["estimate"]):
        return _without_marks(axis, change_text(row, pair.kind), said)
    colour, label = COLOURS[direction], pair.kind.signed(row["estimate"])
    marks = line(axis, low, high, colour=colour)
    marks += dot(axis, plain, colour=DIM, hollow=True) + dot(axis, other, colour=colour)
    ink = INK if direction else DIM
    marks += words(axis, max(plain, other, high), label, colour=ink, shift=8)
    return Cell(marks, said, row["estimate"])


def _without_marks(axis: Axis, text: str, said: str) -> Cell:
    middle = (axis.low + axis.end) / 2
    return Cell(words(axis, middle, text, anchor="middle", shift=0, colour=DIM), said)


def _rows(groups: Sequence[_Group]) -> Iterable[Row]:
    """Yield a heading per group, then its pairs; one row per group if each has a single pair."""
    alone = all(len(rows) == 1 for _, _, rows in groups)
    for heading, note, rows in groups:
        if not alone:
            yield Row(heading, note=note)
        for pair, cells in rows:
            if alone:
                yield Row(heading, cells, note=", ".join(filter(None, (pair.name, note))))
            else:
                yield Row(pair.name, cells)
