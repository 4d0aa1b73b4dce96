"""Means of levels and scores over independent units, each with any number of answers.

A unit is what was drawn independently: an item, or a declared cluster of items, such as a patient.
The functions take each unit's sum and number of answers.

All limits are the outer ones of two intervals. The first is Student's t with a cluster-robust
variance. It assumes that many units contribute. If only a few units differ from the others, t is
too narrow and symmetric, and if none differs, it is a point. The second is Tango's score interval
with effective counts, for which few differing units are the normal case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.problems import ArgumentError
from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.inference._checks import (
    IntArray,
    check_alpha,
    check_counts,
    check_multiplicity,
    check_numbers,
)
from fairstats.inference.intervals import effective_tango_limits

# Relative to the largest possible value, smaller numbers are rounding error.
_ROUNDING = 1e-9
_CONSTANT = "Wilson's limit for an unseen value (all units have one value)"


def unit_mean_difference(
    sum_a: npt.ArrayLike,
    n_a: npt.ArrayLike,
    sum_b: npt.ArrayLike,
    n_b: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    limits: tuple[float, float],
    alpha: float = 0.05,
) -> Estimate:
    r"""Compute the difference of two groups' means, with limits for further units.

    The estimate is ȳ_a − ȳ_b = Σ sum_a / Σ n_a − Σ sum_b / Σ n_b, over the same units.

    Parameters
    ----------
    sum_a, sum_b : array_like of float, shape (k,)
        Sum of each unit's answers of group a and of group b.
    n_a, n_b : array_like of int, shape (k,)
        Number of these answers. A unit may lack one group.
    multiplicity : array_like of int, shape (k,), optional
        Number of units with these sums and numbers (default: one).
    limits : tuple of float
        The smallest and the largest possible answer, e.g. (1, 5).
    alpha : float
        1 − confidence level.

    Returns
    -------
    Estimate
        Limits are within ±(limits[1] − limits[0]). `n` is the number of units with an answer.
        Without answers of a group: NaN, and the widest limits.

    Raises
    ------
    ValueError
        If limits are not two increasing numbers, a count is invalid, a unit's mean is outside the
        limits, or shapes differ.

    Notes
    -----
    The t interval uses the bias-reduced variance CR2 of a regression on the group, with units as
    clusters: V = Σ u_k² with

    .. math::
        u_k = \frac{S_{ak} - \bar y_a n_{ak}}{N_a \sqrt{1 - n_{ak} / N_a}}
            - \frac{S_{bk} - \bar y_b n_{bk}}{N_b \sqrt{1 - n_{bk} / N_b}}

    and Satterthwaite's degrees of freedom for independent answers of equal variance. If every pair
    is complete, V is the same as for the mean of the pairs' differences. If all units also have
    the same size, the interval is Student's paired t over units.

    For the score interval, c is the median of the units' differences, which usually is 0. Let r_k
    be unit k's contribution to K (estimate − c), with K units, and m = Σ r² / Σ \|r\|. Tango's
    interval is computed for n10 = Σ⁺ r / m, n01 = Σ⁻ \|r\| / m and n = K, multiplied by m and moved
    by c. Its variance is that of the r_k. For one item per unit and differences of −1, 0 and 1, it
    is Tango's interval itself.

    Effectively, D = (Σ \|r\|)² / Σ r² units differ; only units with both groups count here. If half
    of the differing units did so by the largest possible amount, all D would be others with
    probability 2^−D. So m is a mean of the observed m and that largest amount, with the latter's
    weight 2^−D. If all units have the same difference v, D is 0. The limits are then
    v (1 − w) ± w (limits[1] − limits[0]), with w Wilson's upper limit for 0 of K. The same holds if
    a group's answers are all in one unit, with K = 1.

    The working model of independent answers was compared with one of equal answers within a unit.
    For 10 to 50 uneven units, the latter covered 1 to 2 points more in simulations, at the price of
    limits that are up to 30% wider. In simulations of 10 to 190 units, 95% limits cover in 92% or
    more (benchmarks/unit_coverage.py). Student's t alone covers in 19 to 80% if few units differ.

    If large differences are rare, and small ones common, no interval of this kind shows those that
    were missed. If 1 or 2% of scores differ by 60 of 100 points, and others by 1, 95% limits cover
    in 39 to 65% with 50 items, 61 to 86% with 100, 86% or more with 200 and 93% or more with 800.
    Verdicts of equivalence leave room for such differences. Over 10 to 40 clusters of unequal
    sizes, limits of means that are skewed cover in 89 to 92% (benchmarks/small_samples.py).

    With answers missing within units of several items, D counts units that differ only because
    their items do. Give complete pairs only, if few units differ.

    References
    ----------
    Bell & McCaffrey (2002), Survey Methodology 28:169-181; Pustejovsky & Tipton (2018), Journal of
    Business & Economic Statistics 36:672-683; Tango (1998), Statistics in Medicine 17:891-908. For
    effective counts: Fay & Feuer (1997), Statistics in Medicine 16:791-801. Coverage:
    benchmarks/unit_coverage.py.

    Examples
    --------
    >>> found = unit_mean_difference([3, 6, 4], [1, 2, 1], [2, 5, 4], [1, 2, 1], limits=(1, 5))
    >>> [round(float(x), 3) for x in (found.estimate, *found.ci)]
    [0.5, -0.479, 1.479]
    """
    table = (sum_a, n_a, sum_b, n_b, multiplicity)
    return unit_mean_differences([table], limits=limits, alpha=alpha)[0]


def unit_mean_differences(
    tables: Sequence[tuple[Any, ...]], *, limits: tuple[float, float], alpha: float = 0.05
) -> list[Estimate]:
    """Compute `unit_mean_difference` of many tables at once, which is much faster.

    Parameters
    ----------
    tables : sequence of tuple
        ``(sum_a, n_a, sum_b, n_b, multiplicity)`` of each.
    limits, alpha
        As in `unit_mean_difference`.
    """
    alpha, ends = check_alpha(alpha), checked_limits(limits)
    prepared = [
        _difference(sum_a, n_a, sum_b, n_b, multiplicity, limits=ends, alpha=alpha)
        for sum_a, n_a, sum_b, n_b, multiplicity in tables
    ]
    return _resolved(prepared, alpha)


def unit_means(
    tables: Sequence[tuple[Any, ...]], *, limits: tuple[float, float], alpha: float = 0.05
) -> list[Estimate]:
    """Compute `unit_mean` of many tables, ``(sums, sizes, multiplicity)``, at once."""
    alpha, ends = check_alpha(alpha), checked_limits(limits)
    prepared = [
        _mean(sums, sizes, multiplicity, limits=ends, alpha=alpha)
        for sums, sizes, multiplicity in tables
    ]
    return _resolved(prepared, alpha)


def _difference(
    sum_a: npt.ArrayLike,
    n_a: npt.ArrayLike,
    sum_b: npt.ArrayLike,
    n_b: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None,
    limits: tuple[float, float],
    alpha: float,
) -> _Interval:
    lowest, highest = limits
    a = group_sums("a", sum_a, n_a, multiplicity, lowest, highest)
    b = group_sums("b", sum_b, n_b, multiplicity, lowest, highest)
    if a.sums.shape != b.sums.shape:
        raise ValueError(
            f"group a and b must have the same units; got {a.sums.shape} and {b.sums.shape}"
        )
    return _contrast([(a, 1.0), (b, -1.0)], limits, alpha)


def unit_mean(
    sums: npt.ArrayLike,
    sizes: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    limits: tuple[float, float],
    alpha: float = 0.05,
) -> Estimate:
    """Compute the mean of all answers, Σ sums / Σ sizes, with limits for further units.

    Parameters
    ----------
    sums : array_like of float, shape (k,)
        Sum of each unit's answers, or of its pairs' absolute differences.
    sizes : array_like of int, shape (k,)
        Number of answers (or pairs) of each unit. Units without any are left out.
    multiplicity : array_like of int, shape (k,), optional
        Number of units with this sum and number (default: one).
    limits : tuple of float
        The smallest and the largest possible answer.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Estimate
        Limits are within `limits`. `n` is the number of units with an answer. Without answers: NaN
        and `limits`.

    Raises
    ------
    ValueError
        As `unit_mean_difference`.

    Notes
    -----
    The interval is that of `unit_mean_difference` for one group. If all units have the same mean v,
    at most a share w of further units differs, with w Wilson's upper limit for 0 of K units. The
    limits are then v − w (v − limits[0]) and v + w (limits[1] − v), as in `bounded_mean_interval`.

    References
    ----------
    As `unit_mean_difference`.

    Examples
    --------
    >>> found = unit_mean([3, 6, 4, 2], [1, 2, 1, 1], limits=(1, 5))
    >>> [round(float(x), 3) for x in (found.estimate, *found.ci)]
    [3.0, 1.919, 4.081]
    >>> found = unit_mean([0.0] * 20, [1] * 20, limits=(0, 1))
    >>> round(float(found.ci_high), 4)
    0.1611
    """
    return unit_means([(sums, sizes, multiplicity)], limits=limits, alpha=alpha)[0]


def mean_over_units(
    values: FloatArray,
    many: npt.NDArray[np.integer[Any]],
    units: npt.NDArray[Any],
    *,
    limits: tuple[float, float],
    alpha: float,
) -> Estimate:
    """Compute `unit_mean` of values that occur `many` times each, given the unit of each value."""
    _, place = np.unique(units, return_inverse=True)
    sums, sizes = np.bincount(place, weights=values * many), np.bincount(place, weights=many)
    return unit_mean(sums, sizes.astype(np.int64), limits=limits, alpha=alpha)


def _mean(
    sums: npt.ArrayLike,
    sizes: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None,
    limits: tuple[float, float],
    alpha: float,
) -> _Interval:
    lowest, highest = limits
    group = group_sums("", sums, sizes, multiplicity, lowest, highest)
    return _contrast([(group, 1.0)], limits, alpha)


def contrast(
    groups: Sequence[tuple[GroupSums, float]], limits: tuple[float, float], alpha: float
) -> Estimate:
    """Compute a weighted sum of groups' means over the same units, as `unit_mean_difference`.

    The weights must have one absolute value. E.g. 1, −1, −1, 1 for how much further two groups are
    apart with one model than with another.
    """
    return _resolved([_contrast(groups, limits, alpha)], alpha)[0]


def _contrast(
    groups: Sequence[tuple[GroupSums, float]], limits: tuple[float, float], alpha: float
) -> _Interval:
    many = groups[0][0].many
    estimate = float(sum(weight * group.mean for group, weight in groups))
    there = np.all([group.sizes > 0 for group, _ in groups], axis=0)
    sizes = np.min([group.sizes for group, _ in groups], axis=0)[there]
    rates = np.sum([weight * group.rates[there] for group, weight in groups], axis=0)
    center = weighted_median(rates, sizes * many[there], estimate)
    room = _ROUNDING * (limits[1] - limits[0])
    deviations = np.where(np.abs(rates - center) > room, rates - center, 0.0)
    differing = effective_number(sizes * deviations, many[there]) if there.any() else None
    # Moved by equal amounts, the means add up to the center.
    moved = (center - estimate) / sum(weight**2 for _, weight in groups)
    ends = [sorted(weight * end for end in limits) for _, weight in groups]
    return _interval(
        [(group, group.mean + weight * moved, weight) for group, weight in groups],
        estimate=estimate,
        center=center,
        differing=differing,
        lowest=float(sum(low for low, _ in ends)),
        highest=float(sum(high for _, high in ends)),
        alpha=alpha,
    )


@dataclass(frozen=True)
class GroupSums:
    """One group's sums and numbers of answers, for each kind of unit."""

    sums: FloatArray
    sizes: FloatArray
    many: FloatArray

    @property
    def total(self) -> float:
        return float(self.sizes @ self.many)

    @property
    def mean(self) -> float:
        return float(self.sums @ self.many) / self.total if self.total else float("nan")

    @property
    def rates(self) -> FloatArray:
        return self.sums / np.maximum(self.sizes, 1)

    @property
    def n_units(self) -> int:
        return int(self.many[self.sizes > 0].sum())


