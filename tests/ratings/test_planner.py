"""Plans: the binomial sample size, both nestings by simulation, and what cannot be reached."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from fairstats.ratings.planner import plan_agreement, plan_ratings


def width(n, p):
    """Of Wilson's interval, by statsmodels; n p need not be whole."""
    low, high = proportion_confint(n * p, n, method="wilson")
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


@pytest.mark.parametrize(
    ("m", "k", "item_icc", "rater_icc"), [(3, 12, 0.35, 0.05), (1, 9, 0.0, 0.1), (4, 30, 0.5, 0.0)]
)
def test_the_variance_of_a_plan_is_that_of_simulated_studies(m, k, item_icc, rater_icc):
    p, rng = 0.5, np.random.default_rng(7)
    plan = plan_ratings(
        rate=p, width=0.22, raters_per_item=m, item_icc=item_icc, rater_icc=rater_icc, n_raters=k
    )
    n = int(plan.n_items)
    # Item i is judged by m raters in turn.
    raters = (np.arange(n)[:, None] * m + np.arange(m)) % k
    spread = np.sqrt(p * (1 - p) * np.array([item_icc, rater_icc]))
    # A study may not leave [0, 1], or its variance would not be p (1 − p).
    assert spread.sum() <= p
    means = []
    for _ in range(6000):
        of_items = spread[0] * rng.choice([-1, 1], n)[:, None]
        of_raters = spread[1] * rng.choice([-1, 1], k)[raters]
        means.append((rng.random((n, m)) < p + of_items + of_raters).mean())
    effective = n * m / float(plan.design_effect)
    assert np.var(means) == pytest.approx(p * (1 - p) / effective, rel=0.06)
    # Four times its standard error is about the width.
    assert 3.9 * np.std(means) == pytest.approx(0.22, rel=0.1)


def test_the_formula_of_both_nestings():
    plan = plan_ratings(
        rate=0.2, width=0.08, raters_per_item=3, item_icc=0.4, rater_icc=0.03, ratings_per_rater=50
    )
    effect = 1 + 2 * 0.4 + 49 * 0.03
    assert float(plan.n_items) == np.ceil(float(plan.n_effective) * effect / 3)
    assert float(plan.n_raters) == np.ceil(float(plan.n_ratings) / 50)
    load = float(plan.ratings_per_rater)
    assert load <= 50
    assert float(plan.design_effect) == pytest.approx(1 + 2 * 0.4 + (load - 1) * 0.03)
    assert float(plan.planned_width) <= 0.08


def test_a_study_with_fewer_items_or_raters_is_too_wide():
    asked = {"rate": 0.15, "raters_per_item": 2, "item_icc": 0.3, "rater_icc": 0.04}
    plan = plan_ratings(width=0.1, n_raters=15, **asked)
    n = float(plan.n_items)

    def of(items, raters):
        variance = 0.3 / items + 0.04 / raters + 0.66 / (2 * items)
        return width(1 / variance, 0.15)

    assert of(n, 15) <= 0.1 < of(n - 1, 15)
    assert float(plan.planned_width) == pytest.approx(of(n, 15))


def test_too_few_raters_are_told_and_how_many_it_takes():
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


def test_an_items_ratings_that_all_say_the_same_are_one():
    one = plan_ratings(rate=0.1, width=0.05)
    many = plan_ratings(rate=0.1, width=0.05, raters_per_item=7, item_icc=1.0)
    assert float(many.n_items) == float(one.n_items)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate": 1.2}, "the rate must lie"),
        ({"rate": np.nan}, "the rate must lie"),
        ({"width": 1}, "the width must lie"),
        ({"width": 0}, "the width must lie"),
        ({"item_icc": -0.1}, "must be shares"),
        ({"item_icc": np.nan}, "must be shares"),
        ({"item_icc": 0.7, "rater_icc": 0.6, "n_raters": 3}, "must be shares"),
        ({"raters_per_item": 2.5}, "raters_per_item must hold whole numbers"),
        ({"raters_per_item": 4, "n_raters": 3}, "must not be below raters_per_item"),
        ({"rater_icc": 0.1}, "give n_raters or ratings_per_rater"),
        ({"rater_icc": 0.1, "rater_sd": 0.1, "n_raters": 3}, "not both"),
        ({"n_raters": 3, "ratings_per_rater": 3}, "not both"),
        ({"rater_sd": 0.9, "n_raters": 3}, "rater_sd must lie"),
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


def test_items_that_differ_less_need_fewer():
    whole = plan_agreement(agreement=0.7, width=0.05)
    half = plan_agreement(agreement=0.7, width=0.05, sd=np.sqrt(0.21) / 2)
    assert float(half.n_items) == pytest.approx(float(whole.n_items) / 4, abs=1)
    assert float(plan_agreement(agreement=0.7, width=0.05, sd=0).n_items) == 1
    assert np.isfinite(plan_agreement(agreement=1, width=0.05).n_items)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"agreement": -0.1}, "the rate must lie"),
        ({"width": 2.1, "categories": 2}, "the width must lie"),
        ({"sd": 0.6}, "sd must lie"),
        ({"categories": 1}, "2 or more"),
    ],
)
def test_wrong_agreement_plans_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        plan_agreement(**({"agreement": 0.8, "width": 0.1} | wrong))
