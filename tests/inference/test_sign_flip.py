"""Clustered answers: sign flips against enumeration, and design effects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.sign_flip import design_effect, sign_flip_test

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "cluster_mcnemar.csv")


@pytest.mark.parametrize("case", sorted(REFERENCE["case"].unique()))
def test_sign_flips_agree_with_enumeration(case):
    rows = REFERENCE[REFERENCE["case"] == case]
    for method, column in (
        ("exact", "exact_p"),
        ("midp", "midp_p"),
        ("asymptotic", "obuchowski_p"),
    ):
        found = sign_flip_test(rows["difference"], rows["count"], method=method).p_value
        expected = rows[column].iloc[0]
        # Without any difference R's quotient is NA, and p is 1.
        assert found == pytest.approx(1.0 if np.isnan(expected) else expected, abs=1e-10)


@given(n10=st.integers(0, 200), n01=st.integers(0, 200), n00=st.integers(0, 50))
def test_one_answer_an_item_is_mcnemars_test(n10, n01, n00):
    for method in ("midp", "exact"):
        found = sign_flip_test([1, -1, 0], [n10, n01, n00], method=method).p_value
        assert found == float(mcnemar(n10=n10, n01=n01, method=method).p_value)


def test_long_sums_are_approximated_and_reported():
    found = sign_flip_test([2, -2, 1, -1], [30_000, 29_900, 30_000, 30_000])
    assert found.method == "asymptotic"
    assert 0 < found.p_value < 1
    assert sign_flip_test([], []).p_value == 1
    with pytest.raises(ValueError, match=r"differences\[0\]=0.5 must be a whole number"):
        sign_flip_test([0.5])
    with pytest.raises(ValueError, match="use midp, exact or asymptotic"):
        sign_flip_test([1], method="chi2")


def test_a_design_effect_is_1_for_single_answers_and_the_size_for_copies():
    single = design_effect(np.eye(3), [5, 6, 9], [1.1, -0.5, -0.2777777])
    assert single == pytest.approx(1, abs=1e-12)
    n = 400
    copies = design_effect(3 * np.eye(2), [n, n], [1, -1])
    assert copies == pytest.approx(3 * (3 * 2 * n - 1) / (3 * 2 * n) * 2 * n / (2 * n - 1))


def test_a_design_effect_agrees_with_statsmodels_cluster_robust_variance():
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    share = rng.beta(2, 1, 60)
    sizes = rng.integers(1, 6, 60)
    right = rng.binomial(sizes, share)
    items = np.repeat(np.arange(60), sizes)
    outcome = np.concatenate([[1] * r + [0] * (s - r) for r, s in zip(right, sizes, strict=True)])
    fit = sm.OLS(outcome, np.ones(len(outcome))).fit(
        cov_type="cluster",
        cov_kwds={"groups": items, "use_correction": True, "df_correction": False},
    )
    n, p = len(outcome), outcome.mean()
    found = design_effect(np.column_stack([right, sizes - right]), np.ones(60), [1 - p, -p])
    # statsmodels multiplies by (n − 1) / (n − 1) more for the one parameter.
    robust, independent = fit.bse[0] ** 2, outcome.var(ddof=1) / n
    assert found == pytest.approx(robust / independent, rel=1e-10)


def test_without_any_influence_the_answers_of_an_item_count_as_one():
    assert design_effect([[5, 0, 0]], [80], [0, 1, -1]) == 5
    assert design_effect([[5, 1, 0]], [1], [0, 1, -1]) == 6


def test_samples_that_balance_out_are_not_more_than_independent_ones():
    assert design_effect([[1, 1]], [50], [1, -1]) == 1


def test_a_common_factor_does_not_matter():
    one, other = sign_flip_test([1, -1], [10, 2]), sign_flip_test([20_000, -20_000], [10, 2])
    assert other.p_value == one.p_value
    mixed, scaled = sign_flip_test([1, 2, -1], [9, 4, 5]), sign_flip_test([3, 6, -3], [9, 4, 5])
    assert (mixed.p_value, 3 * mixed.statistic) == (scaled.p_value, scaled.statistic)


def test_a_p_value_is_never_0():
    for method in ("midp", "exact", "asymptotic"):
        assert sign_flip_test([1], [5000], method=method).p_value > 0
        assert sign_flip_test([1, 2], [3000, 900], method=method).p_value > 0
        assert mcnemar(n10=5000, n01=0, method=method).p_value > 0
