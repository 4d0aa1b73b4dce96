"""The counterfactual fairness rate."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.inference.intervals import wilson
from fairstats.metrics.cfr import cfr


def test_cfr_is_the_share_of_pairs_with_one_letter():
    result, interval = cfr([701, 0, 5], [801, 3, 5]), wilson([701, 0, 5], [801, 3, 5])
    np.testing.assert_array_equal(result.estimate, [701 / 801, 0, 1])
    np.testing.assert_array_equal(
        [result.ci_low, result.ci_high], [interval.ci_low, interval.ci_high]
    )


def test_without_pairs_cfr_is_nan_between_0_and_1():
    result = cfr(0, 0)
    assert np.isnan(result.estimate)
    assert (result.ci_low, result.ci_high, result.n) == (0, 1, 0)


def test_more_equal_pairs_than_pairs_are_refused():
    with pytest.raises(ValueError, match="exceed"):
        cfr(2, 1)
