"""Means over units: degenerate cases, t and Tango's interval as special cases, dense regression."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, optimize, stats

from fairstats.inference.clustered_answers import flip_test
from fairstats.inference.intervals import tango, wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.unit_means import (
    degrees_of_freedom,
    group_sums,
    unit_influence,
    unit_mean,
    unit_mean_difference,
)

LEVELS = (1, 5)
SPAN = 4


def differing(d):
    """Return the interval of single pairs of levels with these differences."""
    d, one = np.asarray(d), np.ones(len(d))
    return unit_mean_difference(2 + np.maximum(d, 0), one, 2 - np.minimum(d, 0), one, limits=LEVELS)


def limit_of_tango(n10, n01, n, side):
    """Solve Tango's score equation for fractional counts, by bisection."""
    z = side * stats.norm.isf(0.025)

    def distance(delta):
        b = -n10 - n01 + (2 * n - n10 + n01) * delta
        share = (np.sqrt(b**2 + 8 * n * n01 * delta * (1 - delta)) - b) / (4 * n)
        return n10 - n01 - n * delta + z * np.sqrt(n * (2 * share + delta * (1 - delta)))

    return optimize.brentq(distance, -1 + 1e-12, 1 - 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_limits_follow_from_the_formulas_of_the_methods_page(seed):
    """Unequal units, some answers missing: each symbol is that of the page."""
    rng = np.random.default_rng(seed)
    k = 9
    n_a, n_b = rng.integers(3, 25, (2, k))
    sums = [
        np.array([rng.integers(1, 6, size).sum() if rng.random() < 0.7 else 3 * size for size in n])
        for n in (n_a, n_b)
    ]
    found = unit_mean_difference(sums[0], n_a, sums[1], n_b, limits=LEVELS)
    all_a, all_b = n_a.sum(), n_b.sum()
    mean_a, mean_b = sums[0].sum() / all_a, sums[1].sum() / all_b
    d = mean_a - mean_b
    u = (sums[0] - mean_a * n_a) / (all_a * np.sqrt(1 - n_a / all_a))
    u -= (sums[1] - mean_b * n_b) / (all_b * np.sqrt(1 - n_b / all_b))
    differences, pairs = sums[0] / n_a - sums[1] / n_b, np.minimum(n_a, n_b)
    order = np.argsort(differences)
    c = differences[order][np.cumsum(pairs[order]) >= pairs.sum() / 2][0]
    r = (sums[0] - (mean_a + (c - d) / 2) * n_a) / all_a
    r = k * (r - (sums[1] - (mean_b - (c - d) / 2) * n_b) / all_b)
    e = pairs * (differences - c)
    unseen = 2.0 ** -(np.abs(e).sum() ** 2 / (e**2).sum())
    h = (n_a / all_a + n_b / all_b) / 2
    freedom = degrees_of_freedom([n_a.astype(float), n_b.astype(float)], np.ones(k))
    half = stats.t.isf(0.025, freedom) * np.sqrt((u**2).sum())
    expected = []
    for side, end in ((-1, -SPAN), (1, SPAN)):
        m = (1 - unseen) * (r**2).sum() / np.abs(r).sum()
        m += unseen * k * (h**2).sum() * abs(end - c)
        score = limit_of_tango(r[r > 0].sum() / m, -r[r < 0].sum() / m, k, side) * m + c
        expected.append(side * max(side * score, side * (d + side * half)))
    assert found.ci == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 10, 190])
def test_without_a_difference_as_many_units_may_differ_as_wilson_allows(n):
    found = differing(np.zeros(n))
    reach = SPAN * float(wilson(0, n).ci_high)
    assert found.estimate == 0
    assert found.ci == pytest.approx((-reach, reach))
    assert found.n == n
    assert "Wilson" in found.method


@pytest.mark.parametrize("n", [1, 2, 50])
def test_with_one_constant_difference_further_units_may_differ(n):
    found = differing(np.full(n, 2))
    unseen = float(wilson(0, n).ci_high)
    assert found.estimate == 2
    assert found.ci == pytest.approx((2 - unseen * (2 + SPAN), min(2 + unseen * (SPAN - 2), SPAN)))


