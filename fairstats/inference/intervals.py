"""Confidence intervals for one proportion."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate
from fairstats.inference._checks import (
    check_alpha,
    check_choice,
    check_counts,
    check_design_effect,
    check_parts,
    check_shapes,
)

ProportionMethod = Literal["wilson", "clopper_pearson", "jeffreys"]
# The names in statsmodels.
_STATSMODELS = {"wilson": "wilson", "clopper_pearson": "beta", "jeffreys": "jeffreys"}


def proportion_interval(
    successes: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    method: ProportionMethod = "wilson",
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute a confidence interval for a proportion, e.g. an accuracy or CFR.

    Parameters
    ----------
    successes, n : array_like of int
        Number of successes out of n; broadcast against each other.
    method : {"wilson", "clopper_pearson", "jeffreys"}
        Wilson's score interval; the exact interval, which covers at least 1 − alpha and often far
        more; or the equal-tailed posterior interval under Jeffreys' prior Beta(½, ½).
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        Factor by which clustering (several answers per item) multiplies the variance; the counts
        are divided by it. See `fairstats.inference.sign_flip`.

    Returns
    -------
    Estimate
        successes / n, with limits in [0, 1]. The lower limit is 0 without a success, and the upper
        limit is 1 without a failure. With n = 0 the estimate is NaN and they are 0 and 1.

    Raises
    ------
    ValueError
        If there are more successes than trials, a count is invalid, alpha is outside (0, 1), a
        design effect is not positive, or the method is unknown.

    References
    ----------
    Wilson (1927), JASA 22:209-212; Clopper & Pearson (1934), Biometrika 26:404-413; Brown, Cai &
    DasGupta (2001), Statistical Science 16:101-133. Computed by `statsmodels.stats.proportion`,
    checked against R's ``prop.test``, ``binom.test`` and ``qbeta`` (tests/r).

    Examples
    --------
    >>> round(float(proportion_interval(0, 10).ci_high), 4)
    0.2775
    >>> round(float(proportion_interval(0, 10, method="clopper_pearson").ci_high), 4)
    0.3085
    """
    from statsmodels.stats.proportion import proportion_confint

    successes, n = check_counts(successes=successes, n=n)
    check_parts("successes", successes, "n", n)
    check_choice("method", method, get_args(ProportionMethod))
    alpha = check_alpha(alpha)
    effect = check_design_effect(design_effect)
    check_shapes(successes=successes, design_effect=effect)
    low, high = proportion_confint(
        successes / effect, np.maximum(n, 1) / effect, alpha=alpha, method=_STATSMODELS[method]
    )
    # The closed forms leave rounding error near an exact 0 or 1.
    low = np.where(successes == 0, 0.0, np.clip(low, 0.0, 1.0))
    high = np.where(successes == n, 1.0, np.clip(high, 0.0, 1.0))
    estimate = np.where(n > 0, successes / np.maximum(n, 1), np.nan)
    estimate, low, high, n = check_shapes(estimate=estimate, low=low, high=high, n=n)
    return Estimate(estimate, low, high, 1 - alpha, method, n)


def wilson(
    successes: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute Wilson's score interval for a proportion (the default of `proportion_interval`).

    Parameters
    ----------
    successes, n, alpha, design_effect
        As in `proportion_interval`.

    Returns
    -------
    Estimate
        successes / n, with limits in [0, 1]; NaN, 0 and 1 with n = 0.

    Raises
    ------
    ValueError
        As in `proportion_interval`.

    References
    ----------
    Wilson (1927), JASA 22:209-212.

    Examples
    --------
    >>> round(float(wilson(0, 10).ci_high), 4)
    0.2775
    """
    return proportion_interval(
        successes, n, method="wilson", alpha=alpha, design_effect=design_effect
    )
