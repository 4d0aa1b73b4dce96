"""Search for missing answers with which published figures are possible.

The policy is ``available``: CFR, McNemar's p and the odds ratio are of the m pairs with both
answers; accuracies, AD and h are of each group's answers. Of the n_a answers of group a, n_a − m
have no partner, and any number of these may be correct.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np

from fairstats.inference.mcnemar import McNemarMethod
from fairstats.replication.possible_tables import (
    PairSpace,
    Ranges,
    has_marginals,
    is_possible,
    pair_space,
    runs_of,
)
from fairstats.replication.printed_figures import Flags, Integers, Range

#: Answers of group a, answers of group b, and pairs with both.
Answered = tuple[int, int, int]
Alternatives = Sequence[tuple[Ranges, McNemarMethod]]
_MARGINAL = {"accuracy_a", "accuracy_b", "ad", "accuracy_difference", "cohens_h", "abs_h"}
# Far above the error of an arcsine and its inverse, in counts.
_SLACK = 1e-6


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
    # The same numbers of pairs occur with many numbers of answers.
    spaces = [cache(partial(_space, ranges, n, test)) for ranges, test in alternatives]
    for missing in range(1, 2 * most + 1):
        lowest = max(0, missing - most)
        split = [(n - a, n - missing + a) for a in range(lowest, missing - lowest + 1)]
        fits = [
            (*answers, m) for answers in split if (m := _pairs(alternatives, spaces, *answers, n))
        ]
        if fits:
            return fits
    return []


def _space(ranges: Ranges, n: int, test: McNemarMethod, m: int) -> PairSpace:
    return pair_space(ranges, m, runs_of(ranges, n, test))


def _pairs(
    alternatives: Alternatives,
    spaces: Sequence[Callable[[int], PairSpace]],
    n_a: int,
    n_b: int,
    n: int,
) -> int:
    """Return the highest number of pairs with which figures are possible; 0 if there is none."""
    lowest = max(n_a + n_b - n, 1)
    best = 0
    # Versions of the test share their numbers of correct answers.
    correct: dict[frozenset[tuple[str, Range]], Integers] = {}
    for (ranges, test), space in zip(alternatives, spaces, strict=True):
        if not _MARGINAL & set(ranges):
            # More pairs were possible with fewer missing answers.
            if is_possible(ranges, lowest, test):
                best = max(best, lowest)
            continue
        key = frozenset((name, ranges[name]) for name in _MARGINAL & set(ranges))
        if key not in correct:
            correct[key] = _correct(ranges, n_a, n_b)
        runs = correct[key]
        numbers = range(min(n_a, n_b), max(lowest, best + 1) - 1, -1)
        if not numbers or not _near(ranges, runs, (n_a, n_b), numbers).any():
            continue
        for m in numbers:
            near = _near(ranges, runs, (n_a, n_b), [m])
            if near.any() and _fits(space(m), runs[:, near], n_a, n_b):
                best = m
                break
    return best


def _correct(ranges: Ranges, n_a: int, n_b: int) -> Integers:
    """Return the numbers of correct answers that give accuracies, difference, AD and h in range.

    Returns
    -------
    ndarray, shape (3, …)
        The number of group a, and the first and last of a run of numbers of group b.
    """
    low, high = ranges["accuracy_a"].counts(n_a) if "accuracy_a" in ranges else (0, n_a)
    limits = ranges["accuracy_b"].counts(n_b) if "accuracy_b" in ranges else (0, n_b)
    correct_a = np.arange(low, high + 1)
    signs = (1, -1) if {"ad", "abs_h"} & set(ranges) else (1,)
    return np.concatenate(
        [_with_partners(ranges, correct_a, n_a, n_b, limits, sign) for sign in signs], axis=1
    )


def _with_partners(
    ranges: Ranges, a: Integers, n_a: int, n_b: int, limits: tuple[int, int], sign: int
) -> Integers:
    """Return the runs of `_correct` for one sign of unsigned figures."""
    low, high = (np.full(a.shape, limit, np.float64) for limit in limits)
    for name in ("ad", "accuracy_difference", "cohens_h", "abs_h"):
        if name not in ranges:
            continue
        least, most = _difference(ranges[name], sign if name in ("ad", "abs_h") else 0)
        if name in ("ad", "accuracy_difference"):
            lower, upper = ((a / n_a - size) * n_b for size in (most, least))
        else:
            angle = np.arcsin(np.sqrt(a / n_a))
            lower, upper = (
                np.sin(np.clip(angle - size / 2, 0, math.pi / 2)) ** 2 * n_b
                for size in (most, least)
            )
        low, high = np.maximum(low, lower), np.minimum(high, upper)
    first = np.ceil(low - _SLACK).astype(np.int64)
    last = np.floor(high + _SLACK).astype(np.int64)
    # The slack admits at most one number too many at each end.
    for _ in range(2):
        there = first <= last
        a, first, last = a[there], first[there], last[there]
        first = first + ~has_marginals(ranges, a, n_a, first, n_b)
        last = last - ~has_marginals(ranges, a, n_a, last, n_b)
    there = first <= last
    return np.stack([a[there], first[there], last[there]])


def _difference(allowed: Range, sign: int) -> tuple[float, float]:
    """Return the lowest and highest difference; `sign` is that of an unsigned figure's, or 0."""
    least = -math.inf if allowed.low is None else float(allowed.low)
    most = math.inf if allowed.high is None else float(allowed.high)
    if sign == 0:
        return least, most
    least = max(least, 0.0)
    return (least, most) if sign > 0 else (-most, -least)


