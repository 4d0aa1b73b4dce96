"""The charts of a board: one row per model, one panel per attribute, on a common axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd
from markupsafe import Markup

from fairstats._lib.formatting import capital, level, points, span
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.report.answer_sets import MOST_PANELS
from fairstats.report.board.figures import (
    BoardFigures,
    Panel,
    figure_text,
    with_limits,
    written,
)
from fairstats.report.charts.marks import (
    Axis,
    axis_over,
    bar,
    dot,
    interval,
    line,
    svg_text,
    tick,
    words,
)
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.figures import MOST_RATIO
from fairstats.report.findings import board_label
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, RULE, output_format
from fairstats.report.templates import page_root
from fairstats.report.words import plain, plain_range, scale_of, scaled

#: The colour of each verdict's interval; one without a verdict is grey.
COLOURS = {DISPARITY: ACCENT_A, EQUIVALENT: ACCENT_B}
# Marks that are added to names, and explained below the chart.
SELECTED, PUBLISHED, UNRANKED, FLAGGED, CHOSEN = "◆", "◇", "†", "‡", "§"
#: The name of the difference over all pairs, in which opposite signs cancel out.
SIGNED_MEAN = "Signed mean"
#: The published figure next to a measured one.
_PUBLISHED = {"accuracy_difference": "ad", "cfr": "cfr"}
_LIMITS = ("ci_low", "ci_high")
# Intervals this many times as wide as the median one do not stretch the axis, if it would become
# longer than this multiple.
_WIDE, _LONGER = 4.0, 1.5


@dataclass(frozen=True)
class Measure:
    """A figure of a board, with its name, its chart and the words around it.

    Attributes
    ----------
    label, caption, note : str
        Its name in the controls, the chart's caption, and what the chart shows, as plain text.
    metric : str
        The metric to draw; without it, a board does not have the measure.
    draw : callable
        Makes the chart from the figures, the measure and the chart's name.
    head : str or None
        The name of the figures in a column of text; None for a chart without that column.
    unit : str
        The unit of the figures.
    signed : bool
        Whether 0 is on the axis, and ticks have signs.
    band : (float, float), optional
        The range to shade.
    order : callable
        Gives the key by which the page's script sorts an estimate.
    colour : callable
        Gives the colour of an estimate's interval.
    """

    label: str
    caption: str
    note: str
    metric: str
    draw: Callable[[BoardFigures, Measure, str], Chart]
    head: str | None = None
    unit: str = ""
    signed: bool = True
    band: tuple[float, float] | None = None
    order: Callable[[float], float] = abs
    colour: Callable[[pd.Series], str] = lambda _: ACCENT_B


def interval_chart(figures: BoardFigures, measure: Measure, name: str) -> Chart:
    """Draw a figure with its interval; pairs that share a panel as circles.

    Parameters
    ----------
    figures : BoardFigures
        The board's figures.
    measure : Measure
        The figure.
    name : str
        The chart's name, unique on the page.
    """
    kind, metric = figures.board.benchmark.kind, measure.metric
    panels = _control_panels(figures) if metric == "beyond_control" else figures.overview
    scale = scale_of(kind, metric)
    rows = _rows_of(figures, [metric], panels)
    labels = [(scale * _last(row), _label(kind, row)) for row, shared in rows if not shared]
    values = _values(rows, scale)
    if metric == "selection_ratio":
        values = [min(value, MOST_RATIO) for value in values]
    axes = _axes(
        figures,
        panels,
        values,
        labels=labels,
        band=measure.band,
        signed=measure.signed,
        unit="%" if measure.unit == "%" else "",
        pooled=SIGNED_MEAN if metric == kind.difference else "",
    )

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, measure, panel, axis)
        row = figures.row(model, metric, panel)
        if row is None:
            return _not_asked(axis)
        estimate, *limits = (scale * float(row[column]) for column in ("estimate", *_LIMITS))
        label = _label(kind, row)
        said = f"{with_limits(label, written(kind, row)[1])}{measure.unit}"
        if metric == kind.difference and isinstance(row["verdict"], str):
            said += f", {row['verdict']}"
        marks = interval(axis, estimate, *limits, label=label, colour=measure.colour(row))
        return Cell(marks, said, measure.order(estimate))

    return _chart(figures, name, measure, panels, axes, cell)


def groups_chart(figures: BoardFigures, measure: Measure, name: str) -> Chart:
    """Show the figure of both groups of each pair and, if known, that with neutral text."""
    neutral, kind, panels = figures.neutral, figures.board.benchmark.kind, figures.overview
    rates = [kind.rate_a, kind.rate_b]
    rows = _rows_of(figures, rates, panels)
    bases = {
        model: scaled(kind, row["estimate"])
        for model in figures.board.models
        if neutral is not None and (row := figures.row(model, kind.rate_b, neutral)) is not None
    }
    values = [*_values(rows, scaled(kind, 1)), *bases.values()]
    both = plain(kind, max((float(row["estimate"]) for row, _ in rows), default=math.nan))
    labels = [(scaled(kind, row["estimate"]), f"{both} / {both}") for row, many in rows if not many]
    unit = "" if kind.numeric else "%"
    axes = _axes(figures, panels, values, labels=labels, signed=False, unit=unit)

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_group(figures, model, panel, axis)
        a, b = (figures.row(model, metric, panel) for metric in rates)
        if a is None or b is None:
            return _not_asked(axis)
        if pd.isna(a["estimate"]) or pd.isna(b["estimate"]):
            said = " and ".join(plain_range(kind, row["ci_low"], row["ci_high"]) for row in (a, b))
            return Cell(Markup(), f"between {said}{unit}")
        first, second = scaled(kind, a["estimate"]), scaled(kind, b["estimate"])
        label = f"{plain(kind, a['estimate'])} / {plain(kind, b['estimate'])}"
        marks = line(axis, first, second) + tick(axis, bases.get(model, math.nan))
        marks += dot(axis, first, colour=ACCENT_B) + dot(axis, second, colour=ACCENT_A)
        marks += words(axis, axis.inside(max(first, second)), label, shift=9)
        return Cell(marks, f"{label}{unit}", -second)

    return _chart(figures, name, measure, panels, axes, cell)


def moves_chart(figures: BoardFigures, measure: Measure, name: str) -> Chart:
    """Draw the shares of pairs in which the first, or the second, group has the higher answer."""
    panels = figures.overview
    ups, downs, nets = (
        _values(_rows_of(figures, [metric], panels), 100)
        for metric in ("moved_up", "moved_down", "net_moved")
    )
    values = [*ups, *(-value for value in downs), *nets]
    # The figures are written at the bars, which are shares on both sides.
    labels, before = ([(end(values, default=0.0), "100")] for end in (max, min))
    axes = _axes(figures, panels, values, labelled=False, labels=labels, before=before)

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        if panel.members:
            return _each_pair(figures, model, measure, panel, axis)
        up, down = (figures.row(model, f"moved_{side}", panel) for side in ("up", "down"))
        if up is None or down is None or pd.isna(up["estimate"]) or pd.isna(down["estimate"]):
            return _not_asked(axis)
        first, second = 100 * up["estimate"], 100 * down["estimate"]
        marks = bar(axis, 0, first, colour=ACCENT_B) + bar(axis, -second, 0, colour=ACCENT_A)
        marks += words(axis, axis.inside(first), f"{first:.0f}", shift=5)
        marks += words(axis, axis.inside(-second), f"{second:.0f}", anchor="end", shift=-5)
        said = f"first group higher in {first:.1f}% of pairs, second group in {second:.1f}%"
        return Cell(marks, said, second - first)

    return _chart(figures, name, measure, panels, axes, cell)


Shifts = Mapping[tuple[str, Panel], tuple[float, float]]


def shift_chart(figures: BoardFigures, shifts: Shifts, *, name: str) -> Chart:
    """Draw the change in accuracy from the neutral text to each group's text.

    The gap of a pair is the sum of the second group's loss and the first group's gain.

    Parameters
    ----------
    figures : BoardFigures
        The board's figures.
    shifts : mapping
        From `shifts_of`.
    name : str
        The chart's name, unique on the page.
    """
    panels = single_panels(figures)
    values = [100 * share for both in shifts.values() for share in both]
    apart = [both for both in shifts.values() if not _same_side(both)]
    labels = [(100 * share, points(share)) for both in apart for share in both]
    after, before = ([label for label in labels if (label[0] > 0) == up] for up in (True, False))
    axes = _axes(figures, panels, values, labels=after, before=before)

    def cell(model: str, panel: Panel, axis: Axis) -> Cell:
        both = shifts.get((model, panel))
        if both is None:
            return _not_asked(axis)
        # If both are on one side, the shorter bar is in front, and the figures are below.
        bars = sorted(zip(both, (ACCENT_B, ACCENT_A), strict=True), key=lambda one: -abs(one[0]))
        place = {"y": 28, "reach": 18} if _same_side(both) else {}
        marks = Markup().join(bar(axis, 0, 100 * share, colour=c, **place) for share, c in bars)
        if place:
            marks += _below(axis, 50 * max(both, key=abs), " / ".join(map(points, both)))
        for share in () if place else both:
            anchor, shift = ("start", 5) if share > 0 else ("end", -5)
            marks += words(axis, 100 * share, points(share), anchor=anchor, shift=shift)
        return Cell(marks, f"{points(both[0])} and {points(both[1])} points", both[1] - both[0])

    title = "Accuracy minus that of the neutral text"
    measure = Measure("", title, "", "", interval_chart)
    return _chart(figures, name, measure, panels, axes, cell)


def _same_side(both: tuple[float, float]) -> bool:
    return (both[0] > 0) == (both[1] > 0)


def single_panels(figures: BoardFigures) -> list[Panel]:
    """Return the panels of the overview with one figure each."""
    return [panel for panel in figures.overview if not panel.members]


def shifts_of(figures: BoardFigures) -> Shifts | None:
    """Return each model's accuracy of both groups minus that of the neutral text, by panel.

    Returns
    -------
    mapping or None
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


