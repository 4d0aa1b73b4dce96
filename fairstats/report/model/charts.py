"""The charts of one answer set on the page of its model: accuracy, discordant pairs, gaps."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from fairstats._lib.formatting import capital
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.report.board.charts import FOUR_FIFTHS, MOST_RATIO, control_panels, ratio
from fairstats.report.board.figures import Panel
from fairstats.report.charts.marks import Axis, axis_over, bar, dot, interval, tick, words
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.model.sets import UNKNOWN, AnswerSet, Figure, figure_of
from fairstats.report.page_output import ACCENT_A, ACCENT_B, NEUTRAL_DARK
from fairstats.report.words import (
    gap_name,
    higher_by,
    long_unit,
    plain,
    plain_range,
    scale_of,
    signed_range,
)

_LONGEST = 22


def accuracy_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the accuracy, rate or mean of both groups of each pair, and that with neutral text.

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
    kind, unit = own.kind, "" if own.kind.numeric else "%"
    axis = axis_over(
        [*ends, neutral.low, neutral.high],
        key="accuracy",
        label="",
        note=_heading(kind),
        room=0.04,
        lead=0.04,
        limits=own.benchmark.limits if kind.numeric else (0, 100),
        signed=False,
        unit=unit,
    )

    def cell(pair: Panel) -> Cell:
        marks, said = "", []
        # A small distance, because intervals may overlap.
        places = ((ACCENT_B, "57%", "84%"), (ACCENT_A, "43%", "16%"))
        for side, (figure, (colour, y, beside)) in enumerate(
            zip(_sides(own, pair), places, strict=True)
        ):
            text = _text(own, figure.estimate) if figure.known else "range"
            label = f"{_cut(own.group(pair, side))} {text}"
            at = figure.estimate if figure.known else (figure.low + figure.high) / 2
            marks += interval(axis, figure.estimate, figure.low, figure.high, colour=colour, y=y)
            marks += _above(axis, at, label, beside)
            said.append(f"{own.group(pair, side)} {text}{unit} ({_limits(own, figure)})")
        if neutral.known:
            text = _text(own, neutral.estimate)
            said.append(f"neutral text {text}{unit} ({_limits(own, neutral)})")
        marks += tick(axis, neutral.estimate, reach=18)
        return Cell(marks, "; ".join(said))

    return _chart(own, name, f"{capital(kind.figure)} of each group", axis, cell, height=60)


def _heading(kind: Kind) -> str:
    return kind.figure if kind.numeric else f"{kind.figure}, %"


def _text(own: AnswerSet, value: float) -> str:
    """Return a group's figure on an axis as text."""
    return plain(own.kind, value / scale_of(own.kind, own.kind.rate_a))


def _limits(own: AnswerSet, figure: Figure) -> str:
    scale = scale_of(own.kind, own.kind.rate_a)
    return plain_range(own.kind, figure.low / scale, figure.high / scale)


def groups_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the accuracy of each group with its interval; parameters as for `accuracy_chart`."""
    neutral, unit = own.neutral or UNKNOWN, "" if own.kind.numeric else "%"
    ends = [end for figure in own.accuracies.values() for end in (figure.low, figure.high)]
    axis = axis_over(
        [*ends, neutral.low, neutral.high],
        key="accuracy",
        label="",
        note=_heading(own.kind),
        room=0.25,
        lead=0.04,
        signed=False,
        unit=unit,
    )

    def row(group: tuple[str, str], figure: Figure) -> Row:
        label = _text(own, figure.estimate) if figure.known else "range"
        marks = interval(
            axis, figure.estimate, figure.low, figure.high, label=label, colour=ACCENT_B
        )
        marks += tick(axis, neutral.estimate, reach=30)
        return Row(
            own.group_name(*group), (Cell(marks, f"{label} ({_limits(own, figure)}){unit}"),)
        )

    rows = tuple(row(group, figure) for group, figure in own.accuracies.items())
    caption = f"{capital(own.kind.figure)} of each group: {own.label}"
    return Chart(name, caption, "Group", (axis,), rows, height=24)


def discordant_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the number of pairs that are right for one group only, or favourable, or higher for one.

    Parameters as for `accuracy_chart`.
    """
    what = _one_sided(own.benchmark)
    counts = {pair: _discordant(own, pair) for pair in own.charted}
    known = [both for both in counts.values() if both is not None]
    most = max((max(both) for both in known), default=0) or 1
    other = max((second for _, second in known), default=0)
    # Room for the groups' names on both sides of the line.
    low, high = -max(1.25 * other, 0.5 * most), max(1.25 * most, 1.0)
    axis = Axis("discordant", "", f"pairs {what}", low, high, labelled=False)

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
        if own.kind.numeric:
            said = f"{first} higher for {groups[0]}, {second} higher for {groups[1]}"
        else:
            right = what.partition(" ")[0]
            said = f"{first} {right} for {groups[0]} only, {second} for {groups[1]} only"
        return Cell(marks, said)

    return _chart(own, name, f"Pairs {what}", axis, cell, height=54)


