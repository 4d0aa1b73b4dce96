"""The three verdicts and the borders between them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairstats.inference.intervals import tango
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE, verdict


@pytest.mark.parametrize(
    ("p", "low", "high", "expected"),
    [
        (0.001, 0.05, 0.10, DISPARITY),
        (0.05, 0.00, 0.10, DISPARITY),
        (0.050001, -0.01, 0.10, INCONCLUSIVE),
        (0.9, -0.0199, 0.0199, EQUIVALENT),
        (0.9, -0.02, 0.01, INCONCLUSIVE),
        (0.9, -0.01, 0.02, INCONCLUSIVE),
        (1e-9, 0.005, 0.015, EQUIVALENT),
        (1.0, -1, 1, INCONCLUSIVE),
        (np.nan, -1, 1, INCONCLUSIVE),
        (np.nan, np.nan, np.nan, INCONCLUSIVE),
    ],
)
def test_verdict(p, low, high, expected):
    assert verdict(p, low, high, margin=0.02).item() == expected


def test_alpha_moves_the_border_of_a_disparity():
    assert verdict(0.03, 0.0, 0.5, margin=0.02, alpha=0.01).item() == INCONCLUSIVE


def test_margins_can_differ_between_differences():
    found = verdict([0.5, 0.5], [-0.03, -0.03], [0.03, 0.03], margin=[0.02, 0.05])
    assert found.tolist() == [INCONCLUSIVE, EQUIVALENT]


@pytest.mark.parametrize("margin", [0, -0.1, [0.1, 0]])
def test_a_margin_that_is_not_positive_is_refused(margin):
    with pytest.raises(ValueError, match="margin"):
        verdict([0.5, 0.5], [-1, -1], [1, 1], margin=margin)


def test_size_of_equivalence_agrees_with_the_methods_page():
    # p10 is the margin and p01 is 0: every number of discordant pairs is counted.
    sizes = {}
    for n in range(100, 900):
        k = np.arange(min(n, 60))
        interval = tango(n - k - 0, k, 0, 0, alpha=0.1)
        inside = (interval.ci_low > -0.02) & (interval.ci_high < 0.02)
        sizes[n] = float(stats.binom.pmf(k, n, 0.02)[inside].sum())
    worst = max(sizes, key=sizes.__getitem__)
    assert (worst, round(sizes[worst], 3)) == (133, 0.068)
    assert sizes[801] < 0.05
