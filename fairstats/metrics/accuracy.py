"""Accuracy of one group, and the signed difference between two."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairstats.inference._checks import check_counts
from fairstats.inference.intervals import tango, wilson
from fairstats.results import Estimate, FloatArray


def proportion(successes: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """successes / n, and NaN where n is 0."""
    successes, n = check_counts(successes=successes, n=n)
    return np.where(n > 0, successes / np.maximum(n, 1), np.nan)


def estimate_proportion(
    successes: npt.ArrayLike, n: npt.ArrayLike, *, alpha: float = 0.05
) -> Estimate:
    """A share of n with its Wilson interval; NaN with limits 0 and 1 where n is 0."""
    interval = wilson(successes, n, alpha=alpha)
    return Estimate(
        proportion(successes, n),
        interval.low,
        interval.high,
        interval.level,
        interval.method,
        np.asarray(n, dtype=np.int64),
    )


def accuracy(correct: npt.ArrayLike, n: npt.ArrayLike, *, alpha: float = 0.05) -> Estimate:
    """The share of a group's answers that are the key: Acc = correct / n.

    Parameters
    ----------
    correct, n : array_like of int
        Correct answers, and answers that count under the missing policy.
    alpha : float
        1 − confidence level of the Wilson interval.

    Returns
    -------
    Estimate
        In [0, 1]. With n = 0 the estimate is NaN and the interval is 0 to 1.

    Raises
    ------
    ValueError
        When more answers are correct than there are.

    Examples
    --------
    >>> accuracy(3, 4).estimate
    array(0.75)
    """
    return estimate_proportion(correct, n, alpha=alpha)


def accuracy_difference(
    n10: npt.ArrayLike,
    n01: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    estimate: npt.ArrayLike | None = None,
    alpha: float = 0.05,
) -> Estimate:
    """The signed difference Acc_a − Acc_b over counterfactual pairs: (n10 − n01) / n.

    Parameters
    ----------
    n10, n01, n : array_like of int
        Pairs where only a, only b is correct, and all pairs with both answers.
    estimate : array_like of float, optional
        The difference of the groups' own accuracies, where the policy gives each its own
        denominator. Without it, (n10 − n01) / n.
    alpha : float
        1 − confidence level of the Tango interval.

    Returns
    -------
    Estimate
        In [−1, 1]; n is the number of pairs. With n = 0 the interval is −1 to 1.

    Notes
    -----
    The interval is that of the pairs with both answers, as McNemar's test is. Where many answers
    are missing in one group only, the difference of the groups' own accuracies can fall outside
    of it; the interval is then widened to reach it, and the method says so.

    Examples
    --------
    >>> round(float(accuracy_difference(83, 10, 801).estimate), 4)
    0.0911
    """
    n10, n01, n = check_counts(n10=n10, n01=n01, n=n)
    interval = tango(n10, n01, n, alpha=alpha)
    paired = np.where(n > 0, (n10 - n01) / np.maximum(n, 1), np.nan)
    if estimate is None:
        return Estimate(paired, interval.low, interval.high, interval.level, interval.method, n)
    own = np.asarray(estimate, dtype=np.float64)
    # fmin and fmax pass over a NaN: without an estimate there is nothing to reach.
    low, high = np.fmin(interval.low, own), np.fmax(interval.high, own)
    widened = (low < interval.low) | (high > interval.high)
    method = np.where(widened, f"{interval.method}, widened to the estimate", interval.method)
    return Estimate(own, low, high, interval.level, method, n)
