"""Impact ratio, the lowest accuracy of a group divided by the highest."""

from __future__ import annotations

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.metrics.accuracy_ratio import ACCURACY_RATIO, accuracy_ratio, ratio_bounds
from fairstats.metrics.group_range import compare_groups, right_bounds
from fairstats.metrics.metric import SHARES, Columns, Groups, GroupsMetric, Range


def _rows(groups: Groups) -> Columns:
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


def _bounds(groups: Groups) -> Range:
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
    compute=_rows,
    bounds=_bounds,
)