def test_without_answers_limits_are_widest():
    for sizes in ([], [0, 0]):
        none, some = np.zeros(len(sizes)), np.ones(len(sizes))
        for args in ((none, sizes, none, sizes), (2 * some, some, none, sizes)):
            found = unit_mean_difference(*args, limits=LEVELS)
            assert np.isnan(found.estimate)
            assert found.ci == (-SPAN, SPAN)
        assert unit_mean(none, sizes, limits=LEVELS).ci == LEVELS
    assert found.n == 2


def test_group_in_one_unit_has_the_limits_of_one_unit():
    found = unit_mean_difference([9, 0, 0], [3, 0, 0], [2, 2, 3], [1, 1, 1], limits=LEVELS)
    single = differing([1])
    low, high = (limit - 1 + found.estimate for limit in single.ci)
    assert found.estimate == pytest.approx(2 / 3)
    assert found.ci_low < low + 0.4
    assert found.ci_high - found.ci_low == pytest.approx(high - low)


@pytest.mark.parametrize("n", [20, 190, 2000])
def test_interval_narrows_only_as_more_units_differ(n):
    widths = [np.diff(differing(np.r_[np.ones(x), np.zeros(n - x)]).ci)[0] for x in range(4)]
    # One or two units that differ by a level do not exclude larger differences.
    assert widths[1] > widths[0] / 2
    assert widths[2] > widths[0] / 4
    assert min(widths) > 2 * stats.norm.isf(0.025) / n


def test_tiny_difference_of_one_unit_does_not_make_the_interval_narrow():
    n = 190
    one = np.ones(n)
    changed = 50 * one + np.r_[0.25, np.zeros(n - 1)]
    found = unit_mean_difference(changed, one, 50 * one, one, limits=(0, 100))
    assert found.ci_high - found.ci_low > 100 * float(wilson(0, n).ci_high) / 2


