"""Holm's adjustment against R's p.adjust, and what it does with a test that was not possible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairstats.inference.multiplicity import adjust_pvalues

HOLM = pd.read_csv(Path(__file__).parents[1] / "r" / "holm.csv")


@pytest.mark.parametrize("family", sorted(HOLM["family"].unique()))
def test_holm_agrees_with_r(family):
    rows = HOLM[HOLM["family"] == family]
    np.testing.assert_allclose(adjust_pvalues(rows["p"]), rows["adjusted"], rtol=1e-10, atol=0)


def test_a_test_that_was_not_possible_does_not_count():
    adjusted = adjust_pvalues([0.01, np.nan, 0.04])
    np.testing.assert_allclose(adjusted, [0.02, np.nan, 0.04])


def test_a_family_without_tests_stays_empty():
    assert adjust_pvalues([]).shape == (0,)
    assert np.isnan(adjust_pvalues([np.nan, np.nan])).all()


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusting_only_raises_p_and_keeps_the_order(p):
    adjusted = adjust_pvalues(p)
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("p", [[-0.01], [0.5, 1.01], [np.inf]])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(ValueError, match="p_values"):
        adjust_pvalues(p)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match=r"'bonferroni'.*holm"):
        adjust_pvalues([0.5], method="bonferroni")
