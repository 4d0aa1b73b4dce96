"""How much of the neutral text's clinical content a benchmark's variants keep."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fairstats.benchmarks.declaration import NEUTRALIZED, Benchmark
from fairstats.benchmarks.vignette_items import Item, Vignettes
from fairstats.vignettes.tables import (
    findings_frame,
    flags_frame,
    measures_frame,
    pair_means,
    pair_shares,
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
from fairstats.vignettes.text.drugs_and_findings import drugs

#: Shares of the neutral text's numbers, drugs and findings that a variant keeps; whether it asks a
#: question; the number of its new quantities.
CONTENT_MEASURES = (
    "numbers_kept",
    "drugs_kept",
    "findings_kept",
    "question_asked",
    "new_quantities",
)
_ASPECT = "content"


def content_measures(vignettes: Vignettes) -> pd.DataFrame:
    """Measure how much of the neutral text's clinical content each variant keeps.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.tables.MEASURE_COLUMNS`; measures in `CONTENT_MEASURES`. The
        shares have no row if the neutral text has no number, drug or finding, and
        ``question_asked`` has none if it asks no question.

    Notes
    -----
    `fairstats.vignettes.text.clinical_content.compare_content` states the rules.
    """
    rows = (
        (item.item_id, attribute, group, name, value)
        for item, attribute, group, found in _compared(vignettes)
        for name, value in _values(found)
    )
    return measures_frame(vignettes.benchmark.name, rows)


def content_findings(
    measures: pd.DataFrame, benchmark: Benchmark, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Estimate how many variants keep the clinical content, by group, and the pairs' differences.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.tables.FINDING_COLUMNS`, aspect ``content``. Quantity ``share of
        variants``: those that keep all numbers and drugs (``numbers_kept``, ``drugs_kept``), that
        have no new quantity (``no_new_quantity``), and that ask a question (``question_asked``).
        For ``findings_kept``, the ``mean`` of the shares. For each pair, ``first minus second``.
    """
    # A missing word is usually reworded, so the mean share of findings is more informative.
    exact = [name for name in CONTENT_MEASURES if name != "findings_kept"]
    whole = measures[measures["measure"].isin(exact)]
    counts = whole["measure"] == "new_quantities"
    kept = whole["value"].where(~counts, 1.0 - whole["value"]).ge(1.0)
    measure = whole["measure"].replace("new_quantities", "no_new_quantity")
    holds = whole.assign(value=kept.astype("float64"), measure=measure)
    rows = [
        *pair_shares(holds, benchmark, aspect=_ASPECT, alpha=alpha),
        *pair_means(
            measures, benchmark, ["findings_kept"], aspect=_ASPECT, shares=True, alpha=alpha
        ),
    ]
    return findings_frame(rows)


def content_flags(vignettes: Vignettes) -> pd.DataFrame:
    """Return each error of each variant, for a person to check.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.tables.FLAG_COLUMNS`, aspect ``content``. ``flag`` is one of
        `fairstats.vignettes.text.clinical_content.PROBLEM_KINDS`; ``detail`` contains words of the
        texts. For a new drug, or a statement in place of the question, it gives the options that
        are named.

    Notes
    -----
    Changed negations are no flag. On the released FairMedQA items, 12 were reviewed and none was
    real. Of 185 planted ones, 77 were detected.
    """
    return flags_frame(
        {
            "aspect": _ASPECT,
            "item_id": item.item_id,
            "attribute": attribute,
            "group": group,
            "flag": problem.kind,
            "detail": _detail(item, problem),
        }
        for item, attribute, group, found in _compared(vignettes)
        for problem in found.problems
        if problem.kind != NEGATION_CHANGED
    )


def _compared(vignettes: Vignettes) -> Iterator[tuple[Item, str, str, ContentComparison]]:
    """Return every variant of every attribute, compared with its neutral text."""
    neutral = {
        item.item_id: content_of(body(item.variants[NEUTRALIZED])) for item in vignettes.items
    }
    for item, attribute, group, text in vignettes.variants():
        content = neutral[item.item_id]
        found = compare_content(item.variants[NEUTRALIZED], text, neutral_content=content)
        yield item, attribute, group, found


def _values(found: ContentComparison) -> Iterator[tuple[str, float]]:
    for name, kept, of in (
        ("numbers_kept", found.numbers_kept, found.numbers),
        ("drugs_kept", found.drugs_kept, found.drugs),
        ("findings_kept", found.findings_kept, found.findings),
    ):
        if of:
            yield name, kept / of
    if found.question_asked is not None:
        yield "question_asked", float(found.question_asked)
    yield "new_quantities", float(found.new_quantities)


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
