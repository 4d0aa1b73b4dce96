"""Impact ratio, the lowest accuracy of a group divided by the highest."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats.counts.outcomes import OTHER
from fairstats.metrics.accuracy_ratio import accuracy_ratio, ratio_bounds
from fairstats.metrics.group_range import DifferencesOf, Disparity, PairDifferences, method_of
from fairstats.metrics.metric import Groups, GroupsMetric, Range, Row

_ratios_of = DifferencesOf(effects="ratio_effects", measure=accuracy_ratio)


def smallest_ratio(found: PairDifferences, design_effect: float = 1.0) -> Disparity:
    """Return the smallest ratio over groups, from the ratios of all pairs of groups.

    The groups with the lowest and the highest accuracy are chosen from the data. So the interval is
    derived from those of all pairs, which hold simultaneously: the smallest ratio is between the
    smallest of the lower limits and the smallest of the upper limits.
    """
    ratios = found.estimate
    low, high = (float(side.min()) for side in _at_most_1(ratios.ci_low, ratios.ci_high))
    # If a group has no answers, or none is right, the ratio is unknown.
    estimate = float(np.minimum(ratios.estimate, 1 / _positive(ratios.estimate)).min())
    return Disparity(
        estimate, low, high, method_of(found, "inverted above 1", design_effect), found.n
    )


def _at_most_1(low: FloatArray, high: FloatArray) -> Range:
    """Return the range of min(r, 1 / r) for r from low to high."""
    inverse_low, inverse_high = 1 / _positive(high), 1 / _positive(low)
    lowest = np.minimum(low, inverse_low)
    highest = np.where((low <= 1) & (high >= 1), 1.0, np.minimum(high, inverse_high))
    return lowest, highest


def _positive(ratio: FloatArray) -> FloatArray:
    """Return ratios that can be inverted: the inverse of the least number is no limit."""
    return np.where(ratio == 0, np.finfo(np.float64).tiny, ratio)


def impact_ratio_bounds(outcomes: pd.DataFrame) -> tuple[float, float]:
    """Return the range of the impact ratio over all fill-ins of missing answers.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns of one unit and attribute, see `fairstats.counts.outcomes`.

    Returns
    -------
    (float, float)
        With more than two groups, the highest value is an upper bound that may not be attainable.
    """
    signs, weights = outcomes["outcomes"].str, outcomes["n"].to_numpy(dtype=np.float64)
    ranges = []
    for a, b in combinations(range(len(outcomes["outcomes"].iloc[0])), 2):
        # With several samples, a row has only two groups.
        there = ((signs[a] != OTHER) & (signs[b] != OTHER)).to_numpy()
        limits = []
        for group in (a, b):
            right, open_ = (there & (signs[group] == sign).to_numpy() for sign in "1x")
            limits += [weights @ right, weights @ (right | open_)]
        ranges.append(_at_most_1(*ratio_bounds(*map(np.asarray, limits))))
    low, high = zip(*ranges, strict=True)
    return float(min(low)), float(min(high))


def _row(groups: Groups) -> Row:
    effect = max(groups.ratio_effects.values(), default=1.0)
    found = smallest_ratio(groups.once(_ratios_of), effect)
    note = "a ratio of the lowest to the highest is at most 1; not a test of 1"
    return found.to_row() | {"ci_level": 1 - groups.alpha, "method_note": note}


IMPACT_RATIO = GroupsMetric(
    name="impact_ratio",
    label="Impact ratio",
    definition="Lowest accuracy of a group divided by the highest, over an attribute's groups. "
    "Which groups these are is chosen from the data, so the interval covers all pairs of groups.",
    formula=r"\min_g \mathrm{Acc}_g / \max_g \mathrm{Acc}_g",
    interval="smallest of the limits of the pairs' ratios, simultaneous by Bonferroni",
    order=225,
    lowest=0,
    highest=1,
    ideal=1,
    applies=lambda groups: True,
    compute=lambda groups: [_row(groups)],
    bounds=lambda groups: impact_ratio_bounds(groups.outcomes),
    together=_ratios_of.together,
)
