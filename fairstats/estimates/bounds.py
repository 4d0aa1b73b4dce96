"""The missing-answer policy `bounds`: the range of a figure over all fill-ins of missing answers.

Manski's worst case: nothing is assumed of a missing answer, so a figure is not a number but the
set of values that some fill-in gives. Every limit is attained by one, except where a docstring
says otherwise. Checked against enumeration in tests/estimates/test_bounds.py.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstats.metrics.metric import Range
from fairstats.metrics.registry import PAIR_METRICS


def pair_bounds(counts: pd.DataFrame) -> dict[str, Range]:
    """The ranges of the figures of a pair of groups.

    Parameters
    ----------
    counts : pandas.DataFrame
        With the columns of `fairstats.counts.outcomes.PATTERNS`, one row a unit with at least one
        pair.

    Returns
    -------
    dict of str to (ndarray, ndarray)
        Lowest and highest value by metric. With several samples of an item, a missing answer is in
        several pairs, so CFR and the shares of the four outcomes may not reach their limits.
    """
    c = {name: counts[name].to_numpy(dtype=np.float64) for name in counts if name[0] == "n"}
    c["n"] = np.asarray(sum(c.values()))
    return {metric.name: metric.bounds(c) for metric in PAIR_METRICS if metric.bounds}
