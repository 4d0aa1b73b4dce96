"""The estimates table: its columns and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks.kinds import TESTS
from fairstats.metrics.metric import Columns

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
    "n_units",
    "n_a",
    "n_b",
    "n10",
    "n01",
    "n_missing_a",
    "n_missing_b",
    "missing",
    "margin",
    "verdict",
    "verdict_reason",
    "method_note",
)
_WHOLE = {"n", "n_units", "n_a", "n_b", "n10", "n01", "n_missing_a", "n_missing_b"}
_LIMITS = {"ci_low", "ci_high", "ci_level"}
_NUMBER = {"estimate", "statistic", "p_value", "p_adjusted", "margin"} | _LIMITS

#: The estimates table before it is a data frame: `ESTIMATE_COLUMNS` by name, arrays of one length.
Rows = dict[str, Any]

#: Note on every range over fill-ins.
BOUNDS_NOTE = "lowest and highest value over all fill-ins; no sampling error"

#: Prefixes of the names of the tests with the adjusted p-value used for the verdict.
PRIMARY_TESTS = ("mcnemar midp", "sign flip midp")


def is_primary_test(estimates: pd.DataFrame) -> pd.Series:
    """Return which rows are the test used for the verdict, with or without flipped units."""
    return pd.Series(is_test(estimates, *PRIMARY_TESTS), index=estimates.index, dtype=bool)


def is_test(estimates: pd.DataFrame | Columns, *tests: str) -> npt.NDArray[np.bool_]:
    """Return which rows are a test of no difference in this form, e.g. ``"mcnemar exact"``."""
    found = [
        metric in TESTS and isinstance(name, str) and name.startswith(tests)
        for metric, name in zip(estimates["metric"], estimates["test"], strict=True)
    ]
    return np.array(found, dtype=bool)


def joined(tables: Sequence[Columns]) -> Rows:
    """Join rows with different columns; columns that a table lacks are missing in its rows.

    Texts are arrays of objects, with None if one is missing; counts are nullable integers.
    """
    sizes = [len(table["benchmark"]) if table else 0 for table in tables]
    stops = np.cumsum(sizes).tolist()
    places = [slice(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]
    return {
        name: _joined(
            name,
            sum(sizes),
            [
                (rows, table[name])
                for rows, table in zip(places, tables, strict=True)
                if name in table
            ],
        )
        for name in ESTIMATE_COLUMNS
    }


def _joined(name: str, size: int, parts: list[tuple[slice, Any]]) -> Any:
    if name in _WHOLE:
        counts, absent = np.zeros(size, dtype="int64"), np.ones(size, dtype=bool)
        for rows, column in parts:
            absent[rows] = pd.isna(column)
            counts[rows] = np.where(absent[rows], 0, column)
        return pd.arrays.IntegerArray(counts, absent)
    found = np.full(size, np.nan) if name in _NUMBER else np.full(size, None, dtype=object)
    for rows, column in parts:
        found[rows] = column
    return found


def add_note(columns: Rows, place: int, note: str) -> None:
    """Add a note on how a row was computed."""
    known = columns["method_note"][place]
    columns["method_note"][place] = f"{known}; {note}" if known else note


def estimates_table(columns: Rows) -> pd.DataFrame:
    """Return the estimates table of its columns."""
    texts = [name for name in ESTIMATE_COLUMNS if name not in _NUMBER | _WHOLE]
    return pd.DataFrame(
        {name: columns[name] for name in ESTIMATE_COLUMNS}
        | {name: pd.array(columns[name], dtype="str") for name in texts}
    )