def unit_influence(groups: Sequence[tuple[GroupSums, float]]) -> FloatArray:
    """Return each unit's contribution u to a sum of ± means; their squares add up to CR2."""
    influence = np.zeros(len(groups[0][0].many))
    for group, sign in groups:
        root = np.sqrt(1 - group.sizes / group.total)
        influence += sign * (group.sums - group.mean * group.sizes) / (group.total * root)
    return influence


def degrees_of_freedom(sizes: Sequence[FloatArray], many: FloatArray) -> float:
    """Return Satterthwaite's degrees of freedom of CR2, given each group's numbers of answers.

    P is the matrix of u = e' P e for independent answers e of variance 1. Each group contributes a
    diagonal minus the product of a vector with itself. The result is tr(P)² / Σ P_kl².
    """
    diagonal, vectors, trace = np.zeros(len(many)), [], 0.0
    for own in sizes:
        n = float(own @ many)
        left = 1 - own / n
        diagonal += own / left / n**2
        vectors.append(own / np.sqrt(left) / n**1.5)
        trace += 1 / n
    norm = float(many @ diagonal**2)
    for one in vectors:
        norm -= 2 * float(many @ (diagonal * one**2))
        norm += sum(float(many @ (one * other)) ** 2 for other in vectors)
    return trace**2 / norm


