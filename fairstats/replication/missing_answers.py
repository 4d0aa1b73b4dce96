"""Search for missing answers with which published figures are possible.

The policy is ``available``: CFR, McNemar's p and the odds ratio are of the m pairs with both
answers; accuracies, AD and h are of each group's answers. Of the n_a answers of group a, n_a − m
have no partner, and any number of these may be correct.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.inference.mcnemar import McNemarMethod
from fairstats.replication.possible_tables import (
    SLACK,
    PairSpace,
    Ranges,
    any_between,
    cumulative,
    has_marginals,
    pair_space,
    runs_of,
)
from fairstats.replication.printed_figures import Flags, Integers, Range

#: Answers of group a, answers of group b, and pairs with both.
Answered = tuple[int, int, int]
Alternatives = Sequence[tuple[Ranges, McNemarMethod]]
# With 1,000 answers, a cell has accuracies that are about one answer apart.
_CELLS = 1000
_MARGINAL = {"accuracy_a", "accuracy_b", "ad", "accuracy_difference", "cohens_h", "abs_h"}


def fewest_missing(alternatives: Alternatives, n: int, most: int) -> list[Answered]:
    """Return the smallest numbers of missing answers with which figures are possible.

    One of the alternatives has to fit, with at most `most` missing answers in a group, below n.
    Each (n_a, n_b, m) has the fewest missing answers in all; of several m the highest. The list is
    empty if no numbers fit.
    """
    figures = [one for one in _grouped(alternatives, n, most) if one.allowed[-1]]
    for missing in range(1, 2 * most + 1 if figures else 1):
        reaching = [one for one in figures if one.reach(missing)]
        if not reaching:
            continue
        lowest = max(0, missing - most)
        split = [(n - a, n - missing + a) for a in range(lowest, missing - lowest + 1)]
        fits = [(*answers, m) for answers in split if (m := _pairs(reaching, *answers, n))]
        if fits:
            return fits
    return []


@dataclass(frozen=True)
class _Figures:
    """The ranges of a row's figures, with every version of the test that may explain them.

    Attributes
    ----------
    ranges : mapping of str to Range
        The ranges.
    spaces : tuple of callables
        For each version of the test, what CFR, p and odds ratio allow of a number of pairs.
    allowed : ndarray
        The δ that some version allows of n pairs or fewer, as `cumulative` counts.
    fewest : ndarray, shape (2, n + 1)
        For each d from 0 to n, the lowest of the smaller and of the larger of n10 and n01 of such δ
        with |δ| ≥ d; above n if there is none.
    same : ndarray, shape (3, …)
        Each number of pairs that CFR allows, and its lowest and highest number of equal answers.
    cells : ndarray, shape (4, …)
        Cells that cover the accuracies that the other figures allow: lowest and highest of group a,
        and of group b.
    """

    ranges: Ranges
    spaces: tuple[Callable[[int], PairSpace], ...]
    allowed: Integers
    fewest: Integers
    same: Integers
    cells: FloatArray

    def reach(self, missing: int) -> bool:
        """Return whether so many missing answers, of both groups together, may explain figures."""
        n = self.fewest.shape[1] - 1
        a_low, a_high, b_low, b_high = self.cells
        # If A answers of group a and B of group b are missing, at most B answers of group a have no
        # partner, and at most A of group b. Their accuracies are of n − A and n − B answers.
        low = n * (a_low - b_high) - missing * np.maximum(a_low, 1 - b_high)
        high = n * (a_high - b_low) + missing * np.maximum(1 - a_high, b_low)
        low, high = np.ceil(low - SLACK), np.floor(high + SLACK)
        low, high = np.clip([low, high], -n, n).astype(np.int64)
        n10 = n * np.minimum(a_high, 1 - b_low) + SLACK
        n01 = n * np.minimum(b_high, 1 - a_low) + SLACK
        return bool(self.allow(low, high, n10, n01).any())

    def allow(
        self, low: Integers, high: Integers, n10: Integers | FloatArray, n01: Integers | FloatArray
    ) -> Flags:
        """Return where δ from `low` to `high` may be allowed with at most so many n10 and n01."""
        nearest = np.clip(np.maximum(low, -high), 0, self.fewest.shape[1] - 1)
        smaller, larger = self.fewest[:, nearest]
        few = (smaller <= np.minimum(n10, n01)) & (larger <= np.maximum(n10, n01))
        return np.asarray(few & any_between(self.allowed, low, high))


def _grouped(alternatives: Alternatives, n: int, most: int) -> Iterator[_Figures]:
    """Join the alternatives that differ only in the version of the test."""
    tests: dict[frozenset[tuple[str, Range]], list[McNemarMethod]] = {}
    for ranges, test in alternatives:
        tests.setdefault(frozenset(ranges.items()), []).append(test)
    for key, versions in tests.items():
        ranges = dict(key)
        cfr = ranges.get("cfr")
        pairs = range(max(n - 2 * most, 1), n + 1)
        limits = [(m, *((0, m) if cfr is None else cfr.counts(m))) for m in pairs]
        same = np.array([one for one in limits if one[1] <= one[2]], np.int64).reshape(-1, 3).T
        yield _Figures(
            ranges,
            # The same numbers of pairs occur with many numbers of answers.
            tuple(cache(partial(_space, ranges, n, test)) for test in versions),
            *_allowed(ranges, n, versions),
            same,
            _cells(ranges),
        )


def _cells(ranges: Ranges) -> FloatArray:
    # Both limits of group b rise with the accuracy of group a.
    edges = np.linspace(*_limits(ranges.get("accuracy_a")), _CELLS + 1)
    cells = []
    for sign in _signs(ranges):
        least, most = _partners(ranges, edges, sign)
        there = least[:-1] <= most[1:] + SLACK
        cells.append(np.stack([edges[:-1], edges[1:], least[:-1], most[1:]])[:, there])
    return np.concatenate(cells, axis=1)


def _space(ranges: Ranges, n: int, test: McNemarMethod, m: int) -> PairSpace:
    return pair_space(ranges, m, runs_of(ranges, n, test))


def _allowed(
    ranges: Ranges, n: int, versions: Sequence[McNemarMethod]
) -> tuple[Integers, Integers]:
    """Return `allowed` and `fewest` of the figures."""
    lowest = ranges["cfr"].low if "cfr" in ranges else None
    # At most n (1 − CFR) pairs have different answers; fewer pairs allow no others.
    different = n if lowest is None else math.floor(n * (1 - lowest))
    most = (different - np.abs(np.arange(-n, n + 1))) // 2
    runs = [runs_of(ranges, n, test) for test in versions]
    there = [one.first <= np.minimum(one.last, most) for one in runs]
    first = np.where(there, [one.first for one in runs], n + 1).min(axis=0)
    smaller = np.minimum(first[n:], first[n::-1])
    fewest = np.stack([smaller, smaller + np.arange(n + 1)])
    return cumulative(first <= n), np.minimum.accumulate(fewest[:, ::-1], axis=1)[:, ::-1]


def _pairs(figures: Sequence[_Figures], n_a: int, n_b: int, n: int) -> int:
    """Return the highest number of pairs with which figures are possible; 0 if there is none."""
    lowest = max(n_a + n_b - n, 1)
    best = 0
    for one in figures:
        if _MARGINAL.isdisjoint(one.ranges):
            # More pairs were possible with fewer missing answers.
            if any((space(lowest).low <= space(lowest).high).any() for space in one.spaces):
                best = max(best, lowest)
            continue
        numbers = one.same[0]
        tried = one.same[:, (numbers >= max(lowest, best + 1)) & (numbers <= min(n_a, n_b))]
        if not tried.size:
            continue
        runs = _candidates(one.ranges, n_a, n_b)
        # First all numbers of pairs together, then each number.
        pairs, fewest, most = tried
        widest = (pairs[:1], pairs[-1:], (pairs - fewest).max(), most.max())
        runs = runs[:, _near(one, runs, n_a, n_b, *widest)]
        if not runs.size:
            continue
        runs = _exact(one.ranges, runs, n_a, n_b)
        m, fewest, most = tried[:, ::-1, None]
        near = _near(one, runs, n_a, n_b, m, m, m - fewest, most)
        for place in np.flatnonzero(near.any(axis=1)):
            number, own = int(m[place, 0]), runs[:, near[place]]
            if any(_fits(space(number), own, n_a, n_b) for space in one.spaces):
                best = number
                break
    return best


def _candidates(ranges: Ranges, n_a: int, n_b: int) -> Integers:
    """Return numbers of correct answers with accuracies, difference, AD and h near their ranges.

    Returns
    -------
    ndarray, shape (3, …)
        The number of group a, and the first and last of a run of numbers of group b.
    """
    low, high = ranges["accuracy_a"].counts(n_a) if "accuracy_a" in ranges else (0, n_a)
    correct_a = np.arange(low, high + 1)
    runs = []
    for sign in _signs(ranges):
        least, most = _partners(ranges, correct_a / n_a, sign)
        first = np.ceil(n_b * least - SLACK).astype(np.int64)
        last = np.floor(n_b * most + SLACK).astype(np.int64)
        runs.append(np.stack([correct_a, first, last])[:, first <= last])
    return np.concatenate(runs, axis=1)


def _exact(ranges: Ranges, runs: Integers, n_a: int, n_b: int) -> Integers:
    """Return the runs of `_candidates` without the numbers that only the slack admitted."""
    a, first, last = runs
    # That is at most one number at each end.
    first, last = (
        first + ~has_marginals(ranges, a, n_a, first, n_b),
        last - ~has_marginals(ranges, a, n_a, last, n_b),
    )
    return np.stack([a, first, last])[:, first <= last]


def _near(
    figures: _Figures,
    runs: Integers,
    n_a: int,
    n_b: int,
    fewest: Integers,
    most: Integers,
    different: Integers,
    same: Integers,
) -> Flags:
    """Return which runs may have tables within limits of the pairs, one per row of the result.

    The limits are the lowest and highest number of pairs, and the highest number of different and
    of equal answers. Tables with x and y correct answers and s equal ones exist if
    x + y − m ≤ s ≤ m − |x − y|. One version of the test must also allow δ = x − y.
    """
    x_low, _, y_low, _ = _rectangles(runs, n_a, n_b, fewest)
    _, x_high, _, y_high = _rectangles(runs, n_a, n_b, most)
    # The smallest x + y with |x − y| at most the number of different answers.
    x, y = np.maximum(x_low, y_low - different), np.maximum(y_low, x_low - different)
    inside = (x <= x_high) & (y <= y_high) & (x + y <= most + same)
    low, high = _delta_limits((x_low, x_high, y_low, y_high), most, same)
    n10, n01 = np.minimum(x_high, most - y_low), np.minimum(y_high, most - x_low)
    return np.asarray(inside & figures.allow(low, high, n10, n01))


def _rectangles(runs: Integers, n_a: int, n_b: int, m: int | Integers) -> tuple[Integers, ...]:
    """Return lowest and highest numbers of correct answers in m pairs, of group a and of group b.

    Of the answers without a partner, any number may be correct.
    """
    a, first, last = runs
    return (
        np.maximum(a - (n_a - m), 0),
        np.minimum(a, m),
        np.maximum(first - (n_b - m), 0),
        np.minimum(last, m),
    )


def _delta_limits(
    rectangles: tuple[Integers, ...], most_pairs: int | Integers, most_same: int | Integers
) -> tuple[Integers, Integers]:
    """Return the lowest and highest δ = n10 − n01 = x − y."""
    x_low, x_high, y_low, y_high = rectangles
    # Pairs that are right in both groups have equal answers, so n10 ≥ x − s and n01 ≥ y − s.
    low = x_low - most_same - np.minimum(y_high, most_pairs - x_low)
    high = np.minimum(x_high, most_pairs - y_low) - (y_low - most_same)
    return np.maximum(x_low - y_high, low), np.minimum(x_high - y_low, high)


def _fits(space: PairSpace, runs: Integers, n_a: int, n_b: int) -> bool:
    """Return whether the pairs can have one of these numbers of correct answers."""
    m = space.m
    rectangles = _rectangles(runs, n_a, n_b, m)
    # Most runs have no δ = x − y that this version of the test allows.
    there = any_between(space.allowed, *_delta_limits(rectangles, m, space.same[1]))
    if not there.any():
        return False
    x_low, x_high, y_low, y_high = np.stack(rectangles)[:, there, None]
    widest = int((x_high - y_low - x_low + y_high).max())
    delta = np.minimum(x_low - y_high + np.arange(widest + 1), x_high - y_low)
    low = np.maximum(np.maximum(x_low, y_low + delta), space.low[delta + m])
    high = np.minimum(np.minimum(x_high, y_high + delta), space.high[delta + m])
    return bool((low <= high).any())


def _signs(ranges: Ranges) -> tuple[int, ...]:
    """Return the signs that unsigned figures may have had."""
    return (1, -1) if {"ad", "abs_h"} & set(ranges) else (1,)


def _partners(ranges: Ranges, a: FloatArray, sign: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest accuracy of group b for each of group a.

    Both rise with the accuracy of group a. `sign` is that of unsigned figures.
    """
    low, high = (np.full(a.shape, limit) for limit in _limits(ranges.get("accuracy_b")))
    least, most = _difference(ranges, ("ad", "accuracy_difference"), sign)
    low, high = np.maximum(low, a - most), np.minimum(high, a - least)
    if {"cohens_h", "abs_h"} & set(ranges):
        least, most = _difference(ranges, ("abs_h", "cohens_h"), sign)
        angle = np.arcsin(np.sqrt(a))
        low = np.maximum(low, _sine_squared(angle - most / 2))
        high = np.minimum(high, _sine_squared(angle - least / 2))
    return low, high


