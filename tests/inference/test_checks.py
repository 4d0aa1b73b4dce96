"""The input checks that the statistics share."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.inference._checks import LEAST_P, check_alpha, check_counts
from fairstats.inference.differences import mean_difference
from fairstats.inference.letters import bowker, stuart_maxwell
from fairstats.inference.mcnemar import cochran_q, mcnemar


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


def test_p_values_that_underflow_are_not_0():
    sway = np.zeros((3, 3), dtype=int)
    sway[0, 1] = 3000
    for found in (
        cochran_q([[1, 0]], [3000]),
        mcnemar(0, 3000, 0, 0),
        bowker(sway),
        stuart_maxwell(sway),
        mean_difference(np.ones(3000), largest=1),
        mean_difference(np.ones(3000)),
        mean_difference(np.linspace(0.99, 1, 3000), largest=1),
    ):
        assert float(found.p_value) == LEAST_P
