"""The charts of a board: one row per model, one panel per attribute, on a common axis."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from fairstats._lib.formatting import capital, counted, level, listed, p_value, quoted, span
from fairstats.benchmarks.kinds import CHOICE
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Release
from fairstats.report.answer_sets import MOST_PANELS, AnswerSet, Pair
from fairstats.report.board.figures import BoardFigures, Panel
from fairstats.report.charts.marks import (
    Axis,
    axis_over,
    dot,
    interval,
    line,
    svg_text,
    tick,
    two_bars,
    words,
)
from fairstats.report.charts.rows import Cell, Chart, Row, chart_of
from fairstats.report.findings import board_label, pair_note, some_are
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, RULE, output_format, page_root
from fairstats.report.tables import texts_in
from fairstats.report.words import (
    FOUR_FIFTHS,
    MOST_RATIO,
    NONE,
    UNKNOWN,
    Figure,
    but_crossed,
    gap_name,
    higher_by,
    meaning,
    named_test,
    noun,
    scaled,
)

#: The colour of each verdict's interval; one without a verdict is grey.
COLOURS = {DISPARITY: ACCENT_A, EQUIVALENT: ACCENT_B}
# Marks that are added to names, and explained below the chart.
SELECTED, PUBLISHED, UNRANKED, FLAGGED, CHOSEN = "◆", "◇", "†", "‡", "§"
#: The name of the difference over all pairs, in which opposite signs cancel out.
SIGNED_MEAN = "Signed mean"
#: The published figure next to a measured one.
_PUBLISHED = {"accuracy_difference": "ad", "cfr": "cfr"}
# Intervals this many times as wide as the median one do not stretch the axis, if it would become
# longer than this multiple.
_WIDE, _LONGER = 4.0, 1.5


def verdict_colour(pair: Pair) -> str:
    """Return the colour of a pair's verdict."""
    return COLOURS.get(pair.verdict or "", DIM)


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
        Gives the colour of a pair's interval.
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
    colour: Callable[[Pair], str] = lambda _: ACCENT_B


def interval_chart(figures: BoardFigures, measure: Measure, name: str) -> Chart:
    """Draw a figure with its interval; pairs that share a panel as circles."""
    kind, metric = figures.board.benchmark.kind, measure.metric
    panels = figures.by_attribute(whole=True) if metric == "beyond_control" else figures.overview
    shown = _shown(figures, [metric], panels)
    values = _fitting(shown)
    if metric == "selection_ratio":
        values = [min(value, MOST_RATIO) for value in values]
    axes = _axes(
        figures,
        panels,
        values,
        # A label is next to the last value that is drawn.
        labels=[
            (figure.estimate if math.isnan(figure.high) else figure.high, figure.label)
            for figure, shared in shown
            if not shared
        ],
        band=measure.band,
        signed=measure.signed,
        unit="%" if measure.unit == "%" else "",
        pooled=SIGNED_MEAN if metric == kind.difference else "",
    )

    def cell(own: AnswerSet, pairs: Sequence[Pair], panel: Panel, axis: Axis) -> Cell:
        if panel.shared:
            return _each_pair(own, pairs, metric, axis, signed=measure.signed)
        pair, figure = pairs[0], pairs[0].figure(metric)
        said = figure.written(measure.unit)
        if metric == kind.difference and pair.verdict:
            said += f", {pair.verdict}"
        marks = interval(axis, *figure.all, label=figure.label, colour=measure.colour(pair))
        return Cell(marks, said, measure.order(figure.estimate))

    return _chart(figures, name, measure, panels, axes, cell)


