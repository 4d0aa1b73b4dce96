"""Cohen's h, the effect size of a difference between two proportions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.patterns import PolicyCounts
from fairstats.inference.effect_sizes import arcsine, cohens_h_interval
from fairstats.metrics.accuracy import accuracies, bounds_a, bounds_b
from fairstats.metrics.metric import SHARES, PairMetric, Patterns, Range, roomy_contrast


def cohens_h(
    counts: PolicyCounts,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
    units: npt.ArrayLike = np.inf,
    tested: npt.ArrayLike = 0.0,
) -> Estimate:
    """Compute Cohen's effect size for two accuracies: h = 2 arcsin √Acc_a − 2 arcsin √Acc_b.

    Parameters
    ----------
    counts : PolicyCounts
        The counts of the pairs, and of each group's answers.
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        See `fairstats.inference.clustered_answers`; 1 if each item is answered once.
    units, tested : array_like of float
        As in `fairstats.metrics.accuracy.accuracy_difference`.

    Returns
    -------
    Estimate
        In [−π, π], positive if group a has the higher accuracy. If a group has no answers, NaN with
        limits −π and π. The interval is that of `cohens_h_interval`.

    References
    ----------
    Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 6. The estimate
    is `statsmodels.stats.proportion.proportion_effectsize`.
    """
    from statsmodels.stats.proportion import proportion_effectsize

    shares = accuracies(counts)
    h = np.asarray(proportion_effectsize(*shares))
    interval = cohens_h_interval(
        *counts.cells, **counts.own, alpha=alpha, design_effect=design_effect
    )
    found = replace(interval, estimate=h)
    return roomy_contrast(found, shares, _h, units=units, alpha=alpha, tested=tested)


def _on_arcsine_scale(pair: Patterns, side: str) -> FloatArray:
    """Return the influence on 2 arcsin √p, with derivative 1 / √(p (1 − p))."""
    correct, answers = (getattr(pair.one, f"{name}_{side}") for name in ("correct", "n"))
    influence = pair.share(correct, answers)
    p = float(pair.totals @ correct) / max(float(pair.totals @ answers), 1.0)
    spread = np.sqrt(p * (1 - p))
    return influence / spread if spread > 0 else influence


def _bounds(c: Mapping[str, FloatArray]) -> Range:
    (a_low, a_high), (b_low, b_high) = bounds_a(c), bounds_b(c)
    return _h(a_low, b_high), _h(a_high, b_low)


def _h(p_a: FloatArray, p_b: FloatArray) -> FloatArray:
    return np.asarray(arcsine(p_a) - arcsine(p_b))


COHENS_H = PairMetric(
    name="cohens_h",
    label="Cohen's h",
    definition="Effect size of the difference of two accuracies or selection rates.",
    formula=r"2\arcsin\sqrt{\mathrm{Acc}_a} - 2\arcsin\sqrt{\mathrm{Acc}_b}",
    interval="square-and-add on the arcsine scale; if an item has several answers, room as of the "
    "difference",
    order=80,
    lowest=-math.pi,
    highest=math.pi,
    ideal=0,
    kinds=SHARES,
    compute=lambda pairs: cohens_h(
        pairs.paired,
        alpha=pairs.alpha,
        design_effect=pairs.effects["cohens_h"],
        units=pairs.room_units,
        tested=pairs.tested,
    ),
    influence=lambda pair: _on_arcsine_scale(pair, "a") - _on_arcsine_scale(pair, "b"),
    bounds=_bounds,
    rests_on="both groups",
)
