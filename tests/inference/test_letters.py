"""Letters and marks: against R, statsmodels and enumeration of permutations."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import SquareTable

from fairstats.inference import letters
from fairstats.inference.letters import bowker, matched_patterns, stuart_maxwell
from fairstats.inference.mcnemar import mcnemar

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "letters.csv")
TABLES = REFERENCE.iloc[:, :16].to_numpy().reshape(-1, 4, 4)

PATTERNS = pd.read_csv(Path(__file__).parents[1] / "r" / "matched_patterns.csv")


@pytest.mark.parametrize(
    ("test", "column"), [(bowker, "bowker"), (stuart_maxwell, "stuart_maxwell_rank")]
)
def test_letters_agree_with_r(test, column):
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


@pytest.mark.parametrize("test", [bowker, stuart_maxwell])
def test_letters_that_never_occur_do_not_matter(test):
    rng = np.random.default_rng(2)
    # Empty tables, tables without changes, and tables with two groups of connected letters.
    occurs, changes = rng.integers(0, 2, (300, 5, 1)), rng.integers(0, 2, (300, 5, 5))
    tables = rng.poisson(4, (300, 5, 5)) * occurs * np.swapaxes(occurs, 1, 2) * changes
    tables[:20] *= np.eye(5, dtype=int)
    tables[20:40, :2, 2:] = tables[20:40, 2:, :2] = 0
    found = test(tables.reshape(3, 100, 5, 5))
    assert found.df.shape == (3, 100)
    for i, table in enumerate(tables):
        own = (table.sum(axis=0) + table.sum(axis=1)) > 0
        alone = test(table[np.ix_(own, own)])
        assert found.df.flat[i] == alone.df
        assert found.statistic.flat[i] == pytest.approx(float(alone.statistic), rel=1e-12)
        assert found.p_value.flat[i] == pytest.approx(float(alone.p_value), rel=1e-12)


def test_a_table_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match=r"shape \(..., k, k\)"):
        bowker([[1, 2, 3], [4, 5, 6]])


def test_no_items_leave_the_odds_ratio_open():
    found = matched_patterns(np.empty((0, 3)), np.empty((0, 3)))
    assert (found.matched, found.expected, found.p_value) == (0, 0, 1)
    assert (found.ci_low, found.ci_high, found.n) == (0, np.inf, 0)
    assert np.isnan(found.odds_ratio)


@pytest.mark.parametrize(
    "marks", [[[0, 0, 0]] * 4, [[1, 1, 1]] * 4, [[1, 0, 0]] * 4], ids=["none", "all", "alike"]
)
def test_items_with_constant_marks_are_not_informative(marks):
    found = matched_patterns(marks, marks)
    assert found.p_value == 1
    assert found.n_informative == 0
    assert found.matched == found.expected == np.sum(marks)


def test_single_place_is_not_informative():
    assert matched_patterns([[1], [0], [1]], [[1], [0], [1]]).n_informative == 0


def test_all_matched_and_none_matched_have_one_limit_each():
    one = np.tile(np.eye(3, dtype=int), (4, 1))
    same, other = matched_patterns(one, one), matched_patterns(one, np.roll(one, 1, axis=1))
    assert same.odds_ratio == same.ci_high == np.inf
    assert same.ci_low > 1
    assert other.odds_ratio == other.ci_low == 0
    assert other.ci_high < 3
    # 12! / 4!³ arrangements of twelve patterns; one of them matches everywhere.
    assert same.p_value == pytest.approx(2 / 34650)


def test_one_place_does_not_depend_on_marks_of_the_others():
    """The other places of the first side follow the second side, this one only the item."""
    rng = np.random.default_rng(4)
    low = 0
    for _ in range(200):
        prone = rng.normal(-1, 2, size=(120, 1))
        chance = 1 / (1 + np.exp(-(prone + np.array([0.8, 0, -0.8]))))
        first, second = ((rng.random(chance.shape) < chance).astype(int) for _ in range(2))
        first[:, 1:] = second[:, 1:]
        low += matched_patterns(first, second, place=0).p_value <= 0.05
        assert matched_patterns(first, second, place=1).ci_low > 1
    assert low < 20


def test_a_place_without_other_places_is_not_informative():
    assert matched_patterns([[1], [0], [1]], [[1], [0], [1]], place=0).n_informative == 0
    assert matched_patterns([[0, 1], [0, 1]], [[1, 0], [0, 1]], place=0).n_informative == 0


def test_shapes_and_marks_are_checked():
    with pytest.raises(ValueError, match="one shape"):
        matched_patterns([[1, 0]], [[1, 0, 0]])
    with pytest.raises(ValueError, match="whole"):
        matched_patterns([[0.5, 0]], [[1, 0]])
    with pytest.raises(ValueError, match="place=2 must be"):
        matched_patterns([[1, 0]], [[1, 0]], place=2)


@pytest.mark.parametrize("place", [None, 0])
@pytest.mark.parametrize("case", PATTERNS.to_dict("records"))
def test_matched_patterns_agree_with_r(case, place):
    first, second = [], []
    for mark, table in ((1, "first"), (2, "second")):
        for cell in ("n11", "n21", "n12", "n22"):
            for side, at in ((first, cell[1]), (second, cell[2])):
                side += [[mark, 0] if at == "1" else [0, mark]] * int(case[f"{table}_{cell}"])
    found = matched_patterns(first, second, place=place)
    # R's own root stops within 1e-4 of the odds or of their inverse.
    for name in ("odds_ratio", "ci_low", "ci_high"):
        # Matches at both places count twice.
        odds = getattr(found, name) ** (2 if place is None else 1)
        assert odds == pytest.approx(case[name], rel=2e-3, abs=3e-5)
    assert found.p_value == pytest.approx(case["p_value"], rel=1e-9)


def _enumerated(first, second):
    """The law of the matches over all permutations within the strata."""
    strata = {}
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        strata.setdefault((*sorted(one), "|", *sorted(other)), []).append((one, other))
    law = {0: 1.0}
    for items in strata.values():
        own = {}
        ways = list(permutations([other for _, other in items]))
        for way in ways:
            matches = sum(
                a == b != 0
                for (one, _), other in zip(items, way, strict=True)
                for a, b in zip(one, other, strict=True)
            )
            own[matches] = own.get(matches, 0) + 1 / len(ways)
        law = {
            total: sum(
                p * own.get(total - before, 0) for before, p in law.items() if total >= before
            )
            for total in range(max(law) + max(own) + 1)
        }
    return law


@pytest.mark.parametrize("seed", range(12))
def test_the_law_is_that_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    places = 3 + seed % 2
    first, second = (rng.choice([0, 0, 1, -1], size=(14, places)) for _ in range(2))
    law = _enumerated(first, second)
    found = matched_patterns(first, second)
    assert found.expected == pytest.approx(sum(k * p for k, p in law.items()))
    upper = sum(p for k, p in law.items() if k >= found.matched)
    lower = sum(p for k, p in law.items() if k <= found.matched)
    assert found.p_value == pytest.approx(min(1, 2 * min(upper, lower)))


def test_the_normal_law_is_near_the_exact_one_for_many_items(monkeypatch):
    rng = np.random.default_rng(3)
    prone = rng.beta(1, 4, size=(250, 1))
    first = (rng.random((250, 3)) < prone).astype(int)
    second = np.where(rng.random((250, 3)) < 0.3, first, rng.random((250, 3)) < prone).astype(int)
    exact = matched_patterns(first, second)
    monkeypatch.setattr(letters, "EXACT_STEPS", 0)
    normal = matched_patterns(first, second)
    assert exact.test == "exact permutation within strata"
    assert normal.test == "permutation within strata, normal"
    assert normal.expected == exact.expected
    assert np.log(normal.p_value) == pytest.approx(np.log(exact.p_value), rel=0.1)
    # Peto's odds ratio is biased towards 1 if the true one is far from 1.
    assert 1 < normal.ci_low < normal.odds_ratio < exact.odds_ratio


def test_equal_marks_of_many_items_have_a_lower_limit():
    # The probability of 1200 matches, 1e-360, is below the smallest floating-point number.
    marks = np.tile(np.eye(2, dtype=int), (600, 1))
    found = matched_patterns(marks, marks)
    assert found.ci_low > 1
    assert 0 < found.p_value < 1e-200


def test_prone_items_are_not_a_match():
    """Both sides share only the flip rate of items, and of places."""
    rng = np.random.default_rng(5)
    low = 0
    for _ in range(200):
        prone = rng.normal(-1, 2, size=(120, 1))
        chance = 1 / (1 + np.exp(-(prone + np.array([0.8, 0, -0.8]))))
        sides = [(rng.random(chance.shape) < chance).astype(int) for _ in range(2)]
        low += matched_patterns(*sides).p_value <= 0.05
    # Exact and so conservative: 200 draws at most 5% each; 20 is beyond the 99.9% quantile.
    assert low < 20
