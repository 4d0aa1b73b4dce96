"""The ratings table: one row per judgement of one dimension, checked against its rubric.

A *judgement* is one rater's assessment of one task: one row per dimension of the rubric. Dimensions
that were not asked have the value given by the rubric for that case. So every statistic is a simple
count of values.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairstats._lib.problems import InputError
from fairstats.ratings.rubric_checks import (
    Texts,
    identity_problems,
    logic_problems,
    units_of,
    value_problems,
)
from fairstats.ratings.rubrics import Rubric, Rubrics, load_rubrics
from fairstats.ratings.schema import (
    JUDGEMENT_COLUMNS,
    RATING_COLUMNS,
    RATING_KEY,
    checked_by_schema,
    column_problems,
    refuse_pooled,
)


def check_ratings(
    ratings: pd.DataFrame,
    *,
    rubrics: Rubrics = (),
    path: str = "<frame>",
) -> pd.DataFrame:
    """Check a frame against the schema and its rubrics, and convert it to normal form.

    Parameters
    ----------
    ratings : pandas.DataFrame
        The rows to check, with at least `REQUIRED_RATING_COLUMNS`; not changed.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.
    path : str
        The file name used in problems.

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
        rubric. For a rater of two groups or kinds, or a duplicate row.

    Notes
    -----
    No statistic of the package pools ratings by models with those by people.
    """
    return checked_ratings(ratings, rubrics, path)[0]


def checked_ratings(
    ratings: pd.DataFrame, rubrics: Rubrics = (), path: str = "<frame>"
) -> tuple[pd.DataFrame, dict[str, Rubric]]:
    """Return ratings in normal form, and their rubrics by name; errors as `check_ratings`."""
    frame = ratings.reset_index(drop=True)
    if problems := list(column_problems(frame, path)):
        raise InputError(problems)
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
        if problems := list(found):
            raise InputError(sorted(problems, key=lambda p: (p.row or 0, p.column or "")))
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
