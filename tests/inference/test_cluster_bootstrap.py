"""The bootstrap of clusters against that of pairs, and resampling."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.inference.cluster_bootstrap import cluster_bootstrap, mean_interval
from fairstats.inference.intervals import wilson
from fairstats.inference.tango import tango


def test_clusters_of_one_are_the_bootstrap_of_pairs():
    cells = [600, 83, 10, 108]
    found, expected = cluster_bootstrap(np.eye(4), multiplicity=cells), bootstrap_counts(cells)
    assert (found.estimate, found.ci_low, found.ci_high) == (
        expected.estimate,
        expected.ci_low,
        expected.ci_high,
    )


def test_copies_of_an_answer_add_no_information():
    cells = [600, 83, 10, 108]
    found, expected = cluster_bootstrap(3 * np.eye(4), multiplicity=cells), bootstrap_counts(cells)
    np.testing.assert_allclose(
        [found.ci_low, found.ci_high], [expected.ci_low, expected.ci_high], atol=1e-12
    )


def test_clusters_of_unequal_size_are_resampled():
    kinds = [[2, 0, 0, 0], [0, 2, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    with pytest.raises(ValueError, match="clusters of one size"):
        cluster_bootstrap(kinds)
    found = cluster_bootstrap(kinds, multiplicity=[60, 20, 30, 10], n_resamples=4000, rng=1)
    assert found.ci_low < found.estimate < found.ci_high
    assert found.method == "cluster bootstrap bca, 4000 resamples"
    equal = [[2, 0, 0, 0], [0, 2, 0, 0], [1, 0, 1, 0]]
    drawn = cluster_bootstrap(equal, multiplicity=[60, 20, 30], n_resamples=40_000, rng=1)
    exact = cluster_bootstrap(equal, multiplicity=[60, 20, 30])
    np.testing.assert_allclose(
        [drawn.ci_low, drawn.ci_high], [exact.ci_low, exact.ci_high], atol=0.01
    )


def test_items_that_do_not_vary_have_the_interval_of_items_that_agree():
    found, expected = cluster_bootstrap([[2, 0, 0, 0]], multiplicity=[50]), tango(50, 0, 0, 0)
    assert (found.ci_low, found.ci_high) == (expected.ci_low, expected.ci_high)
    assert "is not informative here" in found.method
    share = cluster_bootstrap([[3, 0]], "proportion", multiplicity=[50])
    np.testing.assert_allclose([share.ci_low, share.ci_high], [wilson(50, 50).ci_low, 1])
    drawn = cluster_bootstrap([[2, 0, 0, 0]], multiplicity=[50], n_resamples=99, rng=1)
    assert np.isnan(drawn.ci_low)
    assert "do not vary" in drawn.method


def test_the_mean_of_a_number_an_item_is_bootstrapped_exactly():
    values, many = [-2, -1, 0, 1, 2], [3, 20, 500, 60, 9]
    found = mean_interval(values, many, largest=2, method="percentile")
    rng = np.random.default_rng(1)
    drawn = rng.multinomial(592, np.array(many) / 592, 200_000) @ np.array(values) / 592
    np.testing.assert_allclose(
        [found.ci_low, found.ci_high], np.quantile(drawn, [0.025, 0.975]), atol=1.01 / 592
    )
    assert float(found.estimate) == pytest.approx(52 / 592)
    pairs = mean_interval([1, -1, 0], [83, 10, 708])
    assert pairs.ci_low == bootstrap_counts([600, 83, 10, 108]).ci_low
    empty = mean_interval([], [], largest=2)
    assert np.isnan(empty.estimate)
    assert (float(empty.ci_low), float(empty.ci_high)) == (-2, 2)
    with pytest.raises(ValueError, match="largest=1 is exceeded"):
        mean_interval([2], [4])


def test_limits_are_within_the_scale():
    found = mean_interval([0, 3], [99, 1], largest=3, alpha=0.001)
    assert found.ci_high < 0.6
    assert mean_interval([-1, 1], [1, 19], method="basic").ci_high <= 1
    kinds = [[2, 0], [0, 2]]
    found = cluster_bootstrap(kinds, "proportion", multiplicity=[1, 39], alpha=5e-4)
    assert found.ci_high <= 1
    found = cluster_bootstrap([[2, 0], [1, 1]], "proportion", multiplicity=[38, 2], method="basic")
    assert found.ci_high <= 1


def test_clusters_without_an_answer_are_refused():
    with pytest.raises(ValueError, match="must have an answer"):
        cluster_bootstrap([[0, 0], [1, 0]], "proportion")
    with pytest.raises(ValueError, match="must be at least 1"):
        cluster_bootstrap([[1, 0], [0, 1]], "proportion", n_resamples=0, rng=1)
