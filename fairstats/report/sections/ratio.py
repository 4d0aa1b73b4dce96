"""Is a selection rate below four fifths of the other?"""

from __future__ import annotations

from fairstats._lib.formatting import level, percent_range, points
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.board.charts import FOUR_FIFTHS, MOST_RATIO
from fairstats.report.board.figures import ratio
from fairstats.report.charts.marks import axis_over, interval, tick
from fairstats.report.charts.rows import Cell, Chart
from fairstats.report.sections.pair_charts import above, pair_chart
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
    text = (
        f"The selection rate for {one} is {ratio(figure.estimate)} times that for {other} "
        f"({level(own.release.alpha)} interval {ratio(figure.low)} to {ratio(figure.high)})"
    )
    text += ", the furthest from 1 of all pairs." if len(known) > 1 else "."
    return Answer(by_pair(said), f"{text} {_parity(own)}".rstrip())


def _parity(own: AnswerSet) -> str:
    """State the largest demographic parity difference."""
    attributes = dict.fromkeys(pair.attribute for pair in own.pairs)
    every = {name: own.of_attribute(name).get("demographic_parity") for name in attributes}
    found = {n: row for n, row in every.items() if row and row["estimate"] == row["estimate"]}
    if not found:
        return ""
    name = max(found, key=lambda one: float(found[one]["estimate"]))
    row, label = found[name], own.benchmark.attribute(name).label
    which = f"largest for {label}: " if len(found) > 1 else ""
    limits = percent_range(row["ci_low"], row["ci_high"])
    return (
        f"The demographic parity difference, highest minus lowest rate of the groups, is {which}"
        f"{points(row['estimate'], signed=False)} points ({limits})."
    )


def chart(own: AnswerSet, name: str) -> Chart:
    """Draw the selection ratio of each pair, with the limits of the four-fifths rule shaded."""
    ratios = {pair: pair.figure("selection_ratio") for pair in own.charted}
    axis = axis_over(
        [min(end, MOST_RATIO) for r in ratios.values() for end in (r.estimate, r.low, r.high)],
        key="ratio",
        label="",
        note="selection ratio",
        band=FOUR_FIFTHS,
        room=0.06,
        lead=0.04,
        signed=False,
    )

    def cell(pair: Pair) -> Cell:
        found = ratios[pair]
        label = ratio(found.estimate) if found.known else "not known"
        high = min(found.high, axis.high)
        marks = tick(axis, 1, reach=50) + interval(axis, found.estimate, found.low, high)
        marks += above(axis, min(found.estimate, axis.high) if found.known else 1, label, "18%")
        return Cell(marks, f"{pair.note}: {label} ({ratio(found.low)} to {ratio(found.high)})")

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