def groups_chart(figures: BoardFigures, measure: Measure, name: str) -> Chart:
    """Show the figure of both groups of each pair and, if known, that with neutral text."""
    kind, panels = figures.board.benchmark.kind, figures.overview
    shown = _shown(figures, [kind.rate_a, kind.rate_b], panels)
    neutral = {own.model: (own.neutral or UNKNOWN).estimate for own in figures.sets}
    longest = max((figure.text for figure, _ in shown), key=len, default="")
    both, unit = f"{longest} / {longest}", "" if kind.numeric else "%"
    axes = _axes(
        figures,
        panels,
        [*_fitting(shown), *neutral.values()],
        labels=[(figure.estimate, both) for figure, shared in shown if figure.known and not shared],
        signed=False,
        unit=unit,
    )

    def cell(own: AnswerSet, pairs: Sequence[Pair], panel: Panel, axis: Axis) -> Cell:
        if panel.shared:
            return _each_group(own, pairs, axis)
        a, b = pairs[0].rates
        if not (a.known and b.known):
            return Cell(Markup(), f"between {a.limits} and {b.limits}{unit}")
        marks = line(axis, a.estimate, b.estimate) + tick(axis, neutral[own.model])
        marks += dot(axis, a.estimate, colour=ACCENT_B) + dot(axis, b.estimate, colour=ACCENT_A)
        label = f"{a.text} / {b.text}"
        marks += words(axis, axis.inside(max(a.estimate, b.estimate)), label, shift=9)
        return Cell(marks, f"{label}{unit}", -b.estimate)

    return _chart(figures, name, measure, panels, axes, cell)


def moves_chart(figures: BoardFigures, measure: Measure, name: str) -> Chart:
    """Draw the shares of pairs in which the first, or the second, group has the higher answer."""
    panels = figures.overview
    ups, downs, nets = (
        _fitting(_shown(figures, [metric], panels))
        for metric in ("moved_up", "moved_down", "net_moved")
    )
    values = [*ups, *(-value for value in downs), *nets]
    # The figures are written at the bars, which are shares on both sides.
    labels, before = ([(end(values, default=0.0), "100")] for end in (max, min))
    axes = _axes(figures, panels, values, labelled=False, labels=labels, before=before)

    def cell(own: AnswerSet, pairs: Sequence[Pair], panel: Panel, axis: Axis) -> Cell:
        if panel.shared:
            return _each_pair(own, pairs, "net_moved", axis, signed=True)
        first, second = (pairs[0].figure(f"moved_{way}").estimate for way in ("up", "down"))
        if math.isnan(first + second):
            return _not_asked(axis)
        marks = two_bars(axis, first, second, "{:.0f}".format)
        said = f"first group higher in {first:.1f}% of pairs, second group in {second:.1f}%"
        return Cell(marks, said, second - first)

    return _chart(figures, name, measure, panels, axes, cell)


def _each_pair(
    own: AnswerSet, pairs: Sequence[Pair], metric: str, axis: Axis, *, signed: bool
) -> Cell:
    """Draw a circle per pair, or per attribute with all of its pairs."""
    judged = metric == own.kind.difference
    colours = [verdict_colour(pair) if judged else ACCENT_B for pair in pairs]
    each = "pair" if any(pair.groups[0] for pair in pairs) else "attribute"
    figures = {
        own.full_name(pair) or own.benchmark.attribute(pair.attribute).label: pair.figure(metric)
        for pair in pairs
    }
    return _strip(axis, figures, colours, each, signed=signed)


def _each_group(own: AnswerSet, pairs: Sequence[Pair], axis: Axis) -> Cell:
    """Draw a circle per group; groups that are first in a pair, second, or both differ."""
    figures: dict[str, Figure] = {}
    colours: dict[str, str] = {}
    for pair in pairs:
        for group, rate, colour in zip(pair.groups, pair.rates, (ACCENT_B, ACCENT_A), strict=True):
            name = own.group_name(pair.attribute, group)
            figures[name] = rate
            colours[name] = colour if colours.get(name, colour) == colour else DIM
    return _strip(axis, figures, list(colours.values()), "group", signed=False)


