"""The mean of an item's differences: degenerate cases first, then Student's t."""

import numpy as np
import pytest
from scipy import stats

from fairstats.inference.intervals import wilson
from fairstats.inference.mean_difference import mean_difference


def test_no_item_gives_the_whole_range():
    found = mean_difference([], largest=1)
    assert np.isnan(found.estimate)
    assert (found.ci_low, found.ci_high, found.p_value, found.n) == (-1, 1, 1, 0)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_no_difference_in_any_item_is_not_significant_and_has_limits(n):
    found = mean_difference([0.0] * n, largest=1)
    unseen = float(wilson(0, n).ci_high)
    assert (found.estimate, found.p_value) == (0, 1)
    assert (found.ci_low, found.ci_high) == (pytest.approx(-unseen), pytest.approx(unseen))


def test_the_same_difference_in_every_item_has_no_p_of_0():
    for values in ([0.25] * 10, [0.25], [-0.5] * 100):
        found = mean_difference(values, largest=1)
        assert 0 < found.p_value < 1
        assert found.ci_low < values[0] < found.ci_high
        # The limits reach 0 at the level of p.
        edge = mean_difference(values, largest=1, alpha=found.p_value)
        assert min(abs(edge.ci_low), abs(edge.ci_high)) == pytest.approx(0, abs=1e-9)


def test_without_a_bound_one_value_has_no_limits():
    found = mean_difference([1.0] * 10)
    assert np.isnan(found.ci_low)
    assert np.isnan(found.ci_high)
    assert found.p_value == 2 / 2**10
    assert mean_difference([0.0] * 10).p_value == 1


def test_it_is_student_t_and_limits_fit_the_test():
    values = np.random.default_rng(1).normal(0.2, 1, 60)
    found = mean_difference(values)
    expected = stats.ttest_1samp(values, 0)
    assert found.p_value == expected.pvalue
    assert (found.ci_low, found.ci_high) == tuple(expected.confidence_interval(0.95))
    level = 1 - found.p_value
    edge = mean_difference(values, alpha=1 - level)
    assert min(abs(edge.ci_low), abs(edge.ci_high)) == pytest.approx(0, abs=1e-9)


def test_rounding_errors_are_not_differences():
    found = mean_difference([0.1 + 0.2 - 0.3] * 3 + [0.0] * 3, largest=1)
    assert found.p_value == 1


@pytest.mark.parametrize("values", [[np.nan], [2.0], [[0.1]]])
def test_values_that_cannot_be_are_refused(values):
    with pytest.raises(ValueError, match="differences"):
        mean_difference(values, largest=1)