def _one_sided(benchmark: Benchmark) -> str:
    if benchmark.kind.numeric:
        return f"with a {benchmark.kind.name} {higher_by(benchmark)} for one group"
    return f"{'right' if benchmark.kind == CHOICE else 'favourable'} for one group only"


def gap_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw each gap with its interval, the margin, and the gaps of the board's other models."""
    others = others_of(own)
    kind, scale = own.kind, scale_of(own.kind, own.kind.difference)
    gaps = {pair: own.figure(kind.difference, pair) for pair in own.charted}
    values = [end for gap in gaps.values() for end in (gap.estimate, gap.low, gap.high)]
    for pair in own.charted:
        values += others[pair]
    axis = axis_over(
        values,
        key="gap",
        label="",
        note=f"{gap_name(kind)}, {kind.unit}",
        band=(-own.margin, own.margin),
        room=0.06,
        lead=0.04,
    )

    def cell(pair: Panel) -> Cell:
        gap, there = gaps[pair], others[pair]
        label = kind.signed(gap.estimate / scale) if gap.known else "range"
        at = gap.estimate if gap.known else (gap.low + gap.high) / 2
        marks = "".join(dot(axis, v, colour=NEUTRAL_DARK, hollow=True, y="80%") for v in there)
        marks += interval(axis, gap.estimate, gap.low, gap.high) + _above(axis, at, label, "18%")
        limits = signed_range(kind, gap.low / scale, gap.high / scale)
        said = f"{pair.note}: {label}, {limits} {kind.unit}"
        if there:
            said += (
                f"; the other models {signed_range(kind, min(there) / scale, max(there) / scale)}"
            )
        return Cell(marks, said)

    caption = f"{capital(gap_name(kind))}s in {long_unit(kind)}"
    return _chart(own, name, caption, axis, cell, height=54)


def ratio_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the selection ratio of each pair; parameters as for `accuracy_chart`."""
    ratios = {pair: own.figure("selection_ratio", pair) for pair in own.charted}
    ends = [end for r in ratios.values() for end in (r.estimate, r.low, r.high)]
    axis = axis_over(
        [min(end, MOST_RATIO) for end in ends],
        key="ratio",
        label="",
        note="selection ratio",
        band=FOUR_FIFTHS,
        room=0.06,
        lead=0.04,
        signed=False,
    )

    def cell(pair: Panel) -> Cell:
        found = ratios[pair]
        label = ratio(found.estimate) if found.known else "not known"
        high = min(found.high, axis.high)
        marks = tick(axis, 1, reach=50) + interval(axis, found.estimate, found.low, high)
        marks += _above(axis, min(found.estimate, axis.high) if found.known else 1, label, "18%")
        return Cell(marks, f"{pair.note}: {label} ({ratio(found.low)} to {ratio(found.high)})")

    return _chart(own, name, "Selection ratios", axis, cell, height=54)


def beyond_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the change beyond that of controls; parameters as for `accuracy_chart`."""
    kind = own.kind
    found = beyond_of(own)
    unit = kind.unit if kind.numeric else "points"
    axis = axis_over(
        [end for figure in found.values() for end in (figure.estimate, figure.low, figure.high)],
        key="beyond",
        label="",
        note=f"change beyond that of controls, {unit}",
        room=0.25,
        lead=0.04,
    )
    scale = scale_of(kind, "beyond_control")

    def row(panel: Panel, figure: Figure) -> Row:
        label = kind.signed(figure.estimate / scale)
        marks = interval(axis, figure.estimate, figure.low, figure.high, label=label)
        limits = signed_range(kind, figure.low / scale, figure.high / scale)
        return Row(panel.label, (Cell(marks, f"{label} ({limits}) {unit}"),), note=panel.note)

    rows = tuple(row(panel, figure) for panel, figure in found.items())
    caption = f"Change beyond that of controls: {own.label}"
    return Chart(name, caption, "Attribute", (axis,), rows, height=34)


