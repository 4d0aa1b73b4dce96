"""Test and odds ratio of two groups in several strata, such as models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import LEAST_P, IntArray, check_alpha, check_choice, check_counts

StratifiedMethod = Literal["exact", "midp", "asymptotic"]

# As in R: tables whose probabilities differ by rounding are equally likely.
_EQUAL = 1 + 1e-7
#: Limits of the search for an odds ratio's limits, as logarithms.
_WIDEST = 50.0


@dataclass(frozen=True, repr=False)
class MantelHaenszelResult(Tabular):
    """Result of `mantel_haenszel`.

    Attributes
    ----------
    estimate, ci_low, ci_high : float
        The common odds ratio and its limits.
    ci_level : float
        The confidence level.
    p_value : float
        The p-value of odds ratio 1, two-sided.
    method : str
        As given.
    strata : int
        Number of strata that are informative: both groups have answers, and both right and wrong
        answers occur.
    n : int
        Number of answers in these strata.
    """

    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    p_value: float
    method: StratifiedMethod
    strata: int
    n: int


def mantel_haenszel(
    tables: npt.ArrayLike, *, method: StratifiedMethod = "exact", alpha: float = 0.05
) -> MantelHaenszelResult:
    r"""Compare two groups' odds of a right answer within strata: Mantel and Haenszel's odds ratio.

    With a_k right and b_k wrong answers of group a in stratum k, c_k and d_k of group b, and n_k
    answers in total, the common odds ratio is Σ_k a_k d_k / n_k over Σ_k b_k c_k / n_k.

    Parameters
    ----------
    tables : array_like of int, shape (strata, 2, 2)
        One table per stratum: [[right_a, wrong_a], [right_b, wrong_b]]. A single table may have the
        shape (2, 2).
    method : {"exact", "midp", "asymptotic"}
        ``exact``: given the margins of every stratum, p is the probability of all tables that are
        no more likely than the observed one. The limits are those of the exact conditional tails.
        ``midp``: equally likely tables count half. ``asymptotic``: Mantel and Haenszel's χ²
        without continuity correction, and the limits of Robins, Breslow and Greenland.
    alpha : float
        1 − confidence level.

    Returns
    -------
    MantelHaenszelResult
        If no stratum is informative, the odds ratio is NaN with limits 0 and ∞, and p is 1. It can
        be 0 or ∞ if one group is never better.

    Raises
    ------
    ValueError
        For an invalid count, tables of another shape, or an unknown method.

    Notes
    -----
    Answers must be independent within a stratum. If every stratum is one model with one answer to
    each of the two variants, the exact test is McNemar's exact test, and the odds ratio is n10 /
    n01. If the groups were asked of different models, use strata of models with similar ability.

    References
    ----------
    Mantel & Haenszel (1959), Journal of the National Cancer Institute 22:719-748; Cox (1970),
    Analysis of Binary Data, for the exact limits; Robins, Breslow & Greenland (1986), Biometrics
    42:311-323; Holland & Thayer (1988), in Test Validity, 129-145, for items of a test. Checked
    against R's ``mantelhaen.test``, exact and asymptotic (tests/r/mantel_haenszel.R).

    Examples
    --------
    >>> models = [[[1, 0], [0, 1]]] * 7 + [[[0, 1], [1, 0]]] + [[[1, 0], [1, 0]]] * 4
    >>> found = mantel_haenszel(models)
    >>> round(found.estimate, 3), round(found.p_value, 6)  # McNemar's test of 7 and 1
    (7.0, 0.070312)
    """
    check_choice("method", method, get_args(StratifiedMethod))
    alpha = check_alpha(alpha)
    (counts,) = check_counts(tables=tables)
    if counts.shape == (2, 2):
        counts = counts[None]
    if counts.ndim != 3 or counts.shape[1:] != (2, 2):
        raise ValueError(
            f"tables must have shape (strata, 2, 2), got {counts.shape}; give one table "
            "[[right_a, wrong_a], [right_b, wrong_b]] per stratum"
        )
    informative = (counts.sum(axis=1) > 0).all(axis=1) & (counts.sum(axis=2) > 0).all(axis=1)
    counts = counts[informative]
    if not len(counts):
        return MantelHaenszelResult(float("nan"), 0.0, np.inf, 1 - alpha, 1.0, method, 0, 0)
    find = _asymptotic if method == "asymptotic" else _exact
    low, high, p = find(counts, method, alpha)
    numbers = (low, high, 1 - alpha, min(max(p, LEAST_P), 1.0))
    ad, bc, _ = _products(counts)
    odds = float(ad.sum() / bc.sum()) if bc.any() else float("inf")
    return MantelHaenszelResult(odds, *numbers, method, len(counts), int(counts.sum()))


def _products(counts: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a d / n, b c / n and n of each stratum."""
    (a, b), (c, d) = np.moveaxis(counts.astype(np.float64), 0, -1)
    n = a + b + c + d
    return a * d / n, b * c / n, n


