"""Search for missing answers with which published figures are possible.

The policy is ``available``: CFR, McNemar's p and the odds ratio are of the m pairs with both
answers; accuracies, AD and h are of each group's answers. Of the n_a answers of group a, n_a − m
have no partner, and any number of these may be correct.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairstats.inference.mcnemar import McNemarMethod
from fairstats.replication.possible_tables import Ranges, has_marginals, is_possible, lines
from fairstats.replication.printed_figures import Integers, Range

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
    for missing in range(1, 2 * most + 1):
        lowest = max(0, missing - most)
        split = [(n - a, n - missing + a) for a in range(lowest, missing - lowest + 1)]
        fits = [(*answers, m) for answers in split if (m := _pairs(alternatives, *answers, n))]
        if fits:
            return fits
    return []


def _pairs(alternatives: Alternatives, n_a: int, n_b: int, n: int) -> int:
    """Return the highest number of pairs with which figures are possible; 0 if there is none."""
    lowest = max(n_a + n_b - n, 1)
    best = 0
    for ranges, test in alternatives:
        if not _MARGINAL & set(ranges):
            # More pairs were possible with fewer missing answers.
            if is_possible(ranges, lowest, test):
                best = max(best, lowest)
            continue
        correct = _correct(ranges, n_a, n_b)
        if not len(correct[0]):
            continue
        for m in range(min(n_a, n_b), max(lowest, best + 1) - 1, -1):
            if _fits(ranges, test, correct, (n_a, n_b, m)):
                best = m
                break
    return best


def _correct(ranges: Ranges, n_a: int, n_b: int) -> tuple[Integers, Integers]:
    """Return all numbers of correct answers that give accuracies, difference, AD and h in range."""
    low, high = ranges["accuracy_a"].counts(n_a) if "accuracy_a" in ranges else (0, n_a)
    first, last = ranges["accuracy_b"].counts(n_b) if "accuracy_b" in ranges else (0, n_b)
    correct_a = np.arange(low, high + 1)
    found = [
        _with_partners(ranges, correct_a, n_a, n_b, (first, last), sign)
        for sign in ((1, -1) if {"ad", "abs_h"} & set(ranges) else (1,))
    ]
    both = np.unique(np.concatenate(found, axis=1), axis=1)
    inside = has_marginals(ranges, both[0], n_a, both[1], n_b)
    return both[0][inside], both[1][inside]


def _with_partners(
    ranges: Ranges, a: Integers, n_a: int, n_b: int, limits: tuple[int, int], sign: int
) -> Integers:
    """Return candidates for the numbers of correct answers, shape (2, …), of one direction.

    For each number of group a, the figures limit that of group b to a run.
    """
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
    number = np.maximum(np.floor(high + _SLACK).astype(np.int64) - first + 1, 0)
    place = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    return np.stack([np.repeat(a, number), np.repeat(first, number) + place])


def _difference(allowed: Range, sign: int) -> tuple[float, float]:
    """Return the lowest and highest difference; `sign` is that of an unsigned figure's, or 0."""
    least = -math.inf if allowed.low is None else float(allowed.low)
    most = math.inf if allowed.high is None else float(allowed.high)
    if sign == 0:
        return least, most
    least = max(least, 0.0)
    return (least, most) if sign > 0 else (-most, -least)


def _fits(
    ranges: Ranges,
    test: McNemarMethod,
    correct: tuple[Integers, Integers],
    answered: Answered,
) -> bool:
    """Return whether m pairs give CFR, p and odds ratio with one of these numbers correct."""
    n_a, n_b, m = answered
    same = ranges["cfr"].counts(m) if "cfr" in ranges else (0, m)
    if same[0] > same[1]:
        return False
    # In the pairs, x answers of group a and y of group b are correct.
    x_low, x_high = np.maximum(correct[0] - (n_a - m), 0), np.minimum(correct[0], m)
    y_low, y_high = np.maximum(correct[1] - (n_b - m), 0), np.minimum(correct[1], m)
    # Tables with x, y and s equal answers exist if x + y − m ≤ s ≤ m − |x − y|. Take the smallest
    # x + y with |x − y| at most m − s.
    apart = m - same[0]
    x, y = np.maximum(x_low, y_low - apart), np.maximum(y_low, x_low - apart)
    there = (x <= x_high) & (y <= y_high) & (x + y - m <= same[1])
    if not {"p", "odds_ratio"} & set(ranges):
        return bool(there.any())
    limits = (limit[there].tolist() for limit in (x_low, x_high, y_low, y_high))
    return any(
        lines(ranges, m, test, delta, (max(x0, y0 + delta), min(x1, y1 + delta)), same) is not None
        for x0, x1, y0, y1 in zip(*limits, strict=True)
        for delta in range(x0 - y1, x1 - y0 + 1)
    )