def _sine_squared(angle: FloatArray) -> FloatArray:
    """Return the accuracy of an angle; below 0 or above 1 for an angle that no accuracy has."""
    within = np.clip(angle, -math.pi / 2, math.pi)
    square = np.sin(within) ** 2
    return np.where(within < 0, -square, np.where(within > math.pi / 2, 2 - square, square))


def _difference(ranges: Ranges, names: tuple[str, str], sign: int) -> tuple[float, float]:
    """Return the lowest and highest difference by an unsigned and a signed figure."""
    unsigned, signed = (ranges.get(name) for name in names)
    least, most = -math.inf, math.inf
    if unsigned is not None:
        sizes = max(_float(unsigned.low, 0.0), 0.0), _float(unsigned.high, math.inf)
        least, most = sizes if sign > 0 else (-sizes[1], -sizes[0])
    if signed is not None:
        least = max(least, _float(signed.low, -math.inf))
        most = min(most, _float(signed.high, math.inf))
    return least, most


def _limits(allowed: Range | None) -> tuple[float, float]:
    """Return the lowest and highest share."""
    if allowed is None:
        return 0.0, 1.0
    return max(_float(allowed.low, 0.0), 0.0), min(_float(allowed.high, 1.0), 1.0)


def _float(limit: Fraction | None, unlimited: float) -> float:
    return unlimited if limit is None else float(limit)
