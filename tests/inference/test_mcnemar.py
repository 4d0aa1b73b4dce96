"""McNemar's test and Cochran's Q, against R, statsmodels and enumeration."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial
from statsmodels.stats.contingency_tables import cochrans_q

from fairstats.inference.mcnemar import cochran_q, mcnemar

METHODS = ("midp", "exact", "asymptotic", "asymptotic_cc")
REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "paired.csv")
COUNTS = st.integers(0, 2000)

COCHRAN = pd.read_csv(Path(__file__).parents[1] / "r" / "cochran.csv", dtype={"pattern": str})


@pytest.mark.parametrize("method", METHODS)
def test_p_agrees_with_r(method):
    # At n10 = n01 mid-p is 1 here, see the next test.
    balanced = (REFERENCE["n10"] == REFERENCE["n01"]) & (method == "midp")
    rows = REFERENCE[REFERENCE[method].notna() & ~balanced]
    p = mcnemar(n10=rows["n10"], n01=rows["n01"], method=method).p_value
    assert len(rows) > 190
    np.testing.assert_allclose(p, rows[method], rtol=1e-10, atol=0)


def test_p_is_1_for_balanced_pairs_unlike_fagerlands_mid_p():
    """Fagerland's mid-p at n10 = n01 is 1 − f/2, and 0.5 without discordant pairs. This package
    uses twice the one-sided mid-p, which is 1."""
    rows = REFERENCE[(REFERENCE["n10"] == REFERENCE["n01"]) & (REFERENCE["n10"] > 0)]
    assert (rows["midp"] < 1).all()
    assert (mcnemar(n10=rows["n10"], n01=rows["n01"]).p_value == 1).all()


# After Fagerland, Lydersen & Laake (2014), Statistics in Medicine 33:2850-2875; as printed.
@pytest.mark.parametrize(
    ("n10", "n01", "exact", "midp", "asymptotic"),
    [
        (1, 7, ".070313", ".039063", ".033895"),
        (150, 86, "3.716e-5", "2.89e-5", "3.10e-5"),
        (5, 0, ".0625", ".03125", ".02535"),
        (40, 20, ".013489", ".009853", ".009823"),
    ],
)
def test_p_agrees_with_the_literature(n10, n01, exact, midp, asymptotic):
    for method, printed in {"exact": exact, "midp": midp, "asymptotic": asymptotic}.items():
        half_a_digit = 0.5 * 10.0 ** Decimal(printed).as_tuple().exponent
        found = float(mcnemar(n10=n10, n01=n01, method=method).p_value)
        assert found == pytest.approx(float(printed), rel=0, abs=1.001 * half_a_digit), method


@pytest.mark.parametrize(
    ("n10", "n01", "printed"),
    [(83, 10, 1.8485e-15), (106, 24, 1.7154e-13), (106, 16, 1.8173e-17), (138, 37, 6.6921e-15)],
)
def test_exact_p_of_published_counts(n10, n01, printed):
    assert float(mcnemar(n10=n10, n01=n01, method="exact").p_value) == pytest.approx(
        printed, rel=3e-5
    )


@pytest.mark.parametrize("method", METHODS)
def test_the_fair_model_gets_p_one_and_a_statistic_of_zero(method):
    result = mcnemar(n10=[0, 3, 400], n01=[0, 3, 400], method=method)
    assert result.p_value.tolist() == [1, 1, 1]
    if method.startswith("asymptotic"):
        assert result.statistic.tolist() == [0, 0, 0]


@pytest.mark.parametrize("method", METHODS)
@given(n10=COUNTS, n01=COUNTS)
def test_p_is_a_probability_and_does_not_know_the_groups_names(method, n10, n01):
    one, other = (mcnemar(n10=a, n01=b, method=method) for a, b in ((n10, n01), (n01, n10)))
    assert 0 <= one.p_value <= 1
    assert one.p_value == other.p_value
    assert one.statistic == other.statistic
    assert np.isfinite(one.statistic)


@given(n10=COUNTS, n01=COUNTS)
def test_mid_p_is_at_most_the_exact_p(n10, n01):
    assert mcnemar(n10=n10, n01=n01).p_value <= mcnemar(n10=n10, n01=n01, method="exact").p_value


@pytest.mark.parametrize("method", METHODS)
def test_p_falls_as_discordant_counts_diverge(method):
    p = mcnemar(n10=np.arange(30, 200), n01=30, method=method).p_value
    assert (np.diff(p) <= 0).all()
    assert p[0] == 1
    assert p[-1] < 1e-20


def test_tiny_p_is_still_a_probability():
    """Around 2^-1074 the tails are no longer exact numbers."""
    n10, n01 = np.meshgrid(np.arange(4), np.arange(1000, 1150))
    midp, exact = (mcnemar(n10=n10, n01=n01, method=method).p_value for method in ("midp", "exact"))
    assert (midp >= 0).all()
    assert (midp <= exact).all()


def test_counts_broadcast_to_a_frame():
    frame = mcnemar(n10=[1, 2, 3], n01=7).to_frame()
    assert list(frame.columns) == ["statistic", "p_value", "method"]
    assert frame["statistic"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("n10", "n01", "named"),
    [(-1, 0, "n10"), (0, 1.5, "n01"), (np.nan, 1, "n10"), (1, [np.inf, 2], "n01")],
)
def test_invalid_count_is_refused_by_name(n10, n01, named):
    with pytest.raises(ValueError, match=named):
        mcnemar(n10=n10, n01=n01)


def test_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'chi2'.*midp, exact"):
        mcnemar(n10=1, n01=2, method="chi2")


@pytest.mark.parametrize("case", sorted(COCHRAN["case"].unique()))
def test_agrees_with_r(case):
    rows = COCHRAN[COCHRAN["case"] == case]
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


@pytest.mark.parametrize(("items", "stated"), [(3, 0.11), (8, 0.06), (12, 0.07)])
def test_level_of_cochrans_q_with_few_items_is_as_stated(items, stated):
    """Exact: each item is right for one of three groups, all equally likely."""
    level = 0.0
    for a, b in product(range(items + 1), repeat=2):
        counts = [a, b, items - a - b]
        if min(counts) >= 0 and cochran_q(np.eye(3, dtype=int), counts).p_value <= 0.05:
            level += multinomial.pmf(counts, items, [1 / 3] * 3)
    assert level == pytest.approx(stated, abs=0.005)


def test_invalid_pattern_is_refused():
    with pytest.raises(ValueError, match="k at least 2"):
        cochran_q([[1], [0]], [1, 1])
    with pytest.raises(ValueError, match="only 0 and 1"):
        cochran_q([[1, 2]], [1])


def test_billions_of_items_do_not_overflow():
    found = cochran_q([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [4 * 10**9, 4 * 10**9, 4 * 10**9 + 10**6])
    assert found.statistic == pytest.approx(2 * 10**12 / 3 / (4 * 10**9 + 10**6 / 3), rel=1e-6)
