"""Plans: the binomial sample size, both nestings by simulation, and unreachable widths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from fairstats.inference.crossed_means import crossed_interval
from fairstats.ratings.planner import plan_agreement, plan_ratings


def width(n, p, alpha=0.05):
    """Of Wilson's interval, by statsmodels; n p need not be whole."""
    low, high = proportion_confint(n * p, n, alpha=alpha, method="wilson")
    return high - low


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("wanted", [0.02, 0.1, 0.4])
def test_one_rating_an_item_is_the_binomial_sample_size(rate, wanted):
    plan = plan_ratings(rate=rate, width=wanted)
    n = float(plan.n_items)
    assert n == np.floor(n)
    assert width(n, rate) <= wanted + 1e-12 < width(n - 1, rate) + (n == 1)
    assert float(plan.planned_width) == pytest.approx(width(n, rate))
    assert float(plan.design_effect) == 1
    assert np.isnan(plan.n_raters)


def study(rng, plan, p):
    """Ratings of the plan's study, with the variances it names: values, items, raters."""
    n, m, k = (int(x) for x in (plan.n_items, plan.raters_per_item, plan.n_raters))
    spread = np.sqrt(p * (1 - p) * np.array([plan.item_icc, plan.rater_icc]))
    # A probability may not leave [0, 1], or the variance would not be p (1 − p).
    assert spread.sum() <= min(p, 1 - p)
    items = np.repeat(np.arange(n), m)
    # Item i is judged by m raters in turn.
    raters = np.arange(n * m) % k
    rates = (
        p + spread[0] * rng.choice([-1, 1], n)[items] + spread[1] * rng.choice([-1, 1], k)[raters]
    )
    return (rng.random(n * m) < rates).astype(float), items, raters


@pytest.mark.parametrize(
    ("m", "k", "item_icc", "rater_icc", "wanted"),
    [(3, 12, 0.35, 0.05, 0.22), (1, 9, 0.0, 0.1, 0.3), (4, 30, 0.5, 0.0, 0.22)],
)
def test_the_variance_of_a_plan_is_that_of_simulated_studies(m, k, item_icc, rater_icc, wanted):
    p, rng = 0.5, np.random.default_rng(7)
    plan = plan_ratings(
        rate=p, width=wanted, raters_per_item=m, item_icc=item_icc, rater_icc=rater_icc, n_raters=k
    )
    means = [study(rng, plan, p)[0].mean() for _ in range(6000)]
    effective = float(plan.n_ratings) / float(plan.design_effect)
    assert np.var(means) == pytest.approx(p * (1 - p) / effective, rel=0.06)


@pytest.mark.parametrize(
    ("p", "wanted", "item_icc", "rater_icc", "raters"),
    [
        (0.5, 0.2, 0.3, 0.02, {"n_raters": 5}),
        (0.2, 0.1, 0.1, 0.0, {"n_raters": 5}),
        (0.2, 0.1, 0.1, 0.01, {"n_raters": 10}),
        (0.2, 0.1, 0.1, 0.01, {"ratings_per_rater": 50}),
    ],
)
def test_the_planned_width_is_that_of_the_interval_that_is_quoted(
    p, wanted, item_icc, rater_icc, raters
):
    plan = plan_ratings(
        rate=p,
        width=wanted,
        raters_per_item=3,
        item_icc=item_icc,
        rater_icc=rater_icc,
        **raters,
    )
    rng = np.random.default_rng(4)
    found = [crossed_interval(*study(rng, plan, p)) for _ in range(200)]
    mean = np.mean([float(one.ci_high - one.ci_low) for one in found])
    assert mean == pytest.approx(float(plan.planned_width), rel=0.06)
    # By the normal quantile it would seem narrower than its intervals are.
    normal = width(float(plan.n_ratings) / float(plan.design_effect), p)
    assert normal < 0.97 * float(plan.planned_width)


