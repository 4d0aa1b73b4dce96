"""The mean of one number per item that may be below 0, e.g. a difference between two variants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Tabular
from fairstats.inference._checks import check_alpha, check_number, check_numbers
from fairstats.inference.intervals import wilson


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

    Returns
    -------
    MeanDifference

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
        result = scipy.stats.ttest_1samp(values, 0.0)
        limits = result.confidence_interval(1 - alpha)
        low, high = max(float(limits.low), -largest), min(float(limits.high), largest)
        return MeanDifference(mean, low, high, 1 - alpha, "t", float(result.pvalue), "paired t", n)
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
