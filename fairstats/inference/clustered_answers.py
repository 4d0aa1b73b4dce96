"""Clustered answers: several samples of an item, or all attributes of an item.

Answers to one item are correlated, so items are independent, not answers. A cluster is described by
its counts. Clusters with the same counts form one row with a multiplicity, so every function here
takes a small table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular, TestResult
from fairstats.inference._checks import (
    LEAST_P,
    MOST,
    IntArray,
    check_alpha,
    check_choice,
    check_counts,
    check_integers,
    check_multiplicity,
    check_numbers,
)
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.unit_means import degrees_of_freedom, effective_number

#: Above this sum, the normal distribution replaces the exact one.
LARGEST_EXACT_SUM = 100_000
#: Up to so many units that differ, `flip_test` can go through all signs.
MOST_ENUMERATED = 16
#: Above so many, its grid for numbers that are no multiples of a common step would be too coarse.
MOST_ON_GRID = 1000
# Relative to the largest number, smaller ones are rounding error.
_ROUNDING = 1e-12
# The largest denominator of a common step; thousandths and sevenths have smaller ones.
_LARGEST_DENOMINATOR = 10_080
# From so many tests on, for each distinct step, Cauchy's integral is faster than adding up sums:
# one circle serves all tests. Its time grows with √units, that of adding up with units².
_FEW_TESTS = 1000
# On the grid, the mean unit has so many steps.
_STEPS_PER_UNIT = 1000


def sign_flip_test(
    differences: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    method: Literal["midp", "exact", "asymptotic"] = "midp",
) -> TestResult:
    r"""Test clustered pairs by flipping whole items: McNemar's test for several answers per item.

    If the groups make no difference, an item's difference d = n10 − n01 has either sign with
    probability ½. The sum of d over items, each with its size and a random sign, has a distribution
    that is a convolution of binomials. It is computed, not simulated.

    Parameters
    ----------
    differences : array_like of int, shape (k,)
        n10 − n01 of each item (or of each kind of item).
    multiplicity : array_like of int, shape (..., k), optional
        Number of items with each difference (default: one). Leading axes give several tests.
    method : {"midp", "exact", "asymptotic"}
        The exact p-value minus half the probability of the observed \|sum\|; the exact p-value;
        or Obuchowski's χ² = (Σ d)² / Σ d². The last is used for every method, and named in the
        result, if Σ \|d\| exceeds 100,000.

    Returns
    -------
    TestResult
        p is 1 if the sum is 0, and so also if all differences are 0.

    Raises
    ------
    ValueError
        For a difference that is not whole, a multiplicity that is not a count or of another shape,
        or an unknown method.

    Notes
    -----
    With one answer per item it is McNemar's test, exact or mid-p. It does not matter which sample
    of one group is paired with which of the other: d is the same.

    Let J be the sum of \|d\| over the items whose flip is against the observed direction. Its
    generating function is :math:`G(u) = \prod ((1 + u^{|d|}) / 2)^{n_d}`, and the mid-p value is
    the coefficient of :math:`u^j` in :math:`G(u) (1 + u) / (1 - u)` at the observed j. Cauchy's
    integral gives it as a mean over points on a circle. On the circle through the saddle point
    hardly any digits cancel, so even the smallest p-values are accurate to about 1e-12 of their
    size. A few tests of many different \|d\| add up the probabilities of all sums up to j instead.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Obuchowski (1998), Statistics in
    Medicine 17:1495-1507; Bornemann (2011), Foundations of Computational Mathematics 11:1-63, for
    the radius. Checked against enumeration of all signs (tests/r/tests.R).

    Examples
    --------
    >>> float(sign_flip_test([1, -1], [7, 1]).p_value)
    0.0390625
    >>> sign_flip_test([2, 1, -1], [[0, 7, 1], [3, 4, 1]]).p_value
    array([0.0390625 , 0.02734375])
    """
    (d,) = check_integers(differences=differences)
    d = d.ravel()
    many = check_multiplicity(multiplicity, len(d), leading=True)
    check_choice("method", method, ("midp", "exact", "asymptotic"))
    tests = many.reshape(math.prod(many.shape[:-1]), len(d))
    # Use floating point: squares of billions do not fit into 64 bits.
    whole, number = d.astype(np.float64), tests.astype(np.float64)
    largest = float((number @ np.abs(whole)).max(initial=0))
    if largest > MOST:
        raise ValueError(
            f"differences and multiplicity must have a sum of |differences| of at most {MOST}; "
            f"got {largest:.3g}"
        )
    total, squares = tests @ d, number @ whole**2
    steps, place = np.unique(np.abs(d), return_inverse=True)
    counts = np.zeros((len(steps), len(tests)), dtype=np.int64)
    np.add.at(counts, place, tests.T)
    counts, steps = counts[steps > 0].T, steps[steps > 0]
    size = counts @ steps
    # Dividing all numbers by a common factor does not change the p-value.
    factor = np.maximum(np.gcd.reduce(np.where(counts > 0, steps, 0), axis=1, initial=0), 1)
    is_large = total != 0
    if method != "asymptotic":
        is_large &= size > LARGEST_EXACT_SUM * factor
    found = np.ones(len(tests))
    statistic = total[is_large].astype(np.float64) ** 2 / squares[is_large]
    found[is_large] = scipy.special.chdtrc(1, statistic)
    exact = (total != 0) & ~is_large
    for common in np.unique(factor[exact]):
        rows = np.flatnonzero(exact & (factor == common))
        used = counts[rows].any(axis=0)
        against = (size - np.abs(total))[rows] // (2 * common)
        own = counts[np.ix_(rows, used)]
        if own.shape[1] == 1:
            n10 = own[:, 0] - against
            found[rows] = mcnemar(n10=n10, n01=against, method=method).p_value
        else:
            most = own.sum(axis=1).max()
            few = most <= MOST_ON_GRID and len(own) * most**1.5 < _FEW_TESTS * own.shape[1]
            tail = _added_up if few else _twice_tail
            found[rows] = tail(steps[used] // common, own, against, method)
    named: str = "asymptotic" if is_large.any() else method
    if is_large.any() and exact.any():
        named = f"{method} or asymptotic"
    # A p-value that underflows is not 0.
    p_value = np.clip(found, LEAST_P, 1.0).reshape(many.shape[:-1])
    return TestResult(total.astype(np.float64).reshape(p_value.shape), p_value, named)


def flip_test(
    differences: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    method: Literal["midp", "exact"] = "midp",
) -> TestResult:
    r"""Test real-valued differences of units by flipping the sign of each unit.

    If the groups make no difference, a unit's difference d has either sign with probability ½. The
    p-value is the probability that \|Σ ± d\| reaches the observed \|Σ d\|.

    Parameters
    ----------
    differences : array_like of float, shape (k,)
        Group a's sum minus group b's, of each unit (or of each kind of unit).
    multiplicity : array_like of int, shape (..., k), optional
        Number of units with each difference (default: one). Leading axes give several tests.
    method : {"midp", "exact"}
        The exact p-value minus half the probability of the observed \|sum\|, or the exact p-value.

    Returns
    -------
    TestResult
        The statistic is Σ d. p is 1 if it is 0, and so also if all differences are 0. p is never 0.

    Raises
    ------
    ValueError
        For a difference that is not finite, a multiplicity that is not a count or of another shape,
        or an unknown method.

    Notes
    -----
    `method` of the result states the computation:

    - ``midp`` or ``exact``: the differences are multiples of a common step, and the sum of
      \|differences\| is at most 100,000 steps. The p-value is that of `sign_flip_test`.
    - with ``, all signs``: all 2ⁿ signs of n ≤ 16 differences other than 0.
    - with ``, rounded``: up to 1,000 differences other than 0 are rounded to a grid on which their
      mean has up to 1,000 steps. Rounding then adds less than 1 / 1,000 of the sum's standard
      deviation if there are up to 100 of them, and less than 1 / 100 with 1,000.
    - ``asymptotic``: for more differences, χ² = (Σ d)² / Σ d².

    Differences of at most 1e-12 of the largest are 0, so 0.1 + 0.2 − 0.3 is 0.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Pitman (1937), Supplement to the Journal
    of the Royal Statistical Society 4:119-130. Tested by enumeration.

    Examples
    --------
    >>> flip_test([3.25, -0.5, 1.75, 2.0, 0.25])
    TestResult(statistic=6.75, p_value=0.15625, method='midp')
    >>> flip_test([3.25, 1.75, 2.0, 0.25], method="exact")
    TestResult(statistic=7.25, p_value=0.125, method='exact')
    """
    d = check_numbers("differences", differences, example="-0.5").ravel()
    many = check_multiplicity(multiplicity, len(d), leading=True)
    check_choice("method", method, ("midp", "exact"))
    tests = many.reshape(math.prod(many.shape[:-1]), len(d))
    found = [_flip(d, counts, method) for counts in tests]
    names = sorted({name for _, _, name in found}, key=len) or [method]
    statistic, p_value = (
        np.array([one[place] for one in found], dtype=np.float64).reshape(many.shape[:-1])
        for place in (0, 1)
    )
    return TestResult(statistic, p_value, " or ".join(names))


def _flip(
    d: FloatArray, counts: IntArray, method: Literal["midp", "exact"]
) -> tuple[float, float, str]:
    """Return the sum, the p-value and the computation of one test."""
    largest = float(np.abs(d[counts > 0]).max(initial=0))
    used = (counts > 0) & (np.abs(d) > _ROUNDING * largest)
    d, counts = d[used], counts[used]
    total, n = math.fsum(d * counts), int(counts.sum())
    if abs(total) <= _ROUNDING * largest * n:
        return 0.0, 1.0, method
    # Fractions of the largest can be squared without overflow.
    d, place = np.unique(d / largest, return_inverse=True)
    counts = np.bincount(place, weights=counts).astype(np.int64)
    whole = in_steps(d, counts, 1 / largest if largest > 1e-300 else 1.0)
    name: str = method
    if whole is None and n <= MOST_ENUMERATED:
        p_value = _enumerated(np.repeat(d, counts), method)
        return total, p_value, f"{method}, all signs"
    if whole is None and n <= MOST_ON_GRID:
        step = float(counts @ np.abs(d)) / min(_STEPS_PER_UNIT * n, LARGEST_EXACT_SUM - n)
        whole, name = np.rint(d / step).astype(np.int64), f"{method}, rounded"
    if whole is None:
        squares = float(counts @ d**2)
        chi2 = (total / largest) ** 2 / squares
        return total, max(float(scipy.special.chdtrc(1, chi2)), LEAST_P), "asymptotic"
    return total, float(sign_flip_test(whole, counts, method=method).p_value), name


def in_steps(d: FloatArray, counts: IntArray, unit: float) -> IntArray | None:
    """Return the numbers in steps that measure all of them exactly, if their sum is not too large.

    Steps are fractions of the given unit, of the largest number or of the smallest.
    """
    for base in (unit, 1.0, float(np.abs(d).min())):
        fractions = []
        for x in d.tolist():
            fraction = Fraction(x / base).limit_denominator(_LARGEST_DENOMINATOR)
            # Most irrational numbers are no such fractions, so the first one ends the search.
            if abs(float(fraction) * base - x) > _ROUNDING:
                break
            fractions.append(fraction)
        if len(fractions) < len(d):
            continue
        step = math.lcm(*(fraction.denominator for fraction in fractions))
        whole = [int(fraction * step) for fraction in fractions]
        factor = math.gcd(*whole)
        whole = [x // factor for x in whole]
        size = sum(abs(x) * many for x, many in zip(whole, counts.tolist(), strict=True))
        if size <= LARGEST_EXACT_SUM:
            return np.array(whole, dtype=np.int64)
    return None


def all_signs(number: int) -> IntArray:
    """Return all signs of so many units, one per row: first none reversed, last all of them."""
    return 1 - 2 * (np.arange(2**number)[:, None] >> np.arange(number) & 1)


def _enumerated(d: FloatArray, method: str) -> float:
    """Return the p-value from the sums of all signs; those of the first are mirrored."""
    sums = np.abs(d[:1])
    for one in np.abs(d[1:]):
        sums = np.concatenate([sums + one, sums - one])
    observed, room = abs(math.fsum(d)), _ROUNDING * float(np.abs(d).sum())
    reached = np.abs(sums) >= observed - room
    equal = reached & (np.abs(sums) <= observed + room)
    return float((reached.sum() - (equal.sum() / 2 if method == "midp" else 0)) / len(sums))


def _added_up(steps: IntArray, counts: IntArray, at: IntArray, method: str) -> FloatArray:
    """Return the same as `_twice_tail` from all sums up to the observed one, test by test."""
    found = []
    for own, last in zip(counts, at.tolist(), strict=True):
        ways = np.zeros(last + 1)
        ways[0] = 1.0
        for step in np.repeat(steps, np.where(steps <= last, own, 0)).tolist():
            ways[step:] += ways[:-step]
        tail = 2 * ways[:-1].sum() + (2 if method == "exact" else 1) * ways[-1]
        found.append(math.ldexp(tail, -int(own.sum())))
    return np.array(found)


def _twice_tail(steps: IntArray, counts: IntArray, at: IntArray, method: str) -> FloatArray:
    """Return 2 P(J ≤ at), or 2 P(J < at) + P(J = at) for mid-p, with J = Σ step · heads.

    `counts`, of shape (tests, steps), are the throws of each coin; `at` is below the mean of J.
    """
    number = counts.astype(np.float64)
    decay = _saddle_points(steps, number, at)
    # Tests with nearly the same circle, of radius exp(−decay), use the same one.
    level = np.rint(10 * np.log(decay))
    decay = np.exp(level / 10)
    sizes = np.log1p(np.expm1(-np.multiply.outer(decay, steps)) / 2)
    largest = at * decay + (number * sizes).sum(axis=1)
    # With so many points, others than the wanted coefficient contribute less than exp(−40) of it.
    octave = np.ceil(2 * np.log2((40 - largest) / decay))
    found = np.zeros(len(at))
    _, first, group = np.unique(level + 1j * octave, return_index=True, return_inverse=True)
    for place, one in enumerate(first):
        n, rows = math.ceil(2 ** (octave[one] / 2)), np.flatnonzero(group == place)
        turn = 2 * np.pi / n
        # The points below the real axis mirror those above.
        for index in _parts(np.arange(n // 2 + 1), len(steps)):
            u = np.exp(-decay[one] + 1j * turn * index)
            ends = (2 if method == "exact" else 1 + u) / (1 - u)
            weights = np.where((index == 0) | (2 * index == n), 1, 2) * np.abs(ends) / n
            angles = turn * (np.multiply.outer(steps, index) % n)
            less = np.expm1(-decay[one] * steps[:, None] + 1j * angles) / 2
            log = np.log1p(2 * less.real + np.abs(less) ** 2) / 2
            phase = np.arctan2(less.imag, 1 + less.real)
            for own in _parts(rows, len(index)):
                back = turn * (np.multiply.outer(at[own], index) % n)
                waves = np.cos(number[own] @ phase - back + np.angle(ends))
                waves *= np.exp(number[own] @ log + (at * decay)[own, None])
                found[own] += waves @ weights
    return found


def _parts(values: IntArray, width: int) -> Iterator[IntArray]:
    """Cut values into parts whose tables, with so many columns per value, fit into a cache."""
    many = max(2**15 // width, 1)
    return (values[start : start + many] for start in range(0, len(values), many))


def _saddle_points(steps: IntArray, number: FloatArray, at: IntArray) -> FloatArray:
    """Return −log of each radius at which Cauchy's integral loses few digits."""
    squares = steps.astype(np.float64) ** 2
    half = number @ steps / 2 - at
    decay = 4 * half / (number @ squares)
    # Newton's iterations increase towards the root, as the function is concave.
    for _ in range(60):
        tanh = np.tanh(np.multiply.outer(decay, steps / 2))
        slope = (number * (1 - tanh**2)) @ squares / 4
        more = np.clip((half - (number * tanh) @ steps / 2) / np.maximum(slope, 1e-300), 0, 1)
        decay = decay + more
        if (more < 0.02 * decay).all():
            break
    # Near the mean of J, the pole at 1 would need many points.
    return np.maximum(decay, 6 / np.sqrt(number @ squares))


