"""Tables and records as CSV and JSON that spreadsheets and every JSON reader accept."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

#: The key of a record that lists its infinite numbers.
INFINITE = "infinite"

# Spreadsheets run a cell that begins with one of these as a formula; some also the full-width
# signs. In many countries, a semicolon begins a new cell. The script of reports/template.html has
# the same rule.
_FORMULA = re.compile(r"(^|;)(?=[=+\-@\t\n＝＋－＠])")
#: Rows that are held as Python objects at a time.
_BATCH_ROWS = 65_536


def table_csv(table: pd.DataFrame) -> str:
    """Return CSV text, with an apostrophe before texts that a spreadsheet would run.

    Examples
    --------
    >>> print(table_csv(pd.DataFrame({"model": ["=1+1", "m"], "estimate": [-0.1, None]})), end="")
    model,estimate
    '=1+1,-0.1
    m,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(map(_safe, row) for row in _rows(table))
    return text.getvalue()


def hash_rows(found: Hash, rows: pd.DataFrame, *, header: bool) -> None:
    """Add rows to a hash, as CSV with all digits: it does not depend on how a file stores them."""
    import pyarrow
    from pyarrow.csv import WriteOptions, write_csv

    # In parts: the text of many rows is several times as large as they are.
    for start in range(0, max(len(rows), 1), _BATCH_ROWS):
        part, text = rows.iloc[start : start + _BATCH_ROWS], io.BytesIO()
        table = pyarrow.Table.from_pandas(part, preserve_index=False, nthreads=1)
        write_csv(table, text, WriteOptions(include_header=header and start == 0))
        found.update(text.getbuffer())


def table_json(table: pd.DataFrame) -> str:
    """Return an array with one object per row and line, see `records`.

    Examples
    --------
    >>> print(table_json(pd.DataFrame({"model": ["a", "b"], "n": [1, 2]})), end="")
    [
    {"model": "a", "n": 1},
    {"model": "b", "n": 2}
    ]
    """
    lines = ",\n".join(map(json_line, records(table)))
    return f"[\n{lines}\n]\n" if lines else "[]\n"


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
    names = list(map(str, table.columns))
    return [_finite(dict(zip(names, row, strict=True))) for row in _rows(table)]


def json_text(content: Any) -> str:
    """Return strict JSON with one space of indentation and a newline at its end.

    Floats have enough digits to be read back exactly.
    """
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def json_line(content: Any) -> str:
    """Return the same as `json_text`, on one line without its end."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def yaml_text(content: Any) -> str:
    """Return JSON that YAML readers accept too: it has only printable characters.

    Examples
    --------
    >>> print(yaml_text({"a": "no\x7f"}), end="")
    {
     "a": "no "
    }
    """
    return "".join(c if c.isprintable() or c == "\n" else " " for c in json_text(content))


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
    return _FORMULA.sub(r"\1'", text)


def _rows(table: pd.DataFrame) -> Iterator[list[Any]]:
    """Return the rows with values of Python's own types, and unknown ones as None."""
    for start in range(0, len(table), _BATCH_ROWS):
        part = table.iloc[start : start + _BATCH_ROWS]
        for row in part.to_numpy(dtype=object, na_value=None).tolist():
            yield [value.item() if isinstance(value, np.generic) else value for value in row]


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    infinite = {
        name: 1 if value > 0 else -1
        for name, value in row.items()
        if isinstance(value, float) and math.isinf(value)
    }
    if not infinite:
        return row
    return {k: None if k in infinite else v for k, v in row.items()} | {INFINITE: infinite}
