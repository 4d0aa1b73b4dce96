"""Tables and records as CSV and JSON that spreadsheets and every JSON reader accept."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

#: The key of a record that lists its infinite numbers.
INFINITE = "infinite"

# Spreadsheets run a cell that begins with one of these as a formula; some also the full-width
# signs.
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")


def table_csv(table: pd.DataFrame) -> str:
    """Return CSV text, with an apostrophe before texts that a spreadsheet would run.

    Examples
    --------
    >>> print(table_csv(pd.DataFrame({"model": ["=1+1", "m"], "estimate": [-0.1, None]})), end="")
    model,estimate
    '=1+1,-0.1
    m,
    """
    safe = {
        name: column if pd.api.types.is_numeric_dtype(column) else column.map(_safe)
        for name, column in table.items()
    }
    return str(pd.DataFrame(safe, table.index).to_csv(index=False, lineterminator="\n"))


def table_json(table: pd.DataFrame) -> str:
    """Return an array with one object per row, see `records`."""
    return json_text(records(table))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one JSON-compatible dict per row: unknown values are None, and numbers are finite.

    Parameters
    ----------
    table : pandas.DataFrame
        The table; its columns become the keys, in order.

    Returns
    -------
    list of dict
        An infinite number (e.g. an odds ratio) is None. Its row then has the additional key
        ``infinite``: the names of these numbers, each with its sign, 1 or -1. Rows without infinite
        numbers do not have the key.

    Notes
    -----
    JSON has no infinity. The number 1e999 is JSON, but Arrow and Polars refuse a file with it and
    jq reads it as 1.8e308. The text "Infinity" turns a column of numbers into text. So a number is
    always a number or null, and the additional key distinguishes infinite from unknown numbers.

    Examples
    --------
    >>> records(pd.DataFrame({"estimate": [float("inf"), 0.5, None]}))[:2]
    [{'estimate': None, 'infinite': {'estimate': 1}}, {'estimate': 0.5}]
    """
    columns = {str(name): _plain(column) for name, column in table.items()}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return [_finite(row) for row in rows]


def json_text(content: Any) -> str:
    """Return strict JSON with one space of indentation and a newline at its end.

    Floats have enough digits to be read back exactly.

    Raises
    ------
    ValueError
        For a number that JSON does not support: NaN or an infinity.
    """
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(text: str, path: Path) -> Path:
    """Write UTF-8 with the same line endings on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _safe(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    # A lone carriage return would not be quoted, and readers would end the row there.
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_FORMULA) else text


def _plain(column: pd.Series) -> list[Any]:
    """Return the values of a column as Python's own, and unknown ones as None."""
    return [
        None if unknown else value.item() if isinstance(value, np.generic) else value
        for value, unknown in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    infinite = {
        name: 1 if value > 0 else -1
        for name, value in row.items()
        if isinstance(value, float) and math.isinf(value)
    }
    if not infinite:
        return row
    return {k: None if k in infinite else v for k, v in row.items()} | {INFINITE: infinite}
