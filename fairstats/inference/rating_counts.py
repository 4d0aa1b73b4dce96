"""Items as counts of ratings by category, and the sums from which agreement is computed.

The coefficients in `fairstats.inference.agreement` do not depend on who gave a rating. So an item
is described by its number of ratings in each category. Items with the same counts form one kind
with a multiplicity. Each coefficient is 1 − D_o / D_e, with D_o the observed disagreement and D_e
the disagreement expected by chance. Both follow from sums over items.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_counts
from fairstats.inference.exact_sums import DiscreteLaw, discrete_law, plane_law

IntArray = npt.NDArray[np.int64]
Coefficient = Literal["percent", "positive", "randolph", "fleiss", "gwet_ac1", "krippendorff"]
Level = Literal["nominal", "ordinal", "interval"]
# The sums that do not belong to a category come first.
_SINGLE = 5
# A smaller probability in the exact distribution is rounding error.
_NEGLIGIBLE = 1e-18
# A smaller weight of pairs is rounding error.
SOME = 1e-9
# A smaller variance, or expected chance disagreement, is rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True)
class RatingCounts:
    """Items with two or more ratings.

    Attributes
    ----------
    categories : tuple
        The K categories, in order.
    kinds : ndarray of int, shape (k, K)
        The distinct rows of counts, ascending: an item's number of ratings in each category.
    many : ndarray of int, shape (k,)
        Number of items of each kind.
    """

    categories: tuple[Hashable, ...]
    kinds: IntArray
    many: IntArray

    @property
    def n_items(self) -> int:
        return int(self.many.sum())

    @property
    def n_ratings(self) -> int:
        return int(self.many @ self.sizes)

    @cached_property
    def sizes(self) -> IntArray:
        """Return the number of ratings per item of each kind."""
        return self.kinds.sum(axis=1)

    @cached_property
    def agreeing(self) -> FloatArray:
        """Return the share of an item's pairs of ratings that agree, for each kind."""
        return np.asarray(self.terms[:, 1])

    @property
    def used(self) -> int:
        """Return the number of categories in use."""
        return int((self.many @ self.kinds > 0).sum())

    @property
    def positive_is_constant(self) -> bool:
        """Return whether agreement on the last category is the same in every item that has it."""
        last, others = self.kinds[:, -1], self.sizes - 1
        shares = (last[last > 0] - 1) / others[last > 0]
        return len(np.unique(shares)) <= 1

    def rarer_last(self) -> RatingCounts | None:
        """Return the two categories in use, the less frequent one last; None if more are in use."""
        counts = self.many @ self.kinds
        used = np.argsort(-counts, kind="stable")[: self.used]
        if len(used) != 2:
            return None
        return RatingCounts(
            tuple(self.categories[place] for place in used), self.kinds[:, used], self.many
        )

    @cached_property
    def terms(self) -> FloatArray:
        """Return the contribution of one item of each kind to the sums used by the coefficients."""
        return item_terms(self.kinds)

    def coefficient(self, name: Coefficient) -> float:
        """Return a coefficient of the nominal level."""
        observed, expected = self.disagreement(self.many, name, "nominal")
        return 1 - float(observed) / float(expected)

    def disagreement(
        self, many: npt.ArrayLike, coefficient: Coefficient, level: Level
    ) -> tuple[FloatArray, FloatArray]:
        """Return D_o and D_e if kinds have these multiplicities, of shape (..., k)."""
        return self.disagreement_of(np.asarray(many, np.float64) @ self.terms, coefficient, level)

    def disagreement_of(
        self, sums: FloatArray, coefficient: Coefficient, level: Level
    ) -> tuple[FloatArray, FloatArray]:
        """Return D_o and D_e if the items' `item_terms` have these sums, of shape (..., terms)."""
        k = len(self.categories)
        pairs, agreeing, ratings, unlike, beside = np.moveaxis(sums[..., :_SINGLE], -1, 0)
        shares, totals, coincidences = np.split(sums[..., _SINGLE:], [k, 2 * k], axis=-1)
        if coefficient == "krippendorff":
            return self._by_coincidences(totals, coincidences, level)
        if coefficient == "positive":
            return unlike / pairs, beside / pairs
        observed = 1 - agreeing / pairs
        by_margins = 1 - ((shares / ratings[..., None]) ** 2).sum(axis=-1)
        # A question has at least two answers, even if only one occurs.
        choices = max(k, 2)
        expected = {
            "percent": np.ones_like(observed),
            "randolph": np.full_like(observed, 1 - 1 / choices),
            "fleiss": by_margins,
            # Σ π (1 − π) is 1 − Σ π².
            "gwet_ac1": 1 - by_margins / (choices - 1),
        }[coefficient]
        return np.asarray(observed), np.asarray(expected)

    def _by_coincidences(
        self, totals: FloatArray, coincidences: FloatArray, level: Level
    ) -> tuple[FloatArray, FloatArray]:
        distance = self._distance(totals, level)
        n = totals.sum(axis=-1)
        apart = coincidences.reshape(*totals.shape, totals.shape[-1]) * distance
        observed = apart.sum(axis=(-2, -1)) / coincidences.sum(axis=-1)
        chance = totals[..., :, None] * totals[..., None, :] * distance
        return np.asarray(observed), np.asarray(chance.sum(axis=(-2, -1)) / (n * (n - 1)))

    def _distance(self, totals: FloatArray, level: Level) -> FloatArray:
        """Return the squared distances of Krippendorff's alpha."""
        k = len(self.categories)
        if level == "nominal":
            return 1 - np.eye(k)
        if level == "interval":
            place = np.asarray(self.categories, dtype=np.float64)
        else:
            # The ordinal distance is that between the mid-ranks of two categories.
            place = np.cumsum(totals, axis=-1) - totals / 2
        return np.asarray((place[..., :, None] - place[..., None, :]) ** 2)


