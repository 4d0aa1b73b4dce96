"""True categories behind the ratings of raters with individual error rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_choice, check_number, check_whole

Start = Literal["votes", "highest"]

# Smaller expected counts are treated as 0: a posterior that EM takes to 0 stays at about 1e-50.
_NO_RATING = 1e-9
# Log of a probability of 0: finite, so that 0 times it is 0, and too low to be offset.
_IMPOSSIBLE = -1e30
# Log likelihoods that differ by less belong to the same maximum, within the tolerance.
_SAME_HEIGHT = 1e-4
# Number of raters with their ratings as additional starts of EM.
_RATERS_TO_START = 3


@dataclass(frozen=True)
class DawidSkene:
    """Result of `dawid_skene`.

    Attributes
    ----------
    items : pandas.DataFrame
        item_id, category, posterior (probability that it is the item's true category), n_ratings,
        and most_probable: whether it has the largest posterior, the first in case of ties.
    raters : pandas.DataFrame
        rater_id, true_category, category, probability (of giving it if the other is true), expected
        (the number of such ratings of items of that true category) and n_ratings. The probability
        is NaN if the rater rated no item that may be of that category.
    prevalence : pandas.DataFrame
        category and prevalence.
    log_likelihood : float
        At the estimates, without the smoothing penalty.
    iterations : int
        Number of steps.
    converged : bool
        Whether the last step changed no posterior by more than the tolerance.
    note : str
        The model's assumptions, and parameters that the data do not identify.
    """

    items: pd.DataFrame
    raters: pd.DataFrame
    prevalence: pd.DataFrame
    log_likelihood: float
    iterations: int
    converged: bool
    note: str


def dawid_skene(
    ratings: pd.DataFrame,
    *,
    dimension: str | None = None,
    categories: Sequence[str] | None = None,
    smoothing: float = 0.0,
    start: Start = "votes",
    tolerance: float = 1e-8,
    max_iterations: int = 10_000,
) -> DawidSkene:
    """Estimate items' true categories and raters' error rates by Dawid and Skene's EM.

    Item i is of category j with prevalence p_j. Rater k then gives l with probability π⁽ᵏ⁾_jl,
    independently of all other ratings. Prevalences and error matrices are estimated by maximum
    likelihood, without a gold standard.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings in normal form, of one benchmark, rubric and kind of raters. Or a table with one row
        per item and one column per rater. A column that appears twice is a second rating by that
        rater; empty cells are missing ratings.
    dimension : str, optional
        The dimension, for ratings in normal form; required if they have several.
    categories : sequence of str, optional
        All categories in order; by default those that occur, sorted by name.
    smoothing : float
        Number of ratings added to each cell of each rater's error matrix (the mode under a
        Dirichlet prior with 1 + `smoothing`). A rater with few ratings is then neither perfect nor
        hopeless.
    start : {"votes", "highest"}
        The start of EM: each item's share of ratings per category, as in the paper; or several
        starts, with the result of highest likelihood.
    tolerance : float
        EM stops if no posterior changes by more than this.
    max_iterations : int
        Maximum number of steps; `converged` shows which limit applied.

    Returns
    -------
    DawidSkene

    Raises
    ------
    InputError
        If ratings are of several benchmarks, rubrics, kinds of raters or dimensions, an item
        appears twice in a table, a rating is not one of `categories`, or there are no ratings.
    ValueError
        For negative smoothing, an unknown start, or a tolerance or number of steps that is not
        positive.

    Notes
    -----
    EM finds a maximum of the likelihood near its start, which is not always the highest. So it
    always runs from five starts: the shares of votes, the majority, and each of the three raters
    with the most ratings. Starts are not random, so results need no seed. `note` reports if another
    start reaches a higher likelihood than the requested one. This happens on the paper's data, by
    0.21. All starts are close to the ratings, so an even higher maximum is possible. A higher
    maximum, with error rates of 0 from few ratings, is not necessarily closer to the truth.
    Repeated ratings of an item by a rater count, as in the paper.

    With two raters, or if no three raters rated the same item, the parameters are not identified.
    Other error rates fit equally well, and `note` reports this. `note` always states two limits.
    The model assumes independent errors given the true category. If many raters make the same
    mistake on a hard item, it treats the mistake as the truth. The estimates have no standard
    errors. A category without items has prevalence 0.

    References
    ----------
    Dawid & Skene (1979), Applied Statistics 28:20-28. Checked on the paper's Table 1 against a
    separate EM in R and its numerical maximum (tests/r/dawid_skene.R).

    Examples
    --------
    >>> table = pd.DataFrame({"ann": list("aabb"), "bob": list("aabb"), "cy": list("abbb")})
    >>> found = dawid_skene(table)
    >>> found.prevalence["prevalence"].round(4).tolist()
    [0.5, 0.5]
    >>> cy = found.raters.query("rater_id == 'cy' and true_category == 'a'")
    >>> cy["probability"].round(4).tolist()
    [0.5, 0.5]
    """
    smoothing = check_number("smoothing", smoothing, low=0, example="0.01")
    check_choice("start", start, get_args(Start))
    tolerance = check_number("tolerance", tolerance, low=0, example="1e-8")
    if tolerance == 0:
        raise ValueError("tolerance=0 must be positive, e.g. 1e-8: with 0 EM would not stop")
    max_iterations = check_whole("max_iterations", max_iterations, example=10_000)
    long = _long(ratings, dimension)
    names = sorted(long["value"].unique()) if categories is None else list(map(str, categories))
    said = pd.Index(names).get_indexer(pd.Index(long["value"]))
    if (said < 0).any():
        value = str(long["value"].to_numpy()[said < 0][0])
        remedy = f"use one of {', '.join(names)}"
        raise InputError(
            [Problem("<ratings>", "is not a category", remedy, column="value", value=value)]
        )
    item, items = pd.factorize(long["item_id"], sort=True)
    rater, raters = pd.factorize(long["rater_id"], sort=True)
    k, n_raters = len(names), len(raters)
    cells = scipy.sparse.csr_matrix(
        (np.ones(len(long)), (item, rater * k + said)), shape=(len(items), n_raters * k)
    )
    votes = np.zeros((len(items), k))
    np.add.at(votes, (item, said), 1)
    ends = [
        _climb(cells, start, smoothing, tolerance, max_iterations)
        for start in _starts(item, rater, said, votes)
    ]
    highest = max(ends, key=lambda end: end.height)
    # Among starts with equal results, prefer the paper's.
    higher = highest.height - ends[0].height
    end = highest if start == "highest" and higher > _SAME_HEIGHT else ends[0]
    posterior = end.posterior
    prevalence, expected, error = _rates(cells, posterior, smoothing)
    joint = _joint(cells, prevalence, error)
    error[expected.sum(axis=2) + smoothing < _NO_RATING] = np.nan
    log_likelihood = float(scipy.special.logsumexp(joint, axis=1).sum())
    return DawidSkene(
        _item_frame(items, names, posterior, votes),
        _rater_frame(raters, names, expected, error),
        pd.DataFrame({"category": names, "prevalence": prevalence}),
        log_likelihood,
        end.iterations,
        end.converged,
        _note(item, rater, k, end.converged, highest.height - end.height),
    )


@dataclass(frozen=True)
class _End:
    """Result of EM from one start."""

    posterior: FloatArray
    iterations: int
    converged: bool
    height: float


def _starts(
    item: npt.NDArray[np.intp],
    rater: npt.NDArray[np.intp],
    said: npt.NDArray[np.intp],
    votes: FloatArray,
) -> Iterator[FloatArray]:
    """Return starting posteriors, the paper's first."""
    shares = votes / votes.sum(axis=1, keepdims=True)
    yield shares
    most = (votes == votes.max(axis=1, keepdims=True)).astype(np.float64)
    yield most / most.sum(axis=1, keepdims=True)
    # By number of ratings, with ties broken by name.
    for one in np.argsort(-np.bincount(rater), kind="stable")[:_RATERS_TO_START]:
        own = np.zeros_like(votes)
        mine = rater == one
        np.add.at(own, (item[mine], said[mine]), 1)
        rated = own.sum(axis=1, keepdims=True)
        yield np.where(rated > 0, own / np.maximum(rated, 1), shares)


