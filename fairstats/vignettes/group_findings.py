"""Findings from measures of the variants: a group's mean, and the difference of a pair."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark
from fairstats.inference.differences import MeanDifference, mean_difference
from fairstats.inference.intervals import tango_limits, wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.mcnemar import mcnemar

MEAN = "mean"
GROUP_MINUS_NEUTRAL = "group minus neutral"
PAIR_DIFFERENCE = "first minus second"
SHARE = "share of variants"
#: Replacement for a p-value that underflows, which is not 0.
_SMALLEST = float(np.finfo(np.float64).tiny)


def pair_means(
    measures: pd.DataFrame,
    benchmark: Benchmark,
    largest: Mapping[str, float | None],
    *,
    aspect: str,
    against_neutral: Collection[str] = (),
    alpha: float = 0.05,
) -> Iterator[Mapping[str, Any]]:
    """Return rows of findings on means: each group's, and each pair's difference.

    Parameters
    ----------
    measures : pandas.DataFrame
        Measures that are not per option.
    benchmark : Benchmark
    largest : Mapping[str, float or None]
        Each measure with the largest possible absolute difference of an item; None if unbounded.
    aspect : str
    against_neutral : collection of str
        Measures for which a group's mean is that of the difference from the neutral text.
    alpha : float

    Yields
    ------
    Mapping
        For items that have the measure for everything that is compared.
    """
    for measure, bound in largest.items():
        wide = _wide(measures, measure)
        limit = np.inf if bound is None else bound
        base = {"aspect": aspect, "measure": measure, "benchmark": benchmark.name}
        neutral = _column(wide, BASELINE, NEUTRALIZED)
        for attribute in benchmark.varied:
            keys = base | {"attribute": attribute.name}
            for group in attribute.groups:
                values = _column(wide, attribute.name, group)
                against = measure in against_neutral
                if against:
                    values = values - neutral
                found = mean_difference(values.dropna(), largest=limit, alpha=alpha)
                quantity = GROUP_MINUS_NEUTRAL if against else MEAN
                yield keys | {"quantity": quantity, "group_a": group} | _fields(found)
            for a, b in attribute.pairs:
                values = _column(wide, attribute.name, a) - _column(wide, attribute.name, b)
                found = mean_difference(values.dropna(), largest=limit, alpha=alpha)
                pair = {"quantity": PAIR_DIFFERENCE, "group_a": a, "group_b": b}
                yield keys | pair | _fields(found)


def pair_shares(
    holds: pd.DataFrame, benchmark: Benchmark, *, aspect: str, alpha: float = 0.05
) -> Iterator[Mapping[str, Any]]:
    """Return rows of findings on shares of variants: each group's, and each pair's difference.

    Parameters
    ----------
    holds : pandas.DataFrame
        Measures with value 1 if something holds for a variant, and 0 if not.
    benchmark : Benchmark
    aspect : str
    alpha : float

    Yields
    ------
    Mapping
        Shares have Wilson's intervals; differences have Tango's, with McNemar's mid-p test.
    """
    for measure in dict.fromkeys(holds["measure"]):
        wide = _wide(holds, measure)
        base = {"aspect": aspect, "measure": measure, "benchmark": benchmark.name}
        for attribute in benchmark.varied:
            if attribute.name not in wide.columns.get_level_values(0):
                continue  # E.g. pronouns, which do not identify a race.
            keys = base | {"attribute": attribute.name}
            for group in attribute.groups:
                values = _column(wide, attribute.name, group).dropna()
                n, count = len(values), int(values.sum())
                limits = wilson(count, n, alpha=alpha)
                yield keys | {
                    "quantity": SHARE,
                    "group_a": group,
                    "estimate": count / n if n else np.nan,
                    "ci_low": float(limits.ci_low),
                    "ci_high": float(limits.ci_high),
                    "ci_level": 1 - alpha,
                    "ci_method": "wilson",
                    "n": n,
                }
            for a, b in attribute.pairs:
                one, other = (_column(wide, attribute.name, group) for group in (a, b))
                difference = (one - other).dropna()
                n = len(difference)
                n10, n01 = int((difference > 0).sum()), int((difference < 0).sum())
                low, high = tango_limits(n10, n01, n, alpha=alpha)
                yield keys | {
                    "quantity": PAIR_DIFFERENCE,
                    "group_a": a,
                    "group_b": b,
                    "estimate": (n10 - n01) / n if n else np.nan,
                    "ci_low": float(low),
                    "ci_high": float(high),
                    "ci_level": 1 - alpha,
                    "ci_method": "tango",
                    "p_value": max(float(mcnemar(n10=n10, n01=n01).p_value), _SMALLEST),
                    "test": "mcnemar midp",
                    "n": n,
                }


def pair_mean_shares(
    measures: pd.DataFrame,
    benchmark: Benchmark,
    names: Collection[str],
    *,
    aspect: str,
    alpha: float = 0.05,
) -> Iterator[Mapping[str, Any]]:
    """Return rows of findings on the means of shares in [0, 1], and each pair's difference.

    Parameters
    ----------
    measures : pandas.DataFrame
        Measures that are not per option.
    benchmark : Benchmark
    names : collection of str
        Names of the measures.
    aspect : str
    alpha : float

    Yields
    ------
    Mapping
        Means have the bootstrap interval of `bounded_mean_interval`, without a test. Differences
        use Student's t.
    """
    bounds = dict.fromkeys(names, 1.0)
    for row in pair_means(measures, benchmark, bounds, aspect=aspect, alpha=alpha):
        if row["quantity"] != MEAN:
            yield row
            continue
        wide = _wide(measures, row["measure"])
        values = _column(wide, row["attribute"], row["group_a"]).dropna()
        found = bounded_mean_interval(values, alpha=alpha)
        yield {name: row[name] for name in row if name not in {"p_value", "test"}} | {
            "ci_low": float(found.ci_low),
            "ci_high": float(found.ci_high),
            "ci_method": str(found.method),
        }


def _wide(measures: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one row per item, one column per variant."""
    one = measures[measures["measure"] == measure]
    return one.pivot(index="item_id", columns=["attribute", "group"], values="value")


def _column(wide: pd.DataFrame, attribute: str, group: str) -> pd.Series[float]:
    if (attribute, group) in wide.columns:
        return wide[(attribute, group)]
    return pd.Series(np.nan, index=wide.index, dtype="float64")


def _fields(found: MeanDifference) -> dict[str, Any]:
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "ci_level": found.ci_level,
        "ci_method": found.method,
        "p_value": max(found.p_value, _SMALLEST),
        "test": found.test,
        "n": found.n,
    }
