"""The charts of a board: one row per model, one panel per attribute, on a common axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
from markupsafe import Markup

from fairstats._lib.formatting import capital, decimal, level, percent_range, points, span
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.report.board.figures import MOST_PANELS, BoardFigures, Panel
from fairstats.report.charts.marks import (
    Axis,
    axis_over,
    bar,
    dot,
    element,
    interval,
    line,
    tick,
    words,
)
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.findings import set_label
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, RULE, output_format, page_root
from fairstats.report.words import (
    gap_name,
    long_unit,
    plain,
    plain_range,
    scale_of,
    scaled,
    signed_range,
)

#: The colour of each verdict's interval; one without a verdict is grey.
COLOURS = {DISPARITY: ACCENT_A, EQUIVALENT: ACCENT_B}
#: The four-fifths rule: a ratio of selection rates outside is a sign of adverse impact.
FOUR_FIFTHS = (0.8, 1.25)
#: Larger ratios are at the end of the axis.
MOST_RATIO = 3.0
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
    kind = figures.board.benchmark.kind
    margin = scaled(kind, figures.board.benchmark.equivalence_margin)
    axes = _axes(figures, [kind.difference], band=(-margin, margin))

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, kind.difference, panel, axis)
        row = figures.row(model, kind.difference, panel)
        if row is None:
            return _not_asked(axis)
        estimate, low, high = _on_axis(row, kind)
        label = kind.signed(row["estimate"]) if not math.isnan(estimate) else "range"
        colour = COLOURS.get(row["verdict"], DIM)
        said = f"{label}, {signed_range(kind, row['ci_low'], row['ci_high'])} {kind.unit}"
        if isinstance(row["verdict"], str):
            said += f", {row['verdict']}"
        marks = interval(axis, estimate, low, high, label=label, colour=colour)
        return Cell(marks, said, abs(estimate))

    def published(values: dict[tuple[str, str], float], panel: Panel, axis: Axis) -> Cell:
        value = 100 * values.get((panel.attribute, "ad"), math.nan)
        return _published(axis, value, f"{value:.1f}")

    caption = f"{capital(gap_name(kind))}s in {long_unit(kind)}"
    return _chart(figures, name, caption, axes, cell, published, kind.difference)


def cfr_chart(figures: BoardFigures, *, name: str) -> Chart:
    """Draw the counterfactual fairness rate with its interval; parameters as for `gap_chart`."""
    axes = _axes(figures, ["cfr"], signed=False, unit="%")

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, "cfr", panel, axis)
        row = figures.row(model, "cfr", panel)
        if row is None:
            return _not_asked(axis)
        estimate, low, high = _on_axis(row, figures.board.benchmark.kind)
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
    """Show the figure of both groups of each pair and, if known, that with neutral text."""
    neutral, kind = figures.neutral, figures.board.benchmark.kind
    metrics = [kind.rate_a, kind.rate_b]
    bases = [
        scaled(kind, row["estimate"])
        for model in figures.board.models
        if neutral is not None and (row := figures.row(model, kind.rate_b, neutral)) is not None
    ]
    unit = "" if kind.numeric else "%"
    axes = _axes(figures, metrics, also=bases, room=0.42, signed=False, unit=unit)

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_group(figures, model, panel, axis)
        a, b = (figures.row(model, metric, panel) for metric in metrics)
        if a is None or b is None:
            return _not_asked(axis)
        if pd.isna(a["estimate"]) or pd.isna(b["estimate"]):
            said = " and ".join(plain_range(kind, row["ci_low"], row["ci_high"]) for row in (a, b))
            return Cell("", f"between {said}{unit}")
        first, second = scaled(kind, a["estimate"]), scaled(kind, b["estimate"])
        label = f"{plain(kind, a['estimate'])} / {plain(kind, b['estimate'])}"
        marks = line(axis, first, second)
        base = None if neutral is None else figures.row(model, kind.rate_b, neutral)
        if base is not None and not pd.isna(base["estimate"]):
            marks += tick(axis, scaled(kind, base["estimate"]))
        marks += dot(axis, first, colour=ACCENT_B) + dot(axis, second, colour=ACCENT_A)
        marks += words(axis, max(first, second), label, shift=9)
        return Cell(marks, f"{label}{unit}", -second)

    caption = f"{capital(kind.figure)} by group{'' if kind.numeric else ', %'}"
    return _chart(figures, name, caption, axes, cell, None)


def moves_chart(figures: BoardFigures, *, name: str) -> Chart:
    """Draw the shares of pairs in which the first, or the second, group has the higher answer."""
    # The figures are written at the bars, which are shares on both sides.
    axes = tuple(
        replace(axis, labelled=bool(panel.members))
        for panel, axis in zip(
            figures.overview,
            _axes(figures, ["moved_up", "moved_down", "net_moved"], mirrored="moved_down"),
            strict=True,
        )
    )

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, "net_moved", panel, axis)
        up, down = (figures.row(model, f"moved_{side}", panel) for side in ("up", "down"))
        if up is None or down is None or pd.isna(up["estimate"]) or pd.isna(down["estimate"]):
            return _not_asked(axis)
        first, second = 100 * up["estimate"], 100 * down["estimate"]
        marks = bar(axis, 0, first, colour=ACCENT_B) + bar(axis, -second, 0, colour=ACCENT_A)
        marks += words(axis, first, f"{first:.0f}", shift=5)
        marks += words(axis, -second, f"{second:.0f}", anchor="end", shift=-5)
        said = f"first group higher in {first:.1f}% of pairs, second group in {second:.1f}%"
        return Cell(marks, said, second - first)

    return _chart(figures, name, "Direction of the changed answers", axes, cell, None)


def ratio_chart(figures: BoardFigures, *, name: str) -> Chart:
    """Draw the selection ratio with its interval, with the four-fifths rule shaded."""
    axes = _axes(figures, ["selection_ratio"], band=FOUR_FIFTHS, signed=False, most=MOST_RATIO)

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, "selection_ratio", panel, axis)
        row = figures.row(model, "selection_ratio", panel)
        if row is None:
            return _not_asked(axis)
        estimate, low, high = (float(row[name]) for name in ("estimate", *_LIMITS))
        label = "range" if math.isnan(estimate) else ratio(estimate)
        said = f"{label} ({ratio(low)} to {ratio(high)})"
        # The axis ends before infinity.
        marks = interval(axis, estimate, low, min(high, axis.high), label="", colour=ACCENT_B)
        marks += words(axis, min(high, axis.end), label, shift=7)
        far = abs(math.log(estimate)) if 0 < estimate < math.inf else 99.0
        return Cell(marks, said, far)

    return _chart(figures, name, "Selection ratio", axes, cell, None, "selection_ratio")


def beyond_chart(figures: BoardFigures, *, name: str) -> Chart:
    """Draw how far the changes between groups exceed those between controls."""
    kind = figures.board.benchmark.kind
    axes = _axes(figures, ["beyond_control"], panels=control_panels(figures))

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, "beyond_control", panel, axis)
        row = figures.row(model, "beyond_control", panel)
        if row is None:
            return _not_asked(axis)
        estimate, low, high = _on_axis(row, kind)
        label = "not known" if math.isnan(estimate) else kind.signed(row["estimate"])
        said = f"{label} ({signed_range(kind, row['ci_low'], row['ci_high'])}) {kind.unit}"
        colour = ACCENT_A if low > 0 else DIM
        return Cell(interval(axis, estimate, low, high, label=label, colour=colour), said, estimate)

    caption = "Change between groups minus change between controls"
    panels = control_panels(figures)
    return _chart(figures, name, caption, axes, cell, None, panels=panels)


def control_panels(figures: BoardFigures, *, most: int | None = MOST_PANELS) -> list[Panel]:
    """Return a panel per attribute, or one for all of them if there are more than `most`."""
    panels = []
    for number, attribute in enumerate(figures.attributes):
        pairs = figures.of(number)
        several = len(pairs) > 1
        pair = ("", "") if several else pairs[0].pair
        note = f"{len(pairs)} pairs" if several else pairs[0].note
        panels.append(Panel(f"a{number}", attribute.label, note, attribute.name, pair))
    if most is None or len(panels) <= most:
        return panels
    keys = " ".join(panel.key for panel in panels)
    return [Panel(keys, "Each attribute", f"{len(panels)} attributes", "", ("", ""), tuple(panels))]


def ratio(value: float) -> str:
    """Format a ratio with two decimals."""
    return "not known" if math.isnan(value) else decimal(value, 2)


def _each_pair(figures: BoardFigures, model: str, metric: str, panel: Panel, axis: Axis) -> Cell:
    """Draw a circle per pair, and name the pairs with the lowest and the highest figure."""
    rows = {one: figures.row(model, metric, one) for one in panel.members}
    known = {one: row for one, row in rows.items() if row is not None}
    kind = figures.board.benchmark.kind
    judged = metric == kind.difference
    colours = {
        one: COLOURS.get(row["verdict"], DIM) if judged else ACCENT_B for one, row in known.items()
    }
    # The panels of attributes have no pair in their note.
    each = "pair" if any(one.pair[0] for one in panel.members) else "attribute"
    names = [one.note if each == "pair" else one.label for one in known]
    if len(set(names)) < len(names):
        # Two attributes can have groups of the same name.
        names = [figures.board.benchmark.pair_name(one.attribute, one.pair) for one in known]
    figures_of = dict(zip(names, map(_ends, known.values()), strict=True))
    text = _text_of(kind, metric)
    signed = metric in (kind.difference, "net_moved", "beyond_control")
    return _strip(
        axis,
        figures_of,
        list(colours.values()),
        text,
        each,
        signed=signed,
        scale=scale_of(kind, metric),
    )


def _text_of(kind: Kind, metric: str) -> Callable[[float], str]:
    """Return the format of a metric's figures."""
    if metric in (kind.difference, "beyond_control"):
        return kind.signed
    if metric == "net_moved":
        return points
    return ratio if metric == "selection_ratio" else lambda share: f"{100 * share:.1f}"


