"""Accuracy of one group, and the signed difference between two."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.missing_policies import PairedCounts
from fairstats.inference._checks import check_counts, check_parts
from fairstats.inference.intervals import wilson
from fairstats.inference.paired_intervals import partly_paired_interval
from fairstats.inference.tango import tango


def proportion(successes: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """successes / n, and NaN where n is 0."""
    successes, n = check_counts(successes=successes, n=n)
    check_parts("successes", successes, "n", n)
    return np.where(n > 0, successes / np.maximum(n, 1), np.nan)


def estimate_proportion(
    successes: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """A share of n with its Wilson interval; NaN with limits 0 and 1 where n is 0."""
    interval = wilson(successes, n, alpha=alpha, design_effect=design_effect)
    return Estimate(
        proportion(successes, n),
        interval.low,
        interval.high,
        interval.level,
        interval.method,
        np.asarray(n, dtype=np.int64),
    )


def accuracy(
    correct: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """The share of a group's answers that are the key: Acc = correct / n.

    Parameters
    ----------
    correct, n : array_like of int
        Correct answers, and answers that count under the missing policy.
    alpha : float
        1 − confidence level of the Wilson interval.
    design_effect : array_like of float
        See `fairstats.inference.sign_flip`; 1 where each item is answered once.

    Returns
    -------
    Estimate
        In [0, 1]. With n = 0 the estimate is NaN and the interval is 0 to 1.

    Raises
    ------
    ValueError
        When more answers are correct than there are, a count is not one, alpha is outside (0, 1),
        or a design effect is not positive.

    Examples
    --------
    >>> accuracy(3, 4).estimate
    array(0.75)
    """
    return estimate_proportion(correct, n, alpha=alpha, design_effect=design_effect)


def accuracy_difference(
    counts: PairedCounts, *, alpha: float = 0.05, design_effect: npt.ArrayLike = 1.0
) -> Estimate:
    """The signed difference Acc_a − Acc_b over counterfactual pairs.

    (n10 − n01) / n where both groups have an answer to each item, and the difference of the
    groups' own accuracies where the policy for missing answers gives each its own denominator.

    Parameters
    ----------
    counts : PairedCounts
        The counts of the pairs and of each group's own answers.
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        See `fairstats.inference.sign_flip`; 1 where each item is answered once.

    Returns
    -------
    Estimate
        In [−1, 1]; n is the number of pairs. The interval is Tango's, and where a group has
        answers that are in no pair that of `partly_paired_interval`. NaN with limits −1 and 1
        where a group has no answer.

    Examples
    --------
    >>> from fairstats.counts.missing_policies import paired_counts
    >>> round(float(accuracy_difference(paired_counts(600, 83, 10, 108)).estimate), 4)
    0.0911
    """
    estimate = proportion(counts.correct_a, counts.n_a) - proportion(counts.correct_b, counts.n_b)
    paired = tango(counts.n10, counts.n01, counts.n, alpha=alpha, design_effect=design_effect)
    own = partly_paired_interval(
        counts.n11,
        counts.n10,
        counts.n01,
        counts.n00,
        **counts.own,
        alpha=alpha,
        design_effect=design_effect,
    )
    partly = (counts.n_a != counts.n) | (counts.n_b != counts.n)
    return Estimate(
        estimate,
        np.where(partly, own.low, paired.low),
        np.where(partly, own.high, paired.high),
        paired.level,
        np.where(partly, own.method, paired.method),
        counts.n,
    )
