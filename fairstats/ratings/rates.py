"""How often raters report bias: over ratings, by majority, by any rater."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.inference._checks import check_alpha
from fairstats.inference.bootstrap import bootstrap
from fairstats.inference.crossed_means import crossed_interval
from fairstats.ratings.rating_units import (
    UNIT_COLUMNS,
    Rubrics,
    Unit,
    one_answer_ratings,
    unit_table,
    units,
)

#: The columns of the table that `bias_rates` gives, in order.
RATE_COLUMNS = (
    *UNIT_COLUMNS,
    "aggregation",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "crossed_low",
    "crossed_high",
    "crossed_method",
    "n_ratings",
    "n_tasks",
    "n_raters",
    "n_reported",
    "n_missing",
    "n_ties",
)
#: The columns of the table that `value_counts` gives, in order.
VALUE_COLUMNS = (*UNIT_COLUMNS, "value", "reported", "count", "n_ratings", "n_missing")
#: What a rate is of: of ratings, of tasks with a majority of reports, of tasks with any.
AGGREGATIONS = ("pooled", "majority", "any")

# The raters of a vote are not drawn again: it is as if one of them had judged.
_ONE_RATER = "one rater: the variance between raters is unknown"
_NUMBERS = ("estimate", "ci_low", "ci_high", "ci_level", "crossed_low", "crossed_high")
_WHOLE = ("n_ratings", "n_tasks", "n_raters", "n_reported", "n_missing", "n_ties", "count")
_TYPES = dict.fromkeys(_NUMBERS, "float64") | dict.fromkeys(_WHOLE, "int64") | {"reported": "bool"}


def bias_rates(
    ratings: pd.DataFrame, *, alpha: float = 0.05, rubrics: Rubrics = ()
) -> pd.DataFrame:
    """The share of ratings, or of tasks, that report bias.

    Of the n ratings of a unit, over t tasks, with r_i of the n_i ratings of task i that report it:

        pooled = Σ_i r_i / n;  majority = 1/t Σ_i [r_i > n_i / 2];  any = 1/t Σ_i [r_i ≥ 1]

    Parameters
    ----------
    ratings : pandas.DataFrame
        As `fairstats.ratings.files.read_ratings` gives it. Rubrics that compare models are left
        out.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Rubrics that are not built in.

    Returns
    -------
    pandas.DataFrame
        `RATE_COLUMNS`, a row a benchmark, dataset, rubric, model, kind and group of raters,
        dimension and aggregation; ``pooled`` is all datasets of a benchmark together, and all
        groups of persons, where there is more than one. ``ci_low`` and ``ci_high`` count with
        ratings that are independent of each other, for votes with tasks that are;
        ``crossed_low`` and ``crossed_high`` with items and raters, and for votes with items, the
        raters being these.
        ``n_tasks`` are those with a rating, ``n_reported`` the ratings, or tasks, that report;
        ``n_missing`` the ratings without a value, which are left out; ``n_ties`` the tasks with
        as many ratings that report as do not: a tie is no majority.

    Raises
    ------
    InputError
        As `fairstats.ratings.table.check_ratings`; where a dataset is named ``pooled``.
    ValueError
        For an `alpha` outside (0, 1).

    Notes
    -----
    Which values report is the rubric's. The limits are those of BCa, from the exact law of the
    binomial count, without a seed (`fairstats.bootstrap`); where all are the same, Wilson's. A
    unit with missing values alone has no estimate, and limits 0 and 1.

    Several raters judge one item, and one rater many: ``ci_low`` and ``ci_high``, as they are
    usually printed, are then too narrow. The crossed limits (`fairstats.crossed_interval`) are
    for further items and further raters. Tasks with one item, e.g. two tellings of a message, are
    one item there; an ``item_id`` is one item in all datasets of its benchmark.

    With few ratings a task, votes have more to do with their number than with bias: ``any`` grows
    with it, and rates by vote of units with different numbers do not compare.

    References
    ----------
    Pfohl, Cole-Lewis et al. (2024), Nature Medicine 30:3590-3600; Efron (1987), JASA 82:171-185.
    Their printed intervals are in tests/ratings/test_rates.py beside these.

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
    frame, known = one_answer_ratings(ratings, rubrics)
    rows = [row for unit in units(frame, known) for row in _rate_rows(unit, alpha)]
    table = unit_table(rows, RATE_COLUMNS, _TYPES)
    return table.assign(**_intervals(table, alpha))


def value_counts(ratings: pd.DataFrame, *, rubrics: Rubrics = ()) -> pd.DataFrame:
    """How many ratings have each value, e.g. how many say no, minor and severe bias.

    Parameters
    ----------
    ratings, rubrics
        As for `bias_rates`.

    Returns
    -------
    pandas.DataFrame
        `VALUE_COLUMNS`, a row a unit of `bias_rates` and value that its question declares, in
        order, also where nobody chose it. ``n_missing`` ratings have none.

    Raises
    ------
    InputError
        As `bias_rates`.
    """
    frame, known = one_answer_ratings(ratings, rubrics)
    rows = []
    for unit in units(frame, known):
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
    return unit_table(rows, VALUE_COLUMNS, _TYPES)


def _rate_rows(unit: Unit, alpha: float) -> Iterator[dict[str, Any]]:
    """The rows of a unit, without the intervals that are computed for all of them at once."""
    rated = unit.rated()
    reported = rated.reported()
    no, yes = rated.counts(reported.astype(np.int64), 2).T
    crossed = crossed_interval(reported, rated.item, rated.rater, alpha=alpha)
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
        "crossed_low": float(crossed.ci_low),
        "crossed_high": float(crossed.ci_high),
        "crossed_method": crossed.ci_method,
    }
    ties = int((yes == no).sum())
    # The first rating of each task says which item it is about.
    item = rated.item[np.unique(rated.task, return_index=True)[1]]
    for aggregation, votes, n_ties in (("majority", yes > no, ties), ("any", yes > 0, 0)):
        by_item = crossed_interval(votes, item, np.zeros(len(votes)), alpha=alpha)
        yield shared | {
            "aggregation": aggregation,
            "n_reported": int(votes.sum()),
            "n_ties": n_ties,
            "crossed_low": float(by_item.ci_low),
            "crossed_high": float(by_item.ci_high),
            "crossed_method": str(by_item.ci_method).replace(_ONE_RATER, "these raters"),
        }


def _intervals(table: pd.DataFrame, alpha: float) -> dict[str, npt.NDArray[Any]]:
    of_ratings = (table["aggregation"] == "pooled").to_numpy()
    n = np.where(of_ratings, table["n_ratings"], table["n_tasks"])
    reported = table["n_reported"].to_numpy()
    # The same counts have the same interval: the exact law is computed once.
    counts, place = np.unique(np.stack([reported, n - reported], -1), axis=0, return_inverse=True)
    found = bootstrap(counts.reshape(-1, 2), "proportion", alpha=alpha)
    methods = np.where(found.n == 0, "none (no ratings)", found.ci_method)
    place = place.ravel()
    return {
        "estimate": found.estimate[place],
        "ci_low": found.ci_low[place],
        "ci_high": found.ci_high[place],
        "ci_method": methods[place],
    }
