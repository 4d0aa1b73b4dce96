"""Intervals of differences: against R and published examples, and at their edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairstats.inference.differences import (
    difference_interval,
    mean_beyond,
    mean_difference,
    partly_paired_interval,
)
from fairstats.inference.intervals import tango, wilson

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "differences.csv")
METHODS = ["tango", "bonett_price", "newcombe", "wald", "bootstrap"]
CELLS = st.tuples(*[st.integers(0, 60)] * 4)


@pytest.mark.parametrize("method", ["newcombe", "bonett_price", "wald"])
def test_agrees_with_r(method):
    for alpha, rows in REFERENCE.groupby("alpha"):
        cells = (rows[cell] for cell in ("n11", "n10", "n01", "n00"))
        found = difference_interval(*cells, method=method, alpha=alpha)
        np.testing.assert_allclose(found.ci_low, rows[f"{method}_low"], rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.ci_high, rows[f"{method}_high"], rtol=0, atol=1e-10)


# Fagerland, Lydersen & Laake (2014), Statistics in Medicine 33:2850-2875; as printed.
@pytest.mark.parametrize(
    ("cells", "newcombe", "bonett_price"),
    [
        ((1, 1, 7, 12), (-0.50692, -0.02556), (-0.50836, -0.01338)),
        ((794, 150, 86, 570), (0.02123, 0.05870), (0.02118, 0.05872)),
        ((14, 5, 0, 22), (0.01148, 0.22649), (0.00080, 0.23176)),
        ((60, 40, 20, 40), (0.03060, 0.21590), (0.03011, 0.21680)),
    ],
)
def test_agrees_with_the_literature(cells, newcombe, bonett_price):
    for method, printed in (("newcombe", newcombe), ("bonett_price", bonett_price)):
        found = difference_interval(*cells, method=method)
        assert (round(float(found.ci_low), 5), round(float(found.ci_high), 5)) == printed


def test_the_default_is_tangos():
    found, expected = difference_interval(60, 40, 20, 40), tango(100, 40, 20, 0)
    assert (found.ci_low, found.ci_high, found.method) == (
        expected.ci_low,
        expected.ci_high,
        "tango",
    )


@given(cells=CELLS, method=st.sampled_from(METHODS))
def test_contains_the_estimate_on_the_scale_and_mirrors(cells, method):
    n11, n10, n01, n00 = cells
    found = difference_interval(*cells, method=method)
    other = difference_interval(n11, n01, n10, n00, method=method)
    np.testing.assert_allclose(
        [found.ci_low, found.ci_high], [-other.ci_high, -other.ci_low], atol=1e-12
    )
    assert -1 <= found.ci_low <= found.ci_high <= 1
    if sum(cells) and method != "bonett_price":  # its centre is moved towards 0
        assert found.ci_low - 1e-12 <= (n10 - n01) / sum(cells) <= found.ci_high + 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_interval_without_pairs_is_the_whole_scale(method):
    found = difference_interval(0, 0, 0, 0, method=method)
    assert (float(found.ci_low), float(found.ci_high)) == (-1, 1)


@pytest.mark.parametrize("method", ["tango", "bonett_price", "newcombe", "bootstrap"])
def test_interval_without_discordance_has_a_width(method):
    found = difference_interval(700, 0, 0, 101, method=method)
    assert found.ci_low < -0.001
    assert found.ci_high > 0.001


def test_walds_interval_is_one():
    found = difference_interval(700, 0, 0, 101, method="wald")
    assert (float(found.ci_low), float(found.ci_high)) == (0, 0)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="use tango, bonett_price"):
        difference_interval(1, 1, 1, 1, method="agresti")


@given(cells=CELLS)
def test_with_every_answer_paired_it_is_newcombes(cells):
    n11, n10, n01, _ = cells
    n = sum(cells)
    own = {"correct_a": n11 + n10, "n_a": n, "correct_b": n11 + n01, "n_b": n}
    found = partly_paired_interval(*cells, **own)
    expected = difference_interval(*cells, method="newcombe")
    np.testing.assert_allclose(
        [found.ci_low, found.ci_high], [expected.ci_low, expected.ci_high], atol=1e-14
    )


def test_without_a_pair_it_is_newcombes_for_two_groups():
    # Newcombe (1998), Statistics in Medicine 17:873-890, method 10: 56/70 against 48/80.
    own = {"correct_a": 56, "n_a": 70, "correct_b": 48, "n_b": 80}
    found = partly_paired_interval(0, 0, 0, 0, **own)
    assert (round(float(found.ci_low), 4), round(float(found.ci_high), 4)) == (0.0524, 0.3339)


def test_more_equal_answers_make_the_interval_narrower():
    cells = (300, 60, 40, 100)
    pairs = difference_interval(*cells, method="newcombe")
    own = {"correct_a": 360 + 720, "n_a": 500 + 1000, "correct_b": 340 + 680, "n_b": 500 + 1000}
    found = partly_paired_interval(*cells, **own)
    assert found.ci_high - found.ci_low < pairs.ci_high - pairs.ci_low


def test_a_group_without_answers_leaves_the_difference_open():
    own = {"correct_a": 3, "n_a": 5, "correct_b": 0, "n_b": 0}
    found = partly_paired_interval(0, 0, 0, 0, **own)
    assert (float(found.ci_low), float(found.ci_high)) == (-1, 1)
    with pytest.raises(ValueError, match="answers of the pairs too"):
        partly_paired_interval(1, 1, 1, 1, correct_a=1, n_a=2, correct_b=2, n_b=4)


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


def middle(law, hits):
    """Return the mid-p of as many hits or fewer, and of as many or more."""
    return law.cdf(hits) - law.pmf(hits) / 2, law.sf(hits) + law.pmf(hits) / 2


@pytest.mark.parametrize("hits", [0, 3, 59, 60])
def test_limits_of_hits_are_clopper_and_pearsons_with_mid_p(hits):
    n, expected = 60, 0.04
    found = mean_beyond([1.0] * hits + [0.0] * (n - hits), expected, limits=(0, 1))
    assert found.estimate == pytest.approx(hits / n - expected)
    assert found.p_value == pytest.approx(2 * min(middle(stats.binom(n, expected), hits)))
    low, high = found.ci_low + expected, found.ci_high + expected
    if hits < n:
        assert middle(stats.binom(n, high), hits)[0] == pytest.approx(0.025)
    if hits:
        assert middle(stats.binom(n, low), hits)[1] == pytest.approx(0.025)
    assert (low == pytest.approx(0), high == pytest.approx(1)) == (hits == 0, hits == n)


@pytest.mark.parametrize("values", [[], [0.0], [0.0] * 30, [1.0] * 30, [0.3] * 30, [-0.2, 1.0]])
@pytest.mark.parametrize("expected", [-0.5, 0.0, 0.3, 1.0])
def test_limits_exclude_the_expected_mean_if_it_is_significant(values, expected):
    found = mean_beyond(values, expected, limits=(-0.5, 1))
    assert 0 < found.p_value <= 1
    assert -0.5 <= found.ci_low + expected <= found.ci_high + expected <= 1
    assert (found.ci_low <= 0 <= found.ci_high) == (found.p_value >= 0.05)
    mirrored = mean_beyond([-v for v in values], -expected, limits=(-1, 0.5))
    assert mirrored.p_value == pytest.approx(found.p_value)
    assert mirrored.ci_low == pytest.approx(-found.ci_high)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_expected_mean_of_all_items_has_p_of_1(value):
    assert mean_beyond([value] * 7, value, limits=(0, 1)).p_value == 1


def test_limits_of_a_mean_cover_it_if_few_items_have_a_hit():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        values = (rng.random(60) < 0.05) * rng.choice([1 / 3, 1 / 2, 1], 60)
        found = mean_beyond(values, limits=(0, 1))
        covered += found.ci_low <= 0.05 * 11 / 18 <= found.ci_high
    assert covered >= 0.95 * 300