def effective_number(parts: npt.ArrayLike, many: npt.ArrayLike = 1) -> float:
    """Return (Σ |r|)² / Σ r²: the number of units that differ, if all did so by the same amount."""
    r, times = np.broadcast_arrays(np.asarray(parts, dtype=np.float64), many)
    squares = float(times @ r**2)
    return float(times @ np.abs(r)) ** 2 / squares if squares else 0.0


@dataclass(frozen=True)
class _Interval:
    """An interval that needs Tango's limits of effective counts, `score`, or none.

    Attributes
    ----------
    finish : callable
        Maps the two score limits to the estimate.
    score : tuple
        Effective n10 and n01 for each limit, n, the two steps and the center; None if not needed.
    """

    finish: Callable[[float, float], Estimate]
    score: tuple[FloatArray, FloatArray, float, FloatArray, float] | None = None


def _resolved(intervals: Sequence[_Interval], alpha: float) -> list[Estimate]:
    """Return the estimates; all score limits are searched at once."""
    scores = [one.score for one in intervals if one.score is not None]
    found: Iterator[tuple[float, float]] = iter(())
    if scores:
        n10, n01, n, step, center = (np.array(part) for part in zip(*scores, strict=True))
        sizes = np.broadcast_to(n[:, None], n10.shape)
        low, high = effective_tango_limits(n10, n01, sizes, alpha)
        found = zip(
            (center + step[:, 0] * low[:, 0]).tolist(),
            (center + step[:, 1] * high[:, 1]).tolist(),
            strict=True,
        )
    return [
        one.finish(np.nan, np.nan) if one.score is None else one.finish(*next(found))
        for one in intervals
    ]


