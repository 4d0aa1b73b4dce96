"""Search for missing answers with which published figures are possible.

The policy is ``available``: CFR, McNemar's p and the odds ratio are of the m pairs with both
answers; accuracies, AD and h are of each group's answers. Of the n_a answers of group a, n_a − m
have no partner, and any number of these may be correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from fairstats.inference.mcnemar import McNemarMethod
from fairstats.replication.possible_tables import (
    SLACK,
    PairSpace,
    Ranges,
    has_marginals,
    pair_space,
    runs_of,
)
from fairstats.replication.printed_figures import Flags, Integers, Range
from fairstats.replication.unexplained_by_missing import (
    Accuracies,
    Differences,
    Discordant,
    accuracies,
    differences,
    discordant,
    partners,
    signs,
)

#: Answers of group a, answers of group b, and pairs with both.
Answered = tuple[int, int, int]
Alternatives = Sequence[tuple[Ranges, McNemarMethod]]
_MARGINAL = {"accuracy_a", "accuracy_b", "ad", "accuracy_difference", "cohens_h", "abs_h"}


def fewest_missing(alternatives: Alternatives, n: int, most: int) -> list[Answered]:
    """Return the smallest numbers of missing answers with which figures are possible.

    Parameters
    ----------
    alternatives : sequence of (Ranges, method of McNemar's test)
        The ranges of the figures; one alternative has to fit.
    n : int
        The number of items.
    most : int
        The highest number of missing answers in a group; below n.

    Returns
    -------
    list of (int, int, int)
        Each (n_a, n_b, m) with the fewest missing answers in all; of several m the highest. Empty
        if no numbers fit.
    """
    figures = [one for one in _grouped(alternatives, n, most) if one.allowed]
    for missing in range(1, 2 * most + 1):
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
    allowed : Differences
        The δ that some version allows.
    accuracies : Accuracies or None
        The accuracies that the other figures allow; None without any such figure.
    same : ndarray, shape (3, …)
        Each number of pairs that CFR allows, and its lowest and highest number of equal answers.
    """

    ranges: Ranges
    spaces: tuple[Callable[[int], PairSpace], ...]
    allowed: Differences
    accuracies: Accuracies | None
    same: Integers

    def reach(self, missing: int) -> bool:
        """Return whether so many missing answers in all may explain the figures."""
        return self.accuracies is None or self.accuracies.reach(self.allowed, missing)


def _grouped(alternatives: Alternatives, n: int, most: int) -> Iterator[_Figures]:
    """Join the alternatives that differ only in the version of the test."""
    tests: dict[frozenset[tuple[str, Range]], list[McNemarMethod]] = {}
    for ranges, test in alternatives:
        tests.setdefault(frozenset(ranges.items()), []).append(test)
    for key, versions in tests.items():
        ranges = dict(key)
        yield _Figures(
            ranges,
            # The same numbers of pairs occur with many numbers of answers.
            tuple(cache(partial(_space, ranges, n, test)) for test in versions),
            differences(ranges, n, [runs_of(ranges, n, test) for test in versions]),
            None if _MARGINAL.isdisjoint(ranges) else accuracies(ranges),
            _equal_answers(ranges.get("cfr"), range(max(n - 2 * most, 1), n + 1)),
        )


def _space(ranges: Ranges, n: int, test: McNemarMethod, m: int) -> PairSpace:
    return pair_space(ranges, m, runs_of(ranges, n, test))


def _equal_answers(cfr: Range | None, numbers: Sequence[int]) -> Integers:
    """Return each number of pairs that CFR allows, and its fewest and most equal answers."""
    limits = [(m, *((0, m) if cfr is None else cfr.counts(m))) for m in numbers]
    return np.array([one for one in limits if one[1] <= one[2]], np.int64).reshape(-1, 3).T


def _pairs(figures: Sequence[_Figures], n_a: int, n_b: int, n: int) -> int:
    """Return the highest number of pairs with which figures are possible; 0 if there is none."""
    lowest = max(n_a + n_b - n, 1)
    best = 0
    for one in figures:
        if one.accuracies is None:
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
        runs = runs[:, _near(one.allowed, runs, n_a, n_b, _widest(*tried))]
        if not runs.size:
            continue
        runs = _exact(one.ranges, runs, n_a, n_b)
        m, fewest, most = tried[:, ::-1, None]
        near = _near(one.allowed, runs, n_a, n_b, _Limits(m, m, m - fewest, most))
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
    for sign in signs(ranges):
        least, most = partners(ranges, correct_a / n_a, sign)
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


@dataclass(frozen=True)
class _Limits:
    """Limits of the pairs, one per row of the result.

    Attributes
    ----------
    fewest, most : ndarray
        The lowest and highest number of pairs.
    different, same : ndarray
        The highest number of different answers, and of equal ones.
    """

    fewest: Integers
    most: Integers
    different: Integers
    same: Integers


def _widest(m: Integers, fewest: Integers, most: Integers) -> _Limits:
    """Return limits that hold for each of these numbers of pairs, see `_Figures.same`."""
    return _Limits(m[:1], m[-1:], (m - fewest).max(keepdims=True), most.max(keepdims=True))


def _near(allowed: Differences, runs: Integers, n_a: int, n_b: int, limits: _Limits) -> Flags:
    """Return which runs may have tables within the limits.

    Tables with x and y correct answers and s equal ones exist if x + y − m ≤ s ≤ m − |x − y|. One
    version of the test must also allow δ = x − y, with n10 and n01 in these pairs.
    """
    x_low, _, y_low, _ = _rectangles(runs, n_a, n_b, limits.fewest)
    _, x_high, _, y_high = _rectangles(runs, n_a, n_b, limits.most)
    # The smallest x + y with |x − y| at most the number of different answers.
    x, y = np.maximum(x_low, y_low - limits.different), np.maximum(y_low, x_low - limits.different)
    same = (x <= x_high) & (y <= y_high) & (x + y <= limits.most + limits.same)
    rectangles = x_low, x_high, y_low, y_high
    return np.asarray(same & allowed.allow(_discordant(rectangles, limits.most, limits.same)))


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


def _discordant(
    rectangles: tuple[Integers, ...], most_pairs: int | Integers, most_same: int | Integers
) -> Discordant:
    """Return the limits of the discordant counts."""
    x_low, x_high, y_low, y_high = rectangles
    # Pairs that are right in both groups have equal answers.
    return discordant(
        (x_low - y_high, x_high - y_low),
        (x_low - most_same, np.minimum(x_high, most_pairs - y_low)),
        (y_low - most_same, np.minimum(y_high, most_pairs - x_low)),
    )


def _fits(space: PairSpace, runs: Integers, n_a: int, n_b: int) -> bool:
    """Return whether the pairs can have one of these numbers of correct answers."""
    m = space.m
    rectangles = _rectangles(runs, n_a, n_b, m)
    low, high = _discordant(rectangles, m, space.same[1]).delta
    allowed = np.r_[0, np.cumsum(space.low <= space.high)]
    # Most runs have no δ = x − y that this version of the test allows.
    there = (low <= high) & (allowed[np.maximum(high, low) + m + 1] > allowed[low + m])
    for x0, x1, y0, y1 in np.stack(rectangles)[:, there].T.tolist():
        delta = np.arange(x0 - y1, x1 - y0 + 1)
        low = np.maximum(np.maximum(x0, y0 + delta), space.low[delta + m])
        high = np.minimum(np.minimum(x1, y1 + delta), space.high[delta + m])
        if (low <= high).any():
            return True
    return False
