"""Cohen's h, the effect size of a difference between two proportions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate
from fairstats.counts.missing_policies import PairedCounts
from fairstats.inference.effect_sizes import cohens_h_interval
from fairstats.metrics.accuracy import proportion


def cohens_h(
    counts: PairedCounts, *, alpha: float = 0.05, design_effect: npt.ArrayLike = 1.0
) -> Estimate:
    """Cohen's effect size for two accuracies: h = 2 arcsin √Acc_a − 2 arcsin √Acc_b.

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
        In [−π, π], positive where group a is answered better. NaN with limits −π and π where a
        group has no answer. The interval is that of `cohens_h_interval`.

    References
    ----------
    Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 6. The estimate
    is `statsmodels.stats.proportion.proportion_effectsize`.
    """
    from statsmodels.stats.proportion import proportion_effectsize

    p_a = proportion(counts.correct_a, counts.n_a)
    p_b = proportion(counts.correct_b, counts.n_b)
    h = np.asarray(proportion_effectsize(p_a, p_b))
    interval = cohens_h_interval(
        counts.n11,
        counts.n10,
        counts.n01,
        counts.n00,
        **counts.own,
        alpha=alpha,
        design_effect=design_effect,
    )
    return Estimate(h, interval.low, interval.high, interval.level, interval.method, counts.n)