def _interval(
    groups: Sequence[tuple[GroupSums, float, float]],
    *,
    estimate: float,
    center: float,
    lowest: float,
    highest: float,
    alpha: float,
    differing: float | None = None,
) -> _Interval:
    """Prepare the outer limits of t and of Tango's effective counts."""
    many = groups[0][0].many
    answered = np.any([group.sizes > 0 for group, _, _ in groups], axis=0)
    n = int(many[answered].sum())

    def result(low: float, high: float, method: str) -> Estimate:
        sides = [np.asarray(min(max(x, lowest), highest)) for x in (low, high)]
        return Estimate(np.asarray(estimate), sides[0], sides[1], 1 - alpha, method, np.asarray(n))

    if np.isnan(estimate):
        return _Interval(lambda low, high: result(lowest, highest, "none (no answers)"))
    ends = lowest, highest
    # With all answers of a group in one unit, their variance is unknown.
    if min(group.n_units for group, _, _ in groups) < 2:
        one_unit = "Wilson's limit for an unseen value (one unit)"
        few = _score(np.zeros(1), np.ones(1), 0.0, 1.0, estimate, ends)
        return _Interval(lambda low, high: result(low, high, one_unit), few)
    parts = np.zeros(len(many))
    weights = np.zeros(len(many))
    for group, at, sign in groups:
        parts += sign * n * (group.sums - at * group.sizes) / group.total
        weights += group.sizes / group.total / len(groups)
    # A unit that is larger than the mean unit can move the estimate further.
    largest = n * float(many @ weights**2)
    parts[np.abs(parts) <= _ROUNDING * (highest - lowest)] = 0.0
    parts = parts[answered]
    # Missing answers give every unit a part, so only units with both groups show who differs.
    if differing is None:
        differing = effective_number(parts, many[answered])
    score = _score(parts, many[answered], differing, largest, center, ends)
    if not parts.any():
        return _Interval(lambda low, high: result(low, high, _CONSTANT), score)
    freedom = degrees_of_freedom([group.sizes for group, _, _ in groups], many)
    influence = unit_influence([(group, sign) for group, _, sign in groups])
    half = float(scipy.stats.t.isf(alpha / 2, freedom) * np.sqrt(many @ influence**2))

    def outer(low: float, high: float) -> Estimate:
        is_wider = low < estimate - half or high > estimate + half
        method = "CR2 t, at least Tango's score limits" if is_wider else "CR2 t"
        return result(min(low, estimate - half), max(high, estimate + half), method)

    return _Interval(outer, score)


