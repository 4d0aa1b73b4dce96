"""Results of an audit: tables of findings and flags, and estimates by group and pair."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark
from fairstats.inference.differences import mean_difference
from fairstats.inference.intervals import tango_limits
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.mcnemar import mcnemar
from fairstats.metrics.accuracy import estimate_proportion

#: Columns of the table of findings, in order. ``aspect`` is the question (`ASPECTS`), ``measure``
#: the measure, and ``quantity`` the estimate. A row for one group has no ``group_b``. A row for a
#: pair is group a minus group b. A row without a model is about the text alone.
FINDING_COLUMNS = (
    "aspect",
    "measure",
    "quantity",
    "benchmark",
    "benchmark_version",
    "model",
    "strategy",
    "attribute",
    "group_a",
    "group_b",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "p_value",
    "test",
    "n",
    "note",
)
#: Columns of the table of flags, in order: what to check, with the text concerned.
FLAG_COLUMNS = ("aspect", "item_id", "attribute", "group", "flag", "detail")

#: The questions of an audit, in order.
ASPECTS = ("leakage", "added text", "content", "duplicates", "keys", "selection", "variant sets")

MEAN = "mean"
GROUP_MINUS_NEUTRAL = "group minus neutral"
PAIR_DIFFERENCE = "first minus second"
SHARE = "share of variants"

_NUMBERS = ("estimate", "ci_low", "ci_high", "ci_level", "p_value")
_TYPES = dict.fromkeys(_NUMBERS, "float64") | {"n": "int64"}
# A p-value that underflows is not 0.
_SMALLEST = float(np.finfo(np.float64).tiny)

Row = dict[str, Any]


def findings_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of findings as a table; missing texts are empty, missing numbers NaN, `n` 0."""
    blank = {
        name: float("nan") if name in _NUMBERS else 0 if name == "n" else ""
        for name in FINDING_COLUMNS
    }
    table = pd.DataFrame([blank | dict(row) for row in rows], columns=list(FINDING_COLUMNS))
    return table.astype({name: _TYPES.get(name, "str") for name in FINDING_COLUMNS})


def flags_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of flags as a table; missing values are empty."""
    blank = dict.fromkeys(FLAG_COLUMNS, "")
    table = pd.DataFrame([blank | dict(row) for row in rows], columns=list(FLAG_COLUMNS))
    return table.astype("str")


def mean_row(values: npt.ArrayLike, largest: float, alpha: float) -> Row:
    """Return the mean of one number per item, at most `largest` in size, and its test of 0."""
    # Rounding may exceed the possible range.
    clipped = np.clip(np.asarray(values, dtype=np.float64), -largest, largest)
    found = mean_difference(clipped, largest=largest, alpha=alpha)
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


def mean_share_row(shares: npt.ArrayLike, alpha: float) -> Row:
    """Return the mean of one share per item, with the bootstrap's interval and no test."""
    clipped = np.clip(np.asarray(shares, dtype=np.float64), 0.0, 1.0)
    return bounded_mean_interval(clipped, alpha=alpha).to_row()


def share_row(holds: npt.ArrayLike, alpha: float) -> Row:
    """Return the share of items or variants for which something holds, with Wilson's interval."""
    hits = np.asarray(holds, dtype=bool)
    return estimate_proportion(hits.sum(), len(hits), alpha=alpha).to_row()


def pair_means(
    measures: pd.DataFrame,
    benchmark: Benchmark,
    names: Collection[str],
    *,
    aspect: str,
    shares: bool = False,
    against_neutral: Collection[str] = (),
    alpha: float = 0.05,
) -> Iterator[Row]:
    """Return rows of findings on means: each group's, and each pair's difference.

    The group means of the measures in `against_neutral` are those of differences from the neutral
    text. `shares` says that all values are in [0, 1]. Each row is for the items with all values
    that are compared.
    """
    largest = 1.0 if shares else np.inf
    for measure in names:
        wide = _wide(measures, measure)
        for attribute in benchmark.varied:
            keys = {"aspect": aspect, "measure": measure, "benchmark": benchmark.name}
            keys |= {"attribute": attribute.name}
            for group in attribute.groups:
                values = _column(wide, attribute.name, group)
                quantity = MEAN
                if measure in against_neutral:
                    quantity = GROUP_MINUS_NEUTRAL
                    values = values - _column(wide, BASELINE, NEUTRALIZED)
                values = values.dropna()
                row = mean_share_row(values, alpha) if shares else mean_row(values, largest, alpha)
                yield keys | {"quantity": quantity, "group_a": group} | row
            for a, b in attribute.pairs:
                change = _column(wide, attribute.name, a) - _column(wide, attribute.name, b)
                pair = {"quantity": PAIR_DIFFERENCE, "group_a": a, "group_b": b}
                yield keys | pair | mean_row(change.dropna(), largest, alpha)


def pair_shares(
    holds: pd.DataFrame, benchmark: Benchmark, *, aspect: str, alpha: float = 0.05
) -> Iterator[Row]:
    """Return rows of findings on shares of variants: each group's, and each pair's difference.

    `holds` has value 1 if something holds for a variant, and 0 if not. Shares have Wilson's
    intervals; differences have Tango's, with McNemar's mid-p test.
    """
    for measure in dict.fromkeys(holds["measure"]):
        wide = _wide(holds, measure)
        for attribute in benchmark.varied:
            if attribute.name not in wide.columns.get_level_values(0):
                continue
            keys = {"aspect": aspect, "measure": measure, "benchmark": benchmark.name}
            keys |= {"attribute": attribute.name}
            for group in attribute.groups:
                row = share_row(_column(wide, attribute.name, group).dropna(), alpha)
                yield keys | {"quantity": SHARE, "group_a": group} | row
            for a, b in attribute.pairs:
                change = _column(wide, attribute.name, a) - _column(wide, attribute.name, b)
                change = change.dropna()
                n, n10, n01 = len(change), int((change > 0).sum()), int((change < 0).sum())
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


def _wide(measures: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one row per item, one column per variant."""
    one = measures[measures["measure"] == measure]
    return one.pivot(index="item_id", columns=["attribute", "group"], values="value")


def _column(wide: pd.DataFrame, attribute: str, group: str) -> pd.Series[float]:
    if (attribute, group) in wide.columns:
        return wide[(attribute, group)]
    return pd.Series(np.nan, index=wide.index, dtype="float64")
