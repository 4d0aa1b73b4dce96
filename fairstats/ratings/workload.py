"""Each rater's number of judgements, time needed, and share of reports."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairstats.ratings.rating_units import unit_table
from fairstats.ratings.rubrics import Rubric, Rubrics
from fairstats.ratings.schema import JUDGEMENT_COLUMNS, TASK_COLUMNS
from fairstats.ratings.table import checked_ratings

#: Columns of the table from `workload`, in order.
WORKLOAD_COLUMNS = (
    "benchmark",
    "rubric",
    "rater_id",
    "rater_kind",
    "rater_group",
    "n_judgements",
    "n_tasks",
    "n_repeats",
    "n_timed",
    "duration_s",
    "median_duration_s",
    "dimension",
    "n_ratings",
    "n_reported",
    "n_missing",
    "share_reported",
)
#: Value of the column dimension if a rubric does not ask for `BIAS`.
ALL_DIMENSIONS = "all"
BIAS = "bias"

_RATER = ["benchmark", "rubric", "rater_id", "rater_kind", "rater_group"]
_WHOLE = (
    "n_judgements",
    "n_tasks",
    "n_repeats",
    "n_timed",
    "n_ratings",
    "n_reported",
    "n_missing",
)
_NUMBERS = ("duration_s", "median_duration_s", "share_reported")
_TYPES = dict.fromkeys(_WHOLE, "int64") | dict.fromkeys(_NUMBERS, "float64")


def workload(ratings: pd.DataFrame, *, rubrics: Rubrics = ()) -> pd.DataFrame:
    """Summarise each rater's work by rubric.

    Parameters
    ----------
    ratings : pandas.DataFrame
        As returned by `fairstats.ratings.files.read_ratings`; of all rubrics.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        `WORKLOAD_COLUMNS`, one row per benchmark, rubric and rater. ``n_repeats`` counts the
        judgements beyond the first of a task. ``n_timed`` counts those with a duration; their sum
        and median are NaN if there are none. ``share_reported`` is for the ratings of
        ``dimension``: ``bias``, or ``all`` dimensions if the rubric does not ask for bias. In a
        comparison of models, it is how often the rater sees a difference.

    Raises
    ------
    InputError
        As `fairstats.ratings.table.check_ratings`.

    Examples
    --------
    >>> ratings = pd.DataFrame([
    ...     dict(benchmark="b", rubric="triage", task_id=task, item_id=task, rater_id="a",
    ...          rater_group="physician", dimension=dimension, value="yes", duration_s=seconds)
    ...     for task, seconds in (("t1", 40), ("t2", 60))
    ...     for dimension in ("manage", "visit", "resource")])
    >>> row = workload(ratings).iloc[0]
    >>> int(row["n_judgements"]), float(row["median_duration_s"]), float(row["share_reported"])
    (2, 50.0, 1.0)
    """
    return workload_of(*checked_ratings(ratings, rubrics))


def workload_of(ratings: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """Return `workload` of checked ratings."""
    judgements = ratings.drop_duplicates(list(JUDGEMENT_COLUMNS))
    tasks = judgements.drop_duplicates([*TASK_COLUMNS, "rater_id"])
    of_rater = judgements.groupby(_RATER)
    table = of_rater.size().rename("n_judgements").to_frame()
    table["n_tasks"] = tasks.groupby(_RATER).size()
    table["n_repeats"] = table["n_judgements"] - table["n_tasks"]
    table["n_timed"] = of_rater["duration_s"].count()
    table["duration_s"] = of_rater["duration_s"].sum(min_count=1)
    # Without durations the median is NaN, and pandas gives no warning.
    table["median_duration_s"] = of_rater["duration_s"].median()
    table = table.join(_reports(ratings, rubrics)).reset_index()
    return unit_table(table.to_dict("records"), WORKLOAD_COLUMNS, _TYPES)


def _reports(frame: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """Return how often each rater reports on the bias dimension, or on any."""
    of = {
        name: BIAS if BIAS in rubric.dimensions else ALL_DIMENSIONS
        for name, rubric in rubrics.items()
    }
    reports = {
        (name, question.dimension, value)
        for name, rubric in rubrics.items()
        for question in rubric.questions
        for value in question.reported
    }
    dimension = frame["rubric"].map(of)
    own = frame[(dimension == ALL_DIMENSIONS) | (dimension == frame["dimension"])]
    said = pd.MultiIndex.from_frame(own[["rubric", "dimension", "value"]])
    counted = own[_RATER].assign(
        n_ratings=own["value"].notna().astype("int64"),
        n_reported=said.isin(list(reports)).astype("int64"),
        n_missing=own["value"].isna().astype("int64"),
    )
    table = counted.groupby(_RATER).sum()
    ratings, reported = table["n_ratings"].to_numpy(), table["n_reported"].to_numpy()
    share = np.divide(reported, ratings, out=np.full(len(table), np.nan), where=ratings > 0)
    names = table.index.get_level_values("rubric")
    return table.assign(share_reported=share, dimension=names.map(of))