def _control_panels(figures: BoardFigures) -> list[Panel]:
    """Return a panel per attribute, or one for all of them if there are many."""
    panels = []
    for number, attribute in enumerate(figures.attributes):
        first, *others = figures.of(number)
        note, pair = (f"{1 + len(others)} pairs", ("", "")) if others else (first.note, first.pair)
        panels.append(Panel(f"a{number}", attribute.label, note, attribute.name, pair))
    if len(panels) <= MOST_PANELS:
        return panels
    keys, note = " ".join(panel.key for panel in panels), f"{len(panels)} attributes"
    return [Panel(keys, "Each attribute", note, "", ("", ""), tuple(panels))]


def _each_pair(
    figures: BoardFigures, model: str, measure: Measure, panel: Panel, axis: Axis
) -> Cell:
    """Draw a circle per pair, and name the pairs with the lowest and the highest figure."""
    metric = "net_moved" if measure.metric == "moved_up" else measure.metric
    found = ((one, figures.row(model, metric, one)) for one in panel.members)
    known = {one: row for one, row in found if row is not None}
    kind = figures.board.benchmark.kind
    judged = metric == kind.difference
    colours = [COLOURS.get(r["verdict"], DIM) if judged else ACCENT_B for r in known.values()]
    # The panels of attributes have no pair in their note.
    each = "pair" if any(one.pair[0] for one in panel.members) else "attribute"
    names = [one.note if each == "pair" else one.label for one in known]
    if len(set(names)) < len(names):
        # Two attributes can have groups of the same name.
        names = [figures.board.benchmark.pair_name(one.attribute, one.pair) for one in known]
    ends = dict(zip(names, map(_ends, known.values()), strict=True))
    text, scale = figure_text(kind, metric), scale_of(kind, metric)
    return _strip(axis, ends, colours, text, each, signed=measure.signed, scale=scale)


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
    """Draw figures on one line, with the lowest and the highest one as text below."""
    known = [name for name, ends in figures.items() if not any(map(math.isnan, ends))]
    if not known:
        return _not_asked(axis)
    least = min(known, key=lambda n: figures[n][0])
    most = max(known, key=lambda n: figures[n][1])
    low, high = figures[least][0], figures[most][1]
    marks, y = line(axis, scale * low, scale * high, colour=RULE, y="30%"), "30%"
    for (start, end), colour in zip(figures.values(), colours, strict=True):
        if start == end:
            marks += dot(axis, scale * start, colour=colour, hollow=True, y=y)
        else:
            marks += line(axis, scale * start, scale * end, colour=colour, y=y)
    label = span(text(low), text(high))
    marks += _below(axis, scale * (low + high) / 2, label)
    said = f"{len(known)} {noun}s: {label}"
    if low < high:
        said = f"{len(known)} {noun}s, from {text(low)} ({least}) to {text(high)} ({most})"
    value = max(abs(low), abs(high)) if signed else -low
    return Cell(marks, said, scale * value)


