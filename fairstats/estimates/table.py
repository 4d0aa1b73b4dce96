"""The estimates table: its columns and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import text_array

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

#: Note on every range over fill-ins.
BOUNDS_NOTE = "lowest and highest value over all fill-ins; no sampling error"

#: Prefix of the name of the test with the adjusted p-value used for the verdict.
PRIMARY_TEST = "mcnemar midp"


def is_primary_test(estimates: pd.DataFrame) -> pd.Series:
    """Return which rows are McNemar's test used for the verdict, with or without flipped items."""
    tests = zip(text_array(estimates["metric"]), text_array(estimates["test"]), strict=True)
    found = [
        metric == "mcnemar" and isinstance(test, str) and test.startswith(PRIMARY_TEST)
        for metric, test in tests
    ]
    return pd.Series(found, index=estimates.index, dtype=bool)


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join tables with different columns; columns that a table lacks are missing in its rows.

    Each column is created once with its final type, so that counts are never converted to floats.
    """
    return pd.DataFrame({name: _joined(name, tables) for name in ESTIMATE_COLUMNS})


def _joined(name: str, tables: Sequence[pd.DataFrame]) -> Any:
    stops = np.cumsum([len(table) for table in tables])
    there = [
        (slice(stop - len(table), stop), table[name])
        for stop, table in zip(stops, tables, strict=True)
        if name in table
    ]
    size = int(stops[-1])
    if name in _NUMBER:
        numbers = np.full(size, np.nan)
        for rows, column in there:
            numbers[rows] = column.to_numpy("float64", na_value=np.nan)
        return numbers
    if name in _WHOLE:
        counts, absent = np.zeros(size, dtype="int64"), np.ones(size, dtype=bool)
        for rows, column in there:
            counts[rows] = column.to_numpy("int64", na_value=0)
            absent[rows] = column.isna()
        return pd.arrays.IntegerArray(counts, absent)
    texts = np.full(size, None, dtype=object)
    for rows, column in there:
        texts[rows] = column.to_numpy("object", na_value=None)
    return pd.Series(texts, dtype="str")
