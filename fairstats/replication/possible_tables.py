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

from fairstats._lib.result_objects import FloatArray
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.replication.printed_figures import Flags, Integers, Range

Ranges = Mapping[str, Range]
#: A table: n11, n10, n01, n00 with the same letter, n00 with different letters.
Table = tuple[int, int, int, int, int]
#: More values than this are not listed: a value has at most four mirror images.
FEW = 4


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
    for found in tables_of(ranges, n, test):
        result.add(found)
    return result


def is_possible(ranges: Ranges, n: int, test: McNemarMethod) -> bool:
    """Return whether a table of n pairs has all figures in their ranges."""
    return any(True for _ in tables_of(ranges, n, test))


def tables_of(ranges: Ranges, n: int, test: McNemarMethod) -> Iterator[Lines]:
    """Yield the tables of n pairs with all figures in their ranges."""
    same = ranges["cfr"].counts(n) if "cfr" in ranges else (0, n)
    if same[0] > same[1]:
        return
    for delta in _deltas(ranges, n):
        for low, high in _correct_runs(ranges, n, delta):
            found = lines(ranges, n, test, delta, (low, high), same)
            if found is not None:
                yield found


def lines(
    ranges: Ranges,
    n: int,
    test: McNemarMethod,
    delta: int,
    correct: tuple[int, int],
    same: tuple[int, int],
) -> Lines | None:
    """Return the tables of one δ with n11 + n10 and s in these runs; None if there are none."""
    k = np.arange((n - abs(delta)) // 2 + 1)
    if "p" in ranges or "odds_ratio" in ranges:
        k = k[_discordant_allowed(ranges, n, test, delta)]
    rest = n - 2 * k - abs(delta)
    n10 = k + max(delta, 0)
    top = np.minimum(same[1], rest)
    low = np.maximum(correct[0] - n10, 0)
    high = np.minimum(correct[1] - n10, top)
    tables = np.where((low <= high) & (same[0] <= top), _pairs_in_order(low, high, same[0], top), 0)
    there = tables > 0
    if not there.any():
        return None
    return Lines(n, delta, same, k[there], low[there], high[there], tables[there])


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
        h = _angle(correct_a, n_a) - _angle(correct_b, n_b)
        # Equal proportions with different denominators have the same angle but for rounding.
        h = np.where(difference == 0, 0.0, h)
        if "cohens_h" in ranges:
            inside &= ranges["cohens_h"].has(h)
        if "abs_h" in ranges:
            inside &= ranges["abs_h"].has(np.abs(h))
    return inside


@lru_cache(maxsize=1024)
def p_values(test: McNemarMethod, delta: int, n: int) -> FloatArray:
    """Return McNemar's p for k = 0, 1, … and k + δ discordant pairs, up to n in all."""
    k = np.arange((n - delta) // 2 + 1)
    return mcnemar(k, k + delta, method=test).p_value


def _angle(correct: Integers, n: int) -> FloatArray:
    return np.asarray(2 * np.arcsin(np.sqrt(correct / n)))


def _deltas(ranges: Ranges, n: int) -> Iterator[int]:
    """Yield the differences n10 − n01 that AD, the difference and the accuracies allow."""
    delta = np.arange(-n, n + 1)
    inside = np.ones(delta.shape, np.bool_)
    if "ad" in ranges:
        inside &= ranges["ad"].has_share(np.abs(delta), n)
    if "accuracy_difference" in ranges:
        inside &= ranges["accuracy_difference"].has_share(delta, n)
    if "accuracy_a" in ranges and "accuracy_b" in ranges:
        (low_a, high_a), (low_b, high_b) = (ranges[f"accuracy_{s}"].counts(n) for s in "ab")
        inside &= (delta >= low_a - high_b) & (delta <= high_a - low_b)
    # The smallest first, as most published differences are small.
    return iter(sorted(map(int, delta[inside]), key=abs))


def _correct_runs(ranges: Ranges, n: int, delta: int) -> Iterator[tuple[int, int]]:
    """Yield runs of the number of correct answers of group a, for one δ."""
    low, high = max(delta, 0), min(n + delta, n)
    for name, shift in (("accuracy_a", 0), ("accuracy_b", delta)):
        if name in ranges:
            first, last = ranges[name].counts(n)
            low, high = max(low, first + shift), min(high, last + shift)
    if low > high:
        return
    if "cohens_h" not in ranges and "abs_h" not in ranges:
        yield low, high
        return
    correct = np.arange(low, high + 1)
    for first, last in _runs(has_marginals(ranges, correct, n, correct - delta, n)):
        yield low + first, low + last


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


def _discordant_allowed(ranges: Ranges, n: int, test: McNemarMethod, delta: int) -> Flags:
    """Return for k = 0, 1, … whether p and odds ratio are in their ranges."""
    inside = np.ones((n - abs(delta)) // 2 + 1, np.bool_)
    if "p" in ranges:
        inside &= ranges["p"].has(p_values(test, abs(delta), n))
    if "odds_ratio" in ranges:
        k = np.arange(len(inside))
        n10, n01 = k + max(delta, 0), k + max(-delta, 0)
        # 0/0 is not an odds ratio; 3/0 is infinite, above every bound.
        inside &= ranges["odds_ratio"].has_share(n10, n01) & (n10 + n01 > 0)
    return inside


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
