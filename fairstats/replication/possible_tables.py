"""Search all tables of paired answers that give published figures, without missing answers.

A table is (n11, n10, n01, n00 with the same letter, n00 with another), which sum to n. With
δ = n10 − n01 and k = min(n10, n01), the other r = n − 2k − |δ| pairs are concordant. Then
s = n11 + n00 with the same letter is the number of equal answers, and n11 ≤ s ≤ r. For a δ, each
figure allows runs of consecutive counts: accuracies and h of n11 + n10; CFR of s; McNemar's p and
the odds ratio of k. So the tables are counted without visiting each.

With the same δ, more pairs are weaker evidence: p rises with k, and the odds ratio n10 / n01 comes
closer to 1. So bisection gives the ends of the runs of k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference.effect_sizes import arcsine
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.replication.printed_figures import Flags, Integers, Range

Ranges = Mapping[str, Range]
#: A table: n11, n10, n01, n00 with the same letter, n00 with different letters.
Table = tuple[int, int, int, int, int]
#: More values than this are not listed: a value has at most four mirror images.
FEW = 4
#: Far above the error of a sine or an arcsine, also in counts.
SLACK = 1e-6
#: Up to this number of pairs, p is computed once for all discordant counts.
MOST_LISTED = 1000


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

    def add(self, space: PairSpace, delta: int, correct: tuple[int, int]) -> None:
        """Add the tables of one δ with n11 + n10 in a run.

        For each k, these have a run of n11, and every s from n11 to the top of k.
        """
        fewest, most = space.same
        k = np.arange(
            space.runs.first[delta + space.runs.n], space.runs.last[delta + space.runs.n] + 1
        )
        n10 = k + max(delta, 0)
        top = np.minimum(most, space.m - 2 * k - abs(delta))
        low, high = np.maximum(correct[0] - n10, 0), np.minimum(correct[1] - n10, top)
        there = (low <= high) & (fewest <= top)
        n10, top, low, high = n10[there], top[there], low[there], high[there]
        self.n_tables += int(_pairs_in_order(low, high, fewest, top).sum())
        if len(self.correct) <= FEW:
            self.correct |= {(c, c - delta) for c in _first(low + n10, high + n10)}
        if len(self.discordant) <= FEW:
            self.discordant |= {(d, d - delta) for d in _first(n10, n10)}
        if len(self.same) <= FEW:
            self.same |= set(_first(np.maximum(low, fewest), top))
        if self.n_tables <= FEW:
            self.tables |= {
                (n11, d, d - delta, same - n11, space.m - 2 * d + delta - same)
                for d, a, b, t in np.stack([n10, low, high, top]).T.tolist()
                for n11 in range(a, b + 1)
                for same in range(max(n11, fewest), t + 1)
            }


def _first(low: Integers, high: Integers) -> list[int]:
    """Return the values in any of these intervals, or more than four of them."""
    values = low[:, None] + np.arange(FEW + 1)
    return [int(value) for value in np.unique(values[values <= high[:, None]])[: FEW + 1]]


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


def search(ranges: Ranges, n: int, test: McNemarMethod) -> Search:
    """Find every table of n pairs with all figures in their ranges."""
    result = Search()
    space = pair_space(ranges, n, runs_of(ranges, n, test))
    for delta, correct in _correct_runs(ranges, space):
        result.add(space, delta, correct)
    return result


def is_possible(ranges: Ranges, n: int, test: McNemarMethod) -> bool:
    """Return whether a table of n pairs has all figures in their ranges."""
    space = pair_space(ranges, n, runs_of(ranges, n, test))
    return any(True for _ in _correct_runs(ranges, space))


def _correct_runs(ranges: Ranges, space: PairSpace) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield each δ that the figures allow, with runs of the number correct of group a."""
    n = space.m
    delta = np.arange(-n, n + 1)
    low, high = np.maximum(delta, 0), np.minimum(n + delta, n)
    if "accuracy_a" in ranges:
        first, last = ranges["accuracy_a"].counts(n)
        low, high = np.maximum(low, first), np.minimum(high, last)
    if "accuracy_b" in ranges:
        first, last = ranges["accuracy_b"].counts(n)
        low, high = np.maximum(low, first + delta), np.minimum(high, last + delta)
    low, high = np.maximum(low, space.low), np.minimum(high, space.high)
    inside = low <= high
    if "ad" in ranges:
        inside &= ranges["ad"].has_share(np.abs(delta), n)
    if "accuracy_difference" in ranges:
        inside &= ranges["accuracy_difference"].has_share(delta, n)
    h = next((name for name in ("cohens_h", "abs_h") if name in ranges), None)
    if h is not None:
        there = np.flatnonzero(inside)
        inside[there] = _may_have_h(h, ranges[h], n, delta[there], low[there], high[there])
    # The smallest δ first, as most published differences are small.
    for place in sorted(np.flatnonzero(inside).tolist(), key=lambda place: abs(place - n)):
        lowest, highest = int(low[place]), int(high[place])
        runs = [(lowest, highest)] if h is None else _h_runs(h, ranges[h], n, place - n)
        for first, last in runs:
            if max(first, lowest) <= min(last, highest):
                yield place - n, (max(first, lowest), min(last, highest))


