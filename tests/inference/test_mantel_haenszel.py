"""Mantel and Haenszel's test compared with R and with McNemar's test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.proportion import proportion_confint

from fairstats.inference.mantel_haenszel import mantel_haenszel
from fairstats.inference.mcnemar import mcnemar

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "mantel_haenszel.csv")
CELLS = ["right_a", "wrong_a", "right_b", "wrong_b"]
CASES = [own for _, own in REFERENCE.groupby("case")]


def tables(rows):
    return rows[CELLS].to_numpy().reshape(-1, 2, 2)


@pytest.mark.parametrize("rows", CASES)
def test_exact_test_and_limits_agree_with_r(rows):
    found, expected = mantel_haenszel(tables(rows)), rows.iloc[0]
    assert found.estimate == pytest.approx(expected["odds_ratio"], rel=1e-12)
    assert found.p_value == pytest.approx(expected["exact_p"], rel=1e-9)
    # R solves for limits, or for their inverses above 1, with a tolerance of 0.00012.
    for limit, reference in (
        (found.ci_low, expected["exact_low"]),
        (found.ci_high, expected["exact_high"]),
    ):
        power = 1 if reference < 1 else -1
        assert limit**power == pytest.approx(reference**power, abs=1.3e-4)


@pytest.mark.parametrize("rows", CASES)
def test_asymptotic_test_and_limits_agree_with_r(rows):
    found, expected = mantel_haenszel(tables(rows), method="asymptotic"), rows.iloc[0]
    assert found.p_value == pytest.approx(expected["asymptotic_p"], rel=1e-10)
    if np.isfinite(expected["asymptotic_low"]):
        assert found.ci_low == pytest.approx(expected["asymptotic_low"], rel=1e-10)
        assert found.ci_high == pytest.approx(expected["asymptotic_high"], rel=1e-10)
    else:
        exact = mantel_haenszel(tables(rows))
        assert (found.ci_low, found.ci_high) == (exact.ci_low, exact.ci_high)


def test_odds_ratio_agrees_with_statsmodels():
    given = tables(CASES[7])
    expected = StratifiedTable(given.transpose(1, 2, 0).astype(float))
    found = mantel_haenszel(given, method="asymptotic", alpha=0.1)
    assert found.estimate == pytest.approx(expected.oddsratio_pooled)
    limits = expected.oddsratio_pooled_confint(alpha=0.1)
    assert (found.ci_low, found.ci_high) == pytest.approx(limits)


@pytest.mark.parametrize("n10", range(6))
@pytest.mark.parametrize("method", ["exact", "midp"])
def test_strata_of_one_pair_each_give_mcnemars_test(n10, method):
    n01 = 5
    pairs = [[[1, 0], [0, 1]]] * n10 + [[[0, 1], [1, 0]]] * n01 + [[[1, 0], [1, 0]]] * 3
    found = mantel_haenszel(pairs, method=method)
    assert found.p_value == pytest.approx(float(mcnemar(n10=n10, n01=n01, method=method).p_value))
    assert found.estimate == pytest.approx(n10 / n01)
    if method == "exact":
        # Clopper and Pearson's limits of the share n10 / (n10 + n01), as odds.
        limits = proportion_confint(n10, n10 + n01, method="beta")
        odds = [limit / (1 - limit) for limit in limits]
        assert (found.ci_low, found.ci_high) == pytest.approx(odds, rel=1e-8)
    assert (found.strata, found.n) == (n10 + n01, 2 * (n10 + n01))


def test_uninformative_strata_give_p_of_1():
    for given in (np.zeros((0, 2, 2), int), [[[3, 0], [4, 0]], [[0, 2], [0, 2]]], [[0, 0], [5, 1]]):
        for method in ("exact", "midp", "asymptotic"):
            found = mantel_haenszel(given, method=method)
            assert np.isnan(found.estimate)
            assert (found.ci_low, found.ci_high, found.p_value, found.n) == (0, np.inf, 1, 0)


def test_one_group_always_better_has_finite_lower_limit():
    for method in ("exact", "midp", "asymptotic"):
        found = mantel_haenszel([[[5, 0], [0, 5]]], method=method)
        assert found.estimate == found.ci_high == np.inf
        assert 1 < found.ci_low < np.inf
        assert 0 < found.p_value < 0.01


def test_p_value_never_underflows_to_0():
    assert mantel_haenszel([[[1, 0], [0, 1]]] * 2000).p_value > 0


def test_single_stratum_in_either_shape_is_the_same():
    assert mantel_haenszel([[3, 1], [1, 4]]) == mantel_haenszel([[[3, 1], [1, 4]]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[1, 2, 3]], r"shape \(strata, 2, 2\), got \(1, 3\)"),
        ([[[1, -1], [0, 1]]], "tables"),
        ([[[1, 0.5], [0, 1]]], "tables"),
    ],
)
def test_wrong_tables_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        mantel_haenszel(given)


def test_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method='fisher' is unknown"):
        mantel_haenszel([[1, 0], [0, 1]], method="fisher")
