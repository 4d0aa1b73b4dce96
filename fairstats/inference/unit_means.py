"""Means of levels and scores over independent units, each with any number of answers.

A unit is what was drawn independently: an item, or a declared cluster of items, such as a patient.
The functions take each unit's sum and number of answers.

All limits are the outer ones of two intervals. The first is Student's t with a cluster-robust
variance. It assumes that many units contribute. If only a few units differ from the others, t is
too narrow and symmetric, and if none differs, it is a point. The second is Tango's score interval
with effective counts, for which few differing units are the normal case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

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

    A table is ``(sum_a, n_a, sum_b, n_b, multiplicity)``.
    """
    alpha, ends = check_alpha(alpha), checked_limits(limits)
    groups = []
    for sum_a, n_a, sum_b, n_b, multiplicity in tables:
        a = group_sums("a", sum_a, n_a, multiplicity, *ends)
        b = group_sums("b", sum_b, n_b, multiplicity, *ends)
        if a.sums.shape != b.sums.shape:
            raise ValueError(
                f"group a and b must have the same units; got {a.sums.shape} and {b.sums.shape}"
            )
        groups.append([(a, 1.0), (b, -1.0)])
    return contrasts(groups, ends, alpha)


def unit_means(
    tables: Sequence[tuple[Any, ...]], *, limits: tuple[float, float], alpha: float = 0.05
) -> list[Estimate]:
    """Compute `unit_mean` of many tables, ``(sums, sizes, multiplicity)``, at once."""
    alpha, ends = check_alpha(alpha), checked_limits(limits)
    groups = (
        group_sums("", sums, sizes, multiplicity, *ends) for sums, sizes, multiplicity in tables
    )
    return contrasts(([(group, 1.0)] for group in groups), ends, alpha)


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


Contrast = Sequence[tuple["GroupSums", float]]


def contrasts(
    tables: Iterable[Contrast], limits: tuple[float, float], alpha: float
) -> list[Estimate]:
    """Compute weighted sums of groups' means over the same units, as `unit_mean_difference`.

    The weights must have one absolute value. E.g. 1, −1, −1, 1 for how much further two groups are
    apart with one model than with another.
    """
    prepared = [_prepared(groups, limits, alpha) for groups in tables]
    # All score limits are searched at once.
    scores = [one.score for one in prepared if one.score is not None]
    score_limits_of = iter(_tango_limits(scores, alpha) if scores else ())
    found = []
    for one in prepared:
        low, high = one.ends if one.score is None else next(score_limits_of)
        method = one.method
        if one.half is not None:
            of_t = one.estimate - one.half, one.estimate + one.half
            is_wider = low < of_t[0] or high > of_t[1]
            method = "CR2 t, at least Tango's score limits" if is_wider else "CR2 t"
            low, high = min(low, of_t[0]), max(high, of_t[1])
        low, high = np.clip([low, high], *one.ends)
        found.append(Estimate.single(one.estimate, low, high, 1 - alpha, method, one.n))
    return found


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
class _Prepared:
    """An estimate with what its limits are found from.

    Attributes
    ----------
    ends : (float, float)
        The lowest and highest possible value: the limits without `score`.
    score : tuple, optional
        What `_tango_limits` needs.
    half : float, optional
        Half of the interval by Student's t; the limits are those that are further out.
    """

    estimate: float
    n: int
    ends: tuple[float, float]
    method: str
    score: _Score | None = None
    half: float | None = None


