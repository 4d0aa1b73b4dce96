"""Tango's score interval for the difference of two paired proportions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.inference._checks import (
    check_alpha,
    check_counts,
    check_design_effect,
    check_parts,
    check_shapes,
)
from fairstats.inference.paired_counts import Pairs, paired_counts

# Bisecting [-1, 1] this often ends between two neighbouring floating-point numbers.
_BISECTIONS = 64
_NEWTON_STEPS = 12
# After a step this small, the next one would be below the last bit.
_CONVERGED = 1e-9
# The limit is then among these neighbouring floating-point numbers.
_NEAR = np.arange(-6, 7)
# If rounding puts it further away, bisection searches this many times as far.
_REACH = 2.0**8


def tango(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute Tango's score interval for the difference of two paired proportions.

    The limits are the values Δ of p_a − p_b at which the score statistic

        T(Δ) = (n10 − n01 − nΔ) / √(n (2 p̂01(Δ) + Δ(1 − Δ)))

    equals ±z, with p̂01(Δ) the maximum likelihood estimate of P(only b correct) under Δ.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        Pairs with both correct, only a, only b, neither; broadcast against each other. Or one
        table, or a frame of pairs: see `paired_counts`.
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        Factor by which clustering (several answers per item) multiplies the variance; the counts
        are divided by it. See `fairstats.inference.sign_flip`.

    Returns
    -------
    Estimate
        (n10 − n01) / n, with limits in [−1, 1]. Without discordant pairs they are ±z²/(n + z²);
        with n = 0 the estimate is NaN and the limits are −1 and 1.

    Raises
    ------
    ValueError
        If a count is invalid, alpha is outside (0, 1), or a design effect is not positive.

    Notes
    -----
    T decreases in Δ. Each limit is found by Newton's method, and then among the neighbouring
    floating-point numbers.

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908. The example is Fagerland, Lydersen & Laake
    (2014), Statistics in Medicine 33:2850-2875.

    Examples
    --------
    >>> found = tango(1, 1, 7, 12)
    >>> [float(x.round(5)) for x in (found.estimate, *found.ci)]
    [-0.28571, -0.51723, -0.026]
    """
    counts = paired_counts(n11, n10, n01, n00)
    low, high = tango_limits(
        counts.n10, counts.n01, counts.n, alpha=alpha, design_effect=design_effect
    )
    estimate = np.where(counts.n > 0, (counts.n10 - counts.n01) / np.maximum(counts.n, 1), np.nan)
    estimate, low, high, n = check_shapes(estimate=estimate, low=low, high=high, n=counts.n)
    return Estimate(estimate, low, high, 1 - alpha, "tango", n)


