"""E-values: their expected value and error rates by enumeration, and values from R."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairstats.inference.evalues import adjust_evalues, e_bh, mcnemar_evalue
from fairstats.inference.mcnemar import mcnemar

R = Path(__file__).parents[1] / "r"
VALUES = pd.read_csv(R / "evalues.csv")
ADJUSTED = pd.read_csv(R / "adjust_evalues.csv")


def test_rounding_errors_of_a_large_parameter_are_no_evidence():
    # With a = 1e15, five discordant pairs gave e = 98,716.
    found = mcnemar_evalue(n10=[5, 50], n01=[0, 0], a=999_999)
    assert found.log_e_value == pytest.approx([5e-6, 6.125e-4], abs=1e-7)
    with pytest.raises(ValueError, match="a=1000000000000000"):
        mcnemar_evalue(n10=5, n01=0, a=1e15)


def counts_of(n: int):
    """Return all tables of n discordant pairs, and their probabilities under equality."""
    n10 = np.arange(n + 1)
    return n10, n - n10, stats.binom.pmf(n10, n, 0.5)


def ever_rejected(statistic, n: int) -> float:
    """Return the probability that a fair model is rejected at any of the first n looks.

    `statistic` says which n10 reject after m discordant pairs, given n10 and n01.
    """
    alive, rejected = np.ones(1), 0.0
    for m in range(1, n + 1):
        alive = (np.append(alive, 0.0) + np.append(0.0, alive)) / 2
        n10 = np.arange(m + 1)
        out = statistic(n10, m - n10)
        rejected += alive[out].sum()
        alive = np.where(out, 0.0, alive)
    return rejected


def test_evalue_without_discordant_pairs_is_1():
    found = mcnemar_evalue([0, 10**6], 0, 0, [0, 5])
    assert found.e_value.tolist() == [1, 1]
    assert found.p_value.tolist() == [1, 1]
    assert found.n_discordant.tolist() == [0, 0]


def test_single_pair_is_no_evidence():
    # (2 B(3/2, 1/2) / B(1/2, 1/2)) = 1
    assert float(mcnemar_evalue(n10=1, n01=0).e_value) == pytest.approx(1)


def test_evalues_agree_with_integration_in_r():
    assert len(VALUES) == 60
    for a, rows in VALUES.groupby("a"):
        found = mcnemar_evalue(n10=rows["n10"], n01=rows["n01"], a=a)
        np.testing.assert_allclose(found.log_e_value, rows["log_e_value"], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("a", [0.1, 0.5, 1, 30])
def test_expected_value_is_1_by_enumeration(a):
    for n in (0, 1, 2, 5, 40, 300):
        n10, n01, chance = counts_of(n)
        assert chance @ mcnemar_evalue(n10=n10, n01=n01, a=a).e_value == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("a", [0.5, 5])
def test_evalue_is_a_martingale_from_pair_to_pair(a):
    n10, n01, _ = counts_of(60)
    now = mcnemar_evalue(n10=n10, n01=n01, a=a).e_value
    one, other = (mcnemar_evalue(n10=n10 + i, n01=n01 + 1 - i, a=a).e_value for i in (1, 0))
    np.testing.assert_allclose((one + other) / 2, now, rtol=1e-9)


def test_looking_after_every_pair_keeps_the_level_where_mcnemars_test_does_not():
    for alpha in (0.05, 0.2):
        found = ever_rejected(
            lambda n10, n01, level=alpha: mcnemar_evalue(n10=n10, n01=n01).e_value >= 1 / level,
            1000,
        )
        assert alpha / 5 < found <= alpha
    repeated = ever_rejected(
        lambda n10, n01: mcnemar(n10=n10, n01=n01, method="exact").p_value <= 0.05, 1000
    )
    assert repeated > 0.2


def test_smallest_p_value_of_the_looks_is_valid():
    found = mcnemar_evalue(n10=[2, 30, 40], n01=[1, 8, 30])
    np.testing.assert_allclose(found.p_value, np.minimum(1, 1 / found.e_value))
    assert found.p_value.argmin() == 1


def test_extreme_counts_have_a_finite_logarithm_and_a_positive_p_value():
    found = mcnemar_evalue(n10=10**6, n01=0)
    assert np.isinf(found.e_value)
    assert found.log_e_value == pytest.approx(10**6 * np.log(2), rel=1e-4)
    assert found.p_value > 0
    assert adjust_evalues([found.e_value, 1]).min() > 0
    assert e_bh([found.e_value, 1]).tolist() == [True, False]


def test_product_over_the_same_items_is_not_an_evalue_but_the_mean_is():
    # A new snapshot that gives exactly the answers of the old one.
    n10, n01, chance = counts_of(50)
    e_value = mcnemar_evalue(n10=n10, n01=n01).e_value
    assert chance @ (e_value * e_value) > 2
    assert chance @ ((e_value + e_value) / 2) == pytest.approx(1)


def test_adjusted_evalues_agree_with_r():
    found = adjust_evalues(ADJUSTED["e_value"])
    np.testing.assert_allclose(found, ADJUSTED["adjusted"], rtol=1e-12)


def test_e_bh_rejects_the_largest_set_by_its_definition():
    rng = np.random.default_rng(1)
    for _ in range(50):
        e_values = np.exp(rng.normal(2, 2, 12))
        ordered = np.sort(e_values)[::-1]
        enough = [k for k in range(1, 13) if ordered[k - 1] >= 12 / (0.1 * k)]
        least = ordered[max(enough) - 1] if enough else np.inf
        assert e_bh(e_values, alpha=0.1).tolist() == (e_values >= least).tolist()


def test_rejection_at_exactly_the_threshold():
    assert e_bh([20.0]).tolist() == [True]
    assert e_bh([60, 0, 0]).tolist() == [True, False, False]
    assert e_bh([59.9, 0, 0]).tolist() == [False, False, False]


@pytest.mark.parametrize("dependence", ["independent", "equal"])
@pytest.mark.parametrize("unfair", [0, 1, 3])
def test_false_discovery_rate_by_enumeration(dependence, unfair):
    """Two fair models with 40 discordant pairs each, and models that are certainly unfair."""
    n10, n01, chance = counts_of(40)
    e_value = mcnemar_evalue(n10=n10, n01=n01).e_value
    joint = np.diag(chance) if dependence == "equal" else np.outer(chance, chance)
    rate = 0.0
    for i, j in zip(*np.nonzero(joint > 1e-12), strict=True):
        rejected = e_bh([e_value[i], e_value[j], *[np.inf] * unfair], alpha=0.2)
        rate += joint[i, j] * rejected[:2].sum() / max(rejected.sum(), 1)
    assert 0 < rate <= 0.2


def test_hypotheses_without_data_do_not_count():
    np.testing.assert_array_equal(adjust_evalues([40, np.nan, 1]), [0.05, np.nan, 1])
    assert e_bh([np.nan, np.nan]).tolist() == [False, False]
    assert adjust_evalues([]).shape == (0,)
    assert adjust_evalues([[40, 1], [1, 1]]).shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: mcnemar_evalue(n10=1, n01=2, a=0), "a=0 must be between"),
        (lambda: mcnemar_evalue(n10=-1, n01=2), "n10=-1 must be a whole number"),
        (lambda: mcnemar_evalue(3, 4), "name them"),
        (lambda: adjust_evalues([1, -2]), r"e_values\[1\]=-2 must be a finite e-value"),
        (lambda: e_bh([1], alpha=1), "alpha=1"),
    ],
)
def test_wrong_arguments_are_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