def design_effect(
    clusters: npt.ArrayLike,
    multiplicity: npt.ArrayLike,
    influence: npt.ArrayLike,
    *,
    copies: float = 1.0,
) -> float:
    """Compute the factor by which clustering multiplies the variance of an estimate.

    This is the cluster-robust (linearised) variance of the estimate, divided by its variance if
    every answer were a separate cluster:

        K / (K − 1) Σ_k (Σ_{i in k} ψ_i)²  over  N / (N − 1) Σ_i ψ_i²

    with ψ the influence of a pair on the estimate, K clusters and N pairs.

    Parameters
    ----------
    clusters : array_like of int, shape (k, patterns)
        Number of pairs with each pattern in a cluster.
    multiplicity : array_like of int, shape (k,)
        Number of clusters with these counts.
    influence : array_like of float, shape (patterns,)
        The influence of a pair with that pattern; its mean over all pairs is 0.
    copies : float
        Number of pairs that share an answer. N pairs then count as N / copies answers, and the
        effect is that of the answers: multiply it by `copies` to divide numbers of pairs.

    Returns
    -------
    float
        At least 1: samples that balance out by chance do not count as more information than
        independent ones. If no pair has an influence (no discordant pair), it is the mean size of a
        cluster. The answers of an item then count as one. The same holds for a single cluster,
        which has no variance.

    Raises
    ------
    ValueError
        If a count is invalid, an influence is not finite, or the shapes do not fit.

    Notes
    -----
    The effect is itself an estimate, and does not show rare clusters that differ and were not
    drawn. So equivalence leaves room for these (`fairstats.inference.verdict.with_room`).

    References
    ----------
    Kish (1965), Survey Sampling, section 8.2; Rao & Scott (1992), Biometrics 48:577-585, for
    dividing the counts of a score interval by it.

    Examples
    --------
    >>> design_effect([[2, 0], [0, 2]], [5, 5], [1, -1])
    2.111111111111
    """
    (whole,), (many,) = check_counts(clusters=clusters), check_counts(multiplicity=multiplicity)
    cells, psi = whole.astype(np.float64), check_numbers("influence", influence)
    if cells.ndim != 2 or cells.shape != (*many.shape, *psi.shape):
        raise ValueError(
            "clusters must have shape (k, patterns), multiplicity (k,) and influence (patterns,); "
            f"got {cells.shape}, {many.shape} and {psi.shape}"
        )
    k, n = float(many.sum()), float((cells.sum(axis=1) * many).sum()) / copies
    single = float((cells * many[:, None]).sum(axis=0) @ psi**2) * copies
    if single <= 0 or k < 2 or n <= 1:
        return max(n / max(k, 1.0), 1.0)
    # Sums of whole numbers are exact, so neither the order of clusters nor joining alike ones
    # changes the result.
    together = float(psi @ (cells.T @ (cells * many[:, None])) @ psi)
    # Rounded, so that the order of a sum decides nothing that follows.
    return max(round(k / (k - 1) * together / (n / (n - 1) * single), 12), 1.0)


