"""Cronbach's alpha by hand and against its definition by covariances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairstats.inference.agreement.cronbach_alpha import cronbach_alpha


@pytest.mark.parametrize(
    "scores", [np.empty((0, 3)), [[1, 0, 1]], [[1], [0]], [[1, 0], [1, 0]], [[1, 0], [0, 1]]]
)
def test_alpha_is_missing_if_takers_do_not_differ(scores):
    found = cronbach_alpha(scores)
    assert np.isnan(found.estimate)
    assert (found.ci_low, found.ci_high) == (-np.inf, 1)


def test_items_that_agree_wholly_have_one():
    found = cronbach_alpha([[1, 1, 1], [0, 0, 0], [1, 1, 1]])
    assert found.estimate == pytest.approx(1)


def test_is_that_of_the_covariances():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(9, 1)) + rng.normal(size=(9, 5))
    covariance = np.cov(scores.T)
    expected = 5 / 4 * (1 - np.trace(covariance) / covariance.sum())
    found = cronbach_alpha(scores, alpha=0.1)
    assert found.estimate == pytest.approx(expected)
    # Feldt: (1 − α) / (1 − a) follows F with (n − 1)(k − 1) and n − 1 degrees of freedom.
    ratio = (1 - found.ci_low) / (1 - expected)
    assert stats.f.cdf(ratio, 8, 32) == pytest.approx(0.95)


def test_scores_are_checked():
    with pytest.raises(ValueError, match="finite"):
        cronbach_alpha([[np.nan, 1], [0, 1]])
