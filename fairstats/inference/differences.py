"""Intervals of differences: of two paired proportions, and of one number per item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Estimate, FloatArray, Tabular
from fairstats.inference._checks import (
    LEAST_P,
    IntArray,
    check_alpha,
    check_choice,
    check_number,
    check_numbers,
)
from fairstats.inference.bootstrap import bootstrap
from fairstats.inference.intervals import own_counts, square_and_add, tango, wilson
from fairstats.inference.paired_counts import Pairs, paired_counts
from fairstats.inference.unit_means import checked_limits

# Smaller differences are rounding error.
_ROUNDING = 1e-12

DifferenceMethod = Literal["tango", "bonett_price", "newcombe", "wald", "bootstrap"]


def difference_interval(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    method: DifferenceMethod = "tango",
    alpha: float = 0.05,
) -> Estimate:
    """Compute p_a − p_b with a confidence interval from paired counts.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        Pairs with both correct, only a, only b, neither; broadcast against each other. Or one
        table, or a frame of pairs: see `paired_counts`.
    method : {"tango", "bonett_price", "newcombe", "wald", "bootstrap"}
        Tango's score interval; Wald's with one pair added to each discordant count; Newcombe's
        square-and-add of two Wilson intervals; unmodified Wald, for comparison only, since without
        discordant pairs it is a single point; the exact BCa bootstrap (see `bootstrap`).
    alpha : float
        1 − confidence level.

    Returns
    -------
    Estimate
        (n10 − n01) / n, with limits in [−1, 1]; without pairs NaN, −1 and 1.

    Raises
    ------
    ValueError
        For an invalid count, alpha outside (0, 1), or an unknown method.

    Notes
    -----
    If discordance is near 0, as for a fair model, Wald's and the bootstrap interval can fall far
    below their level. The methods page tabulates the true coverage of all methods, by enumeration.

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908. Bonett & Price (2012), Journal of Educational
    and Behavioral Statistics 37:479-488. Newcombe (1998), Statistics in Medicine 17:2635-2650,
    method 10. The example is Fagerland, Lydersen & Laake (2014), Statistics in Medicine
    33:2850-2875.

    Examples
    --------
    >>> found = difference_interval([[1, 1], [7, 12]], method="newcombe")
    >>> [float(x.round(5)) for x in (found.estimate, found.ci_low, found.ci_high)]
    [-0.28571, -0.50692, -0.02556]
    """
    check_choice("method", method, get_args(DifferenceMethod))
    counts = paired_counts(n11, n10, n01, n00)
    n10, n01, n = counts.n10, counts.n01, counts.n
    if method == "tango":
        return tango(*counts, alpha=alpha)
    if method == "bootstrap":
        return bootstrap(*counts, alpha=alpha)
    if method == "bonett_price":
        low, high = _wald(n10 + 1, n01 + 1, n + 2, check_alpha(alpha), n > 0)
    elif method == "wald":
        low, high = _wald(n10, n01, n, check_alpha(alpha), n > 0)
    else:
        low, high = square_and_add(*own_counts(counts, *counts.of_groups), alpha=check_alpha(alpha))
    estimate = np.where(n > 0, (n10 - n01) / np.maximum(n, 1), np.nan)
    return Estimate(estimate, low, high, 1 - alpha, method, n)


def _wald(
    n10: IntArray,
    n01: IntArray,
    n: IntArray,
    alpha: float,
    known: npt.NDArray[np.bool_],
) -> tuple[FloatArray, FloatArray]:
    trials = np.maximum(n, 1)
    difference = (n10 - n01) / trials
    variance = np.maximum((n10 + n01) / trials - difference**2, 0.0) / trials
    half = scipy.stats.norm.isf(alpha / 2) * np.sqrt(variance)
    low = np.where(known, np.maximum(difference - half, -1.0), -1.0)
    high = np.where(known, np.minimum(difference + half, 1.0), 1.0)
    return low, high


def partly_paired_interval(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    correct_a: npt.ArrayLike,
    n_a: npt.ArrayLike,
    correct_b: npt.ArrayLike,
    n_b: npt.ArrayLike,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
    copies: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute the difference of two accuracies that share only some items, with an interval.

    If answers are missing, each group's accuracy uses all answers of that group. Newcombe's
    square-and-add then holds with the correlation of the two *estimates*, φ n / √(n_a n_b). Here φ
    is that of the n pairs with both answers; n_a and n_b are the numbers of answers of the groups.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        The pairs with both answers: both correct, only a, only b, neither. Or one table, or a
        frame of pairs: see `paired_counts`.
    correct_a, n_a, correct_b, n_b : array_like of int
        Each group's correct answers and all its answers, including those of the pairs.
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        Factor by which clustering (several answers per item) multiplies the variance; the counts
        are divided by it. See `fairstats.inference.clustered_answers`.
    copies : array_like of float
        Number of pairs that share an answer, if several samples are paired with each other. The
        continuity correction of φ is then that of n / copies pairs.

    Returns
    -------
    Estimate
        correct_a / n_a − correct_b / n_b, with limits in [−1, 1]; NaN, −1 and 1 if a group has no
        answers. `n` is the number of pairs.

    Raises
    ------
    ValueError
        If a group has fewer answers, correct answers or wrong answers than its pairs have. Also for
        an invalid count, alpha outside (0, 1), or a design effect that is not positive.

    Notes
    -----
    If no answer is missing, it is Newcombe's interval. Without any pair, it is Newcombe's for two
    independent groups (method 10 of his companion paper, without correction). Missingness is
    assumed not to depend on what the answer would have been; the policy ``bounds`` makes no such
    assumption.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17:873-890 and 2635-2650; Zou & Donner (2008),
    Statistics in Medicine 27:1693-1702, for square-and-add of correlated estimates.

    Examples
    --------
    >>> own = dict(correct_a=100, n_a=160, correct_b=80, n_b=160)
    >>> found = partly_paired_interval(60, 40, 20, 40, **own)
    >>> [float(x.round(4)) for x in (found.estimate, found.ci_low, found.ci_high)]
    [0.125, 0.0306, 0.2159]
    """
    cells = paired_counts(n11, n10, n01, n00)
    own = own_counts(cells, correct_a, n_a, correct_b, n_b, copies=copies)
    low, high = square_and_add(*own, alpha=check_alpha(alpha), design_effect=design_effect)
    with np.errstate(invalid="ignore"):
        estimate = own.correct_a / own.n_a - own.correct_b / own.n_b
    return Estimate(estimate, low, high, 1 - alpha, "newcombe, partly paired", cells.n)


