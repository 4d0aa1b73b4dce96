"""Ranks with their uncertainty: the set of ranks that a model can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Tabular
from fairstats.inference._checks import check_alpha, check_numbers, check_p_values

IntArray = npt.NDArray[np.int64]


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
