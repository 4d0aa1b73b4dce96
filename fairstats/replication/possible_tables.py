"""Search all tables of paired answers that give published figures, without missing answers.

A table is (n11, n10, n01, n00 with the same letter, n00 with another), which sum to n. With
δ = n10 − n01 and k = min(n10, n01), the other r = n − 2k − |δ| pairs are concordant. Then
s = n11 + n00 with the same letter is the number of equal answers, and n11 ≤ s ≤ r. For a δ, each
figure allows runs of consecutive counts: accuracies and h of n11 + n10; CFR of s; McNemar's p and
the odds ratio of k. So the tables are counted without visiting each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from fairstats.inference.effect_sizes import arcsine
from fairstats.inference.mcnemar import McNemarMethod
from fairstats.replication.discordant_runs import DiscordantRuns, discordant_runs
from fairstats.replication.printed_figures import Flags, Integers, Range

Ranges = Mapping[str, Range]
#: A table: n11, n10, n01, n00 with the same letter, n00 with different letters.
Table = tuple[int, int, int, int, int]
#: More values than this are not listed: a value has at most four mirror images.
FEW = 4
#: Far above the error of a sine or an arcsine, also in counts.
SLACK = 1e-6


@dataclass(frozen=True)
class Lines:
    """Tables of one δ: for each k, a run of n11, and all s from n11 (or `same`[0]) to `top`."""

    n: int
    delta: int
    same: tuple[int, int]
    k: Integers
    n11_low: Integers
    n11_high: Integers
    tables: Integers

    @property
    def top(self) -> Integers:
        """Return the highest s of each k."""
        return np.minimum(self.same[1], self.n - 2 * self.k - abs(self.delta))

    def listed(self) -> Iterator[Table]:
        """Yield each table."""
        for k, low, high, top in zip(self.k, self.n11_low, self.n11_high, self.top, strict=True):
            n10, n01 = int(k) + max(self.delta, 0), int(k) + max(-self.delta, 0)
            for n11 in range(low, high + 1):
                for same in range(max(n11, self.same[0]), top + 1):
                    yield n11, n10, n01, same - n11, self.n - n10 - n01 - same


@dataclass
class Search:
    """What the tables have in common; each set is complete up to four elements.

    Attributes
    ----------
    n_tables : int
        The number of tables.
    correct : set of (int, int)
        Numbers of correct answers of groups a and b.
    discordant : set of (int, int)
        n10 and n01.
    same : set of int
        Numbers of equal answers.
    tables : set of Table
        The tables, if there are at most four.
    """

    n_tables: int = 0
    correct: set[tuple[int, int]] = field(default_factory=set)
    discordant: set[tuple[int, int]] = field(default_factory=set)
    same: set[int] = field(default_factory=set)
    tables: set[Table] = field(default_factory=set)

    def add(self, found: Lines) -> None:
        """Add the tables of some lines."""
        self.n_tables += int(found.tables.sum())
        delta, n10 = found.delta, found.k + max(found.delta, 0)
        if len(self.correct) <= FEW:
            correct = _first(found.n11_low + n10, found.n11_high + n10)
            self.correct |= {(c, c - delta) for c in correct}
        if len(self.discordant) <= FEW:
            self.discordant |= {(d, d - delta) for d in _first(n10, n10)}
        if len(self.same) <= FEW:
            self.same |= set(_first(np.maximum(found.n11_low, found.same[0]), found.top))
        if self.n_tables <= FEW:
            self.tables |= set(found.listed())


def _first(low: Integers, high: Integers) -> list[int]:
    """Return the values in any of these intervals, or more than four of them."""
    values = low[:, None] + np.arange(FEW + 1)
    return [int(value) for value in np.unique(values[values <= high[:, None]])[: FEW + 1]]


def search(ranges: Ranges, n: int, test: McNemarMethod) -> Search:
    """Find every table of n pairs with all figures in their ranges."""
    result = Search()
    space = pair_space(ranges, n, runs_of(ranges, n, test))
    for delta in _deltas(ranges, space):
        for low, high in _correct_runs(ranges, space, delta):
            result.add(_lines(space, delta, (low, high)))
    return result


def is_possible(ranges: Ranges, n: int, test: McNemarMethod) -> bool:
    """Return whether a table of n pairs has all figures in their ranges."""
    space = pair_space(ranges, n, runs_of(ranges, n, test))
    deltas = _deltas(ranges, space)
    return any(True for delta in deltas for _ in _correct_runs(ranges, space, delta))


def runs_of(ranges: Ranges, n: int, test: McNemarMethod) -> DiscordantRuns:
    """Return the discordant counts that p and odds ratio allow."""
    return discordant_runs(ranges.get("p"), ranges.get("odds_ratio"), n, test)


@dataclass(frozen=True)
class PairSpace:
    """What CFR, p and odds ratio allow of m pairs.

    Attributes
    ----------
    m : int
        The number of pairs.
    same : (int, int)
        The lowest and highest number of equal answers.
    runs : DiscordantRuns
        The discordant counts.
    low, high : ndarray, shape (2m + 1,)
        For each δ from −m to m, the lowest and highest number of correct answers of group a; all
        between are possible. There is none if the lowest is larger.
    """

    m: int
    same: tuple[int, int]
    runs: DiscordantRuns
    low: Integers
    high: Integers


def pair_space(ranges: Ranges, m: int, runs: DiscordantRuns) -> PairSpace:
    """Return what CFR, p and odds ratio allow of m pairs; `runs` may be of more pairs."""
    same = ranges["cfr"].counts(m) if "cfr" in ranges else (0, m)
    delta = np.arange(-m, m + 1)
    apart = np.abs(delta)
    first = runs.first[delta + runs.n]
    last = np.minimum(runs.last[delta + runs.n], (m - apart - same[0]) // 2)
    # A k allows n11 from 0 to min(same[1], m − 2k − |δ|), and so a run of correct answers from
    # n10 = k + max(δ, 0). The runs of k and k + 1 touch. The highest end is where both terms meet.
    ends = []
    for step in (0, 1):
        k = np.clip((m - apart - same[1]) // 2 + step, first, np.maximum(first, last))
        ends.append(k + np.minimum(same[1], m - 2 * k - apart))
    n10 = np.maximum(delta, 0)
    empty = (first > last) | (same[0] > same[1])
    low, high = n10 + first, n10 + np.maximum(*ends)
    return PairSpace(m, same, runs, low, np.where(empty, low - 1, high))


def _lines(space: PairSpace, delta: int, correct: tuple[int, int]) -> Lines:
    """Return the tables of one δ with n11 + n10 in a run."""
    k = space.runs.of(delta)
    rest = space.m - 2 * k - abs(delta)
    n10 = k + max(delta, 0)
    top = np.minimum(space.same[1], rest)
    low = np.maximum(correct[0] - n10, 0)
    high = np.minimum(correct[1] - n10, top)
    ordered = (low <= high) & (space.same[0] <= top)
    tables = np.where(ordered, _pairs_in_order(low, high, space.same[0], top), 0)
    there = tables > 0
    return Lines(space.m, delta, space.same, k[there], low[there], high[there], tables[there])


def has_marginals(
    ranges: Ranges, correct_a: Integers, n_a: int, correct_b: Integers, n_b: int
) -> Flags:
    """Return where numbers of correct answers give accuracies, difference, AD and h in range."""
    inside = np.ones(correct_a.shape, np.bool_)
    if "accuracy_a" in ranges:
        inside &= ranges["accuracy_a"].has_share(correct_a, n_a)
    if "accuracy_b" in ranges:
        inside &= ranges["accuracy_b"].has_share(correct_b, n_b)
    difference = correct_a * n_b - correct_b * n_a
    if "ad" in ranges:
        inside &= ranges["ad"].has_share(np.abs(difference), n_a * n_b)
    if "accuracy_difference" in ranges:
        inside &= ranges["accuracy_difference"].has_share(difference, n_a * n_b)
    if "cohens_h" in ranges or "abs_h" in ranges:
        h = arcsine(correct_a / n_a) - arcsine(correct_b / n_b)
        # Equal proportions with different denominators have the same angle but for rounding.
        h = np.where(difference == 0, 0.0, h)
        if "cohens_h" in ranges:
            inside &= ranges["cohens_h"].has(h)
        if "abs_h" in ranges:
            inside &= ranges["abs_h"].has(np.abs(h))
    return inside


def _deltas(ranges: Ranges, space: PairSpace) -> Iterator[int]:
    """Yield the differences n10 − n01 that the figures allow."""
    n = space.m
    delta = np.arange(-n, n + 1)
    low, high = _correct_limits(ranges, n, delta)
    low, high = np.maximum(low, space.low), np.minimum(high, space.high)
    inside = low <= high
    if "ad" in ranges:
        inside &= ranges["ad"].has_share(np.abs(delta), n)
    if "accuracy_difference" in ranges:
        inside &= ranges["accuracy_difference"].has_share(delta, n)
    for name in {"cohens_h", "abs_h"} & set(ranges):
        there = np.flatnonzero(inside)
        inside[there] = _may_have_h(name, ranges[name], n, delta[there], low[there], high[there])
    # The smallest first, as most published differences are small.
    return iter(sorted(map(int, delta[inside]), key=abs))


def _correct_limits(ranges: Ranges, n: int, delta: Integers) -> tuple[Integers, Integers]:
    """Return, for each δ, the lowest and highest number correct that the accuracies allow."""
    low, high = np.maximum(delta, 0), np.minimum(n + delta, n)
    if "accuracy_a" in ranges:
        first, last = ranges["accuracy_a"].counts(n)
        low, high = np.maximum(low, first), np.minimum(high, last)
    if "accuracy_b" in ranges:
        first, last = ranges["accuracy_b"].counts(n)
        low, high = np.maximum(low, first + delta), np.minimum(high, last + delta)
    return low, high


def _correct_runs(ranges: Ranges, space: PairSpace, delta: int) -> Iterator[tuple[int, int]]:
    """Yield runs of the number of correct answers of group a, for one δ."""
    ends = _correct_limits(ranges, space.m, np.asarray([delta]))
    low = max(int(ends[0][0]), int(space.low[delta + space.m]))
    high = min(int(ends[1][0]), int(space.high[delta + space.m]))
    named = next((name for name in ("cohens_h", "abs_h") if name in ranges), None)
    runs = [(low, high)] if named is None else _h_runs(named, ranges[named], space.m, delta)
    for first, last in runs:
        if max(first, low) <= min(last, high):
            yield max(first, low), min(last, high)


@lru_cache(maxsize=1 << 14)
def _h_runs(name: str, allowed: Range, n: int, delta: int) -> list[tuple[int, int]]:
    """Return the runs of the number of correct answers of group a that h allows, for one δ."""
    low, high = max(delta, 0), min(n, n + delta)
    correct = np.arange(low, high + 1)
    inside = has_marginals({name: allowed}, correct, n, correct - delta, n)
    return [(low + first, low + last) for first, last in _runs(inside)]


def _may_have_h(
    name: str, allowed: Range, n: int, delta: Integers, low: Integers, high: Integers
) -> Flags:
    """Return where h may be in its range, for numbers correct of group a from low to high.

    For one δ, the size of h falls until half of all answers are correct, and rises from there. So
    its limits are at the ends and in the middle.
    """
    half = (n + delta) // 2
    correct = np.stack([low, high, np.clip(half, low, high), np.clip(half + 1, low, high)])
    h = arcsine(correct / n) - arcsine((correct - delta) / n)
    if name == "abs_h":
        h = np.abs(h)
    least = -np.inf if allowed.low is None else float(allowed.low)
    most = np.inf if allowed.high is None else float(allowed.high)
    return np.asarray((h.max(axis=0) >= least - SLACK) & (h.min(axis=0) <= most + SLACK))


def _runs(flags: Flags) -> Iterator[tuple[int, int]]:
    """Yield first and last place of each run of true flags.

    Examples
    --------
    >>> list(_runs(np.array([True, True, False, True])))
    [(0, 1), (3, 3)]
    """
    steps = np.flatnonzero(np.diff(np.r_[False, flags, False].astype(np.int8)))
    for first, end in steps.reshape(-1, 2):
        yield int(first), int(end) - 1


def _pairs_in_order(low: Integers, high: Integers, bottom: int, top: Integers) -> Integers:
    """Count the pairs x ≤ y of whole numbers with x from low to high and y from bottom to top."""
    # Σ over y of max(0, y − low + 1), minus the x above high.
    return np.asarray(
        _triangle(top - low + 1)
        - _triangle(bottom - low)
        - _triangle(top - high)
        + _triangle(bottom - 1 - high)
    )


def _triangle(k: Integers) -> Integers:
    k = np.maximum(k, 0)
    return k * (k + 1) // 2
