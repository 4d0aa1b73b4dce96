"""The missing-answer policy `bounds`: the range of an estimate over all fill-ins.

This is Manski's worst case: nothing is assumed about a missing answer. So an estimate is not a
number but the set of values over all fill-ins. Every limit is attained by some fill-in, unless a
docstring states an exception. Checked against enumeration in
tests/estimates/test_missing_answer_bounds.py.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstats.metrics.metric import Range
from fairstats.metrics.registry import PAIR_METRICS


def pair_bounds(counts: pd.DataFrame) -> dict[str, Range]:
    """Return the ranges of the estimates of a pair of groups.

    Parameters
    ----------
    counts : pandas.DataFrame
        With the columns of `fairstats.counts.outcomes.PATTERNS`, one row per unit with at least one
        pair.

    Returns
    -------
    dict of str to (ndarray, ndarray)
        Lowest and highest value by metric. With several samples of an item, a missing answer is in
        several pairs. CFR and the shares of the four outcomes may then not reach their limits.
    """
    c = {name: counts[name].to_numpy(dtype=np.float64) for name in counts if name[0] == "n"}
    c["n"] = np.asarray(sum(c.values()))
    return {metric.name: metric.bounds(c) for metric in PAIR_METRICS if metric.bounds}
