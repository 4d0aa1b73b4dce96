"""Accuracy of one group, and the signed and absolute difference between two groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.patterns import PolicyCounts, per_answer
from fairstats.inference._checks import check_counts, check_parts
from fairstats.inference.differences import partly_paired_interval
from fairstats.inference.intervals import tango, wilson
from fairstats.metrics.metric import PairMetric, Pairs, Patterns, Range, roomy, roomy_contrast


def proportion(successes: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """Return successes / n; NaN if n is 0."""
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
    """Return a proportion with its Wilson interval; NaN with limits 0 and 1 if n is 0."""
    interval = wilson(successes, n, alpha=alpha, design_effect=design_effect)
    return Estimate(
        proportion(successes, n),
        interval.ci_low,
        interval.ci_high,
        interval.ci_level,
        interval.method,
        np.asarray(n, dtype=np.int64),
    )


def share_of_pairs(pairs: Pairs, part: npt.ArrayLike, effect: FloatArray) -> Estimate:
    """Return a share of pairs, with room for rare items if an item has several answers."""
    found = estimate_proportion(part, pairs.paired.n, alpha=pairs.alpha, design_effect=effect)
    return roomy(found, pairs.room_units, (0.0, 1.0), pairs.alpha)


def accuracy(
    correct: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute the share of a group's answers that are correct: Acc = correct / n.

    Parameters
    ----------
    correct, n : array_like of int
        Correct answers, and answers that count under the missing policy.
    alpha : float
        1 − confidence level of the Wilson interval.
    design_effect : array_like of float
        See `fairstats.inference.clustered_answers`; 1 if each item is answered once.

    Returns
    -------
    Estimate
        In [0, 1]. With n = 0 the estimate is NaN and the interval is 0 to 1.

    Raises
    ------
    ValueError
        If there are more correct answers than answers, a count is invalid, alpha is outside (0, 1),
        or a design effect is not positive.

    Examples
    --------
    >>> float(accuracy(3, 4).estimate)
    0.75
    """
    return estimate_proportion(correct, n, alpha=alpha, design_effect=design_effect)


def accuracies(counts: PolicyCounts) -> tuple[FloatArray, FloatArray]:
    """Return the accuracy of each group; NaN without answers."""
    return proportion(counts.correct_a, counts.n_a), proportion(counts.correct_b, counts.n_b)


def accuracy_difference(
    counts: PolicyCounts,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
    units: npt.ArrayLike = np.inf,
    tested: npt.ArrayLike = 0.0,
) -> Estimate:
    """Compute the signed difference Acc_a − Acc_b over counterfactual pairs.

    It is (n10 − n01) / n if both groups have an answer to each item. If the missing policy gives
    each group a separate denominator, it is the difference of the groups' accuracies.

    Parameters
    ----------
    counts : PolicyCounts
        The counts of the pairs, and of each group's answers.
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        See `fairstats.inference.clustered_answers`; 1 if each item is answered once.
    units : array_like of float
        The number of independent units, if items have several answers: limits then have room for
        rare ones, see `fairstats.inference.verdict.with_room`.
    tested : array_like of float
        Limits that exclude this difference stay there, as the test does; NaN without a test.

    Returns
    -------
    Estimate
        In [−1, 1]; n is the number of pairs. The interval is Tango's, or that of
        `partly_paired_interval` if a group has unpaired answers. If a group has no answers, NaN
        with limits −1 and 1.

    Examples
    --------
    >>> from fairstats.counts.patterns import complete_counts
    >>> round(float(accuracy_difference(complete_counts(600, 83, 10, 108)).estimate), 4)
    0.0911
    """
    shares = accuracies(counts)
    paired = tango(*counts.cells, alpha=alpha, design_effect=design_effect)
    own = partly_paired_interval(
        *counts.cells, **counts.own, alpha=alpha, design_effect=design_effect
    )
    found = with_own_answers(counts, shares[0] - shares[1], paired, own)
    return roomy_contrast(found, shares, np.subtract, units=units, alpha=alpha, tested=tested)


def with_own_answers(
    counts: PolicyCounts, estimate: FloatArray, paired: Estimate, own: Estimate
) -> Estimate:
    """Return an estimate; its interval is `own` if a group has answers that are in no pair."""
    partly = (counts.n_a != counts.n) | (counts.n_b != counts.n)
    low, high, method = (
        np.where(partly, getattr(own, name), getattr(paired, name))
        for name in ("ci_low", "ci_high", "method")
    )
    return Estimate(estimate, low, high, paired.ci_level, method, counts.n)


