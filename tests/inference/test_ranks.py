"""Confidence sets for ranks, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.inference.ranks import rank_sets


def test_without_differences_every_rank_is_possible():
    found = rank_sets([0.9, 0.8, 0.7], np.ones((3, 3)))
    assert found.rank.tolist() == [1, 2, 3]
    assert found.rank_low.tolist() == [1, 1, 1]
    assert found.rank_high.tolist() == [3, 3, 3]


def test_when_all_is_shown_a_rank_is_one_place():
    found = rank_sets([0.7, 0.9, 0.8], np.full((3, 3), 0.001))
    assert found.rank.tolist() == found.rank_low.tolist() == found.rank_high.tolist() == [3, 1, 2]


def test_equal_estimates_share_the_better_place():
    found = rank_sets([0.9, 0.9, 0.5], np.full((3, 3), 0.001))
    assert found.rank.tolist() == [1, 1, 3]
    assert found.rank_high.tolist() == [2, 2, 3]


def test_model_without_a_figure_can_have_any_rank():
    p = np.full((3, 3), 0.001)
    p[2], p[:, 2] = np.nan, np.nan
    found = rank_sets([0.9, 0.8, np.nan], p)
    assert found.rank.tolist() == [1, 2, 3]
    assert (found.rank_low[2], found.rank_high[2]) == (1, 3)
    assert found.rank_high.tolist() == [2, 3, 3]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.randoms())
def test_rank_is_in_its_set(values, random):
    k = len(values)
    p = np.ones((k, k))
    for i in range(k):
        for j in range(i):
            p[i, j] = p[j, i] = random.random() / 5
    found = rank_sets(values, p)
    assert (found.rank_low <= found.rank).all()
    assert (found.rank <= found.rank_high).all()


def test_invalid_comparison_matrix_is_refused():
    with pytest.raises(ValueError, match="shape"):
        rank_sets([1, 2], np.ones((3, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        rank_sets([1, 2], [[1, 0.1], [0.2, 1]])
