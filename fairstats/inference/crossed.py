"""Means over ratings that are crossed: one item has several raters, one rater several items.

Ratings of one item are alike, and so are those by one rater. What is said of further items and
further raters has to count with both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse, stats

from fairstats.inference._checks import check_alpha, check_resampling
from fairstats.inference.bounded_mean import bounded_mean_interval
from fairstats.inference.lattice import discrete_law
from fairstats.results import Estimate, FloatArray

IntArray = npt.NDArray[np.int64]
# Resamples are drawn in parts, so that their weights stay below some 100 MB.
_PART = 5_000_000
# What differs by less differs by floating point alone.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class _Crossed:
    """Checked values with their items and raters as numbers from 0."""

    values: FloatArray
    items: IntArray
    raters: IntArray
    n_items: int
    n_raters: int

    @property
    def mean(self) -> float:
        return float(np.clip(self.values.mean(), self.values.min(), self.values.max()))

    def totals(self, of: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sums over each item's ratings, each rater's, and each rater's of each item."""
        cell = np.unique(self.items * self.n_raters + self.raters, return_inverse=True)[1]
        items = np.bincount(self.items, of, self.n_items)
        raters = np.bincount(self.raters, of, self.n_raters)
        return np.asarray(items), np.asarray(raters), np.asarray(np.bincount(cell, of))


def crossed_interval(
    values: npt.ArrayLike,
    items: npt.ArrayLike,
    raters: npt.ArrayLike,
    *,
    alpha: float = 0.05,
) -> Estimate:
    """Interval of the mean of ratings, over further items and further raters, without a seed.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        The ratings, each in [0, 1]; 0 or 1 for what was reported or not.
    items, raters : array_like, shape (n,)
        The item and the rater of each; a rater may rate an item several times.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Estimate
        `n` is the number of ratings. Limits in [0, 1]; without a rating these are the limits.

    Raises
    ------
    ValueError
        For a value outside [0, 1] or NaN, an item or rater that is null, or lengths that differ.

    Notes
    -----
    With e the deviations of the n ratings from their mean, S_items = I / (I − 1) Σ_i (Σ e)² / n²
    over the I items, S_raters alike over the raters and S_cells over the pairs of an item and a
    rater that has rated it, the variance of the mean is

        V = max(S_items + S_raters − S_cells, S_items, S_raters, S_cells, n / (n − 1) Σ e² / n²)

    The first is that of two-way clusters; it can be negative by chance, and ratings that happen
    to balance out are not taken for more information than one-way clusters or independent ratings
    are. The limits are Wilson's for p (1 − p) / V ratings, with the quantile of Student's t for
    Satterthwaite's degrees of freedom,

        V² / (S_items² / (I − 1) + S_raters² / (R − 1) + S_cells² / (cells − 1)),

    at least min(I, R) − 1 and at most n − 1. Of the methods compared in
    ``benchmarks/crossed_coverage.py`` it is the narrowest that covers at least 93 % wherever raters
    differ little or not at all. None keeps its level where raters are few and differ widely in a
    rare event, this one down to 79 % in the worst design: five raters do not show how far raters
    can differ.

    With one rater nothing is known of how raters differ, with one item nothing of items: the
    limits then count with items or raters alone, and `ci_method` says so. Where all ratings are
    equal they are those of `bounded_mean_interval` for as many items (Wilson's for 0 and for 1).

    References
    ----------
    Cameron, Gelbach & Miller (2011), Journal of Business & Economic Statistics 29:238-249, for
    the variance; Korn & Graubard (1998), Survey Methodology 24:193-201, for the effective number;
    Satterthwaite (1946), Biometrics Bulletin 2:110-114; Wilson (1927), JASA 22:209-212.

    Examples
    --------
    >>> found = crossed_interval([1, 1, 0, 0, 1, 0, 0, 0], [1, 1, 2, 2, 3, 3, 4, 4],
    ...                          ["a", "b"] * 4)
    >>> [round(float(x), 3) for x in (found.estimate, found.ci_low, found.ci_high)]
    [0.375, 0.032, 0.917]
    """
    alpha = check_alpha(alpha)
    table = _crossed(values, items, raters)
    n = len(table.values)
    if n == 0:
        return _result(float("nan"), 0.0, 1.0, alpha, "none (no rating)", 0)
    if np.ptp(table.values) <= _ROUNDING:
        found = bounded_mean_interval(np.full(table.n_items, table.values[0]), alpha=alpha)
        low, high = float(found.ci_low), float(found.ci_high)
        return _result(table.mean, low, high, alpha, "wilson over items (all ratings are equal)", n)
    if table.n_items == 1 and table.n_raters == 1:
        # However often one rater has rated one item, it is one observation.
        found = bounded_mean_interval([table.mean], alpha=alpha)
        low, high = float(found.ci_low), float(found.ci_high)
        return _result(table.mean, low, high, alpha, "wilson (one item, one rater)", n)
    of_items, of_raters, of_cells = (
        _cluster_variance(total, n) for total in table.totals(table.values - table.mean)
    )
    single = float(((table.values - table.mean) ** 2).sum()) / (n * (n - 1))
    name = "two-way clusters, wilson t"
    if table.n_raters == 1:
        name = "clusters of items, wilson t (one rater: how raters differ is unknown)"
        variance, freedom = max(of_items[0], single), float(table.n_items - 1)
    elif table.n_items == 1:
        name = "clusters of raters, wilson t (one item: how items differ is unknown)"
        variance, freedom = max(of_raters[0], single), float(table.n_raters - 1)
    else:
        parts = (of_items, of_raters, of_cells)
        both = of_items[0] + of_raters[0] - of_cells[0]
        variance = max(both, *(part[0] for part in parts), single)
        spread = sum(part[0] ** 2 / part[1] for part in parts)
        # Where ratings balance out in every cell they are independent ones.
        freedom = variance**2 / spread if spread > (variance * _ROUNDING) ** 2 else n - 1.0
        freedom = max(min(freedom, n - 1.0), min(table.n_items, table.n_raters) - 1.0)
    quantile = float(stats.t.isf(alpha / 2, freedom))
    low, high = wilson_limits(table.mean, variance, quantile)
    return _result(table.mean, low, high, alpha, name, n)


