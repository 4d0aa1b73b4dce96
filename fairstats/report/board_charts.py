"""The charts of a board: one row per model, one panel per attribute, on a common axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from fairstats._lib.formatting import level, percent_range, point_range, points, span
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.report.board_figures import BoardFigures, Panel
from fairstats.report.chart_marks import Axis, axis_over, bar, dot, interval, line, tick, words
from fairstats.report.findings import set_label
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, RULE, output_format, page_root
from fairstats.report.row_chart import Cell, Chart, Row

#: The colour of each verdict's interval; one without a verdict is grey.
COLOURS = {DISPARITY: ACCENT_A, EQUIVALENT: ACCENT_B}
# Marks that are added to names, and explained below the chart.
SELECTED, PUBLISHED, UNRANKED, FLAGGED, CHOSEN = "◆", "◇", "†", "‡", "§"


def gap_chart(figures: BoardFigures, *, name: str) -> Chart:
    """Draw the signed accuracy difference with its interval, with the equivalence margin shaded.

    Parameters
    ----------
    figures : BoardFigures
        The board's figures.
    name : str
        The chart's name, unique on the page.
    """
    margin = 100 * figures.board.benchmark.equivalence_margin
    axes = _axes(figures, ["accuracy_difference"], band=(-margin, margin))

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, "accuracy_difference", panel, axis)
        row = figures.row(model, "accuracy_difference", panel)
        if row is None:
            return _not_asked(axis)
        estimate, low, high = _in_hundred(row)
        label = points(row["estimate"]) if not math.isnan(estimate) else "range"
        colour = COLOURS.get(row["verdict"], DIM)
        said = f"{label}, {point_range(row['ci_low'], row['ci_high'])} points"
        if isinstance(row["verdict"], str):
            said += f", {row['verdict']}"
        marks = interval(axis, estimate, low, high, label=label, colour=colour)
        return Cell(marks, said, abs(estimate))

    def published(values: dict[tuple[str, str], float], panel: Panel, axis: Axis) -> Cell:
        value = 100 * values.get((panel.attribute, "ad"), math.nan)
        return _published(axis, value, f"{value:.1f}")

    caption = "Accuracy gaps in percentage points"
    return _chart(figures, name, caption, axes, cell, published, "accuracy_difference")


def cfr_chart(figures: BoardFigures, *, name: str) -> Chart:
    """Draw the counterfactual fairness rate with its interval; parameters as for `gap_chart`."""
    axes = _axes(figures, ["cfr"], signed=False, unit="%")

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, "cfr", panel, axis)
        row = figures.row(model, "cfr", panel)
        if row is None:
            return _not_asked(axis)
        estimate, low, high = _in_hundred(row)
        label = "range" if math.isnan(estimate) else f"{estimate:.1f}"
        said = f"{label} ({percent_range(row['ci_low'], row['ci_high'])})%"
        marks = interval(axis, estimate, low, high, label=label, colour=ACCENT_B)
        return Cell(marks, said, -estimate)

    def published(values: dict[tuple[str, str], float], panel: Panel, axis: Axis) -> Cell:
        value = 100 * values.get((panel.attribute, "cfr"), math.nan)
        return _published(axis, value, f"{value:.1f}")

    return _chart(
        figures, name, "Same answer to both groups (CFR), %", axes, cell, published, "cfr"
    )


def accuracy_chart(figures: BoardFigures, *, name: str) -> Chart:
    """Accuracy for both groups of each pair and, if known, with neutral text."""
    neutral = figures.neutral
    bases = [
        100 * row["estimate"]
        for model in figures.board.models
        if neutral is not None and (row := figures.row(model, "accuracy_b", neutral)) is not None
    ]
    metrics = ["accuracy_a", "accuracy_b"]
    axes = _axes(figures, metrics, also=bases, room=0.42, signed=False, unit="%")

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_group(figures, model, panel, axis)
        a, b = (figures.row(model, f"accuracy_{side}", panel) for side in "ab")
        if a is None or b is None:
            return _not_asked(axis)
        if pd.isna(a["estimate"]) or pd.isna(b["estimate"]):
            said = " and ".join(percent_range(row["ci_low"], row["ci_high"]) for row in (a, b))
            return Cell("", f"between {said}%")
        first, second = 100 * a["estimate"], 100 * b["estimate"]
        label = f"{first:.1f} / {second:.1f}"
        marks = line(axis, first, second)
        base = None if neutral is None else figures.row(model, "accuracy_b", neutral)
        if base is not None and not pd.isna(base["estimate"]):
            marks += tick(axis, 100 * base["estimate"])
        marks += dot(axis, first, colour=ACCENT_B) + dot(axis, second, colour=ACCENT_A)
        marks += words(axis, max(first, second), label, shift=9)
        return Cell(marks, f"{label}%", -second)

    return _chart(figures, name, "Accuracy by group, %", axes, cell, None)


def _each_pair(figures: BoardFigures, model: str, metric: str, panel: Panel, axis: Axis) -> Cell:
    """Draw a circle per pair, and name the pairs with the lowest and the highest figure."""
    rows = {one: figures.row(model, metric, one) for one in panel.members}
    known = {one: row for one, row in rows.items() if row is not None}
    signed = metric == "accuracy_difference"
    colours = {
        one: COLOURS.get(row["verdict"], DIM) if signed else ACCENT_B for one, row in known.items()
    }
    figures_of = {one.note: _ends(row) for one, row in known.items()}
    text = points if signed else (lambda share: f"{100 * share:.1f}")
    return _strip(axis, figures_of, list(colours.values()), text, "pair", signed=signed)


def _each_group(figures: BoardFigures, model: str, panel: Panel, axis: Axis) -> Cell:
    """Draw a circle per group; groups that are first in a pair, second, or both differ."""
    places: dict[str, set[str]] = {}
    shares: dict[str, tuple[float, float]] = {}
    several = len({one.attribute for one in panel.members}) > 1
    for one in panel.members:
        attribute = figures.board.benchmark.attribute(one.attribute)
        for side, group in zip("ab", one.pair, strict=True):
            row = figures.row(model, f"accuracy_{side}", one)
            if row is not None:
                label = attribute.groups[group]
                label = f"{attribute.label}: {label}" if several else label
                shares[label] = _ends(row)
                places.setdefault(label, set()).add(side)
    colours = {"a": ACCENT_B, "b": ACCENT_A}
    drawn = [colours.get("".join(places[label]), DIM) for label in shares]
    return _strip(axis, shares, drawn, lambda share: f"{100 * share:.1f}", "group", signed=False)


def _ends(row: pd.Series) -> tuple[float, float]:
    """Return an estimate twice, or the limits of its range."""
    if pd.isna(row["estimate"]):
        return float(row["ci_low"]), float(row["ci_high"])
    return float(row["estimate"]), float(row["estimate"])


def _strip(
    axis: Axis,
    figures: Mapping[str, tuple[float, float]],
    colours: Sequence[str],
    text: Callable[[float], str],
    noun: str,
    *,
    signed: bool,
) -> Cell:
    """Draw figures on one line, with the lowest and the highest one as text."""
    known = [name for name, ends in figures.items() if not any(map(math.isnan, ends))]
    if not known:
        return _not_asked(axis)
    least, most = (
        min(known, key=lambda n: figures[n][0]),
        max(known, key=lambda n: figures[n][1]),
    )
    low, high = figures[least][0], figures[most][1]
    marks = line(axis, 100 * low, 100 * high, colour=RULE)
    for (start, end), colour in zip(figures.values(), colours, strict=True):
        if start == end:
            marks += dot(axis, 100 * start, colour=colour, hollow=True)
        else:
            marks += line(axis, 100 * start, 100 * end, colour=colour)
    label = span(text(low), text(high))
    # A phone has no room for it.
    marks += f'<g class="range">{words(axis, 100 * high, label, shift=9)}</g>'
    said = f"{len(known)} {noun}s: {label}"
    if low < high:
        said = f"{len(known)} {noun}s, from {text(low)} ({least}) to {text(high)} ({most})"
    value = max(abs(low), abs(high)) if signed else -low
    return Cell(marks, said, 100 * value)


Shifts = dict[tuple[str, Panel], tuple[float, float]]


def shift_chart(figures: BoardFigures, shifts: Shifts, *, name: str) -> Chart:
    """Draw the change in accuracy from the neutral text to each group's text.

    The gap of a pair is the sum of the second group's loss and the first group's gain.

    Parameters
    ----------
    figures : BoardFigures
        The board's figures.
    shifts : dict
        From `shifts_of`.
    name : str
        The chart's name, unique on the page.
    """
    values = [100 * v for both in shifts.values() for v in both]
    # Letters are larger on paper, compared with a panel.
    room = 0.24 if output_format() == "html" else 0.5
    axes = tuple(
        axis_over(values, key=panel.key, label=panel.label, note=panel.note, room=room, lead=room)
        for panel in single_panels(figures)
    )

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        both = shifts.get((model, panel))
        if both is None:
            return _not_asked(axis)
        texts = [points(share) for share in both]
        bars = [*zip(both, (ACCENT_B, ACCENT_A), texts, strict=True)]
        labels = [(share, text) for share, _, text in bars]
        if (both[0] > 0) == (both[1] > 0):
            # Both on one side: the shorter bar in front, and one label at the end of the longer.
            bars.sort(key=lambda one: -abs(one[0]))
            labels = [(bars[0][0], " / ".join(texts))]
        marks = "".join(bar(axis, 0, 100 * share, colour=colour) for share, colour, _ in bars)
        for share, text in labels:
            anchor, shift = ("start", 5) if share > 0 else ("end", -5)
            marks += words(axis, 100 * share, text, anchor=anchor, shift=shift)
        return Cell(marks, f"{texts[0]} and {texts[1]} points", -(both[0] - both[1]))

    return _chart(figures, name, "Accuracy minus that of the neutral text", axes, cell, None)


def single_panels(figures: BoardFigures) -> list[Panel]:
    """Return the panels of the overview with one figure each."""
    return [panel for panel in figures.overview if not panel.members]


def shifts_of(figures: BoardFigures) -> Shifts | None:
    """Return each model's accuracy of both groups minus that of the neutral text, by panel.

    Returns
    -------
    dict or None
        Proportions, the first group of a pair first; None if the neutral text was not used, or a
        figure is a range.
    """
    neutral = figures.neutral
    if neutral is None:
        return None
    found = {}
    for model in figures.board.models:
        base = figures.row(model, "accuracy_b", neutral)
        for panel in single_panels(figures):
            a, b = (figures.row(model, f"accuracy_{side}", panel) for side in "ab")
            if a is None or b is None or base is None:
                continue
            values = [float(row["estimate"]) for row in (a, b, base)]
            if any(map(math.isnan, values)):
                return None
            found[(model, panel)] = (values[0] - values[2], values[1] - values[2])
    return found or None


def _axes(
    figures: BoardFigures,
    metrics: Sequence[str],
    *,
    also: Sequence[float] = (),
    room: float = 0.3,
    band: tuple[float, float] | None = None,
    signed: bool = True,
    unit: str = "",
) -> tuple[Axis, ...]:
    """Make one axis per panel, all with the same limits, to fit all intervals of these metrics."""
    rows = [
        (row, bool(panel.members))
        for model in figures.board.models
        for panel in figures.overview
        for one in panel.members or (panel,)
        for metric in metrics
        if (row := figures.row(model, metric, one)) is not None
    ]
    # A panel is narrower on paper, and its labels are not.
    room = room if output_format() == "html" else room + 0.25
    # The label of a shared panel is a range.
    room += 0.15 if figures.many else 0
    values = [100 * row[c] for row, shared in rows if not shared for c in ("estimate", *_LIMITS)]
    # The intervals of pairs that share a panel are not drawn.
    values += [100 * end for row, shared in rows if shared for end in _ends(row)]
    return tuple(
        axis_over(
            [*values, *also],
            key=panel.key,
            label=panel.label,
            note=panel.note,
            band=band,
            room=room,
            signed=signed,
            unit=unit,
        )
        for panel in figures.overview
    )


_LIMITS = ("ci_low", "ci_high")


def marks_of(figures: BoardFigures, model: str) -> str:
    """Return the marks that follow a model's name; the notes explain them."""
    board, marks = figures.board, ""
    if model in board.benchmark.selected_on:
        marks = f" {SELECTED}"
    elif model in board.why_unranked:
        marks = f" {UNRANKED}"
    marks += f" {FLAGGED}" if model in figures.flagged else ""
    return f"{marks} {CHOSEN}" if model in figures.chosen else marks


