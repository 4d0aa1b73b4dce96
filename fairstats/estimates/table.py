"""The estimates table: its columns, its metrics and their types."""

from __future__ import annotations

import pandas as pd

#: The columns of the estimates table, in order.
ESTIMATE_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "model",
    "snapshot",
    "strategy",
    "attribute",
    "group_a",
    "group_b",
    "metric",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "statistic",
    "p_value",
    "p_adjusted",
    "adjust_method",
    "test",
    "n",
    "n_a",
    "n_b",
    "n10",
    "n01",
    "n_missing_a",
    "n_missing_b",
    "missing",
    "verdict",
    "verdict_reason",
    "method_note",
)
_WHOLE = {"n", "n_a", "n_b", "n10", "n01", "n_missing_a", "n_missing_b"}
_NUMBER = {"estimate", "ci_low", "ci_high", "ci_level", "statistic", "p_value", "p_adjusted"}

#: What is said of every range over fill-ins.
BOUNDS_NOTE = "lowest and highest value over all fill-ins; no sampling error"

#: How the name of the test begins whose adjusted p-value carries the verdict.
PRIMARY_TEST = "mcnemar midp"

#: The metrics of a pair of groups, in the order they stand in for one unit.
PAIR_METRICS = (
    "accuracy_a",
    "accuracy_b",
    "accuracy_difference",
    "ad",
    "cfr",
    "cohens_h",
    "odds_ratio",
    "mcnemar",
    "minimum_detectable_difference",
    "both_correct",
    "only_a_correct",
    "only_b_correct",
    "neither_correct",
    "bowker",
    "stuart_maxwell",
    "missing_difference",
)
#: The metrics of a pair of groups that need several samples of an item, shown after ``cfr``.
SAMPLE_METRICS = ("same_prompt_agreement", "excess_disagreement")
#: The metrics of a whole attribute: the last two of every demographic one, the first two of more
#: than two groups, the third of one that crosses two others.
ATTRIBUTE_METRICS = (
    "accuracy_difference_simultaneous",
    "cochran_q",
    "interaction",
    "dp",
    "eo",
)
_NEXT = PAIR_METRICS.index("cfr") + 1
METRICS = (*PAIR_METRICS[:_NEXT], *SAMPLE_METRICS, *PAIR_METRICS[_NEXT:], *ATTRIBUTE_METRICS)
#: Of these there is a test or a number, but no interval.
WITHOUT_INTERVAL = (
    "mcnemar",
    "minimum_detectable_difference",
    "bowker",
    "stuart_maxwell",
    "cochran_q",
)


def typed(table: pd.DataFrame) -> pd.DataFrame:
    """Every table with all columns and their types, so that joining them guesses nothing."""
    columns = {}
    for name in ESTIMATE_COLUMNS:
        dtype = "float64" if name in _NUMBER else "Int64" if name in _WHOLE else "str"
        values = table[name] if name in table else pd.Series(pd.NA, index=table.index)
        if dtype == "float64":
            values = values.astype("Float64")
        columns[name] = values.astype(dtype)
    return pd.DataFrame(columns)
