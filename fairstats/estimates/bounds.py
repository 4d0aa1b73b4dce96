"""The missing-answer policy `bounds`: the range of a figure over all fill-ins of missing answers.

Manski's worst case: nothing is assumed of a missing answer, so a figure is not a number but the
set of values that some fill-in gives. Every limit here is attained by one, except where a
docstring says otherwise. Checked against enumeration in tests/estimates/test_bounds.py.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats.counts.outcomes import OTHER
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.metrics.disparity import absolute_interval

Range = tuple[FloatArray, FloatArray]


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
    n = np.asarray(sum(c.values()))
    n00 = c["n00_same"] + c["n00_different"]
    a_low = (c["n11"] + c["n10"] + c["n1x"]) / n
    a_high = a_low + (c["nx1"] + c["nx0"] + c["nxx"]) / n
    b_low = (c["n11"] + c["n01"] + c["nx1"]) / n
    b_high = b_low + (c["n1x"] + c["n0x"] + c["nxx"]) / n
    difference = (a_low - b_high, a_high - b_low)
    same = (c["n11"] + c["n00_same"]) / n
    incomplete = (c["n1x"] + c["n0x"] + c["nx1"] + c["nx0"] + c["nxx"]) / n

    def cell(known: FloatArray, *open_patterns: str) -> Range:
        return known / n, (known + sum(c[name] for name in open_patterns)) / n

    return {
        "accuracy_a": (a_low, a_high),
        "accuracy_b": (b_low, b_high),
        "accuracy_difference": difference,
        "ad": absolute_interval(*difference),
        "cfr": (same, same + incomplete),
        "cohens_h": (_h(a_low, b_high), _h(a_high, b_low)),
        "both_correct": cell(c["n11"], "n1x", "nx1", "nxx"),
        "only_a_correct": cell(c["n10"], "n1x", "nx0", "nxx"),
        "only_b_correct": cell(c["n01"], "n0x", "nx1", "nxx"),
        "neither_correct": cell(n00, "n0x", "nx0", "nxx"),
    }


def mcnemar_bounds(counts: pd.DataFrame, *, method: McNemarMethod = "midp") -> Range:
    """The lowest and highest p-value of McNemar's test over all fill-ins.

    The p-value falls the farther the discordant counts are apart: it is lowest where every open
    pair is made discordant to one side, and highest where they come nearest to balance.
    """
    n10, n01 = counts["n10"].to_numpy(np.int64), counts["n01"].to_numpy(np.int64)
    more10 = (counts["n1x"] + counts["nx0"] + counts["nxx"]).to_numpy(np.int64)
    more01 = (counts["n0x"] + counts["nx1"] + counts["nxx"]).to_numpy(np.int64)
    lowest = np.minimum(
        mcnemar(n10 + more10, n01, method=method).p_value,
        mcnemar(n10, n01 + more01, method=method).p_value,
    )
    to_balance = n10 - n01
    highest = mcnemar(
        n10 + np.clip(-to_balance, 0, more10), n01 + np.clip(to_balance, 0, more01), method=method
    ).p_value
    return lowest, highest


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


def _h(p_a: npt.NDArray[np.float64], p_b: npt.NDArray[np.float64]) -> FloatArray:
    return np.asarray(2 * np.arcsin(np.sqrt(p_a)) - 2 * np.arcsin(np.sqrt(p_b)))
