"""Compare a published table with the recomputed one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_tables import check_parquet
from fairstats.release.contents import DOWNLOADS, Release

if TYPE_CHECKING:
    import pyarrow.parquet

_REMEDY = (
    "the answers in this release do not give this value; take the release from where it was "
    "published"
)
# A value that one library rounds to 0 may differ slightly in another.
_ROUNDING = 1e-15


def table_problems(
    release: Release, name: str, found: pd.DataFrame, keys: tuple[str, ...]
) -> tuple[Problem, ...]:
    """Compare a table of a release with the recomputed one.

    Parameters
    ----------
    release : Release
        The release.
    name : str
        The name of the table.
    found : pandas.DataFrame
        The recomputed table.
    keys : tuple of str
        The columns that name a row to a reader.

    Returns
    -------
    tuple of Problem
        The first difference, or why the file cannot be read; empty if the tables are the same.
    """
    path = release.path / DOWNLOADS / f"{name}.parquet"
    try:
        footer = _footer(path)
    except InputError as error:
        return error.problems
    problem = _rows_differ(path, footer, found) or _other_columns(path, footer, found)
    if problem is None:
        try:
            # With the checks for files from outside, because others may read it afterwards.
            check_parquet(path)
        except InputError as error:
            return error.problems
        columns = tuple(found.columns)
        problem = first_difference(release.table(name), found, keys, columns, str(path))
    return () if problem is None else (problem,)


def _footer(path: Path) -> pyarrow.parquet.FileMetaData:
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError) as error:
        message = f"is not a parquet file ({error})"
        raise InputError([Problem(str(path), message, "publish it again")]) from None


def _rows_differ(
    path: Path, footer: pyarrow.parquet.FileMetaData, found: pd.DataFrame
) -> Problem | None:
    """Compare the number of rows in a table's footer, to avoid reading a table that is too long."""
    rows = footer.num_rows
    if rows == len(found):
        return None
    message = f"has {rows:,} rows; the answers give {len(found):,}"
    return Problem(str(path), message, _REMEDY)


def _other_columns(
    path: Path, footer: pyarrow.parquet.FileMetaData, found: pd.DataFrame
) -> Problem | None:
    """Compare the columns in a table's schema, because pandas may hide or rename one on reading."""
    message = "has columns that differ from those of this version of fairstats"
    if footer.schema.to_arrow_schema().names != list(found.columns):
        return Problem(str(path), message, _REMEDY)
    return _hidden_columns(path, footer)


def hidden_columns(path: Path) -> Problem | None:
    """Return the columns that pandas would read under another name, or not at all."""
    import pyarrow.parquet

    return _hidden_columns(path, pyarrow.parquet.read_metadata(path))


def _hidden_columns(path: Path, footer: pyarrow.parquet.FileMetaData) -> Problem | None:
    schema, rows = footer.schema.to_arrow_schema(), footer.num_rows
    metadata = schema.metadata or {}
    if not set(metadata) <= {b"pandas", b"ARROW:schema"}:
        return Problem(str(path), "has metadata that `fairstats publish` does not write", _REMEDY)
    said = metadata.get(b"pandas", b"{}")
    try:
        of_pandas = json.loads(said)
        names = [column["name"] for column in of_pandas.get("columns", [])]
        plain = [{"kind": "range", "name": None, "start": 0, "stop": rows, "step": 1}]
        indexes = of_pandas.get("index_columns", plain)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Problem(str(path), "has metadata for pandas that pandas does not write", _REMEDY)
    if names not in ([], schema.names) or indexes not in ([], plain):
        message = "has different column names for pandas than for other readers"
        return Problem(str(path), message, _REMEDY)
    return None


def first_difference(
    published: pd.DataFrame,
    found: pd.DataFrame,
    keys: tuple[str, ...],
    columns: tuple[str, ...],
    path: str,
) -> Problem | None:
    """Return the first figure of a published table that differs from the recomputed one."""
    if list(published.columns) != list(columns):
        return Problem(
            path, "has columns that differ from those of this version of fairstats", _REMEDY
        )
    for column in columns:
        if published[column].equals(found[column]):
            continue
        # A p-value is compared exactly, however small.
        least = 0.0 if column.startswith("p_") else _ROUNDING
        differ = _differ(published[column], found[column], least)
        if differ.any():
            place = int(np.flatnonzero(differ)[0])
            row = published.iloc[place]
            which = ", ".join(str(row[key]) for key in keys if not pd.isna(row[key]))
            message = f"{which}: recomputed as {found[column].iloc[place]}"
            value = str(row[column])
            return Problem(path, message, _REMEDY, row=place + 1, column=column, value=value)
    return None


def _differ(
    published: pd.Series, found: pd.Series, least: float
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if pd.api.types.is_numeric_dtype(found):
        if not pd.api.types.is_numeric_dtype(published) and published.notna().any():
            # Text among the numbers, even if no number is expected.
            return published.notna().to_numpy()
        a, b = (
            pd.to_numeric(side, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
            for side in (published, found)
        )
        return ~np.isclose(a, b, rtol=1e-9, atol=least, equal_nan=True)
    a, b = (side.astype("object").where(side.notna(), None) for side in (published, found))
    return np.array([x != y for x, y in zip(a, b, strict=True)], dtype=bool)
