"""Disparities: the range of a rate over groups. DP, EO and the impact ratio share this code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.outcomes import by_cluster
from fairstats.counts.patterns import INCOMPLETE, PATTERNS, IntArray, apply_policy
from fairstats.inference.unit_means import effective_number
from fairstats.metrics.accuracy import (
    ACCURACY_DIFFERENCE,
    absolute_interval,
    accuracy_difference,
)
from fairstats.metrics.metric import Groups, PairMetric, Range, design_effect_of

#: Compares two groups, from `PolicyCounts`: `accuracy_difference` or `accuracy_ratio`.
Measure = Callable[..., Estimate]
# For one pair of each pattern: whether a can be right, minus whether b is.
_MOST = np.array([(p[1] != "0") - float(p[2] == "1") for p in PATTERNS])


@dataclass(frozen=True, eq=False)
class GroupComparison:
    """Every two groups of an attribute compared, with simultaneous intervals.

    Attributes
    ----------
    estimate : Estimate
        Arrays of shape (answer sets, pairs of groups). By Bonferroni, each interval uses alpha /
        number of pairs.
    effects : ndarray, shape (answer sets, pairs of groups)
        The design effects; 1 if each item was answered once.
    n : ndarray of int, shape (answer sets,)
        Items with an answer that counts for every group. With several samples of an item:
        combinations of answers that count, for the pair of groups with the fewest.
    """

    estimate: Estimate
    effects: FloatArray
    n: IntArray

    def method(self, folded: str) -> list[str]:
        """Name the method of an interval that is derived from those of all pairs of groups."""
        found, pairs = [], self.effects.shape[1]
        methods = np.broadcast_to(self.estimate.method, self.effects.shape).tolist()
        for own, effect in zip(methods, self.effects.max(axis=1), strict=True):
            text = f"{' and '.join(sorted(set(own)))}, {folded}"
            text += f", Bonferroni over {pairs} pairs" if pairs > 1 else ""
            shown = f"{effect:.3g}"
            found.append(text + (f", design effect up to {shown}" if shown != "1" else ""))
        return found


def compare_groups(
    groups: Groups,
    *,
    measure: Measure = accuracy_difference,
    metric: PairMetric = ACCURACY_DIFFERENCE,
    answerable: bool = False,
) -> GroupComparison:
    """Compare every two groups of an attribute.

    The policy ``complete`` requires an answer for every group. The design effects are those of
    `metric`. If `answerable`, only items with a right answer to the neutralized variant count.
    """
    answers, units, clustered = groups.answers, groups.units, groups.clustered
    patterns = groups.patterns
    if groups.missing == "complete":
        there = groups.whole | clustered[np.searchsorted(units, answers.grid.unit)]
        patterns = groups.patterns_where(there)
    cells = patterns[:, :, 0] if answerable else patterns.sum(axis=2)
    copies = answers.copies[units]
    if answerable:
        copies = copies * answers.neutral_copies[units]
    else:
        cells = cells // answers.neutral_copies[units][:, None, None]
    effects, independent = _effects(groups, metric, answerable)
    counts = apply_policy(cells, groups.missing, copies=copies[:, None])
    level = groups.alpha / len(groups.pairs)
    estimate = measure(counts, alpha=level, design_effect=effects, units=independent)
    weights = answers.neutral[:, 0] * answers.neutral_weights if answerable else 1
    whole = groups.by_unit(groups.whole * weights)
    return GroupComparison(estimate, effects, np.where(clustered, counts.n.min(axis=1), whole))


def _effects(groups: Groups, metric: PairMetric, answerable: bool) -> tuple[FloatArray, FloatArray]:
    """Return the design effects of every two groups, and their `Pairs.room_units`."""
    found = np.ones((len(groups.units), len(groups.pairs)))
    independent = np.full(found.shape, np.inf)
    answers, few = groups.answers, groups.alpha if groups.benchmark.few_units else None
    several = groups.clustered
    if answerable:
        several = several | (answers.neutral_copies[groups.units] > 1)
    if not several.any():
        return found, independent
    grid, weights = answers.grid, answers.neutral[:, 0] * answers.neutral_weights
    for column, (a, b) in enumerate(groups.pairs):
        cells = answers.cells(a, b)
        if answerable:
            cells = cells * weights[:, None]
        for place in np.flatnonzero(several):
            unit = groups.units[place]
            span, copies = grid.span(unit), int(answers.copies[unit])
            rows, table = grid.rows(span), cells[span]
            if answerable:
                copies *= int(answers.neutral_copies[unit])
                rows, table = rows.rows(weights[span] > 0), table[weights[span] > 0]
            if len(table):
                own, many = by_cluster(rows, slice(None), table)
                found[place, column] = design_effect_of(
                    metric, own, many, copies, groups.missing, few=few
                )
                if not len(grid.cluster):
                    counted = own[:, ~INCOMPLETE].sum(axis=1)
                    independent[place, column] = effective_number(counted, many)
    return found, independent


def differences_of(groups: Groups) -> GroupComparison:
    """Compare the accuracies of every two groups."""
    return compare_groups(groups)


def range_rows(groups: Groups, found: GroupComparison) -> dict[str, Any]:
    """Return the rows of the range over groups: the largest absolute difference of two groups.

    A range is never negative, so its limits cannot serve as a test of 0. It is unknown (NaN) if a
    group has no answer that counts.
    """
    # It is between the largest of the lower limits and the largest of the upper limits.
    low, high = absolute_interval(found.estimate.ci_low, found.estimate.ci_high)
    return groups.rows() | {
        "estimate": np.abs(found.estimate.estimate).max(axis=1),
        "ci_low": low.max(axis=1),
        "ci_high": high.max(axis=1),
        "ci_level": 1 - groups.alpha,
        "ci_method": found.method("absolute"),
        "n": found.n,
        "method_note": "a range is never negative; not a test of 0",
    }


def range_bounds(groups: Groups, *, answerable: bool) -> Range:
    """Return the range of max − min over groups over all fill-ins of missing answers.

    With `answerable`, an item whose neutralized variant has no answer may be answerable or not; the
    range is 0 to 1 if no item can be. With more than two groups, the lowest value is a lower bound
    that may not be attainable.
    """
    patterns = groups.patterns
    highest = _highest_difference(patterns, _MOST, answerable)
    # The same for b minus a: whether b can be right, minus whether a is.
    most = np.array([(p[2] != "0") - float(p[1] == "1") for p in PATTERNS])
    low, high = absolute_interval(-_highest_difference(patterns, most, answerable), highest)
    low, high = low.max(axis=1), high.max(axis=1)
    never = answerable & (patterns[:, 0, [0, 2]].sum(axis=(1, 2)) == 0)
    return np.where(never, 0.0, low), np.where(never, 1.0, high)


def _highest_difference(patterns: IntArray, most: FloatArray, answerable: bool) -> FloatArray:
    """Return the highest difference of each pair, given that of each pattern, (units, pairs)."""
    if not answerable:
        every = patterns.sum(axis=2)
        return np.asarray((every @ most) / every.sum(axis=2))
    certain, perhaps = patterns[:, :, 0], patterns[:, :, 2]
    # For items that may or may not be answerable: always include gains. Include an item without a
    # difference only to dilute a loss.
    total = certain @ most + perhaps @ np.maximum(most, 0)
    counted = certain.sum(axis=2) + perhaps[..., most > 0].sum(axis=2)
    dilute = (total < 0) | (counted == 0)
    counted = counted + np.where(dilute, perhaps[..., most == 0].sum(axis=2), 0)
    # If there are only losses, and all may be left out, one of them has to be included.
    return np.where(counted > 0, total / np.maximum(counted, 1), -1.0)


def right_bounds(groups: Groups) -> tuple[Range, Range]:
    """Return each pair's lowest and highest number of right answers, of group a and of group b."""
    every = groups.patterns.sum(axis=2)
    found = []
    for side in (1, 2):
        low, high = (
            (every @ np.array([pattern[side] in signs for pattern in PATTERNS])).astype(float)
            for signs in ("1", "1x")
        )
        found.append((low, high))
    return found[0], found[1]
