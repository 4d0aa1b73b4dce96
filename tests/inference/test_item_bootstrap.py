"""The bootstrap of items: against enumeration and scipy, and if it is not informative."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.inference.exact_sums import fine_sum_law, law_of_sum
from fairstats.inference.intervals import wilson
from fairstats.inference.item_bootstrap import STEPS, bounded_mean_interval

# Overlaps of two lists of ten snippets: j in common of 20 − j.
OVERLAPS = np.array([j / (20 - j) for j in range(11)])


def limits(found) -> tuple[float, float]:
    return float(found.ci_low), float(found.ci_high)


def test_without_items_there_is_no_estimate():
    found = bounded_mean_interval([])
    assert np.isnan(found.estimate)
    assert limits(found) == (0, 1)
    assert (int(found.n), found.method) == (0, "none (no items)")
    none = bounded_mean_interval([0.5, 1], [0, 0])
    assert np.isnan(none.estimate)


@pytest.mark.parametrize("n", [1, 24, 801])
def test_items_of_one_value_leave_room_for_those_that_were_not_seen(n):
    all_the_same = bounded_mean_interval(np.ones(n))
    expected = wilson(n, n)
    np.testing.assert_allclose(limits(all_the_same), (expected.ci_low, 1), atol=1e-12)
    assert "is not informative here" in all_the_same.method
    none_the_same = bounded_mean_interval(np.zeros(n))
    np.testing.assert_allclose(limits(none_the_same), (0, wilson(0, n).ci_high), atol=1e-12)
    between = bounded_mean_interval(np.full(n, 1 / 3))
    assert between.estimate == 1 / 3
    assert 0 < between.ci_low < 1 / 3 < between.ci_high < 1
    width = float(between.ci_high - between.ci_low)
    assert width == pytest.approx(float(wilson(0, n).ci_high))


@pytest.mark.parametrize("wrong", [[1.1], [-0.1], [np.nan], [[0.5]]])
def test_values_outside_0_and_1_are_refused(wrong):
    with pytest.raises(ValueError, match="values"):
        bounded_mean_interval(wrong)


def test_other_arguments_are_checked():
    with pytest.raises(ValueError, match="unknown"):
        bounded_mean_interval([0.5], method="studentized")
    with pytest.raises(ValueError, match="shape of values"):
        bounded_mean_interval([0.5, 0.6], [3])
    with pytest.raises(ValueError, match="alpha"):
        bounded_mean_interval([0.5], alpha=1)


def enumerated(values, alpha: float, method: str) -> tuple[float, float]:
    """The limits from every one of the nⁿ resamples, by the formulas as they are printed."""
    x = np.array(values)
    n = len(x)
    means = np.sort([np.mean(draw) for draw in product(x, repeat=n)])
    levels = np.array([alpha / 2, 1 - alpha / 2])
    if method == "bca":
        below = np.mean(means < x.mean() - 1e-12)
        at = np.mean(np.abs(means - x.mean()) < 1e-12)
        z0 = stats.norm.ppf(below + at / 2)
        left_out = np.array([np.delete(x, i).mean() for i in range(n)])
        d = left_out.mean() - left_out
        a = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
        z = stats.norm.ppf(levels)
        levels = stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z)))
    low = means[np.flatnonzero(np.arange(1, len(means) + 1) / len(means) >= levels[0] - 1e-12)[0]]
    high = means[
        np.flatnonzero((len(means) - np.arange(len(means))) / len(means) >= 1 - levels[1] - 1e-12)[
            -1
        ]
    ]
    return low, high


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize(
    "values",
    [
        # Fractions that are all on the lattice.
        [0, 1 / 4, 1 / 3, 1 / 2, 1, 1],
        # Two values that are not on the lattice.
        [1 / 11, 1 / 11, 1 / 11, 7 / 13, 7 / 13],
    ],
)
def test_a_few_items_have_the_limits_of_all_their_resamples(values, alpha, method):
    found = bounded_mean_interval(values, method=method, alpha=alpha)
    np.testing.assert_allclose(limits(found), enumerated(values, alpha, method), atol=1e-12)


@pytest.mark.parametrize("values", [[1 / 11, 3 / 13, 7 / 17, 0.9, 1], [0.123456, 0.5, 0.999999]])
def test_rounding_moves_a_limit_by_less_than_a_step(values):
    found = bounded_mean_interval(values, method="percentile", alpha=0.1)
    expected = enumerated(values, 0.1, "percentile")
    assert np.abs(np.array(limits(found)) - expected).max() < 1 / STEPS
    assert float(found.estimate) == pytest.approx(np.mean(values), abs=1e-15)


def test_exact_interval_agrees_with_resampling():
    rng = np.random.default_rng(3)
    x = rng.choice(OVERLAPS, 801, p=np.arange(1, 12) / 66)
    found = bounded_mean_interval(x)
    drawn = stats.bootstrap(
        (x,), np.mean, n_resamples=20_000, batch=1000, rng=1, method="BCa"
    ).confidence_interval
    # Four standard deviations of a simulated quantile.
    noise = 4 * np.sqrt(0.025 * 0.975 / 20_000) / stats.norm.pdf(1.96) * x.std() / np.sqrt(len(x))
    np.testing.assert_allclose(limits(found), drawn, atol=noise)
    assert found.method == "bootstrap bca, exact"


def test_zeros_and_ones_are_a_proportion():
    found, expected = (
        bounded_mean_interval([0, 1], [108, 693]),
        bootstrap_counts([693, 108], "proportion"),
    )
    np.testing.assert_allclose(
        limits(found), (float(expected.ci_low), float(expected.ci_high)), atol=1e-12
    )


def test_multiplicity_order_and_reflection_do_not_matter():
    rng = np.random.default_rng(5)
    x = rng.choice(OVERLAPS, 60)
    kinds, many = np.unique(x, return_counts=True)
    found = limits(bounded_mean_interval(x))
    assert found == limits(bounded_mean_interval(rng.permutation(x)))
    assert found == limits(bounded_mean_interval(kinds, many))
    assert found == limits(bounded_mean_interval([0.123, *kinds], [0, *many]))
    low, high = limits(bounded_mean_interval(1 - x))
    np.testing.assert_allclose((1 - high, 1 - low), found, atol=1e-9)


@pytest.mark.parametrize(
    "values",
    [
        # They differ only by rounding errors.
        [0.1 + 0.2, 0.3] * 10,
        # The same on both sides of the start of a step.
        [1000.5 / STEPS, np.nextafter(1000.5 / STEPS, 0)] * 10,
        # Two, three and more values of one step, at its ends and next to its start.
        [0.3, 0.30001] * 10,
        [0.33333, 0.333331, 0.333332, 0.333332] * 5,
        [1001.5 / STEPS, 1002 / STEPS, 1002 / STEPS, 1002.5 / STEPS] * 5,
        [1000.4 / STEPS, 1000.5 / STEPS, 1000.6 / STEPS, 1000.7 / STEPS] * 5,
    ],
)
@pytest.mark.parametrize("method", ["bca", "percentile", "basic"])
def test_values_of_one_step_are_one_value(values, method):
    found = bounded_mean_interval(values, method=method)
    alone = bounded_mean_interval(np.full(len(values), np.mean(values)), method=method)
    assert found.method == alone.method
    assert found.method.startswith(f"wilson (bootstrap {method} ")
    assert float(found.estimate) == pytest.approx(np.mean(values), abs=1e-15)
    np.testing.assert_allclose(limits(found), limits(alone), rtol=0, atol=1e-14)
    assert found.ci_high - found.ci_low == pytest.approx(float(wilson(0, 20).ci_high))


def test_values_of_one_step_stay_within_the_scale():
    for x in ([0, 0, 1e-17, 1e-5], [1, 1, 1 - 1e-16, 1 - 1e-5]):
        found = bounded_mean_interval(x)
        assert 0 <= found.ci_low <= found.estimate <= found.ci_high <= 1


def test_rounding_makes_no_third_value():
    # Neither is on the lattice of `STEPS`; as two values they have a separate lattice.
    noisy = [0.1 + 0.2, 0.3, 0.3, 7 / 13, np.nextafter(7 / 13, 1)]
    found, expected = (
        bounded_mean_interval(noisy),
        enumerated([0.3] * 3 + [7 / 13] * 2, 0.05, "bca"),
    )
    np.testing.assert_allclose(limits(found), expected, rtol=0, atol=1e-14)


def test_values_more_than_a_step_apart_are_resampled():
    x = np.array([0.3, 0.3 + 1.1 / STEPS, 0.3 + 1.2 / STEPS, 0.3])
    for values in (x, x[:2]):
        found = bounded_mean_interval(values)
        assert found.method == "bootstrap bca, exact"
        assert found.ci_low < found.estimate < found.ci_high


def test_estimate_is_within_its_limits_after_rounding():
    # Values that differ by little more than a step.
    x = np.full(400, 0.33333) + np.arange(400) % 3 * 6e-5
    found = bounded_mean_interval(x)
    assert found.method == "bootstrap bca, exact"
    assert found.ci_low <= found.estimate <= found.ci_high
    assert found.ci_high - found.ci_low < 1e-3


@pytest.mark.parametrize(("n", "values"), [(1, [0, 3]), (7, [0, 1, 5]), (801, [-2, 0, 3, 40])])
def test_the_fine_law_is_the_law_of_the_sum(n, values):
    p = np.arange(1, len(values) + 1) / sum(range(1, len(values) + 1))
    fine, expected = fine_sum_law(n, values, p), law_of_sum(np.asarray(n), np.array(values), p)
    np.testing.assert_allclose(fine.cumulative, expected_cdf(expected, fine.values), atol=1e-12)
    for level in (0.001, 0.025, 0.3, 0.9):
        levels = [level, 1 - level]
        assert fine.quantiles(levels).tolist() == expected.quantiles(levels).tolist()


def expected_cdf(law, x: np.ndarray) -> np.ndarray:
    return np.array([float(law.cdf(int(value))) for value in x])
