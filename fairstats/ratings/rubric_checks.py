"""Check ratings against their rubrics: values, tasks, raters, and which questions were asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import Problem
from fairstats._lib.row_groups import group_rows
from fairstats.ratings.rubrics import Rubric
from fairstats.ratings.schema import JUDGEMENT_COLUMNS, MODEL_GROUP, SUBJECT_COLUMNS, first_rows

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
    return group_rows(columns[name].number for name in names)


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
            for row in first_rows(rows & ~columns[column].isin(allowed)):
                remedy = f"use one of {', '.join(allowed)}, or declare it in your own rubric"
                value = str(frame.at[row, column])
                message = f"is not declared by the rubric {name}"
                yield Problem(path, message, remedy, row=row + 1, column=column, value=value)
        for row in first_rows(own & is_model & ~alone):
            value = str(frame.at[row, "rater_group"])
            message, remedy = "is a group of people, but the rater is a model", f"use {MODEL_GROUP}"
            yield Problem(path, message, remedy, row=row + 1, column="rater_group", value=value)
        taken = (*rubric.rater_groups, MODEL_GROUP)
        for row in first_rows(own & is_model & columns["rater_id"].isin(taken)):
            value = str(frame.at[row, "rater_id"])
            message = "is the name of a group, but the rater is a model"
            remedy = "give the rater its own name"
            yield Problem(path, message, remedy, row=row + 1, column="rater_id", value=value)
        for question in rubric.questions:
            asked = own & columns["dimension"].isin([question.dimension]) & given
            for row in first_rows(asked & ~columns["value"].isin(question.values)):
                message = f"is not a value of {question.dimension} in the rubric {name}"
                remedy = f"use one of {', '.join(question.values)}"
                value = str(frame.at[row, "value"])
                yield Problem(path, message, remedy, row=row + 1, column="value", value=value)


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
    unit, first = units_of(columns, ["benchmark", *JUDGEMENT_COLUMNS[2:]])
    for column in ("duration_s", "swapped"):
        filled = frame[column].to_numpy(dtype=np.float64, na_value=-1)
        for row in first_rows(filled != filled[first][unit], 1):
            value, remedy = str(frame.at[row, column]), "write the same in all of its rows"
            yield Problem(
                path, "a judgement has only one", remedy, row=row + 1, column=column, value=value
            )
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
        for row in first_rows(needed & (frame[column] == frame[own]).to_numpy(), 1):
            message, value = f"is the same as {own}", str(frame.at[row, column])
            yield Problem(path, message, "give another", row=row + 1, column=column, value=value)
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
