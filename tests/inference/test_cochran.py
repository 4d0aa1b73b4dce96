"""Cochran's Q against R and statsmodels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import cochrans_q

from fairstats.inference.cochran import cochran_q
from fairstats.inference.mcnemar import mcnemar

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "cochran.csv", dtype={"pattern": str})


@pytest.mark.parametrize("case", sorted(REFERENCE["case"].unique()))
def test_agrees_with_r(case):
    rows = REFERENCE[REFERENCE["case"] == case]
    patterns = [[int(sign) for sign in pattern] for pattern in rows["pattern"]]
    found = cochran_q(patterns, rows["count"])
    assert found.statistic == pytest.approx(rows["statistic"].iloc[0], abs=1e-10)
    assert found.p_value == pytest.approx(rows["p"].iloc[0], abs=1e-10)
    assert (found.df, found.n) == (len(patterns[0]) - 1, rows["count"].sum())


def test_agrees_with_statsmodels():
    patterns, counts = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]]), [7, 2, 4, 30]
    found, other = cochran_q(patterns, counts), cochrans_q(np.repeat(patterns, counts, axis=0))
    assert found.statistic == pytest.approx(other.statistic)
    assert found.p_value == pytest.approx(other.pvalue)


def test_two_groups_are_mcnemars_test():
    found, expected = (
        cochran_q([[1, 0], [0, 1]], [7, 2]),
        mcnemar(n10=7, n01=2, method="asymptotic"),
    )
    assert found.statistic == pytest.approx(float(expected.statistic))


def test_groups_that_agree_on_every_item_give_p_1():
    found = cochran_q([[1, 1, 1], [0, 0, 0]], [500, 301])
    assert (found.statistic, found.p_value) == (0, 1)
    assert cochran_q(np.zeros((0, 3)), []).p_value == 1


def test_invalid_pattern_is_refused():
    with pytest.raises(ValueError, match="k at least 2"):
        cochran_q([[1], [0]], [1, 1])
    with pytest.raises(ValueError, match="only 0 and 1"):
        cochran_q([[1, 2]], [1])


def test_billions_of_items_do_not_overflow():
    found = cochran_q([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [4 * 10**9, 4 * 10**9, 4 * 10**9 + 10**6])
    assert found.statistic == pytest.approx(2 * 10**12 / 3 / (4 * 10**9 + 10**6 / 3), rel=1e-6)
