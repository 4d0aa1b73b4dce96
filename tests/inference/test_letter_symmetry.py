"""Bowker's and Stuart and Maxwell's tests against R and statsmodels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import SquareTable

from fairstats.inference.letter_symmetry import bowker, stuart_maxwell
from fairstats.inference.mcnemar import mcnemar

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "letters.csv")
TABLES = REFERENCE.iloc[:, :16].to_numpy().reshape(-1, 4, 4)


@pytest.mark.parametrize(
    ("test", "column"), [(bowker, "bowker"), (stuart_maxwell, "stuart_maxwell_rank")]
)
def test_agrees_with_r(test, column):
    found = test(TABLES)
    # If no answer changes, R has no p-value.
    changes = REFERENCE[f"{column}_p"].notna().to_numpy()
    assert changes.sum() >= 12
    assert found.df[changes].tolist() == REFERENCE.loc[changes, f"{column}_df"].tolist()
    for values, name in ((found.statistic, column), (found.p_value, f"{column}_p")):
        np.testing.assert_allclose(values[changes], REFERENCE.loc[changes, name], atol=1e-10)


def test_agrees_with_statsmodels_if_every_letter_changes():
    table = SquareTable(TABLES[0], shift_zeros=False)
    for test, other in ((bowker, table.symmetry()), (stuart_maxwell, table.homogeneity())):
        found = test(TABLES[0])
        assert float(found.statistic) == pytest.approx(other.statistic, abs=1e-10)
        assert float(found.p_value) == pytest.approx(other.pvalue, abs=1e-10)


@pytest.mark.parametrize("test", [bowker, stuart_maxwell])
def test_p_is_1_without_changed_letters(test):
    found = test([np.diag([5, 0, 9, 1]), np.zeros((4, 4), dtype=int)])
    assert found.statistic.tolist() == [0, 0]
    assert found.p_value.tolist() == [1, 1]


@pytest.mark.parametrize("test", [bowker, stuart_maxwell])
def test_two_letters_are_mcnemars_test(test):
    found, expected = test([[10, 7], [2, 5]]), mcnemar(n10=7, n01=2, method="asymptotic")
    assert float(found.statistic) == pytest.approx(float(expected.statistic))
    assert float(found.p_value) == pytest.approx(float(expected.p_value))


@pytest.mark.parametrize("test", [bowker, stuart_maxwell])
def test_swapping_the_groups_does_not_matter(test):
    one, other = test(TABLES), test(np.swapaxes(TABLES, -1, -2))
    np.testing.assert_allclose(one.p_value, other.p_value, atol=1e-12)


def test_a_table_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match=r"shape \(..., k, k\)"):
        bowker([[1, 2, 3], [4, 5, 6]])
