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


@dataclass(frozen=True)
class DiscordantRuns:
    """For each δ from −n to n, the first and last k; there is none if the first is larger."""

    n: int
    first: Integers
    last: Integers

    def of(self, delta: int) -> Integers:
        """Return every k for one δ."""
        return np.arange(self.first[delta + self.n], self.last[delta + self.n] + 1)


@lru_cache(maxsize=64)
def discordant_runs(
    p: Range | None, odds_ratio: Range | None, n: int, test: McNemarMethod
) -> DiscordantRuns:
    """Return the runs of k with p and odds ratio in their ranges, up to n discordant pairs."""
    delta = np.arange(-n, n + 1)
    most = (n - np.abs(delta)) // 2
    first, last = np.zeros_like(most), most.copy()
    if p is not None:

        def above(k: Integers) -> Flags:
            return Range(p.low, None, p.low_in).has(_p(k, delta, test))

        def beyond(k: Integers) -> Flags:
            return ~Range(None, p.high, high_in=p.high_in).has(_p(k, delta, test))

        first, last = _first(above, most), _first(beyond, most) - 1
    if odds_ratio is not None:
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
        first, last = np.maximum(first, entry), np.minimum(last, end)
    return DiscordantRuns(n, first, last)


def _p(k: Integers, delta: Integers, test: McNemarMethod) -> FloatArray:
    return mcnemar(k, k + np.abs(delta), method=test).p_value


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
