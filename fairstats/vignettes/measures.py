"""Measures of each variant: numbers, without any of the vignettes' text.

Findings are estimated from them. A release can contain them even if the text may not be published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.paths import Paths, each_path
from fairstats._lib.problems import Problem, input_error, printable, refuse
from fairstats._lib.untrusted_files import already_read
from fairstats.answers.files import MEASURES_SUFFIX, files_ending, load_table, write_parquet

#: Columns of a table of measures, in order. One row per variant and measure, or per variant,
#: measure and option, without duplicates. Without ``benchmark_version``, the set of variants is
#: unknown.
MEASURE_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "item_id",
    "attribute",
    "group",
    "measure",
    "option",
    "role",
    "value",
)
#: The role of an option in its item; empty if a measure is not per option.
KEY, DISTRACTOR, NO_OPTION = "key", "distractor", ""

_DTYPES = dict.fromkeys(MEASURE_COLUMNS, "str") | {"value": "float64"}
_EMPTY = ("benchmark_version", "option", "role")
_REMEDY = "create it again with `fairstats vignettes audit`"
_LONGEST = 200
# Smaller differences are rounding error.
_ROUNDING = 1e-9
_SHARES = ("leakage_overlap", "leakage_distinct", "numbers_kept", "drugs_kept", "findings_kept")


def measures_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of measures as a table; version, option and role are optional.

    Examples
    --------
    >>> row = dict(benchmark="demo", item_id="demo-01", attribute="race", group="white",
    ...            measure="words", value=61)
    >>> measures_frame([row])[["measure", "option", "value"]].values.tolist()
    [['words', '', 61.0]]
    """
    empty = dict.fromkeys(_EMPTY, "")
    table = pd.DataFrame([empty | dict(row) for row in rows], columns=list(MEASURE_COLUMNS))
    return table.astype(_DTYPES)


def no_measures() -> pd.DataFrame:
    """Return a table of measures without rows."""
    return measures_frame(())


def read_measures(source: Paths) -> pd.DataFrame:
    """Read measures from files, or from the files ``*.measures.parquet`` in folders."""
    given = each_path(source)
    files, read = files_ending(given, MEASURES_SUFFIX), already_read(given)
    tables = [check_measures(load_table(read.get(f, f)), path=str(f)) for f in files]
    if not tables:
        return no_measures()
    together = ", ".join(map(str, files))
    return check_measures(pd.concat(tables, ignore_index=True), path=together)


def write_measures(measures: pd.DataFrame, path: Path) -> Path:
    """Write checked measures as one parquet file."""
    return write_parquet(check_measures(measures, path=str(path)), path)


def check_measures(measures: pd.DataFrame, *, path: str = "<measures>") -> pd.DataFrame:
    """Return measures with their types, or raise their problems.

    Raises
    ------
    InputError
        For missing or unknown columns, a text that is empty, unprintable or too long, a value that
        is neither a finite number nor missing, a role that does not fit its option, or a duplicate
        measure.
    """
    if list(measures.columns) != list(MEASURE_COLUMNS):
        found = ", ".join(map(str, measures.columns))[:_LONGEST]
        message = "does not have the columns of a table of measures"
        raise input_error(path, message, _REMEDY, value=printable(found))
    problems: list[Problem] = []

    def report(column: str, wrong: npt.ArrayLike, message: str) -> None:
        for row in np.flatnonzero(wrong)[:10].tolist():
            value = printable(str(measures[column].iloc[row])[:80])
            problems.append(
                Problem(path, message, _REMEDY, row=row + 1, column=column, value=value)
            )

    for column in MEASURE_COLUMNS[:-1]:
        message = f"must be printable text of at most {_LONGEST} characters"
        report(column, _faulty(measures[column], column in _EMPTY), message)
    numbers = pd.to_numeric(measures["value"], errors="coerce").to_numpy(dtype=float)
    # Some measures are undefined for some variants: those are NaN.
    wrong = np.isinf(numbers) | (np.isnan(numbers) & measures["value"].notna().to_numpy())
    report("value", wrong, "must be a finite number")
    refuse(problems)
    table = measures.astype(_DTYPES)
    of_option = table["option"] != NO_OPTION
    wrong = np.where(of_option, ~table["role"].isin([KEY, DISTRACTOR]), table["role"] != NO_OPTION)
    report("role", wrong, "does not fit the option")
    share = table["measure"].isin(_SHARES) & table["value"].notna()
    wrong = share & ~table["value"].between(-_ROUNDING, 1 + _ROUNDING)
    report("value", wrong, "must be a share from 0 to 1")
    names = [name for name in MEASURE_COLUMNS if name not in ("role", "value")]
    for row in np.flatnonzero(table.duplicated(names))[:10].tolist():
        one = table.iloc[row]
        said = f"{one['item_id']}, {one['group']}, {one['measure']}"
        remedy = "give only one file of it"
        problems.append(Problem(path, "is measured twice", remedy, row=row + 1, value=said))
    refuse(problems)
    return table.sort_values(names, ignore_index=True)


def _faulty(values: pd.Series, may_be_empty: bool) -> pd.Series:
    return values.isin(
        [
            value
            for value in values.unique()
            if not isinstance(value, str)
            or len(value) > _LONGEST
            or not (value or may_be_empty)
            or not value.isprintable()
        ]
    )