@dataclass(frozen=True, repr=False)
class MeanDifference(Tabular):
    """Mean of the items' numbers, with matching limits and test of 0.

    Attributes
    ----------
    estimate, ci_low, ci_high : float
        The mean (NaN without items) and its limits.
    ci_level : float
        The confidence level.
    method, test : str
        The method used.
    p_value : float
        Two-sided; 1 if there is nothing to test.
    n : int
        Number of items.
    """

    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    method: str
    p_value: float
    test: str
    n: int


def mean_difference(
    differences: npt.ArrayLike, *, largest: float = np.inf, alpha: float = 0.05
) -> MeanDifference:
    """Compute the mean of one number per item, with limits and test by Student's t.

    Parameters
    ----------
    differences : array_like of float, shape (n,)
        One number per item, e.g. a measure of group a's variant minus that of group b's.
    largest : float
        The largest possible absolute value of an item; infinite if unbounded.
    alpha : float
        1 − confidence level.

    Raises
    ------
    ValueError
        For a value that is not finite or beyond `largest`, a `largest` that is not a number of at
        least 0, or alpha outside (0, 1).

    Notes
    -----
    Student's t is accurate for many items, whatever their distribution. For few items it assumes a
    roughly normal distribution. If all n items have one value v, t is not informative. At most a
    share u of items then differs, with u Wilson's upper limit for 0 of n. Those could have any
    value within ±`largest`. So the limits are v (1 − u) ± u `largest`, and p is the level at which
    they reach 0. Without a bound, the limits are NaN, and p is 2 / 2ⁿ, the share of sign patterns
    that are as extreme. For v = 0, p is 1.

    Examples
    --------
    >>> found = mean_difference([0.1, 0.3, 0.2, 0.0, 0.4])
    >>> round(found.estimate, 3), round(found.ci_low, 3), round(found.p_value, 3)
    (0.2, 0.004, 0.047)
    >>> mean_difference([0.0] * 20, largest=1).p_value
    1.0
    """
    alpha = check_alpha(alpha)
    if np.ndim(largest) or largest != np.inf:
        largest = check_number("largest", largest, low=0, example="1, or infinite")
    values = check_numbers("differences", differences, low=-largest, high=largest)
    if values.ndim != 1:
        raise ValueError(f"differences must have shape (n,), one per item; got {values.shape}")
    n = len(values)
    if n == 0:
        return MeanDifference(
            np.nan, -largest, largest, 1 - alpha, "none (no items)", 1.0, "none (no items)", 0
        )
    mean = float(values.mean())
    # Differences from rounding alone do not count.
    if n > 1 and float(np.ptp(values)) > 1e-12 * max(1.0, abs(mean)):
        # As scipy.stats.ttest_1samp, which takes most of a screening's time to check its arguments.
        error = float(np.sqrt(values.var(ddof=1) / n))
        reach = error * float(scipy.special.stdtrit(n - 1, 1 - alpha / 2))
        low, high = max(mean - reach, -largest), min(mean + reach, largest)
        p_value = max(2 * float(scipy.special.stdtr(n - 1, -abs(mean) / error)), LEAST_P)
        return MeanDifference(mean, low, high, 1 - alpha, "t", p_value, "paired t", n)
    unseen = float(wilson(0, n, alpha=alpha).ci_high)
    reach = unseen * largest
    one_value = "all items have one value"
    if abs(mean) <= 1e-12:
        p_value = 1.0
    elif np.isfinite(largest):
        # v (1 − u) = u L with Wilson's u = z² / (n + z²) gives z² = n v / L.
        p_value = float(scipy.stats.chi2.sf(n * abs(mean) / largest, 1))
    else:
        p_value = min(1.0, 2.0 ** (1 - n))
    p_value = max(p_value, LEAST_P)
    if not np.isfinite(largest):
        nothing = f"none ({one_value})"
        test = f"exact sign flips ({one_value})"
        return MeanDifference(mean, np.nan, np.nan, 1 - alpha, nothing, p_value, test, n)
    name = f"Wilson's limit for an unseen value ({one_value})"
    return MeanDifference(
        mean,
        mean * (1 - unseen) - reach,
        mean * (1 - unseen) + reach,
        1 - alpha,
        name,
        p_value,
        f"level of that limit at 0 ({one_value})",
        n,
    )


