"""Variance components compared with R, without bias, and with uninformative data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.variance_components import variance_components

R = Path(__file__).parents[1] / "r"


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
