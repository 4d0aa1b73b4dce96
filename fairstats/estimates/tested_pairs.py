"""Difference, test and bounds of every pair of one benchmark: of shares, and of means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.outcomes import Once, Outcomes
from fairstats.counts.patterns import INCOMPLETE, PATTERNS, CountingPolicy, IntArray
from fairstats.counts.unit_sums import UnitSums, mean_gap, unit_sums
from fairstats.estimates.mixed_completions import MIXED, ClusteredPair
from fairstats.inference.clustered_answers import flip_test, sign_flip_test
from fairstats.inference.intervals import tango_limits
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.inference.verdict import with_room
from fairstats.metrics.accuracy import accuracy_difference
from fairstats.metrics.mcnemar import FLIPPING, Flippable, mcnemar_bounds, mcnemar_of
from fairstats.metrics.mean_difference import difference_of_means, mean_differences
from fairstats.metrics.metric import (
    Numbers,
    PairMetric,
    Pairs,
    Range,
    design_effect_of,
    in_clusters,
    roomy,
    sizes_of,
)
from fairstats.metrics.registry import PAIR_METRICS
from fairstats.metrics.sign_flip import flip_tests_of

BoolArray = npt.NDArray[np.bool_]
#: If metrics share an influence, its design effect is computed once.
_INFLUENCES: dict[Any, PairMetric] = {m.influence: m for m in PAIR_METRICS if m.influence}


@dataclass(frozen=True)
class Completions:
    """Each pair's difference and interval over all completions of its missing answers.

    Items of the benchmark that were not asked count as missing, so a model cannot benefit from
    being asked only selected items.

    Attributes
    ----------
    lowest, highest : ndarray, shape (pairs,)
        The difference.
    ends : ndarray, shape (pairs, 2, completions)
        The low and high limits of the 1 − 2 alpha intervals of the completions that are compared:
        the extreme ones, and with clusters mixed ones. NaN if no answer is missing.
    is_open : ndarray of bool
        Whether any answer is missing.
    unasked, items : ndarray of int
        See `Outcomes.unasked`.

    References
    ----------
    Manski (2003), Partial Identification of Probability Distributions.
    """

    lowest: FloatArray
    highest: FloatArray
    ends: FloatArray
    is_open: BoolArray
    unasked: IntArray
    items: IntArray

    @cached_property
    def inner_low(self) -> FloatArray:
        """Return the lowest limit; NaN if no answer is missing."""
        return np.asarray(np.fmin.reduce(self.ends[:, 0], axis=1))

    @cached_property
    def inner_high(self) -> FloatArray:
        """Return the highest limit; NaN if no answer is missing."""
        return np.asarray(np.fmax.reduce(self.ends[:, 1], axis=1))

    def inside(self, margin: npt.ArrayLike) -> BoolArray:
        """Return whether the interval of one of the completions is inside the margin."""
        limit = np.asarray(margin, dtype=np.float64)[..., None]
        within = (self.ends[:, 0] > -limit) & (self.ends[:, 1] < limit)
        return np.asarray(self.is_open & within.any(axis=-1))


class TestedPairs(Protocol):
    """What a judgement needs of the pairs of one benchmark; arrays have one element per pair."""

    @property
    def pairs(self) -> Pairs | Numbers:
        """Return the pairs under the policy."""

    @property
    def clustered(self) -> BoolArray:
        """Return whether tests flip whole units; only mid-p and exact tests exist for these."""

    @property
    def effect(self) -> FloatArray:
        """Return the design effects of the differences; 1 if there is none."""

    @property
    def published(self) -> Estimate:
        """Return the differences with the intervals of the estimates table."""

    def difference(self, alpha: float) -> Estimate:
        """Return the differences with intervals of this level, without room for rare units."""

    def p_values(self, test: McNemarMethod) -> FloatArray:
        """Return the p-values; under ``bounds`` the highest over all fill-ins."""

    def p_range(self, test: McNemarMethod) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest p-value over all completions."""

    @property
    def fill_ins(self) -> Range:
        """Return the range of the differences over all fill-ins of the answers that were asked."""

    def completions(self, alpha: float) -> Completions:
        """Return the extreme completions of each pair, with intervals of level 1 − alpha."""


