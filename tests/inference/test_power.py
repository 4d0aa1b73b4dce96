"""Power and sample size against enumeration in R."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.intervals import tango_limits
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.power import (
    minimum_detectable_difference,
    power_equivalence,
    power_mcnemar,
    samplesize_equivalence,
    samplesize_mcnemar,
)
from fairstats.inference.power_comparison import (
    _LARGEST_EXACT,
    change_shares,
    power_comparison,
    samplesize_comparison,
)

R = Path(__file__).parents[1] / "r"
POWER = pd.read_csv(R / "power.csv")
SIZES = pd.read_csv(R / "samplesize.csv")

EQUIVALENCE = pd.read_csv(R / "power_equivalence.csv")
COMPARISON = pd.read_csv(R / "power_comparison.csv")
CHANGES = {-2: "down2", -1: "down1", 1: "up1", 2: "up2"}
SHARES = {1: 0.12, -1: 0.07, 2: 0.05, -2: 0.01}


def test_power_agrees_with_enumeration():
    for (alpha, method), rows in POWER.groupby(["alpha", "method"]):
        found = power_mcnemar(rows["n"], rows["p10"], rows["p01"], alpha=alpha, method=method)
        np.testing.assert_allclose(found, rows["power"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("row", list(SIZES.itertuples()), ids=lambda row: f"{row.method}-{row.n}")
def test_sample_size_agrees_with_enumeration(row):
    found = samplesize_mcnemar(
        row.p10, row.p01, power=row.power, alpha=row.alpha, method=row.method
    )
    assert found == row.n


def test_power_is_0_without_discordance():
    assert power_mcnemar([0, 801], 0, 0).tolist() == [0, 0]
    assert power_mcnemar(2**50, 1e-299, 0) == 0


def test_many_pairs_meet_the_normal_law():
    # 20,000 discordant pairs on either side of the change to the approximation.
    exact, normal = power_mcnemar([199_900, 200_100], 0.0508, 0.0492)
    assert exact == pytest.approx(normal, abs=2e-3)
    assert 0.5 < normal < 0.8


@settings(deadline=None, max_examples=40)
@given(n=st.integers(10, 3000), share=st.floats(0, 1))
def test_detectable_difference_has_the_stated_power(n, share):
    found = float(minimum_detectable_difference(n, share))
    assert 0 < found <= 1
    both = max(share, found)
    assert power_mcnemar(n, (both + found) / 2, (both - found) / 2) >= 0.8 - 1e-9
    less = found - 1e-3
    if less > 0:
        both = max(share, less)
        assert power_mcnemar(n, (both + less) / 2, (both - less) / 2) < 0.8


def test_too_few_items_detect_no_difference():
    assert np.isnan(minimum_detectable_difference([0, 4], 0.5)).all()


def test_any_difference_is_detected_if_each_pair_rejects():
    # The mid-p of a single discordant pair is 1/2.
    assert minimum_detectable_difference(1, 0.8, alpha=0.5) < 1e-6
    assert minimum_detectable_difference(1, 0.7, alpha=0.5) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("method", ["midp", "exact", "asymptotic", "asymptotic_cc"])
def test_detectable_difference_solves_the_enumerated_power(method):
    tables = np.array([(i, j) for i in range(31) for j in range(31 - i)])
    p_values = mcnemar(n10=tables[:, 0], n01=tables[:, 1], method=method).p_value

    def surplus(difference, share, alpha):
        both = max(share, difference)
        shares = [(both + difference) / 2, (both - difference) / 2, 1 - both]
        chance = stats.multinomial.pmf(np.c_[tables, 30 - tables.sum(axis=1)], 30, shares)
        return chance[p_values <= alpha].sum() - 0.8

    shares = [0, 1e-9, 0.05, 0.2, 0.4, 0.7, 1]
    for alpha in (0.05, 0.3, 1e-4):
        found = minimum_detectable_difference(30, shares, alpha=alpha, method=method)
        roots = [brentq(surplus, 0, 1, args=(share, alpha), xtol=1e-12) for share in shares]
        np.testing.assert_allclose(found, roots, rtol=0, atol=1e-6)


def test_detectable_differences_are_those_of_each_pair_of_values():
    n, shares = np.array([[0], [1], [5], [801], [10**6]]), [0, 1e-300, 1e-6, 0.12, 0.12, 0.9, 1]
    found = minimum_detectable_difference(n, shares)
    alone = [[float(minimum_detectable_difference(i, j)) for j in shares] for i in n[:, 0]]
    assert found.shape == (5, 7)
    np.testing.assert_array_equal(found, alone)


def test_power_of_equivalence_agrees_with_enumeration_in_r():
    for alpha, rows in EQUIVALENCE.groupby("alpha"):
        found = power_equivalence(
            rows["n"], rows["p10"], rows["p01"], margin=rows["margin"], alpha=alpha
        )
        np.testing.assert_allclose(found, rows["power"], rtol=0, atol=1e-10)


def test_power_of_equivalence_without_discordant_pairs_is_0_or_1():
    z2 = stats.norm.isf(0.05) ** 2
    least = int(z2 * (1 / 0.02 - 1)) + 1  # z² / (n + z²) < 0.02
    assert power_equivalence([0, 1, least - 1, least], 0, 0, margin=0.02).tolist() == [0, 0, 0, 1]


def test_level_of_equivalence_is_kept_at_the_margin():
    found = power_equivalence([400, 801, 3000], 0.07, 0.03, margin=0.04)
    assert (found > 0.04).all()
    assert (found < 0.055).all()


def test_equivalence_is_the_verdict_of_tangos_interval():
    n = 30
    tables = np.array([(i, j) for i in range(n + 1) for j in range(n + 1 - i)])
    low, high = tango_limits(*tables.T, n, alpha=0.1)
    chance = stats.multinomial.pmf(np.c_[tables, n - tables.sum(axis=1)], n, [0.1, 0.05, 0.85])
    inside = (low > -0.2) & (high < 0.2)
    found = power_equivalence(n, 0.1, 0.05, margin=0.2)
    assert found == pytest.approx(chance[inside].sum(), abs=1e-12)


def test_many_pairs_meet_the_normal_approximation():
    exact, normal = power_equivalence([199_000, 201_000], 0.05, 0.05, margin=0.002)
    assert exact == pytest.approx(normal, abs=0.01)
    assert 0.3 < normal < 0.9


def test_sample_size_of_equivalence_reaches_its_power_and_no_smaller_one_does():
    n = samplesize_equivalence(0.03, 0.02, margin=0.05)
    powers = power_equivalence(np.arange(n - 1, n + 101), 0.03, 0.02, margin=0.05)
    assert powers[0] < 0.8 <= powers[1:].min()


def test_power_of_comparison_agrees_with_enumeration_of_all_signs_in_r():
    assert len(COMPARISON) == 18
    for row in COMPARISON.to_dict("records"):
        shares = {change: row[name] for change, name in CHANGES.items()}
        found = power_comparison(row["n"], shares, alpha=row["alpha"])
        assert found == pytest.approx(row["power"], abs=1e-10)


def test_comparison_with_changes_of_one_size_is_mcnemars_test():
    for size in (1, 2):
        shares = {size: 0.08, -size: 0.04}
        assert power_comparison(300, shares) == power_mcnemar(300, 0.08, 0.04)
        assert samplesize_comparison(shares) == samplesize_mcnemar(0.08, 0.04)


def test_power_of_comparison_agrees_with_the_test_itself_in_simulated_samples():
    rng = np.random.default_rng(1)
    n, changes = 150, list(SHARES)
    law = [*SHARES.values(), 1 - sum(SHARES.values())]
    drawn = rng.multinomial(n, law, 2000)[:, :4]
    rejected = [sign_flip_test(changes, many).p_value <= 0.05 for many in drawn]
    error = np.std(rejected) / np.sqrt(len(rejected))
    assert np.mean(rejected) == pytest.approx(float(power_comparison(n, SHARES)), abs=4 * error)


def test_level_of_comparison_is_near_alpha():
    assert 0.04 < power_comparison(300, {1: 0.1, -1: 0.1, 2: 0.03, -2: 0.03}) < 0.055


def test_comparison_without_changes_never_rejects():
    assert power_comparison([0, 5, 1000], {}).tolist() == [0, 0, 0]
    assert power_comparison(0, SHARES) == 0


def test_shares_may_sum_to_1_up_to_rounding():
    # Added one by one, as `sum` did before Python 3.12, they are above 1.
    shares = {-2: 0.05, -1: 0.55, 1: 0.3, 2: 0.1}
    rest = shares | {1: 0.2, 0: 0.1}
    assert 0.05 + 0.55 + 0.3 + 0.1 > 1
    assert 0 < power_comparison(20, shares) < 1
    assert 0 < power_comparison(20, rest) < 1


def test_many_changes_meet_the_normal_approximation():
    n = int(_LARGEST_EXACT / sum(SHARES.values()))
    exact, normal = power_comparison([n, n + 1], SHARES)
    assert exact == pytest.approx(normal, abs=3e-3)


def test_sample_size_of_comparison_reaches_its_power_and_no_smaller_one_does():
    n = samplesize_comparison(SHARES)
    powers = power_comparison(np.arange(n - 1, n + 21), SHARES)
    assert powers[0] < 0.8 <= powers[1:].min()


def test_shares_of_changes_are_those_of_independent_models():
    shares = change_shares((0.3, 0.1), (0.2, 0.2))
    assert sum(shares.values()) == pytest.approx(1)
    mean = sum(change * share for change, share in shares.items())
    assert mean == pytest.approx((0.2 - 0.2) - (0.3 - 0.1))
    assert shares[2] == pytest.approx(0.2 * 0.1)
    assert shares[-2] == pytest.approx(0.2 * 0.3)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: samplesize_mcnemar(0.1, 0.1), "must differ"),
        (lambda: samplesize_mcnemar(0.1, 0.2, power=1), "power=1 must be between"),
        (lambda: power_mcnemar(9, 0.7, 0.6), "p10=0.7 and p01=0.6 must sum to at most 1"),
        (lambda: power_mcnemar(9, -0.1, 0.6), "p10=-0.1 must be a share"),
        (lambda: minimum_detectable_difference(9, 1.5), "must be a share"),
        (lambda: samplesize_equivalence(0.06, 0.02, margin=0.04), "not below margin=0.04"),
        (lambda: power_equivalence(9, 0.6, 0.5, margin=0.1), "sum to at most 1"),
        (lambda: power_equivalence(9, 0.1, 0.1, margin=2), "margin=2 must be a share"),
        (lambda: power_comparison(9, {3: 0.1}), "the change 3: changes must be"),
        (lambda: power_comparison(9, {1: 0.9, -1: 0.2}), "sum to 1.1"),
        (lambda: power_comparison(9, {0: 0.6, 1: 0.3, -1: 0.2}), "sum to 1.1"),
        (
            lambda: power_comparison(9, {0: 0.02, 1: 0.2, -1: 0.1}),
            "sum to 0.32; they must sum to 1",
        ),
        (lambda: samplesize_comparison({1: 0.1, -1: 0.1}), "mean change of 0"),
        (lambda: samplesize_comparison({}), "mean change of 0"),
    ],
)
def test_wrong_plans_are_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