def few_clusters_effect(
    clusters: npt.ArrayLike,
    multiplicity: npt.ArrayLike,
    influence: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    copies: float = 1.0,
) -> float:
    r"""Compute a design effect for intervals over few clusters of unequal size.

    The limits of score intervals use the normal quantile z, and `design_effect` is itself an
    estimate. For 10 to 50 clusters, both make intervals too narrow. With E the `design_effect`, the
    result is

    .. math::
        (1 - 2^{-D}) \, E \, B \, (t / z)^2 + 2^{-D} \max(E, \textstyle\sum n_k^2 / N)

    with t the quantile of Student's t with Satterthwaite's degrees of freedom, and
    B = (1 − 1 / K) / (1 − Σ n_k² / N²), which corrects E's bias for K clusters of sizes n_k.

    Parameters
    ----------
    clusters, multiplicity, influence, copies
        As in `design_effect`.
    alpha : float
        1 − confidence level of the interval that uses the result.

    Returns
    -------
    float
        From 1 to the number of answers. If no pair has an influence, it is Σ n_k² / N, as if the
        answers of a cluster were all the same.

    Raises
    ------
    ValueError
        As `design_effect`, and if alpha is outside (0, 1).

    Notes
    -----
    D is the effective number of clusters that differ from the median cluster. If only one cluster
    has a discordant pair, E is 1, whatever the correlation within clusters. With D differing
    clusters, the second term has the weight 2^−D, as in `unit_mean_difference`. The median cluster
    is the one in the middle of the answers, sorted by the clusters' rates. The middle is as wide as
    a mean cluster, 1 / K of the answers. If it is in several clusters, 2^−D is averaged over them,
    so a single answer never makes another cluster the median one.

    The degrees of freedom are those of the CR2 variance of a mean over answers that are independent
    and of equal variance. They depend only on the sizes. With equal sizes they are K − 1.

    In simulations of 10 to 50 clusters (benchmarks/unit_coverage.py), 95% limits of accuracy
    differences cover in 93% or more, and those of CFR in 92% or more. With `design_effect`, it is
    92% and 84%.

    References
    ----------
    Korn & Graubard (1998), Survey Methodology 24:193-201, for (t / z)² in the effective number of
    answers; Pustejovsky & Tipton (2018), Journal of Business & Economic Statistics 36:672-683;
    Rao & Scott (1992), Biometrics 48:577-585. Coverage: benchmarks/unit_coverage.py.

    Examples
    --------
    >>> clusters, many = [[2, 0], [0, 2], [1, 1]], [4, 4, 2]
    >>> design_effect(clusters, many, [1, -1])
    1.688888888889
    >>> few_clusters_effect(clusters, many, [1, -1])
    2.248857926446
    """
    alpha = check_alpha(alpha)
    effect = design_effect(clusters, multiplicity, influence, copies=copies)
    (whole,), (counts,) = check_counts(clusters=clusters), check_counts(multiplicity=multiplicity)
    cells, many = whole.astype(np.float64), counts.astype(np.float64)
    psi, sizes = check_numbers("influence", influence), cells.sum(axis=1)
    many = np.where(sizes > 0, many, 0.0)
    total, k = float(sizes @ many), float(many.sum())
    if k < 2:
        return effect
    shares = sizes / total
    same = float(many @ sizes**2) / total / copies
    sums = cells @ psi
    unseen = 0.0
    for center, weight in _median_rates(sums / np.maximum(sizes, 1), many * shares, 1 / k):
        parts = sums - center * sizes
        parts[np.abs(parts) <= 1e-9 * np.abs(psi).max(initial=0)] = 0.0
        unseen += weight * 2.0 ** -effective_number(parts, many)
    ratio = scipy.special.stdtrit(degrees_of_freedom([sizes], many), 1 - alpha / 2)
    ratio /= scipy.special.ndtri(1 - alpha / 2)
    bias = (1 - 1 / k) / (1 - float(many @ shares**2))
    found = (1 - unseen) * effect * bias * ratio**2 + unseen * max(effect, same)
    return max(round(float(min(found, total / copies)), 12), 1.0)


