"""The input checks that the statistics share."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.inference._checks import check_alpha, check_counts


def test_counts_are_returned_as_integers_of_one_shape():
    a, b = check_counts(a=[1.0, 2.0], b=3)
    assert a.dtype == b.dtype == np.int64
    assert b.tolist() == [3, 3]


def test_no_unit_at_all_is_fine():
    (empty,) = check_counts(a=[])
    assert empty.shape == (0,)


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, [1, 2.5], -1])
def test_invalid_count_is_named(value):
    with pytest.raises(ValueError, match=r"^a(\[1\])?=\S+ must be a whole number from 0 to"):
        check_counts(a=value)


@pytest.mark.parametrize("alpha", [0, 1, float("nan")])
def test_alpha_has_to_lie_inside(alpha):
    with pytest.raises(ValueError, match="alpha"):
        check_alpha(alpha)
