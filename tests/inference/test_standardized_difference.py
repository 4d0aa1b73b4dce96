"""The standardized difference: degenerate cases, then known variances and a jackknife."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairstats.inference.standardized_difference import standardized_difference
from fairstats.inference.unit_means import unit_mean_difference

LEVELS = (1, 5)


def of_answers(a, b, units=None, limits=(0, 100), **options):
    """Return the estimate from complete pairs of answers."""
    units = np.arange(len(a)) if units is None else units
    sums = [np.bincount(units, x) for x in (a, np.square(a), b, np.square(b))]
    n = np.bincount(units)
    return standardized_difference(*sums[:2], n, *sums[2:], n, limits=limits, **options)


@pytest.mark.parametrize(("a", "b"), [(3, 3), (4, 2)])
def test_without_variation_it_is_unknown(a, b):
    found = of_answers(np.full(20, a), np.full(20, b), limits=LEVELS)
    assert np.isnan(found.estimate)
    assert found.ci == (-np.inf, np.inf)
    assert found.n == 20


def test_without_answers_it_is_unknown():
    for one in (np.zeros(0), np.zeros(3)):
        found = standardized_difference(one, one, one, one, one, one, limits=LEVELS)
        assert np.isnan(found.estimate)
        assert found.ci == (-np.inf, np.inf)


def test_equal_answers_have_the_limits_of_the_difference():
    a = np.tile([1, 2, 3, 4, 5], 8)
    one = np.ones(len(a))
    found = of_answers(a, a, limits=LEVELS)
    plain = unit_mean_difference(a, one, a, one, limits=LEVELS)
    assert found.estimate == 0
    assert found.ci == pytest.approx([x / a.std(ddof=1) for x in plain.ci])


def test_one_unit_has_the_limits_of_the_difference():
    found = of_answers(np.array([1, 2, 4]), np.array([2, 2, 3]), np.zeros(3, int), LEVELS)
    assert np.isfinite(found.estimate)
    assert found.ci_high - found.ci_low > 3


def test_independent_normal_answers_have_the_known_variance():
    rng = np.random.default_rng(1)
    n, d = 20_000, 0.8
    a, b = 50 + rng.standard_normal((2, n)) + np.array([[d], [0]])
    found = of_answers(a, b)
    # Hedges and Olkin's variance of d with n answers of each group.
    expected = stats.norm.isf(0.025) * np.sqrt(2 / n + found.estimate**2 / (4 * n))
    assert found.estimate == pytest.approx(d, abs=0.05)
    assert (found.ci_high - found.ci_low) / 2 == pytest.approx(expected, rel=0.02)


def test_limits_are_near_the_jackknifes():
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(60), rng.integers(1, 6, 60))
    base = 50 + rng.standard_normal(60)[units]
    a, b = base + 0.9 + rng.standard_normal((2, len(units))) * [[1], [0.7]]

    def d(kept):
        x, y = a[kept], b[kept]
        return (x.mean() - y.mean()) / np.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2)

    left = np.array([d(units != k) for k in range(60)])
    error = np.sqrt(59 / 60 * ((left - left.mean()) ** 2).sum())
    found = of_answers(a, b, units)
    assert found.estimate == pytest.approx(d(units >= 0))
    assert found.method == "linearised t"
    assert (found.ci_high - found.ci_low) / 2 == pytest.approx(2.01 * error, rel=0.05)


def test_it_is_mirrored_and_does_not_depend_on_the_scale():
    rng = np.random.default_rng(3)
    a, b = rng.integers(1, 6, (2, 30))
    found, other = of_answers(a, b, limits=LEVELS), of_answers(b, a, limits=LEVELS)
    tens = of_answers(10 * a - 10, 10 * b - 10, limits=(0, 40))
    assert other.ci == pytest.approx((-found.ci_high, -found.ci_low))
    assert tens.ci == pytest.approx(found.ci)


@pytest.mark.parametrize(
    ("squares", "message"),
    [([4, 9], "squares_a"), ([5, 30], "squares_a"), ([5], "shape"), ([5, np.nan], "squares_a")],
)
def test_squares_must_fit_the_sums(squares, message):
    fine = [[3, 6], [2, 2], [3, 6], [5, 20], [2, 2]]
    with pytest.raises(ValueError, match=message):
        standardized_difference(fine[0], squares, *fine[1:], limits=LEVELS)
