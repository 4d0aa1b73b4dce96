"""Intervals over items and raters compared with other libraries and enumeration."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from fairstats.inference.crossed_means import (
    Crossing,
    crossed_interval,
    crossed_test,
    crossed_variance,
)
from fairstats.inference.intervals import wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from tests.serving import benchmark_script

ROOT = Path(__file__).parents[2]
BOTH = [crossed_interval, lambda *table: crossed_test(*table, null=0.5)]

COVERAGE = pd.read_csv(ROOT / "benchmarks" / "results" / "crossed_coverage.csv")


def script():
    return benchmark_script("crossed_coverage")


def limits(found) -> tuple[float, float]:
    return float(found.ci_low), float(found.ci_high)


def ratings(n_items, each, n_raters, *, seed=1, rate=0.3, of_items=1.5):
    """Ratings by raters who differ, of items that differ."""
    rng = np.random.default_rng(seed)
    items = np.repeat(np.arange(n_items), each)
    raters = np.concatenate([rng.permutation(n_raters)[:each] for _ in range(n_items)])
    latent = rng.standard_normal(len(items)) + of_items * rng.standard_normal(n_items)[items]
    latent += 0.8 * rng.standard_normal(n_raters)[raters]
    return (latent > stats.norm.isf(rate)).astype(float), items, raters


def test_without_ratings_there_is_no_estimate():
    found = crossed_interval([], [], [])
    assert np.isnan(found.estimate)
    assert limits(found) == (0, 1)
    assert (int(found.n), found.method) == (0, "none (no ratings)")


@pytest.mark.parametrize("value", [0.0, 1.0, 0.25])
def test_ratings_that_are_all_equal_leave_room_for_items_that_were_not_seen(value):
    items, raters = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
    found = crossed_interval(np.full(60, value), items, raters)
    assert found.estimate == value
    assert limits(found) == pytest.approx(limits(bounded_mean_interval(np.full(20, value))))
    assert found.ci_low < found.ci_high
    assert found.method.startswith("wilson over items (")
    # Twenty items, not sixty ratings.
    if value == 0:
        assert found.ci_high == pytest.approx(float(wilson(0, 20).ci_high))
    rng = np.random.default_rng(1)
    nothing = script().pigeonhole(np.full(60, value), items, raters, n_resamples=99, rng=rng)
    assert np.isnan(nothing).all()


def test_limits_have_room_for_rare_items_that_all_raters_report():
    # Each rater reports one of 20 items: S_raters is 0, and few items say little of others.
    values = np.tile(np.eye(20), (1, 5)).ravel()
    items, raters = np.repeat(np.arange(20), 100), np.tile(np.arange(100), 20)
    found = crossed_interval(values, items, raters)
    share = float(wilson(0, 20).ci_high)
    assert limits(found)[1] == pytest.approx(0.05 + 0.95 * share)
    assert found.method == "two-way clusters, wilson t with room for rare differences"
    # Unequal numbers of ratings are as fewer items.
    more = np.r_[np.arange(2000), np.arange(1900, 2000), np.arange(1900, 2000)]
    wider = crossed_interval(values[more], items[more], raters[more])
    assert limits(wider)[1] - float(wider.estimate) > limits(found)[1] - 0.05
    # Items show nothing of others if there is only one.
    assert not crossed_interval([0, 1, 1], ["i"] * 3, range(3)).method.endswith("differences")


def test_ratings_that_differ_by_rounding_are_equal():
    found = crossed_interval([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], [1, 1, 2])
    assert found.method.startswith("wilson over items (")
    assert found.ci_high - found.ci_low > 0.3


def test_one_rater_gives_no_interval_over_raters():
    values = np.array([0, 1, 1, 0, 0, 1, 0, 0, 0, 0.0])
    found = crossed_interval(values, np.arange(10), np.zeros(10))
    assert "one rater" in found.method
    # Ten independent items: Wilson's interval with the t quantile, and n − 1 in the variance.
    alpha = 2 * stats.norm.sf(stats.t.isf(0.025, 9))
    expected = wilson(3, 10, alpha=alpha, design_effect=10 / 9)
    np.testing.assert_allclose(limits(found), (expected.ci_low, expected.ci_high), rtol=1e-10)


def test_repeats_by_one_rater_are_not_additional_items():
    values = np.array([0, 1, 1, 0, 0, 1, 0, 0, 0, 0.0])
    once = crossed_interval(values, np.arange(10), np.zeros(10))
    thrice = crossed_interval(np.repeat(values, 3), np.repeat(np.arange(10), 3), np.zeros(30))
    assert limits(thrice) == pytest.approx(limits(once), rel=1e-12)
    assert thrice.n == 30


@pytest.mark.parametrize("reports", [1, 2])
def test_ratings_that_balance_out_in_every_cell_are_independent(reports):
    # Each rater reports on each item in so many of three judgements: every sum is 0.
    values = np.tile(np.arange(3) < reports, 400).astype(float)
    cells = np.repeat(np.arange(400), 3)
    found = crossed_interval(values, cells // 4, cells % 4)
    alpha = 2 * stats.norm.sf(stats.t.isf(0.025, 1199))
    expected = wilson(400 * reports, 1200, alpha=alpha, design_effect=1200 / 1199)
    np.testing.assert_allclose(limits(found), (expected.ci_low, expected.ci_high), rtol=1e-10)


def test_one_item_gives_no_interval_over_items():
    values = np.array([0, 1, 1, 0, 0, 1, 0, 0, 0, 0.0])
    found = crossed_interval(values, np.zeros(10), np.arange(10))
    assert "one item" in found.method
    swapped = crossed_interval(values, np.arange(10), np.zeros(10))
    assert limits(found) == limits(swapped)


def test_one_rater_who_rates_one_item_often_is_one_observation():
    found = crossed_interval([0, 1, 1], ["i"] * 3, ["r"] * 3)
    assert found.method == "wilson (one item, one rater)"
    assert limits(found) == pytest.approx(limits(bounded_mean_interval([2 / 3])))
    assert found.n == 3


def test_ratings_that_balance_out_are_not_more_than_independent_ones():
    # Σ over each item and over each rater is 0: the two-way variance is negative.
    found = crossed_interval([1, 0, 0, 1], [1, 1, 2, 2], ["a", "b", "a", "b"])
    alone = wilson(2, 4)
    assert found.ci_low < alone.ci_low
    assert found.ci_high > alone.ci_high
    larger = np.tile(np.eye(2), (10, 10)).ravel()
    items, raters = np.divmod(np.arange(400), 20)
    found = crossed_interval(larger, items, raters)
    assert found.ci_low < wilson(200, 400).ci_low


def test_ratings_with_separate_items_and_raters_are_independent():
    values = np.repeat([1.0, 0.0], [12, 48])
    found = crossed_interval(values, np.arange(60), np.arange(60))
    alpha = 2 * stats.norm.sf(stats.t.isf(0.025, 59))
    expected = wilson(12, 60, alpha=alpha, design_effect=60 / 59)
    np.testing.assert_allclose(limits(found), (expected.ci_low, expected.ci_high), rtol=1e-10)


@pytest.mark.parametrize(
    ("design", "of_items", "largest"),
    [((200, 3, 5), 1.5, 3), ((60, 2, 12), 1.5, 3), ((200, 3, 5), 0.0, 1), ((30, 3, 3), 1.5, 0)],
)
def test_the_variance_is_that_of_statsmodels_clusters(design, of_items, largest):
    values, items, raters = ratings(*design, of_items=of_items)
    model = sm.OLS(values, np.ones(len(values)))
    groups = (items, raters, items * 100 + raters)
    one_way, freedoms = [], []
    for labels in groups:
        fitted = model.fit(cov_type="cluster", cov_kwds={"groups": labels})
        k, share = len(np.unique(labels)), np.unique(labels, return_counts=True)[1] / len(values)
        # The estimate's variance if clusters have independent effects, and that of their totals.
        centred = np.diag(share) @ (np.eye(k) - share)
        of_totals = centred @ centred.T
        factor = (share @ share) / np.trace(of_totals) * (k - 1) / k
        one_way.append(float(fitted.cov_params()[0, 0]) * factor)
        freedoms.append(np.trace(of_totals) ** 2 / (of_totals**2).sum())
    # Items, raters, both, two-way: the largest variance is used.
    variances = [*one_way, one_way[0] + one_way[1] - one_way[2]]
    assert int(np.argmax(variances)) == largest
    found = crossed_interval(values, items, raters)
    freedom = max(variances) ** 2 / sum(v**2 / df for v, df in zip(one_way, freedoms, strict=True))
    freedom = max(freedom, min(freedoms))
    # The score interval ends where |p̂ − p| = t √(p (1 − p) V / (p̂ (1 − p̂))).
    p = float(found.estimate)
    for limit in limits(found):
        deviation = np.sqrt(limit * (1 - limit) / (p * (1 - p)) * max(variances))
        assert abs(p - limit) == pytest.approx(stats.t.isf(0.025, freedom) * deviation, rel=1e-9)


def test_order_names_and_side_of_the_event_do_not_matter():
    values, items, raters = ratings(40, 3, 6)
    found = crossed_interval(values, items, raters)
    order = np.random.default_rng(3).permutation(len(values))
    named = crossed_interval(
        values[order], [f"item {i}" for i in items[order]], [f"<b>{r}</b>" for r in raters[order]]
    )
    np.testing.assert_allclose(limits(named), limits(found), rtol=1e-12)
    mirrored = crossed_interval(1 - values, items, raters)
    np.testing.assert_allclose(1 - np.array(limits(mirrored))[::-1], limits(found), rtol=1e-12)


def test_a_higher_level_is_wider():
    table = ratings(40, 3, 6)
    found, wider = crossed_interval(*table), crossed_interval(*table, alpha=0.01)
    assert wider.ci_low < found.ci_low < found.ci_high < wider.ci_high
    assert wider.ci_level == 0.99


def some_table(seed):
    """Return ratings in halves or whole numbers, of few or many items and raters, some all
    equal."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    n_items, n_raters = (int(rng.integers(1, most)) for most in (15, 6))
    kinds = [(0, 1), (0, 0.5, 1), (0.5,), (1,), (0.1, 0.3), (0.75,)]
    values = rng.choice(kinds[seed % len(kinds)], n)
    return values, rng.integers(0, n_items, n), rng.integers(0, n_raters, n)


