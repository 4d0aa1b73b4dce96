"""The ratings table: one row per judgement of one dimension, checked against its rubric.

A *judgement* is one rater's assessment of one task: one row per dimension of the rubric. Dimensions
that were not asked have the value given by the rubric for that case. So every statistic is a simple
count of values.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import Problem, refuse
from fairstats._lib.safe_names import fold_name
from fairstats._lib.table_schemas import NAME, Column, Rule, TableSchema, optional
from fairstats._lib.untrusted_tables import repeated_columns
from fairstats.answers.schema import LABEL
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.rubrics import Rubric, Rubrics, load_rubrics

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
    *(*TASK_COLUMNS, *SUBJECT_COLUMNS, "rater_id", "rater_kind", "rater_group", "repeat"),
    *("dimension", "value", "swapped", "duration_s"),
)
REQUIRED_RATING_COLUMNS = (
    *("benchmark", "rubric", "task_id", "item_id", "rater_id", "rater_group"),
    *("dimension", "value"),
)
#: Kinds of raters; judgements of the two kinds are never pooled.
RATER_KINDS = ("person", "model")
#: The only group of raters that are models: a rubric's groups are for people.
MODEL_GROUP = "model"

_NAMES = (*TASK_COLUMNS, *SUBJECT_COLUMNS, "rater_id", "rater_group")

_KIND = Rule(lambda kinds: kinds.isin(RATER_KINDS), f"must be one of {', '.join(RATER_KINDS)}")
_REPEAT = Rule(lambda numbers: numbers.between(0, 999), "must be 0 to 999")
_SECONDS = Rule(lambda seconds: seconds.between(0, 1e7), "must be a number of seconds, 0 or more")
#: The single definition of the table's columns; `fairstats.ratings.table` performs the
#: checks that need the rubric.
RATINGS = TableSchema(
    {
        "benchmark": Column("str", NAME),
        "dataset": optional("str", NAME, nullable=False),
        "rubric": Column("str", NAME),
        "task_id": Column("str", NAME),
        "item_id": Column("str", NAME),
        "item_id_2": optional("str", NAME),
        **{name: optional("str", LABEL) for name in ("model", "model_2")},
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
    problems: list[Problem] = []
    for name in ("repeat", "duration_s"):
        # The schema would truncate 1.5 to 1, and could not continue after text.
        number = pd.to_numeric(given[name], errors="coerce")
        wrong = number.isna() & given[name].notna() | np.isinf(number.astype("float64"))
        if name == "repeat":
            wrong |= number.isna() | (number != number.round())
        kind = "whole number" if name == "repeat" else "number"
        problems += _wrong_cells(given, path, wrong, name, f"must be a {kind}", "correct it")
        columns[name] = number
    refuse(problems)
    flags = given["swapped"].map(
        lambda value: {"true": True, "false": False}.get(str(value).lower(), pd.NA)
    )
    unknown = flags.isna() & given["swapped"].notna()
    remedy = "write true or false, or leave it empty"
    refuse(_wrong_cells(given, path, unknown, "swapped", "is unknown", remedy))
    columns["swapped"] = flags.astype("boolean")
    given = given.assign(**columns)
    checked, problems = RATINGS.check(given, path, of_row=lambda row: ("key", _key(given, row)))
    refuse(problems[:100])
    return checked


def _key(frame: pd.DataFrame, row: int) -> str:
    return ", ".join(str(frame.at[row, name]) for name in RATING_KEY)


def _composed(names: pd.Series) -> pd.Series:
    composed = {n: unicodedata.normalize("NFC", n) for n in names.unique() if isinstance(n, str)}
    other = {name: normal for name, normal in composed.items() if name != normal}
    return names.replace(other) if other else names


def refuse_pooled(ratings: pd.DataFrame, path: str = "<frame>") -> None:
    """Refuse a dataset or a group of raters with the name reserved for all combined."""
    message, remedy = "is reserved for all groups together", "use another name"
    for column in ("dataset", "rater_group"):
        refuse(
            _wrong_cells(ratings, path, ratings[column] == POOLED, column, message, remedy, most=1)
        )


def first_rows(wrong: pd.Series | np.ndarray, most: int = 5) -> list[int]:
    """Return the first rows of an error, by index."""
    return [int(row) for row in np.flatnonzero(np.asarray(wrong, dtype=bool))[:most]]


def _wrong_cells(
    frame: pd.DataFrame,
    path: str,
    wrong: pd.Series | np.ndarray,
    column: str,
    message: str,
    remedy: str,
    most: int = 5,
) -> Iterator[Problem]:
    """Report the first cells of a column with an error, with their values."""
    for row in first_rows(wrong, most):
        value = str(frame.at[row, column])
        yield Problem(path, message, remedy, row=row + 1, column=column, value=value)


def check_ratings(
    ratings: pd.DataFrame,
    *,
    rubrics: Rubrics = (),
    path: str = "<frame>",
) -> pd.DataFrame:
    """Check a frame against the schema and its rubrics, and convert it to normal form.

    Returns
    -------
    pandas.DataFrame
        `RATING_COLUMNS`, sorted by `RATING_KEY`, with a row for each dimension of every judgement.
        A dimension that was not asked has the value given by its rubric, and an empty value is a
        missing judgement. Defaults: ``dataset`` is the benchmark's name, ``rater_kind`` is person,
        and ``repeat`` is 0. The group of a rater that is a model is `MODEL_GROUP` or the model's
        name, and becomes its name: no two models share a group.

    Raises
    ------
    InputError
        For a missing, unknown or duplicate column, a row that violates the schema, or an undeclared
        rubric, dimension, value or group of raters. For a judgement that violates the rubric's
        logic or lacks a dimension. Also for a task with two subjects, or with one too few for its
        rubric. For a rater of two groups, kinds or spellings, or a duplicate row.

    Notes
    -----
    No statistic of the package pools ratings by models with those by people.
    """
    return checked_ratings(ratings, rubrics, path)[0]


def in_normal_form(
    ratings: pd.DataFrame, rubrics: Rubrics = ()
) -> tuple[pd.DataFrame, dict[str, Rubric]]:
    """Return ratings as `checked_ratings`, but rows of a checked table as they are."""
    if set(RATING_COLUMNS) <= set(ratings):
        return ratings, load_rubrics(ratings["rubric"].unique(), rubrics)
    return checked_ratings(ratings, rubrics)


def checked_ratings(
    ratings: pd.DataFrame, rubrics: Rubrics = (), path: str = "<frame>"
) -> tuple[pd.DataFrame, dict[str, Rubric]]:
    """Return ratings in normal form, and their rubrics by name; errors as `check_ratings`."""
    frame = ratings.reset_index(drop=True)
    refuse(column_problems(frame, path))
    fills = {"dataset": frame["benchmark"], "rater_kind": "person", "repeat": 0}
    lacking = [name for name in RATING_COLUMNS if name not in frame]
    frame = frame.assign(**{name: fills.get(name) for name in lacking})
    frame = checked_by_schema(frame, path)
    refuse_pooled(frame, path)
    known = load_rubrics(frame["rubric"].unique(), rubrics)
    columns = {n: Texts.of(frame[n]) for n in RATING_COLUMNS[:-2]}
    # The first rows of each kind of error: a wrong column is wrong in every row.
    for found in (
        value_problems(frame, columns, known, path),
        identity_problems(frame, columns, known, path),
        logic_problems(frame, columns, known, path),
    ):
        refuse(sorted(found, key=lambda p: (p.row or 0, p.column or "")))
    is_model = frame["rater_kind"] == "model"
    frame["rater_group"] = frame["rater_group"].mask(is_model, frame["rater_id"])
    complete = _with_otherwise(frame, columns, known)
    complete = complete[list(RATING_COLUMNS)].sort_values(list(RATING_KEY), ignore_index=True)
    return complete, known


def _with_otherwise(
    frame: pd.DataFrame, columns: Mapping[str, Texts], rubrics: Mapping[str, Rubric]
) -> pd.DataFrame:
    """Add the rows of dimensions that were not asked."""
    rubric, dimension, value = (
        frame[name].to_numpy(dtype=object) for name in ("rubric", "dimension", "value")
    )
    judgement, first = units_of(columns, JUDGEMENT_COLUMNS)
    conditional = [
        (name, question.dimension, question.otherwise, *question.asked_if)
        for name, known in rubrics.items()
        for question in known.questions
        if question.asked_if is not None
    ]
    # Row of `frame`, dimension and value of every row, first the given ones.
    parts: list[tuple[np.ndarray, ...]] = [(np.arange(len(frame)), dimension, value)]
    for name, asked, otherwise, *_ in conditional:
        there = np.zeros(len(first), dtype=bool)
        there[judgement[(rubric == name) & (dimension == asked)]] = True
        rows = first[(rubric[first] == name) & ~there]
        parts.append((rows, *(np.full(len(rows), text, object) for text in (asked, otherwise))))
    rows, dimension, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    rubric, judgement = rubric[rows], judgement[rows]
    # If the question was not asked, an empty value means the same as no row.
    for name, asked, otherwise, other, when in conditional:
        of_other = (rubric == name) & (dimension == other)
        said = np.full(len(first), None, dtype=object)
        said[judgement[of_other]] = value[of_other]
        own = np.flatnonzero((rubric == name) & (dimension == asked))
        given = said[judgement[own]]
        value[own[~np.isin(given, when)]] = otherwise
        value[own[pd.isna(given)]] = None
    return frame.iloc[rows].assign(
        dimension=pd.array(dimension, dtype=frame["dimension"].dtype),
        value=pd.array(value, dtype=frame["value"].dtype),
    )


_NO_TASK = "a task has one item, one model and one dataset"


@dataclass(frozen=True)
class Texts:
    """A column of texts as numbers, which are quick to compare: equal texts have equal ones."""

    number: npt.NDArray[np.int64]
    #: The text of each number, NaN if empty.
    text: list[Any]

    @classmethod
    def of(cls, column: pd.Series) -> Texts:
        number, text = pd.factorize(column, use_na_sentinel=False)
        return cls(number, list(text))

    def isin(self, texts: Collection[str]) -> npt.NDArray[np.bool_]:
        return np.array([text in texts for text in self.text], dtype=bool)[self.number]

    def empty(self) -> npt.NDArray[np.bool_]:
        return np.array([text != text for text in self.text], dtype=bool)[self.number]


def units_of(
    columns: Mapping[str, Texts], names: Iterable[str]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the number of each row's unit, in order of appearance, and each unit's first row."""
    numbers = pd.DataFrame({name: columns[name].number for name in names})
    unit = numbers.groupby(list(numbers), sort=False).ngroup().to_numpy(dtype=np.int64)
    return unit, np.unique(unit, return_index=True)[1]


