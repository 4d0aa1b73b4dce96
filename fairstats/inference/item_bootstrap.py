"""Bootstrap of items: the mean of one number per item, and clusters of answers."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.inference._checks import (
    IntArray,
    check_alpha,
    check_choice,
    check_counts,
    check_multiplicity,
    check_resampling,
    check_share,
)
from fairstats.inference.bootstrap import (
    BootstrapMethod,
    CountsFunction,
    acceleration_of,
    interval_of_law,
    mean_acceleration,
)
from fairstats.inference.exact_sums import discrete_law, fine_sum_law, sum_law
from fairstats.inference.intervals import tango, wilson

#: Number of steps on the scale from 0 to 1; it has many divisors. So fractions with denominators 1
#: to 10, 12, 14, 15, 16, 18, 20, 21, 24, 28 … are represented exactly.
STEPS = 10_080

# Smaller differences are rounding error.
_ROUNDING = 1e-12

# Contribution of a pair in each category to the statistic's sum.
_PER_PAIR = {"difference": (0, 1, -1, 0), "proportion": (1, 0)}


def bounded_mean_interval(
    values: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    method: BootstrapMethod = "bca",
    alpha: float = 0.05,
) -> Estimate:
    """Compute a bootstrap interval of the mean of numbers in [0, 1], without a seed.

    Parameters
    ----------
    values : array_like of float, shape (k,)
        One number per item, each in [0, 1]. A cluster is one item.
    multiplicity : array_like of int, shape (k,), optional
        Number of items with each value (default: one).
    method : {"bca", "percentile", "basic"}
        As in `fairstats.bootstrap`.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Estimate
        The mean of the unrounded values (NaN without items). Limits are in [0, 1]; `n` is the
        number of items.

    Raises
    ------
    ValueError
        For a value outside [0, 1] or NaN, an unknown method, or shapes that do not fit.

    Notes
    -----
    The distribution of the mean over resamples is computed by Fourier inversion, not simulated. For
    this, the values are rounded to 1 / `STEPS`; the mean rounding error is then added back to the
    limits. So a resample's mean differs from that of the unrounded values by less than 1 / `STEPS`
    (0.0001). The same holds for a quantile of the distribution. The typical effect is the mean of n
    centred errors, below 0.00003 / √n. If there are only two distinct values, or all are fractions
    with a denominator listed at `STEPS`, the only rounding is that of floating point.

    If all items have the same value v, the bootstrap is not informative. At most a share u of the
    unseen items then differs, with u Wilson's upper limit for 0 of n. Those could have any value
    between 0 and 1. So the limits are v (1 − u) and v (1 − u) + u. For v = 1 and v = 0 they equal
    Wilson's limits. `ci_method` records this.

    Values that all lie within 1 / `STEPS` count as one value, v, their mean. In all other cases,
    values that differ by less than 1e-12 count as equal: 0.1 + 0.2 is 0.3.

    References
    ----------
    Efron (1987), JASA 82:171-185; Davison & Hinkley (1997), Bootstrap Methods and their
    Application, section 5.3. Checked against enumeration of all resamples and against
    `scipy.stats.bootstrap`.

    Examples
    --------
    >>> found = bounded_mean_interval([0.25, 1 / 3, 0.5, 1], [10, 30, 40, 20])
    >>> [round(float(x), 3) for x in (found.estimate, found.ci_low, found.ci_high)]
    [0.525, 0.479, 0.578]
    """
    alpha = check_alpha(alpha)
    x = check_share("values", values, booleans=True)
    if x.ndim != 1:
        raise ValueError(f"values must have shape (k,); got {x.shape}")
    many = check_multiplicity(multiplicity, len(x))
    check_choice("method", method, get_args(BootstrapMethod))
    n = int(many.sum())

    def result(estimate: float, low: float, high: float, name: str) -> Estimate:
        limits = np.asarray(max(low, 0.0)), np.asarray(min(high, 1.0))
        return Estimate(np.asarray(estimate), *limits, 1 - alpha, name, np.asarray(n))

    if n == 0:
        return result(float("nan"), 0.0, 1.0, "none (no items)")
    x, place = np.unique(x[many > 0], return_inverse=True)
    many = np.bincount(place, weights=many[many > 0]).astype(np.int64)
    # A mean lies between its extreme values, but rounding can move it outside.
    estimate = min(max(math.fsum(many * x) / n, float(x[0])), float(x[-1]))
    # On the lattice, such a small spread would become 0 or a whole spurious step.
    if x[-1] - x[0] <= 1 / STEPS + _ROUNDING:
        unlike = float(wilson(0, n, alpha=alpha).ci_high)
        low = estimate * (1 - unlike)
        name = f"wilson (bootstrap {method} is not informative here)"
        return result(estimate, low, low + unlike, name)
    other = np.diff(x, prepend=-1.0) >= _ROUNDING
    x, many = x[other], np.add.reduceat(many, np.flatnonzero(other))
    # Two values form a lattice by themselves.
    origin, step = (x[0], x[1] - x[0]) if len(x) == 2 else (0.0, 1 / STEPS)
    whole = np.rint((x - origin) / step).astype(np.int64)
    total = int(many @ whole)
    law = fine_sum_law(n, whole, many / n)
    acceleration = float(mean_acceleration(whole, many))
    low, high, used = interval_of_law(law, total, acceleration, method, alpha)
    # Computed from the estimate, so that the mean rounding error cancels.
    low, high = (estimate + (limit - total) * step / n for limit in (low, high))
    return result(estimate, low, high, f"bootstrap {used}, exact")


def cluster_bootstrap(
    clusters: npt.ArrayLike,
    statistic: Literal["difference", "proportion"] | CountsFunction = "difference",
    *,
    multiplicity: npt.ArrayLike | None = None,
    method: BootstrapMethod = "bca",
    n_resamples: Literal["exact"] | int = "exact",
    alpha: float = 0.05,
    rng: np.random.Generator | int | None = None,
) -> Estimate:
    """Compute a bootstrap interval by resampling whole clusters with replacement.

    Parameters
    ----------
    clusters : array_like of int, shape (k, 4) or (k, 2), or (k, categories) for a function
        The counts of each cluster: n11, n10, n01, n00, or successes and failures.
    statistic : str or callable
        ``"difference"``: Σ (n10 − n01) / Σ n; ``"proportion"``: Σ successes / Σ n; or a function
        of the summed counts, of shape (..., categories).
    multiplicity : array_like of int, shape (k,), optional
        Number of clusters with these counts (default: one).
    method, n_resamples, alpha, rng
        As in `bootstrap`. The exact distribution is known for the named statistics if all clusters
        have the same size. If sizes differ, the statistic is a ratio and has to be resampled.

    Returns
    -------
    Estimate
        `n` is the number of clusters.

    Raises
    ------
    ValueError
        As `bootstrap`, and for an exact distribution with clusters of unequal size.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 3.8.

    Examples
    --------
    >>> kinds = [[2, 0, 0, 0], [0, 2, 0, 0], [1, 1, 0, 0]]
    >>> found = cluster_bootstrap(kinds, multiplicity=[60, 20, 20])
    >>> float(found.estimate), float(found.ci_low), float(found.ci_high)
    (0.3, 0.225, 0.385)
    """
    alpha = check_alpha(alpha)
    check_choice("method", method, get_args(BootstrapMethod))
    (cells,) = check_counts(clusters=clusters)
    if cells.ndim != 2:
        raise ValueError(f"clusters must have shape (k, categories); got {cells.shape}")
    many = check_multiplicity(multiplicity, len(cells))
    per_pair = () if callable(statistic) else _PER_PAIR.get(str(statistic), ())
    if not callable(statistic) and len(per_pair) != cells.shape[1]:
        raise ValueError(
            f"statistic={statistic!r}: use difference with clusters of shape (k, 4), "
            "proportion with (k, 2), or a function"
        )

    def compute(totals: IntArray) -> npt.ArrayLike:
        if callable(statistic):
            return statistic(totals)
        return (totals @ np.array(_PER_PAIR[statistic])) / totals.sum(axis=-1)

    k, sizes = int(many.sum()), np.unique(cells.sum(axis=1)[many > 0])
    if k == 0 or sizes[0] == 0:
        raise ValueError("each cluster must have an answer; remove those without")
    if n_resamples == "exact":
        if callable(statistic) or len(sizes) != 1:
            raise ValueError(
                "the exact law is known for difference and proportion over clusters of one size; "
                "give n_resamples=9999, rng=1"
            )
        sums = cells @ np.array(_PER_PAIR[statistic])
        of_sum = _bootstrap_mean(sums, many, method, alpha, int(sizes[0]))
        size, name = float(sizes[0]), f"cluster {of_sum.method}"
        least = 0.0 if statistic == "proportion" else -1.0
        limits = (np.maximum(of_sum.ci_low / size, least), np.minimum(of_sum.ci_high / size, 1.0))
        return Estimate(of_sum.estimate / size, *limits, 1 - alpha, name, np.asarray(k))
    rng = check_resampling(n_resamples, rng)
    observed = float(np.asarray(compute((many @ cells)[None]))[0])
    resampled = resample_clusters(cells, many, compute, n_resamples, rng)
    low, high = float("nan"), float("nan")
    used = "undefined (the resamples do not vary, or some are NaN)"
    if not np.isnan(resampled).any() and np.ptp(resampled) > 0:
        acceleration = acceleration_of(cells, many, compute)
        law = discrete_law(resampled)
        low, high, used = interval_of_law(law, observed, acceleration, method, alpha)
    name = f"cluster bootstrap {used}, {n_resamples} resamples"
    found = (np.asarray(observed), np.asarray(low), np.asarray(high))
    return Estimate(*found, 1 - alpha, name, np.asarray(k))


def _bootstrap_mean(
    values: IntArray,
    many: IntArray,
    method: BootstrapMethod,
    alpha: float,
    largest: int,
) -> Estimate:
    k = int(many.sum())
    values, inverse = np.unique(values[many > 0], return_inverse=True)
    many = np.bincount(inverse, weights=many[many > 0]).astype(np.int64)
    total = int(values @ many)
    estimate = total / k
    if len(values) == 1:
        half = largest * float(tango(k, 0, 0, 0, alpha=alpha).ci_high)
        limits = (
            np.asarray(max(estimate - half, -largest)),
            np.asarray(min(estimate + half, largest)),
        )
        name = f"tango (bootstrap {method} is not informative here)"
        return Estimate(np.asarray(estimate), *limits, 1 - alpha, name, np.asarray(k))
    acceleration = float(mean_acceleration(values, many))
    law = sum_law(k, values, many / k)
    low, high, used = interval_of_law(law, total, acceleration, method, alpha)
    limits = (np.asarray(max(low / k, -largest)), np.asarray(min(high / k, largest)))
    return Estimate(
        np.asarray(estimate), *limits, 1 - alpha, f"bootstrap {used}, exact", np.asarray(k)
    )


def resample_clusters(
    cells: IntArray,
    many: IntArray,
    compute: CountsFunction,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> FloatArray:
    """Return a function of the summed counts over resamples of whole clusters."""
    k = int(many.sum())
    drawn = np.random.default_rng(rng).multinomial(k, many / k, size=n_resamples)
    # Floating point makes the products fast and is exact for these whole numbers.
    totals = (drawn.astype(np.float64) @ cells).astype(np.int64)
    return np.asarray(compute(totals), dtype=np.float64)
