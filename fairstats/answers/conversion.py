"""Convert the columns of an answers table to text and numbers, and report what is neither."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
from pandas.api.types import (
    is_bool_dtype,
    is_complex_dtype,
    is_numeric_dtype,
    is_object_dtype,
    is_string_dtype,
)

from fairstats._lib.problems import Problem
from fairstats._lib.safe_names import normal_name
from fairstats._lib.table_schemas import MOST_SHOWN
from fairstats.answers.schema import ANSWERS, NAME_COLUMNS, RAW_LENGTH, TOO_LONG

_DECIMAL = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
_ARROW = pd.StringDtype("pyarrow", na_value=np.nan)
_INTEGERS = range(-(2**63), 2**63)


def to_text(frame: pd.DataFrame, path: str) -> tuple[pd.DataFrame, list[Problem]]:
    """Report values in text columns that are not text, and normalise names.

    Lists, times and booleans would become texts that look like names. Half of a surrogate pair,
    which JSON may contain, cannot be stored in a file.
    """
    problems: list[Problem] = []
    columns: dict[str, pd.Series] = {}
    for name, column in ANSWERS.columns.items():
        if name not in frame or column.dtype != "str":
            continue
        given = frame[name]
        kind = given.dtype
        kind = kind.categories.dtype if isinstance(kind, pd.CategoricalDtype) else kind
        if not (is_object_dtype(kind) or is_string_dtype(kind) or _is_number(kind)):
            message, remedy = f"has the type {kind}", "write it as text"
            problems.append(Problem(path, message, remedy, column=name))
            columns[name] = pd.Series("-", index=frame.index, dtype="str")
            continue
        if is_object_dtype(given.dtype):
            wrong = given.map(_not_text)
            problems += [
                Problem(path, message, "write it as text", row=row, column=name, value="not shown")
                for row, message in enumerate(wrong, start=1)
                if message
            ]
            given = columns[name] = given.mask(wrong != "", "-")
        # pandera would copy such texts several times. A text has at least as many bytes as letters.
        small = given.dtype == _ARROW and given.array.nbytes <= RAW_LENGTH
        if not small and (too_long := _lengths(given) > RAW_LENGTH).any():
            problems += [
                Problem(
                    path,
                    TOO_LONG,
                    "correct the value",
                    row=row + 1,
                    column=name,
                    value=given.iat[row][:MOST_SHOWN],
                )
                for row in np.flatnonzero(too_long).tolist()
            ]
            given = columns[name] = given.mask(too_long, "-")
        if name in NAME_COLUMNS:
            other = {n: normal_name(n) for n in given.unique() if isinstance(n, str)}
            other = {n: normal for n, normal in other.items() if n != normal}
            columns[name] = given.replace(other) if other else given
    return frame.assign(**columns), problems


def _lengths(given: pd.Series) -> pd.Series:
    """Return the length of each text; 0 if it is not text."""
    if is_object_dtype(given.dtype):
        return given.map(lambda value: len(value) if isinstance(value, str) else 0)
    if is_string_dtype(given.dtype):
        return given.str.len().fillna(0)
    return pd.Series(0, index=given.index)


def _is_number(kind: object) -> bool:
    return bool(is_numeric_dtype(kind) and not is_bool_dtype(kind) and not is_complex_dtype(kind))


def _not_text(value: object) -> str:
    """Return why a value is not text; empty for text, a null, or a number (written as text)."""
    if isinstance(value, str):
        return "" if _is_unicode(value) else "is not valid Unicode text"
    if value is None or value is pd.NA or value is pd.NaT:
        return ""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        return f"has the type {type(value).__name__}"
    return ""


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_numbers(frame: pd.DataFrame, path: str) -> tuple[pd.DataFrame, list[Problem]]:
    """Convert number columns; a cell that is not a number becomes a problem.

    This precedes pandera, which cannot run its other checks on a column with such a cell. Invalid
    cells are filled with valid values, so that the remaining errors are found too.
    """
    problems: list[Problem] = []
    columns: dict[str, pd.Series] = {}
    for name, column in ANSWERS.columns.items():
        whole = column.dtype.lower() == "int64"
        if name not in frame.columns or column.dtype == "str":
            continue
        given, numbers = frame[name], []
        if whole and given.dtype == np.int64:
            columns[name] = given.astype(column.dtype)
            continue
        for row, value in enumerate(given, start=1):
            if pd.api.types.is_scalar(value) and pd.isna(value):
                number = None
                wrong = "" if column.nullable else "must not be empty"
            else:
                number = _whole_number(value) if whole else _number(value)
                wrong = "" if number is not None else f"is not a {'whole ' * whole}number"
                if whole and number is not None and number not in _INTEGERS:
                    wrong = "is too large"
            if wrong:
                problems.append(
                    Problem(path, wrong, "write a number", row=row, column=name, value=str(value))
                )
                # Distinct fillers: equal samples would look like duplicate answers.
                number = 10**12 + row
            numbers.append(number)
        columns[name] = pd.Series(pd.array(numbers, dtype=column.dtype), index=frame.index)
    return frame.assign(**columns), problems


def _whole_number(value: object) -> int | None:
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,40}", value.strip()):
        return int(value)
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _number(value: object) -> float | None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, str, np.integer, np.floating)
    ):
        return None
    # float() also accepts "1_000" and the digits of every script.
    if isinstance(value, str) and not _DECIMAL.fullmatch(value.strip()):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
