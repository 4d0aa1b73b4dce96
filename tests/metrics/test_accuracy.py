"""Accuracy and the signed difference of two accuracies."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.inference.intervals import tango, wilson
from fairstats.metrics.accuracy import accuracy, accuracy_difference, proportion


def test_a_proportion_of_nothing_is_nan():
    np.testing.assert_array_equal(proportion([0, 0, 3], [0, 4, 4]), [np.nan, 0, 0.75])


def test_accuracy_is_the_share_with_wilsons_interval():
    result, interval = accuracy([7, 0], [10, 0]), wilson([7, 0], [10, 0])
    np.testing.assert_array_equal(result.estimate, [0.7, np.nan])
    np.testing.assert_array_equal([result.ci_low, result.ci_high], [interval.low, interval.high])
    assert (result.ci_low[1], result.ci_high[1]) == (0, 1)
    assert (result.ci_method, result.ci_level, result.n.tolist()) == ("wilson", 0.95, [10, 0])


def test_more_correct_answers_than_answers_are_refused():
    with pytest.raises(ValueError, match="exceed"):
        accuracy(5, 4)


def test_the_difference_is_signed_and_has_tangos_interval():
    result, interval = accuracy_difference(10, 83, 801), tango(10, 83, 801)
    assert float(result.estimate) == pytest.approx(-73 / 801)
    assert (result.ci_low, result.ci_high) == (interval.low, interval.high)
    assert result.ci_method == "tango"


def test_without_pairs_the_difference_is_nan_on_the_whole_scale():
    result = accuracy_difference(0, 0, 0)
    assert np.isnan(result.estimate)
    assert (result.ci_low, result.ci_high) == (-1, 1)


def test_an_estimate_inside_of_the_interval_leaves_it_alone():
    result, interval = accuracy_difference(5, 5, 50, estimate=0.01), tango(5, 5, 50)
    assert (result.ci_low, result.ci_high) == (interval.low, interval.high)
    assert result.estimate == 0.01
    assert result.ci_method.item() == "tango"


def test_an_estimate_outside_of_the_interval_widens_it_and_says_so():
    result = accuracy_difference([0, 0, 0], [0, 0, 0], [99, 99, 0], estimate=[0.5, -0.5, np.nan])
    interval = tango(0, 0, 99)
    assert result.ci_high[:2].tolist() == [0.5, interval.high]
    assert result.ci_low[:2].tolist() == [interval.low, -0.5]
    assert (result.ci_low[2], result.ci_high[2]) == (-1, 1)
    assert result.ci_method.tolist() == ["tango, widened to the estimate"] * 2 + ["tango"]