@lru_cache(maxsize=1 << 14)
def _h_runs(name: str, allowed: Range, n: int, delta: int) -> list[tuple[int, int]]:
    """Return the runs of the number of correct answers of group a that h allows, for one δ."""
    low, high = max(delta, 0), min(n, n + delta)
    correct = np.arange(low, high + 1)
    inside = has_marginals({name: allowed}, correct, n, correct - delta, n)
    ends = np.flatnonzero(np.diff(np.r_[False, inside, False].astype(np.int8)))
    return [(low + first, low + end - 1) for first, end in ends.reshape(-1, 2).tolist()]


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


def has_marginals(
    ranges: Ranges, correct_a: Integers, n_a: int, correct_b: Integers, n_b: int
) -> Flags:
    """Return where numbers of correct answers give accuracies, difference, AD and h in range."""
    inside = np.ones(correct_a.shape, np.bool_)
    difference = correct_a * n_b - correct_b * n_a
    shares = {
        "accuracy_a": (correct_a, n_a),
        "accuracy_b": (correct_b, n_b),
        "ad": (np.abs(difference), n_a * n_b),
        "accuracy_difference": (difference, n_a * n_b),
    }
    for name in shares.keys() & ranges.keys():
        inside &= ranges[name].has_share(*shares[name])
    if "cohens_h" in ranges or "abs_h" in ranges:
        h = arcsine(correct_a / n_a) - arcsine(correct_b / n_b)
        # Equal proportions with different denominators have the same angle but for rounding.
        h = np.where(difference == 0, 0.0, h)
        if "cohens_h" in ranges:
            inside &= ranges["cohens_h"].has(h)
        if "abs_h" in ranges:
            inside &= ranges["abs_h"].has(np.abs(h))
    return inside


@dataclass(frozen=True)
class DiscordantRuns:
    """For each δ from −n to n, the first and last k; there is none if the first is larger."""

    n: int
    first: Integers
    last: Integers


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

    @cached_property
    def allowed(self) -> Integers:
        """Return the δ that are possible, as `cumulative` counts."""
        return cumulative(self.low <= self.high)


def cumulative(flags: Flags) -> Integers:
    """Return how many flags are true before each place, for `any_between`."""
    return np.r_[0, np.cumsum(flags)]


def any_between(counts: Integers, low: Integers, high: Integers) -> Flags:
    """Return whether some δ from `low` to `high` is allowed, given `cumulative` counts."""
    n = len(counts) // 2 - 1
    return np.asarray((low <= high) & (counts[np.maximum(high, low) + n + 1] > counts[low + n]))


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