def _rectangles(runs: Integers, n_a: int, n_b: int, m: int) -> tuple[Integers, ...]:
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


def _near(
    ranges: Ranges, runs: Integers, answered: tuple[int, int], numbers: Sequence[int]
) -> Flags:
    """Return which runs CFR allows with some of these numbers of pairs; exact for one number.

    Tables with x and y correct answers and s equal ones exist if x + y − m ≤ s ≤ m − |x − y|.
    """
    same = {m: ranges["cfr"].counts(m) if "cfr" in ranges else (0, m) for m in numbers}
    same = {m: (low, high) for m, (low, high) in same.items() if low <= high}
    if not same:
        return np.zeros(runs.shape[1], np.bool_)
    # With several numbers of pairs, take the widest limits of each.
    apart = max(m - low for m, (low, _) in same.items())
    most = max(m + high for m, (_, high) in same.items())
    x_low, _, y_low, _ = _rectangles(runs, *answered, min(same))
    _, x_high, _, y_high = _rectangles(runs, *answered, max(same))
    # The smallest x + y with |x − y| at most `apart`.
    x, y = np.maximum(x_low, y_low - apart), np.maximum(y_low, x_low - apart)
    return np.asarray((x <= x_high) & (y <= y_high) & (x + y <= most))


def _fits(space: PairSpace, runs: Integers, n_a: int, n_b: int) -> bool:
    """Return whether the pairs can have one of these numbers of correct answers."""
    m = space.m
    x_low, x_high, y_low, y_high = _rectangles(runs, n_a, n_b, m)
    allowed = np.r_[0, np.cumsum(space.low <= space.high)]
    # Most runs have no δ = x − y that is allowed at all.
    there = allowed[x_high - y_low + m + 1] > allowed[x_low - y_high + m]
    limits = np.stack([x_low, x_high, y_low, y_high])[:, there]
    for x0, x1, y0, y1 in limits.T.tolist():
        delta = np.arange(x0 - y1, x1 - y0 + 1)
        low = np.maximum(np.maximum(x0, y0 + delta), space.low[delta + m])
        high = np.minimum(np.minimum(x1, y1 + delta), space.high[delta + m])
        if (low <= high).any():
            return True
    return False
