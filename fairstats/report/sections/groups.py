"""Who is less often right, selected less often, or given lower levels or scores?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from fairstats._lib.formatting import capital, listed, number_word
from fairstats.benchmarks.kinds import CHOICE
from fairstats.report.answer_sets import AnswerSet, Pair, span_of
from fairstats.report.charts.marks import interval, tick
from fairstats.report.charts.rows import Cell, Chart
from fairstats.report.figures import UNKNOWN, Figure
from fairstats.report.page_output import ACCENT_A, ACCENT_B
from fairstats.report.sections.pair_charts import above, axis_of, cut, pair_chart, set_chart
from fairstats.report.sections.section import (
    MOST_NAMES,
    Answer,
    Mark,
    Section,
    sure,
    unknown,
)
from fairstats.report.words import heading, option_label

# Tied groups are named up to this number.
_MOST_TIED = 3


def _title(own: AnswerSet) -> str:
    benchmark = own.benchmark
    if own.kind == CHOICE:
        return "Who loses accuracy?" if own.neutral else "How accurate is it for each group?"
    if own.kind.name == "decision" and len(benchmark.favourable) == 1:
        return f"Share of “{option_label(benchmark, benchmark.favourable[0])}”, by group"
    return f"{capital(own.kind.figure)}, by group"


def answer(own: AnswerSet) -> Answer | None:
    """State who loses against the neutral text, or the groups with the extreme figures."""
    if own.kind == CHOICE and own.neutral is not None:
        return who_loses(own)
    return extremes(own)


def who_loses(own: AnswerSet) -> Answer:
    """State which groups lose accuracy against the neutral text."""
    neutral = own.neutral or UNKNOWN
    accuracy = {
        (pair.terms[side], pair.attribute): pair.rates[side]
        for pair in own.pairs
        for side in (0, 1)
    }
    known = all(figure.known for figure in (neutral, *accuracy.values()))
    if own.ranged or own.selected or not known:
        return unknown(own)
    # A group is named only if its interval is clear of the neutral text's: no test compares them.
    lower = [group for group, figure in accuracy.items() if figure.high < neutral.low]
    higher = [group for group, figure in accuracy.items() if figure.low > neutral.high]
    change = {group: figure.estimate - neutral.estimate for group, figure in accuracy.items()}
    against = "Against the neutral text, accuracy"
    if not lower:
        text = f"{against} changes by {span_of(change.values(), signed=True)} points."
        if higher:
            text += f" It is clearly higher for {listed(name for name, _ in higher)}."
        else:
            text += " Each interval overlaps that of the neutral text."
        return Answer("No group clearly", text)
    names = [name for name, _ in lower]
    short, many = listed(names), len(names) > MOST_NAMES
    if many:
        short = f"{capital(number_word(len(names)))} of {len(accuracy)} groups"
    if own.benchmark.slanted and not own.benchmark.swayed_by:
        # Not "Black patients lose": the text that was written for them misleads.
        short = f"Text for {short[:1].lower()}{short[1:]}" if many else f"Text for {short}"
    who = "them" if len(lower) > 1 else "this group"
    text = f"{against} is {span_of(-change[group] for group in lower)} points lower for {who}."
    rest = [value for group, value in change.items() if group not in lower]
    if rest:
        moves = f"changes by {span_of(rest, signed=True)} points"
        if min(rest) > 0:
            moves = f"is {span_of(rest)} points higher"
        text += f" For the other group{'s' * (len(rest) > 1)} it {moves}."
    return Answer(short, text)


def extremes(own: AnswerSet) -> Answer:
    """State the lowest and highest figure of a group, and whose they are."""
    known = {group: figure.estimate for group, figure in own.by_group.items() if figure.known}
    if not known:
        return unknown(own)
    size = span_of(known.values(), own.kind)
    short = f"{capital(own.kind.figure)} {size}{'' if own.kind.numeric else '%'}"
    if own.kind == CHOICE:
        short = f"{size}% of answers are right"
    low, high = min(known.values()), max(known.values())
    if math.isclose(low, high):
        return Answer(short, "It is the same for every group.")
    text = f"Lowest for {_whose(own, known, low)}, highest for {_whose(own, known, high)}."
    return Answer(short, text)


def _whose(own: AnswerSet, known: dict[tuple[str, str], float], value: float) -> str:
    """Name every group with a figure, or count them if many tie."""
    names = [own.group_name(*group) for group, one in known.items() if math.isclose(one, value)]
    return listed(names) if len(names) <= _MOST_TIED else f"{number_word(len(names))} groups"


def chart(own: AnswerSet, name: str) -> Chart:
    """Draw the accuracy, rate or mean of both groups of each pair, and that with neutral text."""
    if own.many:
        return groups_chart(own, name)
    neutral, unit = own.neutral or UNKNOWN, "" if own.kind.numeric else "%"
    axis = axis_of(
        [neutral, *(figure for pair in own.pairs for figure in pair.rates)],
        "accuracy",
        heading(own.kind).lower(),
        room=0.04,
        limits=own.benchmark.limits if own.kind.numeric else (0, 100),
        signed=False,
        unit=unit,
    )

    def cell(pair: Pair) -> Cell:
        marks, said = Markup(), []
        # A small distance, because intervals may overlap.
        places = ((ACCENT_B, "57%", "84%"), (ACCENT_A, "43%", "16%"))
        for term, figure, (colour, y, beside) in zip(pair.terms, pair.rates, places, strict=True):
            marks += interval(axis, *figure.all, colour=colour, y=y)
            marks += above(axis, figure.middle, f"{cut(term)} {figure.label}", beside)
            said.append(f"{term} {figure.written(unit)}")
        if neutral.known:
            said.append(f"neutral text {neutral.written(unit)}")
        marks += tick(axis, neutral.estimate, reach=18)
        return Cell(marks, "; ".join(said))

    return pair_chart(own, name, _caption(own), axis, cell, height=60)


def groups_chart(own: AnswerSet, name: str) -> Chart:
    """Draw the accuracy, rate or mean of each group with its interval."""
    neutral, unit = own.neutral or UNKNOWN, "" if own.kind.numeric else "%"
    axis = axis_of(
        [neutral, *own.by_group.values()],
        "accuracy",
        heading(own.kind).lower(),
        room=0.25,
        signed=False,
        unit=unit,
    )

    def cell(figure: Figure) -> Cell:
        marks = interval(axis, *figure.all, label=figure.label, colour=ACCENT_B)
        return Cell(marks + tick(axis, neutral.estimate, reach=30), figure.written(unit))

    cases = ((own.group_name(*group), figure) for group, figure in own.by_group.items())
    return set_chart(own, name, _caption(own), axis, cases, cell)


def _caption(own: AnswerSet) -> str:
    return f"{capital(own.kind.figure)} of each group"


def _key(own: AnswerSet) -> Sequence[Mark]:
    if own.neutral is None:
        return [Mark(sure(own))]
    first, second = own.side_names
    sides = [] if own.many else [Mark(first, "b"), Mark(second, "a")]
    named = "a group is named if its interval lies below that of the neutral text"
    return [*sides, Mark("neutral text", "bar"), Mark(sure(own)), Mark(named)]


SECTION = Section(
    order=10,
    title=_title,
    answer=answer,
    charts=lambda own, name: (chart(own, name),),
    key=_key,
    every_pair=True,
)