@pytest.mark.parametrize("seed", range(90))
def test_p_is_below_alpha_exactly_if_the_interval_excludes_the_null(seed):
    table = some_table(seed)
    for null in (0.5, 0.08, 0.9):
        p = crossed_test(*table, null=null).p_value
        assert 0 < p <= 1
        # Just below and above p the limit is just beyond and short of the null.
        for alpha in (0.05, 0.3, p * 0.999, p * 1.001):
            if not 1e-12 < alpha < 1:
                continue
            low, high = limits(crossed_interval(*table, alpha=alpha))
            assert (p < alpha) == (not low <= null <= high), (null, alpha, low, high)


def test_the_degenerate_tests():
    nothing = crossed_test([], [], [], null=0.5)
    assert np.isnan([nothing.statistic, nothing.df, nothing.p_value]).all()
    assert nothing.method == "none (no ratings)"
    # One rater who always prefers the same side shows nothing about others.
    alone = crossed_test(np.ones(30), np.arange(30), np.zeros(30), null=0.5)
    assert alone.method.endswith("(all ratings are equal; one rater)")
    ties = crossed_test(np.full(6, 0.5), np.arange(6), np.zeros(6), null=0.5)
    assert (ties.statistic, ties.p_value) == (0, 1)
    assert ties.method.startswith("score over items (")
    # Twelve ratings of four items are four: z = √4.
    same = crossed_test(np.ones(12), np.arange(12) % 4, np.arange(12) // 4, null=0.5)
    assert same.statistic == pytest.approx(2)
    assert same.p_value == pytest.approx(2 * stats.norm.sf(2))
    against = crossed_test(np.zeros(12), np.arange(12) % 4, np.arange(12) // 4, null=0.5)
    assert (against.statistic, against.p_value) == (-same.statistic, same.p_value)
    one = crossed_test([1, 1, 0.5], ["i"] * 3, ["r"] * 3, null=0.5)
    assert one.method == "score (one item, one rater)"
    assert one.p_value > 0.3
    sure = crossed_test(np.ones(9000), np.arange(9000), np.arange(9000) % 7, null=0.5)
    assert 0 < sure.p_value < 1e-300
    rater = crossed_test([1, 0, 1, 1], range(4), ["r"] * 4, null=0.5)
    assert rater.method.startswith("clusters of items, score t (")
    assert rater.df == 3
    with pytest.raises(ValueError, match="null=1"):
        crossed_test([1, 0], [1, 2], [1, 2], null=1)


def test_the_variance_of_a_sum_is_that_of_its_parts_at_least():
    values, items, raters = ratings(60, 2, 12)
    n = len(values)
    crossing = Crossing.of(items, raters, n)
    e = (values - values.mean()) / n
    found = crossed_variance(e, crossing)
    for of, k in ((items, 60), (raters, 12)):
        totals = np.bincount(of, e)
        assert found.variance >= totals @ totals * k / (k - 1)
    assert crossed_variance(3 * e, crossing).variance == pytest.approx(9 * found.variance)
    assert crossed_variance(3 * e, crossing).df == pytest.approx(found.df)
    nothing = crossed_variance(np.zeros(n), crossing)
    assert (nothing.variance, nothing.df) == (0, n - 1)


def test_the_pigeonhole_bootstrap_is_that_of_all_resamples():
    # Half of the cells are empty: in some resamples no rating counts.
    values, items, raters = [1, 0, 1], [0, 0, 1], [0, 1, 2]
    means = []
    for of_items in product(range(2), repeat=2):
        for of_raters in product(range(3), repeat=3):
            weights = [
                of_items.count(i) * of_raters.count(r) for i, r in zip(items, raters, strict=True)
            ]
            if sum(weights):
                means.append(np.average(values, weights=weights))
    assert len(means) < 4 * 27
    ordered = np.sort(means)
    for alpha in (0.1, 0.3, 0.5, 0.7):
        rng = np.random.default_rng(5)
        found = script().pigeonhole(values, items, raters, n_resamples=40_000, rng=rng, alpha=alpha)
        place = alpha / 2 * len(means)
        expected = ordered[int(np.ceil(place)) - 1], ordered[len(means) - int(np.ceil(place))]
        assert found == pytest.approx(expected), alpha


def test_the_closed_form_is_the_variance_over_all_resamples():
    values, items, raters = np.array([1, 0, 1, 1, 0.0]), [0, 0, 1, 1, 0], [0, 1, 0, 2, 2]
    deviations = values - values.mean()
    sums = [
        sum(
            e * of_items.count(i) * of_raters.count(r)
            for e, i, r in zip(deviations, items, raters, strict=True)
        )
        for of_items in product(range(2), repeat=2)
        for of_raters in product(range(3), repeat=3)
    ]
    totals = tuple(
        pd.Series(deviations).groupby(labels).sum().to_numpy()
        for labels in (items, raters, [10 * i + r for i, r in zip(items, raters, strict=True)])
    )
    assert script().closed_form(totals, 5) == pytest.approx(np.var(sums) / 25)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (([2], [1], [1]), "from 0 to 1"),
        (([np.nan], [1], [1]), "from 0 to 1"),
        (([[1]], [1], [1]), "shape"),
        (([1, 0], [1], [1, 2]), "items must have the length"),
        (([1, 0], [1, 2], [1]), "raters must have the length"),
        (([1, 0], [1, None], [1, 2]), "items must not be null"),
    ],
)
@pytest.mark.parametrize("interval", BOTH)
def test_invalid_table_of_ratings_is_refused(interval, table, message):
    with pytest.raises(ValueError, match=message):
        interval(*table)


