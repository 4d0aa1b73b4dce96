"""Logistic regression: when the likelihood has a maximum."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from fairstats.inference.logistic import separating_direction


@pytest.mark.parametrize("seed", range(40))
def test_without_a_separating_direction_there_is_a_maximum(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(30, 900)), int(rng.integers(1, 6))
    design = np.column_stack([np.ones(n), rng.normal(0, 1, (n, p)), rng.integers(0, 2, n)])
    theta = rng.normal(0, 0.7, design.shape[1])
    yes = rng.random(n) < 1 / (1 + np.exp(-design @ theta))
    direction = separating_direction(design, yes)
    if direction is not None:
        # Then the likelihood's maximum is nowhere: each step that way raises it.
        assert (np.where(yes, 1, -1) * (design @ direction)).min() > -1e-7
        return
    model = sm.Logit(yes.astype(float), design)
    assert np.abs(model.score(model.fit(disp=0).params)).max() < 1e-6


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