def _asymptotic(
    counts: IntArray, method: StratifiedMethod, alpha: float
) -> tuple[float, float, float]:
    ad, bc, n = _products(counts)
    rows, columns = counts.sum(axis=2) / n[:, None], counts.sum(axis=1)
    expected = rows[:, 0] * columns[:, 0]
    variance = rows.prod(axis=1) * columns.prod(axis=1) / np.maximum(n - 1, 1)
    statistic = (counts[:, 0, 0] - expected).sum() ** 2 / variance.sum()
    p = float(scipy.stats.chi2.sf(statistic, df=1))
    if not ad.any() or not bc.any():
        # The standard error needs both sums, so take the exact limits.
        low, high, _ = _exact(counts, "exact", alpha)
        return low, high, p
    diagonal = (counts[:, 0, 0] + counts[:, 1, 1]) / n
    r, s = ad.sum(), bc.sum()
    squared_error = (
        (diagonal * ad).sum() / (2 * r**2)
        + (diagonal * bc + (1 - diagonal) * ad).sum() / (2 * r * s)
        + ((1 - diagonal) * bc).sum() / (2 * s**2)
    )
    half = float(scipy.stats.norm.isf(alpha / 2)) * np.sqrt(squared_error)
    return float(r / s * np.exp(-half)), float(r / s * np.exp(half)), p


def _exact(counts: IntArray, method: StratifiedMethod, alpha: float) -> tuple[float, float, float]:
    """Return limits and p-value, from the law of Σ a given the margins."""
    law, observed = _law(counts, 0.0)
    tied = (law <= law[observed] * _EQUAL) & (law >= law[observed] / _EQUAL)
    beyond, at = float(law[(law < law[observed]) & ~tied].sum()), float(law[tied].sum())
    own_share = 1.0 if method == "exact" else 0.5
    # A table that is more likely than any other is no evidence.
    middle = tied.sum() == 1 and law[observed] == law.max()
    p = 1.0 if middle else beyond + own_share * at

    # Near the estimate no probability underflows that the limits depend on.
    ad, bc, _ = _products(counts)
    tilt = float(np.log((ad.sum() + 0.5) / (bc.sum() + 0.5)))
    sums = np.arange(len(law))
    with np.errstate(divide="ignore"):
        log_law = np.log(_law(counts, tilt)[0]) - tilt * sums

    def tail(log_odds: float, side: slice) -> float:
        weights = scipy.special.softmax(log_law + log_odds * sums)
        return float(weights[side].sum() + own_share * weights[observed]) - alpha / 2

    above, below = slice(observed + 1, None), slice(0, observed)
    low = 0.0 if observed == 0 else _solve(lambda x: tail(x, above))
    high = np.inf if observed == len(law) - 1 else _solve(lambda x: tail(x, below))
    return low, high, p


def _law(counts: IntArray, log_odds: float) -> tuple[FloatArray, int]:
    """Return the probabilities of Σ a for an odds ratio, and the place of the observed sum."""
    law, observed = np.array([1.0]), 0
    for (a, b), (c, d) in counts.tolist():
        lowest, highest = max(0, a - d), min(a + b, a + c)
        values = np.arange(lowest, highest + 1)
        log_law = scipy.stats.hypergeom.logpmf(values, a + b + c + d, a + c, a + b)
        law = np.convolve(law, scipy.special.softmax(log_law + log_odds * values))
        observed += a - lowest
    return law, observed


def _solve(excess: Callable[[float], float]) -> float:
    """Return the odds ratio at which a tail has the wanted probability."""
    return float(np.exp(scipy.optimize.brentq(excess, -_WIDEST, _WIDEST, xtol=1e-12)))
