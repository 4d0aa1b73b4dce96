"""Figures over all groups of an attribute: DP, EO, impact ratio, accuracy, Cochran's Q.

An item is answerable, for EO, for a model that answers its neutralized variant correctly. This
conditions on the model's own answer, not on the true label, so EO is not the equal opportunity of
Hardt, Price and Srebro (2016).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats._lib.result_objects import Estimate, FloatArray, naming_effect
from fairstats.benchmarks.declaration import BASELINE
from fairstats.counts.outcomes import by_cluster
from fairstats.counts.patterns import INCOMPLETE, PATTERNS, IntArray, apply_policy
from fairstats.inference.clustered_answers import design_effect, few_clusters_effect
from fairstats.inference.mcnemar import cochran_q
from fairstats.inference.unit_means import effective_number
from fairstats.metrics.accuracy import (
    ACCURACY_DIFFERENCE,
    absolute_interval,
    accuracy,
    accuracy_difference,
)
from fairstats.metrics.accuracy_ratio import ACCURACY_RATIO, accuracy_ratio, ratio_bounds
from fairstats.metrics.metric import (
    SHARES,
    Columns,
    Groups,
    GroupsMetric,
    PairMetric,
    Range,
    columns_of,
    design_effect_of,
)

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
    """Return the design effects of every two groups, and `Pairs.repeated_units`."""
    found = np.ones((len(groups.units), len(groups.pairs)))
    independent = np.full(found.shape, np.inf)
    several = np.flatnonzero(groups.several[groups.units])
    if not len(several):
        return found, independent
    answers, few = groups.answers, groups.alpha if groups.benchmark.few_units else None
    grid, weights = answers.grid, answers.neutral[:, 0] * answers.neutral_weights
    for column, (a, b) in enumerate(groups.pairs):
        cells = answers.cells(a, b)
        if answerable:
            cells = cells * weights[:, None]
        for place in several:
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
                if answers.copies[unit] > 1:
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


DP = GroupsMetric(
    name="dp",
    label="DP, demographic parity",
    definition="Range of accuracy over an attribute's groups, which some studies call demographic "
    "parity. With two groups it equals AD, so pages show AD alone.",
    formula=r"\max_g P(\text{right} \mid g) - \min_g P(\text{right} \mid g)",
    interval="largest of the limits of the pairs' differences, simultaneous by Bonferroni",
    order=220,
    lowest=0,
    highest=1,
    ideal=0,
    applies=lambda groups: True,
    compute=lambda groups: range_rows(groups, groups.once(differences_of)),
    bounds=lambda groups: range_bounds(groups, answerable=False),
)


def _answerable_rows(groups: Groups) -> Columns:
    rows = range_rows(groups, compare_groups(groups, answerable=True))
    note = rows["method_note"]
    note += "; P(correct | the model's neutral answer is correct), not Hardt's equal opportunity"
    several = groups.answers.neutral_copies[groups.units] > 1
    counts = f"{note}; n counts each pair of answers once per right neutral answer"
    return rows | {"method_note": np.where(several, counts, note)}


EO = GroupsMetric(
    name="eo",
    label="EO, gap on answerable items",
    definition="As DP, over the items whose neutralized variant the model answers correctly; only "
    "if the benchmark has a baseline. Not the equal opportunity of Hardt et al., which conditions "
    "on the true label.",
    formula=r"\max_g P(\text{right} \mid g, \text{answerable}) "
    r"- \min_g P(\text{right} \mid g, \text{answerable})",
    interval="as of DP",
    order=230,
    lowest=0,
    highest=1,
    ideal=0,
    applies=lambda groups: BASELINE in groups.benchmark.attributes,
    compute=_answerable_rows,
    bounds=lambda groups: range_bounds(groups, answerable=True),
)


def _ratio_rows(groups: Groups) -> Columns:
    """Return the smallest ratio over groups, from the ratios of all pairs of groups.

    The groups with the lowest and the highest accuracy are chosen from the data. So the interval is
    derived from those of all pairs, which hold simultaneously: the smallest ratio is between the
    smallest of the lower limits and the smallest of the upper limits.
    """
    found = compare_groups(groups, measure=accuracy_ratio, metric=ACCURACY_RATIO)
    ratios = found.estimate
    low, high = _at_most_1(ratios.ci_low, ratios.ci_high)
    # If a group has no answers, or none is right, the ratio is unknown.
    estimate = np.minimum(ratios.estimate, 1 / _positive(ratios.estimate))
    return groups.rows() | {
        "estimate": estimate.min(axis=1),
        "ci_low": low.min(axis=1),
        "ci_high": high.min(axis=1),
        "ci_level": 1 - groups.alpha,
        "ci_method": found.method("inverted above 1"),
        "n": found.n,
        "method_note": "a ratio of the lowest to the highest is at most 1; not a test of 1",
    }


def _at_most_1(low: FloatArray, high: FloatArray) -> Range:
    """Return the range of min(r, 1 / r) for r from low to high."""
    inverse_low, inverse_high = 1 / _positive(high), 1 / _positive(low)
    lowest = np.minimum(low, inverse_low)
    highest = np.where((low <= 1) & (high >= 1), 1.0, np.minimum(high, inverse_high))
    return lowest, highest


def _positive(ratio: FloatArray) -> FloatArray:
    """Return ratios that can be inverted: the inverse of the least number is no limit."""
    return np.where(ratio == 0, np.finfo(np.float64).tiny, ratio)


def _ratio_bounds(groups: Groups) -> Range:
    """Return the range over all fill-ins; with more than two groups, possibly not attainable."""
    one, other = right_bounds(groups)
    low, high = _at_most_1(*ratio_bounds(*one, *other))
    return low.min(axis=1), high.min(axis=1)


IMPACT_RATIO = GroupsMetric(
    name="impact_ratio",
    label="Impact ratio",
    definition="Lowest accuracy, or selection rate, of a group divided by the highest. "
    "Which groups these are is chosen from the data, so the interval covers all pairs of groups.",
    formula=r"\min_g \mathrm{Acc}_g / \max_g \mathrm{Acc}_g",
    interval="smallest of the limits of the pairs' ratios, simultaneous by Bonferroni",
    order=225,
    lowest=0,
    highest=1,
    ideal=1,
    applies=lambda groups: True,
    kinds=SHARES,
    compute=_ratio_rows,
    bounds=_ratio_bounds,
)


def _overall_rows(groups: Groups) -> Columns:
    answers, grid = groups.answers, groups.answers.grid
    wrong = answers.wrong + answers.missing * (groups.missing == "incorrect")
    # An item's answers are a cluster, with these numbers of right and wrong ones.
    clusters = np.stack([answers.right.sum(axis=1), wrong.sum(axis=1)], axis=1)
    kept = groups.whole if groups.missing == "complete" else np.ones(len(grid.unit), dtype=bool)
    rows = []
    for unit in groups.units:
        if groups.several[unit] and not len(grid.cluster):
            rows.append({"method_note": "several samples per item: not estimated"})
            continue
        span = grid.span(unit)
        there = grid.rows(span).rows(kept[span])
        own, items = by_cluster(there, slice(None), clusters[span][kept[span]])
        right, false = (int(number) for number in items @ own)
        n = right + false
        share = right / n if n else 0.0
        influence, effect = [1 - share, -share], 1.0
        if n and groups.benchmark.few_units:
            effect = few_clusters_effect(own, items, influence, alpha=groups.alpha)
        elif n:
            effect = design_effect(own, items, influence)
        found = accuracy(right, n, alpha=groups.alpha, design_effect=effect)
        row = {name: np.asarray(value).item() for name, value in found.to_row().items()}
        row |= {"ci_method": naming_effect(row["ci_method"], effect)}
        note = "items are the independent units" * (groups.benchmark.cluster is None)
        rows.append(row | {"method_note": note})
    return {**groups.rows(), **columns_of(rows)}


def _overall_bounds(groups: Groups) -> Range:
    """Return the lowest and highest share; over all pairs of groups, every group counts alike."""
    (low_a, high_a), (low_b, high_b) = right_bounds(groups)
    low, high = (low_a + low_b).sum(axis=1), (high_a + high_b).sum(axis=1)
    n = 2 * groups.patterns.sum(axis=(1, 2, 3))
    return low / n, high / n


OVERALL_ACCURACY = GroupsMetric(
    name="overall_accuracy",
    label="Accuracy, all groups",
    definition="Share of the answers for all of an attribute's groups that are right.",
    formula=r"\text{right answers} / \text{answers}",
    interval="Wilson, with items as clusters",
    order=185,
    lowest=0,
    highest=1,
    ideal=1,
    applies=lambda groups: True,
    compute=_overall_rows,
    bounds=_overall_bounds,
)


def _simultaneous_rows(groups: Groups) -> Columns:
    found, many = groups.once(differences_of), len(groups.pairs)
    names = np.array(list(groups.attribute.groups), dtype=object)
    a, b = np.tile(np.array(groups.pairs).T, len(groups.units))
    keys = {
        name: np.repeat(np.broadcast_to(column, len(groups.units)), many)
        for name, column in groups.rows().items()
    }
    estimate = {name: np.ravel(value) for name, value in found.estimate.to_row().items()}
    methods = np.broadcast_to(found.estimate.method, found.effects.shape).ravel()
    return (
        keys
        | estimate
        | {
            "group_a": names[a],
            "group_b": names[b],
            "ci_level": 1 - groups.alpha,
            "ci_method": [
                f"{naming_effect(method, effect)}, Bonferroni over {many} pairs"
                for method, effect in zip(methods, found.effects.ravel(), strict=True)
            ],
            "method_note": "all intervals of the attribute hold at once",
        }
    )


SIMULTANEOUS = GroupsMetric(
    name="accuracy_difference_simultaneous",
    label="Accuracy difference, simultaneous",
    definition="Accuracy difference between every two groups, for attributes with more than two. "
    "All intervals of an attribute hold simultaneously.",
    formula=r"\mathrm{Acc}_g - \mathrm{Acc}_h",
    interval="as of the accuracy difference, by Bonferroni",
    order=190,
    lowest=-1,
    highest=1,
    ideal=0,
    applies=lambda groups: len(groups.attribute.groups) > 2,
    compute=_simultaneous_rows,
)


def _cochran_rows(groups: Groups) -> Columns:
    rows: list[dict[str, Any]] = []
    for unit in groups.units:
        if why := groups.why_clustered(unit):
            rows.append({"method_note": f"{why}no test"})
            continue
        states, weights = groups.complete(unit)
        result = cochran_q(states, weights)
        rows.append(
            {
                "n": int(weights.sum()),
                "statistic": result.statistic,
                "p_value": result.p_value,
                "test": f"cochran_q, {result.df} df",
                "method_note": "over the items with an answer for every group; not adjusted",
            }
        )
    return {**groups.rows(), **columns_of(rows)}


COCHRAN_Q = GroupsMetric(
    name="cochran_q",
    label="Cochran's Q",
    definition="Test of equal accuracy, or selection rates, of more than two groups; not adjusted.",
    order=200,
    applies=lambda groups: len(groups.attribute.groups) > 2,
    kinds=SHARES,
    compute=_cochran_rows,
)