def pigeonhole_bootstrap(
    values: npt.ArrayLike,
    items: npt.ArrayLike,
    raters: npt.ArrayLike,
    *,
    n_resamples: int = 9999,
    rng: np.random.Generator | int | None = None,
    alpha: float = 0.05,
) -> Estimate:
    """Percentile interval of the mean of ratings, items and raters both drawn with replacement.

    Parameters
    ----------
    values, items, raters
        As for `crossed_interval`.
    n_resamples : int
        The number of resamples.
    rng : numpy.random.Generator or int
        Needed to resample: an interval has to be recomputable.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Estimate
        `n` is the number of ratings. Limits are NaN where no two resamples differ.

    Raises
    ------
    ValueError
        As `crossed_interval`, and without `rng`.

    Notes
    -----
    A resample draws I items and R raters, each with replacement and independently; a rating
    counts as often as its item was drawn times as often as its rater was. Where neither matters
    the variance of the mean is taken for up to three times what it is: the interval is then wide,
    see ``benchmarks/crossed_coverage.py``. A resample in which no rating counts is left out.

    References
    ----------
    Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1:386-411. Checked against
    enumeration of all resamples.

    Examples
    --------
    >>> found = pigeonhole_bootstrap([1, 1, 0, 0, 1, 0, 0, 0], [1, 1, 2, 2, 3, 3, 4, 4],
    ...                              ["a", "b"] * 4, rng=1)
    >>> float(found.estimate), float(found.ci_low), float(found.ci_high)
    (0.375, 0.0, 0.75)
    """
    alpha = check_alpha(alpha)
    generator = check_resampling(n_resamples, rng)
    table = _crossed(values, items, raters)
    n = len(table.values)
    if n == 0:
        return _result(float("nan"), 0.0, 1.0, alpha, "none (no rating)", 0)
    means = _resampled_means(table, n_resamples, generator)
    if len(means) == 0 or np.ptp(means) == 0:
        name = "none (the resamples do not vary)"
        return _result(table.mean, float("nan"), float("nan"), alpha, name, n)
    law = discrete_law(means)
    low, high = law.lower_quantile(alpha / 2), law.upper_quantile(alpha / 2)
    name = f"pigeonhole bootstrap percentile, {n_resamples} resamples"
    return _result(table.mean, low, high, alpha, name, n)


def _crossed(values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike) -> _Crossed:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"values must have shape (n,); got {x.shape}")
    # Written so that NaN is refused too.
    if not np.all((x >= 0) & (x <= 1)):
        raise ValueError("values must lie between 0 and 1; leave missing ones out")
    numbers = []
    for name, labels in (("items", items), ("raters", raters)):
        codes, known = pd.factorize(pd.Series(labels))
        if len(codes) != len(x):
            raise ValueError(f"{name} must have the length of values, {len(x)}; got {len(codes)}")
        if np.any(codes < 0):
            raise ValueError(f"{name} must not be null")
        numbers += [codes.astype(np.int64), len(known)]
    return _Crossed(x, numbers[0], numbers[2], numbers[1], numbers[3])


def _cluster_variance(totals: FloatArray, n: int) -> tuple[float, int]:
    """The one-way cluster-robust variance of a mean of n, and its degrees of freedom."""
    k = len(totals)
    return float(totals @ totals) / n**2 * k / max(k - 1, 1), max(k - 1, 1)


def wilson_limits(p: float, variance: float, quantile: float) -> tuple[float, float]:
    """Wilson's limits for the number of observations that would give p this variance."""
    n = p * (1 - p) / variance
    centre = (p + quantile**2 / (2 * n)) / (1 + quantile**2 / n)
    half = quantile * np.sqrt(variance + quantile**2 / (4 * n**2)) / (1 + quantile**2 / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _resampled_means(table: _Crossed, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    place, shape = (table.items, table.raters), (table.n_items, table.n_raters)
    total = sparse.csr_array((table.values, place), shape=shape)
    number = sparse.csr_array((np.ones(len(table.values)), place), shape=shape)
    means = []
    part = max(1, _PART // max(shape))
    for start in range(0, n_resamples, part):
        size = min(part, n_resamples - start)
        drawn = [rng.multinomial(k, np.full(k, 1 / k), size=size).astype(float) for k in shape]
        sums, counts = (((drawn[0] @ matrix) * drawn[1]).sum(axis=1) for matrix in (total, number))
        means.append(sums[counts > 0] / counts[counts > 0])
    return np.concatenate(means)


def _result(
    estimate: float, low: float, high: float, alpha: float, method: str, n: int
) -> Estimate:
    numbers = (np.asarray(estimate), np.asarray(low), np.asarray(high))
    return Estimate(*numbers, 1 - alpha, method, np.asarray(n))
