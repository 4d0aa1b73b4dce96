"""Shrunken estimates compared with metafor, and with no noise or no deviations."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.intersections import shrink_intersections

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "intersections.csv")
CELLS = pd.DataFrame(product(["white", "black", "asian"], ["m", "f"]), columns=["race", "sex"])
ADDITIVE = np.array([0.8, 0.75, 0.7, 0.65, 0.72, 0.67])


@pytest.mark.parametrize("case", [1, 2, 3, 4])
def test_estimates_and_limits_agree_with_r(case):
    own = REFERENCE[REFERENCE["case"] == case]
    covariance = own["v"].to_numpy()
    if case == 4:
        root = np.sqrt(covariance)
        covariance = np.outer(root, root) * (0.6 + 0.4 * np.eye(len(own)))
    groups = own[["race", "sex", "income"]].dropna(axis=1, how="all")
    found = shrink_intersections(own["y"], groups, covariance=covariance)
    for name, column in (
        ("estimate", "estimate"),
        ("ci_low", "low"),
        ("ci_high", "high"),
        ("additive", "additive"),
        ("between_sd", "sd"),
        ("between_sd_low", "sd_low"),
        ("between_sd_high", "sd_high"),
    ):
        assert getattr(found, name) == pytest.approx(own[column].to_numpy(), abs=1e-8), name
    if case != 4:
        expected = own["share"].iloc[0]
        assert found.additive_share == pytest.approx(expected, nan_ok=True)


def test_additive_estimates_stay_and_have_no_deviation():
    found = shrink_intersections(ADDITIVE, CELLS, covariance=np.full(6, 0.001))
    assert found.estimate == pytest.approx(ADDITIVE)
    assert found.additive == pytest.approx(ADDITIVE)
    assert found.between_sd == 0
    assert (found.ci_low < found.estimate).all()


def test_no_noise_means_no_shrinkage():
    observed = ADDITIVE + np.array([0.1, -0.05, 0, 0.02, 0, 0])
    found = shrink_intersections(observed, CELLS, covariance=np.zeros(6))
    assert found.estimate == pytest.approx(observed)
    assert found.ci_high - found.ci_low == pytest.approx(np.zeros(6), abs=1e-4)
    assert found.between_sd > 0.03


def test_noisier_intersections_move_further():
    observed = ADDITIVE + np.array([0.1, -0.1, -0.1, 0.1, 0, 0])
    variances = [0.0001, 0.01, 0.0001, 0.0001, 0.0001, 0.0001]
    found = shrink_intersections(observed, CELLS, covariance=variances)
    moved = np.abs(found.estimate - found.observed) / np.abs(found.additive - found.observed)
    assert moved.argmax() == 1
    assert (found.estimate - found.observed) @ (found.additive - found.observed) > 0


def test_noise_that_all_intersections_share_does_not_shrink():
    # All intersections of the same items: harder items lower all estimates alike.
    observed = ADDITIVE + np.array([0.05, -0.05, 0.02, 0, 0, 0])
    alone = shrink_intersections(observed, CELLS, covariance=np.full(6, 1e-4))
    shared = shrink_intersections(observed, CELLS, covariance=1e-4 * np.eye(6) + 0.01)
    assert shared.between_sd == pytest.approx(alone.between_sd, rel=1e-4)
    assert shared.estimate == pytest.approx(alone.estimate, abs=1e-5)
    assert (shared.ci_high - shared.ci_low > alone.ci_high - alone.ci_low).all()


def test_equal_estimates_have_no_variance_to_explain():
    found = shrink_intersections(np.full(6, 0.7), CELLS, covariance=np.full(6, 0.001))
    assert np.isnan(found.additive_share)
    assert found.estimate == pytest.approx(np.full(6, 0.7))


def test_rows_per_item_give_one_variance_and_one_covariance():
    rng = np.random.default_rng(2)
    figures = pd.DataFrame((rng.random((50, 1)) + rng.random((50, 6)) < 2 * ADDITIVE).astype(int))
    covariance = figures.cov().to_numpy() / 50
    apart = ~np.eye(6, dtype=bool)
    covariance = np.where(apart, covariance[apart].mean(), np.diag(covariance).mean())
    found = shrink_intersections(figures, CELLS)
    expected = shrink_intersections(figures.mean(), CELLS, covariance=covariance)
    assert found.estimate == pytest.approx(expected.estimate, abs=1e-8)
    assert found.ci_low == pytest.approx(expected.ci_low, abs=1e-8)
    assert found.observed == pytest.approx(figures.mean().to_numpy())


@pytest.mark.parametrize(
    ("estimates", "covariance", "groups", "message"),
    [
        ([0.1, 0.2], [1e-4] * 2, {"race": ["a", "b"]}, "do not exceed the number of main effects"),
        (ADDITIVE, [1e-4] * 5, CELLS, r"shape \(6, 6\) or \(6,\), got \(5,\)"),
        (ADDITIVE, -np.eye(6), CELLS, "must not be negative"),
        (ADDITIVE, np.triu(np.ones((6, 6))), CELLS, "must be symmetric"),
        (ADDITIVE, np.eye(6), CELLS[:5], r"one row per estimate \(6\)"),
        (ADDITIVE, np.eye(6), CELLS.assign(sex=None), "must not be null"),
        ([*ADDITIVE[:5], np.nan], np.eye(6), CELLS, "estimates"),
        (np.ones((2, 3)), np.eye(6), CELLS, r"shape \(k,\), got \(2, 3\)"),
        (ADDITIVE, None, CELLS, r"without a covariance, estimates must have shape \(items, k\)"),
        (ADDITIVE[None], None, CELLS, r"at least 2 of both; got \(1, 6\)"),
    ],
)
def test_wrong_input_is_refused(estimates, covariance, groups, message):
    with pytest.raises(ValueError, match=message):
        shrink_intersections(estimates, groups, covariance=covariance)


@pytest.mark.parametrize("row", [[1.0] * 6, [0.5] * 6, [1, 0, 1, 0, 1, 1]])
def test_equal_items_have_no_limits(row):
    found = shrink_intersections([row] * 5, CELLS)
    assert found.estimate.tolist() == found.observed.tolist() == row
    unknown = [found.ci_low, found.ci_high, found.additive]
    assert np.isnan([*np.concatenate(unknown), found.between_sd, found.between_sd_high]).all()
    assert found.method.startswith("none (")
