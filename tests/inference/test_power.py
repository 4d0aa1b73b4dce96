"""Power and sample size against enumeration in R."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairstats.inference.power import (
    minimum_detectable_difference,
    power_mcnemar,
    samplesize_mcnemar,
)

R = Path(__file__).parents[1] / "r"
POWER = pd.read_csv(R / "power.csv")
SIZES = pd.read_csv(R / "samplesize.csv")


def test_power_agrees_with_enumeration():
    for (alpha, method), rows in POWER.groupby(["alpha", "method"]):
        found = power_mcnemar(rows["n"], rows["p10"], rows["p01"], alpha=alpha, method=method)
        np.testing.assert_allclose(found, rows["power"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("row", list(SIZES.itertuples()), ids=lambda row: f"{row.method}-{row.n}")
def test_sample_size_agrees_with_enumeration(row):
    found = samplesize_mcnemar(
        row.p10, row.p01, power=row.power, alpha=row.alpha, method=row.method
    )
    assert found == row.n


def test_power_is_0_without_discordance():
    assert power_mcnemar([0, 801], 0, 0).tolist() == [0, 0]


def test_many_pairs_meet_the_normal_law():
    # 20,000 discordant pairs on either side of the change to the approximation.
    exact, normal = power_mcnemar([199_900, 200_100], 0.0508, 0.0492)
    assert exact == pytest.approx(normal, abs=2e-3)
    assert 0.5 < normal < 0.8


@settings(deadline=None, max_examples=40)
@given(n=st.integers(10, 3000), share=st.floats(0, 1))
def test_detectable_difference_has_the_stated_power(n, share):
    found = float(minimum_detectable_difference(n, share))
    assert 0 < found <= 1
    both = max(share, found)
    assert power_mcnemar(n, (both + found) / 2, (both - found) / 2) >= 0.8 - 1e-9
    less = found - 1e-3
    if less > 0:
        both = max(share, less)
        assert power_mcnemar(n, (both + less) / 2, (both - less) / 2) < 0.8


def test_too_few_items_detect_no_difference():
    assert np.isnan(minimum_detectable_difference([0, 4], 0.5)).all()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: samplesize_mcnemar(0.1, 0.1), "must differ"),
        (lambda: samplesize_mcnemar(0.1, 0.2, power=1), "power=1 must be between"),
        (lambda: power_mcnemar(9, 0.7, 0.6), "p10=0.7 and p01=0.6 must sum to at most 1"),
        (lambda: power_mcnemar(9, -0.1, 0.6), "p10=-0.1 must be a share"),
        (lambda: minimum_detectable_difference(9, 1.5), "must be a share"),
    ],
)
def test_invalid_values_are_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()
