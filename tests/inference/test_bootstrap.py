"""The bootstrap compared with enumeration of the multinomial and R's boot; uninformative cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.inference.effect_sizes import odds_ratio
from fairstats.inference.intervals import tango, wilson

R = Path(__file__).parents[1] / "r"
CELL_NAMES = ["n11", "n10", "n01", "n00"]
EXACT = pd.read_csv(R / "bootstrap_exact.csv")
SIMULATED = pd.read_csv(R / "bootstrap.csv")
CELLS = st.tuples(*[st.integers(0, 40)] * 4).filter(lambda cells: sum(cells) > 0)
# For uninformative resamples R has NA, or a distribution at one point.
DEFINED = EXACT[EXACT["low"].notna() & (EXACT["low"] < EXACT["high"]) & (EXACT["high"] < np.inf)]


@pytest.mark.parametrize("statistic", ["difference", "cohens_h", "odds_ratio"])
@pytest.mark.parametrize("method", ["bca", "percentile", "basic"])
def test_agrees_with_enumeration(statistic, method):
    rows = DEFINED[(DEFINED["statistic"] == statistic) & (DEFINED["method"] == method)]
    assert len(rows) >= 4
    found = bootstrap_counts(rows[CELL_NAMES], statistic, method=method)
    np.testing.assert_allclose(found.estimate, rows["estimate"], rtol=0, atol=1e-10)
    # R's reflected limits are not cut at the end of the scale.
    low = np.maximum(rows["low"], 0) if statistic == "odds_ratio" else rows["low"]
    np.testing.assert_allclose(found.ci_low, low, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.ci_high, rows["high"], rtol=0, atol=1e-10)
    assert set(found.method) == {f"bootstrap {method}, exact"}


@pytest.mark.parametrize("statistic", ["difference", "cohens_h", "odds_ratio", "proportion"])
def test_agrees_with_r_within_its_monte_carlo_error(statistic):
    rows = SIMULATED[SIMULATED["statistic"] == statistic].dropna(subset=["low", "high"])
    rows = rows[np.isfinite(rows["high"])]
    assert len(rows) >= 20
    for row in rows.itertuples():
        cells = [row.n11, row.n10, row.n01, row.n00]
        if statistic == "proportion":
            cells = [row.n11 + row.n00, row.n10 + row.n01]
        found = bootstrap_counts(cells, statistic, method=row.method)
        if "exact" not in str(found.method):
            continue
        low = max(row.low, 0) if statistic == "odds_ratio" else row.low
        assert float(found.ci_low) == pytest.approx(low, abs=row.mc_error_low + 1e-9)
        assert float(found.ci_high) == pytest.approx(row.high, abs=row.mc_error_high + 1e-9)


def test_a_proportion_is_binomial():
    found = bootstrap_counts([701, 100], "proportion", method="percentile")
    limits = stats.binom.ppf([0.025, 0.975], 801, 701 / 801) / 801
    np.testing.assert_allclose([found.ci_low, found.ci_high], limits, atol=1e-12)


def test_resamples_approach_the_exact_distribution():
    exact = bootstrap_counts([600, 83, 10, 108])
    drawn = bootstrap_counts([600, 83, 10, 108], n_resamples=40_000, rng=1)
    assert str(drawn.method) == "bootstrap bca, 40000 resamples"
    np.testing.assert_allclose(drawn.ci_low, exact.ci_low, atol=1.5 / 801)
    np.testing.assert_allclose(drawn.ci_high, exact.ci_high, atol=1.5 / 801)


def test_a_function_of_counts_is_resampled():
    def discordant(counts):
        return (counts[..., 1] + counts[..., 2]) / counts.sum(axis=-1)

    found = bootstrap_counts([600, 83, 10, 108], discordant, n_resamples=20_000, rng=1)
    exact = bootstrap_counts([93, 708], "proportion")
    np.testing.assert_allclose(found.ci_low, exact.ci_low, atol=2 / 801)
    again = bootstrap_counts([600, 83, 10, 108], discordant, n_resamples=20_000, rng=1)
    assert (found.ci_low, found.ci_high) == (again.ci_low, again.ci_high)


@settings(deadline=None)
@given(cells=CELLS, statistic=st.sampled_from(["difference", "cohens_h"]))
def test_swapping_the_groups_mirrors_the_interval(cells, statistic):
    n11, n10, n01, n00 = cells
    one, other = (
        bootstrap_counts(cells, statistic),
        bootstrap_counts((n11, n01, n10, n00), statistic),
    )
    np.testing.assert_allclose(
        [one.estimate, one.ci_low, one.ci_high],
        [-other.estimate, -other.ci_high, -other.ci_low],
        atol=1e-10,
    )


@settings(deadline=None)
@given(cells=CELLS, method=st.sampled_from(["bca", "percentile", "basic"]))
def test_the_interval_contains_the_estimate(cells, method):
    found = bootstrap_counts(cells, method=method)
    assert found.ci_low - 1e-12 <= found.estimate <= found.ci_high + 1e-12


def test_units_are_computed_separately():
    tables = np.array([[[600, 83, 10, 108], [9, 1, 2, 3]], [[0, 0, 0, 5], [40, 5, 5, 0]]])
    for statistic in ("difference", "accuracy_a", "cohens_h"):
        together = bootstrap_counts(tables, statistic)
        assert together.estimate.shape == (2, 2)
        for i in np.ndindex(2, 2):
            alone = bootstrap_counts(tables[i], statistic)
            assert (together.ci_low[i], together.ci_high[i]) == (alone.ci_low, alone.ci_high)
            assert together.method[i] == alone.method


def test_fallback_interval_is_named_if_resamples_do_not_differ():
    found, expected = bootstrap_counts([700, 0, 0, 101]), tango(801, 0, 0, 0)
    assert (found.ci_low, found.ci_high) == (expected.ci_low, expected.ci_high)
    assert str(found.method).startswith("tango (bootstrap bca ")

    found, share = bootstrap_counts([801, 0], "proportion"), wilson(801, 801)
    assert (found.ci_low, found.ci_high) == (share.ci_low, share.ci_high)
    assert str(found.method).startswith("wilson (")

    for cells in ([700, 0, 0, 101], [700, 9, 0, 92]):
        odds, exact = bootstrap_counts(cells, "odds_ratio"), odds_ratio(n10=cells[1], n01=cells[2])
        assert (odds.ci_low, odds.ci_high) == (exact.ci_low, exact.ci_high)
        assert str(odds.method).startswith("exact conditional (")

    assert str(bootstrap_counts([5, 0, 0, 5], "cohens_h").method).startswith("arcsine, paired (")
    nothing = bootstrap_counts([0, 0, 0, 5], "ratio")
    assert np.isnan(nothing.ci_low)
    assert str(nothing.method).startswith("none (")


def test_all_to_one_side_and_one_item():
    found = bootstrap_counts([0, 9, 0, 0])
    assert (float(found.estimate), float(found.ci_high)) == (1, 1)
    assert found.ci_low < 1
    one = bootstrap_counts([0, 1, 0, 0])
    assert one.ci_low < one.estimate == one.ci_high == 1
    empty = bootstrap_counts([0, 0, 0, 0])
    assert np.isnan(empty.estimate)
    assert (float(empty.ci_low), float(empty.ci_high)) == (-1, 1)


def test_a_function_that_is_nan_for_a_resample_has_no_interval():
    found = bootstrap_counts(
        [5, 1, 1, 5],
        lambda c: c[..., 1] / np.where(c[..., 2] > 0, c[..., 2], np.nan),
        n_resamples=2000,
        rng=1,
    )
    assert np.isnan(found.ci_low)
    assert str(found.method).startswith("none (bootstrap bca ")


@pytest.mark.parametrize("alpha", [1e-6, 0.001, 0.05])
@pytest.mark.parametrize("method", ["bca", "percentile", "basic"])
def test_limits_are_within_the_scale(method, alpha):
    for cells in ([19, 1, 0, 0], [799, 1, 0, 0], [4, 0, 0, 1], [9, 1, 0, 0], [3, 2, 1, 1]):
        for statistic, (low, high) in {
            "difference": (-1, 1),
            "accuracy_a": (0, 1),
            "accuracy_b": (0, 1),
            "cohens_h": (-np.pi, np.pi),
            "odds_ratio": (0, np.inf),
        }.items():
            found = bootstrap_counts(cells, statistic, method=method, alpha=alpha)
            assert low <= found.ci_low <= found.ci_high <= high, (cells, statistic)
    found = bootstrap_counts([799, 1, 0, 0], alpha=0.002)
    assert found.ci_high <= 20 / 800


def test_odds_ratio_without_discordant_pairs_is_unknown():
    assert np.isnan(bootstrap_counts([10, 0, 0, 5], "odds_ratio").estimate)
    assert np.isnan(bootstrap_counts([0, 0, 0, 5], "ratio").estimate)


def test_any_number_of_pairs_is_handled():
    found = bootstrap_counts([7_000_000, 900_000, 800_000, 1_300_000])
    half = 1.959964 * np.sqrt(1_700_000 - 100_000**2 / 1e7) / 1e7
    np.testing.assert_allclose([found.ci_low, found.ci_high], [0.01 - half, 0.01 + half], rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: bootstrap_counts([1, 2, 3, 4], "mean"), "use difference, accuracy_a"),
        (lambda: bootstrap_counts([1, 2, 3, 4], method="student"), "use bca, percentile or basic"),
        (
            lambda: bootstrap_counts([1, 2, 3, 4], "proportion"),
            r"shape \(..., 2\): successes, failures",
        ),
        (lambda: bootstrap_counts([1, 2, 3, 4], lambda c: c[..., 0]), "n_resamples=9999, rng=1"),
        (lambda: bootstrap_counts([1, 2, 3, 4], n_resamples=99), "needs rng="),
        (lambda: bootstrap_counts([1, 2, 3, 4], n_resamples=0, rng=1), "must be at least 1"),
        (lambda: bootstrap_counts([1, -2, 3, 4]), r"counts\[1\]=-2 must be a whole number"),
        (lambda: bootstrap_counts([10**7] * 4, "cohens_h"), "resample instead"),
        (lambda: bootstrap_counts(5), "categories on its last axis"),
    ],
)
def test_impossible_bootstrap_is_reported(call, match):
    with pytest.raises(ValueError, match=match):
        call()
