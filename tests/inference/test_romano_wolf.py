from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.multiplicity import max_t
from fairstats.inference.romano_wolf import romano_wolf
from fairstats.inference.sign_flip import sign_flip_test

FOLDER = Path(__file__).parents[1] / "evalstats"
BOTH = pytest.mark.parametrize("resampling", ["flip", "bootstrap"])


def matrix(score):
    table = pd.read_csv(FOLDER / "scores.csv")
    wide = table.pivot(index="item", columns="prompt", values=score)
    pairs = pd.read_csv(FOLDER / "pairs.csv").query("score == @score")
    names = list(zip(pairs["level_a"], pairs["level_b"], strict=True))
    return np.column_stack([wide[a] - wide[b] for a, b in names]), pairs


@BOTH
def test_no_difference_gives_p_of_one(resampling):
    found = romano_wolf(np.zeros((5, 2)), resampling=resampling, rng=1, n_resamples=99)
    assert found.statistic.tolist() == [0, 0]
    assert found.p_value.tolist() == found.p_adjusted.tolist() == [1, 1]


@BOTH
def test_no_items_or_one_item_show_nothing(resampling):
    for d in (np.zeros((0, 2)), [[3.0, -2.0]], [[np.nan, np.nan]]):
        found = romano_wolf(d, resampling=resampling, rng=1, n_resamples=99)
        assert found.p_adjusted.tolist() == [1, 1]


def test_one_difference_for_all_items_is_no_surer_than_all_signs():
    d = np.full((4, 2), 0.1)
    flips = romano_wolf(d, rng=1)
    assert np.allclose(flips.p_value, 2 / 2**4, atol=0.01)
    redrawn = romano_wolf(d, resampling="bootstrap", rng=1)
    assert redrawn.p_value.tolist() == [0.125, 0.125]
    assert redrawn.p_adjusted.tolist() == [0.25, 0.25]
    assert np.isinf(redrawn.statistic).all()


def test_flips_of_whole_numbers_are_those_of_max_t():
    d = np.repeat([[1, 1], [-1, 0], [0, -1], [0, 0]], [12, 8, 4, 60], axis=0)
    ours, theirs = romano_wolf(d, rng=7), max_t(d, rng=7)
    assert ours.p_value.tolist() == theirs.p_value.tolist()
    assert ours.p_adjusted.tolist() == theirs.p_adjusted.tolist()


def test_flips_agree_with_the_enumeration_of_all_signs():
    d = np.array([[0.3, 1.2], [0.1, -0.4], [0.9, 0.8], [-0.2, 0.7], [0.5, np.nan], [0.4, 0.1]])
    signs = np.array(list(itertools.product((1, -1), repeat=6)))
    flipped = signs[:, :, None] * d
    mean, sd = np.nanmean(flipped, axis=1), np.nanstd(flipped, axis=1, ddof=1)
    t = np.abs(mean / sd) * np.sqrt([6, 5])
    first, second = np.argsort(-t[0])
    expected = np.empty(2)
    expected[first] = np.mean(t.max(axis=1) >= t[0, first] - 1e-9)
    expected[second] = max(expected[first], np.mean(t[:, second] >= t[0, second] - 1e-9))
    found = romano_wolf(d, rng=1, n_resamples=40_000)
    assert np.allclose(np.abs(found.statistic), t[0])
    assert np.allclose(found.p_adjusted, expected, atol=0.01)


@pytest.mark.parametrize("score", ["correct", "grade", "similarity"])
def test_bootstrap_agrees_with_evalstats(score):
    d, pairs = matrix(score)
    found = romano_wolf(d, resampling="bootstrap", rng=1, n_resamples=20_000)
    expected = pairs["romano_wolf"].to_numpy()
    assert np.allclose(found.p_adjusted, expected, atol=0.012, rtol=0.1)


def test_unadjusted_flips_agree_with_the_exact_test():
    d, _ = matrix("grade")
    found = romano_wolf(d, rng=1, n_resamples=20_000)
    exact = [sign_flip_test(column.astype(int), method="exact").p_value for column in d.T]
    assert np.allclose(found.p_value, exact, atol=0.01)


def test_unit_of_the_scores_does_not_matter():
    d, _ = matrix("similarity")
    for resampling in ("flip", "bootstrap"):
        one = romano_wolf(d, resampling=resampling, rng=3, n_resamples=500)
        other = romano_wolf(d * 1e-9, resampling=resampling, rng=3, n_resamples=500)
        assert one.p_adjusted.tolist() == other.p_adjusted.tolist()


def test_adjusted_are_not_below_unadjusted():
    d = np.random.default_rng(2).normal(0.2, 1, size=(30, 5))
    found = romano_wolf(d, rng=1, n_resamples=999)
    assert (found.p_adjusted >= found.p_value).all()


@pytest.mark.parametrize(
    ("d", "given", "message"),
    [
        ([1.0, 2.0], {}, r"shape \(items, tests\)"),
        ([[1.0, np.inf]], {}, r"differences\[0, 1\]=inf"),
        ([[1.0]], {"resampling": "jackknife"}, "flip or bootstrap"),
        ([[1.0]], {"n_resamples": 0}, "n_resamples=0"),
        ([[1.0]], {"rng": "x"}, "must be a seed"),
    ],
)
def test_wrong_input_is_refused(d, given, message):
    with pytest.raises(ValueError, match=message):
        romano_wolf(d, **({"rng": 1} | given))