def _each_group(figures: BoardFigures, model: str, panel: Panel, axis: Axis) -> Cell:
    """Draw a circle per group; groups that are first in a pair, second, or both differ."""
    places: dict[str, set[str]] = {}
    kind = figures.board.benchmark.kind
    shares: dict[str, tuple[float, float]] = {}
    several = len({one.attribute for one in panel.members}) > 1
    for one in panel.members:
        attribute = figures.board.benchmark.attribute(one.attribute)
        for side, metric, group in zip("ab", (kind.rate_a, kind.rate_b), one.pair, strict=True):
            row = figures.row(model, metric, one)
            if row is not None:
                label = attribute.groups[group]
                label = f"{attribute.label}: {label}" if several else label
                shares[label] = _ends(row)
                places.setdefault(label, set()).add(side)
    colours = {"a": ACCENT_B, "b": ACCENT_A}
    drawn = [colours.get("".join(places[label]), DIM) for label in shares]
    scale = scale_of(kind, kind.rate_a)
    return _strip(axis, shares, drawn, partial(plain, kind), "group", signed=False, scale=scale)


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
    scale: float,
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
    marks = line(axis, scale * low, scale * high, colour=RULE)
    for (start, end), colour in zip(figures.values(), colours, strict=True):
        if start == end:
            marks += dot(axis, scale * start, colour=colour, hollow=True)
        else:
            marks += line(axis, scale * start, scale * end, colour=colour)
    label = span(text(low), text(high))
    # A phone has no room for it.
    marks += element("g", words(axis, scale * high, label, shift=9), class_="range")
    said = f"{len(known)} {noun}s: {label}"
    if low < high:
        said = f"{len(known)} {noun}s, from {text(low)} ({least}) to {text(high)} ({most})"
    value = max(abs(low), abs(high)) if signed else -low
    return Cell(marks, said, scale * value)


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
        marks = Markup().join(bar(axis, 0, 100 * share, colour=colour) for share, colour, _ in bars)
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
    if neutral is None or figures.board.benchmark.kind != CHOICE:
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
    panels: Sequence[Panel] | None = None,
    mirrored: str = "",
    most: float = math.inf,
) -> tuple[Axis, ...]:
    """Make one axis per panel, all with the same limits, to fit all intervals of these metrics.

    `mirrored` is a metric that is drawn to the left, and `most` the largest value on the axes.
    """
    kind = figures.board.benchmark.kind
    panels = figures.overview if panels is None else panels
    rows = [
        (row, bool(panel.members))
        for model in figures.board.models
        for panel in panels
        for one in panel.members or (panel,)
        for metric in metrics
        if (row := figures.row(model, metric, one)) is not None
    ]
    # A panel is narrower on paper, and its labels are not.
    room = room if output_format() == "html" else room + 0.25
    # The label of a shared panel is a range.
    room += 0.15 if figures.many else 0

    def scale(row: pd.Series) -> float:
        return scale_of(kind, row["metric"]) * (-1 if row["metric"] == mirrored else 1)

    values = [
        scale(row) * row[c] for row, shared in rows if not shared for c in ("estimate", *_LIMITS)
    ]
    # The intervals of pairs that share a panel are not drawn.
    values += [scale(row) * end for row, shared in rows if shared for end in _ends(row)]
    values = [min(value, most) for value in values]
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
        for panel in panels
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
    panels: Sequence[Panel] | None = None,
) -> Chart:
    """Make a chart with a row per model; the first panel shows `metric` as text."""
    board, release, kind = figures.board, figures.release, figures.board.benchmark.kind
    if output_format() != "html":
        # Paper is too narrow for them; they are in the table below.
        metric = ""
    # A chart may leave out the panels at the end.
    pairs = list(zip(panels or figures.overview, axes, strict=False))
    rows = []
    for model in board.ordered:
        rows.append(
            Row(
                f"{model}{marks_of(figures, model)}",
                tuple(cell(model, panel, axis) for panel, axis in pairs),
                (
                    figures.rank(model),
                    original_accuracy(figures, model),
                    *(
                        [_with_limits(figures.row(model, metric, pairs[0][0]), kind)]
                        if metric
                        else []
                    ),
                ),
                note=figures.snapshot(model),
                href=f"{page_root()}reports/models/{release.slugs[model]}.html",
            )
        )
    if published is not None:
        for model, values in figures.published():
            cells = tuple(published(values, panel, axis) for panel, axis in pairs)
            rows.append(Row(f"{model} {PUBLISHED}", cells, ("–", "–", "–")))
    heads = ["Rank by gap" if kind == CHOICE else "Rank", accuracy_head(figures)]
    if metric:
        limits = "range" if release.policies == ["bounds"] else f"{level(release.alpha)} CI"
        # The name of another kind's difference is too long for the column.
        named = {kind.difference: " gap" * (kind == CHOICE), "selection_ratio": " ratio"}
        heads.append(f"{figures.overview[0].label}{named.get(metric, ' CFR')} ({limits})")
    which = set_label(board.benchmark, board.version, board.strategy)
    caption = f"{caption}. {board.benchmark.title}, {which}"
    return Chart(name, caption, "Model", axes, tuple(rows), tuple(heads), height=31)


