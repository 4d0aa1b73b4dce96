"""Adjusted p-values against R, max-T by simulation, and confidence sets of ranks."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.multiplicity import adjust_pvalues, max_t, rank_sets

ADJUST = pd.read_csv(Path(__file__).parents[1] / "r" / "adjust.csv")
HOLM = pd.read_csv(Path(__file__).parents[1] / "r" / "holm.csv")


@pytest.mark.parametrize("family", sorted(HOLM["family"].unique()))
def test_holm_agrees_with_r(family):
    rows = HOLM[HOLM["family"] == family]
    np.testing.assert_allclose(adjust_pvalues(rows["p"]), rows["adjusted"], rtol=1e-10, atol=0)


def test_a_test_that_was_not_possible_does_not_count():
    adjusted = adjust_pvalues([0.01, np.nan, 0.04])
    np.testing.assert_allclose(adjusted, [0.02, np.nan, 0.04])


def test_family_without_tests_is_empty():
    assert adjust_pvalues([]).shape == (0,)
    assert np.isnan(adjust_pvalues([np.nan, np.nan])).all()


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusting_only_raises_p_and_keeps_the_order(p):
    adjusted = adjust_pvalues(p)
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("p", [[-0.01], [0.5, 1.01], [np.inf]])
def test_invalid_probability_is_refused(p):
    with pytest.raises(ValueError, match="p_values"):
        adjust_pvalues(p)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match=r"'bonferroni'.*holm"):
        adjust_pvalues([0.5], method="bonferroni")


@pytest.mark.parametrize("method", ["holm", "BH", "BY", "hommel"])
def test_every_procedure_agrees_with_r(method):
    for _, rows in ADJUST.groupby("family"):
        found = adjust_pvalues(rows["p"], method=method.lower())
        np.testing.assert_allclose(found, rows[method], rtol=1e-10, atol=0)


@pytest.mark.parametrize("size", [1, 2, 3, 30, 64, 65, 66, 150])
def test_hommel_equals_statsmodels(size):
    rng = np.random.default_rng(size)
    for power in (1, 3, 8):
        p = rng.random(size) ** power
        # The second family has equal p-values.
        for family in (p, np.round(p, 2)):
            expected = np.minimum(multipletests(family, method="hommel")[1], 1)
            assert adjust_pvalues(family, method="hommel").tolist() == expected.tolist()


def test_max_t_of_one_test_is_mcnemars():
    d = np.repeat([[1], [-1], [0]], [30, 14, 700], axis=0)
    found = max_t(d, rng=1, n_resamples=50_000)
    exact = float(mcnemar(n10=30, n01=14, method="exact").p_value)
    assert found.p_value[0] == found.p_adjusted[0] == pytest.approx(exact, abs=0.003)


def test_max_t_enumerates_all_flips_of_twelve_units():
    rng = np.random.default_rng(3)
    d = np.vstack([rng.integers(-3, 5, (12, 3)), np.zeros((4, 3), dtype=int)])
    found = max_t(d, rng=1)
    assert found.n_resamples == 4096
    scale = np.sqrt((d**2).sum(axis=0))
    flipped = [np.abs(signs @ d[:12]) / scale for signs in product([1, -1], repeat=12)]
    size, adjusted = flipped[0], []
    for rank, test in enumerate(np.argsort(-size)):
        # The largest statistic of this test and of those with smaller ones.
        left = np.argsort(-size)[rank:]
        adjusted.append(np.mean([one[left].max() >= size[test] - 1e-9 for one in flipped]))
    expected = np.empty(3)
    expected[np.argsort(-size)] = np.maximum.accumulate(adjusted)
    assert found.p_adjusted.tolist() == pytest.approx(expected.tolist(), rel=1e-12)
    alone = [np.mean([one[test] >= size[test] - 1e-9 for one in flipped]) for test in range(3)]
    assert found.p_value.tolist() == pytest.approx(alone, rel=1e-12)
    assert found.p_adjusted.tolist() == max_t(d, rng=2).p_adjusted.tolist()
    assert max_t(d, rng=1, n_resamples=4095).n_resamples == 4095


def test_max_t_corrects_only_for_different_tests():
    rng = np.random.default_rng(1)
    one = rng.choice([1, 0, -1], 800, p=[0.08, 0.88, 0.04])
    copies = max_t(np.column_stack([one] * 5), rng=1)
    assert copies.p_adjusted.tolist() == copies.p_value.tolist()
    strangers = max_t(np.column_stack([rng.permutation(one) for _ in range(5)]), rng=1)
    holm = adjust_pvalues(strangers.p_value)
    assert (strangers.p_adjusted <= holm + 0.01).all()
    assert strangers.p_adjusted.min() > 3 * strangers.p_value.min()


def test_max_t_is_never_0_and_is_1_without_a_test():
    d = np.column_stack([np.ones(500), np.zeros(500)])
    found = max_t(d, rng=1, n_resamples=99)
    assert found.p_adjusted.tolist() == [0.01, 1]
    assert found.statistic[1] == 0


def test_max_t_is_the_same_for_the_same_seed_and_for_any_order_of_items():
    rng = np.random.default_rng(2)
    d = rng.integers(-1, 2, (300, 4))
    one, other = max_t(d, rng=5), max_t(d[rng.permutation(300)], rng=5)
    assert one.p_adjusted.tolist() == other.p_adjusted.tolist()
    with pytest.raises(ValueError, match="shape"):
        max_t([1, 0], rng=1)


def test_without_differences_every_rank_is_possible():
    found = rank_sets([0.9, 0.8, 0.7], np.ones((3, 3)))
    assert found.rank.tolist() == [1, 2, 3]
    assert found.rank_low.tolist() == [1, 1, 1]
    assert found.rank_high.tolist() == [3, 3, 3]


def test_when_all_is_shown_a_rank_is_one_place():
    found = rank_sets([0.7, 0.9, 0.8], np.full((3, 3), 0.001))
    assert found.rank.tolist() == found.rank_low.tolist() == found.rank_high.tolist() == [3, 1, 2]


def test_equal_estimates_share_the_better_place():
    found = rank_sets([0.9, 0.9, 0.5], np.full((3, 3), 0.001))
    assert found.rank.tolist() == [1, 1, 3]
    assert found.rank_high.tolist() == [2, 2, 3]


def test_model_without_a_figure_can_have_any_rank():
    p = np.full((3, 3), 0.001)
    p[2], p[:, 2] = np.nan, np.nan
    found = rank_sets([0.9, 0.8, np.nan], p)
    assert found.rank.tolist() == [1, 2, 3]
    assert (found.rank_low[2], found.rank_high[2]) == (1, 3)
    assert found.rank_high.tolist() == [2, 3, 3]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.randoms())
def test_rank_is_in_its_set(values, random):
    k = len(values)
    p = np.ones((k, k))
    for i in range(k):
        for j in range(i):
            p[i, j] = p[j, i] = random.random() / 5
    found = rank_sets(values, p)
    assert (found.rank_low <= found.rank).all()
    assert (found.rank <= found.rank_high).all()


def test_invalid_comparison_matrix_is_refused():
    with pytest.raises(ValueError, match="shape"):
        rank_sets([1, 2], np.ones((3, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        rank_sets([1, 2], [[1, 0.1], [0.2, 1]])