def _prepared(groups: Contrast, limits: tuple[float, float], alpha: float) -> _Prepared:
    many = groups[0][0].many
    estimate = float(sum(weight * group.mean for group, weight in groups))
    answered = np.any([group.sizes > 0 for group, _ in groups], axis=0)
    possible = [sorted(weight * end for end in limits) for _, weight in groups]
    ends = sum(low for low, _ in possible), sum(high for _, high in possible)
    prepared = partial(_Prepared, estimate, int(many[answered].sum()), ends)
    if np.isnan(estimate):
        return prepared("none (no answers)")
    # With all answers of a group in one unit, their variance is unknown.
    if min(group.n_units for group, _ in groups) < 2:
        score = _score(np.zeros(1), np.ones(1), 0.0, 1.0, estimate, ends)
        return prepared("Wilson's limit for an unseen value (one unit)", score)
    there = np.all([group.sizes > 0 for group, _ in groups], axis=0)
    sizes = np.min([group.sizes for group, _ in groups], axis=0)[there]
    rates = np.sum([weight * group.rates[there] for group, weight in groups], axis=0)
    center = weighted_median(rates, sizes * many[there], estimate)
    # Moved by equal amounts, the means add up to the center.
    moved = (center - estimate) / sum(weight**2 for _, weight in groups)
    n, parts, weights = many @ answered, np.zeros(len(many)), np.zeros(len(many))
    for group, weight in groups:
        at = group.mean + weight * moved
        parts += weight * n * (group.sums - at * group.sizes) / group.total
        weights += group.sizes / group.total / len(groups)
    # A unit that is larger than the mean unit can move the estimate further.
    largest = n * float(many @ weights**2)
    parts[np.abs(parts) <= _ROUNDING * (ends[1] - ends[0])] = 0.0
    parts = parts[answered]
    # Missing answers give every unit a part, so only units with both groups show who differs.
    differing = effective_number(parts, many[answered])
    if there.any():
        room = _ROUNDING * (limits[1] - limits[0])
        deviations = np.where(np.abs(rates - center) > room, rates - center, 0.0)
        differing = effective_number(sizes * deviations, many[there])
    score = _score(parts, many[answered], differing, largest, center, ends)
    if not parts.any():
        return prepared("Wilson's limit for an unseen value (all units have one value)", score)
    freedom = degrees_of_freedom([group.sizes for group, _ in groups], many)
    spread = float(np.sqrt(many @ unit_influence(groups) ** 2))
    return prepared("CR2 t", score, float(scipy.stats.t.isf(alpha / 2, freedom)) * spread)


class _Score(NamedTuple):
    """Effective counts of units above and below the center, and the steps, for each limit."""

    n10: FloatArray
    n01: FloatArray
    n: float
    step: FloatArray
    center: float


def _score(
    parts: FloatArray,
    many: FloatArray,
    differing: float,
    largest: float,
    center: float,
    scale: tuple[float, float],
) -> _Score:
    unseen = 2.0**-differing
    size = float(many @ np.abs(parts))
    observed = float(many @ parts**2) / size if size else 0.0
    reach = np.abs(np.array(scale) - center)
    # A step for each limit.
    step = (1 - unseen) * observed + unseen * largest * reach
    # It is 0 if all units are at that end of the scale.
    step = np.maximum(step, np.finfo(np.float64).tiny)
    n10, n01 = (many @ np.maximum(sign * parts, 0) / step for sign in (1, -1))
    return _Score(n10, n01, float(many.sum()), step, center)


def _tango_limits(scores: Sequence[_Score], alpha: float) -> list[tuple[float, float]]:
    n10, n01, n, step, center = (np.array(part) for part in zip(*scores, strict=True))
    low, high = effective_tango_limits(n10, n01, np.broadcast_to(n[:, None], n10.shape), alpha)
    limits = center + step[:, 0] * low[:, 0], center + step[:, 1] * high[:, 1]
    return list(zip(*(one.tolist() for one in limits), strict=True))


def score_limits(
    parts: FloatArray,
    many: FloatArray,
    differing: float,
    largest: float,
    scale: tuple[float, float],
    alpha: float,
) -> tuple[float, float]:
    """Return Tango's limits for effective counts of units above and below 0."""
    return _tango_limits([_score(parts, many, differing, largest, 0.0, scale)], alpha)[0]


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
