"""Ratio of the accuracies of two groups."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.patterns import PolicyCounts
from fairstats.inference.effect_sizes import partly_paired_ratio, risk_ratio
from fairstats.metrics.accuracy import accuracies, bounds_a, bounds_b, with_own_answers
from fairstats.metrics.metric import PairMetric, Pairs, Patterns, Range, roomy_contrast


def accuracy_ratio(
    counts: PolicyCounts,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
    units: npt.ArrayLike = np.inf,
    tested: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute the ratio of two groups' accuracies, Acc_a / Acc_b, over counterfactual pairs.

    Parameters
    ----------
    counts : PolicyCounts
        The counts of the pairs, and of each group's answers.
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        See `fairstats.inference.clustered_answers`; 1 if each item is answered once.
    units, tested : array_like of float
        As in `fairstats.metrics.accuracy.accuracy_difference`, with 1 for 0.

    Returns
    -------
    Estimate
        In [0, ∞]; n is the number of pairs. The interval is that of
        `fairstats.inference.effect_sizes.risk_ratio`, or `partly_paired_ratio` if a group has
        unpaired answers. If neither group is ever right, or has no answers, the ratio is NaN with
        limits 0 and ∞.

    Examples
    --------
    >>> from fairstats.counts.patterns import complete_counts
    >>> round(float(accuracy_ratio(complete_counts(600, 83, 10, 108)).estimate), 4)
    1.1197
    """
    shares = accuracies(counts)
    paired = risk_ratio(*counts.cells, alpha=alpha, design_effect=design_effect)
    own = partly_paired_ratio(*counts.cells, **counts.own, alpha=alpha, design_effect=design_effect)
    found = with_own_answers(counts, quotient(*shares), paired, own)
    return roomy_contrast(found, shares, quotient, units=units, alpha=alpha, tested=tested)


def quotient(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Return a / b; infinite if only b is 0, and NaN if both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(a, b), dtype=np.float64)


def ratio_bounds(
    low_a: FloatArray, high_a: FloatArray, low_b: FloatArray, high_b: FloatArray
) -> Range:
    """Return the lowest and highest a / b that is known; from 0 to ∞ if both can only be 0."""
    never = (high_a == 0) & (high_b == 0)
    low = np.where((low_a == 0) & (high_b == 0), np.inf, quotient(low_a, high_b))
    high = np.where((high_a == 0) & (low_b == 0), 0.0, quotient(high_a, low_b))
    return np.where(never, 0.0, low), np.where(never, np.inf, high)


def ratio_of(pairs: Pairs, units: FloatArray) -> Estimate:
    """Return the ratio of each pair, with room for rare ones of these `units`."""
    effect = pairs.effects["accuracy_ratio"]
    return accuracy_ratio(
        pairs.paired,
        alpha=pairs.alpha,
        design_effect=effect,
        units=units,
        tested=pairs.tested + 1,
    )


def _influence(pair: Patterns) -> FloatArray:
    """Return the influence on the ratio, times Acc_b²: a design effect has no unit."""
    one = pair.one
    shares = [(one.correct_a, one.n_a), (one.correct_b, one.n_b)]
    a, b = (
        float(pair.totals @ part) / max(float(pair.totals @ all_), 1.0) for part, all_ in shares
    )
    on_a, on_b = (pair.share(part, all_) for part, all_ in shares)
    return on_a * b - on_b * a


ACCURACY_RATIO = PairMetric(
    name="accuracy_ratio",
    label="Accuracy ratio",
    definition="Accuracy of group a divided by that of group b; infinite if group b is never "
    "right.",
    formula=r"\mathrm{Acc}_a / \mathrm{Acc}_b",
    interval="score (Tang, Tang and Chan); square-and-add on the log scale if each group has its "
    "own denominator; if an item has several answers, room as of the difference",
    order=45,
    lowest=0,
    highest=math.inf,
    ideal=1,
    compute=lambda pairs: ratio_of(pairs, pairs.room_units),
    influence=_influence,
    bounds=lambda c: ratio_bounds(*bounds_a(c), *bounds_b(c)),
    rests_on="both groups",
)