def value_problems(
    frame: pd.DataFrame, columns: Mapping[str, Texts], rubrics: Mapping[str, Rubric], path: str
) -> Iterator[Problem]:
    """Report dimensions, values and groups of raters that the rubric does not declare."""
    is_model = columns["rater_kind"].isin(["model"])
    # A model forms a separate group: no two models are pooled.
    alone = columns["rater_group"].isin([MODEL_GROUP])
    alone |= (frame["rater_group"] == frame["rater_id"]).to_numpy()
    given = ~columns["value"].empty()
    for name, rubric in rubrics.items():
        own = columns["rubric"].isin([name])
        for column, rows, allowed in (
            ("dimension", own, rubric.dimensions),
            ("rater_group", own & ~is_model, tuple(rubric.rater_groups)),
        ):
            message = f"is not declared by the rubric {name}"
            remedy = f"use one of {', '.join(allowed)}, or declare it in your own rubric"
            undeclared = rows & ~columns[column].isin(allowed)
            yield from _wrong_cells(frame, path, undeclared, column, message, remedy)
        message, remedy = "is a group of people, but the rater is a model", f"use {MODEL_GROUP}"
        of_people = own & is_model & ~alone
        yield from _wrong_cells(frame, path, of_people, "rater_group", message, remedy)
        message = "is the name of a group, but the rater is a model"
        remedy = "give the rater its own name"
        taken = own & is_model & columns["rater_id"].isin((*rubric.rater_groups, MODEL_GROUP))
        yield from _wrong_cells(frame, path, taken, "rater_id", message, remedy)
        for question in rubric.questions:
            message = f"is not a value of {question.dimension} in the rubric {name}"
            remedy = f"use one of {', '.join(question.values)}"
            asked = own & columns["dimension"].isin([question.dimension]) & given
            wrong = asked & ~columns["value"].isin(question.values)
            yield from _wrong_cells(frame, path, wrong, "value", message, remedy)