def test_missing_answer_does_not_make_the_interval_narrow():
    n = 190
    levels, one = np.tile([2, 3, 3, 4, 2], n // 5), np.ones(n)
    there = np.r_[0, np.ones(n - 1)]
    complete = unit_mean_difference(levels, one, levels, one, limits=LEVELS)
    found = unit_mean_difference(levels * there, there, levels, one, limits=LEVELS)
    assert found.estimate != 0
    assert found.ci == pytest.approx(complete.ci, abs=0.01)


def test_rounding_errors_are_no_differences():
    n = np.arange(1, 30)
    exact = unit_mean_difference(3 * n, n, 3 * n, n, limits=LEVELS)
    tenths = np.array([sum([0.1] * size) for size in n])
    found = unit_mean_difference(tenths, n, 0.1 * n, n, limits=(0, SPAN))
    assert found.ci == pytest.approx(exact.ci)


def test_single_pairs_of_equal_units_have_the_paired_t_interval():
    d = np.array([0.5, -1, 1.5, 2, 0.25, 0.75, 1, -0.25, 1.25, 0.5] * 3)
    one = np.ones(len(d))
    found = unit_mean_difference(5 + d, one, np.full(len(d), 5.0), one, limits=(0, 10))
    low, high = stats.ttest_1samp(d, 0).confidence_interval()
    assert found.method == "CR2 t"
    assert found.ci == pytest.approx((low, high))


@given(st.integers(0, 20), st.integers(0, 20), st.integers(50, 300))
def test_limits_contain_tangos_for_differences_of_one_level(n10, n01, n00):
    d = np.repeat([1, -1, 0], [n10, n01, n00])
    found, binary = differing(d), tango(0, n10, n01, n00)
    assert found.ci_low <= binary.ci_low + 1e-9
    assert found.ci_high >= binary.ci_high - 1e-9


def regression(y, group, unit):
    """Return CR2 t limits of group a minus b from dense matrices."""
    x = np.column_stack([group == "a", group == "b"]).astype(float)
    bread = np.linalg.inv(x.T @ x)
    contrast = bread @ [1, -1]
    residual = y - x @ bread @ x.T @ y
    hat = np.eye(len(y)) - x @ bread @ x.T
    score, vectors = 0.0, []
    for k in np.unique(unit):
        own = unit == k
        root = linalg.fractional_matrix_power(hat[np.ix_(own, own)], -0.5).real
        weights = root @ x[own] @ contrast
        score += (weights @ residual[own]) ** 2
        vectors.append(hat[:, own] @ weights)
    products = np.array(vectors) @ np.array(vectors).T
    freedom = np.trace(products) ** 2 / (products**2).sum()
    estimate = float(np.array([1, -1]) @ bread @ x.T @ y)
    half = stats.t.isf(0.025, freedom) * np.sqrt(score)
    return estimate - half, estimate + half


@pytest.mark.parametrize("seed", range(5))
def test_limits_are_those_of_the_dense_regression(seed):
    rng = np.random.default_rng(seed)
    n_a, n_b = rng.integers(1, 6, 12), rng.integers(0, 6, 12)
    unit = np.r_[np.repeat(np.arange(12), n_a), np.repeat(np.arange(12), n_b)]
    group = np.repeat(["a", "b"], [n_a.sum(), n_b.sum()])
    y = 50 + rng.standard_normal(12)[unit] + 3 * rng.standard_normal(len(unit))
    sums = [np.bincount(unit[group == g], y[group == g], 12) for g in "ab"]
    found = unit_mean_difference(sums[0], n_a, sums[1], n_b, limits=(0, 100))
    expected = regression(y, group, unit)
    assert found.ci_low <= expected[0] + 1e-9
    assert found.ci_high >= expected[1] - 1e-9
    if found.method == "CR2 t":
        assert found.ci == pytest.approx(expected)


R = Path(__file__).parents[1] / "r"
REFERENCE = pd.read_csv(R / "unit_means.csv")


@pytest.mark.parametrize("row", REFERENCE.to_dict("records"), ids=lambda row: row["case"])
def test_variance_and_degrees_of_freedom_are_those_of_clubsandwich(row):
    data = pd.read_csv(R / "unit_means_data.csv").query("case == @row['case']")
    places = data["unit"].to_numpy() - 1
    groups = []
    for name in "ab":
        y = np.where(data["group"] == name, data["y"], 0.0)
        sums = np.bincount(places, y)
        sizes = np.bincount(places, data["group"] == name)
        groups.append(group_sums(name, sums, sizes, None, 0, 100))
    a, b = groups
    if row["statistic"] == "difference":
        used = [(a, 1), (b, -1)]
        found = unit_mean_difference(a.sums, a.sizes, b.sums, b.sizes, limits=(0, 100))
    else:
        used = [(a, 1)]
        found = unit_mean(a.sums, a.sizes, limits=(0, 100))
    influence = unit_influence(used)
    freedom = degrees_of_freedom([group.sizes for group, _ in used], a.many)
    assert found.estimate == pytest.approx(row["estimate"])
    assert np.sqrt(influence @ influence) == pytest.approx(row["se"])
    assert freedom == pytest.approx(row["df"])
    assert found.ci_low <= row["low"] + 1e-9
    assert found.ci_high >= row["high"] - 1e-9
    if found.method == "CR2 t":
        assert found.ci == pytest.approx((row["low"], row["high"]))


def test_multiplicity_counts_equal_units():
    sum_a, n_a = np.array([3.0, 7, 4]), np.array([1, 2, 2])
    sum_b, n_b = np.array([3.0, 5, 3]), np.array([1, 2, 1])
    many = np.array([5, 3, 4])
    given = [np.repeat(x, many) for x in (sum_a, n_a, sum_b, n_b)]
    short = unit_mean_difference(sum_a, n_a, sum_b, n_b, many, limits=LEVELS)
    long = unit_mean_difference(*given, limits=LEVELS)
    assert short.ci == pytest.approx(long.ci)
    assert (short.estimate, short.n) == (pytest.approx(long.estimate), long.n)
    one = unit_mean(sum_a, n_a, many, limits=LEVELS)
    assert one.ci == pytest.approx(unit_mean(*given[:2], limits=LEVELS).ci)


UNITS = st.lists(
    st.tuples(*[st.integers(0, 4)] * 2, st.integers(1, 5), st.integers(1, 5)),
    min_size=1,
    max_size=12,
)


@given(UNITS)
def test_limits_contain_the_estimate_and_mirror_as_groups_are_swapped(units):
    n_a, n_b, a, b = (np.array(x) for x in zip(*units, strict=True))
    found = unit_mean_difference(a * n_a, n_a, b * n_b, n_b, limits=LEVELS)
    other = unit_mean_difference(b * n_b, n_b, a * n_a, n_a, limits=LEVELS)
    assert -SPAN <= found.ci_low < found.ci_high <= SPAN
    assert other.ci == pytest.approx((-found.ci_high, -found.ci_low))
    if not np.isnan(found.estimate):
        assert found.ci_low <= found.estimate <= found.ci_high


@given(UNITS, st.sampled_from([0.2, 0.1, 0.01]))
def test_higher_confidence_is_wider(units, alpha):
    n_a, n_b, a, b = (np.array(x) for x in zip(*units, strict=True))
    given = a * n_a, n_a, b * n_b, n_b
    wide = unit_mean_difference(*given, limits=LEVELS, alpha=alpha / 2)
    narrow = unit_mean_difference(*given, limits=LEVELS, alpha=alpha)
    assert wide.ci_low <= narrow.ci_low + 1e-12
    assert wide.ci_high >= narrow.ci_high - 1e-12


@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
def test_constant_mean_has_the_limits_of_the_bootstrap(value):
    found = unit_mean(np.full(30, value), np.ones(30), limits=(0, 1))
    assert found.ci == pytest.approx(bounded_mean_interval(np.full(30, value)).ci)


def test_mean_of_many_units_is_near_the_bootstrap():
    values = np.random.default_rng(1).beta(2, 3, 400)
    found = unit_mean(values, np.ones(400), limits=(0, 1))
    assert found.ci == pytest.approx(bounded_mean_interval(values).ci, abs=0.001)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limits": (5, 1)}, "two increasing numbers"),
        ({"limits": (1, 2, 3)}, "two increasing numbers"),
        ({"sum_a": [11, 2]}, r"sum_a\[0\]=11 must be the sum of 2 answers from 1 to 5"),
        ({"n_b": [1, -1]}, "n_b"),
        ({"sum_b": [1.0, np.nan]}, "sum_b"),
        ({"n_a": [2, 1, 1]}, "one shape"),
        ({"sum_b": [2], "n_b": [1]}, "same units"),
        ({"multiplicity": [1]}, "multiplicity"),
        ({"alpha": 1}, "alpha"),
    ],
)
def test_refusals_name_the_argument(arguments, message):
    fine = {"sum_a": [4, 2], "n_a": [2, 1], "sum_b": [4, 2], "n_b": [2, 1], "limits": LEVELS}
    with pytest.raises(ValueError, match=message):
        unit_mean_difference(**(fine | arguments))