def _strip(
    axis: Axis,
    figures: Mapping[str, Figure],
    colours: Sequence[str],
    noun: str,
    *,
    signed: bool,
) -> Cell:
    """Draw figures on one line, with the lowest and the highest one as text below."""
    known = {name: figure for name, figure in figures.items() if not math.isnan(figure.middle)}
    if not known:
        return _not_asked(axis)
    least = min(known, key=lambda name: known[name].ends[0])
    most = max(known, key=lambda name: known[name].ends[1])
    low, high, text = known[least].ends[0], known[most].ends[1], known[least].form
    marks, y = line(axis, low, high, colour=RULE, y="30%"), "30%"
    for figure, colour in zip(figures.values(), colours, strict=True):
        if figure.known:
            marks += dot(axis, figure.estimate, colour=colour, hollow=True, y=y)
        else:
            marks += line(axis, *figure.ends, colour=colour, y=y)
    label = span(text(low), text(high))
    marks += _below(axis, (low + high) / 2, label)
    said = f"{len(known)} {noun}s: {label}"
    if low < high:
        said = f"{len(known)} {noun}s, from {text(low)} ({least}) to {text(high)} ({most})"
    return Cell(marks, said, max(abs(low), abs(high)) if signed else -low)


def _below(axis: Axis, value: float, text: str) -> Markup:
    """Write a text below the marks near a value, inside the panel."""
    place = axis.place(axis.inside(value))
    anchor, x = ("start", 3.0) if place < 35 else ("end", 97.0) if place > 65 else ("middle", place)
    return svg_text(f"{x:g}%", text, y="75%", anchor=anchor, size=11.5)


def _shown(
    figures: BoardFigures, metrics: Sequence[str], panels: Sequence[Panel]
) -> list[tuple[Figure, bool]]:
    """Return the figures that panels show, and whether they share a panel."""
    return [
        (pair.figure(metric), panel.shared)
        for own, panel, metric in product(figures.sets, panels, metrics)
        for pair in panel.of(own, metric)
    ]


def _fitting(shown: Sequence[tuple[Figure, bool]]) -> list[float]:
    """Return the values that an axis has to fit, without those of very wide intervals."""
    found = []
    for figure, shared in shown:
        # The intervals of pairs that share a panel are not drawn.
        ends = figure.ends if shared else figure.all
        found.append((figure.high - figure.low, [end for end in ends if math.isfinite(end)]))
    widths = sorted(width for width, _ in found if width > 0)
    most = _WIDE * widths[len(widths) // 2] if widths else math.inf
    every = [value for _, ends in found for value in ends]
    precise = [value for width, ends in found if not width > most for value in ends]
    if precise and max(every) - min(every) > _LONGER * (max(precise) - min(precise)):
        return precise
    return every


def _axes(
    figures: BoardFigures,
    panels: Sequence[Panel],
    values: Iterable[float],
    *,
    pooled: str = "",
    labelled: bool = True,
    **options: Any,
) -> tuple[Axis, ...]:
    """Make one axis per panel, all with the same limits; `pooled` names that of all pairs.

    The other options are those of `axis_over`.
    """
    paper = output_format() != "html"
    # Pixels of one of several panels, which a phone shows one at a time; paper has small letters.
    width = 520 / len(panels) if paper else 620 / max(len(panels), 4)
    axis = axis_over(values, room=0.04, width=width, **options)
    return tuple(
        replace(
            axis,
            key=panel.key,
            label=pooled if pooled and panel == figures.pooled else panel.label,
            note=panel.note,
            labelled=labelled or panel.shared,
        )
        for panel in panels
    )


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
    cell: Callable[[AnswerSet, Sequence[Pair], Panel, Axis], Cell],
) -> Chart:
    """Make a chart with a row per model; the first panel is also a column of text."""
    board, metric = figures.board, measure.metric
    # Paper is too narrow for the column; its figures are in the table below.
    head = measure.head if output_format() == "html" else None
    rows: list[tuple[Row, AnswerSet | dict[tuple[str, str], float]]] = []
    for own in figures.rows:
        texts = [figures.rank(own.model), original_accuracy(own)]
        if head is not None:
            first = panels[0].of(own, metric)
            texts.append(first[0].figure(metric).written() if first else NONE)
        row = Row(
            f"{own.model}{marks_of(figures, own.model)}",
            texts=tuple(texts),
            note=own.snapshot and quoted(own.snapshot),
            reason=figures.why_unranked(own.model),
            href=f"{page_root()}reports/models/{figures.release.slugs[own.model]}.html",
        )
        rows.append((row, own))
    for model, values in figures.published() if metric in _PUBLISHED else ():
        texts = [NONE] * (2 + (head is not None))
        rows.append((Row(f"{model} {PUBLISHED}", texts=tuple(texts)), values))

    def drawn(own: AnswerSet | dict[tuple[str, str], float], panel: Panel, axis: Axis) -> Cell:
        if not isinstance(own, AnswerSet):
            return _published(axis, own.get((panel.attribute, _PUBLISHED[metric])))
        pairs = panel.of(own, metric)
        return cell(own, pairs, panel, axis) if pairs else _not_asked(axis)

    heads = ["Rank by gap" if board.benchmark.kind == CHOICE else "Rank", accuracy_head(figures)]
    if head is not None:
        ranges = figures.release.policies == ["bounds"]
        limits = "range" if ranges else f"{level(figures.release.alpha)}\u00a0CI"
        heads.append(f"{head} ({limits})")
    which = board_label(board, figures.release)
    caption = f"{measure.caption}. {board.benchmark.title}, {which}"
    columns = zip(panels, axes, strict=True)
    return chart_of(name, caption, "Model", rows, columns, drawn, heads=tuple(heads), height=31)


