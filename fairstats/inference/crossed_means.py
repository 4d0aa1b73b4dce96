"""Means over ratings that are crossed: one item has several raters, one rater several items.

Ratings of one item are alike, and so are those by one rater. What is said of further items and
further raters has to count with both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from fairstats._lib.result_objects import Estimate, FloatArray, Tabular
from fairstats.inference._checks import check_alpha, check_between, check_share
from fairstats.inference.bounded_mean import bounded_mean_interval
from fairstats.inference.crossed_variance import Crossing, crossed_variance

# What differs by less differs by floating point alone.
_ROUNDING = 1e-12
# A p-value that underflows is not 0.
_LEAST_P = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class CrossedTest(Tabular):
    """Result of `crossed_test`: statistic, degrees of freedom (df), p_value and method."""

    statistic: float
    df: float
    p_value: float
    method: str


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
    ``benchmarks/crossed_coverage.py`` it is the narrowest that covers at least 93% wherever raters
    differ little or not at all. None keeps its level where raters are few and differ widely in a
    rare event, this one down to 79% in the worst design: five raters do not show how far raters
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
    x, crossing = _checked(values, items, raters)
    n = len(x)
    if n == 0:
        return _result(float("nan"), 0.0, 1.0, alpha, "none (no rating)", 0)
    p = _mean(x)
    alike = _alike(x, crossing)
    if alike:
        found = bounded_mean_interval(np.full(alike[0], p), alpha=alpha)
        low, high = float(found.ci_low), float(found.ci_high)
        return _result(p, low, high, alpha, f"wilson {alike[1]}", n)
    spread = crossed_variance((x - p) / n, crossing)
    low, high = wilson_limits(p, spread.variance, float(stats.t.isf(alpha / 2, spread.df)))
    return _result(p, low, high, alpha, _named(spread.clusters, "wilson t"), n)


def crossed_test(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike, *, null: float
) -> CrossedTest:
    """Whether the mean of ratings is `null`, over further items and further raters.

    The test that `crossed_interval` inverts: p is below alpha exactly where the interval of that
    alpha leaves out `null`.

    Parameters
    ----------
    values, items, raters
        As for `crossed_interval`.
    null : float
        The mean that is tested, in (0, 1).

    Returns
    -------
    CrossedTest
        Its p_value is NaN without a rating, and else above 0.

    Raises
    ------
    ValueError
        As `crossed_interval`, and for a `null` outside (0, 1).

    Notes
    -----
    The score test: with p̂ the mean and V its variance as for `crossed_interval`,

        t = (p̂ − p₀) / √(V p₀ (1 − p₀) / (p̂ (1 − p̂)))

    with the degrees of freedom there. Where all ratings have one value v, z² is the I items times
    v / p₀ − 1, or (1 − v) / (1 − p₀) − 1 where v is below p₀; for v = 1 and 0 that is the score
    test of a rate. Where v is p₀, p is 1.

    References
    ----------
    As for `crossed_interval`; against which it is tested.

    Examples
    --------
    >>> found = crossed_test([1, 1, 0, 1, 1, 0, 1, 1], [1, 1, 2, 2, 3, 3, 4, 4],
    ...                      ["a", "b"] * 4, null=0.5)
    >>> round(found.p_value, 3), found.method
    (0.28, 'two-way clusters, score t')
    """
    null = check_between("null", null, example="0.5")
    x, crossing = _checked(values, items, raters)
    if len(x) == 0:
        return CrossedTest(float("nan"), float("nan"), float("nan"), "none (no rating)")
    p = _mean(x)
    alike = _alike(x, crossing)
    if alike:
        beyond = p / null if p > null else (1 - p) / (1 - null)
        # Rounding leaves a little less than 1 of what is `null`.
        z = float(np.sign(p - null) * np.sqrt(alike[0] * max(beyond - 1, 0.0)))
        return _tested(z, float("inf"), f"score {alike[1]}")
    spread = crossed_variance((x - p) / len(x), crossing)
    t = (p - null) / np.sqrt(spread.variance * null * (1 - null) / (p * (1 - p)))
    return _tested(float(t), spread.df, _named(spread.clusters, "score t"))


def _checked(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike
) -> tuple[FloatArray, Crossing]:
    x = check_share("values", values, booleans=True, example="1; leave missing ones out")
    if x.ndim != 1:
        raise ValueError(f"values must have shape (n,); got {x.shape}")
    return x, Crossing.of(items, raters, len(x))


def _mean(x: FloatArray) -> float:
    # A mean lies between its values; floating point does not know.
    return float(np.clip(x.mean(), x.min(), x.max()))


def _alike(x: FloatArray, crossing: Crossing) -> tuple[int, str] | None:
    """Of how many observations the ratings are, and why; None where they show how they vary."""
    if np.ptp(x) <= _ROUNDING:
        return crossing.n_items, "over items (all ratings are equal)"
    if crossing.n_items == 1 and crossing.n_raters == 1:
        # However often one rater has rated one item, it is one observation.
        return 1, "(one item, one rater)"
    return None


def _named(method: str, by: str) -> str:
    """The method with what its variance was used for before what is said in brackets."""
    head, bracket, rest = method.partition(" (")
    return f"{head}, {by}{bracket}{rest}"


def _tested(t: float, df: float, method: str) -> CrossedTest:
    # With degrees of freedom without end Student's law is the normal one.
    p = max(2 * float(stats.t.sf(abs(t), df)), _LEAST_P)
    return CrossedTest(t, df, p, method)


def wilson_limits(p: float, variance: float, quantile: float) -> tuple[float, float]:
    """Wilson's limits for the number of observations that would give p this variance."""
    n = p * (1 - p) / variance
    centre = (p + quantile**2 / (2 * n)) / (1 + quantile**2 / n)
    half = quantile * np.sqrt(variance + quantile**2 / (4 * n**2)) / (1 + quantile**2 / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _result(
    estimate: float, low: float, high: float, alpha: float, method: str, n: int
) -> Estimate:
    numbers = (np.asarray(estimate), np.asarray(low), np.asarray(high))
    return Estimate(*numbers, 1 - alpha, method, np.asarray(n))
