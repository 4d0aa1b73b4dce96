"""Cohen's h and its interval compared with R, and cases without an estimate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.counts.patterns import apply_policy, complete_counts
from fairstats.metrics.cohens_h import cohens_h

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "paired.csv")
CELLS = st.tuples(*[st.integers(0, 50)] * 4)


def test_h_and_its_interval_agree_with_r():
    result = cohens_h(complete_counts(*(REFERENCE[cell] for cell in ("n11", "n10", "n01", "n00"))))
    for column, found in zip(
        ("h", "h_low", "h_high"), (result.estimate, result.ci_low, result.ci_high), strict=True
    ):
        np.testing.assert_allclose(found, REFERENCE[column], rtol=0, atol=1e-10)


@given(cells=CELLS)
def test_the_interval_is_finite_on_the_scale_and_contains_h(cells):
    result = cohens_h(complete_counts(*cells))
    assert -np.pi <= result.ci_low <= result.ci_high <= np.pi
    if sum(cells):
        assert result.ci_low <= result.estimate <= result.ci_high
    else:
        assert np.isnan(result.estimate)


@given(cells=CELLS)
def test_swapping_the_groups_changes_the_sign_only(cells):
    n11, n10, n01, n00 = cells
    one, other = (
        cohens_h(complete_counts(n11, n10, n01, n00)),
        cohens_h(complete_counts(n11, n01, n10, n00)),
    )
    np.testing.assert_allclose(one.estimate, -other.estimate, atol=1e-14)
    np.testing.assert_allclose([one.ci_low, one.ci_high], [-other.ci_high, -other.ci_low])


def test_a_group_without_an_answer_leaves_h_open(counts_of):
    result = cohens_h(apply_policy(counts_of(n1x=4, n0x=1), "available"))
    assert np.isnan(result.estimate[0])
    assert (result.ci_low[0], result.ci_high[0]) == (-np.pi, np.pi)


def test_groups_without_a_common_item_are_treated_as_uncomplete_counts(counts_of):
    result = cohens_h(apply_policy(counts_of(n1x=400, n0x=100, nx1=250, nx0=250), "available"))
    h = 2 * np.arcsin(np.sqrt(0.8)) - 2 * np.arcsin(np.sqrt(0.5))
    assert result.estimate[0] == pytest.approx(h)
    # On the arcsine scale the variance of an independent group is 1 / n.
    assert result.ci_high[0] - result.ci_low[0] == pytest.approx(
        2 * 1.959964 * np.sqrt(2 / 500), rel=0.01
    )


def test_h_of_all_right_against_all_wrong_is_pi():
    assert cohens_h(complete_counts(0, 9, 0, 0)).estimate == pytest.approx(np.pi)