def accuracy_head(figures: BoardFigures) -> str:
    """Return the heading of the column of accuracies."""
    kind = figures.board.benchmark.kind
    compared = max(own.compared for own in figures.sets)
    of = ", original" if figures.original else f" of {compared}groups"
    return f"{capital(kind.figure)}{of}{'' if kind.numeric else ', %'}"


def original_accuracy(own: AnswerSet) -> str:
    """Return the accuracy on the original text, or the range over the groups without that text.

    A dash follows it if the accuracy of a group is not known.
    """
    if own.original is not None:
        return own.original.text or own.original.limits
    every = own.by_group.values()
    # Under bounds a figure is a range.
    known = [one for one in every if one.known or (own.ranged and not math.isnan(one.middle))]
    if not known:
        return NONE
    low, high = min(one.ends[0] for one in known), max(one.ends[1] for one in known)
    texts = dict.fromkeys(map(known[0].form, (low, high)))
    text = ("–" if low >= 0 else " to ").join(texts)
    return f"{text}, {NONE}" if len(known) < len(every) else text


def _not_asked(axis: Axis) -> Cell:
    return Cell(words(axis, axis.low, "not asked", shift=2, colour=DIM), "not asked")


def _published(axis: Axis, share: float | None) -> Cell:
    if share is None or math.isnan(share):
        return Cell(words(axis, axis.low, "not reported", shift=2, colour=DIM), "not reported")
    value, label = 100 * share, f"{100 * share:.1f}"
    marks = dot(axis, value, colour=DIM, hollow=True)
    marks += words(axis, axis.inside(value), label)
    return Cell(marks, f"{label}, as published", value)


#: Each verdict with its plural, in the order of sentences.
_VERDICTS = {DISPARITY: "disparities", EQUIVALENT: EQUIVALENT, INCONCLUSIVE: INCONCLUSIVE}
#: How each measure is drawn; the texts are in the file.
_DRAWN: dict[str, dict[str, Any]] = {
    "gap": {"colour": verdict_colour},
    "moves": {"draw": moves_chart},
    "ratio": {
        "signed": False,
        "band": FOUR_FIFTHS,
        "order": lambda ratio: abs(math.log(ratio)) if 0 < ratio < math.inf else 99.0,
    },
    "cfr": {"signed": False, "order": lambda share: -share},
    "groups": {"draw": groups_chart, "signed": False},
    "beyond": {
        "order": lambda change: change,
        "colour": lambda pair: ACCENT_A if pair.figure("beyond_control").low > 0 else DIM,
    },
}