def _chart(
    figures: BoardFigures,
    name: str,
    caption: str,
    axes: tuple[Axis, ...],
    cell: Callable[[str, Panel, Axis], Cell],
    published: Callable[[dict[tuple[str, str], float], Panel, Axis], Cell] | None,
    metric: str = "",
) -> Chart:
    """Make a chart with a row per model; the first panel shows `metric` as text."""
    board, release = figures.board, figures.release
    if output_format() != "html":
        # Paper is too narrow for them; they are in the table below.
        metric = ""
    # A chart may leave out the panels at the end.
    pairs = list(zip(figures.overview, axes, strict=False))
    rows = []
    for model in board.ordered:
        rows.append(
            Row(
                f"{model}{marks_of(figures, model)}",
                tuple(cell(model, panel, axis) for panel, axis in pairs),
                (
                    figures.rank(model),
                    original_accuracy(figures, model),
                    *([_with_limits(figures.row(model, metric, pairs[0][0]))] if metric else []),
                ),
                note=figures.snapshot(model),
                href=f"{page_root()}reports/models/{release.slugs[model]}.html",
            )
        )
    if published is not None:
        for model, values in figures.published():
            cells = tuple(published(values, panel, axis) for panel, axis in pairs)
            rows.append(Row(f"{model} {PUBLISHED}", cells, ("–", "–", "–")))
    heads = ["Rank by gap", accuracy_head(figures)]
    if metric:
        limits = "range" if release.policies == ["bounds"] else f"{level(release.alpha)} CI"
        what = "gap" if metric == "accuracy_difference" else "CFR"
        heads.append(f"{figures.overview[0].label} {what} ({limits})")
    which = set_label(board.benchmark, board.version, board.strategy)
    caption = f"{caption}. {board.benchmark.title}, {which}"
    return Chart(name, caption, "Model", axes, tuple(rows), tuple(heads), height=31)


