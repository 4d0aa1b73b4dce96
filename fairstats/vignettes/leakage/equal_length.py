"""The mean difference of two variants of an item, also adjusted to equal length."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats.inference.differences import mean_difference


def mean_row(values: pd.Series, largest: float, alpha: float) -> dict[str, Any]:
    """Return the mean of one number per item, with interval and test of 0, as in findings."""
    # Rounding may exceed the possible range.
    clipped: npt.NDArray[np.float64] = np.clip(values.to_numpy("float64"), -largest, largest)
    found = mean_difference(clipped, largest=largest, alpha=alpha)
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "ci_level": found.ci_level,
        "ci_method": found.method,
        "p_value": found.p_value,
        "test": found.test,
        "n": found.n,
    }


# Texts that differ by at most this many new words have nearly equal length.
_NEAR = 2


def at_equal_length(
    differences: pd.Series, longer: pd.Series, *, largest: float = np.inf, alpha: float = 0.05
) -> dict[str, Any]:
    """Estimate the mean difference of two variants' values if both add equally many new words.

    Parameters
    ----------
    differences : pandas.Series of float
        For each item, group a's value minus group b's.
    longer : pandas.Series of float
        Number of additional new words in group a's text, for the same items.
    largest : float
        The largest possible absolute difference of an item.
    alpha : float
        1 − confidence level.

    Returns
    -------
    dict
        ``estimate``, limits, ``p_value``, ``n`` and the methods, as in a row of findings. NaN, with
        the reason in ``note``, if the items are not informative: fewer than three, all with the
        same non-zero difference in length, or only one with a different one.

    Notes
    -----
    The estimate is the intercept of the linear regression of `differences` on `longer`, with
    White's HC3 standard error and Student's t with n − 2 degrees of freedom. Words that name an
    option also make a text longer, so the adjustment removes part of the effect itself.

    References
    ----------
    MacKinnon & White (1985), Journal of Econometrics 29:305-325. Checked against
    ``statsmodels`` OLS with ``cov_type="HC3"``.

    Examples
    --------
    >>> found = at_equal_length(pd.Series([0.1, 0.4, 0.3, 0.6]), pd.Series([0.0, 1.0, 2.0, 3.0]))
    >>> round(found["estimate"], 3)
    0.14
    """
    y, x = differences.to_numpy("float64"), longer.to_numpy("float64")
    n = len(y)
    row: dict[str, Any] = {"n": n, "ci_level": 1 - alpha}
    spread = float(((x - x.mean()) ** 2).sum()) if n else 0.0
    if n < 3:
        return row | {"note": "fewer than three items"}
    if not spread:
        if x[0] == 0:
            return mean_row(differences, largest, alpha) | {
                "note": "all texts have the same length"
            }
        return row | {"note": "the difference in length is the same in every item"}
    leverage = 1 / n + (x - x.mean()) ** 2 / spread
    if leverage.max() > 1 - 1e-9:
        return row | {"note": "only one item has texts of different length"}
    slope = float(((x - x.mean()) * y).sum() / spread)
    estimate = float(y.mean() - slope * x.mean())
    # Weight of each item's value in the intercept.
    weights = 1 / n - x.mean() * (x - x.mean()) / spread
    residuals = (y - estimate - slope * x) / (1 - leverage)
    error = float(np.sqrt(((weights * residuals) ** 2).sum()))
    near = int((np.abs(x) <= _NEAR).sum())
    note = f"each new word more {slope:+.4f}; {near} of {n} items within {_NEAR} words; length "
    row |= {"estimate": estimate, "note": note + "is itself changed by naming an option"}
    if error <= 1e-12:
        return row | {"note": "the values follow the length exactly, so there is no interval"}
    reach = float(scipy.stats.t.isf(alpha / 2, n - 2)) * error
    return row | {
        "ci_low": estimate - reach,
        "ci_high": estimate + reach,
        "ci_method": "HC3, t",
        "p_value": float(2 * scipy.stats.t.sf(abs(estimate) / error, n - 2)),
        "test": "t (regression on length, HC3)",
    }