def absolute(difference: Estimate) -> Estimate:
    """Return \\|a − b\\|, given a − b."""
    low, high = absolute_interval(difference.ci_low, difference.ci_high)
    methods = np.broadcast_to(difference.method, low.shape)
    method = np.array([f"{text}, absolute" for text in methods])
    estimate = np.abs(difference.estimate)
    return replace(difference, estimate=estimate, ci_low=low, ci_high=high, method=method)


def absolute_interval(low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the range of \\|d\\| for d from low to high."""
    low, high = np.asarray(low), np.asarray(high)
    inside = (low <= 0) & (high >= 0)
    return np.where(inside, 0.0, np.minimum(abs(low), abs(high))), np.maximum(abs(low), abs(high))


def bounds_a(c: Mapping[str, FloatArray]) -> Range:
    """Return the lowest and highest accuracy of group a over all fill-ins of missing answers."""
    low = (c["n11"] + c["n11_different"] + c["n10"] + c["n1x"]) / c["n"]
    return low, low + (c["nx1"] + c["nx0"] + c["nxx"]) / c["n"]


def bounds_b(c: Mapping[str, FloatArray]) -> Range:
    """Return the lowest and highest accuracy of group b over all fill-ins of missing answers."""
    low = (c["n11"] + c["n11_different"] + c["n01"] + c["nx1"]) / c["n"]
    return low, low + (c["n1x"] + c["n0x"] + c["nxx"]) / c["n"]


def _of_group(side: str, pairs: Pairs) -> Estimate:
    correct, n = (
        per_answer(getattr(pairs.paired, f"{name}_{side}"), pairs.paired.copies)
        for name in ("correct", "n")
    )
    effect = pairs.effects[f"accuracy_{side}"]
    found = accuracy(correct, n, alpha=pairs.alpha, design_effect=effect)
    return roomy(found, pairs.room_units, (0.0, 1.0), pairs.alpha)


def _difference(pairs: Pairs) -> Estimate:
    effect = pairs.effects["accuracy_difference"]
    return accuracy_difference(
        pairs.paired,
        alpha=pairs.alpha,
        design_effect=effect,
        units=pairs.room_units,
        tested=pairs.tested,
    )


def _difference_bounds(c: Mapping[str, FloatArray]) -> Range:
    (a_low, a_high), (b_low, b_high) = bounds_a(c), bounds_b(c)
    return a_low - b_high, a_high - b_low


def _influence_a(pair: Patterns) -> FloatArray:
    return pair.share(pair.one.correct_a, pair.one.n_a)


def _influence_b(pair: Patterns) -> FloatArray:
    return pair.share(pair.one.correct_b, pair.one.n_b)


ACCURACY_A = PairMetric(
    name="accuracy_a",
    label="Accuracy, {a}",
    definition="Share of group a's answers that are right.",
    formula=r"\mathrm{Acc}_a = \text{right answers} / \text{answers}",
    interval="Wilson; if an item has several answers, room for rare items",
    order=10,
    lowest=0,
    highest=1,
    ideal=1,
    compute=partial(_of_group, "a"),
    influence=_influence_a,
    bounds=bounds_a,
    rests_on="one group",
)
ACCURACY_B = replace(
    ACCURACY_A,
    name="accuracy_b",
    label="Accuracy, {b}",
    definition="Share of group b's answers that are right.",
    formula=r"\mathrm{Acc}_b",
    order=20,
    compute=partial(_of_group, "b"),
    influence=_influence_b,
    bounds=bounds_b,
)
ACCURACY_DIFFERENCE = PairMetric(
    name="accuracy_difference",
    label="Accuracy difference",
    definition="Accuracy of group a minus that of group b, signed.",
    formula=r"d = \mathrm{Acc}_a - \mathrm{Acc}_b",
    interval="Tango; square-and-add if each group has its own denominator; if an item has several "
    "answers, room for rare items, but limits that exclude 0 stay there",
    order=30,
    lowest=-1,
    highest=1,
    ideal=0,
    compute=lambda pairs: pairs.once(_difference),
    influence=lambda pair: _influence_a(pair) - _influence_b(pair),
    bounds=_difference_bounds,
    rests_on="both groups",
)
AD = replace(
    ACCURACY_DIFFERENCE,
    name="ad",
    label="AD, accuracy disparity",
    definition="Absolute value of the accuracy difference. Never negative, so its interval is not "
    "a test.",
    formula=r"\mathrm{AD} = \lvert d \rvert",
    interval="that of the accuracy difference, absolute",
    order=40,
    lowest=0,
    compute=lambda pairs: absolute(pairs.once(_difference)),
    bounds=lambda c: absolute_interval(*_difference_bounds(c)),
)