def test_a_plan_is_the_smallest_that_is_narrow_enough():
    asked = {"rate": 0.2, "raters_per_item": 3, "item_icc": 0.4, "rater_icc": 0.03}
    plan = plan_ratings(width=0.08, ratings_per_rater=50, **asked)
    n = float(plan.n_items)

    def of(items, raters):
        total = 3 * items
        variance = 0.4 / items + 0.03 / raters + 0.57 / total
        parts = (0.4 / items + 0.6 / total, 0.03 / raters + 0.97 / total, 1 / total)
        sizes = (items - 1, raters - 1, total - 1)
        spread = sum(part**2 / size for part, size in zip(parts, sizes, strict=True))
        df = variance**2 / spread
        assert min(items, raters) - 1 <= df <= total - 1
        return width(1 / variance, 0.2, 2 * stats.norm.sf(stats.t.isf(0.025, df))), df

    assert float(plan.n_raters) == np.ceil(3 * n / 50)
    load = float(plan.ratings_per_rater)
    assert load <= 50
    assert float(plan.design_effect) == pytest.approx(1 + 2 * 0.4 + (load - 1) * 0.03)
    planned, df = of(n, float(plan.n_raters))
    assert float(plan.df) == pytest.approx(df)
    assert float(plan.planned_width) == pytest.approx(planned, rel=1e-5)
    assert planned <= 0.08 < of(n - 1, np.ceil(3 * (n - 1) / 50))[0]
    given = plan_ratings(width=0.1, n_raters=15, **asked)
    assert of(float(given.n_items), 15)[0] <= 0.1 < of(float(given.n_items) - 1, 15)[0]


def test_one_item_or_one_rater():
    # Every item has the same rater: clusters of items.
    plan = plan_ratings(rate=0.3, width=0.2, n_raters=1)
    assert float(plan.df) == float(plan.n_items) - 1
    # One rater does not show how raters differ.
    alone = plan_ratings(rate=0.3, width=0.5, rater_icc=0.01, n_raters=1)
    assert np.isnan([alone.n_items, alone.planned_width, alone.df]).all()
    assert float(alone.least_raters) > 1
    assert (
        float(plan_ratings(rate=0.3, width=0.5, rater_icc=0.01, ratings_per_rater=99).n_raters) > 1
    )
    # Five raters of a single item, if items do not differ.
    wide = plan_ratings(rate=0.5, width=0.95, raters_per_item=5, n_raters=5)
    assert (float(wide.n_items), float(wide.df)) == (1, 4)


def test_more_raters_than_ratings_are_as_many():
    asked = {"rate": 0.2, "width": 0.1, "item_icc": 0.3, "rater_icc": 0.2}
    many = plan_ratings(n_raters=10**6, **asked)
    assert float(many.design_effect) == pytest.approx(1)
    exact = plan_ratings(n_raters=int(many.n_ratings), **asked)
    assert (exact.n_items, exact.planned_width) == (many.n_items, many.planned_width)


def test_width_and_number_of_items_are_monotone():
    widths = np.linspace(0.05, 0.6, 60)
    for icc in (0.0, 0.01, 0.1):
        plan = plan_ratings(
            rate=0.2, width=widths, raters_per_item=4, item_icc=0.5, rater_icc=icc, n_raters=8
        )
        n = plan.n_items[~np.isnan(plan.n_items)]
        assert len(n)
        assert (np.diff(n) <= 0).all()
        planned = plan.planned_width[~np.isnan(plan.n_items)]
        assert (planned <= widths[-len(n) :] + 1e-12).all()


def test_too_few_raters_are_reported_with_the_required_number():
    asked = {"rate": 0.2, "width": 0.1, "item_icc": 0.2, "rater_icc": 0.1}
    plan = plan_ratings(n_raters=5, **asked)
    assert np.isnan([plan.n_items, plan.n_ratings, plan.planned_width]).all()
    least = int(plan.least_raters)
    assert np.isnan(plan_ratings(n_raters=least - 1, **asked).n_items)
    assert np.isfinite(plan_ratings(n_raters=least, **asked).n_items)