def _with_limits(row: pd.Series | None) -> str:
    """Return a figure in hundreds with its limits, as plain text."""
    if row is None:
        return "–"
    signed = row["metric"] == "accuracy_difference"
    limits = (point_range if signed else percent_range)(row["ci_low"], row["ci_high"])
    if pd.isna(row["estimate"]):
        return limits
    value = points(row["estimate"]) if signed else f"{100 * row['estimate']:.1f}"
    return f"{value} ({limits})"


def accuracy_head(figures: BoardFigures) -> str:
    """Return the heading of the column of accuracies."""
    if figures.neutral is None:
        return "Accuracy of groups, %"
    return "Accuracy, original, %"


def original_accuracy(figures: BoardFigures, model: str) -> str:
    """Return the accuracy on the original text, or the range over the groups without that text."""
    if figures.neutral is not None:
        row = figures.row(model, "accuracy_a", figures.neutral)
        if row is None:
            return "–"
        if not pd.isna(row["estimate"]):
            return f"{100 * row['estimate']:.1f}"
        return percent_range(row["ci_low"], row["ci_high"])
    rows = [
        row
        for panel in figures.pairs
        for side in "ab"
        if (row := figures.row(model, f"accuracy_{side}", panel)) is not None
    ]
    # Under bounds an accuracy is a range.
    lows = [row["ci_low"] if pd.isna(row["estimate"]) else row["estimate"] for row in rows]
    highs = [row["ci_high"] if pd.isna(row["estimate"]) else row["estimate"] for row in rows]
    return percent_range(min(lows), max(highs)) if rows else "–"


def _in_hundred(row: pd.Series) -> tuple[float, float, float]:
    estimate, low, high = (100 * float(row[name]) for name in ("estimate", *_LIMITS))
    return estimate, low, high


def _not_asked(axis: Axis) -> Cell:
    return Cell(words(axis, axis.low, "not asked", shift=2, colour=DIM), "not asked")


def _published(axis: Axis, value: float, label: str) -> Cell:
    if math.isnan(value):
        return Cell(words(axis, axis.low, "not reported", shift=2, colour=DIM), "not reported")
    marks = dot(axis, value, colour=DIM, hollow=True) + words(axis, value, label)
    return Cell(marks, f"{label}, as published", value)
