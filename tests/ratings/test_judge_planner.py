from __future__ import annotations

import numpy as np
import pytest

from fairstats.inference.intervals import wilson
from fairstats.inference.ppi import ppi_mean
from fairstats.ratings.judge_planner import plan_judged


@pytest.mark.parametrize(
    ("rate", "hit", "false", "items", "width"),
    [(0.2, 0.9, 0.1, 2000, 0.1), (0.5, 0.8, 0.2, 1000, 0.15), (0.3, 0.3, 0.3, 800, 0.2)],
)
def test_planned_width_is_that_of_simulated_studies(rate, hit, false, items, width):
    reports = rate * hit + (1 - rate) * false
    variances = rate * (1 - rate) * reports * (1 - reports)
    correlation = (rate * hit - rate * reports) / np.sqrt(variances)
    plan = plan_judged(rate=rate, width=width, correlation=correlation, n_items=items)
    rng, widths = np.random.default_rng(3), []
    for _ in range(100):
        truth = rng.random(items) < rate
        judge = np.where(truth, rng.random(items) < hit, rng.random(items) < false)
        people = np.where(np.arange(items) < plan.n_people, truth, np.nan)
        found = ppi_mean(people, judge)
        widths.append(found.ci_high - found.ci_low)
    assert np.mean(widths) == pytest.approx(width, rel=0.06)


@pytest.mark.parametrize("correlation", [0, -0.8])
def test_useless_judge_saves_nothing(correlation):
    plan = plan_judged(rate=0.2, width=0.1, correlation=correlation, n_items=2000)
    assert plan.n_people == plan.n_people_alone
    n = int(plan.n_people)
    found = wilson(round(n * 0.2), n)
    assert found.ci_high - found.ci_low == pytest.approx(0.1, abs=0.001)


def test_better_judges_need_fewer_people():
    plan = plan_judged(rate=0.2, width=0.1, correlation=[0, 0.5, 0.9, 1], n_items=2000)
    assert (np.diff(plan.n_people) < 0).all()
    assert (plan.planned_width <= 0.1).all()


def test_too_few_items_are_reported():
    plan = plan_judged(rate=0.5, width=0.01, correlation=0.5, n_items=100)
    assert np.isnan(plan.n_people)
    assert np.isnan(plan.n_people_alone)
    assert plan.planned_width > 0.1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 0}, "rate=0"),
        ({"width": 1}, "width=1"),
        ({"correlation": 1.5}, "correlation=1.5"),
        ({"n_items": 2}, "n_items=2"),
    ],
)
def test_wrong_input_is_refused(given, message):
    valid = {"rate": 0.2, "width": 0.1, "correlation": 0.6, "n_items": 2000}
    with pytest.raises(ValueError, match=message):
        plan_judged(**(valid | given))