def item_terms(counts: IntArray, sizes: IntArray | None = None) -> FloatArray:
    """Return the contributions of items with these counts, (items, K), to all coefficients' sums.

    Parameters
    ----------
    counts : ndarray of int, shape (items, K)
        The number of ratings of each item in each category.
    sizes : ndarray of int, shape (items,), optional
        The number of ratings used to weight an item's pairs and ratings. The default is the current
        number, so that an item's weights sum to 1.

    Returns
    -------
    ndarray of float, shape (items, 5 + 2 K + K²)
        The weight of pairs, and of pairs that agree; the weight of ratings; the pairs of a rating
        in the last category and one in another, and the ratings paired with each one in the last
        category; the weight of ratings in each category, and their number; Krippendorff's
        coincidences. All are 0 for items with fewer than two ratings.
    """
    k = counts.shape[1]
    here = counts.sum(axis=1, keepdims=True)
    m = np.maximum(here if sizes is None else sizes[:, None], 2)
    last = counts[:, -1:]
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(k, dtype=np.int64))
    terms = (
        here * (here - 1) / (m * (m - 1)),
        (counts * (counts - 1)).sum(axis=1, keepdims=True) / (m * (m - 1)),
        here / m,
        last * (here - last),
        last * (here - 1),
        counts / m,
        counts,
        pairs.reshape(len(counts), k * k) / (m - 1),
    )
    return np.asarray(np.hstack(terms) * (here >= 2))


def counts_of_kinds(categories: Sequence[Hashable], counts: npt.ArrayLike) -> RatingCounts:
    """Build items from counts (items, K), leaving out those with fewer than two ratings."""
    rows = check_counts(counts=counts)[0].reshape(-1, len(categories))
    rows = rows[rows.sum(axis=1) >= 2]
    # Ascending, so that the order of items and raters does not affect resamples.
    kinds, many = np.unique(rows, axis=0, return_counts=True)
    return RatingCounts(tuple(categories), kinds, many.astype(np.int64))


