"""The exact laws against convolution by hand and scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairstats.inference.exact_sums import SumLaw, discrete_law, law_of_sum, plane_law

TABLES = [
    (1, (0.2, 0.3, 0.5)),
    (5, (0.5, 0.0, 0.5)),
    (40, (0.9, 0.1, 0.0)),
    (801, (0.01, 0.9, 0.09)),
    (801, (0.0, 0.9988, 0.0012)),
    (3000, (0.5, 0.0, 0.5)),
    (2000, (0.499, 0.001, 0.5)),
]


def convolved(n, p):
    law, power = np.array([1.0]), np.array(p)
    while n:
        if n & 1:
            law = np.convolve(law, power)
        power, n = np.convolve(power, power), n >> 1
    return law


def sum_law(n, values, p) -> SumLaw:
    return law_of_sum(np.asarray(n), np.asarray(values), np.asarray(p))


@pytest.mark.parametrize(("n", "p"), TABLES)
def test_the_law_of_a_sum_is_its_convolution(n, p):
    law, expected = sum_law(n, [-1, 0, 1], p), np.cumsum(convolved(n, p))
    x = np.arange(-n, n + 1)
    found = np.array([law.cdf(value) for value in x])
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-13)
    for level in (0.001, 0.025, 0.5, 0.975):
        survival = np.cumsum(convolved(n, p)[::-1])
        assert law.quantiles([level, 1 - level]).tolist() == [
            x[np.searchsorted(expected, level)],
            x[::-1][np.searchsorted(survival, level)],
        ]


def test_values_beyond_one_are_convolved_too():
    p = np.array([0.1, 0.0, 0.6, 0.2, 0.1])
    law, expected = sum_law(60, [-2, -1, 0, 1, 2], p), np.cumsum(convolved(60, p))
    found = [float(law.cdf(x)) for x in range(-120, 121)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [10**4, 10**7, 10**9])
def test_large_sums_agree_with_the_binomial(n):
    law, binomial = sum_law(n, [0, 1], [0.97, 0.03]), stats.binom(n, 0.03)
    # The level of a quantile is accurate to 1e-12; scipy's to about 1e-10.
    x = law.quantiles([0.025, 0.975])[0]
    assert binomial.cdf(x - 1) < 0.025 + 1e-9
    assert binomial.cdf(x) > 0.025 - 1e-9


def test_a_sum_that_cannot_vary_is_one_point():
    law = sum_law([7, 10**8], [0, 1], [[0.0, 1.0], [1.0, 0.0]])
    assert law.quantiles([0.5, 0.5]).tolist() == [[7, 7], [0, 0]]
    np.testing.assert_allclose(law.share_below([7, 0]), 0.5, atol=1e-12)


def test_the_law_of_two_sums_is_the_multinomials():
    n, p = 12, np.array([0.5, 0.2, 0.1, 0.2])
    first, second = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    x, y, probability = plane_law(n, first, second, p)
    expected = np.zeros((n + 1, n + 1))
    for i, j, k in np.ndindex(n + 1, n + 1, n + 1):
        if i + j + k <= n:
            expected[i + j, i + k] += stats.multinomial.pmf([i, j, k, n - i - j - k], n, p)
    assert (x.ravel().tolist(), y.ravel().tolist()) == (list(range(n + 1)), list(range(n + 1)))
    np.testing.assert_allclose(probability, expected, rtol=0, atol=1e-14)


def test_negligible_part_of_a_large_distribution_is_dropped():
    first, second = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    x, _, probability = plane_law(5000, first, second, np.array([0.8, 0.1, 0.05, 0.05]))
    assert len(x) < 1000
    np.testing.assert_allclose(probability.sum(), 1, atol=1e-11)
    np.testing.assert_allclose(
        probability.sum(axis=1), stats.binom.pmf(x.ravel(), 5000, 0.9), atol=1e-13
    )


def test_equal_values_are_one():
    law = discrete_law(np.array([1.0, 0.3, 0.1 + 0.2, 2.0]), np.array([0.25, 0.25, 0.25, 0.25]))
    assert len(law.values) == 3
    assert law.share_below(0.3) == pytest.approx(0.25)
    assert law.quantiles([0.5, 0.5]).tolist() == pytest.approx([0.3, 1])


def test_infinite_values_have_their_place():
    law = discrete_law(np.array([np.inf, 1.0, np.inf, 0.0]))
    assert law.cumulative.tolist() == [0.25, 0.5, 1.0]
    assert law.quantiles([0.25, 0.6]).tolist() == [0.0, np.inf]
