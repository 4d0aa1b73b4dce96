"""Grade the confidence in an audit report's finding, with reasons from the release's tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from fairstats._lib.formatting import level, listed, number_word, points, span
from fairstats.benchmarks.kinds import CHOICE
from fairstats.estimates.specifications import INTERVAL, MISSING, TEST
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.report.answer_sets import AnswerSet, Pair, names_of
from fairstats.report.audit.finding import reasons
from fairstats.report.findings import ordinal
from fairstats.report.words import test_name, where, words_of

HIGH, MODERATE, LOW, NO_BASIS = "High", "Moderate", "Low", "No basis"
# The two intervals cover far too rarely if few pairs are discordant (see the page on methods): no
# verdict has to survive them. The policy bounds has no verdict.
_NOT_DEFENDED = ("wald", "bootstrap", "bounds")
_NUMBERED = {
    INTERVAL: "interval method",
    TEST: "version of {test}",
    MISSING: "policy for missing answers",
}
_SEVERAL = {INTERVAL: "interval methods", TEST: "versions of {test}"}
_SEVERAL[MISSING] = "policies for missing answers"


@dataclass(frozen=True)
class Robustness:
    """Hold how the published verdicts change under other defensible choices.

    Attributes
    ----------
    choices : dict
        The number of choices that give the same verdicts, by aspect.
    changed : list of (Pair, pandas.DataFrame)
        The pairs with a verdict that another choice changes, and those rows of the table of
        sensitivity.
    """

    choices: dict[str, int]
    changed: list[tuple[Pair, pd.DataFrame]]


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
    subjects = words_of(answers.benchmark).subjects
    if answers.benchmark.swayed_by:
        yield NO_BASIS, "for how often questions in practice contain such text."
    elif answers.benchmark.slanted:
        yield NO_BASIS, f"for how often real {subjects} would be treated differently."
    elif answers.kind == CHOICE and not answers.benchmark.words.source:
        yield NO_BASIS, f"for conclusions about {subjects}: these are written test questions."
    else:
        place = where(answers.benchmark)
        yield NO_BASIS, f"for effects on {subjects} {place}: only the answers were measured."


def _differences(answers: AnswerSet) -> Iterator[tuple[str, str]]:
    """Grade the differences as beyond chance, small or unclear; one entry per verdict."""
    judged = [pair for pair in answers.pairs if pair.verdict is not None]
    if not judged:
        why = "; ".join(reasons(answers)) or "no pair could be judged"
        if answers.selected:
            why = "the model took part in selecting the items"
        yield NO_BASIS, f"for a verdict: {why}."
        return
    for verdict in (DISPARITY, EQUIVALENT, INCONCLUSIVE):
        own = [pair for pair in judged if pair.verdict == verdict]
        if not own:
            continue
        names = names_of(own, answers)
        said = "" if len(own) == len(answers.pairs) else f" ({names})"
        yield {DISPARITY: _real, EQUIVALENT: _small, INCONCLUSIVE: _open}[verdict](
            answers, own, said
        )


def _real(answers: AnswerSet, own: Sequence[Pair], said: str) -> tuple[str, str]:
    alpha, margin = answers.release.alpha, answers.benchmark.equivalence_margin
    beyond = sum(
        pair.difference["ci_low"] > margin or pair.difference["ci_high"] < -margin for pair in own
    )
    nonzero = sum(pair.difference["ci_low"] * pair.difference["ci_high"] > 0 for pair in own)
    verb = "difference is" if len(own) == 1 else "differences are"
    if beyond == len(own):
        beyond_it = f"{_all(len(own), level(alpha))} beyond ±{answers.shown_margin}"
        return HIGH, f"The {verb} larger than chance{said}: {beyond_it}. {_power(own)}".strip()
    if nonzero == len(own):
        return MODERATE, (
            f"The {verb} larger than chance{said}, but perhaps too small to matter: {beyond} of "
            f"{len(own)} {level(alpha)} intervals lie beyond ±{answers.shown_margin}."
        )
    return MODERATE, (
        f"The {verb} statistically significant{said}, but {nonzero} of {len(own)} {level(alpha)} "
        "intervals exclude 0."
    )


def _small(answers: AnswerSet, own: Sequence[Pair], said: str) -> tuple[str, str]:
    inside = _all(len(own), level(2 * answers.release.alpha))
    return HIGH, f"No larger difference{said}: {inside} inside ±{answers.shown_margin}."


def _open(answers: AnswerSet, own: Sequence[Pair], said: str) -> tuple[str, str]:
    margin = answers.shown_margin
    text = f"A difference is neither shown nor excluded{said} at ±{margin}."
    return LOW, f"{text} {_power(own)}".strip()


def _all(count: int, name: str) -> str:
    if count == 1:
        return f"the {name} interval lies"
    return f"{'both' if count == 2 else f'all {number_word(count)}'} {name} intervals lie"


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
    test = test_name(answers.kind)
    kept = [
        f"{number} {(_SEVERAL if number > 1 else _NUMBERED)[aspect].format(test=test)}"
        for aspect, number in found.choices.items()
        if number > 1 or not answers.benchmark.few_units
    ]
    same, compared = other_prompts(answers, others)
    decided = any(pair.verdict in (DISPARITY, EQUIVALENT) for pair in answers.pairs)
    same_with = "The verdict is robust: the same with" if decided else "It stays unclear with"
    text = f"{same_with} {listed(kept)}"
    grade = HIGH
    if found.changed:
        grade = MODERATE if 2 * len(found.changed) < len(answers.pairs) else LOW
        names = names_of([pair for pair, _ in found.changed], answers)
        text = f"The verdict depends on the choice of method for {names}"
    elif not kept:
        return
    if compared:
        if same < compared:
            grade = MODERATE if grade == HIGH else grade
        text += f"; with other prompts it is the same in {same} of {compared} comparisons"
    yield grade, f"{text}."


def robustness(answers: AnswerSet) -> Robustness:
    """Return which defensible choices of method keep the published verdicts.

    All choices count if none of them changes a verdict. If one does, only those that can be
    defended count.
    """
    choices: dict[str, int] = {}
    changed: list[tuple[Pair, pd.DataFrame]] = []
    for pair in answers.pairs:
        if pair.verdict is None:
            continue
        rows = pair.rows(answers.sensitivity)
        rows = rows[rows["aspect"].isin(list(_NUMBERED)) & (rows["choice"] != "bounds")]
        bounds = pair.rows(answers.sensitivity)
        bounds = bounds[(bounds["aspect"] == MISSING) & (bounds["choice"] == "bounds")]
        if (bounds["ci_low"] == bounds["ci_high"]).all():
            # Without missing answers, the policies cannot disagree.
            rows = rows[rows["aspect"] != MISSING]
        other = rows["verdict"].fillna("") != pair.verdict
        if not other.any():
            kept = rows
        else:
            kept = rows[~rows["choice"].isin(_NOT_DEFENDED)]
            moved = kept[kept["verdict"].fillna("") != pair.verdict]
            if len(moved):
                changed.append((pair, moved))
        for aspect, number in kept.groupby("aspect", sort=False)["choice"].nunique().items():
            choices[str(aspect)] = min(choices.get(str(aspect), number), number)
    return Robustness(
        {aspect: choices[aspect] for aspect in _NUMBERED if aspect in choices}, changed
    )


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
