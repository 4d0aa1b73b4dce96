"""Agreement of samples of the same prompt, and disagreement between groups beyond it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import Estimate
from fairstats.counts.patterns import CountingPolicy
from fairstats.inference._checks import (
    check_alpha,
    check_choice,
    check_counts,
    check_multiplicity,
)
from fairstats.inference.unit_means import effective_number, mean_over_units, unit_mean
from fairstats.metrics.metric import ANY, SampleMetric, Samples, roomy


@dataclass(frozen=True)
class SamePrompt:
    """Result of `same_prompt`.

    Attributes
    ----------
    agreement : Estimate
        The share of pairs of samples of one variant with the same letter, in [0, 1].
    excess : Estimate
        The agreement minus the CFR of the same items, in [−1, 1].
    """

    agreement: Estimate
    excess: Estimate


def same_prompt(
    letters_a: npt.ArrayLike,
    letters_b: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    samples: npt.ArrayLike | None = None,
    missing: CountingPolicy = "available",
    alpha: float = 0.05,
    units: npt.ArrayLike | None = None,
    alike: npt.ArrayLike | None = None,
) -> SamePrompt:
    """Estimate the agreement of samples of the same prompt, and the disagreement beyond it.

    For an item with k answers of one group, c_l of them the letter l, the agreement over all pairs
    of its samples is A = Σ_l c_l (c_l − 1) / (k (k − 1)). Let C be the share of pairs of an answer
    for group a and one for group b with the same letter. The excess of an item is (A_a + A_b) / 2 −
    C. Both estimates are means over items, with equal weights.

    Parameters
    ----------
    letters_a, letters_b : array_like of int, shape (k, options)
        Number of times that each group gave each letter, for each item or kind of item.
    multiplicity : array_like of int, shape (k,), optional
        Number of items of each kind (default: one).
    samples : array_like of int, shape (k,), optional
        The number of samples, including missing ones; required for ``incorrect``.
    missing : {"available", "complete", "incorrect"}
        With ``incorrect``, a missing answer differs from every other answer; the other two policies
        leave it out.
    alpha : float
        1 − confidence level.
    units : array_like of int, shape (k,), optional
        The cluster of each item, if clusters of items are the independent units.
    alike : array_like of bool, shape (options, options), optional
        Whether each two options count as the same answer (default: only an option and itself).

    Returns
    -------
    SamePrompt
        Over the items with at least two answers for each group; `n` is their number. Without such
        items, the estimates are NaN, with the limits of the scale.

    Raises
    ------
    ValueError
        If `samples` is missing for ``incorrect``, or counts are not whole numbers.

    Notes
    -----
    The expected excess of an item is ½ Σ_l (p_l − q_l)², with p and q the probabilities of the
    letters for each group. It is 0 if the group does not matter, however noisy the answers are, and
    positive if it does. An estimate can be negative by chance. The interval is that of
    `fairstats.inference.unit_means.unit_mean`. Small chance differences hide that rare large ones
    are possible, so the upper limit leaves room for these
    (`fairstats.inference.verdict.with_room`). The lower limit needs none, as no item can have an
    expected excess below 0, unless `alike` counts neighbours as the same
    (benchmarks/small_samples.py). Limits of the agreement have room for rare items that are less
    steady, unless clusters are the units.

    References
    ----------
    Hoeffding (1948), Annals of Mathematical Statistics 19:293-325, for U-statistics; Székely &
    Rizzo (2013), Journal of Statistical Planning and Inference 143:1249-1272: twice the excess is
    the energy distance of the two groups' letters.

    Examples
    --------
    >>> found = same_prompt([[2, 0], [1, 1]], [[2, 0], [1, 1]])
    >>> float(found.agreement.estimate), float(found.excess.estimate)
    (0.5, -0.25)
    """
    alpha = check_alpha(alpha)
    check_choice("missing", missing, get_args(CountingPolicy))
    a, b = check_counts(letters_a=letters_a, letters_b=letters_b)
    many = check_multiplicity(multiplicity, len(a))
    if missing == "incorrect":
        if samples is None:
            raise ValueError("missing='incorrect' needs samples, the number of samples per item")
        sizes = np.asarray(samples, dtype=np.int64)
        size_a = size_b = sizes
    else:
        size_a, size_b = a.sum(axis=1), b.sum(axis=1)
    counted = (size_a > 1) & (size_b > 1) & (many > 0)
    a, b, many = a[counted], b[counted], many[counted]
    size_a, size_b = size_a[counted], size_b[counted]
    # As floats, whole numbers below 2**53 are exact, and products of tables many times as fast.
    equal = np.eye(a.shape[1]) if alike is None else np.asarray(alike, dtype=np.float64)
    again_a, again_b = ((own @ equal * own).sum(axis=1) - own.sum(axis=1) for own in (a, b))
    same = (a @ equal * b).sum(axis=1)
    share = (again_a / (size_a * (size_a - 1)) + again_b / (size_b * (size_b - 1))) / 2
    excess = share - same / (size_a * size_b)
    there = None if units is None else np.asarray(units)[counted]
    beyond = _over_units(excess, many, there, (-1.0, 1.0), alpha)
    number = float(many.sum())
    if there is not None:
        number = effective_number(np.bincount(pd.factorize(there)[0], weights=many))
    wide = roomy(beyond, number, (-1.0, 1.0), alpha)
    agreement = _over_units(share, many, there, (0.0, 1.0), alpha)
    if there is None:
        agreement = roomy(agreement, number, (0.0, 1.0), alpha)
    return SamePrompt(agreement, replace(wide, ci_low=beyond.ci_low))


def _over_units(
    values: npt.NDArray[np.float64],
    many: npt.NDArray[np.int64],
    units: npt.NDArray[np.int64] | None,
    limits: tuple[float, float],
    alpha: float,
) -> Estimate:
    """Return the mean over items, with an interval over items or clusters of them."""
    if units is None:
        # Engines join items that are alike. In one order of values, sums have the same last digit.
        values, place = np.unique(values, return_inverse=True)
        many = np.bincount(place, weights=many, minlength=len(values)).astype(np.int64)
        return unit_mean(values, np.ones_like(many), many, limits=limits, alpha=alpha)
    found = mean_over_units(values, many, units, limits=limits, alpha=alpha)
    return replace(found, n=np.asarray(int(many.sum())))


def _of_samples(own: Samples) -> SamePrompt:
    return same_prompt(
        own.letters_a,
        own.letters_b,
        own.items,
        samples=own.samples,
        missing=own.missing,
        alpha=own.alpha,
        units=own.units,
        alike=own.alike,
    )


SAME_PROMPT_AGREEMENT = SampleMetric(
    name="same_prompt_agreement",
    label="Agreement of the same prompt",
    definition="How often two samples of the same variant give the same answer, averaged over "
    "both groups; only with several samples per item.",
    formula=r"A = \sum_l c_l (c_l - 1) / (k (k - 1))",
    interval="Student's t over items or clusters, CR2, at least a score interval",
    order=60,
    lowest=0,
    highest=1,
    ideal=1,
    kinds=ANY,
    compute=lambda own: own.once(_of_samples).agreement,
    note="n counts the pairs of variants with at least two answers each",
)
EXCESS_DISAGREEMENT = replace(
    SAME_PROMPT_AGREEMENT,
    name="excess_disagreement",
    label="Disagreement beyond the same prompt's",
    definition="Agreement of the same prompt minus the CFR of the same items: the disagreement "
    "beyond sampling noise. Expected to be 0 if the group does not matter.",
    formula=r"\tfrac12 (A_a + A_b) - \mathrm{CFR}",
    order=70,
    lowest=-1,
    ideal=0,
    compute=lambda own: own.once(_of_samples).excess,
    note="same_prompt_agreement minus the CFR of the same pairs of variants, each counted once; "
    "expected to be 0 if the group does not matter",
)
