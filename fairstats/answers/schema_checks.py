"""Check an answers table against its schema: convert its columns, and name every fault.

`fairstats.answers.benchmark_checks` checks the answers against what their benchmark declares.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from pandas.api.types import (
    is_bool_dtype,
    is_complex_dtype,
    is_float_dtype,
    is_numeric_dtype,
    is_object_dtype,
    is_string_dtype,
)

from fairstats._lib.problems import InputError, Problem, input_error, refuse
from fairstats._lib.safe_names import normal_name
from fairstats._lib.table_schemas import MOST_SHOWN
from fairstats._lib.untrusted_files import is_unicode
from fairstats._lib.untrusted_tables import repeated_columns
from fairstats.answers.schema import (
    ANSWERS,
    KEY_COLUMNS,
    NAME_COLUMNS,
    RAW_LENGTH,
    REQUIRED_COLUMNS,
    TOO_LONG,
)

#: Maximum number of problems listed per table.
MOST_PROBLEMS = 10_000
_PART_ROWS = 10_000
_DECIMAL = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
_ARROW = pd.StringDtype("pyarrow", na_value=np.nan)
_INTEGERS = range(-(2**63), 2**63)
# Uniqueness is a matter of the whole table.
_ROWS = replace(ANSWERS, unique=())


def check_answers(
    answers: pd.DataFrame, *, path: str = "<frame>", repeated: bool = False
) -> pd.DataFrame:
    """Check a frame against the answers schema and convert its columns.

    Names of benchmarks, versions, models, strategies and snapshots are normalised by
    `fairstats._lib.safe_names.normal_name`. So spellings that look the same in print become the
    same name. With `repeated`, the same answer may be there twice if there is no other problem. The
    given frame is not changed.

    Raises
    ------
    InputError
        With one `Problem` for each error, up to `MOST_PROBLEMS`.
    """
    frame = answers.reset_index(drop=True)
    refuse(column_problems(frame.columns, path))
    if frame.empty:
        raise input_error(path, "the table has no rows", "collect or import it again")
    parts: list[pd.DataFrame] = []
    problems: list[Problem] = []
    for start in range(0, len(frame), _PART_ROWS):
        part = frame[start : start + _PART_ROWS].reset_index(drop=True)
        checked, found = _check_part(part, path)
        parts.append(checked)
        problems += [
            problem if problem.row is None else replace(problem, row=problem.row + start)
            for problem in found
        ]
        if len(problems) >= MOST_PROBLEMS:
            break
    checked = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    if problems or not repeated:
        # A key with a fault of its own may have been filled so that checking could continue.
        faulty = {problem.row for problem in problems if problem.column in KEY_COLUMNS}
        again = repeated_answers(checked, path)
        problems += [problem for problem in again if problem.row not in faulty]
    if problems:
        problems.sort(key=lambda p: (p.row or 0, p.column or ""))
        if len(problems) >= MOST_PROBLEMS:
            message = f"has more than the {MOST_PROBLEMS:,} problems listed"
            problems = [*problems[:MOST_PROBLEMS], Problem(path, message, "correct these first")]
        raise InputError(problems)
    return checked


def _check_part(frame: pd.DataFrame, path: str) -> tuple[pd.DataFrame, list[Problem]]:
    """Check part of a table: the problems of all rows of a large one would fill the memory."""
    # Picked once, because a part may have thousands of wrong rows.
    answers, statuses = frame["answer"].array, frame["status"].array

    def of_row(row: int) -> tuple[str, str]:
        shown = "no answer" if pd.isna(answers[row]) else f"answer {answers[row]}"
        return "status", f"{statuses[row]}, with {shown}"

    readable, problems = _to_text(frame, path)
    numbered, more = _to_numbers(readable, path)
    problems += more
    checked, more = _ROWS.check(numbered, path, of_row=of_row, given=frame)
    # If a cell was filled so that checking could continue, only its first error is real.
    found = {(problem.row, problem.column) for problem in problems}
    problems += [problem for problem in more if (problem.row, problem.column) not in found]
    return checked, problems


def _to_text(frame: pd.DataFrame, path: str) -> tuple[pd.DataFrame, list[Problem]]:
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
        if name in ("answer", "answer_key") and is_float_dtype(given.dtype):
            # A column of whole numbers with an empty cell.
            texts = given.map(lambda number: f"{number:.15g}", na_action="ignore")
            columns[name] = texts.astype("str")
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
        return "" if is_unicode(value) else "is not valid Unicode text"
    if value is None or value is pd.NA or value is pd.NaT:
        return ""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        return f"has the type {type(value).__name__}"
    return ""


def _to_numbers(frame: pd.DataFrame, path: str) -> tuple[pd.DataFrame, list[Problem]]:
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
        if whole and given.dtype in ("int64", "Int64") and not given.hasnans:
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


def repeated_answers(frame: pd.DataFrame, path: str) -> list[Problem]:
    """Find duplicate answers anywhere in a table."""
    if not frame.duplicated(list(KEY_COLUMNS)).any():
        return []
    answer = frame.groupby(list(KEY_COLUMNS), sort=False, dropna=False).ngroup().to_numpy()
    _, first = np.unique(answer, return_index=True)
    again = np.flatnonzero(first[answer] != np.arange(len(frame)))[:MOST_PROBLEMS]
    keys = frame[list(KEY_COLUMNS)].take(again).to_dict("records")
    return [
        Problem(
            path,
            f"the same answer is in row {earlier + 1}",
            "delete one, number the samples, or use the column in which these rows differ",
            row=row + 1,
            column="key",
            value=_key_text(key),
        )
        for row, earlier, key in zip(
            again.tolist(), first[answer[again]].tolist(), keys, strict=True
        )
    ]


def column_problems(columns: pd.Index, path: str) -> list[Problem]:
    """Report columns that are missing, unknown or duplicated, by name only."""
    known = list(ANSWERS.columns)
    if not set(REQUIRED_COLUMNS) & set(columns):
        found = ", ".join(map(str, columns[:8]))
        remedy = "see `fairstats import --help` and `fairstats schema`"
        return [Problem(path, f"is not an answers table; its columns are {found}", remedy)]
    if twice := repeated_columns(columns, path):
        return twice
    missing: dict[str, list[str]] = {}
    for name in REQUIRED_COLUMNS:
        if name not in columns:
            missing.setdefault(how_to_add(name), []).append(name)
    problems = [
        Problem(
            path,
            f"required column{'s are' if len(names) > 1 else ' is'} missing",
            remedy.replace("add it", "add them") if len(names) > 1 else remedy,
            column=", ".join(names),
        )
        for remedy, names in missing.items()
    ]
    problems += [
        Problem(path, "unknown column", f"drop or rename it; known: {', '.join(known)}", column=c)
        for c in map(str, columns)
        if c not in known
    ]
    return problems


def how_to_add(column: str) -> str:
    """Return the remedy for a missing column."""
    if column in ("model", "item_id", "group", "answer"):
        return "add it (see `fairstats schema`)"
    return "add it, or name the benchmark: `fairstats import table`, read_answers(…, benchmark=…)"


def duplicate_problems(frames: Sequence[pd.DataFrame], paths: Sequence[str]) -> list[Problem]:
    """Report answers that are in more than one of `frames`, each without duplicates in itself."""
    if len(frames) < 2:
        return []
    keys = list(KEY_COLUMNS)
    again = pd.concat([frame[keys] for frame in frames], ignore_index=True).duplicated()
    if not again.any():
        return []
    rows = pd.concat(
        [
            frame[keys].assign(
                _path=path,
                _row=range(1, len(frame) + 1),
                _snapshot=frame.get("snapshot"),
            )
            for frame, path in zip(frames, paths, strict=True)
        ],
        ignore_index=True,
    )
    repeated = rows[again]
    first = rows[~again].rename(columns={"_path": "_first", "_snapshot": "_other"})
    first = first.drop(columns="_row")
    problems = []
    for (path, earlier), group in repeated.merge(first, on=keys).groupby(["_path", "_first"]):
        remedy = "remove one of the files, or give its answers another model, strategy or sample"
        one, other = group["_other"].iloc[0], group["_snapshot"].iloc[0]
        if isinstance(one, str) and isinstance(other, str) and one != other:
            remedy = (
                f"they are of the snapshots {one} and {other}: name the model of each after its "
                "snapshot when you collect (--model-name) or import (--model). `fairstats compare` "
                "tells them apart by --old-snapshot and --new-snapshot"
            )
        problems.append(
            Problem(
                str(path),
                f"{len(group)} answers are in more than one of the files, here and in {earlier}",
                remedy,
                row=int(group["_row"].iloc[0]),
                column="key",
                value=_key_text(group.iloc[0].to_dict()),
            )
        )
    return problems


def _key_text(row: Mapping[Hashable, object]) -> str:
    return ", ".join(f"{column}={row[column]}" for column in KEY_COLUMNS)
