"""The columns of the ratings table, and the checks of rows that need no rubric."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import numpy as np
import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.table_schemas import NAME, Column, Rule, TableSchema, optional
from fairstats._lib.untrusted_tables import repeated_columns
from fairstats.benchmarks.declaration import POOLED

#: Columns that identify a task: the object of the judgement and the rubric.
TASK_COLUMNS = ("benchmark", "dataset", "rubric", "task_id")
#: Content of a task; each task has one value in each of these columns.
SUBJECT_COLUMNS = ("item_id", "item_id_2", "model", "model_2")
#: Columns that identify a judgement; `repeat` counts those of one rater on one task, from 0.
JUDGEMENT_COLUMNS = (*TASK_COLUMNS, "rater_id", "repeat")
#: Columns that identify one row.
RATING_KEY = (*JUDGEMENT_COLUMNS, "dimension")
#: All columns, in order.
RATING_COLUMNS = (
    *TASK_COLUMNS,
    *SUBJECT_COLUMNS,
    "rater_id",
    "rater_kind",
    "rater_group",
    "repeat",
    "dimension",
    "value",
    "swapped",
    "duration_s",
)
REQUIRED_RATING_COLUMNS = (
    "benchmark",
    "rubric",
    "task_id",
    "item_id",
    "rater_id",
    "rater_group",
    "dimension",
    "value",
)
#: Kinds of raters; judgements of the two kinds are never pooled.
RATER_KINDS = ("person", "model")
#: The only group of raters that are models: a rubric's groups are for people.
MODEL_GROUP = "model"

_NAMES = (*TASK_COLUMNS, *SUBJECT_COLUMNS, "rater_id", "rater_group")

_KIND = Rule(lambda kinds: kinds.isin(RATER_KINDS), f"must be one of {', '.join(RATER_KINDS)}")
_REPEAT = Rule(lambda numbers: numbers.between(0, 999), "must be 0 to 999")
_SECONDS = Rule(lambda seconds: seconds.between(0, 1e7), "must be a number of seconds, 0 or more")
#: The single definition of the table's columns; `fairstats.ratings.rubric_checks` performs the
#: checks that need the rubric.
RATINGS = TableSchema(
    {
        "benchmark": Column("str", NAME),
        "dataset": optional("str", NAME, nullable=False),
        "rubric": Column("str", NAME),
        "task_id": Column("str", NAME),
        "item_id": Column("str", NAME),
        **{name: optional("str", NAME) for name in ("item_id_2", "model", "model_2")},
        "rater_id": Column("str", NAME),
        "rater_kind": optional("str", _KIND, nullable=False),
        "rater_group": Column("str", NAME),
        "repeat": optional("int64", _REPEAT, nullable=False),
        "dimension": Column("str", NAME),
        "value": Column("str", NAME, nullable=True),
        "swapped": optional("boolean"),
        "duration_s": optional("float64", _SECONDS),
    },
    unique=RATING_KEY,
    twice=(
        "the rater judges this dimension of this task twice",
        "delete one, or number the judgements in the column repeat",
    ),
)


def no_ratings() -> pd.DataFrame:
    """Return a ratings table without rows, with the usual types."""
    columns = RATINGS.columns
    return pd.DataFrame({n: pd.Series(dtype=columns[n].dtype) for n in RATING_COLUMNS})


def column_problems(frame: pd.DataFrame, path: str) -> Iterator[Problem]:
    """Report columns that are missing, unknown or there twice, and a table without rows."""
    yield from repeated_columns(frame.columns, path)
    for name in REQUIRED_RATING_COLUMNS:
        if name not in frame:
            remedy = f"a ratings table has {', '.join(REQUIRED_RATING_COLUMNS)}"
            yield Problem(path, "required column is missing", remedy, column=name)
    for name in frame.columns.difference(RATING_COLUMNS):
        remedy = f"delete or rename it; known columns: {', '.join(RATING_COLUMNS)}"
        if name == "comment":
            remedy = "keep comments in a separate file: they are never published"
        yield Problem(path, "unknown column", remedy, column=str(name))
    if frame.empty:
        yield Problem(path, "the table has no rows", "import it again")


def checked_by_schema(frame: pd.DataFrame, path: str) -> pd.DataFrame:
    """Return the table with the types of its columns, or raise an error for its rows."""
    # One name has one spelling: an accent may be part of a letter, or a separate character.
    given = frame[list(RATING_COLUMNS)].assign(**{c: _composed(frame[c]) for c in _NAMES})
    columns: dict[str, pd.Series] = {}
    problems = []
    for name in ("repeat", "duration_s"):
        # The schema would truncate 1.5 to 1, and could not continue after text.
        number = pd.to_numeric(given[name], errors="coerce")
        wrong = number.isna() & given[name].notna() | np.isinf(number.astype("float64"))
        if name == "repeat":
            wrong |= number.isna() | (number != number.round())
        for row in first_rows(wrong.astype(bool)):
            value = str(given.at[row, name])
            kind = "whole number" if name == "repeat" else "number"
            problems.append(
                Problem(
                    path, f"must be a {kind}", "correct it", row=row + 1, column=name, value=value
                )
            )
        columns[name] = number
    if problems:
        raise InputError(problems)
    flags = given["swapped"].map(
        lambda value: {"true": True, "false": False}.get(str(value).lower(), pd.NA)
    )
    for row in first_rows(flags.isna() & given["swapped"].notna()):
        remedy = "write true or false, or leave it empty"
        value = str(given.at[row, "swapped"])
        problems.append(
            Problem(path, "is unknown", remedy, row=row + 1, column="swapped", value=value)
        )
    if problems:
        raise InputError(problems)
    columns["swapped"] = flags.astype("boolean")
    given = given.assign(**columns)
    checked, problems = RATINGS.check(given, path, of_row=lambda row: ("key", _key(given, row)))
    if problems:
        raise InputError(problems[:100])
    return checked


def _key(frame: pd.DataFrame, row: int) -> str:
    return ", ".join(str(frame.at[row, name]) for name in RATING_KEY)


def _composed(names: pd.Series) -> pd.Series:
    composed = {n: unicodedata.normalize("NFC", n) for n in names.unique() if isinstance(n, str)}
    other = {name: normal for name, normal in composed.items() if name != normal}
    return names.replace(other) if other else names


def refuse_pooled(ratings: pd.DataFrame, path: str = "<frame>") -> None:
    """Refuse a dataset or a group of raters with the name reserved for all combined."""
    for column in ("dataset", "rater_group"):
        for row in first_rows(ratings[column] == POOLED, 1):
            message, remedy = "is reserved for all groups together", "use another name"
            raise InputError(
                [Problem(path, message, remedy, row=row + 1, column=column, value=POOLED)]
            )


def first_rows(wrong: pd.Series | np.ndarray, most: int = 5) -> list[int]:
    """Return the first rows of an error, by index."""
    return [int(row) for row in np.flatnonzero(np.asarray(wrong, dtype=bool))[:most]]