def _climb(
    cells: scipy.sparse.csr_matrix,
    posterior: FloatArray,
    smoothing: float,
    tolerance: float,
    max_iterations: int,
) -> _End:
    converged, iterations = False, 0
    while not converged and iterations < max_iterations:
        iterations += 1
        prevalence, _, error = _rates(cells, posterior, smoothing)
        joint = _joint(cells, prevalence, error)
        before, posterior = posterior, scipy.special.softmax(joint, axis=1)
        converged = bool(np.abs(posterior - before).max() <= tolerance)
    prevalence, _, error = _rates(cells, posterior, smoothing)
    height = float(scipy.special.logsumexp(_joint(cells, prevalence, error), axis=1).sum())
    if smoothing:
        # With smoothing, EM maximises the likelihood times the prior.
        height += smoothing * float(np.log(error).sum())
    return _End(posterior, iterations, converged, height)


def _long(ratings: pd.DataFrame, dimension: str | None) -> pd.DataFrame:
    """Return item_id, rater_id and value of each rating."""
    if {"task_id", "rater_id", "dimension", "value"} <= set(ratings.columns):
        rows = ratings if dimension is None else ratings[ratings["dimension"] == dimension]
        for column in ("benchmark", "rubric", "rater_kind", "dimension"):
            several = rows[column].unique() if column in rows else rows.iloc[:0]
            if len(several) > 1:
                remedy = "choose one with dimension=" if column == "dimension" else "take one"
                said = f"contains several: {', '.join(map(str, several[:3]))}"
                raise InputError([Problem("<ratings>", said, remedy, column=column)])
        # A task is an answer; an item can have answers from several models.
        long = rows.rename(columns={"item_id": "asked", "task_id": "item_id"})
    else:
        if ratings.index.has_duplicates:
            twice = str(ratings.index[ratings.index.duplicated()][0])
            message, remedy = "the item appears twice", "give each item one row"
            raise InputError([Problem("<ratings>", message, remedy, column="index", value=twice)])
        n, raters = ratings.shape
        long = pd.DataFrame(
            {
                "item_id": np.repeat(ratings.index.astype(str), raters),
                "rater_id": np.tile(ratings.columns.astype(str), n),
                "value": ratings.to_numpy(dtype=object).ravel(),
            }
        )
    long = long.loc[long["value"].notna(), ["item_id", "rater_id", "value"]]
    if long.empty:
        remedy = "give a dimension that was judged"
        raise InputError([Problem("<ratings>", "there are no ratings", remedy, column="value")])
    return long.astype(str)