def identity_problems(
    frame: pd.DataFrame, columns: Mapping[str, Texts], rubrics: Mapping[str, Rubric], path: str
) -> Iterator[Problem]:
    """Report tasks with two subjects, or too few for their rubric, and raters of two groups."""
    unit, first = units_of(columns, ["benchmark", "rubric", "task_id"])
    for column in ("dataset", *SUBJECT_COLUMNS):
        number, texts = columns[column].number, columns[column].text
        for row in first_rows(number != number[first][unit], 1):
            other = texts[number[first[unit[row]]]]
            value = f"{frame.at[row, column]}, and {'none' if pd.isna(other) else other}"
            message, remedy = f"{_NO_TASK}, but this task has two", "give each its own task_id"
            yield Problem(path, message, remedy, row=row + 1, column=column, value=value)
    unit, first = units_of(columns, ["rater_id"])
    for column in ("rater_kind", "rater_group"):
        number = columns[column].number
        for row in first_rows(number != number[first][unit], 1):
            value = f"{frame.at[row, column]}, and {frame.at[first[unit[row]], column]}"
            message = f"the rater {frame.at[row, 'rater_id']} has two"
            yield Problem(
                path, message, "give each rater only one", row=row + 1, column=column, value=value
            )
    spelled: dict[str, str] = {}
    for name in columns["rater_id"].text:
        # One rater under five names would count as five, who agree.
        if (other := spelled.setdefault(fold_name(name), name)) != name:
            row = first_rows(columns["rater_id"].isin([name]), 1)[0] + 1
            message = f"look the same to a reader: {other!r} and {name!r}"
            remedy = "if they are the same, write them the same way; if not, rename one"
            yield Problem(path, message, remedy, row=row, column="rater_id")
    unit, first = units_of(columns, ["benchmark", *JUDGEMENT_COLUMNS[2:]])
    for column in ("duration_s", "swapped"):
        filled = frame[column].to_numpy(dtype=np.float64, na_value=-1)
        message, remedy = "a judgement has only one", "write the same in all of its rows"
        two = filled != filled[first][unit]
        yield from _wrong_cells(frame, path, two, column, message, remedy, most=1)
    for column, kind, own in (
        ("item_id_2", "items", "item_id"),
        ("model_2", "models", "model"),
    ):
        needed = columns["rubric"].isin([n for n, r in rubrics.items() if r.compares == kind])
        there = ~columns[column].empty()
        for row in first_rows(needed & (~there | columns[own].empty()), 1):
            message = (
                f"the rubric {frame.at[row, 'rubric']} compares {kind}, so each task needs two"
            )
            yield Problem(path, message, f"fill in {own} and {column}", row=row + 1, column=column)
        same, message = needed & (frame[column] == frame[own]).to_numpy(), f"is the same as {own}"
        yield from _wrong_cells(frame, path, same, column, message, "give another", most=1)
        for row in first_rows(~needed & there, 1):
            message = f"the rubric {frame.at[row, 'rubric']} does not compare {kind}"
            value = str(frame.at[row, column])
            yield Problem(path, message, "leave it empty", row=row + 1, column=column, value=value)