def _median_rates(
    rates: FloatArray, shares: FloatArray, width: float
) -> Iterator[tuple[float, float]]:
    """Yield the rates in the middle part of the answers, of this width, and their shares of it."""
    order = np.argsort(rates)
    ends = np.cumsum(shares[order])
    inside = np.clip(ends, 0.5 - width / 2, 0.5 + width / 2)
    inside = np.diff(inside, prepend=0.5 - width / 2) / width
    used = inside > _ROUNDING
    yield from zip(rates[order][used].tolist(), inside[used].tolist(), strict=True)


@dataclass(frozen=True, repr=False)
class SamplingVariance(Tabular):
    """Result of `sampling_variance`.

    Attributes
    ----------
    estimate, std_error : float
        The mean over items, and its standard error over further items and samples.
    variance_items, variance_samples : float
        The parts of std_error² due to items and to samples; unbiased, so they can be negative.
    share_samples : float
        The samples' share of the variance, in [0, 1], with negative parts as 0; NaN if there is no
        variance.
    std_error_unlimited : float
        The standard error that unlimited samples of the same items would give.
    n : int
        Number of items.
    """

    estimate: float
    std_error: float
    variance_items: float
    variance_samples: float
    share_samples: float
    std_error_unlimited: float
    n: int


def sampling_variance(
    values: npt.ArrayLike,
    noise: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    units: npt.ArrayLike | None = None,
) -> SamplingVariance:
    """Split the variance of a mean over items into items and repeated samples.

    Var(mean) = (σ²_items + mean noise) / I. The variance of the values over items estimates the sum
    in brackets. If clusters of items are the independent units, Var(mean) is the cluster-robust
    variance, and what the samples leave of it is due to items and clusters.

    Parameters
    ----------
    values : array_like of float, shape (k,)
        Each item's figure, e.g. its share of right answers over its samples.
    noise : array_like of float, shape (k,)
        An unbiased estimate of the figure's variance over new samples of the same item, e.g.
        `proportion_noise`. NaN if the item has too few samples; all components are then NaN.
    multiplicity : array_like of int, shape (k,), optional
        Number of items of each kind (default: one).
    units : array_like, shape (k,), optional
        The cluster of each item (default: every item is a unit).

    Returns
    -------
    SamplingVariance
        All NaN without items. With one item or cluster, the variance over items is unknown (NaN).

    Raises
    ------
    ValueError
        If shapes differ, or a value is not finite.

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance Components, chapter 3. Checked against R's ``aov``
    (tests/r/sampling_variance.R).

    Examples
    --------
    >>> values = [1.0, 0.5, 0.5, 0.0, 1.0, 0.5]
    >>> found = sampling_variance(values, proportion_noise([2, 1, 1, 0, 2, 1], [2] * 6))
    >>> round(found.std_error**2, 4), round(found.variance_samples, 4)
    (0.0236, 0.0208)
    """
    x = check_numbers("values", values, example="0.5; leave out items without answers")
    of_samples = check_numbers("noise", noise, nan=True)
    if x.ndim != 1 or x.shape != of_samples.shape:
        raise ValueError(
            f"values and noise must have one shape (k,); got {x.shape} and {of_samples.shape}"
        )
    many = check_multiplicity(multiplicity, len(x))
    n = int(many.sum())
    nan = float("nan")
    if n == 0:
        return SamplingVariance(nan, nan, nan, nan, nan, nan, 0)
    mean = float(many @ x / n)
    samples = float(many @ of_samples / n) / n
    squares, k = many @ (x - mean) ** 2, n
    if units is not None:
        _, place = np.unique(np.asarray(units)[many > 0], return_inverse=True)
        k = int(place.max()) + 1
        squares = (np.bincount(place, (many * (x - mean))[many > 0]) ** 2).sum() * k / n
    total = float(squares / (k - 1)) / n if k > 1 else nan
    items = total - samples
    known = max(items, 0.0) + max(samples, 0.0)
    share = max(samples, 0.0) / known if known > 0 else nan
    unlimited = float(np.sqrt(total * (1 - share))) if known > 0 else nan
    return SamplingVariance(mean, float(np.sqrt(total)), items, samples, share, unlimited, n)


