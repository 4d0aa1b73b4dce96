"""The variance of what is estimated from ratings that are crossed, over items and raters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray

IntArray = npt.NDArray[np.int64]
# What differs by less differs by floating point alone.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Crossing:
    """Of which item and by which rater each rating is, as numbers from 0.

    Attributes
    ----------
    items, raters : ndarray of int, shape (n,)
        The numbers.
    n_items, n_raters : int
        How many there are.
    """

    items: IntArray
    raters: IntArray
    n_items: int
    n_raters: int

    @classmethod
    def of(cls, items: npt.ArrayLike, raters: npt.ArrayLike, n: int) -> Crossing:
        """The crossing of n ratings by names.

        Raises
        ------
        ValueError
            For an item or a rater that is null, or more or fewer than n.
        """
        numbers = []
        for name, labels in (("items", items), ("raters", raters)):
            codes, known = pd.factorize(pd.Series(labels))
            if len(codes) != n:
                raise ValueError(f"{name} must have the length of values, {n}; got {len(codes)}")
            if np.any(codes < 0):
                raise ValueError(f"{name} must not be null")
            numbers.append((codes.astype(np.int64), len(known)))
        (of_items, n_items), (of_raters, n_raters) = numbers
        return cls(of_items, of_raters, n_items, n_raters)

    def totals(self, of: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sums over each item's ratings, each rater's, and each rater's of each item."""
        cell = np.unique(self.items * self.n_raters + self.raters, return_inverse=True)[1]
        items = np.bincount(self.items, of, self.n_items)
        raters = np.bincount(self.raters, of, self.n_raters)
        return np.asarray(items), np.asarray(raters), np.asarray(np.bincount(cell, of))


@dataclass(frozen=True)
class CrossedVariance:
    """Result of `crossed_variance`: a variance, its degrees of freedom (df), and the clusters."""

    variance: float
    df: float
    clusters: str


def crossed_variance(influence: FloatArray, crossing: Crossing) -> CrossedVariance:
    """The variance of an estimate over further items and further raters.

    Parameters
    ----------
    influence : ndarray of float, shape (n,)
        By how much each rating moves the estimate, 0 in sum: (x − mean) / n of a mean, the scores
        times the inverse information of a model's parameter.
    crossing : Crossing
        Of which item and by which rater each is; at least two of the one or the other.

    Returns
    -------
    CrossedVariance

    Notes
    -----
    With S_items = I / (I − 1) Σ_i (Σ influence)² over the I items, S_raters and S_cells alike,
    the largest of S_items + S_raters − S_cells (two-way clusters), of these three parts and of
    n / (n − 1) Σ influence²; Satterthwaite's degrees of freedom, as `crossed_interval` says.

    References
    ----------
    Cameron, Gelbach & Miller (2011), Journal of Business & Economic Statistics 29:238-249;
    Satterthwaite (1946), Biometrics Bulletin 2:110-114. Checked against R's
    ``sandwich::vcovCL(type = "HC0", cadjust = TRUE, multi0 = FALSE)`` (tests/r/bradley_terry.R).
    """
    n, n_items, n_raters = len(influence), crossing.n_items, crossing.n_raters
    parts = [cluster_variance(total) for total in crossing.totals(influence)]
    of_items, of_raters, of_cells = (variance for variance, _ in parts)
    single = float(influence @ influence) * n / (n - 1)
    if n_raters == 1:
        name = "clusters of items (one rater: how raters differ is unknown)"
        return CrossedVariance(max(of_items, single), n_items - 1.0, name)
    if n_items == 1:
        name = "clusters of raters (one item: how items differ is unknown)"
        return CrossedVariance(max(of_raters, single), n_raters - 1.0, name)
    both = of_items + of_raters - of_cells
    variance = max(both, of_items, of_raters, of_cells, single)
    spread = sum(part**2 / df for part, df in parts)
    # Where ratings balance out in every cell they are independent ones.
    df = variance**2 / spread if spread > (variance * _ROUNDING) ** 2 else n - 1.0
    df = max(min(df, n - 1.0), min(n_items, n_raters) - 1.0)
    return CrossedVariance(variance, df, "two-way clusters")


def cluster_variance(totals: FloatArray) -> tuple[float, int]:
    """The cluster-robust variance of a sum over clusters, and its degrees of freedom."""
    k = len(totals)
    return float(totals @ totals) * k / max(k - 1, 1), max(k - 1, 1)
