"""Components of variance against R."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.variance_components import gap_components, variance_components

R = Path(__file__).parents[1] / "r"

DATA = pd.read_csv(R / "gap_components_data.csv")
EXPECTED = pd.read_csv(R / "gap_components.csv").set_index("case")


@pytest.mark.parametrize("kind", ["full", "part"])
def test_components_agree_with_r(kind):
    data = pd.read_csv(R / "variance_components_data.csv").query("kind == @kind")
    found = variance_components(data["y"], data["item"], data["rater"])
    expected = pd.read_csv(R / "variance_components.csv").query("kind == @kind")
    for row in expected.itertuples():
        assert getattr(found, row.component) == pytest.approx(row.value, abs=1e-12)


def test_labels_are_labels():
    data = pd.read_csv(R / "variance_components_data.csv").query("kind == 'part'")
    one = variance_components(data["y"], data["item"], data["rater"])
    named = variance_components(data["y"], "i" + data["item"].astype(str), -data["rater"])
    assert named.to_frame().to_numpy()[0] == pytest.approx(one.to_frame().to_numpy()[0])


def test_estimates_have_no_bias():
    rng = np.random.default_rng(1)
    design = [(i, j) for i in range(30) for j in rng.choice(8, rng.integers(1, 5), replace=False)]
    items, raters = np.array(design).T
    found = []
    for _ in range(400):
        values = rng.normal(0, 1, 30)[items] + rng.normal(0, 0.5, 8)[raters]
        values += rng.normal(0, 0.8, len(items))
        one = variance_components(values, items, raters)
        found.append((one.item, one.rater, one.residual))
    error = np.std(found, axis=0) / 20
    assert np.all(abs(np.mean(found, axis=0) - (1, 0.25, 0.64)) < 3 * error)


def test_one_rating_per_item_informs_only_on_raters():
    raters = np.repeat(np.arange(4), 25)
    values = np.random.default_rng(2).normal(0, 1, 4)[raters] + np.tile([-1.0, 0, 1, 2, -2], 20)
    found = variance_components(values, np.arange(100), raters)
    assert np.isnan(found.item)
    # One way: (mean square between − within) / 25.
    means = values.reshape(4, 25).mean(axis=1)
    within = ((values.reshape(4, 25) - means[:, None]) ** 2).sum() / 96
    assert found.residual == pytest.approx(within)
    assert found.rater == pytest.approx(means.var(ddof=1) - within / 25)
    turned = variance_components(values, raters, np.arange(100))
    assert turned.item == pytest.approx(found.rater)
    assert np.isnan(turned.rater_icc)


def test_items_and_raters_that_are_one():
    found = variance_components([1, 0, 1, 1], [1, 1, 2, 2], [7, 7, 8, 8])
    assert np.isnan([found.item, found.rater, found.residual]).all()
    assert np.isnan(found.item_icc)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_single_rating_is_not_informative(values):
    found = variance_components(values, values, values)
    assert np.isnan(found.to_frame()).all(axis=None)


def test_no_variance_has_no_shares():
    found = variance_components([1, 1, 1, 1], [1, 1, 2, 2], [1, 2, 1, 2])
    assert (found.item, found.rater) == (pytest.approx(0), pytest.approx(0))
    assert np.isnan(found.item_icc) or found.residual > 0


def test_negative_components_have_share_0():
    found = variance_components([1, 0, 0, 1], [1, 1, 2, 2], [1, 2, 1, 2])
    assert found.item < 0
    assert (found.item_icc, found.rater_icc) == (0, 0)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="one shape"):
        variance_components([1, 2], [1], [1, 2])
    with pytest.raises(ValueError, match="finite"):
        variance_components([1, np.nan], [1, 2], [1, 2])


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
    # Six equal models leave room for another one, but not for the effects of items.
    assert 0.01 < found.same_items_high - found.same_items_low < 0.05
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


def test_models_that_agree_on_every_item_do_not_prove_that_the_next_one_will():
    found = gap_components(np.vstack([np.ones((20, 3)), np.zeros((1, 3))]))
    assert found.model_sd == pytest.approx(0, abs=1e-6)
    assert found.same_items_high - found.same_items_low > 0.1
    assert found.new_items_low <= found.same_items_low


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
