"""Variance, over items and raters, of estimates from crossed ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray

IntArray = npt.NDArray[np.int64]
# Smaller differences are rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Crossing:
    """The item and the rater of each rating, as numbers from 0.

    Attributes
    ----------
    items, raters : ndarray of int, shape (n,)
        The number of each rating's item, and of its rater.
    n_items, n_raters : int
        The numbers of items and raters.
    """

    items: IntArray
    raters: IntArray
    n_items: int
    n_raters: int

    @classmethod
    def of(cls, items: npt.ArrayLike, raters: npt.ArrayLike, n: int) -> Crossing:
        """Build the crossing of n ratings from names.

        Raises
        ------
        ValueError
            For a null item or rater, or a length other than n.
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
        """Return the sums over each item's ratings, each rater's, and each rater's of each item."""
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
    """Compute the variance of an estimate over further items and further raters.

    Parameters
    ----------
    influence : ndarray of float, shape (n,)
        How far each rating moves the estimate, with sum 0. For a mean, (x − mean) / n; for a
        model's parameter, the scores times the inverse information.
    crossing : Crossing
        The item and the rater of each rating, with at least two items or at least two raters.

    Returns
    -------
    CrossedVariance

    Notes
    -----
    S_items = I / (I − 1) Σ_i (Σ influence)² over the I items; S_raters and S_cells are defined in
    the same way. The variance is the largest of S_items + S_raters − S_cells (two-way clusters),
    these three parts, and n / (n − 1) Σ influence². The degrees of freedom are Satterthwaite's, as
    in `crossed_interval`.

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
        name = "clusters of items (one rater: the variance between raters is unknown)"
        return CrossedVariance(max(of_items, single), n_items - 1.0, name)
    if n_items == 1:
        name = "clusters of raters (one item: the variance between items is unknown)"
        return CrossedVariance(max(of_raters, single), n_raters - 1.0, name)
    both = of_items + of_raters - of_cells
    variance = max(both, of_items, of_raters, of_cells, single)
    spread = sum(part**2 / df for part, df in parts)
    # If ratings balance out in every cell, treat them as independent.
    df = variance**2 / spread if spread > (variance * _ROUNDING) ** 2 else n - 1.0
    df = max(min(df, n - 1.0), min(n_items, n_raters) - 1.0)
    return CrossedVariance(variance, df, "two-way clusters")


def cluster_variance(totals: FloatArray) -> tuple[float, int]:
    """Return the cluster-robust variance of a sum over clusters, and its degrees of freedom."""
    k = len(totals)
    return float(totals @ totals) * k / max(k - 1, 1), max(k - 1, 1)
