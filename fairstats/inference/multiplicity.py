"""p-values adjusted for the number of tests in a family, and the ranks that they leave possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import (
    BoolArray,
    IntArray,
    check_alpha,
    check_choice,
    check_numbers,
    check_p_values,
    check_resampling,
)
from fairstats.inference.clustered_answers import all_signs

AdjustMethod = Literal["holm", "hommel", "bh", "by"]


def adjust_pvalues(p_values: npt.ArrayLike, *, method: AdjustMethod = "holm") -> FloatArray:
    """Adjust p-values over the family they form.

    Holm's step-down procedure controls the probability of any false rejection in the family. It
    makes no assumption on how the tests depend on each other. It is the default because the models
    of a benchmark answer the same items.

    Parameters
    ----------
    p_values : array_like of float
        The family. NaN (the test was not possible) stays NaN and does not count.
    method : {"holm", "hommel", "bh", "by"}
        Holm and Hommel control the probability of any false rejection, Hommel under positive
        dependence. Benjamini-Hochberg (positive dependence) and Benjamini-Yekutieli (any
        dependence) control the expected share of false rejections among the rejections.

    Returns
    -------
    ndarray
        Adjusted p-values, in [0, 1], of the same length.

    Raises
    ------
    ValueError
        If the method is unknown or a p-value is outside [0, 1].

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6:65-70; Hommel (1988), Biometrika 75:383-386;
    Benjamini & Hochberg (1995), JRSS B 57:289-300; Benjamini & Yekutieli (2001), Annals of
    Statistics 29:1165-1188. The last two are computed by `scipy.stats.false_discovery_control`,
    Hommel's by `statsmodels.stats.multitest`; all are checked against R's ``p.adjust`` (tests/r).

    Examples
    --------
    >>> adjust_pvalues([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    check_choice("method", method, get_args(AdjustMethod))
    p = check_p_values("p_values", p_values)
    there = ~np.isnan(p)
    adjusted = np.full(p.shape, np.nan)
    if there.any():
        adjusted[there] = np.minimum(_adjusted(p[there], method), 1.0)
    return adjusted


def _adjusted(p: FloatArray, method: AdjustMethod) -> FloatArray:
    if method == "holm":
        order = np.argsort(p, kind="stable")
        adjusted = np.empty(len(p))
        adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
        return adjusted
    if method == "hommel":
        from statsmodels.stats.multitest import multipletests

        return np.asarray(multipletests(p, method="hommel")[1])
    return np.asarray(scipy.stats.false_discovery_control(p, method=method))


@dataclass(frozen=True, repr=False)
class MaxTResult(Tabular):
    """Result of `max_t`: statistic, p_value (unadjusted) and p_adjusted, one per test.

    `n_resamples` is the number of flips that were used.
    """

    statistic: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    n_resamples: int


def max_t(
    differences: npt.ArrayLike,
    *,
    n_resamples: int = 9999,
    rng: np.random.Generator | int,
) -> MaxTResult:
    """Adjust tests that share their items by the step-down max-T procedure.

    Models answer the same items, so their tests are correlated and Holm's correction is stricter
    than necessary. This procedure flips items, each with all of its tests at once. An item's
    differences all keep or all change their sign, which preserves the correlation.

    Parameters
    ----------
    differences : array_like of float, shape (items, tests)
        Each item's difference in each test, e.g. correct for a minus correct for b; 0 if the item
        is not part of a test.
    n_resamples : int
        Number of random flips. If there are at most so many in all, 2ⁿ for n items that differ in
        a test, each is used once, and the p-values are exact.
    rng : numpy.random.Generator or int
        Generator or seed of random flips.

    Returns
    -------
    MaxTResult
        ``statistic`` is Σ d / √(Σ d²). If all differences of a test are 0, it is 0 with p-values of
        1. A p-value of random flips is at least 1 / (n_resamples + 1), never 0.

    Raises
    ------
    ValueError
        For differences that are not finite numbers of shape (items, tests), `n_resamples` that is
        not a whole number of at least 1, or an `rng` that is neither a seed nor a generator.

    Notes
    -----
    Items with the same differences are flipped together by one binomial number, so the cost does
    not depend on how many there are.

    References
    ----------
    Westfall & Young (1993), Resampling-Based Multiple Testing; Romano & Wolf (2005), JASA
    100:94-108, for the step-down procedure.

    Examples
    --------
    >>> d = np.repeat([[1, 1], [-1, 0], [0, 0]], [30, 8, 60], axis=0)
    >>> max_t(d, rng=1, n_resamples=999).p_adjusted
    array([0.001, 0.001])
    """
    generator = check_resampling(n_resamples, rng)
    d = check_numbers("differences", differences)
    if d.ndim != 2:
        raise ValueError(f"differences must have shape (items, tests); got {d.shape}")
    whole, many = np.unique(d, axis=0, return_counts=True)
    # Use floating point: squares of billions do not fit into 64 bits.
    kinds = whole.astype(np.float64)
    squares = many @ kinds**2
    scale = np.sqrt(np.where(squares > 0, squares, 1))
    statistic = many @ kinds / scale
    differ = kinds.any(axis=1)
    n_flips, number = n_resamples, int(many[differ].sum())
    # 2^number is at most n_resamples.
    if number < int(n_resamples).bit_length():
        n_flips, kinds = 2**number, np.repeat(kinds[differ], many[differ], axis=0)
        flips = all_signs(number)
    else:
        drawn = 2 * generator.binomial(many, 0.5, (n_resamples, len(many))) - many
        # The observed signs are one of the possible flips, so a p-value is never 0.
        flips = np.vstack([many, drawn])
    flipped = np.abs(flips @ kinds) / scale
    size = np.abs(statistic)
    alone = _at_least(flipped, size).mean(axis=0)
    return MaxTResult(statistic, alone, _step_down(size, flipped), n_flips)


def _step_down(size: FloatArray, resampled: FloatArray) -> FloatArray:
    """Return step-down p-values: a test is compared with the maximum of those not yet decided."""
    order = np.argsort(-size, kind="stable")
    adjusted, highest = np.empty(len(size)), 0.0
    # Backwards: the largest statistic of the tests that are still to be decided.
    maxima = np.maximum.accumulate(resampled[:, order][:, ::-1], axis=1)[:, ::-1]
    for place, test in enumerate(order):
        highest = max(highest, float(_at_least(maxima[:, place], size[test]).mean()))
        adjusted[test] = highest
    return adjusted


def _at_least(resampled: FloatArray, size: npt.ArrayLike) -> BoolArray:
    """Return which resamples reach the observed statistics; equal ones may differ by rounding."""
    return resampled >= np.asarray(size) * (1 - 1e-9)


@dataclass(frozen=True, repr=False)
class RankSets(Tabular):
    """Ranks and their confidence sets, one element per model.

    Attributes
    ----------
    rank : ndarray of int
        The rank by the estimate, with 1 the best; equal estimates share the better rank.
    rank_low, rank_high : ndarray of int
        The best and the worst rank that are compatible with the comparisons.
    """

    rank: IntArray
    rank_low: IntArray
    rank_high: IntArray


def rank_sets(
    estimates: npt.ArrayLike, p_adjusted: npt.ArrayLike, *, alpha: float = 0.05
) -> RankSets:
    """Compute simultaneous confidence sets for the ranks of models compared in pairs.

    A model's best possible rank is 1 plus the number of models shown to be better. Its worst
    possible rank is the number of models minus the number shown to be worse. If p-values are
    adjusted over all comparisons, all sets contain the true ranks at once with probability 1 −
    alpha.

    Parameters
    ----------
    estimates : array_like of float, shape (models,)
        The estimate by which models are ranked; higher is better.
    p_adjusted : array_like of float, shape (models, models)
        Symmetric: the adjusted p-value of each comparison of two models. The diagonal is ignored.
        NaN means that the comparison was not possible; it shows no difference.
    alpha : float
        1 − the simultaneous confidence level.

    Returns
    -------
    RankSets
        NaN estimates rank last, and can have any rank.

    Raises
    ------
    ValueError
        For a matrix that is not symmetric or has a wrong shape.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91:476-518, for
    confidence sets of ranks from all pairwise comparisons.

    Examples
    --------
    >>> p = [[1, 0.9, 0.01], [0.9, 1, 0.2], [0.01, 0.2, 1]]
    >>> rank_sets([0.9, 0.88, 0.8], p).to_frame()
       rank  rank_low  rank_high
    0     1         1          2
    1     2         1          3
    2     3         2          3
    """
    value = check_numbers("estimates", estimates, nan=True)
    p = check_p_values("p_adjusted", p_adjusted)
    alpha = check_alpha(alpha)
    k = len(value)
    if p.shape != (k, k):
        raise ValueError(f"p_adjusted must have shape ({k}, {k}); got {p.shape}")
    if not np.array_equal(p, p.T, equal_nan=True):
        raise ValueError("p_adjusted must be symmetric: a comparison has one p-value")
    shown = (p <= alpha) & ~np.eye(k, dtype=bool)
    better = shown & (value[None, :] > value[:, None])
    worse = shown & (value[None, :] < value[:, None])
    placed = np.where(np.isnan(value), -np.inf, value)
    rank = 1 + (placed[None, :] > placed[:, None]).sum(axis=1)
    return RankSets(
        rank.astype(np.int64),
        1 + better.sum(axis=1),
        k - worse.sum(axis=1),
    )