def _below(axis: Axis, value: float, text: str) -> Markup:
    """Write a text below the marks near a value, inside the panel."""
    place = axis.place(axis.inside(value))
    anchor, x = ("start", 3.0) if place < 35 else ("end", 97.0) if place > 65 else ("middle", place)
    return svg_text(f"{x:g}%", text, y="75%", anchor=anchor, size=11.5)


def _rows_of(
    figures: BoardFigures, metrics: Sequence[str], panels: Sequence[Panel]
) -> list[tuple[pd.Series, bool]]:
    """Return the estimates that panels show, and whether they share a panel."""
    return [
        (row, bool(panel.members))
        for model in figures.board.models
        for panel in panels
        for one in panel.members or (panel,)
        for metric in metrics
        if (row := figures.row(model, metric, one)) is not None
    ]


def _values(rows: Sequence[tuple[pd.Series, bool]], scale: float) -> list[float]:
    """Return the values that an axis has to fit, without those of very wide intervals."""
    found = []
    for row, shared in rows:
        # The intervals of pairs that share a panel are not drawn.
        ends = _ends(row) if shared else [float(row[c]) for c in ("estimate", *_LIMITS)]
        shown = [scale * end for end in ends if math.isfinite(end)]
        found.append((float(row["ci_high"]) - float(row["ci_low"]), shown))
    widths = sorted(width for width, _ in found if width > 0)
    most = _WIDE * widths[len(widths) // 2] if widths else math.inf
    every = [value for _, own in found for value in own]
    precise = [value for width, own in found if not width > most for value in own]
    if precise and max(every) - min(every) > _LONGER * (max(precise) - min(precise)):
        return precise
    return every


def _axes(
    figures: BoardFigures,
    panels: Sequence[Panel],
    values: Iterable[float],
    *,
    labels: Iterable[tuple[float, str]] = (),
    before: Iterable[tuple[float, str]] = (),
    pooled: str = "",
    labelled: bool = True,
    **options: object,
) -> tuple[Axis, ...]:
    """Make one axis per panel, all with the same limits; `pooled` names that of all pairs."""
    paper = output_format() != "html"
    # Pixels of one of several panels, which a phone shows one at a time; paper has small letters.
    width = 520 / len(panels) if paper else 620 / max(len(panels), 4)
    axis = axis_over(
        values,
        key="",
        label="",
        note="",
        room=0.04,
        labels=labels,
        before=before,
        width=width,
        **options,  # type: ignore[arg-type]
    )
    return tuple(
        replace(
            axis,
            key=panel.key,
            label=pooled if pooled and panel == figures.pooled else panel.label,
            note=panel.note,
            labelled=labelled or bool(panel.members),
        )
        for panel in panels
    )


def _label(kind: Kind, row: pd.Series) -> str:
    """Return an estimate as its label; without one, what the interval is."""
    value, limits = written(kind, row)
    return value or ("range" if limits else "not known")


def _last(row: pd.Series) -> float:
    """Return the value that a label is next to."""
    return float(row["ci_high"] if pd.notna(row["ci_high"]) else row["estimate"])


def marks_of(figures: BoardFigures, model: str) -> str:
    """Return the marks that follow a model's name; the notes explain them."""
    board, marks = figures.board, ""
    if model in board.benchmark.selected_on:
        marks = f" {SELECTED}"
    elif model in figures.unranked:
        marks = f" {UNRANKED}"
    marks += f" {FLAGGED}" if model in figures.flagged else ""
    return f"{marks} {CHOSEN}" if model in figures.chosen else marks


def _chart(
    figures: BoardFigures,
    name: str,
    measure: Measure,
    panels: Sequence[Panel],
    axes: tuple[Axis, ...],
    cell: Callable[[str, Panel, Axis], Cell],
) -> Chart:
    """Make a chart with a row per model; the first panel is also a column of text."""
    board, kind = figures.board, figures.board.benchmark.kind
    # Paper is too narrow for the column; its figures are in the table below.
    head = measure.head if output_format() == "html" else None
    pairs = list(zip(panels, axes, strict=True))
    rows = []
    for model in board.ordered:
        texts = [figures.rank(model), original_accuracy(figures, model)]
        if head is not None:
            row = figures.row(model, measure.metric, panels[0])
            texts.append("–" if row is None else with_limits(*written(kind, row)))
        rows.append(
            Row(
                f"{model}{marks_of(figures, model)}",
                tuple(cell(model, panel, axis) for panel, axis in pairs),
                tuple(texts),
                note=figures.snapshot(model),
                reason=figures.why_unranked(model),
                href=f"{page_root()}reports/models/{figures.release.slugs[model]}.html",
            )
        )
    if measure.metric in _PUBLISHED:
        for model, values in figures.published():
            own = [values.get((panel.attribute, _PUBLISHED[measure.metric])) for panel in panels]
            cells = tuple(map(_published, axes, own))
            rows.append(Row(f"{model} {PUBLISHED}", cells, ("–",) * (2 + (head is not None))))
    heads = ["Rank by gap" if kind == CHOICE else "Rank", accuracy_head(figures)]
    if head is not None:
        ranges = figures.release.policies == ["bounds"]
        limits = "range" if ranges else f"{level(figures.release.alpha)}\u00a0CI"
        heads.append(f"{head} ({limits})")
    which = board_label(board, figures.release)
    caption = f"{measure.caption}. {board.benchmark.title}, {which}"
    return Chart(name, caption, "Model", axes, tuple(rows), tuple(heads), height=31)


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
        value, limits = ("–", "") if row is None else written(kind, row)
        return value or limits
    rates = (kind.rate_a, kind.rate_b)
    found = [figures.row(model, rate, panel) for panel in figures.pairs for rate in rates]
    # Under bounds a figure is a range.
    lows, highs = zip(*(_ends(row) for row in found if row is not None), strict=True) or ((), ())
    if not lows:
        return "–"
    if kind.numeric and min(lows) >= 0:
        return "–".join(dict.fromkeys((plain(kind, min(lows)), plain(kind, max(highs)))))
    return plain_range(kind, min(lows), max(highs))


def _not_asked(axis: Axis) -> Cell:
    return Cell(words(axis, axis.low, "not asked", shift=2, colour=DIM), "not asked")


def _published(axis: Axis, share: float | None) -> Cell:
    if share is None or math.isnan(share):
        return Cell(words(axis, axis.low, "not reported", shift=2, colour=DIM), "not reported")
    value, label = 100 * share, f"{100 * share:.1f}"
    marks = dot(axis, value, colour=DIM, hollow=True)
    marks += words(axis, axis.inside(value), label)
    return Cell(marks, f"{label}, as published", value)
