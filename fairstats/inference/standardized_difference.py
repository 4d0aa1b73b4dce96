"""Standardized difference of two groups' levels or scores over independent units."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.problems import ArgumentError
from fairstats._lib.result_objects import Estimate
from fairstats.inference._checks import check_numbers
from fairstats.inference.unit_means import (
    checked_limits,
    degrees_of_freedom,
    group_sums,
    unit_influence,
    unit_mean_difference,
)

# Relative to the squared span, a smaller variance is rounding error.
_ROUNDING = 1e-12


def standardized_difference(
    sum_a: npt.ArrayLike,
    squares_a: npt.ArrayLike,
    n_a: npt.ArrayLike,
    sum_b: npt.ArrayLike,
    squares_b: npt.ArrayLike,
    n_b: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    limits: tuple[float, float],
    alpha: float = 0.05,
) -> Estimate:
    """Compute the difference of two groups' means in standard deviations of the answers.

    d = (ȳ_a − ȳ_b) / s, with s² = (SS_a + SS_b) / (N_a + N_b − 2) and SS the sum of squared
    deviations from the group's mean. It is Cohen's d for all answers; the pairing does not change
    s, but it narrows the limits.

    Parameters
    ----------
    sum_a, squares_a, sum_b, squares_b : array_like of float, shape (k,)
        Sum of each unit's answers of the group, and of their squares.
    n_a, n_b, multiplicity, limits, alpha
        As in `unit_mean_difference`.

    Returns
    -------
    Estimate
        `n` is the number of units. If all answers of each group are the same, or a group has no
        answers, NaN with infinite limits.

    Raises
    ------
    ValueError
        As `unit_mean_difference`, and if a sum of squares does not fit its sum.

    Notes
    -----
    The variance is linearised: unit k contributes u_k / s − d v_k / (2 s²), with u_k as in
    `unit_mean_difference` and v_k the unit's contribution to s². The limits are those of Student's
    t with the degrees of freedom of the difference. If few units differ, so that the score limits
    of the difference are wider than t, they reach at least as far as its limits divided by s.

    References
    ----------
    Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2; Binder (1983),
    International Statistical Review 51:279-292, for linearised variances over clusters.

    Examples
    --------
    >>> a, b, one = np.array([3, 4, 5, 3, 2]), np.array([2, 4, 3, 3, 2]), np.ones(5)
    >>> found = standardized_difference(a, a**2, one, b, b**2, one, limits=(1, 5))
    >>> [round(float(x), 3) for x in (found.estimate, *found.ci)]
    [0.6, -0.676, 1.711]
    """
    difference = unit_mean_difference(
        sum_a, n_a, sum_b, n_b, multiplicity, limits=limits, alpha=alpha
    )
    lowest, highest = checked_limits(limits)
    span = highest - lowest
    groups = (
        group_sums("a", sum_a, n_a, multiplicity, lowest, highest),
        group_sums("b", sum_b, n_b, multiplicity, lowest, highest),
    )
    many, total = groups[0].many, sum(group.total for group in groups)
    of_units, deviations = np.zeros(len(many)), 0.0
    for name, group, given in zip(("a", "b"), groups, (squares_a, squares_b), strict=True):
        squares = check_numbers(f"squares_{name}", given, low=0)
        if squares.shape != many.shape:
            raise ValueError(
                f"squares_{name} must have the shape of sum_{name}, {many.shape}; "
                f"got {squares.shape}"
            )
        # The variance within a unit cannot be negative, nor exceed that of the two extremes.
        mean = group.rates
        within = squares - group.sizes * mean**2
        room = 1e-9 * (1 + squares)
        most = group.sizes * (mean - lowest) * (highest - mean)
        if (wrong := (within < -room) | (within > most + room)).any():
            at = int(np.flatnonzero(wrong)[0])
            raise ArgumentError(
                f"squares_{name}",
                f"[{at}]={squares[at]:g} must be the sum of squares of {group.sizes[at]:g} answers "
                f"from {lowest:g} to {highest:g} with the sum {group.sums[at]:g}",
            )
        if group.total:
            own = np.maximum(within, 0.0) + group.sizes * (mean - group.mean) ** 2
            of_units, deviations = of_units + own, deviations + float(many @ own)

    def result(estimate: float, low: float, high: float, method: str) -> Estimate:
        return Estimate.single(estimate, low, high, 1 - alpha, method, int(difference.n))

    infinite, source = (float("nan"), -np.inf, np.inf), str(difference.method)
    if np.isnan(difference.estimate):
        return result(*infinite, source)
    freedom = total - 2
    variance = deviations / freedom if freedom > 0 else 0.0
    if variance <= _ROUNDING * span**2:
        return result(*infinite, "none (no variation within groups)")
    deviation = float(np.sqrt(variance))
    d = float(difference.estimate) / deviation
    low, high = (float(limit) / deviation for limit in difference.ci)
    if min(group.n_units for group in groups) < 2:
        return result(d, low, high, source)
    influence = unit_influence([(groups[0], 1), (groups[1], -1)]) / deviation
    sizes = groups[0].sizes + groups[1].sizes
    influence -= d / (2 * variance) * (of_units / freedom - variance * sizes / total)
    quantile = scipy.stats.t.isf(alpha / 2, degrees_of_freedom([g.sizes for g in groups], many))
    half = float(quantile * np.sqrt(many @ influence**2))
    if source == "CR2 t":
        return result(d, d - half, d + half, "linearised t")
    method = "linearised t, at least by limits of the difference"
    return result(d, min(low, d - half), max(high, d + half), method)
