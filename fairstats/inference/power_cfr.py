"""Power, expected interval width and sample size for the CFR, by enumeration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import (
    check_alpha,
    check_between,
    check_counts,
    check_power,
    check_shapes,
    check_share,
)
from fairstats.inference.power import smallest_number

# Beyond 9 standard deviations a binomial count has a probability below 1e-16.
_DEVIATIONS = 9


def power_cfr(
    n: npt.ArrayLike, cfr: npt.ArrayLike, *, threshold: npt.ArrayLike, alpha: float = 0.05
) -> FloatArray:
    """Compute the probability that the CFR is shown to be above a threshold.

    It is shown if the lower limit of Wilson's 1 − 2α interval is above the threshold, as in
    `fairstats gate --min-cfr`. The number of pairs with the same answer is Binomial(n, CFR).

    Parameters
    ----------
    n : array_like of int
        Number of pairs.
    cfr : array_like of float
        The true CFR: the share of pairs with the same answer, in [0, 1].
    threshold : array_like of float
        The threshold, in (0, 1); broadcast against the others.
    alpha : float
        The level of the one-sided test, in (0, 0.5).

    Returns
    -------
    ndarray
        In [0, 1]. If the CFR equals the threshold, it is the level of the test, which is near
        alpha.

    Raises
    ------
    ValueError
        For an invalid count, a CFR outside [0, 1], a threshold outside (0, 1), or alpha outside (0,
        0.5).

    References
    ----------
    Wilson (1927), JASA 22:209-212. Checked against R's ``prop.test`` and enumeration
    (tests/r/planning.R).

    Examples
    --------
    >>> round(float(power_cfr(801, 0.93, threshold=0.9)), 3)
    0.923
    """
    alpha, (n,) = check_alpha(alpha, below=0.5), check_counts(n=n)
    least = check_share("threshold", threshold, example="0.9")
    if np.any(edge := (least <= 0) | (least >= 1)):
        raise ValueError(f"threshold={least[edge].flat[0]:g} must be between 0 and 1, e.g. 0.9")
    n, cfr, least = check_shapes(n=n, cfr=check_share("cfr", cfr, example="0.93"), threshold=least)
    # Wilson's lower limit exceeds the threshold exactly if the score statistic exceeds z.
    needed = n * least + scipy.stats.norm.isf(alpha) * np.sqrt(n * least * (1 - least))
    power = scipy.stats.binom.sf(np.floor(needed + 1e-9), n, cfr)
    return np.asarray(np.where(n > 0, power, 0.0))[()]


def expected_width_cfr(n: npt.ArrayLike, cfr: npt.ArrayLike, *, alpha: float = 0.05) -> FloatArray:
    """Compute the expected width of Wilson's interval for the CFR.

    Parameters
    ----------
    n : array_like of int
        Number of pairs.
    cfr : array_like of float
        The true CFR, in [0, 1]; broadcast against n.
    alpha : float
        1 − confidence level.

    Returns
    -------
    ndarray
        In (0, 1]; 0.04 is an interval of ±2 percentage points. With n = 0 it is 1.

    Raises
    ------
    ValueError
        For an invalid count, a CFR outside [0, 1], or alpha outside (0, 1).

    References
    ----------
    Wilson (1927), JASA 22:209-212. Checked against R's ``prop.test`` and enumeration
    (tests/r/planning.R).

    Examples
    --------
    >>> round(float(expected_width_cfr(801, 0.93)), 4)
    0.0354
    """
    alpha, (n,) = check_alpha(alpha), check_counts(n=n)
    n, cfr = check_shapes(n=n, cfr=check_share("cfr", cfr, example="0.93"))
    flat = zip(n.ravel(), cfr.ravel(), strict=True)
    widths = [_expected_width(int(i), float(p), alpha) for i, p in flat]
    return np.array(widths).reshape(n.shape)[()]


def _expected_width(n: int, p: float, alpha: float) -> float:
    if n == 0:
        return 1.0
    half = _DEVIATIONS * np.sqrt(n * p * (1 - p)) + 30
    k = np.arange(max(0, int(n * p - half)), min(n, int(n * p + half) + 1) + 1)
    z2 = scipy.stats.norm.isf(alpha / 2) ** 2
    width = 2 * np.sqrt(z2) / (n + z2) * np.sqrt(k * (n - k) / n + z2 / 4)
    return float(scipy.stats.binom.pmf(k, n, p) @ width)


def samplesize_cfr(
    cfr: float,
    *,
    threshold: float | None = None,
    width: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Compute the number of items with which the CFR is above a threshold, or precise enough.

    Parameters
    ----------
    cfr : float
        The true CFR, in [0, 1].
    threshold : float, optional
        The CFR is to be shown to be above it, in (0, 1); see `power_cfr`.
    width : float, optional
        The expected width of the 1 − α interval is to be at most this, in (0, 1). Give either a
        threshold or a width.
    power : float
        The power to reach, in (0, 1); not used with a width.
    alpha : float
        The level of the one-sided test, or 1 − confidence level of the interval, in (0, 0.5).

    Returns
    -------
    int
        The smallest n that is enough, and for which the next 100 values of n are enough too.

    Raises
    ------
    ValueError
        If both or neither of `threshold` and `width` are given, the CFR is not above the threshold,
        or a number is outside its range.

    References
    ----------
    As `power_cfr`.

    Examples
    --------
    >>> samplesize_cfr(0.93, threshold=0.9), samplesize_cfr(0.93, width=0.04)
    (579, 629)
    """
    if (threshold is None) == (width is None):
        raise ValueError("give either threshold, e.g. 0.9, or width, e.g. 0.04")
    share = check_share("cfr", cfr, example="0.93")
    if share.ndim:
        raise ValueError("cfr must be one number, e.g. 0.93")
    p, power, alpha = float(share), check_power(power), check_alpha(alpha, below=0.5)
    if width is not None:
        target = check_between("width", width, example="0.04")
        return smallest_number(lambda n: _expected_width(n, p, alpha) <= target)
    assert threshold is not None
    least = check_between("threshold", threshold, example="0.9")
    if p <= least:
        raise ValueError(
            f"cfr={p:g} is not above threshold={least:g}: give a larger CFR or a lower threshold"
        )
    return smallest_number(lambda n: float(power_cfr(n, p, threshold=least, alpha=alpha)) >= power)
