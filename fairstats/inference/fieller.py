"""Ratio of two estimates from the same items, by Fieller's theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass

import scipy

from fairstats.inference._checks import check_alpha, check_number


@dataclass(frozen=True)
class Ratio:
    """A ratio with its limits; all NaN if the denominator is not significantly different from 0.

    Attributes
    ----------
    estimate, ci_low, ci_high : float
        The ratio and its limits.
    ci_level : float
        The confidence level.
    """

    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float


def fieller(
    numerator: float,
    denominator: float,
    *,
    variance_numerator: float,
    variance_denominator: float,
    covariance: float,
    alpha: float = 0.05,
) -> Ratio:
    """Compute the ratio of two jointly normal estimates, with limits.

    The limits enclose all ρ for which numerator − ρ denominator does not differ from 0 at level
    alpha.

    Parameters
    ----------
    numerator, denominator : float
        The estimates.
    variance_numerator, variance_denominator, covariance : float
        Variances and covariance of the estimates.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Ratio
        NaN if an estimate, a variance or the covariance is NaN.

    Raises
    ------
    ValueError
        For an estimate, variance or covariance that is neither a finite number nor NaN, a negative
        variance, or alpha outside (0, 1).

    Notes
    -----
    If the denominator does not differ from 0 at level alpha, the ρ that agree with the data do not
    form an interval. The result is then NaN.

    References
    ----------
    Fieller (1954), Journal of the Royal Statistical Society B 16:175-185.

    Examples
    --------
    >>> found = fieller(
    ...     3.0, 4.0, variance_numerator=0.04, variance_denominator=0.09, covariance=0.0
    ... )
    >>> round(found.ci_low, 3), round(found.ci_high, 3)
    (0.617, 0.917)
    """
    alpha = check_alpha(alpha)
    numerator = check_number("numerator", numerator, nan=True)
    denominator = check_number("denominator", denominator, nan=True)
    variance_numerator = check_number("variance_numerator", variance_numerator, low=0, nan=True)
    variance_denominator = check_number(
        "variance_denominator", variance_denominator, low=0, nan=True
    )
    covariance = check_number("covariance", covariance, nan=True)
    z2 = float(scipy.stats.norm.isf(alpha / 2)) ** 2
    square = denominator**2 - z2 * variance_denominator
    if not square > 0 or math.isnan(numerator + variance_numerator + covariance):
        return Ratio(math.nan, math.nan, math.nan, 1 - alpha)
    middle = numerator * denominator - z2 * covariance
    least = numerator**2 - z2 * variance_numerator
    # Not negative for a covariance matrix, except by rounding.
    half = math.sqrt(max(middle**2 - square * least, 0.0))
    return Ratio(
        numerator / denominator, (middle - half) / square, (middle + half) / square, 1 - alpha
    )
