"""Accuracy differences for items with variants that both still ask the item's question."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.counts.item_outcomes import item_patterns
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.subset_differences import differences_of
from fairstats.vignettes.findings import findings_frame

#: The measure of whether a variant asks a question, and the two estimates.
MEASURE = "question_asked"
BOTH_ASK = "difference where both variants ask the question"
NOT_BOTH = "difference where a variant does not ask the question"


def differences_by_question(
    answers: pd.DataFrame,
    measures: pd.DataFrame,
    benchmark: Benchmark,
    *,
    versions: Collection[str],
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Return Acc_a − Acc_b of each pair, for items with variants that both ask, and for the others.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers to the benchmark.
    measures : pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`; of these ``question_asked``.
    benchmark : Benchmark
        Declares the pairs.
    versions : collection of str
        The versions with measured text; answers to others are ignored.
    missing, alpha
        As in `fairstats.analyze`.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.findings.FINDING_COLUMNS`, aspect ``remaining disparity``, quantities
        `BOTH_ASK` and `NOT_BOTH`; empty if every variant asks, or no answer is to these versions.

    Notes
    -----
    If a variant lost its question, a reader has to guess it from the options. If it is lost more
    often for one group than for the other, part of a gap in accuracy may be due to that. The two
    estimates use different items, so their difference is not an effect of the question.
    """
    asks = measures[measures["measure"] == MEASURE].dropna(subset="value")
    answers = answers[answers["benchmark_version"].isin(list(versions))]
    if asks["value"].ge(1).all() or answers.empty:
        return findings_frame(())
    policy = missing or benchmark.missing
    patterns = item_patterns(answers, benchmarks={benchmark.name: benchmark})
    rows: list[dict[str, Any]] = []
    for attribute in benchmark.varied:
        for a, b in attribute.pairs:
            own = asks[(asks["attribute"] == attribute.name) & asks["group"].isin([a, b])]
            both = own.groupby("item_id")["value"].agg(["min", "size"])
            both = both.loc[both["size"] == 2, "min"].ge(1)
            pairs = patterns[
                (patterns["attribute"] == attribute.name)
                & (patterns["group_a"] == a)
                & (patterns["group_b"] == b)
            ]
            for quantity, items in ((BOTH_ASK, both[both].index), (NOT_BOTH, both[~both].index)):
                found = differences_of(pairs[pairs["item_id"].isin(items)], policy, alpha)
                for key, row in found.iterrows():
                    unit = dict(zip(PAIR_COLUMNS, key, strict=True))
                    rows.append(
                        unit
                        | {
                            "aspect": "remaining disparity",
                            "measure": MEASURE,
                            "quantity": quantity,
                            "ci_level": 1 - alpha,
                            "note": f"{len(items)} of {len(both)} items",
                        }
                        | row.drop("method_note").dropna().to_dict()
                    )
    return findings_frame(rows)
