"""Which group has the lower figure, and which errors does the model make for each group?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from fairstats._lib.formatting import capital, level, listed, number_word
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, ORIGINAL
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.report.answer_sets import AnswerSet, Pair, span_of
from fairstats.report.charts.marks import Axis, interval, tick, two_bars
from fairstats.report.charts.rows import Cell, Chart, Row, cut
from fairstats.report.page_output import ACCENT_A, ACCENT_B
from fairstats.report.sections.section import (
    CANNOT,
    MOST_NAMES,
    Answer,
    Mark,
    Section,
    above,
    axis_of,
    pair_chart,
    set_chart,
    sure,
    unknown,
)
from fairstats.report.sensitivity import worst_answer
from fairstats.report.tables import labels_of
from fairstats.report.words import UNKNOWN, Figure, heading, option_label

# Characters of a group's name that fit next to a mark.
_LONGEST = 22
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
    labels = own.benchmark.attributes
    accuracy = {
        (labels[name].groups[group], name): figure for (name, group), figure in own.by_group.items()
    }
    known = all(figure.known for figure in (neutral, *accuracy.values()))
    if not (own.ranged or own.selected or neutral.known):
        return Answer(CANNOT, "The accuracy with the neutral text is not known.")
    if own.ranged or own.selected or not known:
        return unknown(own)
    # A group is named only if its interval is clear of the neutral text's: no test compares them.
    lower = [group for group, figure in accuracy.items() if figure.high < neutral.low]
    higher = [group for group, figure in accuracy.items() if figure.low > neutral.high]
    change = {group: figure.estimate - neutral.estimate for group, figure in accuracy.items()}
    against = "Against the neutral text, accuracy"
    wrong = _with_missing(own, own.pair(BASELINE, (ORIGINAL, NEUTRALIZED)))
    if not lower:
        text = f"{against} changes by {span_of(change.values(), signed=True)} points{wrong}."
        if higher:
            text += f" It is clearly higher for {listed(name for name, _ in higher)}."
        else:
            text += " Each interval overlaps that of the neutral text, and no test compares them."
        return Answer(f"No {own.compared}group clearly", text)
    names = [name for name, _ in lower]
    short, many = listed(names), len(names) > MOST_NAMES
    if many:
        short = f"{capital(number_word(len(names)))} of {len(accuracy)} {own.compared}groups"
    if own.benchmark.slanted and not own.benchmark.swayed_by:
        # Not "Black patients lose": the text that was written for them misleads.
        short = f"Text for {short[:1].lower()}{short[1:]}" if many else f"Text for {short}"
    who = "them" if len(lower) > 1 else "this group"
    loss = span_of(-change[group] for group in lower)
    text = f"{against} is {loss} points lower for {who}{wrong}."
    rest = [value for group, value in change.items() if group not in lower]
    if rest:
        moves = f"changes by {span_of(rest, signed=True)} points"
        if min(rest) > 0:
            moves = f"is {span_of(rest)} points higher"
        text += f" For the other {own.compared}group{'s' * (len(rest) > 1)} it {moves}."
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
    lowest = "Of the compared groups, lowest" if own.compared else "Lowest"
    text = f"{lowest} for {_whose(own, known, low)}, highest for {_whose(own, known, high)}"
    others = without_figure(own)
    if math.isclose(low, high):
        text = f"It is the same for every {own.compared}group"
        if others:
            text = f"That is {'the same ' * (len(known) > 1)}for {_whose(own, known, low)}"
    text += f"{_with_missing(own)}."
    return Answer(short, f"{text} It is not known for {others}." if others else text)


def _with_missing(own: AnswerSet, neutral: Pair | None = None) -> str:
    """State at the end of a sentence what missing answers of the groups count as, if any do.

    `neutral` is the pair whose second text is the neutral one, if the sentence is about it too.
    """
    missing = [pair.value(own.kind.rate_a, "n_missing_a") for pair in own.pairs]
    both = [*own.pairs, neutral] if neutral else own.pairs
    missing += [pair.value(own.kind.rate_b, "n_missing_b") for pair in both]
    if not (own.rows["missing"].eq("incorrect").any() and any(number > 0 for number in missing)):
        return ""
    return f", with missing answers counted as {worst_answer(own.kind.name)}"


def _whose(own: AnswerSet, known: dict[tuple[str, str], float], value: float) -> str:
    """Name every group with a figure, or count them if many tie."""
    return _named(own, [group for group, one in known.items() if math.isclose(one, value)])


def without_figure(own: AnswerSet) -> str:
    """Name or count the groups whose accuracy, rate or mean is not known; empty without any."""
    return _named(own, [group for group, figure in own.by_group.items() if not figure.known])


def _named(own: AnswerSet, groups: Sequence[tuple[str, str]]) -> str:
    names = [own.group_name(*group) for group in groups]
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
            marks += above(axis, figure.middle, f"{cut(term, _LONGEST)} {figure.label}", beside)
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

    cases = ((Row(own.group_name(*group)), figure) for group, figure in own.by_group.items())
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


GROUPS = Section(
    order=10,
    title=_title,
    answer=answer,
    charts=lambda own, name: (chart(own, name),),
    key=_key,
    every_pair=True,
)


def error_metrics(kind: Kind) -> tuple[str, ...]:
    """Return the metrics of errors against the key, without their side."""
    return tuple(labels_of("sections")["errors"].get(kind.name, ()))


def _applies(own: AnswerSet) -> bool:
    there = set(own.rows["metric"])
    errors = [f"{metric}_a" for metric in error_metrics(own.kind)]
    return bool(errors) and there.issuperset(errors)


def errors(own: AnswerSet) -> Answer:
    """State how the errors against the key differ between groups."""
    kind, parts = own.kind, {}
    for metric in error_metrics(kind):
        known = [f for f in own.sides(f"{metric}_a", f"{metric}_b").values() if f.known]
        if known:
            parts[metric] = [figure.estimate for figure in known]
    if own.ranged or not parts:
        return unknown(own)
    if kind.name == "score":
        size = span_of(next(iter(parts.values())), kind, signed=True)
        of = " of the compared groups" * bool(own.compared)
        return Answer(f"Mean error {size}", f"Answer minus key{of}, in {kind.unit}.")
    names = labels_of("sections")["errors"][kind.name]
    short = capital(
        ", ".join(names[m]["range"].format(span_of(values)) for m, values in parts.items())
    )
    apart = {
        (metric, pair): figure
        for metric in parts
        for pair in own.pairs
        if (figure := pair.figure(f"{metric}_difference")).known
    }
    if not apart:
        return Answer(short, "")
    metric, pair = max(apart, key=lambda one: abs(apart[one].estimate))
    figure = apart[metric, pair]
    return Answer(
        short,
        f"The largest difference is in {names[metric]['name']}, {own.full_name(pair)}: "
        f"{figure.text} points ({level(own.release.alpha)} interval {figure.limits}, "
        "not adjusted).",
    )


def errors_chart(own: AnswerSet, name: str) -> Chart:
    """Draw the errors of each group against the key.

    For decisions, true and false positive rates; for levels, the shares below and above the key;
    for scores, the mean signed error.
    """
    if own.kind.name == "level":
        return _below_and_above(own, name)
    metrics = error_metrics(own.kind)
    drawn = [own.sides(f"{metric}_a", f"{metric}_b") for metric in metrics]
    share = own.kind.name == "decision"
    axis = axis_of(
        (figure for figures in drawn for figure in figures.values()),
        "errors",
        "share of favourable answers, %" if share else "mean error, score points",
        room=0.2,
        signed=not share,
        unit="%" if share else "",
    )
    places = (("35%", ACCENT_B), ("68%", ACCENT_A)) if share else (("50%", ACCENT_B),)

    def cell(group: tuple[str, str]) -> Cell:
        marks, said = Markup(), []
        for figures, (y, colour), metric in zip(drawn, places, metrics, strict=True):
            found = figures[group]
            if found.known:
                marks += interval(axis, *found.all, label=found.text, colour=colour, y=y)
                said.append(f"{metric.replace('_', ' ')} {found.text}")
        return Cell(marks, ", ".join(said))

    groups = [group for group in drawn[0] if any(figures[group].known for figures in drawn)]
    cases = ((Row(own.group_name(*group)), group) for group in groups)
    return set_chart(own, name, "Errors by group", axis, cases, cell, height=40 if share else 24)


def _below_and_above(own: AnswerSet, name: str) -> Chart:
    """Draw the share of answers below the key to the left, and above it to the right."""
    low, high = (own.sides(f"{metric}_a", f"{metric}_b") for metric in error_metrics(own.kind))
    known = [group for group, figure in low.items() if figure.known and high[group].known]
    most = max((max(low[g].estimate, high[g].estimate) for g in known), default=1.0) or 1.0
    note = "← below the key, % of answers · above it →"
    axis = Axis("errors", "", note, -1.35 * most, 1.35 * most, labelled=False)

    def cell(group: tuple[str, str]) -> Cell:
        down, up = low[group].estimate, high[group].estimate
        marks = two_bars(axis, up, down, "{:.1f}".format)
        return Cell(marks, f"{down:.1f}% below the key, {up:.1f}% above")

    cases = ((Row(own.group_name(*group)), group) for group in known)
    return set_chart(own, name, "Answers below and above the key", axis, cases, cell)


def _errors_key(own: AnswerSet) -> Sequence[Mark]:
    if own.kind.name == "level":
        return []
    rates = [Mark("true positive rate", "b"), Mark("false positive rate", "a")]
    return [Mark(sure(own)), *(rates if own.kind.name == "decision" else [])]


ERRORS = Section(
    order=80,
    title=lambda own: "Which errors does it make for each group?",
    answer=errors,
    applies=_applies,
    charts=lambda own, name: (errors_chart(own, name),),
    key=_errors_key,
)
