"""Cohen's h, ratios and odds ratios: against R, by enumeration, and at their edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairstats.inference.effect_sizes import (
    cohens_h_interval,
    odds_ratio,
    partly_paired_ratio,
    risk_ratio,
)
from fairstats.inference.mcnemar import mcnemar

R = Path(__file__).parents[1] / "r"
ODDS = pd.read_csv(R / "odds_ratio.csv")
PAIRED = pd.read_csv(R / "paired.csv")
COUNT = st.integers(0, 300)

RATIOS = pd.read_csv(Path(__file__).parents[1] / "r" / "risk_ratio.csv")
CELLS = ["n11", "n10", "n01", "n00"]
Z2 = float(stats.norm.isf(0.025)) ** 2


def test_the_odds_ratio_agrees_with_r():
    known = ODDS[(ODDS["n10"] + ODDS["n01"]) > 0]
    assert len(known) > 30
    for alpha, rows in known.groupby("alpha"):
        found = odds_ratio(n10=rows["n10"], n01=rows["n01"], alpha=alpha)
        np.testing.assert_allclose(found.ci_low, rows["low"], rtol=1e-10)
        np.testing.assert_allclose(found.ci_high, rows["high"], rtol=1e-10)


def test_one_sided_discordance_is_infinite():
    found = odds_ratio(n10=[9, 0, 0], n01=[0, 9, 0])
    assert found.estimate[:2].tolist() == [np.inf, 0]
    assert np.isnan(found.estimate[2])
    assert found.ci_high[0] == np.inf
    assert found.ci_low[0] > 1
    assert (found.ci_low[2], found.ci_high[2]) == (0, np.inf)


@given(n10=COUNT, n01=COUNT)
def test_swapping_the_groups_turns_the_odds_over(n10, n01):
    one, other = odds_ratio(n10=n10, n01=n01), odds_ratio(n10=n01, n01=n10)
    for low, high in ((one.ci_low, other.ci_high), (other.ci_low, one.ci_high)):
        if low > 0:
            np.testing.assert_allclose(low * high, 1, rtol=1e-9)
        else:
            assert high == np.inf


def test_cohens_h_agrees_with_r():
    found = cohens_h_interval(*(PAIRED[cell] for cell in ("n11", "n10", "n01", "n00")))
    np.testing.assert_allclose(found.ci_low, PAIRED["h_low"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.ci_high, PAIRED["h_high"], rtol=0, atol=1e-10)


def test_a_group_without_an_answer_leaves_h_open():
    found = cohens_h_interval(0, 0, 0, 0, correct_a=3, n_a=4, correct_b=0, n_b=0)
    assert (float(found.ci_low), float(found.ci_high)) == (-np.pi, np.pi)


def test_ratio_without_a_correct_answer_is_unknown():
    found = risk_ratio(0, 0, 0, [0, 9])
    assert np.isnan(found.estimate).all()
    assert (found.ci_low == 0).all()
    assert np.isinf(found.ci_high).all()
    assert found.n.tolist() == [0, 9]


def test_ratio_is_0_or_infinite_if_only_one_group_is_ever_correct():
    found = risk_ratio(0, [5, 0], [0, 5], 1)
    assert found.estimate.tolist() == [np.inf, 0]
    np.testing.assert_allclose(found.ci_low, [5 / Z2, 0])
    np.testing.assert_allclose(found.ci_high, [np.inf, Z2 / 5])


def test_interval_without_discordant_pairs_is_not_a_point():
    found = risk_ratio(10, 0, 0, 3)
    assert found.estimate == 1
    np.testing.assert_allclose(
        [found.ci_low, found.ci_high], [1 / (1 + Z2 / 10), 1 + Z2 / 10], rtol=1e-8
    )


def test_limits_agree_with_numerical_maximisation_in_r():
    assert len(RATIOS) == 40
    for alpha, rows in RATIOS.groupby("alpha"):
        found = risk_ratio(*(rows[cell] for cell in CELLS), alpha=alpha)
        np.testing.assert_allclose(found.ci_low, rows["low"], rtol=1e-7)
        np.testing.assert_allclose(found.ci_high, rows["high"], rtol=1e-7)


@given(n11=COUNT, n10=COUNT, n01=COUNT)
def test_interval_excludes_1_exactly_if_mcnemars_asymptotic_test_rejects(n11, n10, n01):
    found = risk_ratio(n11, n10, n01, 7)
    rejects = n10 + n01 > 0 and mcnemar(n10=n10, n01=n01, method="asymptotic").p_value < 0.05
    assert bool((found.ci_low > 1) | (found.ci_high < 1)) == rejects
    other = risk_ratio(n11, n01, n10, 7)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found.ci_low, 1 / np.asarray(other.ci_high), rtol=1e-9)


def test_coverage_is_at_least_94_percent_by_enumeration():
    n = 20
    cells = np.array(
        [
            (i, j, k, n - i - j - k)
            for i in range(n + 1)
            for j in range(n + 1 - i)
            for k in range(n + 1 - i - j)
        ]
    )
    found = risk_ratio(*cells.T)
    for p_b, ratio, place in [(0.3, 1, 0.2), (0.8, 0.7, 0.5), (0.9, 1, 0.9), (0.95, 0.9, 0.2)]:
        p_a = ratio * p_b
        least, most = max(0.0, p_a + p_b - 1), min(p_a, p_b)
        both = least + place * (most - least)
        law = [both, p_a - both, p_b - both, 1 - p_a - p_b + both]
        chance = stats.multinomial.pmf(cells, n, law)
        covered = chance[(found.ci_low <= ratio) & (ratio <= found.ci_high)].sum()
        assert covered > 0.94


def test_design_effect_divides_the_counts():
    one = risk_ratio(60, 20, 10, 10)
    other = risk_ratio(120, 40, 20, 20, design_effect=2)
    np.testing.assert_allclose([one.ci_low, one.ci_high], [other.ci_low, other.ci_high])


def test_huge_counts_keep_their_digits():
    found = risk_ratio(2**49, 5, 2**49, 1)
    assert 0.4999 < found.ci_low < 0.5 < found.ci_high < 0.5001
    most, least = risk_ratio(0, 10**12, 1, 0), risk_ratio(0, 1, 10**12, 0)
    assert 1e10 < most.ci_low < 1e12 < most.ci_high < 1e14
    np.testing.assert_allclose([1 / least.ci_high, 1 / least.ci_low], most.ci, rtol=1e-9)


@pytest.mark.parametrize("nobody", [{"correct_a": 0, "n_a": 9}, {"correct_b": 0, "n_b": 0}])
def test_partly_paired_ratio_is_open_without_a_correct_answer(nobody):
    own = {"correct_a": 3, "n_a": 5, "correct_b": 2, "n_b": 5} | nobody
    found = partly_paired_ratio(0, 0, 0, 0, **own)
    assert (float(found.ci_low), float(found.ci_high)) == (0, np.inf)


def test_partly_paired_ratio_is_near_the_score_interval_if_few_answers_are_unpaired():
    paired = risk_ratio(600, 83, 10, 108)
    own = partly_paired_ratio(600, 83, 10, 108, correct_a=684, n_a=803, correct_b=610, n_b=801)
    np.testing.assert_allclose(own.ci_low, paired.ci_low, atol=0.003)
    np.testing.assert_allclose(own.ci_high, paired.ci_high, atol=0.003)


def test_few_pairs_that_all_favour_one_group_do_not_show_an_effect():
    n10 = np.arange(1, 9)
    for n00 in (0, 1, 3):
        one_way = cohens_h_interval(0, n10, 0, n00)
        # Tango's limits of the difference exclude 0 from four discordant pairs on.
        assert (one_way.ci_low[n10 < 4] < 0).all()
        assert (one_way.ci_low[n10 > 6] > 0).all()
        mirrored = cohens_h_interval(0, 0, n10, n00)
        np.testing.assert_allclose(mirrored.ci_high, -one_way.ci_low)