@dataclass(frozen=True, eq=False)
class ShareTests(Once):
    """Differences of shares: the share of right answers or of favourable decisions.

    The difference is lowest if every incomplete pair favours b as much as possible, and highest if
    every pair favours a. McNemar's p-value falls as the discordant counts move apart, and is
    highest if they are closest to balance. So is that of flips of whole units.

    Attributes
    ----------
    pairs : Pairs
        The pairs.
    bounds : bool
        Whether the policy is ``bounds``.
    """

    pairs: Pairs
    bounds: bool

    @property
    def clustered(self) -> BoolArray:
        return self.pairs.clustered

    @cached_property
    def effect(self) -> FloatArray:
        effects = self.pairs.effects["accuracy_difference"]
        return np.ones(len(effects)) if self.bounds else effects

    @cached_property
    def published(self) -> Estimate:
        return accuracy_difference(
            self.pairs.paired,
            alpha=self.pairs.alpha,
            design_effect=self.effect,
            units=self.pairs.room_units,
            tested=self.pairs.tested,
        )

    def difference(self, alpha: float) -> Estimate:
        return accuracy_difference(self.pairs.paired, alpha=alpha, design_effect=self.effect)

    def p_values(self, test: McNemarMethod) -> FloatArray:
        if self.bounds:
            highest = mcnemar_bounds(self.pairs.outcomes.patterns, method=test)[1]
            return np.where(self.clustered, np.nan, highest)
        # Clustered pairs have no χ², but their mid-p.
        found = self.pairs.once(mcnemar_of)[test if test in FLIPPING else "midp"]["p_value"]
        if test not in FLIPPING:
            paired = self.pairs.paired
            p = mcnemar(n10=paired.n10, n01=paired.n01, method=test).p_value
            found = np.where(self.clustered, found, p)
        return np.asarray(found)

    @cached_property
    def _open(self) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, BoolArray]:
        """Return n10, n01, the open pairs that can favour a and b, n, and whether any is open."""
        outcomes = self.pairs.outcomes
        whole = outcomes.with_unasked.patterns
        c = dict(zip(PATTERNS, whole.T, strict=True))
        for_a, for_b = c["n1x"] + c["nx0"] + c["nxx"], c["n0x"] + c["nx1"] + c["nxx"]
        return c["n10"], c["n01"], for_a, for_b, whole.sum(axis=1), is_open(outcomes)

    def _clusters(self) -> Iterator[tuple[int, ClusteredPair]]:
        """Yield each open pair of clustered answers: together they would fill the memory.

        The units with missing answers may be those in which the groups differ.
        """
        outcomes = self.pairs.outcomes
        few = self.pairs.alpha if outcomes.benchmark.few_units else None
        for place in np.flatnonzero(self._open[-1] & self.clustered).tolist():
            yield place, ClusteredPair.of(outcomes.with_unasked, place, few)

    def p_range(self, test: McNemarMethod) -> tuple[FloatArray, FloatArray]:
        n10, n01, for_a, for_b, _, open_ = self._open
        published, single = self.p_values(test), open_ & ~self.clustered

        def p_value(only_a: IntArray, only_b: IntArray) -> FloatArray:
            found = mcnemar(n10=only_a[single], n01=only_b[single], method=test).p_value
            return np.asarray(found)

        # Without a missing answer there is one completion, with the published p-value.
        lowest, highest = published.copy(), published.copy()
        if single.any():
            lowest[single] = np.fmin(p_value(n10 + for_a, n01), p_value(n10, n01 + for_b))
            towards_a, towards_b = np.clip(n01 - n10, 0, for_a), np.clip(n10 - n01, 0, for_b)
            highest[single] = p_value(n10 + towards_a, n01 + towards_b)
        method: Flippable = "exact" if test == "exact" else "midp"
        for place, cells in self._clusters():
            totals = [float(change @ cells.many) for change in cells.changes]
            p = [
                float(sign_flip_test(change, cells.many, method=method).p_value)
                for change in cells.changes
            ]
            lowest[place], highest[place] = _between(totals, p)
        return np.fmin(lowest, published), np.fmax(highest, published)

    @cached_property
    def fill_ins(self) -> Range:
        return pair_bounds(self.pairs.outcomes.patterns)["accuracy_difference"]

    def completions(self, alpha: float) -> Completions:
        n10, n01, for_a, for_b, n, open_ = self._open
        z = float(scipy.stats.norm.isf(alpha / 2))
        ends = np.full((len(n), 2, MIXED), np.nan)
        # Most pairs have no missing answer, and then there is nothing to complete.
        alone = open_ & ~self.clustered
        extremes = np.stack([[n10, n10 + for_a], [n01 + for_b, n01]])[..., alone]
        ends[alone, :, :2] = _limits(extremes, n[alone], self.effect[alone], alpha)
        completed = {place: cells.completed(z) for place, cells in self._clusters()}
        if completed:
            places, found = list(completed), np.array(list(completed.values()))
            *mixed, effects = found.transpose(1, 2, 0)
            effects = np.fmax(effects, self.effect[places])
            low, high = _limits(np.stack(mixed), n[places], effects, alpha).swapaxes(0, 1)
            differences = ((mixed[0] - mixed[1]) / n[places]).T
            whole = in_clusters(self.pairs.outcomes.with_unasked, np.ones_like(INCOMPLETE))
            units, scale = whole[places, None], (-1.0, 1.0)
            limits = with_room(differences, low, high, units=units, ends=scale, alpha=alpha)
            ends[places] = np.stack(limits, axis=1)
        return Completions(
            (n10 - n01 - for_b) / np.maximum(n, 1),
            (n10 + for_a - n01) / np.maximum(n, 1),
            ends,
            open_,
            *self.pairs.outcomes.unasked,
        )