def mean_beyond(
    values: npt.ArrayLike,
    expected: float = 0.0,
    *,
    limits: tuple[float, float],
    alpha: float = 0.05,
) -> MeanDifference:
    r"""Compare the mean of one bounded number per item with a known mean, with room for rare items.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        One number per item, within `limits`.
    expected : float
        The mean that is tested, within `limits`.
    limits : (float, float)
        The smallest and the largest possible number.
    alpha : float
        1 − confidence level.

    Returns
    -------
    MeanDifference
        The mean minus `expected`, its limits, and the test of 0. They agree: limits exclude 0 if p
        is below alpha.

    Raises
    ------
    ValueError
        For a value or an expected mean outside `limits`, limits that do not increase, or alpha
        outside (0, 1).

    Notes
    -----
    If most items have 0 and few have a hit, a sample without a hit shows no variance, and Student's
    t finds any expected mean above 0 significant. Here, one item at an end is added to the n items:
    at the lowest number for the lower limit, at the highest for the upper one. If the n + 1 numbers
    z have uniform Dirichlet weights, their weighted mean has the moments

    .. math:: \bar z, \quad \operatorname{var}(z) / (n + 2)

    and its quantile is conjectured to be a limit for any distribution of the numbers (Gaffke). The
    quantile is here that of the beta distribution with these moments, from the lowest to the
    highest z. That is exact for two values: for 0 and 1, these are the limits of Clopper and
    Pearson. Limits and p are those of the mean of both distributions (mid-p).

    References
    ----------
    Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable, Mathematical Methods of Statistics 14:451-467; Learned-Miller & Thomas
    (2019), A new confidence interval for the mean of a bounded random variable, arXiv:1905.06208;
    Lancaster (1961), JASA 56:223-234, for mid-p. Error rates: benchmarks/leakage_errors.py.

    Examples
    --------
    >>> found = mean_beyond([0.0] * 60, 0.03, limits=(0, 1))
    >>> round(found.estimate, 3), round(found.ci_high, 3), round(found.p_value, 3)
    (-0.03, 0.019, 0.161)
    """
    alpha = check_alpha(alpha)
    ends = checked_limits(limits)
    x = check_numbers("values", values, low=ends[0], high=ends[1])
    known = check_number("expected", expected, low=ends[0], high=ends[1])
    if x.ndim != 1:
        raise ValueError(f"values must have shape (n,), one per item; got {x.shape}")
    n = len(x)
    if n == 0:
        low, high = (end - known for end in ends)
        nothing = "none (no items)"
        return MeanDifference(np.nan, low, high, 1 - alpha, nothing, 1.0, nothing, 0)
    laws = [_weighted_mean(np.append(x, end)) for end in ends]

    def below(mean: float) -> float:
        return (laws[0].below(mean) + laws[1].below(mean)) / 2

    def above(mean: float) -> float:
        return (laws[0].above(mean) + laws[1].above(mean)) / 2

    def limit(tail: Callable[[float], float], end: float) -> float:
        # Even at this end, the tail may exceed its level: no limit is beyond the end.
        if tail(end) >= alpha / 2:
            return end
        return float(scipy.optimize.brentq(lambda mean: tail(mean) - alpha / 2, *ends))

    p_value = min(1.0, 2 * min(below(known), above(known)))
    return MeanDifference(
        float(x.mean()) - known,
        limit(below, ends[0]) - known,
        limit(above, ends[1]) - known,
        1 - alpha,
        "Gaffke, beta, mid-p",
        max(p_value, LEAST_P),
        "level of these limits",
        n,
    )