def proportion_noise(correct: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """Estimate the variance of an item's share of right answers over new samples, without bias.

    With p̂ the share of n answers, this is p̂ (1 − p̂) / (n − 1).

    Parameters
    ----------
    correct, n : array_like of int
        Right answers and answers of each item.

    Returns
    -------
    ndarray
        NaN for fewer than two answers.

    Raises
    ------
    ValueError
        For an invalid count.

    References
    ----------
    Cochran (1977), Sampling Techniques, theorem 3.1.

    Examples
    --------
    >>> proportion_noise([1, 2, 1], [2, 2, 1])
    array([0.25, 0.  ,  nan])
    """
    right, number = check_counts(correct=correct, n=n)
    share = right / np.maximum(number, 1)
    return np.where(number > 1, share * (1 - share) / np.maximum(number - 1, 1), np.nan)


def agreement_noise(
    letters_a: npt.ArrayLike, letters_b: npt.ArrayLike, n_a: npt.ArrayLike, n_b: npt.ArrayLike
) -> FloatArray:
    """Estimate the variance of an item's agreement between groups over new samples, without bias.

    The agreement C is the share of the n_a n_b pairs of an answer of each group with the same
    letter. C² minus its average over two pairs without a common answer estimates its variance.

    Parameters
    ----------
    letters_a, letters_b : array_like of int, shape (k, options)
        Number of times that each group gave each letter, for each item.
    n_a, n_b : array_like of int, shape (k,)
        Number of answers of each group. A missing answer that counts agrees with no other.

    Returns
    -------
    ndarray, shape (k,)
        NaN for fewer than two answers of a group. Single items can be below 0.

    Raises
    ------
    ValueError
        For an invalid count.

    References
    ----------
    Hoeffding (1948), Annals of Mathematical Statistics 19:293-325. Tested by enumeration of all
    samples.

    Examples
    --------
    >>> agreement_noise([[2, 0], [1, 1]], [[2, 0], [1, 1]], [2, 2], [2, 2])
    array([ 0.  , -0.25])
    """
    a, b = (counts.astype(float) for counts in check_counts(a=letters_a, b=letters_b))
    size_a, size_b = check_counts(n_a=n_a, n_b=n_b)
    same = (a * b).sum(axis=-1)
    # Two pairs without a common answer; a pair with itself was taken off twice.
    apart = same**2 - (a * b**2).sum(axis=-1) - (a**2 * b).sum(axis=-1) + same
    pairs = np.maximum(size_a * size_b, 1)
    others = np.maximum((size_a - 1) * (size_b - 1), 1)
    noise = (same / pairs) ** 2 - apart / (pairs * others)
    return np.where((size_a > 1) & (size_b > 1), noise, np.nan)
