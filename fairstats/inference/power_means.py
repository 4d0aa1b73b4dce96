"""Power for mean differences of levels and scores, of independent or clustered items."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.problems import ArgumentError
from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_alpha, check_counts, check_number, check_power
from fairstats.inference.power import smallest_number

# Nodes of the integral over the estimated standard deviation.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def power_means(
    n: npt.ArrayLike,
    difference: float,
    deviation: float,
    *,
    margin: float | None = None,
    scale: float | None = None,
    cluster_size: float = 1,
    icc: float = 0,
    alpha: float = 0.05,
) -> FloatArray:
    """Compute the power to show a mean difference of two groups, or that it is within a margin.

    Parameters
    ----------
    n : array_like of int
        Number of items, each with an answer for both groups.
    difference : float
        The true mean difference, in levels or points of a score.
    deviation : float
        Standard deviation of the items' differences.
    margin : float, optional
        The equivalence margin. If given, the power is that of equivalence: the 1 − 2 alpha interval
        is within the margin.
    scale : float, optional
        The highest minus the lowest possible level or score. `fairstats.analyze` calls a pair
        equivalent only if rare differences of the whole scale would not be missed, which needs a
        margin above 2.71 / (units + 2.71) of it at level 5%.
    cluster_size : float
        Mean number of items in a cluster.
    icc : float
        Intraclass correlation of the differences of a cluster's items, from 0 to 1.
    alpha : float
        Level of the test.

    Returns
    -------
    ndarray
        The power; 0 for fewer than two clusters.

    Raises
    ------
    ValueError
        For a number that is not finite or outside its range.

    Notes
    -----
    This is the exact power of Student's paired t, and of two one-sided tests with it, for normal
    differences. With K = n / m clusters of size m, the variance of the mean is multiplied by
    1 + (m − 1) ICC, and t has K − 1 degrees of freedom. `fairstats.analyze` flips signs and uses t
    with a cluster-robust variance, which have nearly the same power unless few units differ. Its
    interval then allows for larger differences than those observed. In simulations of levels from 1
    to 5, with 12, 20, 40 and 100 items of which 10 to 30% differ by 1, equivalence is shown in 94,
    79, 55 and 59%, and planned with `scale` are 96, 84, 68 and 58% (benchmarks/small_samples.py).

    References
    ----------
    Julious (2004), Statistics in Medicine 23:1921-1986; Donner & Klar (2000), Design and Analysis
    of Cluster Randomization Trials, chapter 5. Checked against simulation.

    Examples
    --------
    >>> power_means([20, 40], 0.5, 1).round(4)
    array([0.5645, 0.8694])
    >>> power_means([40, 60, 80], 0, 0.4, margin=0.2, scale=4).round(4)
    array([0.    , 0.421 , 0.8901])
    >>> round(float(power_means(190, 0.14, 0.38, cluster_size=3.8, icc=0.1)), 3)
    0.993
    """
    (items,) = check_counts(n=n)
    theta, sigma, delta, size, rho = _checked(difference, deviation, margin, cluster_size, icc)
    width = 0.0 if scale is None else check_number("scale", scale, low=0, example="4")
    alpha = check_alpha(alpha)
    units = items / size
    there = units >= 2
    freedom = np.where(there, units - 1, 1.0)
    error = sigma * np.sqrt((1 + (size - 1) * rho) / np.maximum(items, 1))
    if delta is None:
        critical, shift = scipy.special.stdtrit(freedom, 1 - alpha / 2), theta / error
        # Not nct.cdf(-critical, …, shift): it is NaN for a small probability (scipy 1.17).
        tails = (scipy.stats.nct.sf(critical, freedom, one) for one in (shift, -shift))
        found = sum(tails, start=np.zeros_like(error))
    else:
        z = float(scipy.special.ndtri(1 - alpha))
        share = np.where(width > 0, z**2 / (z**2 + units), 0.0)
        furthest = (delta - share * width) / (1 - share)
        found = _equivalence(theta, delta, furthest, error, freedom, alpha)
    return np.asarray(np.where(there, np.clip(found, 0.0, 1.0), 0.0))


def samplesize_means(
    difference: float,
    deviation: float,
    *,
    margin: float | None = None,
    scale: float | None = None,
    cluster_size: float = 1,
    icc: float = 0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Compute the number of items with which a mean difference, or equivalence, is shown.

    Parameters
    ----------
    difference, deviation, margin, scale, cluster_size, icc, alpha
        As in `power_means`.
    power : float
        The power to reach, in (0, 1).

    Returns
    -------
    int
        The smallest number of items.

    Raises
    ------
    ValueError
        As `power_means`. Also for a difference of 0 without a margin, or one that is not inside the
        margin: no number of items can show them.

    References
    ----------
    As `power_means`.

    Examples
    --------
    >>> samplesize_means(0.5, 1), samplesize_means(0, 0.4, margin=0.1)
    (34, 139)
    """
    theta, _, delta, *_ = _checked(difference, deviation, margin, cluster_size, icc)
    if delta is None and theta == 0:
        raise ArgumentError("difference", "=0 cannot be shown; give one that matters, or a margin")
    if delta is not None and abs(theta) >= delta:
        raise ArgumentError("difference", f"={theta:g} must be inside the margin, ±{delta:g}")
    power = check_power(power)
    power_of = partial(
        power_means,
        difference=difference,
        deviation=deviation,
        margin=margin,
        scale=scale,
        cluster_size=cluster_size,
        icc=icc,
        alpha=alpha,
    )
    return smallest_number(lambda n: np.asarray(power_of(n) >= power))


def _checked(
    difference: float, deviation: float, margin: float | None, cluster_size: float, icc: float
) -> tuple[float, float, float | None, float, float]:
    theta, sigma = check_number("difference", difference), check_number("deviation", deviation)
    size, rho = check_number("cluster_size", cluster_size), check_number("icc", icc)
    delta = None if margin is None else float(check_number("margin", margin))
    for name, value, fits, wanted in (
        ("deviation", sigma, sigma > 0, "positive"),
        ("margin", delta, delta is None or delta > 0, "positive"),
        ("cluster_size", size, size >= 1, "at least 1"),
        ("icc", rho, 0 <= rho <= 1, "from 0 to 1"),
    ):
        if not fits:
            raise ArgumentError(name, f"={value:g} must be {wanted}")
    return float(theta), float(sigma), delta, float(size), float(rho)


def _equivalence(
    theta: float,
    delta: float,
    furthest: FloatArray,
    error: FloatArray,
    freedom: FloatArray,
    alpha: float,
) -> FloatArray:
    """Return the power of two one-sided t tests: a mean over the estimated standard deviation.

    Estimates beyond the `furthest` are not equivalent either.
    """
    share = (_NODES + 1) / 2
    ratio = np.sqrt(scipy.stats.chi2.ppf(share, freedom[..., None]) / freedom[..., None])
    reach = scipy.special.stdtrit(freedom, 1 - alpha)[..., None] * ratio
    upper, lower = ((side * delta - theta) / error[..., None] - side * reach for side in (1, -1))
    most, least = (((side * furthest - theta) / error)[..., None] for side in (1, -1))
    upper = scipy.special.ndtr(np.minimum(upper, most))
    lower = scipy.special.ndtr(np.maximum(lower, least))
    return np.asarray(np.maximum(upper - lower, 0.0) @ _WEIGHTS / 2)


def units_of(n: int, cluster_size: float) -> int:
    """Return the number of clusters of so many items."""
    return math.ceil(n / cluster_size)
