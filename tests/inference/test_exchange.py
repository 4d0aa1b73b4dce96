"""The test of matched sets, compared with enumeration and with its special cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairstats.inference.clustered_answers import flip_test
from fairstats.inference.exchange import exchange_test


def enumerated(values: np.ndarray) -> float:
    observed = values[:, 0].sum()
    sums = np.array([sum(one) for one in product(*(row[~np.isnan(row)] for row in values))])
    equal = (np.abs(sums - observed) < 1e-9).mean() / 2
    tails = (sums < observed - 1e-9).mean(), (sums > observed + 1e-9).mean()
    return min(1.0, 2 * (min(tails) + float(equal)))


@pytest.mark.parametrize("values", [np.zeros((0, 3)), [[0.0, 0.0]] * 5, [[2.0, np.nan]], [[1.0]]])
def test_units_that_could_have_no_other_value_give_p_of_1(values):
    found = exchange_test(values)
    assert (float(found.p_value), found.method) == (1, "midp")
    assert found.statistic == np.sum(np.asarray(values)[:, 0])


def test_p_values_are_those_of_enumeration():
    rng = np.random.default_rng(1)
    for _ in range(60):
        n, k = rng.integers(1, 7), rng.integers(1, 5)
        values = rng.integers(-3, 4, (n, k)) / rng.integers(1, 6)
        values[:, 1:][rng.random((n, k - 1)) < 0.2] = np.nan
        assert exchange_test(values).p_value == pytest.approx(enumerated(values), abs=1e-12)


def test_values_without_a_common_step_are_rounded():
    values = np.random.default_rng(2).normal(size=(6, 4))
    found = exchange_test(values)
    assert found.method == "midp, rounded"
    assert found.p_value == pytest.approx(enumerated(values), abs=2e-3)


@pytest.mark.parametrize("scale", [1e-200, 1e-13, 1e9])
def test_p_values_do_not_depend_on_the_unit_of_measurement(scale):
    values = np.random.default_rng(2).integers(-3, 4, (20, 3))
    assert exchange_test(values * scale).p_value == pytest.approx(exchange_test(values).p_value)


def test_two_signs_are_flips():
    for d in (np.random.default_rng(3).integers(-3, 4, 300), np.array([5, -1, 2])):
        found = exchange_test(np.column_stack([d, -d]))
        assert found.p_value == pytest.approx(flip_test(d).p_value, rel=1e-9)


def test_thousands_of_units_are_normal_and_p_is_never_0():
    values = np.random.default_rng(4).normal(size=(3000, 3))
    found = exchange_test(values)
    assert found.method == "asymptotic"
    assert found.p_value == pytest.approx(exchange_test(np.round(values, 1)).p_value, abs=0.1)
    for many in (60, 5000):
        assert exchange_test([[1, -0.5, -0.5]] * many).p_value == 1e-12


def test_one_pair_never_changed_next_to_many_controls_is_no_evidence():
    """Of ten changes, each could have been one of any of seven pairs: (6/7)^10 is 21%."""
    one = [0.0] + [1.0] + [0.0] * 5
    values = [[(7 * x - 1) / 6 for x in one]] * 10
    assert exchange_test(values).p_value == pytest.approx((6 / 7) ** 10)
    assert flip_test([row[0] for row in values]).p_value < 0.01
