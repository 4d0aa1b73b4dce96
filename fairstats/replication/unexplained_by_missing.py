"""Bounds that show, without visiting any table, that missing answers cannot explain figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.replication.discordant_runs import DiscordantRuns
from fairstats.replication.possible_tables import SLACK, Ranges
from fairstats.replication.printed_figures import Flags, Integers, Range

# With 1,000 answers, a cell has accuracies that are about one answer apart.
_CELLS = 1000


@dataclass(frozen=True)
class Discordant:
    """Limits of the discordant counts, as arrays of one shape.

    Attributes
    ----------
    delta, n10, n01 : (ndarray, ndarray)
        The lowest and highest δ = n10 − n01, n10 and n01.
    """

    delta: tuple[Integers, Integers]
    n10: tuple[Integers, Integers]
    n01: tuple[Integers, Integers]


@dataclass(frozen=True)
class Differences:
    """The differences δ = n10 − n01 that CFR, p and odds ratio allow of n pairs or fewer.

    Attributes
    ----------
    n : int
        The highest number of pairs.
    fewest, most : ndarray, shape (2n + 1,)
        For each δ from −n to n, the lowest and highest k = min(n10, n01); n + 1 and −n − 1 if there
        is none.
    """

    n: int
    fewest: Integers
    most: Integers

    @cached_property
    def _runs(self) -> tuple[Integers, ...]:
        """Return the lowest n10 and n01 and the lowest −n10 and −n01 of runs of δ."""
        delta = np.arange(-self.n, self.n + 1)
        sizes = np.maximum(delta, 0), np.maximum(-delta, 0)
        lowest = [self.fewest + size for size in sizes]
        return tuple(map(_lowest_of_runs, (*lowest, *(-self.most - size for size in sizes))))

    def __bool__(self) -> bool:
        """Return whether any δ is allowed."""
        return bool((self.fewest <= self.n).any())

    def allow(self, limits: Discordant) -> Flags:
        """Return where some δ may have discordant counts within the limits."""
        low, high = limits.delta
        # On one side of 0, one δ has both the lowest n10 and the lowest n01.
        above = self._allow(np.maximum(low, 0), high, limits)
        return above | self._allow(low, np.minimum(high, 0), limits)

    def _allow(self, low: Integers, high: Integers, limits: Discordant) -> Flags:
        power = np.frexp(np.maximum(high - low + 1, 1))[1] - 1
        first, second = low + self.n, np.maximum(high, low) + self.n + 1 - 2**power
        least = [np.minimum(runs[power, first], runs[power, second]) for runs in self._runs]
        inside = low <= high
        for lowest, negative, (bottom, top) in zip(
            least[:2], least[2:], (limits.n10, limits.n01), strict=True
        ):
            inside &= (lowest <= top) & (-negative >= bottom)
        return np.asarray(inside)


def _lowest_of_runs(values: Integers) -> Integers:
    """Return the lowest of the 2^i values from each place on, for each i; fewer at the end.

    Examples
    --------
    >>> _lowest_of_runs(np.array([3, 1, 2]))
    array([[3, 1, 2],
           [1, 1, 2]])
    """
    rows = [values]
    while 2 ** len(rows) <= len(values):
        row = rows[-1].copy()
        step = 2 ** (len(rows) - 1)
        row[:-step] = np.minimum(row[:-step], row[step:])
        rows.append(row)
    return np.stack(rows)


def differences(ranges: Ranges, n: int, versions: Sequence[DiscordantRuns]) -> Differences:
    """Return the δ that some version of the test allows."""
    lowest = ranges["cfr"].low if "cfr" in ranges else None
    # At most n (1 − CFR) pairs have different answers; fewer pairs allow no others.
    different = n if lowest is None else math.floor(n * (1 - lowest))
    most = (different - np.abs(np.arange(-n, n + 1))) // 2
    first = np.stack([runs.first for runs in versions])
    last = np.minimum([runs.last for runs in versions], most)
    there = first <= last
    return Differences(
        n,
        np.where(there, first, n + 1).min(axis=0),
        np.where(there, last, -n - 1).max(axis=0),
    )


@dataclass(frozen=True)
class Accuracies:
    """Cells that cover all accuracies of the two groups with some figures in their ranges.

    Attributes
    ----------
    low_a, high_a, low_b, high_b : ndarray
        The limits of each cell.
    most_equal : float
        The highest CFR.
    """

    low_a: FloatArray
    high_a: FloatArray
    low_b: FloatArray
    high_b: FloatArray
    most_equal: float

    def reach(self, allowed: Differences, missing: int) -> bool:
        """Return whether so many missing answers, of both groups together, may explain figures."""
        n, equal = allowed.n, self.most_equal
        # If A answers of group a and B of group b are missing, at most B answers of group a have no
        # partner, and at most A of group b. Their accuracies are of n − A and n − B answers.
        low = n * (self.low_a - self.high_b) - missing * np.maximum(self.low_a, 1 - self.high_b)
        high = n * (self.high_a - self.low_b) + missing * np.maximum(1 - self.high_a, self.low_b)
        wrong = n * (2 - self.low_a - self.low_b)
        there = (n - missing) * (1 - equal) <= wrong + SLACK
        # n10 pairs are right in group a and wrong in group b, and the other right ones are equal.
        n10 = n * np.minimum(self.high_a, 1 - self.low_b)
        n01 = n * np.minimum(self.high_b, 1 - self.low_a)
        least_n10 = n * (self.low_a - equal) - missing * (1 - equal)
        least_n01 = n * (self.low_b - equal) - missing * (1 - equal)
        limits = discordant(
            (_up(low, n), _down(high, n)),
            (_up(least_n10, n), _down(n10, n)),
            (_up(least_n01, n), _down(n01, n)),
        )
        return bool((there & allowed.allow(limits)).any())


def discordant(
    delta: tuple[Integers, Integers], n10: tuple[Integers, Integers], n01: tuple[Integers, Integers]
) -> Discordant:
    """Return limits of the discordant counts, with those of δ that follow from n10 and n01."""
    low = np.maximum(delta[0], n10[0] - n01[1])
    return Discordant((low, np.minimum(delta[1], n10[1] - n01[0])), n10, n01)


def _up(limit: FloatArray, n: int) -> Integers:
    return np.clip(np.ceil(limit - SLACK), -n, n).astype(np.int64)


def _down(limit: FloatArray, n: int) -> Integers:
    return np.clip(np.floor(limit + SLACK), -n, n).astype(np.int64)


def accuracies(ranges: Ranges) -> Accuracies:
    """Return the accuracies that give accuracies, difference, AD and h in their ranges."""
    low, high = _limits(ranges.get("accuracy_a"))
    edges = np.linspace(low, high, _CELLS + 1)
    cells = [np.empty((4, 0))]
    for sign in signs(ranges):
        smallest, largest = _difference(ranges, ("ad", "accuracy_difference"), sign)
        if smallest > largest + SLACK / 1000:
            continue
        least, most = partners(ranges, edges, sign)
        there = least[:-1] <= most[1:] + SLACK / 1000
        cells.append(np.stack([edges[:-1], edges[1:], least[:-1], most[1:]])[:, there])
    _, most_equal = _limits(ranges.get("cfr"))
    low_a, high_a, low_b, high_b = np.concatenate(cells, axis=1)
    return Accuracies(low_a, high_a, low_b, high_b, most_equal)


def signs(ranges: Ranges) -> tuple[int, ...]:
    """Return the signs that unsigned figures may have had."""
    return (1, -1) if {"ad", "abs_h"} & set(ranges) else (1,)


def partners(ranges: Ranges, a: FloatArray, sign: int) -> tuple[FloatArray, FloatArray]:
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
