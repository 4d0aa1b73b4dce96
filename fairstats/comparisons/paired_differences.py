"""Difference between two models in a metric, on the items that both answered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstats._lib.result_objects import Tabular
from fairstats.comparisons.disparity_changes import ad_interval, ad_test
from fairstats.comparisons.item_swaps import (
    Figure,
    IntArray,
    Resampling,
    ad,
    item_interval,
    swap_test,
)
from fairstats.counts.item_outcomes import SUMS


@dataclass(frozen=True, repr=False)
class ModelDifference(Tabular):
    """A metric of the new model minus that of the old one.

    Attributes
    ----------
    old, new : float
        The metric of each model.
    estimate, ci_low, ci_high : float
        new − old and its limits.
    method, test : str
        The method used.
    p_value : float
        For the hypothesis of no difference.
    """

    old: float
    new: float
    estimate: float
    ci_low: float
    ci_high: float
    method: str
    p_value: float
    test: str


def model_difference(
    old: IntArray,
    new: IntArray,
    figure: Figure,
    *,
    alpha: float = 0.05,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
) -> ModelDifference:
    r"""Compute the difference between two models in a metric, with items resampled.

    Parameters
    ----------
    old, new : ndarray of int, shape (items, pairs, 6)
        Each item's contributions to the sums of each pair, in the order of `SUMS`; zeros if a model
        was not asked an item.
    figure : callable
        `accuracy`, `cfr` or `ad`.
    alpha : float
        1 − confidence level.
    n_resamples, rng
        For missing answers, see Notes.

    Returns
    -------
    ModelDifference

    Notes
    -----
    If all items have the same number of answers (none is missing), accuracy and CFR are means of
    one whole number per item. The interval is then the exact BCa bootstrap of that mean. If not,
    items are resampled with `rng`.

    The test swaps the two models' answers item by item. If each item has equally many answers of
    both models, and of both groups, a swap changes no denominator. The distribution over all swaps
    is then computed. If items were asked for different pairs, a pair of n items has weight 1 / n,
    as in the metric. These weights are converted to whole numbers, in the best proportion for which
    the distribution can be computed, usually accurate to 0.1% or better. The test is valid for any
    weights. If answers of one model are missing, the swaps are drawn with `rng`.

    AD is not such a mean: \|D\| has a kink at 0, where its bootstrap fails. But given the signs s,
    t of the two models' differences it is one: \|D_new\| − \|D_old\| = t D_new − s D_old. Each
    choice of signs gives the hypothesis "the two are equal, and s and t are the signs". It is
    tested by swapping, with 99% of the level, and by the exact tests of the signs, with 1%. The
    p-value is the largest over the choices. It has no floor: if the signs are clear, it is that of
    the swaps / 0.99. The interval spends a fifth of alpha on the differences' limits. It is the
    union over the signs compatible with these limits, each part cut at the limits. If more than
    1,024 choices of signs are possible, p-value and interval are bounded over them by a normal
    approximation (`fairstats.comparisons.ad_sign_bounds`). The bounds are wide if many signs are
    open.

    Interval and test agree. If an interval excludes 0 but the test does not reject, the interval is
    extended to 0. If items are so few that the test cannot reject, there is no interval. A p-value
    from random swaps is at least 1 / (n_resamples + 1); `test` notes if it is at this floor.

    References
    ----------
    Berger & Boos (1994), JASA 89:1012-1016, for maximising a p-value over unknown parameters;
    Berger (1982), Technometrics 24:295-300, for a union of hypotheses.
    """
    cells, many = _kinds(old, new)
    totals = np.einsum("k,k...->...", many, cells)
    values = (float(figure(totals[0])), float(figure(totals[1])))
    if np.isnan(values).any():
        nothing = "none (a model has no answers for a group)"
        return ModelDifference(*values, np.nan, -1.0, 1.0, nothing, 1.0, "none")
    resampling = Resampling(n_resamples, rng)
    estimate = values[1] - values[0]
    if figure is ad:
        p_value, test = ad_test(cells, many, resampling)
        low, high, method = ad_interval(cells, many, estimate, alpha, resampling)
    else:
        p_value, test = swap_test(cells, many, figure, resampling)
        low, high, method = item_interval(cells, many, figure, alpha, resampling)
        low, high = max(low, -1.0), min(high, 1.0)
    low, high, method = _agreeing(low, high, method, p_value, alpha, many)
    return ModelDifference(*values, estimate, low, high, method, p_value, test)


def model_p_value(
    old: IntArray,
    new: IntArray,
    figure: Figure,
    *,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
) -> float:
    """Return only the p-value of `model_difference`; 1 if a model has no answer for a group."""
    cells, many = _kinds(old, new)
    totals = np.einsum("k,k...->...", many, cells)
    if np.isnan(figure(totals)).any():
        return 1.0
    resampling = Resampling(n_resamples, rng)
    if figure is ad:
        return ad_test(cells, many, resampling)[0]
    return swap_test(cells, many, figure, resampling)[0]


def _kinds(old: IntArray, new: IntArray) -> tuple[IntArray, IntArray]:
    """Return the kinds of items, (kinds, old and new, pairs, 6), and the number of each kind."""
    size = old.shape[1]
    both = np.concatenate([old, new], axis=1).reshape(len(old), 2 * size * len(SUMS))
    # Same as `np.unique` on rows, but several times faster.
    ordered = both[np.lexsort(both.T[::-1])]
    is_first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(both)]
    first = np.flatnonzero(is_first)
    many = np.diff(np.append(first, len(both)))
    return ordered[first].reshape(len(first), 2, size, len(SUMS)), many


def _agreeing(
    low: float, high: float, method: str, p_value: float, alpha: float, many: IntArray
) -> tuple[float, float, str]:
    """Return the interval, extended to agree with a test that does not reject."""
    # The smallest mid-p of n items: all change in one direction, and half of either extreme counts.
    if 0.5 ** int(many.sum()) > alpha:
        return -1.0, 1.0, "none (too few items for a test at this level)"
    if p_value > alpha and not low <= 0 <= high:
        return min(low, 0.0), max(high, 0.0), f"{method}, extended to 0"
    return low, high, method
