"""The finding on the first page of an audit report: one sentence, and one with the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairstats._lib.formatting import capital, level, points, span
from fairstats.benchmarks.kinds import CHOICE
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.report.answer_sets import AnswerSet, Pair, names_of
from fairstats.report.audit.clauses import clauses
from fairstats.report.findings import Findings, every, ordinal
from fairstats.report.sensitivity import robustness
from fairstats.report.words import (
    difference_name,
    long_unit,
    words_of,
)

# Each pair can have a separate reason, with its figures.
_MOST_REASONS = 4


def finding(answers: AnswerSet) -> str:
    """Return the finding in one sentence, or a few short ones if the verdicts differ.

    The worst verdict comes first. If the benchmark's text is slanted, the sentence names the
    slanted text: it cannot be quoted as bias in the world.
    """
    if not answers.pairs:
        return "Finding: no pair of groups was compared."
    # The worst verdict first, to avoid a flattering first sentence.
    order = {
        DISPARITY: "",
        INCONCLUSIVE: "Unclear for {}.",
        None: "No verdict for {}.",
        EQUIVALENT: f"Within {answers.shown_margin} for {{}}.",
    }
    named = {
        verdict: names_of(own, answers)
        for verdict in order
        if (own := [pair for pair in answers.pairs if pair.verdict == verdict])
    }
    first, *others = named
    headline = Findings(answers.alone, answers.release.alpha, (answers.model,)).headline
    named_text = others and answers.benchmark.slanted and first == DISPARITY
    whose = f", for {named[first]}" if named_text else ""
    rest = others if first == DISPARITY else [*named][bool(not others) :]
    sentences = [f"Finding: {headline}{whose}.", *(order[v].format(named[v]) for v in rest)]
    return " ".join(sentences)


def finding_in_numbers(answers: AnswerSet) -> str:
    """Return the figures behind the finding, and the reason if a verdict is open or missing."""
    if answers.selected:
        return (
            f"{answers.model} took part in selecting the items ({answers.selected}). Its figures "
            "do not measure how it treats the groups."
        )
    if not answers.pairs:
        return "This report holds no evidence for or against the model."
    said = [text for text in (_changed(answers), _difference(answers)) if text]
    lead = "When the group changes,"
    if answers.benchmark.slanted:
        slant = f"text slanted by {words_of(answers.benchmark).subject} group"
        lead = f"With {answers.benchmark.swayed_by or slant},"
    facts = {"known": bool(said)}
    return " ".join(
        [
            *clauses("numbers", answers, facts, lead=f"{lead} {', and '.join(said)}"),
            *(f"{capital(reason)}." for reason in reasons(answers)),
            *clauses("warning", answers),
        ]
    )


def reasons(answers: AnswerSet) -> list[str]:
    """Return why verdicts are open or missing, each reason once with the pairs it is about."""
    by_reason: dict[str, list[Pair]] = {}
    for pair in answers.pairs:
        if pair.reason:
            by_reason.setdefault(pair.reason, []).append(pair)
    if len(by_reason) == 1 and len(next(iter(by_reason.values()))) == len(answers.pairs):
        return list(by_reason)
    texts = [f"{names_of(own, answers)}: {reason}" for reason, own in by_reason.items()]
    if len(texts) > _MOST_REASONS:
        more = sum(map(len, list(by_reason.values())[_MOST_REASONS:]))
        texts = [*texts[:_MOST_REASONS], f"{more} more pairs have similar reasons"]
    return texts


def _changed(answers: AnswerSet) -> str:
    """State how many answers change, which is the report's first question."""
    ends = _ends(answers, "cfr")
    if not ends:
        return ""
    share = _between(answers, *(f"{100 - end:.1f}%" for end in (max(ends), min(ends))))
    return f"the model’s answer differs in {share} of pairs"


