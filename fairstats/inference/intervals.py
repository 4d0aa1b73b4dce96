"""Score intervals of a proportion and of a paired difference, and Newcombe's square-and-add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.inference._checks import (
    IntArray,
    check_alpha,
    check_choice,
    check_counts,
    check_design_effect,
    check_parts,
    check_shapes,
)
from fairstats.inference.paired_counts import PairedCounts, Pairs, paired_counts

ProportionMethod = Literal["wilson", "clopper_pearson", "jeffreys"]
# The names in statsmodels.
_STATSMODELS = {"wilson": "wilson", "clopper_pearson": "beta", "jeffreys": "jeffreys"}


def proportion_interval(
    successes: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    method: ProportionMethod = "wilson",
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute a confidence interval for a proportion, e.g. an accuracy or CFR.

    Parameters
    ----------
    successes, n : array_like of int
        Number of successes out of n; broadcast against each other.
    method : {"wilson", "clopper_pearson", "jeffreys"}
        Wilson's score interval; the exact interval, which covers at least 1 − alpha and often far
        more; or the equal-tailed posterior interval under Jeffreys' prior Beta(½, ½).
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        Factor by which clustering (several answers per item) multiplies the variance; the counts
        are divided by it. See `fairstats.inference.clustered_answers`.

    Returns
    -------
    Estimate
        successes / n, with limits in [0, 1]. The lower limit is 0 without a success, and the upper
        limit is 1 without a failure. With n = 0 the estimate is NaN and they are 0 and 1.

    Raises
    ------
    ValueError
        If there are more successes than trials, a count is invalid, alpha is outside (0, 1), a
        design effect is not positive, or the method is unknown.

    References
    ----------
    Wilson (1927), JASA 22:209-212; Clopper & Pearson (1934), Biometrika 26:404-413; Brown, Cai &
    DasGupta (2001), Statistical Science 16:101-133. Computed by `statsmodels.stats.proportion`,
    checked against R's ``prop.test``, ``binom.test`` and ``qbeta`` (tests/r).

    Examples
    --------
    >>> round(float(proportion_interval(0, 10).ci_high), 4)
    0.2775
    >>> round(float(proportion_interval(0, 10, method="clopper_pearson").ci_high), 4)
    0.3085
    """
    from statsmodels.stats.proportion import proportion_confint

    successes, n = check_counts(successes=successes, n=n)
    check_parts("successes", successes, "n", n)
    check_choice("method", method, get_args(ProportionMethod))
    alpha = check_alpha(alpha)
    effect = check_design_effect(design_effect)
    check_shapes(successes=successes, design_effect=effect)
    low, high = proportion_confint(
        successes / effect, np.maximum(n, 1) / effect, alpha=alpha, method=_STATSMODELS[method]
    )
    # The closed forms leave rounding error near an exact 0 or 1.
    low = np.where(successes == 0, 0.0, np.clip(low, 0.0, 1.0))
    high = np.where(successes == n, 1.0, np.clip(high, 0.0, 1.0))
    estimate = np.where(n > 0, successes / np.maximum(n, 1), np.nan)
    estimate, low, high, n = check_shapes(estimate=estimate, low=low, high=high, n=n)
    return Estimate(estimate, low, high, 1 - alpha, method, n)


