"""Number of items that people must rate if a judge rates all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import (
    check_alpha,
    check_between,
    check_numbers,
    check_whole,
)
from fairstats.ratings.planned_width import wilson_width

# A larger study is not searched item by item.
_MOST = 10_000_000


@dataclass(frozen=True, repr=False)
class JudgedPlan(Tabular):
    """Result of `plan_judged`: the inputs and the required number of items.

    Attributes
    ----------
    rate, width, n_items : float
        The inputs.
    correlation, n_people : ndarray
        The correlation, and the number of items that people must rate; NaN if all are not enough.
    n_people_alone : float
        The same without a judge; NaN if all are not enough.
    planned_width : ndarray
        The expected width for that number.
    """

    rate: float
    width: float
    n_items: int
    correlation: FloatArray
    n_people: FloatArray
    n_people_alone: float
    planned_width: FloatArray


def plan_judged(
    *,
    rate: float,
    width: float,
    correlation: npt.ArrayLike,
    n_items: int,
    alpha: float = 0.05,
) -> JudgedPlan:
    """Compute how many items people must rate, if a judge rates all, for a wanted width.

    With people's rate p, N items of which people rate n, and correlation ρ of the judge's and
    people's ratings, the variance of `ppi_mean` is p (1 − p) / n · [1 − ρ² (1 − n / N)].

    Parameters
    ----------
    rate : float
        The expected rate of people's ratings.
    width : float
        The wanted width of its interval, upper minus lower limit.
    correlation : array_like of float
        ρ, e.g. from the pilot's `judged_rates`; 0 for a useless judge.
    n_items : int
        N, the number of items that the judge rates.
    alpha : float
        1 − confidence level.

    Returns
    -------
    JudgedPlan

    Raises
    ------
    ValueError
        For a rate or width outside (0, 1), a correlation outside [−1, 1], fewer than 3 or more than
        10 million items, or alpha outside (0, 1).

    Notes
    -----
    A judge of negative correlation is not used. The width is that of `ppi_mean` with these
    variances, including its half unit for each disagreement and its t quantile. With one rating per
    item, the correlation includes people's own inconsistency. So more raters per item increase it.

    References
    ----------
    Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453. The mean width in simulations is
    compared with it in tests/ratings/test_judge_planner.py.

    Examples
    --------
    >>> plan = plan_judged(rate=0.2, width=0.1, correlation=[0, 0.6, 0.9], n_items=2000)
    >>> plan.n_people.tolist(), plan.n_people_alone
    ([245.0, 173.0, 75.0], 245.0)
    """
    alpha = check_alpha(alpha)
    p = check_between("rate", rate, example="0.1")
    width = check_between("width", width, example="0.1")
    rho = check_numbers("correlation", correlation, low=-1, high=1, example="0.6")
    total = check_whole("n_items", n_items, least=3, most=_MOST, example=1000)
    n = np.arange(3, total + 1, dtype=np.float64)
    alone = wilson_width(np.full_like(n, p), n, np.full_like(n, scipy.stats.norm.isf(alpha / 2)))
    found = [
        _first(n, np.minimum(_widths(p, r, n, total, alpha), _never(n, r, alone)), width)
        for r in rho.ravel()
    ]
    people, planned = (np.reshape(column, rho.shape) for column in zip(*found, strict=True))
    return JudgedPlan(p, width, total, rho, people, _first(n, alone, width)[0], planned)


def _never(n: FloatArray, rho: float, alone: FloatArray) -> FloatArray:
    """Return people's width alone if the judge is not used, or rated no further item."""
    return np.where((rho <= 0) | (n == n[-1]), alone, np.inf)


def _widths(p: float, rho: float, n: FloatArray, total: int, alpha: float) -> FloatArray:
    weight = max(rho, 0.0) * (1 - n / total)
    variance = p * (1 - p) * (1 - max(rho, 0.0) * weight) / n
    # `ppi_mean` adds half a unit for each complete disagreement.
    variance = variance + (1 + weight**2) / 2 / n**2
    quantile = scipy.stats.t.isf(alpha / 2, np.maximum(n - 2, 1))
    return wilson_width(np.full_like(n, p), p * (1 - p) / variance, quantile)


def _first(n: FloatArray, widths: FloatArray, width: float) -> tuple[float, float]:
    """Return the smallest sufficient number, and its width; NaN and the last width if none is."""
    enough = np.flatnonzero(widths <= width + 1e-12)
    if not len(enough):
        return float("nan"), float(widths[-1])
    return float(n[enough[0]]), float(widths[enough[0]])
