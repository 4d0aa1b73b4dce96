"""Means of crossed ratings: an item has several raters, and a rater rates several items.

Ratings of the same item are correlated, and so are ratings by the same rater. Inference about
further items and raters has to allow for both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats._lib.result_objects import Estimate, FloatArray, TestResult
from fairstats.inference._checks import LEAST_P, IntArray, check_alpha, check_between, check_share
from fairstats.inference.unit_means import effective_number
from fairstats.inference.verdict import ROOM, with_room

# Smaller differences are rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Crossing:
    """The item and the rater of each rating, as numbers from 0."""

    items: IntArray
    raters: IntArray
    n_items: int
    n_raters: int

    @classmethod
    def of(cls, items: npt.ArrayLike, raters: npt.ArrayLike, n: int) -> Crossing:
        """Build the crossing of n ratings from names."""
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

    Notes
    -----
    S_items = c Σ_i (Σ influence)² over the items, with c as in `crossed_interval`; S_raters and
    S_cells are defined in the same way. The variance is the largest of S_items + S_raters − S_cells
    (two-way clusters), these three parts, and n / (n − 1) Σ influence². The degrees of freedom are
    Satterthwaite's, as in `crossed_interval`.

    References
    ----------
    Cameron, Gelbach & Miller (2011), Journal of Business & Economic Statistics 29:238-249;
    Satterthwaite (1946), Biometrics Bulletin 2:110-114. Checked against
    statsmodels' two-way clusters.
    """
    n, n_items, n_raters = len(influence), crossing.n_items, crossing.n_raters
    shares = crossing.totals(np.full(n, 1 / n))
    parts = [cluster_variance(*own) for own in zip(crossing.totals(influence), shares, strict=True)]
    of_items, of_raters, of_cells = (variance for variance, _ in parts)
    single = float(influence @ influence) * n / (n - 1)
    if n_raters == 1:
        name = "clusters of items (one rater: the variance between raters is unknown)"
        return CrossedVariance(max(of_items, single), parts[0][1], name)
    if n_items == 1:
        name = "clusters of raters (one item: the variance between items is unknown)"
        return CrossedVariance(max(of_raters, single), parts[1][1], name)
    both = of_items + of_raters - of_cells
    variance = max(both, of_items, of_raters, of_cells, single)
    spread = sum(part**2 / df for part, df in parts)
    # If ratings balance out in every cell, treat them as independent.
    df = variance**2 / spread if spread > (variance * _ROUNDING) ** 2 else n - 1.0
    df = max(min(df, n - 1.0), min(df for _, df in parts))
    return CrossedVariance(variance, df, "two-way clusters")


def cluster_variance(totals: FloatArray, shares: FloatArray) -> tuple[float, float]:
    """Return the cluster-robust variance of a sum over clusters, and its degrees of freedom.

    Both are those of independent cluster effects; for equal shares, the factor is k / (k − 1).
    """
    if len(totals) == 1:
        return 0.0, 1.0
    two, three, four = ((shares**power).sum() for power in (2, 3, 4))
    trace = two - 2 * three + two**2
    squares = two**4 + 2 * two * four + 2 * three**2 - 4 * two**2 * three
    squares += (shares**4 * (1 + 2 * two - 4 * shares)).sum()
    return float(totals @ totals * two / trace), float(trace**2 / squares)