def runs_of(ranges: Ranges, n: int, test: McNemarMethod) -> DiscordantRuns:
    """Return the discordant counts that p and odds ratio allow, up to n pairs."""
    last = _most(n)
    runs = [(np.zeros_like(last), last)]
    if "p" in ranges:
        runs.append(_p_runs(ranges["p"], n, test))
    if "odds_ratio" in ranges:
        runs.append(_odds_ratio_runs(ranges["odds_ratio"], n))
    firsts, lasts = zip(*runs, strict=True)
    return DiscordantRuns(n, np.max(firsts, axis=0), np.min(lasts, axis=0))


def _most(n: int) -> Integers:
    """Return the highest k of each δ from −n to n."""
    return np.asarray((n - np.abs(np.arange(-n, n + 1))) // 2)


@lru_cache(maxsize=64)
def _p_runs(p: Range, n: int, test: McNemarMethod) -> tuple[Integers, Integers]:
    """Return first and last k of each δ with p in its range."""
    # p depends on |δ| only.
    apart = np.arange(n + 1)
    most = (n - apart) // 2

    def values(k: Integers) -> FloatArray:
        if n > MOST_LISTED:
            return mcnemar(n10=k, n01=k + apart, method=test).p_value
        return p_values(n, test)[k, apart]

    above, below = p.halves()
    either = np.abs(np.arange(-n, n + 1))
    first = _first_with(lambda k: above.has(values(k)), most)
    last = _first_with(lambda k: ~below.has(values(k)), most) - 1
    if test == "asymptotic_cc" and first[0] > last[0]:
        # Statsmodels and mlxtend correct n10 = n01 too; R and `mcnemar` give 1.
        k = np.arange(1, most[0] + 1)
        corrected = k[p.has(scipy.special.chdtrc(1, 1 / (2 * k)))]
        if corrected.size:
            first[0], last[0] = corrected[0], corrected[-1]
    return first[either], last[either]


@lru_cache(maxsize=8)
def p_values(n: int, test: McNemarMethod) -> FloatArray:
    """Return McNemar's p for each k (rows) and |δ| from 0 to n; NaN for more than n pairs."""
    k, apart = np.indices((n // 2 + 1, n + 1))
    there = 2 * k + apart <= n
    values = np.full(there.shape, np.nan)
    values[there] = mcnemar(n10=k[there], n01=(k + apart)[there], method=test).p_value
    return values


@lru_cache(maxsize=64)
def _odds_ratio_runs(odds_ratio: Range, n: int) -> tuple[Integers, Integers]:
    """Return first and last k of each δ with the odds ratio in its range."""
    delta, most = np.arange(-n, n + 1), _most(n)
    above, below = odds_ratio.halves()

    def has(k: Integers, positive: Range, negative: Range) -> Flags:
        ratio = k + np.maximum(delta, 0), k + np.maximum(-delta, 0)
        return np.where(delta > 0, positive.has_share(*ratio), negative.has_share(*ratio))

    # For δ > 0 the ratio falls from infinity towards 1, for δ < 0 it rises from 0.
    entry = _first_with(lambda k: has(k, below, above), most)
    end = _first_with(lambda k: ~has(k, above, below), most) - 1
    # 0/0 is not an odds ratio; for δ = 0 and any other k it is 1.
    one = bool(odds_ratio.has_share(1, 1))
    entry[n], end[n] = 1 if one else most[n] + 1, most[n]
    return entry, end


def _first_with(flag: Callable[[Integers], Flags], most: Integers) -> Integers:
    """Return the first k from 0 to `most` with a flag, which then stays; most + 1 if none has."""
    low, high = np.zeros_like(most), most + 1
    while (open_ := low < high).any():
        middle = (low + high) // 2
        # A closed element may be at most + 1; its flag is not used.
        there = flag(np.minimum(middle, most))
        high = np.where(open_ & there, middle, high)
        low = np.where(open_ & ~there, middle + 1, low)
    return low
