"""List the limitations of an audit report that follow from its data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from fairstats._lib.formatting import MINUS, capital, listed, number_word, p_value, points
from fairstats.inference.verdict import DISPARITY
from fairstats.release.contents import Release
from fairstats.report.answer_sets import (
    AnswerSet,
    Pair,
    answer_sets,
    names_of,
    span_of,
)
from fairstats.report.audit.clauses import clauses
from fairstats.report.audit.finding import prompts_among, reasons
from fairstats.report.notes import flag_notes, screening_of, submission_caveats, submissions_of
from fairstats.report.sections.given import frequent_letter
from fairstats.report.sensitivity import change_of, robustness
from fairstats.report.words import option_label, words_of

#: With fewer discordant pairs, the report warns that tests and intervals use little data.
FEW_DISCORDANT = 10
# More pairs than these are counted, not named.
_MOST_TEXTS = 6


def limitations(release: Release, model: str) -> Iterator[str]:
    """Yield the limits of the figures on one model, one sentence or two each."""
    sets = answer_sets(release, model)
    for answers in sets:
        for text in _limits(answers):
            yield text if len(sets) == 1 else f"{answers.full_label}: {text}"
    for answers in {answers.benchmark.name: answers for answers in reversed(sets)}.values():
        if answers.benchmark.few_units:
            yield from clauses("benchmark", answers)
    benchmarks = {answers.benchmark.name: answers.benchmark for answers in sets}
    for benchmark in benchmarks.values():
        texts = dict.fromkeys(filter(None, (benchmark.read_first, *benchmark.notes)))
        yield from (
            text if len(benchmarks) == 1 else f"{benchmark.title}: {text}" for text in texts
        )
    unknown = [entry["snapshot"] is None for answers in sets for entry in answers.entries]
    if any(unknown):
        some = "" if all(unknown) else " for some of its answers"
        yield f"The exact version of the model is not known{some}."
    yield "Other wordings, and later snapshots under the same name, can give other answers."
    yield from dict.fromkeys(text for own in sets for text in clauses("meaning", own))


def _limits(answers: AnswerSet) -> Iterator[str]:
    if answers.selected:
        yield (
            f"{answers.model} took part in selecting the items ({answers.selected}). Its figures "
            "do not measure its bias."
        )
    else:
        for reason in reasons(answers):
            yield f"A verdict is open or missing. {capital(reason)}."
    screening = screening_of(answers.release, answers.board, answers.model)
    yield from flag_notes(screening, answers.release.overruled)
    yield from submission_caveats(submissions_of(answers.release, answers.board, answers.model))
    if answers.model in answers.board.why_unranked:
        why = answers.board.why_unranked[answers.model]
        yield f"{answers.model} has no rank ({why})."
    low = [pair for pair in answers.pairs if pair.value("excess_disagreement", "ci_high") < 0]
    # One interval of many can miss the true value.
    if 2 * len(low) > len(answers.pairs) and answers.benchmark.few_units:
        yield (
            "Answers to the same prompt differ more than answers for two groups, for "
            f"{len(low)} of {len(answers.pairs)} pairs. The runs may not be repetitions of one "
            "prompt."
        )
    uneven = (_uneven_missing(pair, answers.release.alpha) for pair in answers.pairs)
    yield from _first(chain.from_iterable(uneven), "Answers are missing unevenly")
    yield from _few(answers)
    moved = (
        f"The verdict on {pair.title} depends on the choice of method: {change_of(pair, rows)}."
        for pair, rows in robustness(answers).changed
    )
    yield from _first(moved, "The verdict depends on the choice of method")
    if text := frequent_letter(answers, enough=1):
        yield text


def _first(texts: Iterable[str], what: str) -> Iterator[str]:
    """Yield the first texts, and the number of further pairs that they hold for."""
    every = list(texts)
    yield from every[:_MOST_TEXTS]
    if more := len(every[_MOST_TEXTS:]):
        yield f"{what} for {number_word(more)} more pair{'s' * (more > 1)}."


def _uneven_missing(pair: Pair, alpha: float) -> Iterator[str]:
    p = pair.value("missing_difference", "p_value")
    if p <= alpha:
        yield (
            f"Answers are missing more often for one group ({pair.title}: "
            f"{points(pair.value('missing_difference'))} points, {p_value(p)}, not adjusted)."
        )


def _few(answers: AnswerSet) -> Iterator[str]:
    """Name the pairs with few discordant answers; one without any answer has no verdict at all."""
    test = answers.kind.test
    # Within a tolerance, answers count as the same but have different means.
    few = [
        pair
        for pair in ([] if answers.benchmark.same_within else answers.pairs)
        if pair.value(test, "n") > 0
        and pair.value(test, "n10") + pair.value(test, "n01") < FEW_DISCORDANT
    ]
    if few:
        differ = (
            f"have different {answers.kind.name}s" if answers.kind.numeric else "are discordant"
        )
        yield (
            f"Fewer than {number_word(FEW_DISCORDANT)} pairs {differ} "
            f"({names_of(few, answers)}). Tests and intervals depend on those few."
        )


# More groups than these are counted, not named.
_NAMED = 12


def tested(answers: AnswerSet, others: Sequence[AnswerSet]) -> list[str]:
    """State what was tested: vignettes and groups, other prompts, other vignettes."""
    benchmark = answers.benchmark
    options = [option_label(benchmark, one) for one in benchmark.options] or [""]
    groups = [label for a in benchmark.attributes.values() for label in a.groups.values()]
    low, high = (f"{end:g}".replace("-", MINUS) for end in benchmark.limits)
    values = {
        "options": number_word(len(options)),
        "every option": listed(options, "or"),
        "first option": options[0],
        "last option": options[-1],
        "low": low,
        "high": high,
        "versions": str(len(groups)),
        "named": f": {', '.join(groups)}" if len(groups) <= _NAMED else "",
        "varied": ", ".join(f"{a.label} ({len(a.groups)} groups)" for a in benchmark.varied),
        "controls": listed(one.label for one in benchmark.controls),
    }
    sentences = [benchmark.description, *clauses("asked", answers, **values)]
    prompts = prompts_among(answers, others)
    if prompts:
        sentences.append(_prompts(answers, prompts))
    rest = [other for other in others if other not in prompts]
    if rest:
        labels = "; ".join(other.full_label for other in rest[:3])
        more = f"; and {len(rest) - 3} more" if len(rest) > 3 else ""
        nouns = {words_of(other.benchmark).items for other in rest}
        items = nouns.pop() if len(nouns) == 1 else "items"
        sentences.append(f"Other {items}, reported separately: {labels}{more}.")
    return sentences


def _prompts(answers: AnswerSet, prompts: Sequence[AnswerSet]) -> str:
    """Describe the other prompts in one sentence, with the range of their differences."""
    names = [other.prompt for other in prompts]
    which = listed(names) if len(names) <= 5 else f"{len(names)} prompts"
    said = f"Also with {'another prompt' if len(prompts) == 1 else 'other prompts'}: {which}."
    pairs = [pair for other in prompts for pair in other.pairs]
    known = [gap.estimate for pair in pairs if (gap := pair.gap).known]
    differences = (
        f"{span_of(known, answers.kind, signed=True)} {answers.kind.unit}" if known else ""
    )
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
