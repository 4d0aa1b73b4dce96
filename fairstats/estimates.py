"""The estimates table, built metric by metric from outcome counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks import BASELINE
from fairstats.bounds import disparity_bounds, mcnemar_bounds, pair_bounds
from fairstats.counts import PAIR_COLUMNS, UNIT_COLUMNS
from fairstats.inference.mcnemar import mcnemar
from fairstats.metrics.accuracy import (
    accuracy,
    accuracy_difference,
    estimate_proportion,
    proportion,
)
from fairstats.metrics.cfr import cfr
from fairstats.metrics.cohens_h import cohens_h
from fairstats.metrics.disparity import (
    absolute_interval,
    demographic_parity,
    equal_opportunity,
)
from fairstats.missing import CountingPolicy, PairedCounts, apply_policy, missing_per_group
from fairstats.results import Estimate

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
    "n10",
    "n01",
    "n_missing_a",
    "n_missing_b",
    "missing",
    "verdict",
    "method_note",
)
_WHOLE = {"n", "n10", "n01", "n_missing_a", "n_missing_b"}
_NUMBER = {"estimate", "ci_low", "ci_high", "ci_level", "statistic", "p_value", "p_adjusted"}

_BOUNDS_NOTE = "lowest and highest value over all fill-ins; no sampling error"

#: The metrics in the order they stand in for one unit.
METRICS = (
    "accuracy_a",
    "accuracy_b",
    "accuracy_difference",
    "ad",
    "cfr",
    "cohens_h",
    "mcnemar",
    "both_correct",
    "only_a_correct",
    "only_b_correct",
    "neither_correct",
    "missing_difference",
    "dp",
    "eo",
)


def counted_tables(
    counts: pd.DataFrame, patterns: pd.DataFrame, missing: CountingPolicy, alpha: float
) -> list[pd.DataFrame]:
    """The estimates of one benchmark under a policy that gives counts.

    Parameters
    ----------
    counts : pandas.DataFrame
        The pairs' outcome counts, from `fairstats.counts.pair_counts`.
    patterns : pandas.DataFrame
        The joint outcome patterns, from `fairstats.counts.fold_outcomes`.
    missing : {"available", "complete", "incorrect"}
        The policy.
    alpha : float
        1 − confidence level.

    Returns
    -------
    list of pandas.DataFrame
        One a metric, with some of the columns `ESTIMATE_COLUMNS`.
    """
    paired = apply_policy(counts, missing)
    own = proportion(paired.correct_a, paired.n_a) - proportion(paired.correct_b, paired.n_b)
    difference = accuracy_difference(paired.n10, paired.n01, paired.n, estimate=own, alpha=alpha)
    note = np.where(
        (paired.n_a != paired.n) | (paired.n_b != paired.n),
        "each group's own answers; interval and test over the pairs with both",
        "",
    )
    tables = [
        _table(counts, "accuracy_a", accuracy(paired.correct_a, paired.n_a, alpha=alpha)),
        _table(counts, "accuracy_b", accuracy(paired.correct_b, paired.n_b, alpha=alpha)),
        _table(counts, "accuracy_difference", difference, paired, note),
        _table(counts, "ad", _absolute(difference), paired, note),
        _table(counts, "cfr", cfr(paired.same, paired.n, alpha=alpha)),
        _table(counts, "cohens_h", cohens_h(paired, alpha=alpha), paired, note),
    ]
    for metric, cell in {
        "both_correct": paired.n11,
        "only_a_correct": paired.n10,
        "only_b_correct": paired.n01,
        "neither_correct": paired.n00,
    }.items():
        tables.append(_table(counts, metric, estimate_proportion(cell, paired.n, alpha=alpha)))
    for method in ("midp", "exact"):
        result = mcnemar(paired.n10, paired.n01, method=method)
        table = _table(counts, "mcnemar", None, paired)
        tables.append(
            table.assign(
                estimate=accuracy_difference(paired.n10, paired.n01, paired.n).estimate,
                n=paired.n,
                statistic=result.statistic,
                p_value=result.p_value,
                test=f"mcnemar {method}",
            )
        )
    return [*tables, _missing_table(counts, alpha), _disparity_table(patterns, missing, alpha)]


def _missing_table(counts: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Does one group go unanswered more often? The same test, on the missing flags."""
    only_a = (counts["nx1"] + counts["nx0"]).to_numpy(np.int64)
    only_b = (counts["n1x"] + counts["n0x"]).to_numpy(np.int64)
    n = counts[[c for c in counts if c[0] == "n"]].sum(axis=1).to_numpy(np.int64)
    result = mcnemar(only_a, only_b)
    table = _table(
        counts, "missing_difference", accuracy_difference(only_a, only_b, n, alpha=alpha)
    )
    return table.assign(
        n10=only_a,
        n01=only_b,
        statistic=result.statistic,
        p_value=result.p_value,
        test="mcnemar midp",
        method_note="share of missing answers, a minus b; n10: only a missing",
    )


