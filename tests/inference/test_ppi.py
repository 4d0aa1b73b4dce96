from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.intervals import wilson
from fairstats.inference.ppi import ppi_mean

FOLDER = Path(__file__).parents[1] / "ppi"
RATINGS = pd.read_csv(FOLDER / "ratings.csv")
# What ppi-python 0.2.3 and evalstats 0.3.3 compute from them.
MEANS = pd.read_csv(FOLDER / "means.csv").set_index("kind")
NAN = np.nan


@pytest.mark.parametrize("kind", MEANS.index)
def test_estimate_agrees_with_other_packages(kind):
    own = RATINGS[RATINGS["kind"] == kind]
    found = ppi_mean(own["people"], own["judge"])
    expected = MEANS.loc[kind]
    assert found.estimate == pytest.approx(expected["ppi_estimate"], abs=2e-4)
    assert found.estimate == pytest.approx(expected["evalstats_mean"], abs=3e-3)
    for low, high in (("ppi_low", "ppi_high"), ("evalstats_low", "evalstats_high")):
        assert found.ci_low == pytest.approx(expected[low], abs=0.012)
        assert found.ci_high == pytest.approx(expected[high], abs=0.012)


@pytest.mark.parametrize("kind", MEANS.index)
def test_formula_without_limits(kind):
    own = RATINGS[RATINGS["kind"] == kind]
    found = ppi_mean(own["people"], own["judge"], limits=None)
    expected = MEANS.loc[kind]
    # The same, except for Student's t and n − 2.
    width = expected["ppi_high"] - expected["ppi_low"]
    assert 1 < (found.ci_high - found.ci_low) / width < 1.04


def alone(reported, n):
    found = wilson(reported, n)
    return float(found.ci_low), float(found.ci_high)


@pytest.mark.parametrize(
    ("people", "judge", "reported"),
    [
        ([0, 0, 0, 0, NAN, NAN], [0, 1, 0, 1, 1, 0], 0),  # people unanimous
        ([1, 0, 0, 1, NAN, NAN], [1, 1, 1, 1, 1, 1], 2),  # constant judge
        ([1, 0, 0, 1, NAN, NAN], [0, 1, 1, 0, 0, 1], 2),  # reversed judge
        ([1, 0, 0, 1], [1, 0, 0, 1], 2),  # nothing more to judge
        ([1, NAN], [1, 0], 1),  # one unit
    ],
)
def test_judge_that_cannot_help_is_not_used(people, judge, reported):
    found = ppi_mean(people, judge)
    assert found.weight == 0
    n = int(np.isfinite(people).sum())
    assert found.estimate == reported / n
    assert (found.ci_low, found.ci_high) == alone(reported, n)
    assert found.n_effective == n


@pytest.mark.parametrize("people", [[NAN, NAN], []])
def test_without_people_there_is_no_estimate(people):
    found = ppi_mean(people, [1] * len(people))
    assert np.isnan(found.estimate)
    assert (found.ci_low, found.ci_high) == (0, 1)


def test_agreement_on_a_few_units_is_not_taken_for_certain():
    people = np.array([1, 0, 0, 0, 1, 0, 0, 0, 0, 0] + [NAN] * 990)
    judge = np.array([1, 0, 0, 0, 1, 0, 0, 0, 0, 0] + [1, 0, 0, 0, 0] * 198)
    found = ppi_mean(people, judge)
    assert found.bias == 0
    # With 0 of 10 disagreements, a quarter of all may disagree.
    assert found.ci_high - found.ci_low > 0.2
    low, high = alone(2, 10)
    assert found.ci_high - found.ci_low < high - low


def test_units_of_the_scale_do_not_matter():
    own = RATINGS[RATINGS["kind"] == "grade"]
    one = ppi_mean(own["people"], own["judge"])
    other = ppi_mean(1 + 4 * own["people"], 1 + 4 * own["judge"], limits=(1, 5))
    for name in ("estimate", "ci_low", "ci_high", "judge", "people"):
        assert getattr(other, name) == pytest.approx(1 + 4 * getattr(one, name))
    assert other.bias == pytest.approx(4 * one.bias)
    assert other.weight == pytest.approx(one.weight)


def test_without_limits_exact_agreement_gives_no_interval():
    for judge in ([2.0, 3.0, 4.0, 9.0], [2.0, 4.0, 6.0, 9.0]):
        found = ppi_mean([1.0, 2.0, 3.0, NAN], judge, limits=None)
        assert np.isnan(found.ci_low)


@pytest.mark.parametrize(
    ("hit", "false"), [(0.9, 0.1), (0.99, 0.5), (0.3, 0.3), (1.0, 0.0)], ids=str
)
def test_coverage(hit, false):
    rng = np.random.default_rng(5)
    covered, runs = 0, 400
    for _ in range(runs):
        truth = rng.random(400) < 0.2
        judge = np.where(truth, rng.random(400) < hit, rng.random(400) < false)
        found = ppi_mean(np.where(np.arange(400) < 30, truth, NAN), judge)
        covered += found.ci_low <= 0.2 <= found.ci_high
    assert covered / runs > 0.93


@pytest.mark.parametrize(
    ("people", "judge", "given", "message"),
    [
        ([1, 0], [1], {}, "must have one shape"),
        ([1, 0], [1, NAN], {}, r"judge\[1\]=nan"),
        ([1, 2], [1, 0], {}, r"people\[1\]=2.0 must be a number from 0 to 1"),
        ([1, 2], [1, 7], {"limits": (1, 5)}, r"judge\[1\]=7"),
        ([1, 0], [1, 0], {"limits": (1, 0)}, "two increasing numbers"),
        ([1, 0], [1, 0], {"alpha": 2}, "alpha=2"),
    ],
)
def test_wrong_input_is_refused(people, judge, given, message):
    with pytest.raises(ValueError, match=message):
        ppi_mean(people, judge, **given)


def test_few_graded_ratings_by_people_alone_cover():
    """The bootstrap of two to eight ratings covered in 47 to 88%."""
    rng = np.random.default_rng(2)
    for n in (2, 5):
        covered = 0
        for _ in range(150):
            people = rng.beta(0.5, 2, n)
            found = ppi_mean(people, np.full(n, 0.5))
            covered += found.ci_low <= 0.2 <= found.ci_high
        assert covered >= 0.92 * 150
