"""The rule of a verdict: disparity, equivalence (too small to matter), or inconclusive."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import (
    check_alpha,
    check_limits,
    check_margin,
    check_p_values,
    check_shapes,
)

DISPARITY = "disparity"
EQUIVALENT = "equivalent"
INCONCLUSIVE = "inconclusive"
#: What makes an interval wider than its method alone does, except for pairs of single answers.
ROOM = " with room for rare differences"


def verdict(
    p_adjusted: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    margin: npt.ArrayLike,
    alpha: float = 0.05,
) -> npt.NDArray[np.str_]:
    """Return the verdict on a signed difference, given the equivalence margin δ.

    Parameters
    ----------
    p_adjusted : array_like of float
        p-values of the test of no difference, adjusted over their family, in [0, 1]. NaN if the
        test was not possible.
    low, high : array_like of float
        Limits of the 1 − 2α interval, shares in [−1, 1] (2 percentage points are 0.02). An interval
        inside ±δ is the same as both one-sided tests rejecting at level α. NaN if there is no
        interval; the difference is then never equivalent.
    margin : array_like of float
        The margin δ, a share in (0, 1).
    alpha : float
        The level of both decisions, in (0, 0.5).

    Returns
    -------
    ndarray of str
        ``"equivalent"`` if the interval is inside ±δ, even if the difference is not zero. If not,
        ``"disparity"`` if p is at most α. In all other cases ``"inconclusive"``, also if p is NaN.

    Raises
    ------
    ValueError
        For a margin outside (0, 1), a limit outside [−1, 1], a lower limit above the upper one, a
        p-value outside [0, 1], an alpha outside (0, 0.5), or shapes that do not fit each other.

    Notes
    -----
    A true difference of exactly the margin should be called equivalent in at most alpha of samples.
    If small differences are common and large ones rare, intervals of scores, and of several samples
    per item, miss the latter, and would call up to 61% equivalent. So `fairstats.analyze` gives
    limits `with_room` for them. With 2 to 20 samples, it is then in at most 9% of simulations, at
    level 5% (benchmarks/small_samples.py).

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15:657-680.

    Examples
    --------
    >>> verdict([1e-9, 0.6, 0.6], [0.1, -0.01, -0.1], [0.2, 0.01, 0.1], margin=0.02).tolist()
    ['disparity', 'equivalent', 'inconclusive']
    """
    alpha = check_alpha(alpha, below=0.5)
    p, delta = check_p_values("p_adjusted", p_adjusted), check_margin(margin)
    low, high = check_limits(low, high)
    p, low, high, delta = check_shapes(p_adjusted=p, low=low, high=high, margin=delta)
    inside = (low > -delta) & (high < delta)
    judged = np.where(inside, EQUIVALENT, np.where(p <= alpha, DISPARITY, INCONCLUSIVE))
    # Without a test, the comparison is inconclusive.
    return np.where(np.isnan(p), INCONCLUSIVE, judged)


def with_room(
    estimate: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    units: npt.ArrayLike,
    ends: tuple[npt.ArrayLike, npt.ArrayLike] | None,
    alpha: float = 0.05,
) -> tuple[FloatArray, FloatArray]:
    r"""Widen limits for rare units that differ by the whole scale, and were not drawn.

    If small differences are common, an interval does not show that rare large ones were missed. Of
    further units, a share of up to Wilson's limit for 0 of as many units could be at an end:

    .. math:: w = z^2 / (z^2 + K), \quad \hat\theta - w (\hat\theta - \text{lowest}),
        \quad \hat\theta + w (\text{highest} - \hat\theta)

    Parameters
    ----------
    estimate, low, high : array_like of float
        Means over units and their limits; NaN if unknown.
    units : array_like of float
        The number of independent units K; infinite if no room is needed.
    ends : (array_like of float, array_like of float), optional
        The lowest and highest value of a unit; None if there is none, and so no room.
    alpha : float
        1 − confidence level, in (0, 1).

    Returns
    -------
    (ndarray, ndarray)
        The limits. Those of Wilson and Tango for single answers have this room already.

    Raises
    ------
    ValueError
        For an alpha outside (0, 1).

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22:209-212. Sizes of the tests:
    benchmarks/small_samples.py.

    Examples
    --------
    >>> low, high = with_room(0.0, -0.01, 0.01, units=60, ends=(-1, 1), alpha=0.1)
    >>> float(low.round(3)), float(high.round(3))
    (-0.043, 0.043)
    """
    center, low, high = (np.asarray(one, dtype=np.float64) for one in (estimate, low, high))
    if ends is None:
        return low, high
    share = rare_share(units, alpha)
    lowest, highest = (np.asarray(end, dtype=np.float64) for end in ends)
    return (
        np.fmin(low, center - share * (center - lowest)),
        np.fmax(high, center + share * (highest - center)),
    )


def roomy_difference(
    estimate: float,
    limits: tuple[float, float],
    *,
    units: float,
    span: float,
    alpha: float,
    rejected: bool = True,
) -> tuple[float, float, str]:
    """Return limits of a difference within ±span `with_room`, and `ROOM` if they are wider.

    Limits that exclude 0 stay there, as the test does, unless it has not `rejected` 0.
    """
    room = with_room(estimate, *limits, units=units, ends=(-span, span), alpha=alpha)
    low, high = map(float, widened(*limits, *room, tested=0.0 if rejected else np.nan))
    return low, high, ROOM * ((low, high) != limits)


def rare_share(units: npt.ArrayLike, alpha: float) -> FloatArray:
    """Return the largest share of units that so many without any allow (Wilson's limit for 0)."""
    z2 = float(scipy.special.ndtri(1 - check_alpha(alpha) / 2)) ** 2
    return np.asarray(z2 / (z2 + np.asarray(units, dtype=np.float64)))


def widened(
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    wide_low: npt.ArrayLike,
    wide_high: npt.ArrayLike,
    *,
    tested: npt.ArrayLike,
) -> tuple[FloatArray, FloatArray]:
    """Return limits at least as wide as others; those that exclude `tested` stay, as tests do."""
    low, high, tested = np.asarray(low), np.asarray(high), np.asarray(tested)
    return (
        np.where(low > tested, low, np.fmin(low, wide_low)),
        np.where(high < tested, high, np.fmax(high, wide_high)),
    )