def _difference(answers: AnswerSet) -> str:
    """State for which group the figure is higher, and by how much."""
    kind, benchmark, pairs = answers.kind, answers.benchmark, answers.pairs
    ends = _ends(answers, kind.difference)
    if not ends:
        return ""
    form, sure = pairs[0].gap.form, ""
    if len(pairs) == 1 and not answers.ranged:
        sure = f" ({level(answers.release.alpha)} interval {pairs[0].gap.limits})"
    if all(pair.verdict in (DISPARITY, EQUIVALENT) for pair in pairs):
        for sign, place in ((1, 0), (-1, 1)):
            sizes = [form(sign * end) for end in sorted((min(ends), max(ends)), key=abs)]
            # A difference that rounds to 0 has no sign.
            if all(size.startswith("+") for size in sizes):
                more = f"higher ({benchmark.higher})" if benchmark.higher else "higher"
                return (
                    f"{kind.figure} is {span(*(size[1:] for size in sizes))} {long_unit(kind)} "
                    f"{more} for {_group(answers, place)}{sure}"
                )
    order = " − ".join(pairs[0].terms if len(pairs) == 1 else benchmark.pair_terms)
    figures = _between(answers, form(min(ends)), form(max(ends)))
    return f"the {difference_name(kind)} ({order}) is {figures} {long_unit(kind)}{sure}"


def _ends(answers: AnswerSet, metric: str) -> list[float]:
    """Return the estimates of all pairs, or the ends of their ranges, on a chart's axis."""
    figures = [pair.figure(metric) for pair in answers.pairs]
    known = [figure for figure in figures if figure.known or (figure.ranged and figure.limits)]
    # Reports of choices state no figure if one is unknown.
    if answers.kind == CHOICE and len(known) < len(figures):
        return []
    return [end for figure in known for end in figure.ends]


def _between(answers: AnswerSet, low: str, high: str) -> str:
    if answers.ranged and low != high:
        return f"between {low} and {high}"
    return span(low, high)


def _group(answers: AnswerSet, place: int) -> str:
    """Return the group that is ahead: by name for one pair, else by the benchmark's term."""
    if len(answers.pairs) == 1:
        terms = answers.pairs[0].terms
        return f"{terms[place]} than for {terms[1 - place]}"
    term = answers.benchmark.pair_terms[place]
    # Without terms the pairs are named in order, as in "White − Black".
    named = {"first": "first-named", "second": "second-named"}.get(term, term)
    return f"the {named} {answers.benchmark.side_noun}"


HIGH, MODERATE, LOW, NO_BASIS = "High", "Moderate", "Low", "No basis"


def confidence(answers: AnswerSet, others: Sequence[AnswerSet]) -> Iterator[tuple[str, str]]:
    """Yield the report's confidence in each of its parts: a level, and what it applies to.

    Parameters
    ----------
    answers : AnswerSet
        The answer set of the finding.
    others : sequence of AnswerSet
        The other answer sets of the model.
    """
    yield from _differences(answers)
    yield from _robust(answers, others)
    yield from _rank(answers)
    for text in clauses("no_basis", answers):
        yield NO_BASIS, text


def _differences(answers: AnswerSet) -> Iterator[tuple[str, str]]:
    """Grade the differences as beyond chance, small or unclear; one entry per verdict."""
    judged = [pair for pair in answers.pairs if pair.verdict is not None]
    if not judged:
        why = "; ".join(reasons(answers)) or "no pair could be judged"
        if answers.selected:
            why = "the model took part in selecting the items"
        yield NO_BASIS, f"for a verdict: {why}."
        return
    alpha, margin = answers.release.alpha, answers.benchmark.equivalence_margin
    for verdict in (DISPARITY, EQUIVALENT, INCONCLUSIVE):
        own = [pair for pair in judged if pair.verdict == verdict]
        if not own:
            continue
        limits = [(pair.difference["ci_low"], pair.difference["ci_high"]) for pair in own]
        beyond = sum(low > margin or high < -margin for low, high in limits)
        exclude = sum(low * high > 0 for low, high in limits)
        facts = {one: one == verdict for one in (DISPARITY, EQUIVALENT, INCONCLUSIVE)}
        facts |= {"beyond": beyond == len(own), "zero": exclude < len(own)}
        one, named = len(own) == 1, level(2 * alpha if verdict == EQUIVALENT else alpha)
        (text,) = clauses(
            "differences",
            answers,
            facts,
            differences="difference is" if one else "differences are",
            which="" if len(own) == len(answers.pairs) else f" ({names_of(own, answers)})",
            every=f"the {named} interval lies"
            if one
            else f"{every(len(own))} {named} intervals lie",
            level=named,
            count=str(len(own)),
            beyond=str(beyond),
            exclude=str(exclude),
            power=_power(own),
        )
        grade = {DISPARITY: HIGH if facts["beyond"] else MODERATE, EQUIVALENT: HIGH}
        yield grade.get(verdict, LOW), text.strip()