def measures_of(figures: BoardFigures) -> dict[str, Measure]:
    """Return the measures that a board has, by their key."""
    benchmark, there = figures.board.benchmark, set(figures.board.estimates["metric"])
    margin = scaled(benchmark.kind, benchmark.equivalence_margin)
    words, found = _words(figures), {}
    for key, texts in _measure_texts().items():
        own = {name: text.render(words) for name, text in texts.items()}
        if own["metric"] in there:
            band = {"band": (-margin, margin)} if key == "gap" else {}
            own["note"] = " ".join(own["note"].split())
            found[key] = Measure(**{"draw": interval_chart} | own | band | _DRAWN[key])
    return found


@cache
def _measure_texts() -> dict[str, dict[str, Template]]:
    """Return the texts of each measure: plain text, which is escaped where it is shown."""
    templates = Environment(undefined=StrictUndefined)
    return {
        key: {name: templates.from_string(text) for name, text in texts.items()}
        for key, texts in texts_in("board/measures").items()
    }


def _words(figures: BoardFigures) -> dict[str, Any]:
    """Return what the texts of measures name."""
    benchmark, kind = figures.board.benchmark, figures.board.benchmark.kind
    return {
        "figures": figures,
        "benchmark": benchmark,
        "kind": kind,
        "choice": kind == CHOICE,
        "many_attributes": len(figures.attributes) > MOST_PANELS,
        "signed_mean": SIGNED_MEAN,
        "but_crossed": but_crossed(benchmark),
        "of_both_answers": any(own.whole and own.whole.of_both_answers for own in figures.sets),
        "first": figures.overview[0].label if figures.overview else "",
        "noun": noun(kind),
        "Figure": capital(kind.figure),
        "Gap": capital(gap_name(kind)),
        "pair": pair_note(benchmark),
        "limits": limits_note(figures.release),
        "margin": kind.shown_margin(benchmark.equivalence_margin),
        "higher": higher_by(benchmark),
        "means": meaning(benchmark),
        "verdicts": counted_verdicts(figures),
        "losses": _losses(figures) if kind == CHOICE else "",
        "controls": listed(f"“{control.label}”" for control in benchmark.controls),
    }


def _losses(figures: BoardFigures) -> str:
    """State for how many models the second group loses more than the first one gains."""
    changes = [
        [rate.estimate - own.neutral.estimate for rate in pair.rates]
        for own in figures.sets
        for pair in figures.overview[0].of(own)
        if own.neutral is not None
    ]
    known = [both for both in changes if not math.isnan(sum(both))]
    if not known:
        return ""
    losing = sum(-second > first for first, second in known)
    return (
        "Against the neutral text, the second group loses more accuracy than the first one gains "
        f"in {losing} of {counted(len(known), 'model')}."
    )


def limits_note(release: Release) -> str:
    """Describe the limits of the release's figures."""
    if release.policies == ["bounds"]:
        return "the range over all possible missing answers"
    return f"its {level(release.alpha)} interval"


def counted_verdicts(figures: BoardFigures) -> str:
    """Count the verdicts on the differences in the chart, those of unranked models too."""
    kind = figures.board.benchmark.kind
    counts, n = Counter(pair.verdict for pair in figures.gaps), len(figures.gaps)
    left = counts.pop(None, 0)
    if not counts:
        return ""
    gap, models, pairs = noun(kind), len(figures.sets), len(figures.panels)
    every = some_are(n, n, gap)
    if n == models * pairs and min(models, pairs) > 1:
        every = f"All {n} {gap}s ({models} models × {pairs} pairs) are"
    if counts[DISPARITY] == n:
        largest = p_value(figures.largest_p).replace("=", "≤")
        a = "a disparity" if n == 1 else "disparities"
        return f"{every} {a} (adjusted {named_test(kind)} {largest})."
    if n in counts.values():
        return f"{every} {next(iter(counts))}."
    parts = [
        f"{counts[verdict]} {verdict if counts[verdict] == 1 else plural}"
        for verdict, plural in _VERDICTS.items()
        if verdict in counts
    ]
    if left:
        parts.append(f"{left} not judged")
    return f"Of {n} {gap}s, {', '.join(parts)}."
