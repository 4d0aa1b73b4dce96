"""Difference, test and bounds of every pair of one benchmark: of shares, and of means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.outcomes import FOR_A, FOR_B, Once, Outcomes
from fairstats.counts.patterns import INCOMPLETE, PATTERNS, CountingPolicy, IntArray
from fairstats.counts.unit_sums import UnitSums, mean_gap, unit_sums
from fairstats.inference.clustered_answers import flip_test, sign_flip_test
from fairstats.inference.intervals import tango_limits
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.metrics.accuracy import ACCURACY_DIFFERENCE, accuracy_difference
from fairstats.metrics.mcnemar import FLIPPING, Flippable, mcnemar_bounds, mcnemar_of
from fairstats.metrics.mean_difference import difference_of_means, mean_differences, with_room
from fairstats.metrics.metric import Numbers, PairMetric, Pairs, Range, design_effect_of
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
    lowest, highest : ndarray
        The difference.
    inner_low, inner_high : ndarray
        The outermost limits of the 1 − 2 alpha intervals; NaN if no answer is missing.
    lowest_high, highest_low : ndarray
        The other limit of the interval of the lowest difference, and of that of the highest.
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
    inner_low: FloatArray
    inner_high: FloatArray
    lowest_high: FloatArray
    highest_low: FloatArray
    is_open: BoolArray
    unasked: IntArray
    items: IntArray

    def inside(self, margin: npt.ArrayLike) -> BoolArray:
        """Return whether the interval of an extreme completion is inside the margin."""
        limit = np.asarray(margin, dtype=np.float64)
        lowest = (self.inner_low > -limit) & (self.lowest_high < limit)
        highest = (self.highest_low > -limit) & (self.inner_high < limit)
        return np.asarray(self.is_open & (lowest | highest))


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

    def difference(self, alpha: float) -> Estimate:
        """Return the differences with intervals of this level."""

    def for_equivalence(self, found: Estimate, alpha: float) -> Estimate:
        """Return `difference` of this level with the limits that must be inside the margin."""

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

    def difference(self, alpha: float) -> Estimate:
        return accuracy_difference(self.pairs.paired, alpha=alpha, design_effect=self.effect)

    def for_equivalence(self, found: Estimate, alpha: float) -> Estimate:
        return found

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

    @cached_property
    def _completed(self) -> dict[int, list[tuple[IntArray, IntArray, float]]]:
        """Return the completion for b, and that for a, of each open pair of clustered answers.

        Each has n10 − n01 of every unit, the number of units, and their design effect: the units
        with missing answers may be those in which the groups differ.
        """
        outcomes, open_ = self.pairs.outcomes, self._open[-1] & self.clustered
        if not open_.any():
            return {}
        few = self.pairs.alpha if outcomes.benchmark.few_units else None
        sides, found = [outcomes.completed(extreme) for extreme in (FOR_B, FOR_A)], {}
        for place in np.flatnonzero(open_).tolist():
            found[place] = [
                (
                    cells[:, PATTERNS.index("n10")] - cells[:, PATTERNS.index("n01")],
                    many,
                    design_effect_of(
                        ACCURACY_DIFFERENCE, cells, many, int(copies[place]), "complete", few=few
                    ),
                )
                for (cells, many), copies in ((one.clusters[place], one.copies) for one in sides)
            ]
        return found

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
        for place, sides in self._completed.items():
            totals = [float(change @ many) for change, many, _ in sides]
            p = [float(sign_flip_test(*one[:2], method=method).p_value) for one in sides]
            lowest[place], highest[place] = _between(totals, p)
        return np.fmin(lowest, published), np.fmax(highest, published)

    @cached_property
    def fill_ins(self) -> Range:
        return pair_bounds(self.pairs.outcomes.patterns)["accuracy_difference"]

    def completions(self, alpha: float) -> Completions:
        n10, n01, for_a, for_b, n, open_ = self._open
        inner_low, inner_high, lowest_high, highest_low = np.full((4, len(n)), np.nan)
        effects = np.tile(self.effect, (2, 1))
        for place, sides in self._completed.items():
            effects[:, place] = [max(self.effect[place], one[2]) for one in sides]
        # Most pairs have no missing answer, and then there is nothing to complete.
        if open_.any():
            low, high = tango_limits(
                np.stack([n10, n10 + for_a])[:, open_],
                np.stack([n01 + for_b, n01])[:, open_],
                n[open_],
                alpha=alpha,
                design_effect=effects[:, open_],
            )
            inner_low[open_], highest_low[open_] = low
            lowest_high[open_], inner_high[open_] = high
        return Completions(
            (n10 - n01 - for_b) / np.maximum(n, 1),
            (n10 + for_a - n01) / np.maximum(n, 1),
            inner_low,
            inner_high,
            lowest_high,
            highest_low,
            open_,
            *self.pairs.outcomes.unasked,
        )


def _between(totals: Sequence[float], p_values: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and highest p-value of the completions between two extreme ones."""
    # If the differences have two signs, some completion has no difference at all.
    return min(p_values), 1.0 if totals[0] <= 0 <= totals[1] else max(p_values)


@dataclass(frozen=True, eq=False)
class MeanTests(Once):
    """Differences of means: of levels or scores.

    A missing answer can be anywhere on the scale. The extreme completions put all of group a's at
    one end and all of group b's at the other.

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

    def difference(self, alpha: float) -> Estimate:
        return difference_of_means(self.pairs, alpha)

    def for_equivalence(self, found: Estimate, alpha: float) -> Estimate:
        return with_room(found, self.pairs.sums, self.pairs.outcomes.benchmark.limits, alpha)

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

    def _limits_of(self, completed: Mapping[int, tuple[UnitSums, UnitSums]], alpha: float) -> Any:
        """Return the lowest and highest difference, and the limits of both intervals."""
        now, limits = self.difference(alpha), self.pairs.outcomes.benchmark.limits
        found = np.full((6, len(self.pairs.outcomes)), np.nan)
        found[:2] = now.estimate
        places = list(completed)
        if places:
            tables = [list(side) for side in zip(*completed.values(), strict=True)]
            low, high = (
                with_room(mean_differences(side, limits, alpha), side, limits, alpha)
                for side in tables
            )
            ends = (low.ci_low, high.ci_high, low.ci_high, high.ci_low)
            found[:, places] = low.estimate, high.estimate, *ends
        return found

    @cached_property
    def fill_ins(self) -> Range:
        of = self.pairs.outcomes
        low, high = (
            np.array([mean_gap(unit_sums(of, place, fill=fill)) for place in range(len(of))])
            for fill in self._ends
        )
        return low, high

    def completions(self, alpha: float) -> Completions:
        low, high, *limits = self._limits_of(self._completed, alpha)
        inner_low, inner_high, lowest_high, highest_low = limits
        both = inner_low, inner_high, lowest_high, highest_low
        return Completions(low, high, *both, self._open, *self.pairs.outcomes.unasked)


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

    Parameters
    ----------
    patterns : array_like, shape (..., 11)
        The number of pairs with each of `PATTERNS`; at least one pair.

    Returns
    -------
    dict of str to (ndarray, ndarray)
        Lowest and highest value by metric.
    """
    cells = np.moveaxis(np.asarray(patterns, dtype=np.float64), -1, 0)
    c = dict(zip(PATTERNS, cells, strict=True)) | {"n": cells.sum(axis=0)}
    return {metric.name: metric.bounds(c) for metric in PAIR_METRICS if metric.bounds}
