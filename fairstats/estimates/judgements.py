"""Tests, verdicts and bounds of every pair of groups: from outcome counts to a judgement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fairstats._lib.formatting import level, over_tests
from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.benchmarks.declaration import POOLED, MissingPolicy
from fairstats.counts.outcomes import Outcomes
from fairstats.counts.patterns import (
    PAIR_COLUMNS,
    CountingPolicy,
    IntArray,
    PolicyCounts,
    apply_policy,
    missing_per_group,
)
from fairstats.estimates.cautions import cautions
from fairstats.estimates.eligibility import (
    SELECTED,
    why_never_equivalent,
    why_other_variants,
)
from fairstats.estimates.tested_pairs import Completions, TestedPairs, tested_pairs
from fairstats.inference.mcnemar import McNemarMethod
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE, ROOM, verdict
from fairstats.metrics.metric import Numbers, Pairs, roomy

Texts = npt.NDArray[np.object_]
Adjustment = AdjustMethod | Literal["max_t"]
UNEQUAL_ROWS = "the groups have different numbers of rows, so some variants are missing"
CANCEL_OUT = "opposite gaps cancel out"
_MISSED = (
    "equivalence is open: rare large differences, which these items could miss, could take the "
    "difference beyond the margin"
)
UNEQUAL_SAMPLES = "items have different numbers of samples"
FEWER_SAMPLES = "fewer samples than for another attribute"


@dataclass(frozen=True, eq=False)
class Judgements:
    """Every pair of all benchmarks under a policy: its difference, interval, tests and verdict.

    Arrays have one element per pair, benchmark by benchmark. p-values are adjusted over families,
    which may span benchmarks.

    Attributes
    ----------
    tested : tuple of TestedPairs
        The pairs of each benchmark.
    bounds : ndarray of bool
        The pairs under the policy ``bounds``, which have no verdict.
    margin : ndarray
        The equivalence margin of each pair.
    alpha : float
        The level of the verdicts.
    adjust : {"holm", "hommel", "bh", "by", "max_t"}
        How p-values are adjusted.
    joint : mapping of (str, ...) to float, optional
        The adjusted p-values by `PAIR_COLUMNS`, if `adjust` is ``max_t``.
    """

    tested: tuple[TestedPairs, ...]
    bounds: npt.NDArray[np.bool_]
    margin: FloatArray
    alpha: float
    adjust: Adjustment = "holm"
    joint: Mapping[tuple[str, ...], float] | None = None

    @property
    def parts(self) -> tuple[Pairs | Numbers, ...]:
        """Return the pairs of each benchmark."""
        return tuple(one.pairs for one in self.tested)

    def _each(self, compute: Callable[[Pairs | Numbers], npt.ArrayLike]) -> npt.NDArray[Any]:
        """Compute something for the pairs of each benchmark."""
        return np.concatenate([np.asarray(compute(part)) for part in self.parts])

    def _of_tests(self, compute: Callable[[TestedPairs], npt.ArrayLike]) -> npt.NDArray[Any]:
        return np.concatenate([np.asarray(compute(one)) for one in self.tested])

    def _both(
        self, compute: Callable[[TestedPairs], tuple[FloatArray, FloatArray]]
    ) -> tuple[FloatArray, FloatArray]:
        sides = [compute(one) for one in self.tested]
        return np.concatenate([low for low, _ in sides]), np.concatenate([up for _, up in sides])

    def split(self, column: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Return the part of a column that belongs to each benchmark."""
        return np.split(column, np.cumsum([len(part.outcomes) for part in self.parts])[:-1])

    @cached_property
    def keys(self) -> dict[str, Texts]:
        """Return `PAIR_COLUMNS`."""
        return {
            name: self._each(lambda part, name=name: part.outcomes.keys[name])  # type: ignore[misc]
            for name in PAIR_COLUMNS
        }

    @cached_property
    def clustered(self) -> npt.NDArray[np.bool_]:
        """Return whether only tests that flip units, and one interval, exist for each pair."""
        return self._of_tests(lambda one: one.clustered)

    @cached_property
    def paired(self) -> PolicyCounts:
        """Return the counts of all pairs under the policy; of levels and scores, without hits."""
        own = [
            apply_policy(
                part.outcomes.patterns,
                part.missing,
                copies=part.outcomes.copies,
                pooled=part.outcomes.pooled,
            )
            for part in self.parts
        ]
        names = PolicyCounts.__dataclass_fields__
        return PolicyCounts(
            **{name: np.concatenate([getattr(p, name) for p in own]) for name in names}
        )

    @cached_property
    def span(self) -> FloatArray:
        """Return the largest possible difference of each pair."""
        return self._each(
            lambda part: np.full(len(part.outcomes), part.outcomes.benchmark.span, dtype=float)
        )

    @cached_property
    def untested(self) -> npt.NDArray[np.bool_]:
        """Return the pairs of the baseline and of controls, which are in no family."""
        return self._each(lambda part: part.outcomes.untested)

    @cached_property
    def declared(self) -> Texts:
        """Return the policy for missing answers that each pair's benchmark declares."""
        return self._each(
            lambda part: np.full(len(part.outcomes), part.outcomes.benchmark.missing, dtype=object)
        )

    @cached_property
    def places(self) -> IntArray:
        """Return the place of each pair in the order of the estimates."""
        rows = []
        for part in self.parts:
            benchmark, keys = part.outcomes.benchmark, part.outcomes.keys
            names = [*benchmark.attributes, POOLED]
            for *unit, attribute, a, b in zip(*(keys[n] for n in PAIR_COLUMNS), strict=True):
                groups = list(benchmark.attribute(attribute).groups)
                rows.append((*unit, names.index(attribute), groups.index(a), groups.index(b)))
        found = np.empty(len(rows), dtype=np.int64)
        found[sorted(range(len(rows)), key=rows.__getitem__)] = np.arange(len(rows))
        return found

    @cached_property
    def families(self) -> Texts:
        """Name the family of tests over which each pair's p-value is adjusted, see `families`."""
        return self._each(lambda part: families(part.outcomes))

    @cached_property
    def effect(self) -> FloatArray:
        """Return the design effects of the differences; 1 under ``bounds``."""
        return self._of_tests(lambda one: one.effect)

    def _joined(self, own: Sequence[Estimate], alpha: float) -> Estimate:
        sizes = [len(part.outcomes) for part in self.parts]

        def column(name: str) -> npt.NDArray[Any]:
            every = zip(own, sizes, strict=True)
            return np.concatenate([np.broadcast_to(getattr(e, name), n) for e, n in every])

        names = ("estimate", "ci_low", "ci_high", "method", "n")
        found = {name: column(name) for name in names}
        return Estimate(**found, ci_level=1 - alpha)

    @cached_property
    def outer(self) -> Estimate:
        """Return the differences with the published 1 − alpha intervals."""
        return self._joined([one.published for one in self.tested], self.alpha)

    @cached_property
    def inner(self) -> tuple[FloatArray, FloatArray]:
        """Return the limits of the 1 − 2 alpha intervals, for equivalence."""
        alpha, wide = 2 * self.alpha, []
        for part, own in zip(self.parts, self._bare, strict=True):
            span = part.outcomes.benchmark.span
            wide.append(roomy(own, part.units, (-span, span), alpha))
        found = self._joined(wide, alpha)
        return found.ci_low, found.ci_high

    @cached_property
    def _bare(self) -> list[Estimate]:
        """Return the differences of each benchmark with 1 − 2 alpha intervals."""
        return [one.difference(2 * self.alpha) for one in self.tested]

    @cached_property
    def bare(self) -> tuple[FloatArray, FloatArray]:
        """Return `inner` without room for rare units."""
        found = self._joined(self._bare, 2 * self.alpha)
        return found.ci_low, found.ci_high

    def p_values(self, test: McNemarMethod = "midp") -> FloatArray:
        """Return every pair's p-value by this test; clustered pairs have no χ², but their mid-p.

        Under ``bounds``, it is the highest over all fill-ins, and NaN for clustered pairs.
        """
        return self._of_tests(lambda one: one.p_values(test))

    def adjusted(self, p_values: FloatArray, adjust: AdjustMethod) -> FloatArray:
        """Return p-values adjusted within their families; NaN if in none."""
        return adjusted_within(self.families, p_values, adjust)

    @cached_property
    def adjusted_over(self) -> Texts:
        """Return how each p-value is adjusted, in words; None if it is not."""
        there = ~np.isnan(self.p_values())
        names = self.families
        sizes = {name: int((there & (names == name)).sum()) for name in set(names.tolist())}
        texts = [
            f"{over_tests(self.adjust, sizes[name])} of {name}" if name and tested else None
            for name, tested in zip(names.tolist(), there, strict=True)
        ]
        return np.array(texts, dtype=object)

    def p_adjusted(self, test: McNemarMethod = "midp") -> FloatArray:
        """Return the adjusted p-values of a test, as published."""
        p_values = self.p_values(test)
        if self.adjust != "max_t":
            return self.adjusted(p_values, self.adjust)
        known = self.joint or {}
        keys = zip(*(self.keys[name] for name in PAIR_COLUMNS), strict=True)
        # Random flips can give slightly less than the exact test's p-value.
        joint = np.array([known.get(key, np.nan) for key in keys])
        in_none = np.array([name is None for name in self.families])
        return np.where(in_none, np.nan, np.maximum(joint, p_values))

    @cached_property
    def completions(self) -> Completions:
        """Return the extreme completions of each pair, with 1 − 2 alpha intervals."""
        own = [one.completions(2 * self.alpha) for one in self.tested]
        names = Completions.__dataclass_fields__
        return Completions(**{n: np.concatenate([getattr(c, n) for c in own]) for n in names})

    @cached_property
    def fill_ins(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest difference over all fill-ins of the answers asked."""
        return self._both(lambda one: one.fill_ins)

    @cached_property
    def patterns(self) -> IntArray:
        """Return the outcome patterns of all pairs."""
        return self._each(lambda part: part.outcomes.patterns)

    def p_range(self, test: McNemarMethod = "midp") -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest p-value over all completions, not adjusted."""
        return self._both(lambda one: one.p_range(test))

    def p_range_adjusted(
        self, adjust: AdjustMethod, test: McNemarMethod = "midp"
    ) -> tuple[FloatArray, FloatArray]:
        """Return `p_range`, adjusted over families; a pair in no family keeps its p-values."""
        found = []
        for p_values in self.p_range(test):
            adjusted = self.adjusted(p_values, adjust)
            found.append(np.where(np.isnan(adjusted), p_values, adjusted))
        return found[0], found[1]

    @cached_property
    def _published_range(self) -> tuple[FloatArray, FloatArray]:
        return self.p_range_adjusted("holm" if self.adjust == "max_t" else self.adjust)

    @cached_property
    def never_equivalent(self) -> Texts:
        """Return why each pair is never called equivalent; empty if it can be.

        A mean of several pairs is not: opposite gaps cancel out in it.
        """

        def why(part: Pairs | Numbers) -> npt.ArrayLike:
            found = part.outcomes.once(why_never_equivalent)
            return np.where(part.outcomes.pooled & (found == ""), CANCEL_OUT, found)

        return self._each(why)

    @cached_property
    def cautions(self) -> Texts:
        """Return the caution about the answers of each pair's model; empty if there is none."""
        return self._each(lambda part: part.outcomes.once(cautions)[part.outcomes.unit])

    @cached_property
    def obstacles(self) -> Texts:
        """Return why each pair cannot be judged; empty if it can, None for the baseline."""
        found = self._each(lambda part: _obstacles(part.outcomes))
        found[self.bounds & ~self.untested] = "the policy bounds gives ranges, not tests"
        return found

    @cached_property
    def judged(self) -> npt.NDArray[np.bool_]:
        """Return the pairs with a verdict."""
        return np.asarray(self.obstacles == "")

    def verdicts(
        self,
        *,
        p_adjusted: npt.ArrayLike | None = None,
        p_highest: npt.ArrayLike | None = None,
        inner: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        margin: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.str_]:
        """Return the verdict that holds for the answers and every completion of missing ones.

        What is not given is as published: the adjusted p-values, the highest over all completions,
        the limits of the 1 − 2 alpha interval and the margin. Pairs are in the last dimension;
        those that are not `judged` have a verdict too. See `never_equivalent` for those that are
        not called so.
        """
        p = self.p_adjusted() if p_adjusted is None else np.asarray(p_adjusted)
        highest = self._published_range[1] if p_highest is None else np.asarray(p_highest)
        margins = self.margin if margin is None else np.asarray(margin)
        low, high = self.widened(self.inner if inner is None else inner)
        found = self._verdict(p, low, high, margins)
        uncertain = self.completions.is_open & (highest > self.alpha)
        uncertain = (found == DISPARITY) & (uncertain | self.completions.inside(margins))
        barred = (found == EQUIVALENT) & (self.never_equivalent != "")
        return np.where(uncertain | barred, INCONCLUSIVE, found)

    def _verdict(
        self, p_values: npt.ArrayLike, low: FloatArray, high: FloatArray, margin: npt.ArrayLike
    ) -> npt.NDArray[np.str_]:
        """Return the verdicts; differences and margins of levels become shares of the scale."""
        scaled = (np.clip(side / self.span, -1, 1) for side in (low, high))
        return verdict(p_values, *scaled, margin=np.asarray(margin) / self.span, alpha=self.alpha)

    def widened(self, inner: tuple[npt.ArrayLike, npt.ArrayLike]) -> tuple[FloatArray, FloatArray]:
        """Return the outermost limits of an interval over all completions of missing answers."""
        done = self.completions
        return np.fmin(inner[0], done.inner_low), np.fmax(inner[1], done.inner_high)

    @cached_property
    def smallest_margin(self) -> FloatArray:
        """Return the margin above which each pair counts as equivalent; NaN if at none.

        The limits of the 1 − 2 alpha intervals must be inside it for every completion.
        """
        widest = self.verdicts(p_adjusted=np.ones(len(self.span)), margin=self.span * (1 - 1e-9))
        return np.where(self.judged & (widest == EQUIVALENT), self._reach, np.nan)

    def verdicts_below_smallest(self) -> npt.NDArray[np.str_]:
        """Return the verdicts at margins just below the smallest one, or that no limits are inside.

        An extreme completion may be inside such a margin, and then withholds a disparity.
        """
        # A limit that reaches 0, or the end of the scale, is at no margin.
        margin = np.clip(self._reach, 1e-9 * self.span, self.span * (1 - 1e-9))
        margin = np.where(np.isnan(margin), self.margin, margin)
        return self.verdicts(inner=(-self.span, self.span), margin=margin)

    @cached_property
    def _reach(self) -> FloatArray:
        """Return the farthest limit of the 1 − 2 alpha intervals over all completions."""
        done = self.completions
        limits = (*self.inner, done.inner_low, done.inner_high)
        return np.asarray(np.fmax.reduce([np.abs(side) for side in limits]))

    @cached_property
    def published(self) -> tuple[Texts, Texts]:
        """Return each pair's verdict, and the reason if there is none or it stays open.

        The reason of "equivalent" is a caution, see `fairstats.estimates.cautions`. Both are None
        if there is nothing to say. No verdict may depend on missing answers:
        "disparity" requires that the test rejects for every completion of them and none is
        equivalent, "equivalent" that the interval is inside the margin for every completion. These
        rules can leave a verdict open
        that the given answers, or some completion of the missing ones, would decide.
        """
        found, done = self.verdicts(), self.completions
        p_lowest, p_highest = self._published_range
        alone = self._verdict(self.p_adjusted(), *self.inner, self.margin)
        low, high = self.widened(self.inner)
        inside = (low > -self.margin) & (high < self.margin)
        barred = inside & (self.never_equivalent != "") & (alone == EQUIVALENT)
        could_change = (found == INCONCLUSIVE) & ~barred & done.is_open
        could_change &= (alone != INCONCLUSIVE) | (p_lowest <= self.alpha)
        reasons = self.obstacles.copy()
        kinds = [part.outcomes.benchmark.kind for part in self.parts for _ in part.outcomes.unit]
        for place in np.flatnonzero(self.judged & barred):
            reasons[place] = f"not called equivalent: {self.never_equivalent[place]}"
        bare_low, bare_high = self.bare
        missed = (bare_low > -self.margin) & (bare_high < self.margin)
        missed &= (found == INCONCLUSIVE) & ~barred
        reasons[self.judged & missed] = _MISSED
        for place in np.flatnonzero(self.judged & could_change):
            subject = "missing answers"
            if done.unasked[place]:
                subject = f"{done.unasked[place]} of {done.items[place]} items that were not asked"
            kind = kinds[place]
            if alone[place] == EQUIVALENT:
                room = ROOM * int(self.clustered[place])
                reach = f"the {level(2 * self.alpha)} interval{room} could reach "
                reach += kind.shown_range(low[place], high[place])
                how = f"{reach}, and the margin is ±{kind.plain_margin(self.margin[place])}"
            else:
                limits = kind.shown_range(done.lowest[place], done.highest[place])
                how = f"the difference could be {limits}"
            if alone[place] == DISPARITY:
                how += f", with an adjusted p of up to {p_highest[place]:.2g}"
                if done.inside(self.margin)[place]:
                    how += f", or equivalent within ±{kind.plain_margin(self.margin[place])}"
            reasons[place] = f"{subject} could change the verdict: {how}"
        equal = self.judged & (found == EQUIVALENT)
        reasons[equal] = self.cautions[equal]
        verdicts = found.astype(object)
        verdicts[~self.judged] = None
        reasons[reasons == ""] = None
        return verdicts, reasons


def judge(
    counted: Iterable[Outcomes],
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    *,
    adjust: Adjustment = "holm",
    joint: Mapping[tuple[str, ...], float] | None = None,
    margin: float | None = None,
) -> Judgements:
    """Test and judge every pair of all benchmarks under a policy.

    The margin and the policy are each benchmark's unless given.
    """
    tested, bounds, margins = [], [], []
    every = list(counted)
    names = [families(outcomes) for outcomes in every]
    sizes = Counter(np.concatenate(names).tolist())
    for outcomes, own in zip(every, names, strict=True):
        benchmark = outcomes.benchmark
        policy = missing or benchmark.missing
        tests = [1 if name is None else sizes[name] for name in own]
        # The few metrics that are not ranges do not depend on the policy.
        counting: CountingPolicy = "complete" if policy == "bounds" else policy
        tested.append(tested_pairs(outcomes, counting, alpha, tests, policy == "bounds"))
        bounds.append(np.full(len(outcomes), policy == "bounds"))
        one = benchmark.equivalence_margin if margin is None else margin
        margins.append(np.full(len(outcomes), one))
    whole = np.concatenate(bounds), np.concatenate(margins)
    return Judgements(tuple(tested), *whole, alpha, adjust, joint)


def adjusted_within(family: Texts, p_values: FloatArray, adjust: AdjustMethod) -> FloatArray:
    """Return p-values adjusted within their families; NaN if in none."""
    adjusted = np.full(len(p_values), np.nan)
    for name in dict.fromkeys(family.tolist()):
        if name is not None:
            own = family == name
            adjusted[own] = adjust_pvalues(p_values[own], method=adjust)
    return adjusted


def families(outcomes: Outcomes) -> Texts:
    """Name the family of tests over which each pair's p-value is adjusted.

    E.g. ``"the board fairmedqa, gpt-agent, plain"``; `Benchmark.family` defines its extent. Pooled
    pairs repeat the evidence of the demographic ones, so they form a separate family. None for the
    pairs of the baseline and of controls, which are not tested for a disparity.
    """
    benchmark = outcomes.benchmark
    boards = [
        {
            "model": f"the answer set {name}, {version}, {strategy}, {model}",
            "board": f"the board {name}, {version}, {strategy}",
            "release": "all analysed answers",
        }[benchmark.family]
        for name, version, model, strategy in outcomes.grid.units.itertuples(index=False, name=None)
    ]
    found = []
    for unit, attribute, untested in zip(
        outcomes.unit.tolist(), outcomes.attribute.tolist(), outcomes.untested, strict=True
    ):
        end = None if untested else ", pooled" * (attribute == POOLED)
        found.append(None if end is None else boards[unit] + end)
    return np.array(found, dtype=object)


def _obstacles(outcomes: Outcomes) -> Texts:
    """Return why each pair cannot be judged; empty if it can, None for the baseline."""
    missing_a, missing_b = missing_per_group(outcomes.patterns)
    n = outcomes.patterns.sum(axis=1)
    reasons = np.full(len(outcomes), "", dtype=object)
    reasons[:] = outcomes.once(why_other_variants)[outcomes.unit]
    mixed = np.array([one.mixed for one in outcomes.grid.settings], dtype=object)[outcomes.unit]
    reasons = np.where(mixed != "", mixed, reasons)
    reasons[outcomes.grid.selecting[outcomes.unit]] = SELECTED
    reasons[(missing_a == n) | (missing_b == n)] = "a group has no answers"
    # The fewer ones could be chosen ones.
    reasons[outcomes.fewer_samples] = FEWER_SAMPLES
    reasons[unequal_samples(outcomes)] = UNEQUAL_SAMPLES
    for name, own in outcomes.groups.items():
        rows = outcomes.rows_asked(name)
        for a, b in own.attribute.pairs:
            here = (outcomes.attribute == name) & (outcomes.group_a == a) & (outcomes.group_b == b)
            places = list(own.attribute.groups)
            differ = rows[:, places.index(a)] != rows[:, places.index(b)]
            # A variant that was never asked can only be counted as a missing answer.
            reasons[here & differ[outcomes.unit]] = UNEQUAL_ROWS
    reasons[outcomes.untested] = None
    return reasons


def unequal_samples(outcomes: Outcomes) -> npt.NDArray[np.bool_]:
    """Return where items have different numbers of samples, so that some items count more.

    An item with s samples contributes `copies` × s weighted pairs. If all items have the same
    number of samples, `copies` is this number.
    """
    pairs = outcomes.patterns.sum(axis=1)
    unequal = np.zeros(len(outcomes), dtype=bool)
    for name in outcomes.groups:
        here = outcomes.attribute == name
        rows = outcomes.item_rows(name)[outcomes.unit]
        unequal |= here & (pairs != outcomes.copies.astype(float) ** 2 * rows)
    # Pooled pairs cover all attributes, which may also have different numbers of samples.
    mixed = np.zeros(len(outcomes.grid.units), dtype=bool)
    known = np.zeros(len(mixed), dtype=np.int64)
    varied = ~outcomes.pooled & ~outcomes.untested
    for unit, copies, differ in zip(
        outcomes.unit[varied], outcomes.copies[varied], unequal[varied], strict=True
    ):
        mixed[unit] |= differ or (known[unit] not in (0, copies))
        known[unit] = copies
    return np.where(outcomes.pooled, mixed[outcomes.unit], unequal)