def _limits(
    discordant: npt.NDArray[Any], n: IntArray, effect: FloatArray, alpha: float
) -> FloatArray:
    """Return Tango's limits, (pairs, 2, completions), given (n10 and n01, completions, pairs)."""
    n10, n01 = discordant
    found = tango_limits(n10, n01, n, alpha=alpha, design_effect=effect)
    return np.stack(found).transpose(2, 0, 1)


def _between(totals: Sequence[float], p_values: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and highest p-value of the completions between two extreme ones.

    p is the probability that the units of a random half add up to 0 or less, so it falls as any
    unit's difference grows.
    """
    # If the differences have two signs, some completion has no difference at all.
    return min(p_values), 1.0 if totals[0] <= 0 <= totals[1] else max(p_values)


@dataclass(frozen=True, eq=False)
class MeanTests(Once):
    """Differences of means: of levels or scores.

    A missing answer can be anywhere on the scale. The extreme completions put all of group a's at
    one end and all of group b's at the other. As answers differ more between the ends of a scale
    than between items, mixed ones seldom have wider limits (benchmarks/completions.py).

    Attributes
    ----------
    pairs : Numbers
        The pairs.
    bounds : bool
        Whether the policy is ``bounds``.
    """

    pairs: Numbers
    bounds: bool

    @cached_property
    def clustered(self) -> BoolArray:
        return np.ones(len(self.pairs.outcomes), dtype=bool)

    @cached_property
    def effect(self) -> FloatArray:
        return np.ones(len(self.pairs.outcomes))

    @property
    def published(self) -> Estimate:
        return self.difference(self.pairs.alpha)

    def difference(self, alpha: float) -> Estimate:
        return difference_of_means(self.pairs, alpha)

    def p_values(self, test: McNemarMethod) -> FloatArray:
        found = self.pairs.once(flip_tests_of)[test if test == "exact" else "midp"]
        p_values = np.asarray(found["p_value"], dtype=np.float64)
        return np.full(len(p_values), np.nan) if self.bounds else p_values

    @cached_property
    def _ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return what missing answers of a and b are in the completion for b, and in that for a."""
        low, high = self.pairs.outcomes.benchmark.limits
        return (low, high), (high, low)

    @cached_property
    def _open(self) -> BoolArray:
        return is_open(self.pairs.outcomes)

    @cached_property
    def _completed(self) -> dict[int, tuple[UnitSums, UnitSums]]:
        """Return both extreme completions of each pair with a missing answer."""
        of = self.pairs.outcomes
        for_b, for_a = self._ends
        return {
            place: (
                unit_sums(of, place, fill=for_b, unasked=True),
                unit_sums(of, place, fill=for_a, unasked=True),
            )
            for place in np.flatnonzero(self._open).tolist()
        }

    def p_range(self, test: McNemarMethod) -> tuple[FloatArray, FloatArray]:
        published = self.p_values(test)
        lowest, highest = published.copy(), published.copy()
        method: Flippable = "exact" if test == "exact" else "midp"
        for place, (for_b, for_a) in self._completed.items():
            totals = [float(sums.difference @ sums.many) for sums in (for_b, for_a)]
            p = [
                float(flip_test(sums.difference, sums.many, method=method).p_value)
                for sums in (for_b, for_a)
            ]
            least, most = _between(totals, p)
            lowest[place] = np.fmin(least, lowest[place])
            highest[place] = np.fmax(most, highest[place])
        return lowest, highest

    @cached_property
    def fill_ins(self) -> Range:
        of = self.pairs.outcomes
        low, high = (
            np.array([mean_gap(unit_sums(of, place, fill=fill)) for place in range(len(of))])
            for fill in self._ends
        )
        return low, high

    def completions(self, alpha: float) -> Completions:
        now, benchmark = self.difference(alpha), self.pairs.outcomes.benchmark
        lowest, highest = now.estimate.copy(), now.estimate.copy()
        ends, places = np.full((len(lowest), 2, MIXED), np.nan), list(self._completed)
        for side, differences in enumerate((lowest, highest)):
            tables = [one[side] for one in self._completed.values()]
            if tables:
                found = mean_differences(tables, benchmark.limits, alpha)
                scale = -benchmark.span, benchmark.span
                found = roomy(found, sizes_of(tables), scale, alpha)
                differences[places] = found.estimate
                ends[places, :, side] = np.stack([found.ci_low, found.ci_high], axis=1)
        return Completions(lowest, highest, ends, self._open, *self.pairs.outcomes.unasked)


def pairs_of(
    outcomes: Outcomes, missing: CountingPolicy, alpha: float, tests: npt.ArrayLike = 1
) -> Pairs:
    """Apply a policy to one benchmark's outcomes, with the design effects of clustered answers."""
    found = {influence: np.ones(len(outcomes)) for influence in _INFLUENCES}
    few = alpha if outcomes.benchmark.few_units else None
    for place, (cells, many) in outcomes.clusters.items():
        copies, pooled = int(outcomes.copies[place]), bool(outcomes.pooled[place])
        for influence, metric in _INFLUENCES.items():
            found[influence][place] = design_effect_of(
                metric, cells, many, copies, missing, pooled=pooled, few=few
            )
    effects = {metric.name: found[metric.influence] for metric in PAIR_METRICS if metric.influence}
    tests = np.broadcast_to(np.asarray(tests, dtype=np.int64), len(outcomes))
    return Pairs(outcomes, missing, alpha, effects, tests)


def numbers_of(
    outcomes: Outcomes, missing: CountingPolicy, alpha: float, tests: npt.ArrayLike = 1
) -> Numbers:
    """Apply a policy to one benchmark's levels or scores."""
    sizes = np.broadcast_to(np.asarray(tests, dtype=np.int64), len(outcomes))
    return Numbers(outcomes, missing, alpha, sizes)


def tested_pairs(
    outcomes: Outcomes,
    missing: CountingPolicy,
    alpha: float,
    tests: npt.ArrayLike,
    bounds: bool,
) -> TestedPairs:
    """Return the tests of one benchmark's pairs, by its kind of answers."""
    if outcomes.benchmark.kind.numeric:
        return MeanTests(numbers_of(outcomes, missing, alpha, tests), bounds)
    return ShareTests(pairs_of(outcomes, missing, alpha, tests), bounds)


def is_open(outcomes: Outcomes) -> BoolArray:
    """Return the pairs with a missing answer, or with items that were not asked."""
    incomplete = outcomes.patterns[:, INCOMPLETE].sum(axis=1) > 0
    return np.asarray((outcomes.unasked[0] > 0) | incomplete)


def pair_bounds(patterns: npt.ArrayLike) -> dict[str, Range]:
    """Return the ranges of the estimates of pairs of groups over all fill-ins of missing answers.

    This is Manski's worst case: nothing is assumed about a missing answer, so an estimate is not a
    number but the set of values over all fill-ins. Every limit is attained by some fill-in, unless
    a docstring states an exception. With several samples of an item, a missing answer is in several
    pairs; CFR and the shares of the four outcomes may then not reach their limits.
    """
    cells = np.moveaxis(np.asarray(patterns, dtype=np.float64), -1, 0)
    c = dict(zip(PATTERNS, cells, strict=True)) | {"n": cells.sum(axis=0)}
    return {metric.name: metric.bounds(c) for metric in PAIR_METRICS if metric.bounds}
