"""The discordant counts that McNemar's p and the odds ratio allow.

For δ = n10 − n01 and k = min(n10, n01), p rises with k: with the same δ, more pairs are weaker
evidence. The odds ratio n10 / n01 comes closer to 1. So for each δ, a figure allows one run of k.
Bisection gives its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.replication.printed_figures import Flags, Integers, Range

#: Up to this number of pairs, p is computed once for all discordant counts.
MOST_LISTED = 1000


@dataclass(frozen=True)
class DiscordantRuns:
    """For each δ from −n to n, the first and last k; there is none if the first is larger."""

    n: int
    first: Integers
    last: Integers

    def of(self, delta: int) -> Integers:
        """Return every k for one δ."""
        return np.arange(self.first[delta + self.n], self.last[delta + self.n] + 1)


def discordant_runs(
    p: Range | None, odds_ratio: Range | None, n: int, test: McNemarMethod
) -> DiscordantRuns:
    """Return the runs of k with p and odds ratio in their ranges, up to n discordant pairs."""
    last = _most(n)
    runs = [(np.zeros_like(last), last)]
    if p is not None:
        runs.append(_p_runs(p, n, test))
    if odds_ratio is not None:
        runs.append(_odds_ratio_runs(odds_ratio, n))
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

    def above(k: Integers) -> Flags:
        return Range(p.low, None, p.low_in).has(_p(k, apart, n, test))

    def beyond(k: Integers) -> Flags:
        return ~Range(None, p.high, high_in=p.high_in).has(_p(k, apart, n, test))

    either = np.abs(np.arange(-n, n + 1))
    return _first(above, most)[either], _first(beyond, most)[either] - 1


@lru_cache(maxsize=64)
def _odds_ratio_runs(odds_ratio: Range, n: int) -> tuple[Integers, Integers]:
    """Return first and last k of each δ with the odds ratio in its range."""
    delta, most = np.arange(-n, n + 1), _most(n)
    low = Range(odds_ratio.low, None, odds_ratio.low_in)
    high = Range(None, odds_ratio.high, high_in=odds_ratio.high_in)

    def entered(k: Integers) -> Flags:
        ratio = k + np.maximum(delta, 0), k + np.maximum(-delta, 0)
        # For δ > 0 the ratio falls from infinity towards 1, for δ < 0 it rises from 0.
        return np.where(delta > 0, high.has_share(*ratio), low.has_share(*ratio))

    def left(k: Integers) -> Flags:
        ratio = k + np.maximum(delta, 0), k + np.maximum(-delta, 0)
        return ~np.where(delta > 0, low.has_share(*ratio), high.has_share(*ratio))

    # 0/0 is not an odds ratio; for δ = 0 and any other k it is 1.
    start = np.where(delta == 0, 1, 0)
    one = bool(odds_ratio.has_share(1, 1))
    entry = np.where(delta == 0, start if one else most + 1, _first(entered, most))
    end = np.where(delta == 0, most, _first(left, most) - 1)
    return entry, end


def _p(k: Integers, apart: Integers, n: int, test: McNemarMethod) -> FloatArray:
    if n > MOST_LISTED:
        return mcnemar(n10=k, n01=k + apart, method=test).p_value
    return p_values(n, test)[k, apart]


@lru_cache(maxsize=8)
def p_values(n: int, test: McNemarMethod) -> FloatArray:
    """Return McNemar's p for each k (rows) and |δ| from 0 to n; NaN for more than n pairs."""
    k, apart = np.indices((n // 2 + 1, n + 1))
    there = 2 * k + apart <= n
    values = np.full(there.shape, np.nan)
    values[there] = mcnemar(n10=k[there], n01=(k + apart)[there], method=test).p_value
    return values


def _first(flag: Callable[[Integers], Flags], most: Integers) -> Integers:
    """Return the first k from 0 to `most` with a flag, which then stays; most + 1 if none has."""
    low, high = np.zeros_like(most), most + 1
    while (open_ := low < high).any():
        middle = (low + high) // 2
        # A closed element may be at most + 1; its flag is not used.
        there = flag(np.minimum(middle, most))
        high = np.where(open_ & there, middle, high)
        low = np.where(open_ & ~there, middle + 1, low)
    return low