def tango_limits(
    n10: npt.ArrayLike,
    n01: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    alpha: float,
    design_effect: npt.ArrayLike = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Return Tango's limits, given the discordant pairs and the number of all pairs.

    Raises
    ------
    ValueError
        As `tango`, and if n10 + n01 exceeds n.
    """
    n10, n01, n = check_counts(n10=n10, n01=n01, n=n)
    check_parts("n10 + n01", n10 + n01, "n", n)
    alpha, effect = check_alpha(alpha), check_design_effect(design_effect)
    check_shapes(n=n, design_effect=effect)
    return _limits(n10 / effect, n01 / effect, n / effect, alpha)


def _limits(
    n10: FloatArray, n01: FloatArray, n: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    z = -float(scipy.special.ndtri(alpha / 2))
    trials = np.where(n > 0, n, 1.0)
    estimate = (n10 - n01) / trials
    # Search both limits at once; the first axis is low and high.
    target = np.array([z, -z]).reshape(2, *[1] * n.ndim)
    end = np.ones(n.shape)
    low, high = _score_limit(
        n10, n01, trials, target, np.stack([-end, estimate]), np.stack([estimate, end])
    )
    low = np.where((n == 0) | (n01 == n), -1.0, low)
    high = np.where((n == 0) | (n10 == n), 1.0, high)
    return low, high


def _score_limit(
    n10: FloatArray,
    n01: FloatArray,
    n: FloatArray,
    target: FloatArray,
    left: FloatArray,
    right: FloatArray,
) -> FloatArray:
    """Return the Δ between `left` and `right` at which Tango's statistic equals `target`.

    Newton's method comes within a few floating-point numbers of it. The neighbours between which
    the statistic passes the target are then found among these. If they are not there, bisection
    finds them.
    """
    delta = _newton(n10, n01, n, target, left, right)
    # Near 0, rounding of the difference does not allow to tell neighbouring numbers.
    rounding = np.spacing(np.abs(n10 - n01) / n) / 2
    unit = np.maximum(np.spacing(np.abs(delta)), rounding)
    near = delta + _NEAR.reshape(-1, *[1] * delta.ndim) * unit
    above = (tango_statistic(n10, n01, n, near) > target).sum(axis=0)
    clear = (above > 0) & (above < len(_NEAR)) & (near[0] > left) & (near[-1] < right)
    clear |= left == right
    # The middle of the last number above the target and the next one.
    found = np.asarray(delta + (above + (_NEAR[0] - 0.5)) * unit)
    if not clear.all():
        whole = (np.broadcast_to(x, delta.shape) for x in (n10, n01, n, target, left, right))
        n10, n01, n, target, left, right = (x[~clear] for x in whole)
        delta, reach = delta[~clear], _REACH * unit[~clear]
        one, other = np.maximum(left, delta - reach), np.minimum(right, delta + reach)
        left = np.where(tango_statistic(n10, n01, n, one) > target, one, left)
        right = np.where(tango_statistic(n10, n01, n, other) > target, right, other)
        found[~clear] = _bisected(n10, n01, n, target, left, right)
    return found


def _newton(
    n10: FloatArray,
    n01: FloatArray,
    n: FloatArray,
    target: FloatArray,
    left: FloatArray,
    right: FloatArray,
) -> FloatArray:
    """Approximate `_score_limit`; a step that leaves the interval is replaced by its middle."""
    discordant, difference, slope = n10 + n01, n10 - n01, 2.0 * n - n10 + n01
    n2, n01_8 = 2.0 * n, 8.0 * n * n01
    # Start at the limits of the difference for a known share of discordant pairs.
    z2 = target**2
    start = (difference - target * np.sqrt(discordant + z2)) / (n + z2)
    inner = 1e-6 * (right - left)
    delta = np.clip(start, left + inner, right - inner)
    done = left == right
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(_NEWTON_STEPS):
            free = delta * (1 - delta)
            b = slope * delta - discordant
            root = np.sqrt(np.maximum(b * b + n01_8 * free, 0.0))
            p01_2 = (root - b) / n2
            variance = n * (p01_2 + free)
            spread = np.sqrt(variance)
            numerator = difference - n * delta
            statistic = numerator / spread
            above = statistic > target
            left, right = np.where(above, delta, left), np.where(above, right, delta)
            turn = 1 - 2 * delta
            change = n * ((2 * n01 * turn - slope * p01_2) / root + turn)
            slope_of_statistic = -(n + numerator * change / (2 * variance)) / spread
            step = (statistic - target) / slope_of_statistic
            moved = delta - step
            close = np.abs(step) < _CONVERGED
            inside = close | ((moved >= left) & (moved <= right))
            # A limit that is found stays, so that it does not depend on the other tables.
            delta = np.where(done, delta, np.where(inside, moved, (left + right) / 2))
            done = done | close
            if done.all():
                break
    return np.asarray(delta)


def _bisected(
    n10: FloatArray,
    n01: FloatArray,
    n: FloatArray,
    target: FloatArray,
    left: FloatArray,
    right: FloatArray,
) -> FloatArray:
    """Return the Δ of `_score_limit` by bisection."""
    for _ in range(_BISECTIONS):
        middle = (left + right) / 2
        if ((middle == left) | (middle == right)).all():
            break
        too_far_left = tango_statistic(n10, n01, n, middle) > target
        left = np.where(too_far_left, middle, left)
        right = np.where(too_far_left, right, middle)
    return (left + right) / 2


def tango_statistic(
    n10: FloatArray,
    n01: FloatArray,
    n: FloatArray,
    delta: FloatArray,
) -> FloatArray:
    # p01 is the larger root of a p² + b p + c = 0, in the form without cancellation.
    a = 2.0 * n
    b = -n10 - n01 + (2.0 * n - n10 + n01) * delta
    c = -n01 * delta * (1 - delta)
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        p01 = np.where(b > 0, -2 * c / (b + root), (root - b) / (2 * a))
    variance = n * (2 * p01 + delta * (1 - delta))
    numerator = n10 - n01 - n * delta
    # At the edge of the parameter space the variance is 0, so the statistic is infinite.
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = numerator / np.sqrt(np.maximum(variance, 0.0))
    return np.asarray(np.where(numerator == 0, 0.0, statistic), dtype=np.float64)
