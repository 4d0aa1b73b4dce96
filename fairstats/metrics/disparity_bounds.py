"""The range of a disparity over all fill-ins of missing answers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from fairstats.counts.outcomes import OTHER
from fairstats.metrics.accuracy import absolute_interval


def disparity_bounds(outcomes: pd.DataFrame, *, answerable_only: bool) -> tuple[float, float]:
    """The range of max − min over groups of P(correct), or of P(correct | answerable).

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns of one unit and attribute, see `fairstats.counts.outcomes`.
    answerable_only : bool
        Condition on the answerable items; an item whose neutralized variant has no answer may
        then be answerable or not.

    Returns
    -------
    (float, float)
        0 and 1 where no item can be answerable. With more than two groups the lowest value is a
        lower bound that no fill-in may attain.
    """
    k = len(outcomes["outcomes"].iloc[0])
    if answerable_only and (outcomes["answerable"] == "0").all():
        return 0.0, 1.0
    limits = []
    for a, b in combinations(range(k), 2):
        high = _highest_difference(outcomes, a, b, answerable_only)
        low = -_highest_difference(outcomes, b, a, answerable_only)
        limits.append(absolute_interval(low, high))
    return float(max(low for low, _ in limits)), float(max(high for _, high in limits))


def _highest_difference(outcomes: pd.DataFrame, a: int, b: int, answerable_only: bool) -> float:
    """The highest P(a correct) − P(b correct) that a fill-in gives."""
    # With several samples a row is about two groups only.
    signs = outcomes["outcomes"].str
    outcomes = outcomes[(signs[a] != OTHER) & (signs[b] != OTHER)]
    weights = outcomes["n"].to_numpy(dtype=np.float64)
    best_a = (outcomes["outcomes"].str[a] != "0").to_numpy(dtype=np.float64)
    best_b = (outcomes["outcomes"].str[b] == "1").to_numpy(dtype=np.float64)
    difference = best_a - best_b
    if not answerable_only:
        return float((weights * difference).sum() / weights.sum())
    certain = (outcomes["answerable"] == "1").to_numpy()
    perhaps = (outcomes["answerable"] == "x").to_numpy()
    # Of the items that may be answerable or not: a gain is always worth counting in; one that
    # changes nothing is worth it only to thin out a loss.
    gain = perhaps & (difference > 0)
    total = (weights * difference)[certain | gain].sum()
    counted = weights[certain | gain].sum()
    neutral = weights[perhaps & (difference == 0)].sum()
    if total < 0 or counted == 0:
        counted += neutral
    # With nothing but losses that may be left out, one of them has to be counted in.
    return float(total / counted) if counted else -1.0