def rating_counts(
    ratings: pd.DataFrame | npt.ArrayLike, categories: Sequence[Hashable] | None, *, ordered: bool
) -> RatingCounts:
    """Count the labels of a table (items, raters) in which a missing rating is null.

    Raises
    ------
    ValueError
        For a table of another shape, a label that is not among the categories, duplicate
        categories, or text as ordered labels without `categories`.
    """
    cells = pd.DataFrame(ratings).astype(object).to_numpy()
    labels = pd.Series(cells.ravel(), dtype=object)
    observed = labels.dropna().unique()
    if categories is None:
        if ordered and any(isinstance(label, str) for label in observed):
            raise ValueError("categories= must give the order of text labels")
        try:
            categories = sorted(observed)
        except TypeError:
            raise ValueError("labels of these types cannot be sorted; give categories=") from None
    index = pd.Index(list(categories), dtype=object)
    if index.has_duplicates:
        raise ValueError(f"categories contains {index[index.duplicated()][0]!r} twice")
    place = index.get_indexer(labels)
    place[labels.isna().to_numpy()] = -1
    if len(unknown := labels[(place < 0) & labels.notna().to_numpy()]):
        raise ValueError(f"the label {unknown.iloc[0]!r} is not among categories={list(index)!r}")
    row = np.repeat(np.arange(len(cells)), cells.shape[1])[place >= 0]
    width = max(len(index), 1)
    cell = np.bincount(row * width + place[place >= 0], minlength=len(cells) * width)
    return counts_of_kinds(tuple(index) or (None,), cell.reshape(len(cells), width))


@dataclass(frozen=True)
class AgreementLaw:
    """D_o and D_e over resamples of items: the coefficient for each, with its probability."""

    table: RatingCounts
    source: str
    _points: tuple[FloatArray, FloatArray] | IntArray
    _weights: FloatArray

    def of(self, coefficient: Coefficient, level: Level) -> tuple[DiscreteLaw | None, float]:
        """Return the coefficient's distribution if defined, and the share of undefined resamples.

        The distribution is None if all resamples have the same value, or if all are undefined.
        """
        if isinstance(self._points, tuple):
            observed, expected = _of_two(self.table, *self._points, coefficient)
        else:
            observed, expected = self.table.disagreement(self._points, coefficient, level)
        defined = expected > ROUNDING
        values = 1 - observed[defined] / expected[defined]
        weights = self._weights[defined]
        undefined = 1 - float(weights.sum() / self._weights.sum())
        if not len(values) or np.ptp(values) < ROUNDING:
            return None, undefined
        return discrete_law(values, weights), undefined


def agreement_law(
    table: RatingCounts, *, n_resamples: int, rng: np.random.Generator | int
) -> AgreementLaw:
    """Return the distribution over resamples of items, computed if possible and simulated if not.

    Notes
    -----
    With two categories and equally many ratings for every item, all coefficients are functions of
    two sums over items. These are the pairs that agree, and the ratings in the second category.
    Their joint distribution is an n-fold convolution in the plane
    (`fairstats.inference.exact_sums`).
    """
    if len(table.categories) == 2 and len(np.unique(table.sizes)) == 1:
        pairs = (table.kinds * (table.kinds - 1)).sum(axis=1) // 2
        unit = max(int(np.gcd.reduce(pairs - pairs.min())), 1)
        steps = (pairs - pairs.min()) // unit
        n = table.n_items
        try:
            x, y, law = plane_law(n, steps, table.kinds[:, 1], table.many / n)
        except ValueError:
            pass  # The grid is too large.
        else:
            at = np.nonzero(law > _NEGLIGIBLE)
            agreeing = x[at[0], 0] * unit + n * pairs.min()
            return AgreementLaw(table, "exact", (agreeing, y[0, at[1]]), law[at])
    drawn = np.random.default_rng(rng).multinomial(
        table.n_items, table.many / table.n_items, size=n_resamples
    )
    return AgreementLaw(table, f"{n_resamples} resamples", drawn, np.ones(n_resamples))