def _score(
    parts: FloatArray,
    many: FloatArray,
    differing: float,
    largest: float,
    center: float,
    scale: tuple[float, float],
) -> tuple[FloatArray, FloatArray, float, FloatArray, float]:
    """Return the effective counts of units above and below the center, see `_Interval`."""
    unseen = 2.0**-differing
    size = float(many @ np.abs(parts))
    observed = float(many @ parts**2) / size if size else 0.0
    reach = np.abs(np.array(scale) - center)
    # A step for each limit.
    step = (1 - unseen) * observed + unseen * largest * reach
    # It is 0 if all units are at that end of the scale.
    step = np.maximum(step, np.finfo(np.float64).tiny)
    n10, n01 = (many @ np.maximum(sign * parts, 0) / step for sign in (1, -1))
    return n10, n01, float(many.sum()), step, center


def score_limits(
    parts: FloatArray,
    many: FloatArray,
    differing: float,
    largest: float,
    center: float,
    scale: tuple[float, float],
    alpha: float,
) -> tuple[float, float]:
    """Return Tango's limits for effective counts of units above and below the center."""
    n10, n01, n, step, _ = _score(parts, many, differing, largest, center, scale)
    low, high = effective_tango_limits(n10, n01, np.full(2, n), alpha)
    return center + float(step[0] * low[0]), center + float(step[1] * high[1])


def weighted_median(values: FloatArray, weights: FloatArray, default: float) -> float:
    """Return the weighted median; of two, the one that is nearer to 0."""
    if not weights.sum():
        return default
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(share, [0.5 - _ROUNDING, 0.5 + _ROUNDING])
    both = values[order[np.minimum(places, len(order) - 1)]]
    return float(both[np.argmin(np.abs(both))])


def checked_limits(limits: tuple[float, float]) -> tuple[float, float]:
    """Return the smallest and the largest possible answer."""
    ends = check_numbers("limits", limits, example="(1, 5)")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ArgumentError("limits", f"={limits!r} must be two increasing numbers, e.g. (1, 5)")
    return float(ends[0]), float(ends[1])


def group_sums(
    name: str,
    sums: npt.ArrayLike,
    sizes: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None,
    lowest: float,
    highest: float,
) -> GroupSums:
    """Return a group's checked sums and numbers."""
    of_sums, of_sizes = (f"sum_{name}", f"n_{name}") if name else ("sums", "sizes")
    total = check_numbers(of_sums, sums)
    (number,) = check_counts(**{of_sizes: sizes})
    if total.ndim != 1 or total.shape != number.shape:
        raise ValueError(
            f"{of_sums} and {of_sizes} must have one shape (k,); got {total.shape} "
            f"and {number.shape}"
        )
    many: IntArray = check_multiplicity(multiplicity, len(total))
    room = _ROUNDING * (highest - lowest) * np.maximum(number, 1)
    wrong = (total < lowest * number - room) | (total > highest * number + room)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ArgumentError(
            of_sums,
            f"[{at}]={total[at]:g} must be the sum of {number[at]} answers from {lowest:g} to "
            f"{highest:g}",
        )
    used = many.astype(np.float64)
    return GroupSums(total, number.astype(np.float64), used)