def logic_problems(
    frame: pd.DataFrame, columns: Mapping[str, Texts], rubrics: Mapping[str, Rubric], path: str
) -> Iterator[Problem]:
    """Report judgements that lack a dimension, or violate the rubric's order of questions."""
    judgement, first_row = units_of(columns, JUDGEMENT_COLUMNS)
    empty = columns["value"].empty()
    for name, rubric in rubrics.items():
        own = columns["rubric"].isin([name])
        first = first_row[own[first_row]]
        # The row of each judgement's dimension, −1 if it has none.
        rows = {}
        for dimension in rubric.dimensions:
            its = np.flatnonzero(own & columns["dimension"].isin([dimension]))
            row_of = np.full(len(first_row), -1)
            row_of[judgement[its]] = its
            rows[dimension] = row_of[judgement[first]]
        for question in rubric.questions:
            its = rows[question.dimension]
            asked = np.ones(len(first), dtype=bool)
            if question.asked_if is not None:
                other, when = question.asked_if
                of_other = rows[other]
                asked = (of_other >= 0) & columns["value"].isin(when)[of_other]
                breaks = ~asked & (its >= 0) & ~empty[its]
                breaks &= ~columns["value"].isin([str(question.otherwise)])[its]
                for row, at in zip(its[breaks][:5], of_other[breaks], strict=False):
                    known = at >= 0 and not empty[at]
                    says = frame.at[at, "value"] if known else f"no value for {other}"
                    message = (
                        f"contradicts the rubric {name}: the question is asked only if {other} "
                        f"is {' or '.join(when)}, and this rater has {says}"
                    )
                    remedy = f"correct {other}, or write {question.otherwise} here"
                    shown = str(frame.at[row, "value"])
                    yield Problem(
                        path,
                        message,
                        remedy,
                        row=int(row) + 1,
                        column=question.dimension,
                        value=shown,
                    )
            for row in first[(its < 0) & asked][:5]:
                message = f"the judgement has no row for the dimension {question.dimension}"
                remedy = "add the row, with an empty value if it was not answered"
                value = f"{frame.at[row, 'task_id']} by {frame.at[row, 'rater_id']}"
                yield Problem(
                    path, message, remedy, row=int(row) + 1, column="dimension", value=value
                )