def test_raters_by_their_standard_deviation():
    one = plan_ratings(rate=0.2, width=0.1, rater_sd=0.08, n_raters=40)
    other = plan_ratings(rate=0.2, width=0.1, rater_icc=0.04, n_raters=40)
    np.testing.assert_allclose(one.to_frame(), other.to_frame())


def test_a_frame_has_a_row_a_plan():
    table = plan_ratings(rate=[0.1, 0.2], width=[[0.1], [0.05]], raters_per_item=3).to_frame()
    assert len(table) == 4
    assert table["rate"].tolist() == [0.1, 0.2, 0.1, 0.2]
    assert table["n_items"].is_monotonic_increasing


def test_identical_ratings_of_an_item_count_as_one():
    one = plan_ratings(rate=0.1, width=0.05)
    many = plan_ratings(rate=0.1, width=0.05, raters_per_item=7, item_icc=1.0)
    assert float(many.n_items) == float(one.n_items)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate": 1.2}, "rate=1.2 must be a share"),
        ({"rate": np.nan}, "rate=nan must be a share"),
        ({"width": 1}, "width=1.0 must be between 0 and 1"),
        ({"width": 0}, "width=0.0 must be between 0 and 1"),
        ({"item_icc": -0.1}, "item_icc=-0.1 must be a share"),
        ({"item_icc": np.nan}, "item_icc=nan must be a share"),
        (
            {"item_icc": 0.7, "rater_icc": 0.6, "n_raters": 3},
            "item_icc=0.7 and rater_icc=0.6 must sum",
        ),
        ({"raters_per_item": 2.5}, "raters_per_item=2.5 must be a whole number"),
        ({"raters_per_item": 4, "n_raters": 3}, "n_raters=3 must not be below raters_per_item=4"),
        ({"rater_icc": 0.1}, "give n_raters or ratings_per_rater"),
        ({"rater_icc": 0.1, "rater_sd": 0.1, "n_raters": 3}, "not both"),
        ({"n_raters": 3, "ratings_per_rater": 3}, "not both"),
        ({"rater_sd": 0.9, "n_raters": 3}, "rater_sd=0.9 must be"),
        ({"alpha": 0}, "alpha"),
    ],
)
def test_wrong_arguments_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        plan_ratings(**({"rate": 0.1, "width": 0.1} | wrong))


def test_two_raters_agreement_is_a_rate():
    plan = plan_agreement(agreement=0.8, width=0.1)
    assert float(plan.n_items) == float(plan_ratings(rate=0.8, width=0.1).n_items)
    assert float(plan.planned_width) == pytest.approx(width(float(plan.n_items), 0.8))


def test_randolphs_coefficient_stretches_the_scale():
    # With two categories κ = 2 P − 1: a width of 0.2 is one of 0.1 in P.
    two = plan_agreement(agreement=0.8, width=0.2, categories=2)
    assert float(two.n_items) == float(plan_agreement(agreement=0.8, width=0.1).n_items)
    assert float(two.planned_width) == pytest.approx(0.2, abs=0.001)


def test_less_variable_items_need_fewer_ratings():
    whole = plan_agreement(agreement=0.7, width=0.05)
    half = plan_agreement(agreement=0.7, width=0.05, sd=np.sqrt(0.21) / 2)
    assert float(half.n_items) == pytest.approx(float(whole.n_items) / 4, abs=1)
    assert float(plan_agreement(agreement=0.7, width=0.05, sd=0).n_items) == 1
    assert np.isfinite(plan_agreement(agreement=1, width=0.05).n_items)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"agreement": -0.1}, "agreement=-0.1 must be a share"),
        ({"width": 2.1, "categories": 2}, "width=2.1 must be a number from 0 to 2"),
        ({"sd": 0.6}, "sd=0.6 must be"),
        ({"categories": 1}, "categories=1 must be at least 2"),
    ],
)
def test_wrong_agreement_plans_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        plan_agreement(**({"agreement": 0.8, "width": 0.1} | wrong))
