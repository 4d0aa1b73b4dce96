"""Rates of reported bias: over ratings, by majority, and by any rater; corrected for a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.inference._checks import check_alpha
from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.inference.ppi import ppi_mean
from fairstats.ratings.pooling import (
    CROSSED_COLUMNS,
    FIGURE_COLUMNS,
    UNIT_COLUMNS,
    WITHIN,
    Unit,
    crossed_limits,
    linked_items,
    of_one_answer,
    unit_table,
    units,
    with_event,
    with_pooled,
    without_empty_models,
)
from fairstats.ratings.rubrics import Rubric, Rubrics
from fairstats.ratings.table import checked_ratings

#: Columns of the table from `bias_rates`, in order.
RATE_COLUMNS = (
    *(*UNIT_COLUMNS, "aggregation", *FIGURE_COLUMNS, *CROSSED_COLUMNS),
    *("n_ratings", "n_tasks", "n_raters", "n_reported", "n_missing", "n_ties"),
)
#: Columns of the table from `value_counts`, in order.
VALUE_COLUMNS = (*UNIT_COLUMNS, "value", "reported", "count", "n_ratings", "n_missing")
#: The unit of a rate: ratings, tasks with a majority of reports, or tasks with any report.
AGGREGATIONS = ("pooled", "majority", "any")

# The raters of a vote are not resampled, so the result is like that of a single rater, in the words
# of `crossed_limits`.
_ONE_RATER = "one rater: the variance between raters is unknown"
_EQUAL_OF_ONE = "all ratings are equal; one rater"


def bias_rates(
    ratings: pd.DataFrame, *, alpha: float = 0.05, rubrics: Rubrics = ()
) -> pd.DataFrame:
    """Compute the share of ratings, or of tasks, that report bias.

    A unit has n ratings over t tasks, and r_i of the n_i ratings of task i report bias:

        pooled = Σ_i r_i / n;  majority = 1/t Σ_i [r_i > n_i / 2];  any = 1/t Σ_i [r_i ≥ 1]

    Parameters
    ----------
    ratings : pandas.DataFrame
        As returned by `fairstats.ratings.files.read_ratings`. Rubrics that compare models are left
        out.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        `RATE_COLUMNS`, one row per benchmark, dataset, rubric, model, kind and group of raters,
        dimension and aggregation. ``pooled`` combines all datasets of a benchmark, and all groups
        of persons, if there are several. ``ci_low`` and ``ci_high`` treat ratings (for votes:
        tasks) as independent. ``crossed_low`` and ``crossed_high`` allow for items and raters, and
        for votes only for items, with these raters. ``n_tasks`` is the number of tasks with a
        rating. ``n_reported`` is the number of ratings, or tasks, that report. ``n_missing`` is the
        number of ratings without a value, which are left out. ``n_ties`` is the number of tasks
        with as many ratings that report as do not; a tie is not a majority.

    Raises
    ------
    InputError
        As `fairstats.ratings.table.check_ratings`; also if a dataset is named ``pooled``.
    ValueError
        For an `alpha` outside (0, 1).

    Notes
    -----
    The rubric defines which values count as reports. The limits are BCa, from the exact
    distribution of the binomial count, without a seed (`fairstats.bootstrap`). If all values are
    equal, they are Wilson's. A unit with only missing values has no estimate, and limits 0 and 1.

    Several raters judge one item, and one rater judges many. The usual published limits, ``ci_low``
    and ``ci_high``, are then too narrow. The crossed limits (`crossed_interval`) are for
    further items and further raters. Tasks with the same item, e.g. two versions of a message,
    count as one item there. An ``item_id`` is the same item in all datasets of its benchmark.

    With few ratings per task, votes depend more on the number of ratings than on bias: ``any``
    grows with it. So rates by vote cannot be compared between units with different numbers.

    References
    ----------
    Pfohl, Cole-Lewis et al. (2024), Nature Medicine 30:3590-3600; Efron (1987), JASA 82:171-185.
    Their published intervals are compared with these in tests/ratings/test_rates.py.

    Examples
    --------
    >>> ratings = pd.DataFrame([
    ...     dict(benchmark="b", rubric="triage", task_id=task, item_id=task, rater_id=rater,
    ...          rater_group="physician", dimension=dimension, value=value)
    ...     for task, values in (("t1", "yyn"), ("t2", "nnn"), ("t3", "ynn"))
    ...     for rater, sign in zip("abc", values) for value in [{"y": "yes", "n": "no"}[sign]]
    ...     for dimension in ("manage", "visit", "resource")])
    >>> rates = bias_rates(ratings)
    >>> rates.loc[rates["dimension"] == "manage", "estimate"].round(3).tolist()
    [0.333, 0.333, 0.667]
    """
    alpha = check_alpha(alpha)
    return rates_of(*checked_ratings(ratings, rubrics), alpha)


def rates_of(ratings: pd.DataFrame, rubrics: Mapping[str, Rubric], alpha: float) -> pd.DataFrame:
    """Return `bias_rates` of checked ratings."""
    own = units(*of_one_answer(ratings, rubrics))
    rows = [row for unit in own for row in _rate_rows(unit, alpha)]
    table = unit_table(rows, RATE_COLUMNS)
    return table.assign(**_intervals(table, alpha))


def value_counts(ratings: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """Count the ratings with each value, e.g. no, minor and severe bias.

    Returns
    -------
    pandas.DataFrame
        `VALUE_COLUMNS`, one row per unit of `bias_rates` and declared value of its question, in
        order, including values that were never chosen. ``n_missing`` is the number of ratings
        without a value.
    """
    rows = []
    for unit in units(*of_one_answer(ratings, rubrics)):
        rated = unit.rated()
        counts = np.bincount(rated.value, minlength=len(unit.question.choices))
        rows += [
            unit.names
            | {
                "value": choice.value,
                "reported": choice.reported,
                "count": int(count),
                "n_ratings": len(rated.value),
                "n_missing": unit.n_missing,
            }
            for choice, count in zip(unit.question.choices, counts, strict=True)
        ]
    return unit_table(rows, VALUE_COLUMNS)


def _rate_rows(unit: Unit, alpha: float) -> Iterator[dict[str, Any]]:
    """Return the rows of a unit, without the intervals that are computed for all units at once."""
    rated = unit.rated()
    reported = rated.reported()
    no, yes = rated.counts(reported.astype(np.int64), 2).T
    shared = unit.names | {
        "ci_level": 1 - alpha,
        "n_ratings": len(reported),
        "n_tasks": len(yes),
        "n_raters": len(np.unique(rated.rater)),
        "n_missing": unit.n_missing,
        "n_ties": 0,
    }
    yield shared | {
        "aggregation": "pooled",
        "n_reported": int(reported.sum()),
        **crossed_limits(reported, rated.item, rated.rater, alpha=alpha),
    }
    ties = int((yes == no).sum())
    # The first rating of each task gives its item.
    item = rated.item[np.unique(rated.task, return_index=True)[1]]
    for aggregation, votes, n_ties in (("majority", yes > no, ties), ("any", yes > 0, 0)):
        by_item = crossed_limits(votes, item, np.zeros(len(votes)), alpha=alpha)
        method = by_item["crossed_method"].replace(_ONE_RATER, "these raters")
        yield shared | {
            "aggregation": aggregation,
            "n_reported": int(votes.sum()),
            "n_ties": n_ties,
            **by_item,
            "crossed_method": method.replace(_EQUAL_OF_ONE, "all votes are equal"),
        }


def _intervals(table: pd.DataFrame, alpha: float) -> dict[str, npt.NDArray[Any]]:
    of_ratings = (table["aggregation"] == "pooled").to_numpy()
    n = np.where(of_ratings, table["n_ratings"], table["n_tasks"])
    reported = table["n_reported"].to_numpy()
    # Equal counts have equal intervals, so each exact distribution is computed once.
    counts, place = np.unique(np.stack([reported, n - reported], -1), axis=0, return_inverse=True)
    found = bootstrap_counts(counts.reshape(-1, 2), "proportion", alpha=alpha)
    methods = np.where(found.n == 0, "none (no ratings)", found.method)
    place = place.ravel()
    return {
        "estimate": found.estimate[place],
        "ci_low": found.ci_low[place],
        "ci_high": found.ci_high[place],
        "ci_method": methods[place],
    }


#: Columns of the table from `judged_rates`, in order.
JUDGED_COLUMNS = (
    *("benchmark", "dataset", "rubric", "model", "dimension", "rater_group", "judge"),
    *FIGURE_COLUMNS,
    *("people_rate", "people_low", "people_high", "judge_rate", "judge_bias", "correlation"),
    *("weight", "n_effective", "n_people", "n_items", "n_not_judged"),
)
_UNIT = ("benchmark", "dataset", "rubric", "model", "dimension")


def judged_rates(
    ratings: pd.DataFrame, *, alpha: float = 0.05, rubrics: Rubrics = ()
) -> pd.DataFrame:
    """Estimate rates of people's ratings from a judge's ratings of all items and people's of some.

    For each judge, the share of people's ratings that report bias, as a mean over items, by
    `ppi_mean`. The judge's errors are measured on the items that both rated, and removed.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings by people and by models, as returned by `read_ratings`. Items are matched by
        ``item_id`` (and ``item_id_2``), so task ids need not be the same.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        `JUDGED_COLUMNS`, one row per benchmark, dataset, rubric, model, dimension, group of people
        (``pooled`` for all) and judge. ``people_rate`` with its limits uses people's ratings alone.
        ``judge_bias`` is the mean of judge − people on the ``n_people`` items that both rated, and
        ``n_items`` the number that the judge rated. ``n_not_judged`` items have ratings by people
        only, and are left out.

    Raises
    ------
    InputError
        As `bias_rates`.
    ValueError
        For an `alpha` outside (0, 1).

    Notes
    -----
    The items that people rated must be a random subset of those that the judge rated. The ratings
    of an item by several people, or by a judge several times, are averaged. Items that share a text
    in pairs count as one.

    References
    ----------
    Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453; see `ppi_mean`.

    Examples
    --------
    >>> row = dict(benchmark="b", rubric="triage")
    >>> def rated(rater, kind, group, values):
    ...     return [row | dict(task_id=f"t{i}", item_id=f"q{i}", rater_id=rater, rater_kind=kind,
    ...                        rater_group=group, dimension=dimension, value=value)
    ...             for i, sign in enumerate(values) for value in ["yes" if sign == "1" else "no"]
    ...             for dimension in ("manage", "visit", "resource")]
    >>> people = rated("p1", "person", "physician", "11010010")
    >>> judge = rated("m", "model", "model", "1111001010" * 4)
    >>> row = judged_rates(pd.DataFrame(people + judge)).iloc[0]
    >>> [round(float(row[name]), 3) for name in ("judge_rate", "people_rate", "estimate")]
    [0.6, 0.5, 0.48]
    """
    alpha = check_alpha(alpha)
    frame, known = of_one_answer(*checked_ratings(ratings, rubrics))
    frame = with_event(frame, known, about=("bias", "context"))
    frame = frame.assign(unit=linked_items(frame), model=frame["model"].fillna(""))
    rows = with_pooled(frame[frame["reported"].notna()], WITHIN)
    found = [
        dict(zip(_UNIT, key, strict=True)) | row
        for key, own in rows.groupby(list(_UNIT), sort=False)
        for row in _rows(own, alpha)
    ]
    table = pd.DataFrame(found, columns=list(JUDGED_COLUMNS))
    return without_empty_models(table)


def _rows(own: pd.DataFrame, alpha: float) -> Iterator[dict[str, Any]]:
    is_model = own["rater_kind"] == "model"
    for group, people in own[~is_model].groupby("rater_group", sort=False):
        person = people.groupby("unit")["reported"].mean()
        for judge, judged in own[is_model].groupby("rater_id", sort=False):
            other = judged.groupby("unit")["reported"].mean()
            both = person.reindex(other.index)
            found = ppi_mean(both, other, alpha=alpha)
            alone = ppi_mean(both, other * 0, alpha=alpha)
            yield found.to_row() | {
                "rater_group": group,
                "judge": judge,
                "people_rate": found.people,
                "people_low": alone.ci_low,
                "people_high": alone.ci_high,
                "judge_rate": found.judge,
                "judge_bias": found.bias,
                "n_items": found.n,
                "n_not_judged": int((~person.index.isin(other.index)).sum()),
            }