class _MeanLaw(NamedTuple):
    """Beta distribution from `low` to `high`; without shapes, all of it is there."""

    low: float
    high: float
    shapes: tuple[float, float] | None

    def below(self, mean: float) -> float:
        """Return P(≤ mean)."""
        if self.shapes is None:
            return float(mean >= self.low - _ROUNDING)
        return float(scipy.special.betainc(*self.shapes, self._share(mean)))

    def above(self, mean: float) -> float:
        """Return P(≥ mean)."""
        if self.shapes is None:
            return float(mean <= self.low + _ROUNDING)
        return float(scipy.special.betaincc(*self.shapes, self._share(mean)))

    def _share(self, mean: float) -> float:
        return min(max((mean - self.low) / (self.high - self.low), 0.0), 1.0)


def _weighted_mean(z: FloatArray) -> _MeanLaw:
    """Return the law of the mean with uniform Dirichlet weights, as a beta distribution."""
    low, high = float(z.min()), float(z.max())
    if high - low <= _ROUNDING:
        return _MeanLaw(low, high, None)
    share = (z - low) / (high - low)
    mean = float(share.mean())
    # A beta distribution has the variance mean (1 − mean) / (both + 1). Here it is var / (n + 2).
    both = mean * (1 - mean) * (len(z) + 1) / float(share.var()) - 1
    return _MeanLaw(low, high, (mean * both, (1 - mean) * both))
