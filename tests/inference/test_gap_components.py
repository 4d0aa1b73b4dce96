"""Components and limits of a gap compared with R, and with degenerate data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.gap_components import gap_components

R = Path(__file__).parents[1] / "r"
DATA = pd.read_csv(R / "gap_components_data.csv")
EXPECTED = pd.read_csv(R / "gap_components.csv").set_index("case")


def matrix(case):
    own = DATA[DATA["case"] == case]
    return own.pivot_table("d", "item", "model")


@pytest.mark.parametrize("case", EXPECTED.index)
def test_components_and_limits_agree_with_r(case):
    found = gap_components(matrix(case))
    for name, value in EXPECTED.loc[case].items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-10), name
    assert found.model_sd == pytest.approx(np.sqrt(EXPECTED.loc[case, "model_variance"]))


def test_order_of_items_and_models_does_not_matter():
    d = matrix(1).to_numpy()
    assert gap_components(d[::-1, ::-1]).ci_high == pytest.approx(gap_components(d).ci_high)


def test_shared_effects_of_items_do_not_count_as_variation_between_models():
    rng = np.random.default_rng(3)
    d = np.repeat(rng.choice([-1, 0, 1], (200, 1)), 6, axis=1)
    found = gap_components(d)
    assert found.model_variance == pytest.approx(0)
    assert found.item_variance == pytest.approx(d[:, 0].var(ddof=1))
    # A copy of the same answers has the same gap.
    assert found.same_items_high - found.same_items_low < 1e-6
    # New items give another one: twice the variance of a mean of 200 items.
    half = (found.new_items_high - found.new_items_low) / 2
    assert half == pytest.approx(1.972 * np.sqrt(2 * d[:, 0].var(ddof=1) / 200), rel=1e-3)


def test_models_that_only_differ_by_noise_have_low_reliability():
    d = np.random.default_rng(4).choice([-1, 0, 1], (400, 10), p=[0.1, 0.7, 0.2])
    found = gap_components(d)
    assert abs(found.model_variance) < 0.001
    assert found.reliability < 0.6
    # At least the sampling noise of one model remains.
    assert found.same_items_high - found.same_items_low > 3.5 * np.sqrt(found.rest_variance / 400)


def test_missing_differences_have_no_weight():
    d = matrix(3).to_numpy()
    whole = gap_components(d)
    padded = np.pad(d, ((0, 2), (0, 1)), constant_values=np.nan)
    assert gap_components(padded) == whole
    holes = np.where(np.random.default_rng(1).random(d.shape) < 0.05, np.nan, d)
    found = gap_components(holes)
    assert found.estimate == pytest.approx(np.nanmean(holes, axis=0).mean())
    assert found.ci_high - found.ci_low == pytest.approx(whole.ci_high - whole.ci_low, rel=0.1)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_one_item_or_model_has_no_limits(shape):
    found = gap_components(np.full(shape, 1))
    assert (found.ci_low, found.ci_high) == (-1, 1)
    assert (found.same_items_low, found.new_items_high) == (-1, 1)
    assert np.isnan([found.item_variance, found.model_variance, found.model_sd]).all()
    assert found.estimate == 1


def test_no_difference_at_all_has_an_unknown_mean():
    found = gap_components(np.full((3, 2), np.nan))
    assert np.isnan(found.estimate)
    assert (found.ci_low, found.ci_high, found.n_items, found.n_models) == (-1, 1, 0, 0)


@pytest.mark.parametrize("value", [-1, 0, 1])
def test_equal_differences_do_not_prove_equality(value):
    found = gap_components(np.full((50, 4), value))
    assert (found.model_sd, found.item_variance, found.reliability) == (0, 0, 0)
    assert found.ci_low <= value <= found.ci_high
    assert found.ci_high - found.ci_low > 0.02
    assert found.new_items_high - found.same_items_low > 0.02


def test_limits_stay_on_the_scale():
    d = np.array([[1, 1, -1], [1, -1, -1], [1, 1, 1]])
    found = gap_components(d)
    assert found.same_items_low >= -1
    assert found.new_items_high <= 1


@pytest.mark.parametrize(
    ("given", "message"),
    [([[2, 0], [0, 0]], "differences"), ([1, 0, 1], r"shape \(items, models\), got \(3,\)")],
)
def test_wrong_differences_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        gap_components(given)
