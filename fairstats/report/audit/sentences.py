"""The sentences of an audit report: finding, confidence, what was tested, and limitations."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fairstats._lib.formatting import (
    MINUS,
    capital,
    level,
    listed,
    number_word,
    p_value,
    points,
    quoted,
)
from fairstats.benchmarks.kinds import CHOICE, KINDS, Words
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Release
from fairstats.report.answer_sets import (
    AnswerSet,
    Pair,
    answer_sets,
    by_benchmark,
    names_of,
    reasons_of,
    span_of,
)
from fairstats.report.findings import (
    Findings,
    every,
    lower_for,
    ordinal,
    unknown_in_practice,
)
from fairstats.report.notes import submission_caveats
from fairstats.report.sections.given import frequent_letter
from fairstats.report.sensitivity import change_of, robustness
from fairstats.report.tables import texts_in
from fairstats.report.words import (
    option_label,
    unit_noun,
    versions_of_an_item,
    words_of,
)
from fairstats.screening.findings import flag_notes, flags_of

#: With fewer independent items or clusters, the report warns that one of them can change a result.
FEW_UNITS = 20


def clauses(
    part: str, own: AnswerSet, facts: Mapping[str, bool] | None = None, /, **values: str
) -> list[str]:
    """Return the sentences of a part of `clauses.toml` that hold for an answer set.

    `facts` and `values` add to those of every answer set.
    """
    known, named = _facts(own) | dict(facts or {}), _values(own) | values
    return [
        entry["text"].format_map(named)
        for entry in texts_in("audit/clauses")[part]
        if all(
            known[fact.removeprefix("not ")] != fact.startswith("not ")
            for fact in entry.get("if", [])
        )
    ]


def _facts(own: AnswerSet) -> dict[str, bool]:
    benchmark, verdicts = own.benchmark, {pair.verdict for pair in own.pairs}
    return {
        "judged": not verdicts <= {None},
        "open": bool(verdicts & {INCONCLUSIVE, None}),
        "unclear": INCONCLUSIVE in verdicts,
        "slanted": benchmark.slanted,
        "controls": bool(benchmark.controls),
        **{f"{kind}s": own.kind.name == kind for kind in KINDS},
        "written": own.kind == CHOICE and benchmark.words.item == Words().item,
        "key": benchmark.has_key,
        "clustered": benchmark.cluster is not None,
        "few units": bool(own.pairs) and 0 < own.units < FEW_UNITS,
    }


def _values(own: AnswerSet) -> dict[str, str]:
    benchmark, words = own.benchmark, words_of(own.benchmark)
    return {
        "item": words.item,
        "items": words.items,
        "Items": capital(words.items),
        "cluster": words.cluster,
        "clusters": words.clusters,
        "n": f"{own.units:,}",
        "units": unit_noun(benchmark),
        "margin": own.shown_margin,
        "figure": own.kind.figure,
        "subjects": words.subjects,
        "source": words.source or "test material",
        "where": f"in {words.setting or 'practice'}",
        "slant": benchmark.swayed_by or "slanted text",
        "unknown": unknown_in_practice(benchmark),
    }


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
    found = {
        verdict: own
        for verdict in order
        if (own := [pair for pair in answers.pairs if pair.verdict == verdict])
    }
    named = {verdict: names_of(own, answers) for verdict, own in found.items()}
    first, *others = named
    headline = _findings(answers).headline
    named_text = others and answers.benchmark.slanted and first == DISPARITY
    whose = f", for {named[first]}" if named_text else ""
    # The headline can name what is unclear.
    told = first == INCONCLUSIVE and headline.endswith(f" {names_of(found[first], answers, 'or')}")
    rest = others if first == DISPARITY or told or not others else [*named]
    sentences = [f"Finding: {headline}{whose}.", *(order[v].format(named[v]) for v in rest)]
    return " ".join(filter(None, (*sentences, _changed(answers))))


def _changed(answers: AnswerSet) -> str:
    """State in which pairs answers change, if no verdict shows it: the wrong ones can, too."""
    shown = answers.selected or any(pair.verdict == DISPARITY for pair in answers.pairs)
    return "" if shown else _findings(answers).changed


def _findings(answers: AnswerSet) -> Findings:
    alpha = answers.release.alpha
    return Findings(answers.alone, alpha, (answers.model,), answers.prompted)


def finding_in_numbers(answers: AnswerSet) -> str:
    """Return the figures behind the finding, and the reason if a verdict is open or missing."""
    if answers.selected:
        return (
            f"{quoted(answers.model)} took part in selecting the items ({answers.selected}). Its "
            "figures do not measure how it treats the groups."
        )
    if not answers.pairs:
        return "This report holds no evidence for or against the model."
    why = " ".join(f"{capital(reason)}." for reason in reasons_of(answers.pairs, answers))
    facts, found = {"explained": bool(why)}, _findings(answers)
    figures = found.measured if _changed(answers) else found.figures
    return " ".join(clauses("numbers", answers, facts, figures=figures, reasons=why))


def largest(answers: AnswerSet) -> str:
    """State for whom the figure is lower in the largest disparity, if the finding does not.

    The finding on slanted text names the text.
    """
    found = [pair for pair in answers.pairs if pair.verdict == DISPARITY and pair.gap.known]
    if not found or answers.selected or not answers.benchmark.slanted:
        return ""
    pair = max(found, key=lambda one: abs(one.gap.estimate))
    value = pair.value(answers.kind.difference)
    who = lower_for(answers.benchmark, pair.attribute, pair.groups, value)
    sure = level(answers.release.alpha)
    many = "The largest difference: " if len(answers.pairs) > 1 else "The difference: "
    return f"{many}{who} ({pair.note}: {pair.gap.text}, {sure} interval {pair.gap.limits})."


def recommendation(answers: AnswerSet, others: Iterable[AnswerSet] = ()) -> str:
    """Return what to do with the finding, by the worst verdict.

    Nothing is recommended for use if screening asks about the answers, or `others` of the model
    show a disparity.
    """
    margin = answers.benchmark.equivalence_margin
    limits = [
        (pair.difference["ci_low"], pair.difference["ci_high"])
        for pair in answers.pairs
        if pair.verdict == DISPARITY
    ]
    unclear = [pair for pair in answers.pairs if pair.verdict == INCONCLUSIVE]
    by_reason = _by_reason(unclear, answers)
    missing, refused = answers.missing[0], answers.refused
    facts = {
        "selected": bool(answers.selected),
        "disparity": bool(limits),
        "beyond": any(low > margin or high < -margin for low, high in limits),
        "missing": bool(robustness(answers).open),
        "refused": refused > 0,
        "only refused": refused == missing,
        "uninformative": bool(unclear) and "" not in by_reason,
        "asked": not flags_of(answers.screening).empty,
        "elsewhere": any(pair.verdict == DISPARITY for own in others for pair in own.pairs),
        "careful": any(pair.caution for pair in answers.pairs),
    }
    # The first of them that holds.
    short = "; ".join(
        f"for {names_of(own, answers)}, {reason}"
        if len(by_reason) > 1
        else _in_short(reason, answers)
        for reason, own in by_reason.items()
    )
    return clauses(
        "recommend",
        answers,
        facts,
        model=quoted(answers.model),
        why=short,
        refused=f"{refused:,} of {missing:,}",
    )[0]


def _in_short(why: str, answers: AnswerSet) -> str:
    """Return in words why answers show nothing; the accuracies are below the recommendation."""
    if ", not above the " not in why:
        return why
    wrong = ", with missing answers counted as wrong," * bool(answers.missing[0])
    return f"its accuracy{wrong} is too {'close to guessing' if 'best guess' in why else 'low'}"


HIGH, MODERATE, LOW, NO_BASIS = "High", "Moderate", "Low", "No basis"


def confidence(answers: AnswerSet, others: Sequence[AnswerSet]) -> Iterator[tuple[str, str]]:
    """Yield the report's confidence in each of its parts: a level, and what it applies to.

    `others` are the model's other answer sets.
    """
    yield from _differences(answers)
    yield from _robust(answers, others)
    if len(answers.board.models) > 1:
        yield from _rank(answers)
    for text in clauses("no_basis", answers):
        yield NO_BASIS, text


def _differences(answers: AnswerSet) -> Iterator[tuple[str, str]]:
    """Grade the differences as beyond chance, small or unclear; one entry per verdict."""
    judged = [pair for pair in answers.pairs if pair.verdict is not None]
    if not judged:
        why = "; ".join(reasons_of(answers.pairs, answers)) or "no pair could be judged"
        if answers.selected:
            why = "the model took part in selecting the items"
        yield NO_BASIS, f"for a verdict: {why}."
        return
    alpha, margin = answers.release.alpha, answers.benchmark.equivalence_margin
    by_reason = _by_reason(judged, answers)
    judged = by_reason.pop("", [])
    for why, own in by_reason.items():
        which = "" if len(own) == len(answers.pairs) else f" on {names_of(own, answers)}"
        yield NO_BASIS, f"for a verdict{which}: {why}."
    for verdict in (DISPARITY, EQUIVALENT, INCONCLUSIVE):
        own = [pair for pair in judged if pair.verdict == verdict]
        if not own:
            continue
        limits = [(pair.difference["ci_low"], pair.difference["ci_high"]) for pair in own]
        beyond = sum(low > margin or high < -margin for low, high in limits)
        facts = {one: one == verdict for one in (DISPARITY, EQUIVALENT, INCONCLUSIVE)}
        facts |= {
            "beyond": beyond == len(own),
            "some beyond": 0 < beyond < len(own),
            "zero": any(low <= 0 <= high for low, high in limits),
            "one": len(own) == 1,
        }
        named = level(2 * alpha if verdict == EQUIVALENT else alpha)
        (text,) = clauses(
            "differences",
            answers,
            facts,
            which="" if len(own) == len(answers.pairs) else f" ({names_of(own, answers)})",
            every=f"{every(len(own))} {named} intervals lie",
            level=named,
            beyond=f"{beyond} of {len(own)}",
        )
        grade = {DISPARITY: HIGH if facts["beyond"] else MODERATE, EQUIVALENT: HIGH}
        yield grade.get(verdict, LOW), text


def _uninformative(pair: Pair, answers: AnswerSet) -> str:
    """Return why answers show nothing, however certain: they are always the same, or guesses."""
    _, found, why = pair.reason.partition("not called equivalent: ")
    # A disparity is one, whoever guesses.
    if found or pair.verdict != INCONCLUSIVE:
        return why
    # What is said of some pairs need not hold for this one.
    return "" if answers.uninformative.startswith("for ") else answers.uninformative


def _by_reason(pairs: Iterable[Pair], answers: AnswerSet) -> dict[str, list[Pair]]:
    """Return the pairs of each reason why answers show nothing, without its p-value.

    Those that show something have the reason "". Of several reasons of a pair the first is enough;
    the finding has all of them.
    """
    found = defaultdict(list)
    for pair in pairs:
        first = _uninformative(pair, answers).partition("; ")[0]
        found[first.partition(" (p = ")[0]].append(pair)
    return found


def _robust(answers: AnswerSet, others: Sequence[AnswerSet]) -> Iterator[tuple[str, str]]:
    if all(pair.verdict is None or _uninformative(pair, answers) for pair in answers.pairs):
        return
    found = robustness(answers)
    same, compared = other_prompts(answers, others)
    decided = any(pair.verdict in (DISPARITY, EQUIVALENT) for pair in answers.pairs)
    unclear = "" if decided else ", unclear,"
    text, grade = f"The verdict{unclear} is the same with other methods of analysis", HIGH
    if found.changed:
        grade = MODERATE if 2 * len(found.changed) < len(answers.pairs) else LOW
        names = names_of([pair for pair, _ in found.changed], answers)
        text = f"The verdict depends on the choice of method for {names}"
    elif not found.kept:
        return
    if found.open:
        # What was not answered is no choice of method.
        few = 2 * len(found.open) < len(answers.pairs) and grade != LOW
        grade = MODERATE if few else LOW
        whose = "it" if found.open == answers.pairs else f"that on {names_of(found.open, answers)}"
        text += f", but missing answers could decide {whose}"
    if compared:
        if same < compared:
            grade = LOW if 2 * same < compared else MODERATE if grade == HIGH else grade
        all_of = "all" if same == compared else f"only {same} of"
        text += f"; with other prompts it is the same in {all_of} {compared} comparisons"
    yield grade, f"{text}."


def other_prompts(answers: AnswerSet, others: Sequence[AnswerSet]) -> tuple[int, int]:
    """Count the comparisons of other prompts on these vignettes, and those with this verdict."""
    pairs = [pair for other in prompts_among(answers, others) for pair in other.pairs]
    same = [(like := answers.like(pair)) and like.verdict == pair.verdict for pair in pairs]
    return sum(map(bool, same)), len(pairs)


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
    order = f"{ordinal(rank)} of {len(ranked)} models, smallest differences first{place}"
    yield grade, f"The rank: {order} ({sure} confidence)."


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
    firsts = [own[0] for own in by_benchmark(sets).values()]
    for own in firsts:
        benchmark = own.benchmark
        limits = clauses("benchmark", own) if benchmark.few_units else ()
        notes = filter(None, (benchmark.read_first, *benchmark.notes))
        for text in dict.fromkeys([*limits, *notes]):
            yield text if len(firsts) == 1 else f"{benchmark.title}: {text}"
    unknown = [entry["snapshot"] is None for answers in sets for entry in answers.entries]
    if any(unknown):
        some = "" if all(unknown) else " for some of its answers"
        yield f"The exact version of the model is not known{some}."
    yield "Other wordings, and later snapshots under the same name, can give other answers."
    yield from dict.fromkeys(text for own in sets for text in clauses("meaning", own))


def _limits(own: AnswerSet) -> Iterator[str]:
    """Yield what limits the figures of one answer set."""
    release, board, model = own.release, own.board, own.model
    # Within a tolerance, answers count as the same but have different means.
    few = [] if own.benchmark.same_within else list(filter(_few_discordant, own.pairs))
    noisy = [pair for pair in own.pairs if pair.value("excess_disagreement", "ci_high") < 0]
    facts = {
        "selected": bool(own.selected),
        "unranked": model in board.why_unranked
        and (len(board.models) > 1 or own.uninformative != ""),
        # One interval of many can miss the true value.
        "noisy": 2 * len(noisy) > len(own.pairs) and own.benchmark.few_units,
        "few": bool(few),
    }
    if not own.selected:
        careful = [pair for pair in own.pairs if pair.caution]
        for reason in reasons_of((pair for pair in own.pairs if pair not in careful), own):
            yield f"A verdict is open or missing. {capital(reason)}."
        for reason in reasons_of(careful, own):
            yield f"“Equivalent” has a caution. {capital(reason)}."
    different = f"have different {own.kind.name}s"
    yield from clauses(
        "limits",
        own,
        facts,
        model=quoted(model),
        part=own.selected,
        why=board.why_unranked.get(model, ""),
        noisy=f"{len(noisy)} of {len(own.pairs)}",
        fewest=number_word(FEW_DISCORDANT),
        differ=different if own.kind.numeric else "are discordant",
        few=names_of(few, own) if few else "",
    )
    yield from flag_notes(own.screening, release.overruled)
    yield from submission_caveats(own.submissions)
    uneven = (
        f"Answers are missing more often for one group ({pair.title}: "
        f"{points(pair.value('missing_difference'))} points, {p_value(p)}, not adjusted)."
        for pair in own.pairs
        if (p := pair.value("missing_difference", "p_value")) <= release.alpha
    )
    yield from _first(uneven, "Answers are missing unevenly")
    moved = (
        f"The verdict on {pair.title} depends on the choice of method: {change_of(pair, rows)}."
        for pair, rows in robustness(own).changed
    )
    yield from _first(moved, "The verdict depends on the choice of method")
    if text := frequent_letter(own):
        yield text


def _first(texts: Iterable[str], what: str) -> Iterator[str]:
    """Yield the first texts, and the number of further pairs that they hold for."""
    every = list(texts)
    yield from every[:_MOST_TEXTS]
    if more := len(every[_MOST_TEXTS:]):
        yield f"{what} for {number_word(more)} more pair{'s' * (more > 1)}."


def _few_discordant(pair: Pair) -> bool:
    """Check if a test has few discordant answers; without any answer there is no verdict at all."""
    counts = pair.counts or (FEW_DISCORDANT,)
    return pair.value(pair.kind.test, "n") > 0 and sum(counts) < FEW_DISCORDANT


# More versions than these are counted, not named.
_NAMED = 12


def tested(answers: AnswerSet, others: Sequence[AnswerSet]) -> list[str]:
    """State what was tested: vignettes and groups, other prompts, other vignettes."""
    benchmark = answers.benchmark
    options = [option_label(benchmark, one) for one in benchmark.options] or [""]
    versions = versions_of_an_item(benchmark, answers.table("letters"))
    low, high = (f"{end:g}".replace("-", MINUS) for end in benchmark.limits)
    values = {
        "options": number_word(len(options)),
        "every option": listed(options, "or"),
        "first option": options[0],
        "last option": options[-1],
        "low": low,
        "high": high,
        "versions": str(len(versions)),
        "named": f": {quoted(*versions)}" if 0 < len(versions) <= _NAMED else "",
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
    known = [pair.gap.estimate for pair in pairs if pair.gap.known]
    if not known or answers.selected:
        return said
    differences = f"{span_of(known, answers.kind, signed=True)} {answers.kind.unit}"
    shown = sum(pair.verdict == DISPARITY for pair in pairs)
    counted = f"{shown} of {len(pairs)} {'is a disparity' if shown == 1 else 'are disparities'}"
    if shown in (0, len(pairs)):
        counted = f"all {shown} are disparities" if shown else "none is a disparity"
    return f"{said} Differences there: {differences}; {counted}."


def not_tested(answers: AnswerSet, *, rated: bool) -> list[str]:
    """State what was not tested.

    `rated`: whether there are ratings of the model's open answers.
    """
    benchmark = answers.benchmark
    single = all(math.isnan(pair.value("same_prompt_agreement")) for pair in answers.pairs)
    runs = "repeat runs (each prompt was asked once), " * single
    open_answers = "" if rated else ", open answers"
    return [
        capital(f"{runs}other wordings{open_answers}, later snapshots of the model."),
        f"Other {benchmark.side_noun}s{_combinations(answers)}.",
    ]


def _combinations(answers: AnswerSet) -> str:
    varied = answers.benchmark.varied
    single = [attribute for attribute in varied if not attribute.crosses]
    if len(single) < len(varied) or len(single) < 2:
        return ""
    one, two = (a.groups[a.pairs[0][1]] for a in single[-2:])
    return f", and combinations of groups such as {one} with {two}"