def _power(own: Sequence[Pair]) -> str:
    """State the difference that the test could have detected."""
    least = [pair.value("minimum_detectable_difference") for pair in own]
    known = [value for value in least if not math.isnan(value)]
    if not known:
        return ""
    size = span(*(points(value, signed=False) for value in (min(known), max(known))))
    return f"The test detects a difference of {size} points with 80% power."


def _robust(answers: AnswerSet, others: Sequence[AnswerSet]) -> Iterator[tuple[str, str]]:
    if all(pair.verdict is None for pair in answers.pairs):
        return
    found = robustness(answers)
    same, compared = other_prompts(answers, others)
    decided = any(pair.verdict in (DISPARITY, EQUIVALENT) for pair in answers.pairs)
    same_with = "The verdict is the same with" if decided else "It stays unclear with"
    text, grade = f"{same_with} {found.kept}", HIGH
    if found.changed:
        grade = MODERATE if 2 * len(found.changed) < len(answers.pairs) else LOW
        names = names_of([pair for pair, _ in found.changed], answers)
        text = f"The verdict depends on the choice of method for {names}"
    elif not found.kept:
        return
    if compared:
        if same < compared:
            grade = LOW if 2 * same < compared else MODERATE if grade == HIGH else grade
        text += f"; with other prompts it is the same in {same} of {compared} comparisons"
    yield grade, f"{text}."


def other_prompts(answers: AnswerSet, others: Sequence[AnswerSet]) -> tuple[int, int]:
    """Count the comparisons of other prompts on these vignettes, and those with this verdict."""
    published = {(pair.attribute, pair.groups): pair.verdict for pair in answers.pairs}
    verdicts = [
        (pair.verdict, published.get((pair.attribute, pair.groups)))
        for other in prompts_among(answers, others)
        for pair in other.pairs
    ]
    return sum(one == two for one, two in verdicts), len(verdicts)


def prompts_among(answers: AnswerSet, others: Sequence[AnswerSet]) -> list[AnswerSet]:
    """Return the answer sets on the same vignettes, with another prompt."""
    unit = (answers.benchmark.name, answers.board.version)
    return [other for other in others if (other.benchmark.name, other.board.version) == unit]


def _rank(answers: AnswerSet) -> Iterator[tuple[str, str]]:
    board = answers.board
    if answers.model in board.why_unranked:
        why, *more = board.why_unranked[answers.model].split("; ")
        also = f" ({len(more)} more under Limits)" if more else ""
        yield NO_BASIS, f"for a rank: {why}{also}."
        return
    ranked = board.ranked
    own = ranked[ranked["model"] == answers.model]
    if own.empty or len(ranked) < 2:
        return
    rank, low, high = (int(own.iloc[0][name]) for name in ("rank", "rank_low", "rank_high"))
    grade = HIGH if low == high else MODERATE if 2 * (high - low) < len(ranked) else LOW
    sure = level(answers.release.alpha)
    place = "" if low == high else f", possibly {ordinal(low)} to {ordinal(high)}"
    yield (
        grade,
        (
            f"The rank: {ordinal(rank)} of {len(ranked)} models, smallest differences first{place} "
            f"({sure} confidence)."
        ),
    )