def beyond_of(own: AnswerSet) -> dict[Panel, Figure]:
    """Return the change beyond that of controls of each attribute with a figure."""
    found = {p: own.figure("beyond_control", p) for p in control_panels(own.figures, most=None)}
    return {panel: figure for panel, figure in found.items() if figure.known}


def errors_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the errors of each group against the key; parameters as for `accuracy_chart`.

    For decisions, true and false positive rates; for levels, the shares below and above the key;
    for scores, the mean signed error.
    """
    if own.kind.name == "level":
        return _sides_chart(own, name)
    metrics = error_metrics(own.kind)
    drawn = [own.by_group(f"{metric}_a", f"{metric}_b") for metric in metrics]
    share = own.kind.name == "decision"
    axis = axis_over(
        [end for figures in drawn for f in figures.values() for end in (f.low, f.high)],
        key="errors",
        label="",
        note="share of favourable answers, %" if share else "mean error, score points",
        room=0.2,
        lead=0.04,
        signed=not share,
        unit="%" if share else "",
    )

    def row(group: tuple[str, str]) -> Row:
        marks, said = "", []
        places = (("35%", ACCENT_B), ("68%", ACCENT_A)) if share else (("50%", ACCENT_B),)
        for figures, (y, colour), metric in zip(drawn, places, metrics, strict=False):
            f = figures[group]
            if not f.known:
                continue
            label = f"{f.estimate:.1f}" if share else own.kind.signed(f.estimate)
            marks += interval(axis, f.estimate, f.low, f.high, label=label, colour=colour, y=y)
            said.append(f"{metric.replace('_', ' ')} {label}")
        return Row(own.group_name(*group), (Cell(marks, ", ".join(said)),))

    groups = [group for group in drawn[0] if any(figures[group].known for figures in drawn)]
    caption = f"Errors by group: {own.label}"
    height = 40 if share else 24
    return Chart(name, caption, "Group", (axis,), tuple(map(row, groups)), height=height)


def error_metrics(kind: Kind) -> tuple[str, ...]:
    """Return the metrics of errors against the key, without their side."""
    named = {
        "decision": ("true_positive_rate", "false_positive_rate"),
        "level": ("too_low", "too_high"),
        "score": ("signed_error",),
    }
    return named.get(kind.name, ())


def _sides_chart(own: AnswerSet, name: str) -> Chart:
    """Draw the share of answers below the key to the left, and above it to the right."""
    low, high = (own.by_group(f"{metric}_a", f"{metric}_b") for metric in error_metrics(own.kind))
    known = [group for group, figure in low.items() if figure.known and high[group].known]
    most = max((max(low[g].estimate, high[g].estimate) for g in known), default=1.0) or 1.0
    note = "← below the key, % of answers · above it →"
    axis = Axis("errors", "", note, -1.35 * most, 1.35 * most, labelled=False)

    def row(group: tuple[str, str]) -> Row:
        down, up = low[group].estimate, high[group].estimate
        marks = bar(axis, -down, 0, colour=ACCENT_A) + bar(axis, 0, up, colour=ACCENT_B)
        marks += words(axis, -down, f"{down:.1f}", anchor="end", shift=-5)
        marks += words(axis, up, f"{up:.1f}", shift=5)
        said = f"{down:.1f}% below the key, {up:.1f}% above"
        return Row(own.group_name(*group), (Cell(marks, said),))

    caption = f"Answers below and above the key: {own.label}"
    return Chart(name, caption, "Group", (axis,), tuple(map(row, known)), height=24)


def others_of(own: AnswerSet) -> dict[Panel, list[float]]:
    """Return the gaps of the board's other models, except those that helped select the items."""
    models = [
        model
        for model in own.board.models
        if model != own.model and model not in own.benchmark.selected_on
    ]
    found = {}
    for pair in own.pairs:
        rows = [own.figures.row(model, own.kind.difference, pair) for model in models]
        figures = [figure_of(row, scale_of(own.kind, own.kind.difference)) for row in rows]
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
    return own.figure(own.kind.rate_a, pair), own.figure(own.kind.rate_b, pair)


def _discordant(own: AnswerSet, pair: Panel) -> tuple[int, int] | None:
    row = own.row(own.kind.test, pair)
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
