"""Verdicts: is a disparity shown, is it too small to matter, or can neither be said."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SHOWN = "disparity shown"
EQUIVALENT = "equivalent"
INCONCLUSIVE = "inconclusive"


def verdict(
    p_adjusted: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    margin: npt.ArrayLike,
    alpha: float = 0.05,
) -> npt.NDArray[np.str_]:
    """The verdict on a signed difference at the margin δ.

    Parameters
    ----------
    p_adjusted : array_like of float
        p-values of the test of no difference, adjusted over their family.
    low, high : array_like of float
        Limits of the 1 − 2α interval: lying inside ±δ is the same as both one-sided tests
        rejecting at level α.
    margin : array_like of float
        The margin δ > 0.
    alpha : float
        The level of either decision.

    Returns
    -------
    ndarray of str
        ``"equivalent"`` where the interval lies inside ±δ, also when the difference is not zero;
        else ``"disparity shown"`` where p is at most α; else ``"inconclusive"``, as where p is
        NaN.

    Raises
    ------
    ValueError
        For a margin that is not positive.

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15:657-680.

    Examples
    --------
    >>> verdict([1e-9, 0.6, 0.6], [0.1, -0.01, -0.1], [0.2, 0.01, 0.1], margin=0.02).tolist()
    ['disparity shown', 'equivalent', 'inconclusive']
    """
    p, low, high = np.asarray(p_adjusted), np.asarray(low), np.asarray(high)
    delta = np.asarray(margin)
    if np.any(delta <= 0):
        raise ValueError("margin must be positive, e.g. 0.02 for 2 points")
    inside = (low > -delta) & (high < delta)
    judged = np.where(inside, EQUIVALENT, np.where(p <= alpha, SHOWN, INCONCLUSIVE))
    # Without a test there was nothing to judge.
    return np.where(np.isnan(p), INCONCLUSIVE, judged)
