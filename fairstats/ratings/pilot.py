"""Study design from a pilot: the variation between items and between raters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairstats.inference.variance_components import variance_components
from fairstats.ratings.pooling import in_order, with_event, with_pooled
from fairstats.ratings.rubrics import Rubrics, load_rubrics

_UNIT = ("benchmark", "dataset", "rubric", "rater_kind", "rater_group", "dimension")
#: Columns of the table from `design_from`, in order.
DESIGN_COLUMNS = (
    *_UNIT,
    "rate",
    "item_icc",
    "rater_icc",
    "rater_sd",
    "raters_per_item",
    "ratings_per_rater",
    "design_effect",
    "n_items",
    "n_raters",
    "n_ratings",
    "method_note",
)


def design_from(ratings: pd.DataFrame, *, rubrics: Rubrics = ()) -> pd.DataFrame:
    """Estimate the inputs of `plan_ratings` from a pilot's ratings.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings in normal form.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        One row per dimension of each benchmark, dataset, rubric, kind and group of raters (with
        ``pooled``), columns `DESIGN_COLUMNS`: the rate of ratings that report, the shares of the
        variance due to items (tasks, i.e. answers) and to raters, the raters' standard deviation,
        the mean numbers of ratings per item and per rater, and the design effect of a study like
        this one. A share is NaN if the ratings do not identify it (one rating per item or per
        rater, no variance); ``method_note`` gives the reason.

    Raises
    ------
    InputError
        If a rubric is unknown, or a dataset or group of raters is called ``pooled``.

    Notes
    -----
    Variances are by Henderson's Method I (`fairstats.inference.variance_components`). Those below 0
    are set to 0 and named in ``method_note``. With few items or raters they are rough.

    References
    ----------
    Henderson (1953), Biometrics 9:226-252; Kish (1965), Survey Sampling, section 8.2.

    Examples
    --------
    >>> from fairstats.ratings.table import check_ratings
    >>> row = dict(benchmark="demo", rubric="triage", rater_group="physician")
    >>> said = {"a": "yyn", "b": "ynn", "c": "yyy", "d": "nnn"}
    >>> rows = [row | dict(task_id=i, item_id=i, rater_id=f"r{r}", dimension=d,
    ...                    value="yes" if v == "y" else "no")
    ...         for i, text in said.items() for r, v in enumerate(text)
    ...         for d in ("manage", "visit", "resource")]
    >>> row = design_from(check_ratings(pd.DataFrame(rows))).iloc[0]
    >>> [round(float(row[name]), 3) for name in ("rate", "item_icc", "rater_icc")]
    [0.5, 0.455, 0.091]
    """
    known = load_rubrics(ratings["rubric"].unique(), rubrics)
    frame = with_event(ratings, known, about=("bias", "context"))
    judged = with_pooled(frame[frame["reported"].notna()])
    rows = []
    for key, own in judged.groupby(list(_UNIT), sort=False):
        rows.append(dict(zip(_UNIT, key, strict=True)) | _design_of(own))
    table = pd.DataFrame(rows, columns=list(DESIGN_COLUMNS))
    return in_order(table, _UNIT, frame["dimension"].unique())


def _design_of(own: pd.DataFrame) -> dict[str, Any]:
    found = variance_components(own["reported"], own["task_id"], own["rater_id"])
    n, n_items, n_raters = len(own), own["task_id"].nunique(), own["rater_id"].nunique()
    item_icc, rater_icc = found.item_icc, found.rater_icc
    # With unequal numbers, a rating is on average in a group of Σ n² / n ratings of its item,
    # including itself.
    each_item, each_rater = (
        float((own.groupby(name).size() ** 2).sum() / n) for name in ("task_id", "rater_id")
    )
    below = [
        f"the variance of {name} is estimated below 0 and set to 0"
        for name, value in (("items", found.item), ("raters", found.rater))
        if value < 0
    ]
    if own["reported"].nunique() < 2:
        below = ["all ratings are the same"]
    elif np.isnan(item_icc) or np.isnan(rater_icc):
        unknown = [w for w, v in (("items", item_icc), ("raters", rater_icc)) if np.isnan(v)]
        below.append(
            f"the variance of {' and '.join(unknown)} cannot be estimated from these ratings"
        )
    rate = float(own["reported"].mean())
    return {
        "rate": rate,
        "item_icc": item_icc,
        "rater_icc": rater_icc,
        "rater_sd": float(np.sqrt(rater_icc * rate * (1 - rate))),
        "raters_per_item": n / n_items,
        "ratings_per_rater": n / n_raters,
        "design_effect": 1 + (each_item - 1) * item_icc + (each_rater - 1) * rater_icc,
        "n_items": n_items,
        "n_raters": n_raters,
        "n_ratings": n,
        "method_note": "; ".join(below),
    }
