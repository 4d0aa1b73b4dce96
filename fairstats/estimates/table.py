"""The estimates table: its columns and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
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

#: Note on every range over fill-ins.
BOUNDS_NOTE = "lowest and highest value over all fill-ins; no sampling error"

#: Prefix of the name of the test with the adjusted p-value used for the verdict.
PRIMARY_TEST = "mcnemar midp"


def is_primary_test(estimates: pd.DataFrame) -> pd.Series:
    """Return which rows are McNemar's test used for the verdict, with or without flipped items."""
    of_primary = estimates["test"].str.startswith(PRIMARY_TEST, na=False)
    return estimates["metric"].eq("mcnemar") & of_primary


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join tables with different columns; columns that a table lacks are missing in its rows.

    Each column is created once with its final type, so that counts are never converted to floats.
    """
    return pd.DataFrame({name: _joined(name, tables) for name in ESTIMATE_COLUMNS})


def _joined(name: str, tables: Sequence[pd.DataFrame]) -> Any:
    if name in _NUMBER:
        return np.concatenate([_values(name, table, "float64", np.nan) for table in tables])
    if name in _WHOLE:
        values = np.concatenate([_values(name, table, "int64", 0) for table in tables])
        absent = [
            table[name].isna() if name in table else np.ones(len(table), dtype=bool)
            for table in tables
        ]
        return pd.arrays.IntegerArray(values, np.concatenate(absent))
    texts = np.concatenate([_values(name, table, "object", None) for table in tables])
    return pd.Series(texts).astype("str")


def _values(name: str, table: pd.DataFrame, dtype: str, absent: Any) -> npt.NDArray[Any]:
    if name not in table:
        return np.full(len(table), absent, dtype=dtype)
    return table[name].to_numpy(dtype, na_value=absent)
