"""Power for mean differences, against simulation and known values."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy

from fairstats.inference.power_means import power_means, samplesize_means


def simulated(n, difference, deviation, *, margin=None, size=1, icc=0.0, alpha=0.05, runs=20_000):
    """Return the share of data sets of whole clusters in which t shows it."""
    rng, units = np.random.default_rng(1), n // size
    between = rng.normal(0, np.sqrt(icc), (runs, units, 1))
    within = rng.normal(0, np.sqrt(1 - icc), (runs, units, size))
    means = difference + deviation * (between + within).mean(axis=2)
    mean, error = means.mean(axis=1), means.std(axis=1, ddof=1) / np.sqrt(units)
    if margin is None:
        return (np.abs(mean) > scipy.stats.t.isf(alpha / 2, units - 1) * error).mean()
    reach = scipy.stats.t.isf(alpha, units - 1) * error
    return ((mean - reach > -margin) & (mean + reach < margin)).mean()


@pytest.mark.parametrize(
    ("n", "difference", "deviation", "given"),
    [
        (20, 0.5, 1, {}),
        (12, 0.3, 0.4, {}),
        (60, 0.2, 1, {"size": 4, "icc": 0.3}),
        (60, 0.1, 0.5, {"margin": 0.4}),
        (15, 0.0, 0.5, {"margin": 0.35}),
        (80, 0.05, 0.5, {"margin": 0.3, "size": 4, "icc": 0.5}),
    ],
)
def test_power_is_that_of_simulated_answers(n, difference, deviation, given):
    renamed = {"cluster_size" if name == "size" else name: x for name, x in given.items()}
    found = float(power_means(n, difference, deviation, **renamed))
    assert found == pytest.approx(simulated(n, difference, deviation, **given), abs=0.012)


def test_power_of_a_paired_t_test():
    """R: power.t.test(n = 20, delta = 0.5, sd = 1, type = "paired", strict = TRUE)."""
    assert float(power_means(20, 0.5, 1)) == pytest.approx(0.5645, abs=5e-5)


@cache
def _estimated_deviations() -> np.ndarray:
    """Quantiles of the estimated deviation of n = 2 to 999, times the critical value of t."""
    n = np.arange(2, 1000)
    share = (np.arange(5000) + 0.5)[:, None] / 5000
    critical = scipy.stats.t.isf(0.025, n - 1)
    return np.sqrt(scipy.stats.chi2.ppf(share, n - 1) / (n - 1)) * critical


@pytest.mark.parametrize(
    ("ratio", "needed"), [(0.2, 199), (0.5, 34), (0.6, 24), (0.8, 15), (1, 10), (1.5, 6), (2, 5)]
)
def test_large_differences_need_few_items(ratio, needed):
    """The mean of normal tails over the estimated standard deviation is 80% or more."""
    assert samplesize_means(ratio, 1) == samplesize_means(-ratio, 1) == needed
    n = np.arange(2, 1000)
    root, spread = np.sqrt(n), _estimated_deviations()
    tails = scipy.stats.norm.sf(spread - ratio * root) + scipy.stats.norm.sf(spread + ratio * root)
    np.testing.assert_allclose(power_means(n, ratio, 1), tails.mean(axis=0), atol=1e-4)
    assert n[np.argmax(tails.mean(axis=0) >= 0.8)] == needed


def test_equivalence_on_a_scale_leaves_room_for_rare_large_differences():
    n = np.array([20, 51, 52, 60, 400])
    found = power_means(n, 0, 0.1, margin=0.2, scale=4)
    assert (found[:2] == 0).all()
    assert 0 < found[2] < found[3] < found[4] == pytest.approx(1)
    rng, error = np.random.default_rng(1), 0.5 / np.sqrt(80)
    mean = rng.normal(0.02, error, 100_000)
    reach = scipy.stats.t.isf(0.05, 79) * error
    share = 2.7055 / 82.7055
    inside = (np.abs(mean) + reach < 0.2) & (np.abs(mean) * (1 - share) + 4 * share < 0.2)
    assert power_means(80, 0.02, 0.5, margin=0.2, scale=4) == pytest.approx(inside.mean(), abs=0.01)


def test_degenerate_plans_have_no_power():
    assert power_means([0, 1], 1, 1).tolist() == [0, 0]
    assert float(power_means(7, 1, 1, cluster_size=4)) == 0
    # A margin that the true difference exceeds is hardly ever kept.
    assert float(power_means(100, 0.5, 1, margin=0.4)) < 0.05


@pytest.mark.parametrize("given", [{}, {"margin": 0.4}, {"cluster_size": 3.5, "icc": 0.2}])
def test_sample_size_is_the_smallest(given):
    n = samplesize_means(0.2, 0.6, **given)
    assert power_means(n, 0.2, 0.6, **given) >= 0.8
    assert power_means(n - 1, 0.2, 0.6, **given) < 0.8


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"difference": 0, "deviation": 1}, "difference=0 cannot be shown"),
        ({"difference": 0.2, "deviation": 1, "margin": 0.1}, "must be inside the margin"),
        ({"difference": 0.2, "deviation": 0}, "deviation=0 must be positive"),
        ({"difference": 0.2, "deviation": 1, "cluster_size": 0.5}, "cluster_size=0.5 must be"),
        ({"difference": 0.2, "deviation": 1, "icc": 2}, "icc=2 must be from 0 to 1"),
    ],
)
def test_impossible_plans_are_refused(given, text):
    with pytest.raises(ValueError, match=text):
        samplesize_means(**given)
