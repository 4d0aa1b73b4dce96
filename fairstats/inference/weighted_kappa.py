"""Agreement of two groups' levels on the same items: quadratically weighted kappa."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.inference._checks import check_alpha, check_counts, check_numbers
from fairstats.inference.crossed_means import wilson_limits
from fairstats.inference.unit_means import checked_limits, effective_number, score_limits

# Relative to the squared range of the levels, smaller numbers are rounding error.
_ROUNDING = 1e-9
# No disagreement is expected that is larger than this many times the range of the levels.
_FURTHEST = 4.0
# With more units that disagree, the jackknife is accurate.
_FEW = 30


def weighted_kappa(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: npt.ArrayLike | None = None,
    counts: npt.ArrayLike | None = None,
    *,
    limits: tuple[float, float],
    alpha: float = 0.05,
) -> Estimate:
    """Compute Cohen's kappa with quadratic weights for two groups' levels, or two raters'.

    κ = 1 − D_o / D_e. D_o is the mean of (a − b)² over pairs. D_e is its mean if each a is paired
    with every b. So κ = 2 s_ab / (s_a² + s_b² + (ȳ_a − ȳ_b)²) with variances over n.

    Parameters
    ----------
    a, b : array_like of float, shape (n,)
        The two levels of each pair, or of each kind of pair.
    units : array_like, shape (n,), optional
        The independent unit of each pair, e.g. the patient (default: each pair is a unit).
    counts : array_like of int, shape (n,), optional
        Number of such pairs (default: one). So a table is given by the indices of its cells, and
        its counts.
    limits : tuple of float
        The lowest and the highest level, e.g. (1, 5).
    alpha : float
        1 − confidence level.

    Returns
    -------
    Estimate
        In [−1, 1]; `n` is the number of units. NaN if all levels are the same, or without pairs. If
        one group's levels are constant, κ is 0. In these cases, and with one unit, the limits are
        −1 and 1. The limits are also −1 and 1 if leaving out one unit makes a group's levels
        constant, or no unit changes κ, e.g. if all levels are opposite.

    Raises
    ------
    ValueError
        For a level outside the limits, limits that are not two increasing numbers, an invalid
        count, or shapes that differ.

    Notes
    -----
    The variance is the jackknife's over units, V = (K − 1) / K Σ (κ_(k) − κ)². The limits are
    Wilson's for the share (κ + 1) / 2 with this variance, by Student's t with K − 1 degrees of
    freedom.

    If few units disagree, the jackknife is too narrow; if none does, it is a point. So the limits
    reach at least as far as 1 − D / D_e, with D the score limits of D_o as in `unit_mean`, and D_e
    held fixed. These are used if less than half of the units disagree, and effectively
    (Σ r)² / Σ r² < 30 of them, with r a unit's Σ (a − b)². An unseen difference is at most that of
    the limits, and 4 times the range of all levels: limits far from them change little.

    With equal means and variances, κ is Pearson's correlation. It is also Lin's coefficient of
    concordance. Among levels that vary little, κ is low even if nearly all pairs agree.

    In simulations of 10 to 190 units (benchmarks/unit_coverage.py), 95% limits cover in 89% or
    more. With 10 units and rare disagreement they are nearly −1 and 1. They do not show rare large
    disagreements next to common small ones: of 60 to 400 levels from 1 to 5 of which 5 or 20%
    differ by 1 and 0.5 to 2% by 3, they cover in 82 to 99% (benchmarks/small_samples.py).

    References
    ----------
    Cohen (1968), Psychological Bulletin 70:213-220; Fleiss & Cohen (1973), Educational and
    Psychological Measurement 33:613-619; Lin (1989), Biometrics 45:255-268. The estimate is
    checked against statsmodels' ``cohens_kappa``, and the variance against its asymptotic one.

    Examples
    --------
    >>> table = np.array([[20, 5, 0], [4, 30, 6], [1, 4, 30]])
    >>> a, b = (index.ravel() for index in np.indices(table.shape))
    >>> found = weighted_kappa(a, b, counts=table.ravel(), limits=(0, 2))
    >>> [round(float(x), 3) for x in (found.estimate, *found.ci)]
    [0.806, 0.688, 0.883]
    """
    alpha, (lowest, highest) = check_alpha(alpha), checked_limits(limits)
    x = check_numbers("a", a, low=lowest, high=highest, example=f"{lowest:g}")
    y = check_numbers("b", b, low=lowest, high=highest, example=f"{lowest:g}")
    (many,) = check_counts(counts=np.ones(x.shape, np.int64) if counts is None else counts)
    if x.ndim != 1 or not x.shape == y.shape == many.shape:
        raise ValueError(
            f"a, b and counts must have one shape (n,); got {x.shape}, {y.shape} and {many.shape}"
        )
    # Centred, so that squares lose no digits. Limits may be far from all levels.
    ends = np.concatenate([one[many > 0] for one in (x, y)]) if many.any() else np.zeros(1)
    least, span = float(ends.min()), float(np.ptp(ends))
    if span <= 1e-12 * float(np.abs(ends).max()):
        span = highest - lowest
    x, y = ((level - least) / span - 0.5 for level in (x, y))
    furthest = min((highest - lowest) / span, _FURTHEST) ** 2
    sums = np.column_stack([np.ones(len(x)), x, y, x**2, y**2, x * y])
    if units is None:
        weights = many.astype(np.float64)
    else:
        own = np.asarray(units)
        if own.shape != x.shape:
            raise ValueError(f"units must have the shape of a, {x.shape}; got {own.shape}")
        _, place = np.unique(own, return_inverse=True)
        summed = np.zeros((int(place.max(initial=-1)) + 1, sums.shape[1]))
        np.add.at(summed, place, sums * many[:, None])
        sums, weights = summed, np.ones(len(summed))
    there = (weights > 0) & (sums[:, 0] > 0)
    sums, weights = sums[there], weights[there]
    estimate, low, high, method = _kappa(sums, weights, furthest, alpha)
    return Estimate.single(estimate, low, high, 1 - alpha, method, int(weights.sum()))


def _kappa(
    sums: FloatArray, many: FloatArray, furthest: float, alpha: float
) -> tuple[float, float, float, str]:
    """Return kappa, its limits and their method from each unit's sums of powers.

    `furthest` is the largest squared difference of a pair that was not seen.
    """
    n_units = float(many.sum())
    if n_units == 0:
        return float("nan"), -1.0, 1.0, "none (no pairs)"
    total = many @ sums
    observed, expected, constant = (float(one[0]) for one in _disagreement(total[None]))
    if expected <= _ROUNDING:
        return float("nan"), -1.0, 1.0, "none (all levels are the same)"
    if constant:
        return 0.0, -1.0, 1.0, "none (one group's levels are constant)"
    estimate = 1 - observed / expected
    if n_units < 2:
        return estimate, -1.0, 1.0, "none (one unit)"
    left_observed, left_expected, undefined = _disagreement(total - sums)
    if undefined.any():
        return estimate, -1.0, 1.0, "none (constant levels without one unit)"
    without = 1 - left_observed / left_expected
    variance = (n_units - 1) / n_units * float(many @ (without - estimate) ** 2)
    low, high, method = 1.0, -1.0, "jackknife, wilson t"
    # A kappa of 1 or -1 may be rounded.
    share = (estimate + 1) / 2
    if variance > _ROUNDING**2 and _ROUNDING < share < 1 - _ROUNDING:
        quantile = float(scipy.stats.t.isf(alpha / 2, n_units - 1))
        low, high = (2 * x - 1 for x in wilson_limits(share, variance / 4, quantile))
    squares = sums[:, 3] + sums[:, 4] - 2 * sums[:, 5]
    differs = squares > _ROUNDING
    parts = np.where(differs, squares, 0.0) * n_units / total[0]
    differing = effective_number(parts, many)
    if many @ differs < n_units / 2 and differing < _FEW:
        largest = n_units * float(many @ sums[:, 0] ** 2) / total[0] ** 2
        ends = 0.0, furthest
        closer, further = score_limits(parts, many, differing, largest, ends, alpha)
        wider = 1 - further / expected, min(1 - closer / expected, 1.0)
        if wider[0] < low or wider[1] > high:
            method = "jackknife, at least by score limits of the disagreement"
        low, high = min(low, wider[0]), max(high, wider[1])
    if low > high:
        # All pairs are opposite, or no unit changes kappa: nothing shows how much it varies.
        return estimate, -1.0, 1.0, "none (no unit changes kappa)"
    return estimate, max(low, -1.0), min(high, 1.0), method


def _disagreement(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return D_o and D_e, and whether a group is constant, from sums of powers."""
    means = sums[:, 1:] / sums[:, :1]
    a, b, aa, bb, ab = means.T
    of_a, of_b = aa - a**2, bb - b**2
    observed = np.maximum(aa + bb - 2 * ab, 0.0)
    expected = of_a + of_b + (a - b) ** 2
    return observed, expected, np.minimum(of_a, of_b) <= _ROUNDING