def _with_limits(row: pd.Series | None, kind: Kind) -> str:
    """Return a figure on its axis with its limits, as plain text."""
    if row is None:
        return "–"
    metric, limits = row["metric"], percent_range(row["ci_low"], row["ci_high"])
    if metric == kind.difference:
        limits = signed_range(kind, row["ci_low"], row["ci_high"])
    elif metric == "selection_ratio":
        limits = f"{ratio(row['ci_low'])} to {ratio(row['ci_high'])}"
    if pd.isna(row["estimate"]):
        return limits
    return f"{_text_of(kind, metric)(row['estimate'])} ({limits})"


def accuracy_head(figures: BoardFigures) -> str:
    """Return the heading of the column of accuracies."""
    kind = figures.board.benchmark.kind
    of = " of groups" if figures.neutral is None else ", original"
    return f"{capital(kind.figure)}{of}{'' if kind.numeric else ', %'}"


def original_accuracy(figures: BoardFigures, model: str) -> str:
    """Return the accuracy on the original text, or the range over the groups without that text."""
    kind = figures.board.benchmark.kind
    if figures.neutral is not None:
        row = figures.row(model, kind.rate_a, figures.neutral)
        if row is None:
            return "–"
        if not pd.isna(row["estimate"]):
            return plain(kind, row["estimate"])
        return plain_range(kind, row["ci_low"], row["ci_high"])
    rows = [
        row
        for panel in figures.pairs
        for metric in (kind.rate_a, kind.rate_b)
        if (row := figures.row(model, metric, panel)) is not None
    ]
    # Under bounds a figure is a range.
    lows = [row["ci_low"] if pd.isna(row["estimate"]) else row["estimate"] for row in rows]
    highs = [row["ci_high"] if pd.isna(row["estimate"]) else row["estimate"] for row in rows]
    if not rows:
        return "–"
    if kind.numeric:
        ends = plain(kind, min(lows)), plain(kind, max(highs))
        return "–".join(dict.fromkeys(ends)) if min(lows) >= 0 else span(*ends)
    return percent_range(min(lows), max(highs))


def _on_axis(row: pd.Series, kind: Kind) -> tuple[float, float, float]:
    scale = scale_of(kind, row["metric"])
    estimate, low, high = (scale * float(row[name]) for name in ("estimate", *_LIMITS))
    return estimate, low, high


def _not_asked(axis: Axis) -> Cell:
    return Cell(words(axis, axis.low, "not asked", shift=2, colour=DIM), "not asked")


def _published(axis: Axis, value: float, label: str) -> Cell:
    if math.isnan(value):
        return Cell(words(axis, axis.low, "not reported", shift=2, colour=DIM), "not reported")
    marks = dot(axis, value, colour=DIM, hollow=True) + words(axis, value, label)
    return Cell(marks, f"{label}, as published", value)