def test_the_simulation_is_that_of_the_script():
    """Run fewer simulations of one design with the script that wrote its file."""
    rows = pd.DataFrame(script().coverage(0, ((50, 3, 11), 0.5, 0.5, 0.3), 100, 2, 9))
    assert set(rows["method"]) == set(COVERAGE["method"])
    keys = ["items", "rate", "of_items", "of_raters", "method"]
    both = rows.merge(COVERAGE, on=keys, suffixes=("", "_file"))
    assert len(both) == len(rows)
    closed = both[both["method"] != "pigeonhole"]
    np.testing.assert_allclose(closed["mean_width"], closed["mean_width_file"], rtol=0.1)
    np.testing.assert_allclose(closed["coverage"], closed["coverage_file"], atol=0.08)


def test_the_method_was_chosen_by_its_coverage():
    little = COVERAGE[COVERAGE["of_raters"] < 1].groupby("method")
    covers = little["coverage"].min()
    enough = covers.index[covers >= 0.93]
    assert set(enough) == {"closed_t", "crossed_interval", "pigeonhole", "two_way_t"}
    widths = little["mean_width"].mean()[enough]
    assert widths["crossed_interval"] < 1.02 * widths.min()
    none = COVERAGE[COVERAGE["of_raters"] == 0]
    assert none.loc[none["method"] == "crossed_interval", "coverage"].min() >= 0.95
    # The limitation that the docstring names: few raters who differ widely in a rare event.
    assert COVERAGE.groupby("method")["coverage"].min().max() < 0.9
    own = COVERAGE[COVERAGE["method"] == "crossed_interval"]
    worst = own.loc[own["coverage"].idxmin()]
    assert (worst["raters"], worst["rate"], worst["of_raters"]) == (5, 0.03, 1.0)
    assert round(float(worst["coverage"]), 2) == 0.8
    # Over ratings as if they were independent the level is lost.
    alone = COVERAGE[COVERAGE["method"].isin(["bca", "wilson"])]
    assert alone.loc[alone["of_raters"] == 1, "coverage"].max() < 0.9


