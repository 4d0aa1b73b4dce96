"""Score intervals of a proportion and a paired difference: against R, bisection and enumeration."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairstats.inference.intervals import proportion_interval, tango, tango_limits, wilson

R = Path(__file__).parents[1] / "r"
PAIRED = pd.read_csv(R / "paired.csv")
WILSON = pd.read_csv(R / "wilson.csv")
PROPORTIONS = pd.read_csv(R / "proportions.csv")
CELLS = st.tuples(*[st.integers(0, 400)] * 3)
Z2 = 3.8414588206941254  # qchisq(0.95, 1)

SMALL = [(a, b, n) for n in (1, 2, 3, 9) for a, b in product(range(n + 1), repeat=2) if a + b <= n]
LARGE = [(0, 0, 801), (83, 10, 801), (1, 0, 10**6), (40_000, 39_000, 10**6), (7, 7, 10**9)]


def of_discordant(n10, n01, n, **options):
    """Tango's interval, given the number of all pairs."""
    return tango(np.subtract(n, np.add(n10, n01)), n10, n01, 0, **options)


@pytest.mark.parametrize("level", [0.90, 0.95, 0.99])
def test_wilson_agrees_with_r(level):
    rows = WILSON[WILSON["level"] == level]
    interval = wilson(rows["successes"], rows["n"], alpha=1 - level)
    np.testing.assert_allclose(interval.ci_low, rows["low"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(interval.ci_high, rows["high"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["clopper_pearson", "jeffreys"])
def test_other_intervals_of_a_proportion_agree_with_r(method):
    for alpha, rows in PROPORTIONS.groupby("alpha"):
        found = proportion_interval(rows["successes"], rows["n"], method=method, alpha=alpha)
        np.testing.assert_allclose(found.ci_low, rows[f"{method}_low"], rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.ci_high, rows[f"{method}_high"], rtol=0, atol=1e-10)
        assert found.method == method


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson", "jeffreys"])
def test_interval_of_no_trials_is_the_whole_scale(method):
    found = proportion_interval([0, 0, 9], [0, 9, 9], method=method)
    assert (found.ci_low[0], found.ci_high[0]) == (0, 1)
    assert (found.ci_low[1], found.ci_high[2]) == (0, 1)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="use wilson, clopper_pearson or jeffreys"):
        proportion_interval(1, 2, method="agresti")


def test_a_design_effect_counts_as_so_many_fewer_answers():
    wide, fewer = wilson(300, 400, design_effect=4), wilson(75, 100)
    np.testing.assert_allclose(
        [wide.ci_low, wide.ci_high], [fewer.ci_low, fewer.ci_high], atol=1e-14
    )
    wide, fewer = of_discordant(80, 40, 800, design_effect=4), of_discordant(20, 10, 200)
    np.testing.assert_allclose(
        [wide.ci_low, wide.ci_high], [fewer.ci_low, fewer.ci_high], atol=1e-14
    )
    with pytest.raises(ValueError, match="design_effect=0 must be positive"):
        wilson(1, 2, design_effect=0)


@pytest.mark.parametrize("level", [90, 95])
def test_tango_agrees_with_r(level):
    # R's uniroot stops at 1e-14, which gives the restricted estimate to about 1e-13.
    n = PAIRED[["n11", "n10", "n01", "n00"]].sum(axis=1)
    interval = of_discordant(PAIRED["n10"], PAIRED["n01"], n, alpha=1 - level / 100)
    np.testing.assert_allclose(interval.ci_low, PAIRED[f"tango{level}_low"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(interval.ci_high, PAIRED[f"tango{level}_high"], rtol=0, atol=1e-10)


# After Fagerland, Lydersen & Laake (2014), Statistics in Medicine 33:2850-2875; as printed.
@pytest.mark.parametrize(
    ("n11", "n10", "n01", "n00", "low", "high"),
    [
        (1, 1, 7, 12, -0.51723, -0.02600),
        (794, 150, 86, 570, 0.02136, 0.05900),
        (14, 5, 0, 22, 0.02584, 0.25544),
        (60, 40, 20, 40, 0.03086, 0.21806),
    ],
)
def test_tango_agrees_with_the_literature(n11, n10, n01, n00, low, high):
    interval = tango(n11, n10, n01, n00)
    assert [round(float(interval.ci_low), 5), round(float(interval.ci_high), 5)] == [low, high]


@pytest.mark.parametrize("n", [1, 2, 801, 10**9])
def test_without_discordant_pairs_tango_is_the_known_closed_form(n):
    limit = Z2 / (n + Z2)
    interval = of_discordant(0, 0, n)
    np.testing.assert_allclose([interval.ci_low, interval.ci_high], [-limit, limit], rtol=1e-9)


def test_all_pairs_discordant_to_one_side_reaches_the_end_of_the_scale():
    interval = of_discordant([5, 0], [0, 5], 5)
    assert interval.ci_high[0] == 1
    assert interval.ci_low[1] == -1
    assert 0 < interval.ci_low[0] < 1
    assert interval.ci_low[0] == pytest.approx(-interval.ci_high[1], abs=1e-15)


def test_interval_without_pairs_is_the_whole_scale():
    assert (float(of_discordant(0, 0, 0).ci_low), float(of_discordant(0, 0, 0).ci_high)) == (-1, 1)
    assert (float(wilson(0, 0).ci_low), float(wilson(0, 0).ci_high)) == (0, 1)


def test_wilson_is_exact_at_the_ends():
    interval = wilson([0, 7], 7)
    assert interval.ci_low[0] == 0
    assert interval.ci_high[1] == 1
    assert interval.ci_high[0] == pytest.approx(Z2 / (7 + Z2), abs=1e-15)


@given(cells=CELLS)
def test_tango_contains_the_estimate_and_is_within_the_scale(cells):
    n10, n01, rest = cells
    n = n10 + n01 + rest
    interval = of_discordant(n10, n01, n)
    estimate = (n10 - n01) / n if n else 0
    assert -1 <= interval.ci_low <= estimate <= interval.ci_high <= 1
    assert interval.ci_low < interval.ci_high


@given(cells=CELLS)
def test_swapping_the_groups_mirrors_tango(cells):
    n10, n01, rest = cells
    one, other = (
        of_discordant(n10, n01, n10 + n01 + rest),
        of_discordant(n01, n10, n10 + n01 + rest),
    )
    np.testing.assert_allclose(
        [one.ci_low, one.ci_high], [-other.ci_high, -other.ci_low], atol=1e-14
    )


@given(cells=CELLS, alpha=st.floats(1e-6, 0.9))
def test_a_higher_level_gives_a_wider_interval(cells, alpha):
    n10, n01, rest = cells
    n = n10 + n01 + rest
    wide, narrow = (
        of_discordant(n10, n01, n, alpha=alpha / 2),
        of_discordant(n10, n01, n, alpha=alpha),
    )
    assert wide.ci_low <= narrow.ci_low
    assert narrow.ci_high <= wide.ci_high


@given(n=st.integers(0, 5000), share=st.floats(0, 1))
def test_wilson_contains_the_estimate(n, share):
    successes = int(n * share)
    interval = wilson(successes, n)
    assert 0 <= interval.ci_low <= (successes / n if n else 0.5) <= interval.ci_high <= 1


def test_interval_handles_hundreds_of_millions_of_pairs():
    interval = of_discordant(90_000_000, 80_000_000, 800_000_000)
    half = 1.959964 * np.sqrt(170_000_000 - 10_000_000**2 / 800_000_000) / 800_000_000
    np.testing.assert_allclose(
        [interval.ci_low, interval.ci_high], [0.0125 - half, 0.0125 + half], 1e-5
    )


def test_units_are_computed_separately():
    several = of_discordant([1, 0, 5], [7, 0, 0], [21, 9, 0 + 5])
    for i, (n10, n01, n) in enumerate([(1, 7, 21), (0, 0, 9), (5, 0, 5)]):
        assert several.ci_low[i] == of_discordant(n10, n01, n).ci_low
        assert several.ci_high[i] == of_discordant(n10, n01, n).ci_high
    assert several.to_frame().shape == (3, 6)


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="successes=3 must not exceed n=2"):
        wilson(3, 2)
    with pytest.raises(ValueError, match=r"n10 \+ n01=4 must not exceed n=3"):
        tango_limits(2, 2, 3, alpha=0.05)
    with pytest.raises(ValueError, match="n01=-1 must be a whole number"):
        of_discordant(0, -1, 3)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 5, float("nan")])
def test_alpha_outside_of_0_and_1_is_refused(alpha):
    for compute in (lambda: wilson(1, 2, alpha=alpha), lambda: of_discordant(1, 0, 2, alpha=alpha)):
        with pytest.raises(ValueError, match="alpha"):
            compute()


def bisected(n10: float, n01: float, n: float, target: float) -> float:
    """Solve Tango (1998), equation 3, by bisection, one table at a time."""
    estimate = (n10 - n01) / n
    left, right = (-1.0, estimate) if target > 0 else (estimate, 1.0)
    for _ in range(80):
        delta = (left + right) / 2
        b = -n10 - n01 + (2 * n - n10 + n01) * delta
        c = -n01 * delta * (1 - delta)
        p01 = (np.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
        variance = n * (2 * p01 + delta * (1 - delta))
        numerator = n10 - n01 - n * delta
        # Where both are 0, the data agree with the difference.
        above = target < 0 if numerator == 0 else numerator > target * np.sqrt(max(variance, 0))
        left, right = (delta, right) if above else (left, delta)
    return (left + right) / 2


@pytest.mark.parametrize("alpha", [0.05, 0.1, 1e-4])
@pytest.mark.parametrize("tables", [SMALL, LARGE], ids=["small", "large"])
def test_limits_are_those_of_bisection(tables, alpha):
    z = stats.norm.isf(alpha / 2)
    low, high = tango_limits(*np.array(tables).T, alpha=alpha)
    assert low == pytest.approx([bisected(*table, z) for table in tables], abs=1e-9)
    assert high == pytest.approx([bisected(*table, -z) for table in tables], abs=1e-9)


@pytest.mark.parametrize("table", [(0, 10**8 - 1, 10**8), (1, 10**7 - 1, 10**7), (3, 10**6, 10**8)])
def test_limits_keep_their_digits_on_either_side_of_0(table):
    n10, n01, n = table
    low, high = tango_limits(n10, n01, n, alpha=0.05)
    other = tango_limits(n01, n10, n, alpha=0.05)
    assert (low, high) == pytest.approx((-other[1], -other[0]), rel=0, abs=1e-15)


def test_limits_do_not_depend_on_the_other_tables():
    tables = [*SMALL, *LARGE]
    together = tango_limits(*np.array(tables).T, alpha=0.05)
    alone = [tango_limits(*table, alpha=0.05) for table in tables]
    assert np.stack(together, axis=1).tolist() == np.array(alone).tolist()