def bounds_tables(counts: pd.DataFrame, patterns: pd.DataFrame, alpha: float) -> list[pd.DataFrame]:
    """The ranges of one benchmark's figures over all fill-ins of missing answers.

    Parameters and result as for `counted_tables`; alpha is for the test on the missing flags.
    """
    n = counts[[c for c in counts if c[0] == "n"]].sum(axis=1).to_numpy(np.int64)
    tables = []
    for metric, (low, high) in pair_bounds(counts).items():
        table = _table(counts, metric, None)
        tables.append(
            table.assign(
                # A range of one value is that value; of several, none is the estimate.
                estimate=np.where(low == high, low, np.nan),
                ci_low=low,
                ci_high=high,
                ci_method="bounds",
                n=n,
                method_note=_BOUNDS_NOTE,
            )
        )
    for method in ("midp", "exact"):
        lowest, highest = mcnemar_bounds(counts, method=method)
        table = _table(counts, "mcnemar", None)
        tables.append(
            table.assign(
                p_value=highest,
                test=f"mcnemar {method}",
                n=n,
                n10=counts["n10"],
                n01=counts["n01"],
                method_note=[f"highest p over all fill-ins; the lowest is {p:.4g}" for p in lowest],
            )
        )
    return [*tables, _missing_table(counts, alpha), _disparity_bounds_table(patterns)]


def _disparity_table(patterns: pd.DataFrame, missing: CountingPolicy, alpha: float) -> pd.DataFrame:
    def row(outcomes: pd.DataFrame, metric: str) -> dict[str, Any]:
        compute = demographic_parity if metric == "dp" else equal_opportunity
        result = compute(outcomes, missing=missing, alpha=alpha)
        return {
            "estimate": result.estimate,
            "ci_low": result.ci_low,
            "ci_high": result.ci_high,
            "ci_level": 1 - alpha,
            "ci_method": result.ci_method,
            "n": result.n,
            "method_note": "a range is never negative; not a test of 0",
        }

    return _over_attributes(patterns, row)


def _disparity_bounds_table(patterns: pd.DataFrame) -> pd.DataFrame:
    def row(outcomes: pd.DataFrame, metric: str) -> dict[str, Any]:
        low, high = disparity_bounds(outcomes, answerable_only=metric == "eo")
        return {
            "estimate": low if low == high else np.nan,
            "ci_low": low,
            "ci_high": high,
            "ci_method": "bounds",
            "n": int(outcomes["n"].sum()),
            "method_note": _BOUNDS_NOTE,
        }

    return _over_attributes(patterns, row)


def _over_attributes(
    patterns: pd.DataFrame, row: Callable[[pd.DataFrame, str], dict[str, Any]]
) -> pd.DataFrame:
    """DP and EO of each demographic attribute of each answer set."""
    keys = [*UNIT_COLUMNS, "attribute"]
    groups = patterns[patterns["attribute"] != BASELINE].groupby(keys, sort=False)
    rows = [
        dict(zip(keys, unit, strict=True)) | {"metric": metric} | row(outcomes, metric)
        for unit, outcomes in groups
        for metric in ("dp", "eo")
    ]
    return pd.DataFrame(rows, columns=None if rows else [*keys, "metric"])


def _table(
    counts: pd.DataFrame,
    metric: str,
    estimate: Estimate | None,
    paired: PairedCounts | None = None,
    note: Any = "",
) -> pd.DataFrame:
    missing_a, missing_b = missing_per_group(counts)
    table = counts[list(PAIR_COLUMNS)].assign(
        metric=metric, n_missing_a=missing_a, n_missing_b=missing_b, method_note=note
    )
    if estimate is not None:
        table = table.assign(**estimate.to_frame())
    if paired is not None:
        table = table.assign(n10=paired.n10, n01=paired.n01)
    return table


def _absolute(difference: Estimate) -> Estimate:
    limits = [
        absolute_interval(low, high)
        for low, high in zip(difference.ci_low, difference.ci_high, strict=True)
    ]
    low, high = (np.array(side) for side in zip(*limits, strict=True))
    methods = np.broadcast_to(difference.ci_method, low.shape)
    method = np.array([f"{text}, absolute" for text in methods])
    return Estimate(
        np.abs(difference.estimate), low, high, difference.ci_level, method, difference.n
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
