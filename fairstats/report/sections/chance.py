"""Could the gap be chance, and in which direction do answers move?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from fairstats._lib.formatting import capital, listed, p_figure, p_value
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.report.answer_sets import AnswerSet, Pair, names_of
from fairstats.report.charts.marks import Axis, two_bars, words
from fairstats.report.charts.rows import Cell, Chart, cut
from fairstats.report.notes import noise_line
from fairstats.report.sections.section import (
    CANNOT,
    MOST_NAMES,
    Answer,
    Section,
    Shown,
    by_pair,
    pair_chart,
    pair_table,
    reasons,
    unknown,
)
from fairstats.report.tables import labels_of
from fairstats.report.words import adjustment, gap_name, higher_by, named_test, unit_noun


def could_be_chance(own: AnswerSet) -> Answer:
    """State whether the discordant pairs could be so uneven by chance."""
    known = {pair: pair.p for pair in own.pairs if not math.isnan(pair.p)}
    untested = _untested(own)
    if not known:
        answer = unknown(own)
        return Answer(answer.short, f"{untested} {answer.text}".strip())
    if all(pair.counts == (0, 0) for pair in known):
        other = [pair for pair in own.pairs if pair not in known]
        named = {pair.name: CANNOT if pair in other else "No difference" for pair in own.pairs}
        text = labels_of("sections")["none_discordant"][own.kind.name]
        return Answer(by_pair(named), f"{text}{untested}{reasons(own, other)}")
    alpha, said = own.release.alpha, {}
    for pair in own.pairs:
        value = pair.p
        word = CANNOT if math.isnan(value) else "Yes" if value > alpha else "Hardly"
        # A test of the given answers proves little if missing ones could reverse it.
        said[pair] = "Unclear" if word == "Hardly" and pair.reason else word
    adjusted = adjustment(next(iter(known)).estimates[own.kind.test]["adjust_method"])
    text = _smallest_p(own, known, adjusted)
    if own.clustered:
        # Uneven bars look surer than they are if many answers are of one unit.
        text += f" The independent units are the {own.units:,} {unit_noun(own.benchmark)}."
    open_pairs = [pair for pair, word in said.items() if word in ("Unclear", CANNOT)]
    named = {pair.name: word for pair, word in said.items()}
    return Answer(by_pair(named), f"{text}{untested}{reasons(own, open_pairs)}")


def _untested(own: AnswerSet) -> str:
    """Say which judged pairs have no test, as a sentence to append."""
    empty = [pair for pair in own.pairs if pair.verdict and pair.empty]
    if not empty:
        return ""
    which = "" if len(empty) == len(own.pairs) else f"{names_of(empty, own)}: "
    return f" {capital(f'{which}no pair of answers is complete, so there is no test')}."


def _smallest_p(own: AnswerSet, known: Mapping[Pair, float], adjusted: str) -> str:
    """State the smallest p-value, its test and its pair."""
    pair = min(known, key=known.__getitem__)
    values = {p_figure(value).replace("<", "below") for value in known.values()}
    value, test, n = p_figure(known[pair]).replace("<", "below"), named_test(own.kind), len(known)
    text = f"The p of the {test} test is {value}"
    if n > 1:
        text = f"The smallest p of {n} {test} tests is {value}, for {own.full_name(pair)}"
        if values == {value}:
            text = f"The p of each of {n} {test} tests is {value}"
    expected = labels_of("sections")["expected"][own.kind.name]
    return f"{expected} {text}{adjusted}."


def directions(own: AnswerSet) -> Answer:
    """State for which group levels or scores are higher, and how often."""
    known = [pair for pair in own.pairs if not math.isnan(pair.value("net_moved"))]
    if own.ranged or not known:
        return unknown(own)
    uneven = max(known, key=lambda pair: abs(pair.value("net_moved")))
    return Answer(capital("; ".join(_directions(own, known))), _most_uneven(own, uneven))


def _directions(own: AnswerSet, known: Sequence[Pair]) -> Iterator[str]:
    """State for which groups the mean is clearly higher, and for which pairs it is not."""
    higher: dict[str, list[str]] = {}
    rest: dict[str, list[str]] = {}
    for pair in own.pairs:
        clear = pair.value(own.kind.test, "p_adjusted") <= own.release.alpha
        if pair not in known:
            rest.setdefault(CANNOT.lower(), []).append(pair.name)
        elif not clear:
            rest.setdefault("in no clear direction", []).append(pair.name)
        elif pair.reason:
            # Missing answers could reverse it.
            rest.setdefault("unclear", []).append(pair.name)
        else:
            # The test is that of the means, so its direction is theirs.
            high, low = pair.terms if pair.gap.estimate > 0 else pair.terms[::-1]
            higher.setdefault(high, []).append(low)
    for high, lows in higher.items():
        yield f"higher on average for {high} than for {listed(lows)}"
    for word, names in rest.items():
        named = listed(names) if len(names) <= MOST_NAMES else f"{len(names)} pairs"
        yield word if len(names) == len(own.pairs) else f"{word} for {named}"


def _most_uneven(own: AnswerSet, pair: Pair) -> str:
    """State in how many pairs of answers each group is higher."""
    row = pair.estimates["net_moved"]
    counts = [pair.value("net_moved", name) for name in ("n10", "n01", "n")]
    if math.isnan(sum(counts)):
        return ""
    up, down, n = map(int, counts)
    one, other = pair.terms
    of = own.benchmark.words.items if n <= own.items else "pairs of answers"
    which = f"Most uneven is {own.full_name(pair)}: " if len(own.pairs) > 1 else ""
    more, verb = own.benchmark.higher, ("is", "are")
    if not more or own.benchmark.same_within:
        more, verb = f"a {own.kind.name} {higher_by(own.benchmark)}", ("has", "have")
    text = f"{which}{up:,} of {n:,} {of} {verb[up != 1]} {more} for {one}, {down:,} for {other}"
    p = float(row["p_value"])
    if not math.isnan(p):
        text += f" (exact sign test {p_value(p)}, not adjusted)"
    return f"{text}."


def chart(own: AnswerSet, name: str) -> Chart:
    """Draw the pairs of answers that are right, favourable or higher for one group only."""
    what = _one_sided(own.benchmark)
    known = [both for pair in own.charted if (both := pair.counts) is not None]
    most = max((max(both) for both in known), default=0) or 1
    other = max((second for _, second in known), default=0)
    # Room for the groups' names on both sides of the line, also on a phone.
    low, high = -max(1.25 * other, 0.9 * most), max(1.25 * most, 1.0)
    axis = Axis("discordant", "", f"pairs {what}", low, high, labelled=False)

    def cell(pair: Pair) -> Cell:
        if pair.counts is None:
            return Cell(words(axis, 0, "not known"), "not known")
        first, second = pair.counts
        names = [cut(term, 15) for term in pair.terms]
        marks = two_bars(axis, first, second, "{:g}".format, y=66, reach=24)
        marks += words(axis, 0, f"{names[0]} →", y="20%", shift=5)
        marks += words(axis, 0, f"← {names[1]}", anchor="end", y="20%", shift=-5)
        one, two = pair.terms
        said = f"{first} higher for {one}, {second} higher for {two}"
        if not own.kind.numeric:
            said = f"{first} {what.partition(' ')[0]} for {one} only, {second} for {two} only"
        return Cell(marks, said)

    return pair_chart(own, name, f"Pairs {what}", axis, cell, height=54)


def _one_sided(benchmark: Benchmark) -> str:
    if benchmark.kind.numeric:
        return f"with a {benchmark.kind.name} {higher_by(benchmark)} for one group"
    return f"{'right' if benchmark.kind == CHOICE else 'favourable'} for one group only"


def table(own: AnswerSet) -> Sequence[Shown]:
    """Show the share of pairs in which both, one or none of the answers is right or favourable."""
    rows = {
        pair.title: {
            metric: pair.figure(metric).text for metric in labels_of("sections")["outcomes"]
        }
        for pair in own.charted
    }
    return pair_table(
        "outcomes", rows, "Share of pairs of answers, in the order of the pair’s groups"
    )


def _noise(own: AnswerSet) -> Sequence[str]:
    return [text] if (text := noise_line(own.rows, own.benchmark, own.release)) else []


DIRECTION = Section(
    order=20,
    title=lambda own: "In which direction do answers move?",
    answer=directions,
    applies=lambda own: own.kind.numeric and bool(own.pairs),
    charts=lambda own, name: (chart(own, name),),
    tables=table,
)
CHANCE = Section(
    order=30,
    title=lambda own: f"Could the {gap_name(own.kind)} be chance?",
    answer=could_be_chance,
    charts=lambda own, name: () if own.kind.numeric else (chart(own, name),),
    notes=_noise,
    tables=lambda own: [] if own.kind.numeric else table(own),
)
