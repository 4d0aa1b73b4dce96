"""Fieller's interval: the values it must contain, and cases without an interval."""

import math

import pytest
from scipy import stats

from fairstats.inference.fieller import fieller

NOTHING = {"variance_numerator": 0.0, "covariance": 0.0}


@pytest.mark.parametrize("denominator", [0.0, 0.19, -0.19, float("nan")])
def test_denominator_that_may_be_0_gives_no_interval(denominator):
    found = fieller(1.0, denominator, variance_denominator=0.01, **NOTHING)
    assert math.isnan(found.estimate)
    assert math.isnan(found.ci_low)
    assert math.isnan(found.ci_high)


def test_without_variance_it_is_a_point():
    found = fieller(1.0, 4.0, variance_denominator=0.0, **NOTHING)
    assert (found.ci_low, found.estimate, found.ci_high) == (0.25, 0.25, 0.25)


def test_quotient_of_an_estimate_and_itself_is_1():
    found = fieller(
        0.2, 0.2, variance_numerator=0.001, variance_denominator=0.001, covariance=0.001
    )
    assert (found.ci_low, found.ci_high) == pytest.approx((1, 1), abs=1e-6)


@pytest.mark.parametrize("denominator", [0.3, -0.3])
def test_at_its_limits_the_test_is_at_its_level(denominator):
    variances = {
        "variance_numerator": 0.002,
        "variance_denominator": 0.003,
        "covariance": -0.001,
    }
    found = fieller(0.2, denominator, alpha=0.1, **variances)
    assert found.ci_low < found.estimate < found.ci_high
    for ratio in (found.ci_low, found.ci_high):
        variance = 0.002 + 2 * ratio * 0.001 + ratio**2 * 0.003
        z = abs(0.2 - ratio * denominator) / math.sqrt(variance)
        assert 2 * stats.norm.sf(z) == pytest.approx(0.1)