def crossed_interval(
    values: npt.ArrayLike,
    items: npt.ArrayLike,
    raters: npt.ArrayLike,
    *,
    alpha: float = 0.05,
) -> Estimate:
    """Compute an interval of the mean of ratings, for further items and raters, without a seed.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        The ratings, each in [0, 1]; use 1 for reported and 0 for not reported.
    items, raters : array_like, shape (n,)
        The item and the rater of each rating. A rater may rate an item several times.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Estimate
        `n` is the number of ratings. Limits are in [0, 1]; without ratings they are 0 and 1.

    Raises
    ------
    ValueError
        For a value outside [0, 1] or NaN, a null item or rater, or different lengths.

    Notes
    -----
    Let e be the deviations of the n ratings from their mean. S_items = c Σ_i (Σ e)² / n² sums over
    the I items. S_raters is the same over raters, and S_cells over observed pairs of item and
    rater. If all items have equally many ratings, c is I / (I − 1), with I − 1 degrees of freedom.
    In general both are those of independent effects of the items, with item i's share w_i of the
    ratings as its weight: c = Σ w² / (Σ w² − 2 Σ w³ + (Σ w²)²). The variance of the mean is

        V = max(S_items + S_raters − S_cells, S_items, S_raters, S_cells, n / (n − 1) Σ e² / n²)

    The first term is the variance for two-way clusters, which can be negative by chance. The
    maximum ensures that ratings that balance out by chance count as no more information than
    one-way clusters or independent ratings. The limits are Wilson's for p (1 − p) / V ratings, with
    the quantile of Student's t for Satterthwaite's degrees of freedom,

        V² / (S_items² / df_items + S_raters² / df_raters + S_cells² / df_cells),

    at least the fewest of the three and at most n − 1. If one rater made most ratings, the others
    show little of how raters differ, and limits are wide. Limits then have room for rare items that
    all raters rate 0 or 1 (`fairstats.inference.verdict.with_room`), with 1 / Σ w² for the number
    of items. It matters if raters hardly differ: otherwise, Wilson's limits are wider.

    ``benchmarks/crossed_coverage.py`` compares several methods for nearly equal loads. This
    interval covers at least 93% whenever raters differ little or not at all, and is as narrow as
    any that does, within 2%. If raters are few and differ widely in a rare event, all methods fall
    short of their level. This one falls to 80% in the worst design: five raters do not show how far
    raters can differ.

    One rater gives no information on differences between raters, and one item none on differences
    between items. The limits then use items or raters alone, and `ci_method` records this. If all
    ratings are equal, the limits are the room alone (Wilson's for 0 and for 1).

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
    x, crossing = _checked(values, items, raters)
    n = len(x)
    if n == 0:
        return Estimate.single(float("nan"), 0.0, 1.0, 1 - alpha, "none (no ratings)", 0)
    p = _mean(x)
    alike = _alike(x, crossing)
    if alike:
        limits, method = (p, p), f"wilson {alike}"
    else:
        spread = crossed_variance((x - p) / n, crossing)
        t = float(scipy.stats.t.isf(alpha / 2, spread.df))
        limits = wilson_limits(p, spread.variance, t)
        method = _named(spread.clusters, "wilson t")
    wide = with_room(p, *limits, units=_units(crossing, alike), ends=(0.0, 1.0), alpha=alpha)
    low, high = map(float, wide)
    method += ROOM * (not alike and (low, high) != limits)
    return Estimate.single(p, low, high, 1 - alpha, method, n)


def crossed_test(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike, *, null: float
) -> TestResult:
    """Test whether the mean of ratings is `null`, for further items and raters.

    This is the test that `crossed_interval` inverts: p is below alpha exactly if the interval of
    that alpha excludes `null`.

    Parameters
    ----------
    values, items, raters
        As in `crossed_interval`.
    null : float
        The mean under the null hypothesis, in (0, 1).

    Returns
    -------
    TestResult
        Its p_value is NaN without ratings, and above 0 in all other cases.

    Raises
    ------
    ValueError
        As `crossed_interval`, and for a `null` outside (0, 1).

    Notes
    -----
    This is the score test. With p̂ the mean and V its variance as in `crossed_interval`,

        t = (p̂ − p₀) / √(V p₀ (1 − p₀) / (p̂ (1 − p̂)))

    with the same degrees of freedom. The test for rare items has z² = I (p̂ / p₀ − 1), or
    I ((1 − p̂) / (1 − p₀) − 1) if p̂ is below p₀, with I = 1 / Σ w² items; for p̂ of 0 and 1 it is
    the score test of a rate. The result is that of the test with the larger p. If all ratings are
    equal, it is the second; if they equal p₀, p is 1.

    References
    ----------
    As in `crossed_interval`, against which it is tested.

    Examples
    --------
    >>> found = crossed_test([1, 1, 0, 1, 1, 0, 1, 1], [1, 1, 2, 2, 3, 3, 4, 4],
    ...                      ["a", "b"] * 4, null=0.5)
    >>> round(float(found.p_value), 3), found.method
    (0.28, 'two-way clusters, score t')
    """
    null = check_between("null", null, example="0.5")
    x, crossing = _checked(values, items, raters)
    if len(x) == 0:
        nan = np.asarray(np.nan)
        return TestResult(nan, nan, "none (no ratings)", df=nan)
    p = _mean(x)
    alike = _alike(x, crossing)
    beyond = (p / null if p > null else (1 - p) / (1 - null)) - 1
    # Rounding can leave a result slightly below 0 if the mean equals `null`.
    z = np.sqrt(_units(crossing, alike) * beyond) if beyond > 0 else 0.0
    method = alike or "over items (with room for rare differences)"
    of_rare = _tested(float(np.sign(p - null) * z), float("inf"), f"score {method}")
    if alike:
        return of_rare
    spread = crossed_variance((x - p) / len(x), crossing)
    t = (p - null) / np.sqrt(spread.variance * null * (1 - null) / (p * (1 - p)))
    found = _tested(float(t), spread.df, _named(spread.clusters, "score t"))
    return max(found, of_rare, key=lambda test: float(test.p_value))


def _checked(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike
) -> tuple[FloatArray, Crossing]:
    x = check_share("values", values, booleans=True, example="1; leave missing ones out")
    if x.ndim != 1:
        raise ValueError(f"values must have shape (n,); got {x.shape}")
    return x, Crossing.of(items, raters, len(x))


def _mean(x: FloatArray) -> float:
    # A mean lies between its extreme values, but rounding can move it outside.
    return float(np.clip(x.mean(), x.min(), x.max()))


def _alike(x: FloatArray, crossing: Crossing) -> str:
    """Return why the ratings have no variance; empty if they have one."""
    if np.ptp(x) <= _ROUNDING:
        alone = "; one rater" if crossing.n_raters == 1 else ""
        return f"over items (all ratings are equal{alone})"
    # Repeated ratings of one item by one rater count as one observation.
    single = crossing.n_items == 1 and crossing.n_raters == 1
    return "(one item, one rater)" if single else ""


def _units(crossing: Crossing, alike: str) -> float:
    """Return the number of items, if all had as many ratings; ∞ if raters alone are compared."""
    if crossing.n_items == 1 and not alike:
        return float("inf")
    return effective_number(np.bincount(crossing.items))


def _named(method: str, by: str) -> str:
    """Return the method's name, with the variance's source inserted before any brackets."""
    head, bracket, rest = method.partition(" (")
    return f"{head}, {by}{bracket}{rest}"


def _tested(t: float, df: float, method: str) -> TestResult:
    # With infinite degrees of freedom, Student's t is the normal distribution.
    p = max(2 * float(scipy.stats.t.sf(abs(t), df)), LEAST_P)
    return TestResult(np.asarray(t), np.asarray(p), method, df=np.asarray(df))


def wilson_limits(p: float, variance: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's limits for the number of observations that would give p this variance."""
    n = p * (1 - p) / variance
    centre = (p + quantile**2 / (2 * n)) / (1 + quantile**2 / n)
    half = quantile * np.sqrt(variance + quantile**2 / (4 * n**2)) / (1 + quantile**2 / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)