def _of_two(
    table: RatingCounts, agreeing: FloatArray, second: FloatArray, coefficient: Coefficient
) -> tuple[FloatArray, FloatArray]:
    """Return D_o and D_e of two categories, from agreeing pairs and ratings in the second one."""
    n, m = table.n_items, int(table.sizes[0])
    observed = 1 - agreeing / (n * m * (m - 1) / 2)
    share = second / (n * m)
    by_margins = 2 * share * (1 - share)
    # Percent agreement and Randolph's κ need no law.
    expected = {
        "positive": 2 * share,
        "fleiss": by_margins,
        "gwet_ac1": 1 - by_margins,
        # Two categories are at distance one, at any level of measurement.
        "krippendorff": by_margins * (n * m) / (n * m - 1),
    }[coefficient]
    return np.asarray(observed), np.asarray(expected)


@dataclass(frozen=True)
class LeaveOneOut:
    """The sums of `item_terms` without one item, one rater, or one cell.

    A cell is one rater's ratings of one item.

    Attributes
    ----------
    table : RatingCounts
        The sums over all ratings.
    n_ratings : int
        The sums over tasks with two or more ratings.
    items, raters, cells : ndarray of float, shape (number, terms)
        The sums without each item, rater or cell.
    """

    table: RatingCounts
    n_ratings: int
    items: FloatArray
    raters: FloatArray
    cells: FloatArray

    def without(self, sums: FloatArray, coefficient: Coefficient, level: Level) -> FloatArray:
        """Return the coefficient from each of the sums; NaN if undefined."""
        values = np.full(len(sums), np.nan)
        rated = sums[:, 0] > SOME
        observed, expected = self.table.disagreement_of(sums[rated], coefficient, level)
        defined = expected > ROUNDING
        places = np.flatnonzero(rated)[defined]
        values[places] = 1 - observed[defined] / expected[defined]
        return values


def leave_one_out(
    table: RatingCounts, value: IntArray, task: IntArray, item: IntArray, rater: IntArray
) -> LeaveOneOut:
    """Compute the sums without each item, rater and cell, from each task's contribution.

    Of each rating, `value` is the index of its category, and `item` is that of its task.
    """
    k = len(table.categories)
    task = _numbered(task)
    several = np.bincount(task)[task] >= 2
    value = value[several]
    task, item, rater = (_numbered(numbers[several]) for numbers in (task, item, rater))
    n_raters = int(rater.max(initial=-1)) + 1
    counts = _by_category(task, value, k)
    terms = item_terms(counts)
    # All of a rater's ratings of a task are left out together.
    _, first, own = np.unique(task * n_raters + rater, return_index=True, return_inverse=True)
    whole = counts[task[first]]
    # The remaining pairs keep their weights.
    left = item_terms(whole - _by_category(own, value, k), whole.sum(axis=1))
    lost = terms[task[first]] - left
    cell = _numbered(item[first] * n_raters + rater[first])
    item_of = item[np.unique(task, return_index=True)[1]]
    total = terms.sum(axis=0)
    return LeaveOneOut(
        table=table,
        n_ratings=len(value),
        items=total - _sums(terms, item_of),
        raters=total - _sums(lost, rater[first]),
        cells=total - _sums(lost, cell),
    )


def _numbered(of: IntArray) -> IntArray:
    """Renumber from 0, without gaps."""
    return np.asarray(np.unique(of, return_inverse=True)[1], dtype=np.int64)


def _by_category(group: IntArray, value: IntArray, k: int) -> IntArray:
    """Count the ratings of each group in each category."""
    size = int(group.max(initial=-1)) + 1
    cells = np.bincount(group * k + value, minlength=size * k)
    return np.asarray(cells.reshape(size, k), dtype=np.int64)


def _sums(terms: FloatArray, group: IntArray) -> FloatArray:
    """Return the sums of rows of each group."""
    return np.stack([np.bincount(group, column) for column in terms.T], axis=-1)