def _rates(
    cells: scipy.sparse.csr_matrix, posterior: FloatArray, smoothing: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return prevalences, and by true category, rater and category expected ratings and shares.

    Without expected ratings there is no share: 0 / 0 is NaN.
    """
    k = posterior.shape[1]
    expected = np.asarray(cells.T @ posterior).T.reshape(k, -1, k)
    smoothed = expected + smoothing
    with np.errstate(invalid="ignore"):
        error = smoothed / smoothed.sum(axis=2, keepdims=True)
    return posterior.mean(axis=0), expected, error


def _joint(cells: scipy.sparse.csr_matrix, prevalence: FloatArray, error: FloatArray) -> FloatArray:
    """Return log P(item is of the category, its ratings), one item per row."""
    with np.errstate(divide="ignore"):
        logs = [np.log(np.nan_to_num(values)) for values in (prevalence, error)]
    base, each = (np.where(np.isfinite(values), values, _IMPOSSIBLE) for values in logs)
    return np.asarray(base + cells @ each.reshape(len(base), -1).T)


def _item_frame(
    items: pd.Index, names: list[str], posterior: FloatArray, votes: FloatArray
) -> pd.DataFrame:
    k = len(names)
    # Posteriors that differ only by rounding are equal: take the first.
    best = (posterior > posterior.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
    return pd.DataFrame(
        {
            "item_id": np.repeat(items.to_numpy(), k),
            "category": np.tile(names, len(items)),
            "posterior": posterior.ravel(),
            "n_ratings": np.repeat(votes.sum(axis=1).astype(np.int64), k),
            "most_probable": (np.arange(k) == best[:, None]).ravel(),
        }
    )


def _rater_frame(
    raters: pd.Index, names: list[str], expected: FloatArray, error: FloatArray
) -> pd.DataFrame:
    k = len(names)
    by_rater = expected.transpose(1, 0, 2)
    ratings = np.rint(by_rater.sum(axis=(1, 2))).astype(np.int64)
    return pd.DataFrame(
        {
            "rater_id": np.repeat(raters.to_numpy(), k * k),
            "true_category": np.tile(np.repeat(names, k), len(raters)),
            "category": np.tile(names, len(raters) * k),
            "probability": error.transpose(1, 0, 2).ravel(),
            "expected": by_rater.ravel(),
            "n_ratings": np.repeat(ratings, k * k),
        }
    )


def _note(
    item: npt.NDArray[np.intp], rater: npt.NDArray[np.intp], k: int, converged: bool, higher: float
) -> str:
    notes = ["assumes that raters err independently given the truth", "no standard errors"]
    if not converged:
        notes.append("EM did not converge within max_iterations")
    if higher > _SAME_HEIGHT:
        notes.append(
            f"another start gives a log likelihood {higher:.2g} higher; use start='highest'"
        )
    each = pd.DataFrame({"item": item, "rater": rater}).drop_duplicates()
    if k < 2:
        notes.append("only one category, so error rates cannot be estimated")
    elif each.groupby("item")["rater"].nunique().max() < 3:
        notes.append(
            "not identified: no item has three raters, so other error rates fit equally well"
        )
    single = int((np.bincount(rater) == 1).sum())
    if single:
        notes.append(f"the error rates of {single} of the raters are based on one rating")
    return "; ".join(notes)