def test_medperturb_clinicians_differ(shared_data):
    table = pd.read_csv(shared_data("medperturb/dataset.csv"))
    n = len(table)
    values = np.concatenate([table[f"MANAGE_{k}"] for k in (1, 2, 3)])
    raters = np.concatenate([table[f"Clinician_{k}"] for k in (1, 2, 3)])
    found = crossed_interval(values, np.tile(np.arange(n), 3), raters)
    alone = wilson(values.sum(), len(values))
    assert (int(found.n), round(float(found.estimate), 4)) == (2400, 0.4533)
    assert found.ci_high - found.ci_low > 2 * (alone.ci_high - alone.ci_low)
    bootstrapped = script().pigeonhole(
        values, np.tile(np.arange(n), 3), raters, n_resamples=9999, rng=np.random.default_rng(1)
    )
    assert bootstrapped == pytest.approx(limits(found), abs=0.02)


def test_one_rater_with_most_ratings_shows_little_of_how_raters_differ():
    """With as many degrees of freedom as for equal loads, limits covered in 76%."""
    rng, covered = np.random.default_rng(1), []
    items = np.repeat(np.arange(200), 3)
    for _ in range(200):
        raters = np.where(rng.random(600) < 0.6, 0, rng.integers(1, 10, 600))
        latent = rng.standard_normal(600) + 0.3 * rng.standard_normal(10)[raters]
        low, high = limits(crossed_interval((latent > 0).astype(float), items, raters))
        covered.append(low <= 0.5 <= high)
    assert np.mean(covered) >= 0.93
