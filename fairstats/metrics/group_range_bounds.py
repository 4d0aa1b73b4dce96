"""The range of a disparity over all fill-ins of missing answers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from fairstats.counts.outcomes import OTHER
from fairstats.metrics.accuracy import absolute_interval


def disparity_bounds(outcomes: pd.DataFrame, *, answerable_only: bool) -> tuple[float, float]:
    """Return the range of max − min over groups of P(correct), or of P(correct | answerable).

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns of one unit and attribute, see `fairstats.counts.outcomes`.
    answerable_only : bool
        Whether to condition on answerable items. If the neutralized variant has no answer, the item
        may be either.

    Returns
    -------
    (float, float)
        0 and 1 if no item can be answerable. With more than two groups, the lowest value is a lower
        bound that may not be attainable.
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
    """Return the highest P(a correct) − P(b correct) over all fill-ins."""
    # With several samples, a row has only two groups.
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
    # For items that may or may not be answerable: always include gains. Include an item without a
    # difference only to dilute a loss.
    gain = perhaps & (difference > 0)
    total = (weights * difference)[certain | gain].sum()
    counted = weights[certain | gain].sum()
    neutral = weights[perhaps & (difference == 0)].sum()
    if total < 0 or counted == 0:
        counted += neutral
    # If there are only losses, and all may be left out, one of them has to be included.
    return float(total / counted) if counted else -1.0