def wilson(
    successes: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute Wilson's score interval for a proportion (the default of `proportion_interval`).

    Parameters
    ----------
    successes, n, alpha, design_effect
        As in `proportion_interval`.

    Returns
    -------
    Estimate
        successes / n, with limits in [0, 1]; NaN, 0 and 1 with n = 0.

    Raises
    ------
    ValueError
        As in `proportion_interval`.

    References
    ----------
    Wilson (1927), JASA 22:209-212.

    Examples
    --------
    >>> round(float(wilson(0, 10).ci_high), 4)
    0.2775
    """
    return proportion_interval(
        successes, n, method="wilson", alpha=alpha, design_effect=design_effect
    )


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
        are divided by it. See `fairstats.inference.clustered_answers`.

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
    T decreases in Δ, and a bracketing search finds each limit to the last digits.

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
    """Return Tango's limits, given the discordant pairs and the number of all pairs."""
    n10, n01, n = check_counts(n10=n10, n01=n01, n=n)
    check_parts("n10 + n01", n10 + n01, "n", n)
    alpha, effect = check_alpha(alpha), check_design_effect(design_effect)
    check_shapes(n=n, design_effect=effect)
    return effective_tango_limits(n10 / effect, n01 / effect, n / effect, alpha)


def effective_tango_limits(
    n10: FloatArray, n01: FloatArray, n: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Return Tango's limits of effective counts, which need not be whole."""
    from scipy.optimize import elementwise

    def beyond(
        delta: FloatArray, target: FloatArray, n10: FloatArray, n01: FloatArray, n: FloatArray
    ) -> FloatArray:
        return tango_statistic(n10, n01, n, delta) - target

    z = -float(scipy.special.ndtri(alpha / 2))
    trials = np.where(n > 0, n, 1.0)
    estimate, end = (n10 - n01) / trials, np.ones(n.shape)
    # Search both limits at once; the first axis is low and high.
    target = np.array([z, -z]).reshape(2, *[1] * n.ndim)
    ends = np.stack([-end, estimate]), np.stack([estimate, end])
    found = elementwise.find_root(beyond, ends, args=(target, n10, n01, trials))
    low, high = found.x
    low = np.where((n == 0) | (n01 == n), -1.0, low)
    high = np.where((n == 0) | (n10 == n), 1.0, high)
    return low, high


def tango_statistic(
    n10: FloatArray, n01: FloatArray, n: FloatArray, delta: FloatArray
) -> FloatArray:
    """Return T(Δ)."""
    # Below 0, use the mirrored table: then no difference in the roots loses digits.
    mirrored = delta < 0
    n10, n01 = np.where(mirrored, n01, n10), np.where(mirrored, n10, n01)
    delta = np.abs(delta)
    # p01 is the larger root of a p² + b p + c = 0, in the form without cancellation.
    a = 2 * n
    b = (2 * n - n10 + n01) * delta - n10 - n01
    c = -n01 * delta * (1 - delta)
    root = np.sqrt(b**2 - 4 * a * c)
    numerator = n10 - n01 - n * delta
    # At the edge of the parameter space the variance is 0, so the statistic is infinite.
    with np.errstate(divide="ignore", invalid="ignore"):
        p01 = np.where(b > 0, -2 * c / (b + root), (root - b) / (2 * a))
        statistic = numerator / np.sqrt(n * (2 * p01 + delta * (1 - delta)))
    statistic = np.where(numerator == 0, 0.0, statistic)
    return np.asarray(np.where(mirrored, -statistic, statistic), dtype=np.float64)


def corrected_phi(
    n11: IntArray,
    n10: IntArray,
    n01: IntArray,
    n00: IntArray,
    copies: npt.ArrayLike,
    *,
    undefined: float,
) -> FloatArray:
    """Return φ of the paired table, with Newcombe's continuity correction if φ is positive.

    Without the correction, φ is 1 if no pair is discordant, and the interval would be almost a
    point. If a margin is empty, φ is `undefined`, or 0 without discordant pairs. With `copies`
    pairs per answer, the correction is that of n / copies pairs.
    """
    both, only_a, only_b, neither = (cell.astype(np.float64) for cell in (n11, n10, n01, n00))
    n = both + only_a + only_b + neither
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    product = both * neither - only_a * only_b
    corrected = np.where(
        product > 0, np.maximum(product - n * np.asarray(copies) / 2, 0.0), product
    )
    phi = corrected / np.sqrt(np.where(margins > 0, margins, 1.0))
    return np.where(margins > 0, phi, np.where(only_a + only_b > 0, undefined, 0.0))


class OwnCounts(NamedTuple):
    """Two groups' correct and all answers, and the correlation of the two accuracies."""

    correct_a: IntArray
    n_a: IntArray
    correct_b: IntArray
    n_b: IntArray
    correlation: FloatArray


def own_counts(
    cells: PairedCounts,
    correct_a: npt.ArrayLike,
    n_a: npt.ArrayLike,
    correct_b: npt.ArrayLike,
    n_b: npt.ArrayLike,
    *,
    copies: npt.ArrayLike = 1.0,
    undefined: float = 0.0,
) -> OwnCounts:
    """Return the counts of two groups that share only the pairs with these cells.

    The correlation of the two accuracies is φ n / √(n_a n_b), with φ as in `corrected_phi`.

    Raises
    ------
    ValueError
        If a group's counts do not include the answers of the pairs, or exceed each other.
    """
    right_a, n, right_b, _ = cells.of_groups
    correct_a, n_a, correct_b, n_b = check_counts(
        correct_a=correct_a, n_a=n_a, correct_b=correct_b, n_b=n_b
    )
    check_shapes(pairs=n, own=n_a)
    for group, of_pairs, correct, own in (
        ("a", right_a, correct_a, n_a),
        ("b", right_b, correct_b, n_b),
    ):
        check_parts(f"correct_{group}", correct, f"n_{group}", own)
        for name, least, most, meaning in (
            (f"n_{group}", n, own, "answers"),
            (f"correct_{group}", of_pairs, correct, "correct answers"),
            (f"n_{group} - correct_{group}", n - of_pairs, own - correct, "wrong answers"),
        ):
            few, there = np.broadcast_arrays(most, least)
            if np.any(few < there):
                raise ValueError(
                    f"{name}={few[few < there][0]} must count the {meaning} of the pairs too, "
                    f"{there[few < there][0]}"
                )
    share = n / np.sqrt(np.maximum(n_a, 1.0) * np.maximum(n_b, 1.0))
    correlation = np.asarray(corrected_phi(*cells, copies, undefined=undefined) * share)
    return OwnCounts(correct_a, n_a, correct_b, n_b, correlation)


def square_and_add(
    correct_a: IntArray,
    n_a: IntArray,
    correct_b: IntArray,
    n_b: IntArray,
    correlation: FloatArray,
    *,
    alpha: float,
    design_effect: npt.ArrayLike = 1.0,
    scale: Callable[[npt.ArrayLike], FloatArray] = np.asarray,
    furthest: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Return limits of the difference of two correlated proportions, from Wilson's limits of each.

    The distances between limits and estimates are added as lengths at an angle given by the
    correlation of the estimates; if it is NaN, the most negative one of such proportions is used.
    Everything is on a `scale` on which differences are within ±`furthest`. These are the limits if
    a group has no answers.
    """
    limits_a, limits_b = (
        proportion_interval(correct, n, alpha=alpha, design_effect=design_effect)
        for correct, n in ((correct_a, n_a), (correct_b, n_b))
    )
    a, b = scale(correct_a / np.maximum(n_a, 1)), scale(correct_b / np.maximum(n_b, 1))

    def length(p: FloatArray, q: FloatArray) -> FloatArray:
        x, y = np.abs(scale(p) - a), np.abs(scale(q) - b)
        r = np.where(np.isnan(correlation), _least_phi(p, q), correlation)
        return np.sqrt(np.maximum(x**2 - 2 * r * x * y + y**2, 0.0))

    difference, known = a - b, (n_a > 0) & (n_b > 0)
    low = np.maximum(difference - length(limits_a.ci_low, limits_b.ci_high), -furthest)
    high = np.minimum(difference + length(limits_a.ci_high, limits_b.ci_low), furthest)
    return np.where(known, low, -furthest), np.where(known, high, furthest)


def _least_phi(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the most negative φ of two proportions; 0 if one of them is 0 or 1."""
    spread = np.sqrt(p * (1 - p) * q * (1 - q))
    least = np.maximum(p + q - 1, 0.0) - p * q
    return np.divide(least, spread, out=np.zeros(spread.shape), where=spread > 0)
