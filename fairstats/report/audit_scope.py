"""State the scope of an audit report, its gaps, and how to use its result."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairstats._lib.formatting import MINUS, capital, listed, number_word
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE, DECISION, LEVEL
from fairstats.inference.verdict import DISPARITY, INCONCLUSIVE
from fairstats.report.audit_answer_sets import AnswerSet, differences_of
from fairstats.report.audit_confidence import prompts_among
from fairstats.report.kind_words import option_label, words_of

# More groups than these are counted, not named.
_NAMED = 12


def tested(answers: AnswerSet, others: Sequence[AnswerSet]) -> list[str]:
    """State what was tested: vignettes and groups, other prompts, other vignettes."""
    benchmark = answers.benchmark
    described = _question(benchmark) if answers.kind == CHOICE else _answered(benchmark)
    sentences = [benchmark.description, *described]
    prompts = prompts_among(answers, others)
    if prompts:
        sentences.append(_prompts(answers, prompts))
    rest = [other for other in others if other not in prompts]
    if rest:
        labels = "; ".join(other.label for other in rest[:3])
        more = f"; and {len(rest) - 3} more" if len(rest) > 3 else ""
        nouns = {words_of(other.benchmark).items for other in rest}
        items = nouns.pop() if len(nouns) == 1 else "items"
        sentences.append(f"Other {items}, reported separately: {labels}{more}.")
    return sentences


def _question(benchmark: Benchmark) -> list[str]:
    options = number_word(len(benchmark.options))
    groups = [label for a in benchmark.attributes.values() for label in a.groups.values()]
    versions = f"Each question has {options} options and comes in {len(groups)} versions"
    named = f": {', '.join(groups)}" if len(groups) <= _NAMED else ""
    return [f"{versions}{named}."]


def _answered(benchmark: Benchmark) -> list[str]:
    """State what an answer is, what varies, and what the controls are."""
    kind, options = benchmark.kind, [option_label(benchmark, one) for one in benchmark.options]
    low, high = (f"{end:g}".replace("-", MINUS) for end in benchmark.limits)
    answer = f"a number from {low} to {high}"
    if kind == DECISION:
        answer = f"one of {number_word(len(options))}: {listed(options, 'or')}"
    elif kind == LEVEL:
        answer = f"one of {number_word(len(options))} levels, from {options[0]} to {options[-1]}"
    sentences = [f"Each answer is {answer}."]
    varied = [f"{a.label} ({len(a.groups)} groups)" for a in benchmark.varied]
    item = capital(words_of(benchmark).items)
    sentences.append(f"{item} come in versions that differ in: {', '.join(varied)}.")
    if benchmark.controls:
        labels = listed(one.label for one in benchmark.controls)
        sentences.append(f"Controls, which should not matter: {labels}.")
    return sentences


def _prompts(answers: AnswerSet, prompts: Sequence[AnswerSet]) -> str:
    """Describe the other prompts in one sentence, with the range of their differences."""
    names = [other.prompt for other in prompts]
    which = listed(names) if len(names) <= 5 else f"{len(names)} prompts"
    said = f"Also with {'another prompt' if len(prompts) == 1 else 'other prompts'}: {which}."
    pairs = [pair for other in prompts for pair in other.pairs]
    differences = differences_of(pairs)
    if not differences or answers.selected:
        return said
    shown = sum(pair.verdict == DISPARITY for pair in pairs)
    counted = f"{'all' if shown == len(pairs) else f'{shown} of the'} {len(pairs)} are disparities"
    return f"{said} Differences there: {differences}; {counted}."


def not_tested(answers: AnswerSet, *, rated: bool) -> list[str]:
    """State what was not tested; the first sentence rules out a misreading of the figures.

    Parameters
    ----------
    answers : AnswerSet
        The answer set of the finding.
    rated : bool
        Whether the release has ratings of the model's open answers.
    """
    benchmark = answers.benchmark
    sentences = []
    # The first note is the default for the most important one.
    sentences += [note for note in benchmark.notes[:1] if note != benchmark.read_first]
    single = all(math.isnan(pair.value("same_prompt_agreement")) for pair in answers.pairs)
    runs = "repeat runs (each prompt was asked once), " if single else ""
    open_answers = "" if rated else ", open answers"
    text = f"{runs}other wordings{open_answers}, later snapshots of the model."
    sentences.append(capital(text))
    sentences.append(f"Other {benchmark.side_noun}s{_combinations(answers)}.")
    return [benchmark.read_first, *sentences]


def _combinations(answers: AnswerSet) -> str:
    varied = answers.benchmark.varied
    single = [attribute for attribute in varied if not attribute.crosses]
    if len(single) < len(varied) or len(single) < 2:
        return ""
    one, two = (a.groups[a.pairs[0][1]] for a in single[-2:])
    return f", and combinations of groups such as {one} with {two}"


def how_to_use(answers: AnswerSet) -> list[str]:
    """State how the result may be used."""
    verdicts = {pair.verdict for pair in answers.pairs}
    sentences = []
    if verdicts <= {None}:
        sentences.append("Do not quote the figures as a result: no verdict was given.")
    elif INCONCLUSIVE in verdicts or None in verdicts:
        sentences.append("Do not quote an unclear or missing verdict as fairness.")
    if answers.benchmark.slanted:
        text = answers.benchmark.swayed_by or "slanted text"
        sentences.append(f"Quote it as susceptibility to {text}, not as a rate of bias.")
    else:
        sentences.append("Quote it for this benchmark and these groups, not for practice.")
    items = words_of(answers.benchmark).items
    sentences.append(f"Compare it only with models tested on the same {items} and prompt.")
    sentences.append("Repeat the audit when the model or its snapshot changes.")
    return sentences
