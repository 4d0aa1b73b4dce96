"""Verdicts over the possible values of missing answers: the extreme completions of a pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats._lib.row_groups import row_keys, text_array
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.asked import Asked
from fairstats.counts.outcomes import MISSING, PAIR_COLUMNS, PATTERNS
from fairstats.inference.intervals import tango_limits
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues

IntArray = npt.NDArray[np.int64]
_INCOMPLETE = [pattern for pattern in PATTERNS if MISSING in pattern]


def completions(
    counts: pd.DataFrame,
    p_values: Mapping[tuple[str, ...], float],
    families: npt.NDArray[np.object_],
    known: Mapping[str, Benchmark],
    asked: Asked,
    effects: Mapping[str, FloatArray],
    *,
    alpha: float,
    adjust: AdjustMethod = "holm",
    test: McNemarMethod = "midp",
) -> pd.DataFrame:
    """Return the range of a pair's difference, interval and p-value over all completions.

    Items of the benchmark that a unit was not asked count as missing. So a model cannot benefit
    from being asked only selected items.

    Parameters
    ----------
    counts : pandas.DataFrame
        The pairs' outcome counts.
    p_values : mapping of (str, ...) to float
        The p-values of the test used for the verdict, by `PAIR_COLUMNS`.
    families : ndarray of str
        The family of each row of `counts`, see `fairstats.estimates.adjusted_pvalues.families`.
    known, asked
        The benchmarks, and the questions that the units were asked.
    effects : mapping of str to ndarray
        The design effects of the differences by benchmark, in the order of its rows.
    alpha : float
        The level of the verdicts.
    adjust : {"holm", "hommel", "bh", "by"}
        How the p-values are adjusted over their families.
    test : {"midp", "exact", "asymptotic", "asymptotic_cc"}
        The test used for the verdict, see `mcnemar`.

    Returns
    -------
    pandas.DataFrame
        One row per row of `counts`: ``lowest`` and ``highest`` difference; ``inner_low`` and
        ``inner_high``, the outermost limits of Tango's 1 − 2 alpha intervals, NaN if no answer is
        missing; ``p_lowest`` and ``p_highest``, adjusted; ``unasked`` and ``items``; and ``open``,
        whether any answer is missing.

    Notes
    -----
    The difference is lowest if every incomplete pair favours b as much as possible, and highest if
    every pair favours a. McNemar's p-value falls as the discordant counts move apart, and is
    highest if they are closest to balance. Counts of clustered answers are first divided by their
    design effect, as in their intervals.

    References
    ----------
    Manski (2003), Partial Identification of Probability Distributions.
    """
    table = unadjusted_completions(
        counts, p_values, families, known, asked, effects, alpha=alpha, test=test
    )
    return adjusted_completions(table, adjust)


def unadjusted_completions(
    counts: pd.DataFrame,
    p_values: Mapping[tuple[str, ...], float],
    families: npt.NDArray[np.object_],
    known: Mapping[str, Benchmark],
    asked: Asked,
    effects: Mapping[str, FloatArray],
    *,
    alpha: float,
    test: McNemarMethod = "midp",
) -> pd.DataFrame:
    """Return the table of `completions` before its p-values are adjusted, with their family."""
    unasked, items = np.zeros((2, len(counts)), dtype=np.int64)
    effect = np.ones(len(counts))
    names = text_array(counts["benchmark"])
    for name in dict.fromkeys(names):
        own = names == name
        unasked[own], items[own] = asked.unasked(counts[own], known[name])
        effect[own] = effects.get(name, 1.0)
    table = _of_pairs(counts, unasked, items, effect, alpha, test)
    keys = row_keys(counts, PAIR_COLUMNS)
    published = np.array([p_values.get(key, np.nan) for key in keys], dtype=np.float64)
    # Without a missing answer there is one completion, with the published p-value.
    is_open = table["open"]
    table["p_lowest"] = np.where(is_open, np.fmin(table["p_lowest"], published), published)
    table["p_highest"] = np.where(is_open, np.fmax(table["p_highest"], published), published)
    return pd.DataFrame(table | {"family": families})


def adjusted_completions(table: pd.DataFrame, adjust: AdjustMethod) -> pd.DataFrame:
    """Adjust the p-values of `unadjusted_completions` over their families."""
    adjusted = {}
    for name in ("p_lowest", "p_highest"):
        found = adjusted_within(table["family"].to_numpy(), table[name].to_numpy(), adjust)
        # A pair in no family keeps its p-values.
        adjusted[name] = np.where(np.isnan(found), table[name], found)
    return table.assign(**adjusted)


def adjusted_within(
    family: npt.NDArray[np.object_], p_values: FloatArray, adjust: AdjustMethod
) -> FloatArray:
    """Return p-values adjusted within their families; NaN if in none."""
    adjusted = np.full(len(p_values), np.nan)
    for name in pd.unique(family[~pd.isna(family)]):
        adjusted[family == name] = adjust_pvalues(p_values[family == name], method=adjust)
    return adjusted


def _of_pairs(
    rows: pd.DataFrame,
    unasked: IntArray,
    items: IntArray,
    effect: FloatArray,
    alpha: float,
    test: McNemarMethod,
) -> dict[str, npt.NDArray[Any]]:
    """Return the extreme completions of each row, with unadjusted p-values; NaN if it has none."""
    c = {name: rows[name].to_numpy(dtype=np.int64) for name in PATTERNS}
    answered = np.asarray(sum(c.values()))
    # With several samples, an item has several pairs, whether or not it was asked.
    more = np.rint(answered * unasked / np.maximum(items - unasked, 1)).astype(np.int64)
    for_a = c["n1x"] + c["nx0"] + c["nxx"] + more
    for_b = c["n0x"] + c["nx1"] + c["nxx"] + more
    n10, n01, n = c["n10"], c["n01"], answered + more
    is_open = (unasked > 0) | (sum(c[name] for name in _INCOMPLETE) > 0)

    def p_value(only_a: IntArray, only_b: IntArray) -> FloatArray:
        n10, n01 = (
            np.floor(side[is_open] / effect[is_open]).astype(np.int64) for side in (only_a, only_b)
        )
        return np.asarray(mcnemar(n10=n10, n01=n01, method=test).p_value)

    # Most pairs have no missing answer, and then there is nothing to complete.
    found = np.full((4, len(rows)), np.nan)
    if is_open.any():
        towards_a = np.clip(n01 - n10, 0, for_a)
        towards_b = np.clip(n10 - n01, 0, for_b)
        low, high = tango_limits(
            np.stack([n10, n10 + for_a])[:, is_open],
            np.stack([n01 + for_b, n01])[:, is_open],
            n[is_open],
            alpha=2 * alpha,
            design_effect=effect[is_open],
        )
        found[:, is_open] = (
            low[0],
            high[1],
            np.fmin(p_value(n10 + for_a, n01), p_value(n10, n01 + for_b)),
            p_value(n10 + towards_a, n01 + towards_b),
        )
    inner_low, inner_high, p_lowest, p_highest = found
    return {
        "lowest": (n10 - n01 - for_b) / np.maximum(n, 1),
        "highest": (n10 + for_a - n01) / np.maximum(n, 1),
        "inner_low": inner_low,
        "inner_high": inner_high,
        "p_lowest": p_lowest,
        "p_highest": p_highest,
        "unasked": unasked,
        "items": items,
        "open": is_open,
    }


def completed_sums(cells: IntArray, figure: str, *, favourable: bool) -> IntArray:
    """Complete a model's missing answers in its favour, or against it.

    Parameters
    ----------
    cells : ndarray of int, shape (items, pairs, 10)
        Number of pairs of answers with each of `PATTERNS`, for each item and pair of groups.
    figure : {"accuracy", "cfr", "ad"}
        The metric to complete for: a high accuracy or CFR is good, and a low AD is good.
    favourable : bool
        Whether to complete in the model's favour.

    Returns
    -------
    ndarray of int, shape (items, pairs, 6)
        The sums of `fairstats.counts.item_outcomes.SUMS`. For AD, every missing answer moves the
        signed difference in the same direction, towards 0 if favourable. If the difference would
        pass 0, the smallest AD is 0, at an intermediate completion.
    """
    c = {name: cells[..., place] for place, name in enumerate(PATTERNS)}
    n = cells.sum(axis=-1)
    right_a, right_b = c["n11"] + c["n10"] + c["n1x"], c["n11"] + c["n01"] + c["nx1"]
    missing_a = c["nx1"] + c["nx0"] + c["nxx"]
    missing_b = c["n1x"] + c["n0x"] + c["nxx"]
    same = c["n11"] + c["n00_same"]
    if figure == "ad":
        totals = [
            (right_a + missing_a).sum(axis=0) - right_b.sum(axis=0),
            right_a.sum(axis=0) - (right_b + missing_b).sum(axis=0),
        ]
        larger = np.abs(totals[0]) >= np.abs(totals[1])
        to_a = larger != favourable
        right_a = right_a + np.where(to_a, missing_a, 0)
        right_b = right_b + np.where(to_a, 0, missing_b)
    elif favourable:
        right_a, right_b = right_a + missing_a, right_b + missing_b
        same = same + sum(c[name] for name in _INCOMPLETE)
    return np.stack([right_a, n, right_b, n, same, n], axis=-1)
