"""The finding on the first page of an audit report: one sentence, and one with the numbers."""

from __future__ import annotations

import math

from fairstats._lib.formatting import capital, level, percent, span
from fairstats.benchmarks.kinds import CHOICE
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.report.answer_sets import AnswerSet, Pair, names_of
from fairstats.report.findings import Findings
from fairstats.report.words import difference_name, long_unit, signed_range, words_of

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
    sentences = []
    if said:
        sentences.append(f"{lead} {', and '.join(said)}.")
        if any(pair.verdict is not None for pair in answers.pairs):
            sentences.append(f"The benchmark’s margin is {answers.shown_margin}.")
        if answers.benchmark.slanted:
            sentences.append("The slant was built in: this is not a rate of bias in practice.")
    else:
        sentences.append("No figure could be estimated.")
    sentences += [f"{capital(reason)}." for reason in reasons(answers)]
    if any(pair.verdict == INCONCLUSIVE for pair in answers.pairs):
        sentences.append("Unclear is not the same as fair.")
    elif all(pair.verdict is None for pair in answers.pairs):
        sentences.append("This is not evidence of fairness.")
    return " ".join(sentences)


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
    low, high = _all_limits(answers, "cfr")
    if any(map(math.isnan, (*low, *high))):
        return ""
    least, most = 1 - max(high), 1 - min(low)
    share = _between(answers, percent(least), percent(most))
    return f"the model’s answer differs in {share} of pairs"


def _difference(answers: AnswerSet) -> str:
    """State for which group the figure is higher, and by how much."""
    kind, benchmark = answers.kind, answers.benchmark
    low, high = _all_limits(answers, kind.difference)
    if any(map(math.isnan, (*low, *high))):
        return ""
    least, most = min(low), max(high)
    sure = ""
    if len(answers.pairs) == 1 and not answers.ranged:
        only = answers.pairs[0].difference
        sure = f" ({level(answers.release.alpha)} interval "
        sure += f"{signed_range(kind, only['ci_low'], only['ci_high'])})"
    decided = all(pair.verdict in (DISPARITY, EQUIVALENT) for pair in answers.pairs)
    if decided:
        for sign, place in ((1, 0), (-1, 1)):
            # A difference that rounds to 0 has no sign.
            if all(kind.signed(sign * value).startswith("+") for value in (least, most)):
                size = (kind.signed(end)[1:] for end in sorted((abs(least), abs(most))))
                more = f"higher ({benchmark.higher})" if benchmark.higher else "higher"
                return (
                    f"{kind.figure} is {span(*size)} {long_unit(kind)} {more} for "
                    f"{_group(answers, place)}{sure}"
                )
    order = " − ".join(benchmark.pair_terms)
    if len(answers.pairs) == 1:
        order = " − ".join(answers.pairs[0].terms)
    figures = _between(answers, kind.signed(least), kind.signed(most))
    return f"the {difference_name(kind)} ({order}) is {figures} {long_unit(kind)}{sure}"


def _all_limits(answers: AnswerSet, metric: str) -> tuple[list[float], list[float]]:
    """Return the limits of all pairs; if one of several is unknown, those of the others."""
    every = [_limits(pair, metric) for pair in answers.pairs]
    known = [one for one in every if not math.isnan(sum(one))]
    # Reports of choices state no figure if one is unknown.
    used = known if known and answers.kind != CHOICE else every
    return [low for low, _ in used], [high for _, high in used]


def _limits(pair: Pair, metric: str) -> tuple[float, float]:
    """Return the estimate twice, or the range if the figure is known as a range only."""
    estimate = pair.value(metric)
    if not math.isnan(estimate):
        return estimate, estimate
    if metric in pair.estimates and pair.estimates[metric]["ci_method"] == "bounds":
        return pair.value(metric, "ci_low"), pair.value(metric, "ci_high")
    return math.nan, math.nan


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
