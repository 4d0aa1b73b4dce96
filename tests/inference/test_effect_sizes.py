"""The odds ratio and Cohen's h compared with R, and cases without an estimate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from fairstats.inference.effect_sizes import cohens_h_interval, odds_ratio

R = Path(__file__).parents[1] / "r"
ODDS = pd.read_csv(R / "odds_ratio.csv")
PAIRED = pd.read_csv(R / "paired.csv")
COUNT = st.integers(0, 300)


def test_the_odds_ratio_agrees_with_r():
    known = ODDS[(ODDS["n10"] + ODDS["n01"]) > 0]
    assert len(known) > 30
    for alpha, rows in known.groupby("alpha"):
        found = odds_ratio(n10=rows["n10"], n01=rows["n01"], alpha=alpha)
        np.testing.assert_allclose(found.ci_low, rows["low"], rtol=1e-10)
        np.testing.assert_allclose(found.ci_high, rows["high"], rtol=1e-10)


def test_one_sided_discordance_is_infinite():
    found = odds_ratio(n10=[9, 0, 0], n01=[0, 9, 0])
    assert found.estimate[:2].tolist() == [np.inf, 0]
    assert np.isnan(found.estimate[2])
    assert found.ci_high[0] == np.inf
    assert found.ci_low[0] > 1
    assert (found.ci_low[2], found.ci_high[2]) == (0, np.inf)


@given(n10=COUNT, n01=COUNT)
def test_swapping_the_groups_turns_the_odds_over(n10, n01):
    one, other = odds_ratio(n10=n10, n01=n01), odds_ratio(n10=n01, n01=n10)
    for low, high in ((one.ci_low, other.ci_high), (other.ci_low, one.ci_high)):
        if low > 0:
            np.testing.assert_allclose(low * high, 1, rtol=1e-9)
        else:
            assert high == np.inf


def test_cohens_h_agrees_with_r():
    found = cohens_h_interval(*(PAIRED[cell] for cell in ("n11", "n10", "n01", "n00")))
    np.testing.assert_allclose(found.ci_low, PAIRED["h_low"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.ci_high, PAIRED["h_high"], rtol=0, atol=1e-10)


def test_a_group_without_an_answer_leaves_h_open():
    found = cohens_h_interval(0, 0, 0, 0, correct_a=3, n_a=4, correct_b=0, n_b=0)
    assert (float(found.ci_low), float(found.ci_high)) == (-np.pi, np.pi)
