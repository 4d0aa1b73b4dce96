"""Pooling of ratings: each dataset and group of raters, and all of them combined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats.benchmarks.declaration import POOLED
from fairstats.inference.crossed_means import crossed_interval
from fairstats.ratings.rubrics import Compares, Rubric, Rubrics, load_rubrics

#: Columns within which the ratings of all datasets are combined.
_WHOSE = ("benchmark", "rubric", "model", "model_2", "rater_kind")


def ratings_comparing(
    ratings: pd.DataFrame,
    compares: Compares,
    rubrics: Rubrics = (),
) -> tuple[pd.DataFrame, dict[str, Rubric]]:
    """Return the ratings by rubrics with this kind of comparison, and the rubrics by name.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings in normal form.
    compares : {"nothing", "models", "items"}
        The texts that are compared in a task.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame, dict of str to Rubric
    """
    known = load_rubrics(ratings["rubric"].unique(), rubrics)
    own = {name: rubric for name, rubric in known.items() if rubric.compares == compares}
    return ratings[ratings["rubric"].isin(list(own))], own


def with_pooled(
    ratings: pd.DataFrame, within: Iterable[str] = ("benchmark", "rubric")
) -> pd.DataFrame:
    """Return the rows, plus copies for all datasets and all groups of persons combined.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Rows with dataset, rater_kind, rater_group and the columns of `within`.
    within : iterable of str
        Columns that are never pooled, in addition to the kind of raters.

    Returns
    -------
    pandas.DataFrame
        If there are several datasets, their rows also appear under the dataset ``pooled``. If a
        dataset has several groups of persons, their rows also appear under the group ``pooled``.
        Groups of models are not pooled: each is a separate judge.

    Raises
    ------
    InputError
        If a dataset or a group of raters is itself named ``pooled``.
    """
    # Pool groups last, so that those of all datasets are pooled too.
    return with_all_groups(with_all_datasets(ratings, within), within)


def all_datasets(table: pd.DataFrame) -> pd.Series:
    """Return which rows of a table are for all datasets combined, or for the only one.

    Parameters
    ----------
    table : pandas.DataFrame
        With dataset, and the columns that identify an estimate.

    Returns
    -------
    pandas.Series of bool
    """
    pooled = table["dataset"] == POOLED
    whose = [table[c].fillna("") for c in _WHOSE if c in table]
    return pooled | ~pooled.groupby(whose).transform("any")


def with_all_datasets(ratings: pd.DataFrame, within: Iterable[str]) -> pd.DataFrame:
    """Add copies of the ratings for all datasets combined, if there are several."""
    return _once_more(ratings, ratings, "dataset", [*within, "rater_kind"])


def with_all_groups(ratings: pd.DataFrame, within: Iterable[str]) -> pd.DataFrame:
    """Add copies of the ratings for all groups of persons combined, if there are several."""
    persons = ratings[ratings["rater_kind"] == "person"]
    return _once_more(ratings, persons, "rater_group", [*within, "rater_kind", "dataset"])


def _once_more(
    ratings: pd.DataFrame, rows: pd.DataFrame, column: str, unit: list[str]
) -> pd.DataFrame:
    several = rows.groupby(unit, dropna=False)[column].transform("nunique") > 1
    return pd.concat([ratings, rows[several].assign(**{column: POOLED})], ignore_index=True)


def with_event(
    frame: pd.DataFrame, rubrics: Mapping[str, Rubric], *, about: Iterable[str] = ("bias",)
) -> pd.DataFrame:
    """Return the rows of dimensions of bias, with the estimated event.

    Parameters
    ----------
    frame : pandas.DataFrame
        Ratings in normal form.
    rubrics : Mapping[str, Rubric]
        Their rubrics by name.
    about : iterable of {"bias", "context"}
        The kinds of dimensions.

    Returns
    -------
    pandas.DataFrame
        In the order of the rubrics' questions, with ``reported``: 1 or 0, NaN without a judgement.
    """
    parts = []
    for name, rubric in rubrics.items():
        for question in rubric.questions:
            if question.about not in about:
                continue
            rows = frame[(frame["rubric"] == name) & (frame["dimension"] == question.dimension)]
            reported = rows["value"].isin(question.reported).astype("float64")
            parts.append(rows.assign(reported=reported.where(rows["value"].notna())))
    if not parts:
        return frame.iloc[:0].assign(reported=np.nan)
    return pd.concat(parts, ignore_index=True)


def in_order(
    table: pd.DataFrame, columns: Iterable[str], dimensions: Iterable[str]
) -> pd.DataFrame:
    """Sort rows by these columns, with dimensions in this order; stable in all else."""
    places = {name: place for place, name in enumerate(dimensions)}
    return table.sort_values(
        list(columns),
        key=lambda column: column.map(places) if column.name == "dimension" else column,
        kind="stable",
        ignore_index=True,
    )


def without_empty_models(table: pd.DataFrame) -> pd.DataFrame:
    """Return unnamed models as missing; for grouping they were empty texts."""
    return table.assign(model=table["model"].astype(object).where(table["model"] != "", None))


def linked_items(
    rows: pd.DataFrame, within: Iterable[str] = ("benchmark", "rubric", "model")
) -> npt.NDArray[np.int64]:
    """Return the number of each row's set of items, with the items of a pair in one set.

    Judgements on a and b are not independent of judgements on a and c, in either order of the
    items. All pairs that are connected by shared items belong to one set.

    Parameters
    ----------
    rows : pandas.DataFrame
        Rows with item_id, item_id_2 and the columns of `within`. Without a second item (null, or no
        such column), a row has a single item.
    within : iterable of str
        Items are the same only if these columns are also the same.

    Returns
    -------
    ndarray of int, shape (rows,)
        From 0. If no row has a second item, these are the items.

    Examples
    --------
    >>> pairs = pd.DataFrame({"item_id": list("abcdx"), "item_id_2": ["b", "c", None, "e", "d"]})
    >>> linked_items(pairs, []).tolist()
    [0, 0, 0, 1, 1]
    """
    own = [*within, "item_id"]
    first = rows[own]
    second = first
    if "item_id_2" in rows:
        either = rows["item_id_2"].where(rows["item_id_2"].notna(), rows["item_id"])
        second = first.assign(item_id=either)
    # With dtype object, equal names match even if the two columns have different types.
    ends = pd.concat([first, second], ignore_index=True).astype({"item_id": object})
    item = ends.groupby(own, sort=False, dropna=False).ngroup().to_numpy(dtype=np.int64)
    one, other = item.reshape(2, len(rows))
    size = int(item.max(initial=-1)) + 1
    if not size:
        return one
    links = scipy.sparse.coo_array((np.ones(len(rows)), (one, other)), shape=(size, size))
    return np.asarray(
        scipy.sparse.csgraph.connected_components(links, directed=False)[1][one], dtype=np.int64
    )


def crossed_limits(
    values: npt.NDArray[np.float64],
    items: npt.NDArray[np.int64],
    raters: npt.NDArray[np.int64],
    *,
    alpha: float,
    least: float = 0.0,
) -> dict[str, object]:
    """Return the interval of a mean of ratings over further items and raters.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        The ratings as numbers between `least` and 1.
    items, raters : ndarray of int, shape (n,)
        The item, or the set from `linked_items`, and the rater of each.
    alpha : float
        1 − confidence level.
    least : {0, -1}
        The smallest possible rating: −1 for a difference.

    Returns
    -------
    dict
        crossed_low, crossed_high and crossed_method, from `fairstats.crossed_interval`.
    """
    span = 1 - least
    found = crossed_interval((values - least) / span, items, raters, alpha=alpha)
    return {
        "crossed_low": least + span * float(found.ci_low),
        "crossed_high": least + span * float(found.ci_high),
        "crossed_method": str(found.method),
    }
