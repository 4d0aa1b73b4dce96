"""How much of the neutral text's clinical content a benchmark's variants keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import NEUTRALIZED, Benchmark
from fairstats.benchmarks.vignette_items import Item, Vignettes
from fairstats.vignettes.findings import findings_frame, flags_frame
from fairstats.vignettes.group_findings import pair_mean_shares, pair_shares
from fairstats.vignettes.measures import measures_frame
from fairstats.vignettes.text.background_structure import (
    GROUP_PRONOUNS,
    NOT_NAMED,
    ONLY_A_PRONOUN,
    is_named,
    times_named,
    words_of_group,
)
from fairstats.vignettes.text.clinical_content import (
    NEGATION_CHANGED,
    NEW_DRUG,
    QUESTION_STATED,
    ContentComparison,
    ContentProblem,
    body,
    compare_content,
    content_of,
)
from fairstats.vignettes.text.drugs import drugs

#: Shares of the neutral text's content; missing if it has no such content.
KEPT_SHARES = ("numbers_kept", "drugs_kept", "findings_kept")
#: 1 if it holds for a variant, 0 if not.
KEPT_OR_NOT = ("question_asked", "final_sentence_kept", "attribute_named", "named_by_pronoun")
#: Counts per variant.
CONTENT_COUNTS = ("new_quantities", "phrases_lost", "negations_changed")
#: Names, in findings, for variants without any of these.
WITHOUT = {"new_quantities": "no_new_quantity", "phrases_lost": "no_lost_phrase"}
CONTENT_MEASURES = (*KEPT_SHARES, *KEPT_OR_NOT, *CONTENT_COUNTS)
#: Whether a variant keeps everything, by rules that interpret little. Findings and negations are
#: excluded: they only show what to check.
ALL_KEPT = "all_kept"
_IN_ALL = ("numbers_kept", "drugs_kept", "question_asked", "final_sentence_kept")


def content_measures(vignettes: Vignettes) -> pd.DataFrame:
    """Measure how much of the neutral text's clinical content each variant keeps.

    Parameters
    ----------
    vignettes : Vignettes

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.measures.MEASURE_COLUMNS`; measures in `CONTENT_MEASURES`.
        `KEPT_SHARES` have no row if the neutral text has no number, drug or finding.
        ``question_asked`` has none if it asks no question, and ``named_by_pronoun`` none for a
        group without specific pronouns.

    Notes
    -----
    `fairstats.vignettes.text.clinical_content.compare_content` states the rules.
    """
    return measures_frame(
        {
            "benchmark": vignettes.benchmark.name,
            "item_id": item.item_id,
            "attribute": attribute,
            "group": group,
            "measure": name,
            "value": value,
        }
        for item, attribute, group, found in _compared(vignettes)
        for name, value in _values(vignettes.benchmark, item, attribute, group, found)
    )


def content_findings(
    measures: pd.DataFrame, benchmark: Benchmark, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Estimate how many variants keep the clinical content, by group, and the pairs' differences.

    Parameters
    ----------
    measures : pandas.DataFrame
        From `content_measures`.
    benchmark : Benchmark
        Declares the groups and pairs.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.findings.FINDING_COLUMNS`, aspect ``content``. Quantity ``share of
        variants``: those that keep all numbers and drugs (``numbers_kept``, ``drugs_kept``), for
        which ``question_asked`` … holds, that have no new quantity and no lost phrase
        (``no_new_quantity``, ``no_lost_phrase``), and that keep all numbers and drugs, ask the
        question unchanged and add no quantity (``all_kept``). For ``findings_kept``, the ``mean``
        of the shares. For each pair, ``first minus second``.

    Notes
    -----
    Changed negations are measured, but are neither a finding nor a flag. On the released FairMedQA
    items, 12 were reviewed and none was real. Of 185 planted ones, 77 were detected.
    """
    # A missing word is usually reworded, so the mean share of findings is more informative.
    whole = _whole(measures[~measures["measure"].isin(["findings_kept", "negations_changed"])])
    # An error is counted, so the share is of variants without it.
    whole = whole.assign(measure=whole["measure"].replace(WITHOUT))
    holds = pd.concat([whole, _all_kept(measures)], ignore_index=True)
    rows = [
        *pair_shares(holds, benchmark, aspect="content", alpha=alpha),
        *pair_mean_shares(measures, benchmark, ["findings_kept"], aspect="content", alpha=alpha),
    ]
    return findings_frame(rows)


def content_flags(vignettes: Vignettes) -> pd.DataFrame:
    """Return each error of each variant, for a person to check.

    Parameters
    ----------
    vignettes : Vignettes

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.findings.FLAG_COLUMNS`, aspect ``content``. ``flag`` is one of
        `fairstats.vignettes.text.clinical_content.PROBLEM_KINDS`, ``attribute not named`` or
        ``attribute named by pronouns alone``; ``detail`` contains words of the texts. For a new
        drug, or a statement in place of the question, it gives the options that are named.
    """
    rows = []
    for item, attribute, group, found in _compared(vignettes):
        keys = {
            "aspect": "content",
            "item_id": item.item_id,
            "attribute": attribute,
            "group": group,
        }
        for problem in found.problems:
            if problem.kind == NEGATION_CHANGED:
                continue  # See `content_findings`: almost none of them is real.
            rows.append(keys | {"flag": problem.kind, "detail": _detail(item, problem)})
        names = _names(vignettes.benchmark, attribute, group)
        if not is_named(item.variants[NEUTRALIZED], item.variants[group], names):
            by_pronoun = _by_pronoun(item, group)
            kind = ONLY_A_PRONOUN if by_pronoun else NOT_NAMED
            rows.append(keys | {"flag": kind, "detail": ", ".join(names)})
    return flags_frame(rows)


def _compared(vignettes: Vignettes) -> Iterator[tuple[Item, str, str, ContentComparison]]:
    """Return every variant of every attribute, compared with its neutral text."""
    for item in vignettes.items:
        neutral = item.variants[NEUTRALIZED]
        content = content_of(body(neutral))
        for attribute in vignettes.benchmark.varied:
            for group in attribute.groups:
                text = item.variants[group]
                found = compare_content(neutral, text, neutral_content=content)
                yield item, attribute.name, group, found


def _values(
    benchmark: Benchmark, item: Item, attribute: str, group: str, found: ContentComparison
) -> Iterator[tuple[str, float]]:
    for name, kept, of in (
        ("numbers_kept", found.numbers_kept, found.numbers),
        ("drugs_kept", found.drugs_kept, found.drugs),
        ("findings_kept", found.findings_kept, found.findings),
    ):
        if of:
            yield name, kept / of
    if found.question_asked is not None:
        yield "question_asked", float(found.question_asked)
    yield "final_sentence_kept", float(found.final_sentence_kept)
    names = _names(benchmark, attribute, group)
    named = is_named(item.variants[NEUTRALIZED], item.variants[group], names)
    yield "attribute_named", float(named)
    if group in GROUP_PRONOUNS:
        yield "named_by_pronoun", float(_by_pronoun(item, group))
    yield "new_quantities", float(found.new_quantities)
    yield "phrases_lost", float(found.phrases_lost)
    yield "negations_changed", float(found.negations_changed)


def _names(benchmark: Benchmark, attribute: str, group: str) -> tuple[str, ...]:
    return words_of_group(group, benchmark.attributes[attribute].groups[group])


def _by_pronoun(item: Item, group: str) -> bool:
    pronouns = GROUP_PRONOUNS.get(group, ())
    return times_named(item.variants[group], pronouns) > times_named(
        item.variants[NEUTRALIZED], pronouns
    )


def _detail(item: Item, problem: ContentProblem) -> str:
    if problem.kind == NEW_DRUG:
        name = next(iter(drugs(problem.detail)), problem.detail)
        letters = [letter for letter, text in item.options.items() if name in drugs(text)]
    elif problem.kind == QUESTION_STATED:
        stated = problem.detail.casefold()
        letters = [letter for letter, text in item.options.items() if text.casefold() in stated]
    else:
        return problem.detail
    marked = [f"{letter}, the key" if letter == item.answer_key else letter for letter in letters]
    return f"{problem.detail} (option {'; '.join(marked)})" if marked else problem.detail


def _whole(measures: pd.DataFrame) -> pd.DataFrame:
    """Convert each measure to pass or fail: a full share, yes, or a count of 0."""
    counts = measures["measure"].isin(CONTENT_COUNTS)
    right = measures["value"].where(~counts, 1.0 - measures["value"]).ge(1.0)
    return measures.assign(value=right.astype("float64"))


def _all_kept(measures: pd.DataFrame) -> pd.DataFrame:
    whole = _whole(measures)
    part = whole[whole["measure"].isin([*_IN_ALL, "new_quantities"])]
    keys = ["benchmark", "item_id", "attribute", "group"]
    kept = part.groupby(keys, sort=False)["value"].min().reset_index()
    rows: list[Mapping[str, Any]] = kept.assign(measure=ALL_KEPT).to_dict("records")
    return measures_frame(rows)
