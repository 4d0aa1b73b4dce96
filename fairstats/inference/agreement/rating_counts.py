"""Items as counts of ratings by category, from which agreement coefficients are computed.

The coefficients in `fairstats.inference.agreement.coefficients` do not depend on who gave a rating.
So an item is described by its number of ratings in each category. Items with the same counts form
one kind with a multiplicity. Each coefficient is 1 − D_o / D_e, with D_o the observed disagreement
and D_e the disagreement expected by chance.
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

IntArray = npt.NDArray[np.int64]
Coefficient = Literal["percent", "positive", "randolph", "fleiss", "gwet_ac1", "krippendorff"]
Level = Literal["nominal", "ordinal", "interval"]
# The sums that do not belong to a category come first.
_SINGLE = 5


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

    def rarer_last(self) -> RatingCounts:
        """Return two categories with the less frequent one last."""
        first, second = self.many @ self.kinds
        if second <= first:
            return self
        return RatingCounts(self.categories[::-1], self.kinds[:, ::-1], self.many)

    @cached_property
    def terms(self) -> FloatArray:
        """Return the contribution of one item of each kind to the sums used by the coefficients."""
        return item_terms(self.kinds)

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
