"""The logit model of choices: when it has a maximum, and that it is found."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from fairstats.inference.logistic import (
    diverging_direction,
    fit_choices,
    influence_on_params,
    rank_of_choices,
    separating_direction,
)


def binary(design):
    return np.stack([design, np.zeros_like(design)], axis=1)


@pytest.mark.parametrize("seed", range(40))
def test_maximum_is_found_for_any_data(seed):
    """Statsmodels finds the same one; near it, values differ only by rounding."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(30, 900)), int(rng.integers(1, 6))
    design = np.column_stack([np.ones(n), rng.normal(0, 1, (n, p)), rng.integers(0, 2, n)])
    theta = rng.normal(0, 0.7, design.shape[1])
    yes = rng.random(n) < 1 / (1 + np.exp(-design @ theta))
    features, chosen = binary(design), np.where(yes, 0, 1)
    if diverging_direction(features, chosen) is not None:
        # Then the likelihood's maximum is nowhere: each step that way raises it.
        direction = diverging_direction(features, chosen)
        assert (np.where(yes, 1, -1) * (design @ direction)).min() > -1e-7
        return
    fit = fit_choices(features, chosen)
    expected = sm.Logit(yes.astype(float), design).fit(disp=0, method="newton", tol=1e-12)
    np.testing.assert_allclose(fit.params, expected.params, atol=1e-7)
    np.testing.assert_allclose(fit.information, -expected.model.hessian(fit.params), rtol=1e-8)
    assert np.abs(fit.scores.sum(axis=0)).max() < 1e-6


def test_one_binary_covariate_in_many_sizes():
    # After the first two steps, the likelihood differs only by rounding.
    sizes = [(300, 48, 300, 73), (300, 79, 300, 51), (5, 1, 6, 2), (8000, 3, 7000, 6999)]
    for n, k, m, j in sizes:
        design = np.column_stack([np.ones(n + m), np.repeat([0.0, 1.0], [n, m])])
        yes = np.concatenate([np.arange(n) < k, np.arange(m) < j])
        found = fit_choices(binary(design), np.where(yes, 0, 1)).params
        assert found[0] == pytest.approx(np.log(k / (n - k)), abs=1e-8)
        assert found.sum() == pytest.approx(np.log(j / (m - j)), abs=1e-7)


def test_weights_are_repetitions():
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(12), rng.normal(size=12)])
    chosen, many = np.array([0, 1] * 6), rng.integers(1, 4, 12)
    once = fit_choices(binary(design), chosen, many.astype(float))
    each = fit_choices(binary(np.repeat(design, many, axis=0)), np.repeat(chosen, many))
    np.testing.assert_allclose(once.params, each.params, atol=1e-9)


@pytest.mark.parametrize(
    ("x", "yes", "separated"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], True),
        ([1, 2, 2, 3], [0, 0, 1, 1], True),  # only the value 2 has both: quasi-complete
        ([1, 2, 3, 4], [0, 1, 0, 1], False),
        ([1, 1, 1, 1], [0, 0, 0, 0], True),
    ],
)
def test_separation(x, yes, separated):
    design = np.column_stack([np.ones(4), np.array(x, dtype=float)])
    direction = separating_direction(design, np.array(yes) == 1)
    assert (direction is not None) == separated
    if direction is not None:
        sides = design @ direction * np.where(np.array(yes) == 1, 1, -1)
        assert sides.min() >= -1e-9
        assert sides.max() > 0.1


def test_ranks():
    design = np.column_stack([np.ones(4), [1.0, 2, 3, 4]])
    assert diverging_direction(binary(design), np.array([1, 1, 0, 0])) is not None
    assert rank_of_choices(binary(design), np.array([1, 1, 0, 0])) == 2
    assert rank_of_choices(binary(np.ones((4, 2))), np.array([1, 1, 0, 0])) == 1


def test_the_influence_of_choices_is_that_of_leaving_one_out():
    rng = np.random.default_rng(6)
    design = np.column_stack([np.ones(400), rng.normal(size=400)])
    chosen = np.where(rng.random(400) < 0.4, 0, 1)
    fit = fit_choices(binary(design), chosen)
    influence = influence_on_params(fit, fit.scores)
    assert np.abs(influence.sum(axis=0)).max() < 1e-8
    for left in (0, 17, 200):
        keep = np.arange(400) != left
        without = fit_choices(binary(design[keep]), chosen[keep]).params
        np.testing.assert_allclose(fit.params - without, influence[left], rtol=0.05)