def triage(data, unit):
    """Return sums of levels and numbers by unit, of White and of Black men."""
    cells = (data["model"] == "claude-3-haiku-20240307") & (data["prompt"] == "zero-shot")
    men = data[cells & (data["Sex"] == "Men")]
    wide = men.pivot(index=["subject_id", "stay_id"], columns="Race", values="Estimated_Acuity")
    grouped = wide.groupby(unit)
    sums, sizes = grouped.sum(), grouped.size().to_numpy()
    return sums["White"].to_numpy(), sums["Black"].to_numpy(), sizes


def test_triage_levels_by_stay_and_by_patient(shared_data):
    data = pd.read_csv(shared_data("triage/triage_levels.csv"))
    for unit, units, error in (("stay_id", 190, 0.0275), ("subject_id", 50, 0.0220)):
        white, black, sizes = triage(data, unit)
        found = unit_mean_difference(white, sizes, black, sizes, limits=LEVELS)
        groups = [group_sums("", sums, sizes, None, *LEVELS) for sums in (white, black)]
        influence = unit_influence([(groups[0], 1), (groups[1], -1)])
        assert (found.n, round(float(found.estimate), 5)) == (units, 0.14211)
        assert np.sqrt(influence @ influence) == pytest.approx(error, abs=0.0002)
        assert found.ci_low > 0
        change = white - black
        # The law of the sums of random signs, by convolution.
        law = np.ones(1)
        for step in np.abs(change[change != 0]).astype(int):
            law = np.convolve(law, np.r_[0.5, np.zeros(2 * step - 1), 0.5])
        sums = np.abs(np.arange(len(law)) - len(law) // 2)
        observed = abs(change.sum())
        expected = law[sums > observed].sum() + law[sums == observed].sum() / 2
        assert flip_test(change).p_value == pytest.approx(expected)
        assert expected < 1e-4
