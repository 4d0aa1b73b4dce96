"""Is a selection rate below four fifths of the other?"""

from __future__ import annotations

import math
from dataclasses import replace

from fairstats._lib.formatting import level
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.charts.marks import interval, tick
from fairstats.report.charts.rows import Cell, Chart
from fairstats.report.figures import FOUR_FIFTHS, MOST_RATIO, figure_of
from fairstats.report.sections.pair_charts import above, axis_of, pair_chart
from fairstats.report.sections.section import (
    CANNOT,
    Answer,
    Mark,
    Section,
    by_pair,
    sure,
    unknown,
)

#: Whether a ratio is within four fifths, and whether its interval is on the same side, in a word.
_WORDS = {
    (True, True): "No",
    (True, False): "Not clearly",
    (False, True): "Yes",
    (False, False): "Perhaps",
}


def answer(own: AnswerSet) -> Answer:
    """State whether a group's selection rate is below four fifths of the other's."""
    ratios = {pair: pair.figure("selection_ratio") for pair in own.pairs}
    known = {pair: figure for pair, figure in ratios.items() if figure.known}
    if not own.ranged and not known and any(figure.known for figure in own.by_group.values()):
        return Answer(CANNOT, "No decision is favourable, so there is no ratio.")
    if own.ranged or not known:
        return unknown(own)
    low, high = FOUR_FIFTHS
    said = dict.fromkeys((pair.name for pair in own.pairs), CANNOT)
    for pair, figure in known.items():
        inside = low <= figure.estimate <= high
        clear = figure.high < low or figure.low > high
        if inside:
            clear = low <= figure.low and figure.high <= high
        said[pair.name] = "Unclear" if clear and pair.reason else _WORDS[inside, clear]

    def distance(pair: Pair) -> float:
        value = known[pair].estimate
        return min(value, 1 / value) if value else 0.0

    pair = min(known, key=distance)
    figure = known[pair]
    one, other = (own.group_name(pair.attribute, group) for group in pair.groups)
    if figure.estimate > 1:
        # The rate that is lower is named, and divided by the other.
        one, other = other, one
        estimate, low, high = map(_inverse, (figure.estimate, figure.high, figure.low))
        figure = replace(figure, estimate=estimate, low=low, high=high)
    text = (
        f"The selection rate for {one} is {figure.text} times that for {other} "
        f"({level(own.release.alpha)} interval {figure.limits})"
    )
    text += ", the furthest from 1 of all pairs." if len(known) > 1 else "."
    return Answer(by_pair(said), f"{text} {_parity(own)}".rstrip())


def _inverse(ratio: float) -> float:
    return math.inf if ratio == 0 else 1 / ratio


def _parity(own: AnswerSet) -> str:
    """State the largest demographic parity difference."""
    attributes = dict.fromkeys(pair.attribute for pair in own.pairs)
    every = {
        name: figure_of(own.kind, own.of_attribute(name).get("demographic_parity"))
        for name in attributes
    }
    found = {name: figure for name, figure in every.items() if figure.known}
    if not found:
        return ""
    name = max(found, key=lambda one: found[one].estimate)
    label = own.benchmark.attribute(name).label
    which = f"largest for {label}: " if len(found) > 1 else ""
    return (
        "The demographic parity difference, highest minus lowest rate of the groups, is "
        f"{which}{found[name].text} points ({found[name].limits})."
    )


def chart(own: AnswerSet, name: str) -> Chart:
    """Draw the selection ratio of each pair, with the limits of the four-fifths rule shaded."""
    ratios = {pair: pair.figure("selection_ratio") for pair in own.charted}
    axis = axis_of(
        (one.at_most(MOST_RATIO) for one in ratios.values()),
        "ratio",
        "selection ratio",
        band=FOUR_FIFTHS,
        room=0.06,
        signed=False,
    )

    def cell(pair: Pair) -> Cell:
        found = ratios[pair]
        marks = tick(axis, 1, reach=50)
        marks += interval(axis, found.estimate, found.low, min(found.high, axis.high))
        at = min(found.estimate, axis.high) if found.known else 1
        marks += above(axis, at, found.label, "18%")
        return Cell(marks, f"{pair.note}: {found.written()}")

    return pair_chart(own, name, "Selection ratios", axis, cell, height=54)


SECTION = Section(
    order=60,
    title=lambda own: "Is a rate below four fifths of the other?",
    answer=answer,
    applies=lambda own: any("selection_ratio" in pair.estimates for pair in own.pairs),
    charts=lambda own, name: (chart(own, name),),
    key=lambda own: [
        Mark(sure(own)),
        Mark("shaded: from .80 to 1.25, the limits of the four-fifths rule"),
    ],
)
