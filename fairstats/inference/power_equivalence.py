"""Power and sample size of a test of equivalence of two paired proportions, by enumeration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import (
    check_alpha,
    check_counts,
    check_margin,
    check_power,
    check_shapes,
)
from fairstats.inference.power import check_cells, smallest_number
from fairstats.inference.tango import tango_statistic

IntArray = npt.NDArray[np.int64]

# From this expected number of discordant pairs on, use the normal distribution.
_LARGEST_EXACT = 20_000
# Beyond 9 standard deviations a binomial count has a probability below 1e-16.
_DEVIATIONS = 9


def power_equivalence(
    n: npt.ArrayLike,
    p10: npt.ArrayLike,
    p01: npt.ArrayLike,
    *,
    margin: npt.ArrayLike,
    alpha: float = 0.05,
) -> FloatArray:
    """Compute the probability of the verdict "equivalent": Tango's 1 − 2α interval is within ±δ.

    This is the power of two one-sided score tests at level α. The number m of discordant pairs is
    Binomial(n, p10 + p01). Given m, the count n10 is Binomial(m, p10 / (p10 + p01)). The
    probabilities of the tables with an interval inside the margin are summed.

    Parameters
    ----------
    n : array_like of int
        Number of pairs.
    p10, p01 : array_like of float
        Probabilities that only a is correct, and that only b is correct. Their sum is the share of
        discordant pairs, and p10 − p01 the true difference.
    margin : array_like of float
        The equivalence margin δ, a share in (0, 1); broadcast against the others.
    alpha : float
        The level of each one-sided test, in (0, 0.5).

    Returns
    -------
    ndarray
        In [0, 1]. If the true difference is ±δ, it is the level of the test. Without discordant
        pairs it is 1 if n is large enough for an interval inside the margin, z²/(n + z²) < δ, and 0
        if not.

    Raises
    ------
    ValueError
        For an invalid count, p10 or p01 outside [0, 1], a sum of both above 1, a margin outside (0,
        1), or alpha outside (0, 0.5).

    Notes
    -----
    If more than 20,000 discordant pairs are expected, a normal approximation is used.

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908; Schuirmann (1987), Journal of Pharmacokinetics
    and Biopharmaceutics 15:657-680. Checked against enumeration of all tables in R
    (tests/r/planning.R).

    Examples
    --------
    >>> round(float(power_equivalence(801, 0.02, 0.02, margin=0.02)), 3)
    0.721
    """
    alpha, delta = check_alpha(alpha, below=0.5), check_margin(margin)
    (n,) = check_counts(n=n)
    n, p10, p01, delta = check_shapes(n=n, **check_cells(p10, p01), margin=delta)
    flat = zip(n.ravel(), p10.ravel(), p01.ravel(), delta.ravel(), strict=True)
    powers = [_power(int(i), float(a), float(b), float(d), alpha) for i, a, b, d in flat]
    return np.array(powers).reshape(n.shape)[()]


def _power(n: int, p10: float, p01: float, delta: float, alpha: float) -> float:
    psi = min(p10 + p01, 1.0)
    if n == 0:
        return 0.0
    if n * psi > _LARGEST_EXACT:
        return _normal_power(n, psi, p10 - p01, delta, alpha)
    half = _DEVIATIONS * np.sqrt(n * psi * (1 - psi)) + 30
    m = np.arange(max(0, int(n * psi - half)), min(n, int(n * psi + half) + 1) + 1)
    most = _largest_difference(n, m, delta, alpha)
    share = p10 / psi if psi > 1e-300 else 0.5
    # |n10 − n01| ≤ most: n10 from (m − most) / 2 to (m + most) / 2.
    chance = scipy.special.bdtr((m + most) // 2, m, share) - np.where(
        m - most > 1, scipy.special.bdtr(np.maximum((m - most + 1) // 2 - 1, 0), m, share), 0.0
    )
    power = scipy.stats.binom.pmf(m, n, psi) @ np.where(most >= 0, chance, 0.0)
    return float(np.clip(power, 0.0, 1.0))


def _largest_difference(n: int, m: IntArray, delta: float, alpha: float) -> IntArray:
    """Return the largest n10 − n01 of m discordant pairs with an interval inside ±δ; −1 if none.

    The upper limit rises with n10 − n01, and the lower limit is its mirror image. The upper limit
    is below δ exactly if the score statistic at δ is below −z.
    """
    z, whole = scipy.stats.norm.isf(alpha), m.astype(np.float64)
    pairs, ends = np.full(m.shape, float(n)), np.full(m.shape, delta)
    low, high = np.full(m.shape, -1), m // 2 + 1
    while np.any(high - low > 1):
        middle = (low + high) // 2
        # The difference has the parity of m.
        n10 = np.clip((m + 1) // 2 + np.maximum(middle, 0), 0, m).astype(np.float64)
        inside = (tango_statistic(n10, whole - n10, pairs, ends) < -z) & (middle >= 0)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(low < 0, -1, np.minimum(2 * low + m % 2, m))


def _normal_power(n: int, psi: float, difference: float, delta: float, alpha: float) -> float:
    spread = np.sqrt(max(psi - difference**2, 1e-300) / n)
    # At the margin, the score statistic uses the variance under a difference of δ.
    reach = delta - scipy.stats.norm.isf(alpha) * np.sqrt(max(psi - delta**2, 1e-300) / n)
    power = scipy.stats.norm.cdf((reach - difference) / spread) - scipy.stats.norm.cdf(
        (-reach - difference) / spread
    )
    return float(max(power, 0.0)) if reach > 0 else 0.0


def samplesize_equivalence(
    p10: float, p01: float, *, margin: float, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Compute the number of items with which equivalence is shown with a given power.

    Parameters
    ----------
    p10, p01 : float
        Probabilities that only a is correct, and that only b is correct. Their difference must be
        smaller than the margin.
    margin : float
        The equivalence margin δ, a share in (0, 1).
    power : float
        The power to reach, in (0, 1): 80% is 0.8.
    alpha : float
        The level of each one-sided test, in (0, 0.5).

    Returns
    -------
    int
        The smallest n for which the exact power stays at or above `power` for the next 100 values
        of n.

    Raises
    ------
    ValueError
        If \\|p10 − p01\\| is not below the margin: no number of items then shows equivalence. Also
        for p10 or p01 outside [0, 1] or a sum above 1, a margin or a power outside (0, 1), or alpha
        outside (0, 0.5).

    References
    ----------
    As `power_equivalence`.

    Examples
    --------
    >>> samplesize_equivalence(0.02, 0.02, margin=0.02)
    922
    """
    checked = [*check_cells(p10, p01).values(), check_margin(margin)]
    if any(one.ndim for one in checked):
        raise ValueError(
            f"p10={p10!r}, p01={p01!r} and margin={margin!r} must each be one number, e.g. 0.02"
        )
    a, b, delta = (float(one) for one in checked)
    power, alpha = check_power(power), check_alpha(alpha, below=0.5)
    if abs(a - b) >= delta - 1e-12:
        raise ValueError(
            f"the difference of p10={a:g} and p01={b:g} is not below margin={delta:g}: give a "
            "smaller true difference or a wider margin"
        )
    return smallest_number(lambda n: _power(n, a, b, delta, alpha) >= power)
