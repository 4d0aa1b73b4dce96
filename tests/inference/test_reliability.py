"""The intraclass correlation compared with R's package psych, and cases without one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats import agreement
from fairstats.inference.reliability import f_limits, intraclass_correlation
from tests.serving import benchmark_script

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "intraclass.csv")
# The tables of tests/r/intraclass.R.
TABLES = {
    "shrout": [
        [9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7],
    ],
    "pair": np.transpose([[1, 2, 3, 3, 5, 4, 2, 1, 4, 5], [1, 3, 3, 2, 5, 5, 1, 2, 4, 4]]),
    "apart": np.transpose([[1, 5, 2, 4, 3], [5, 1, 4, 2, 2], [3, 3, 1, 5, 4]]),
}  # fmt: skip


@pytest.mark.parametrize("row", REFERENCE.itertuples(), ids=lambda row: f"{row.table}-{row.Index}")
def test_estimates_and_limits_are_those_of_r(row):
    kind = f"ICC({row.kind[0].upper()},{'k' if row.mean_of_raters else 1})"
    found = intraclass_correlation(TABLES[row.table], kind, alpha=row.alpha)
    assert found.estimate == pytest.approx(row.estimate, abs=1e-9)
    assert found.ci_level == 1 - row.alpha
    if row.kind == "agreement":
        assert np.isnan([found.ci_low, found.ci_high]).all()
        return
    whole = np.array(TABLES[row.table], dtype=float)
    low, high = f_limits(whole, kind, row.alpha, len(whole) - 1)
    assert low == pytest.approx(row.ci_low, abs=1e-8)
    assert high == pytest.approx(row.ci_high, abs=1e-8)
    # The interval is that of psych, or wider.
    assert found.ci_low <= low + 1e-8
    assert found.ci_high >= high - 1e-8


@pytest.mark.parametrize(
    ("ratings", "kind"),
    [
        ([[0, 1], [1, 0], [0, 1], [1, 0]], "ICC(A,k)"),
        ([[0, 1], [1, 0], [0, 1], [1, 0]], "ICC(C,k)"),
        ([[1, 2], [1, 2], [1, 2]], "ICC(C,1)"),
        ([[1, 1e9], [2, 1e9]] * 3, "ICC(C,k)"),
    ],
)
def test_items_that_do_not_differ_have_no_coefficient(ratings, kind):
    """The formulas gave 4, -inf, NaN without a reason, and 684."""
    found = intraclass_correlation(ratings, kind)
    assert np.isnan([found.estimate, found.ci_low, found.ci_high]).all()
    assert found.note == "undefined: items do not differ, or less than by chance"


@pytest.mark.parametrize("kind", ["ICC(A,1)", "ICC(A,k)"])
def test_agreement_with_other_raters_has_no_limits(kind):
    found = intraclass_correlation(np.arange(60).reshape(20, 3) % 7, kind)
    assert found.estimate < 1
    assert np.isnan([found.ci_low, found.ci_high]).all()
    assert found.note == "no interval: a few raters do not show how far raters differ"


@pytest.mark.parametrize("kind", ["ICC(C,1)", "ICC(C,k)"])
@pytest.mark.parametrize("n", [3, 5, 40])
def test_raters_who_never_disagree_have_correlation_one_without_limits(kind, n):
    found = intraclass_correlation([[i % 3] * 3 for i in range(n)], kind)
    assert found.estimate == pytest.approx(1)
    assert np.isnan([found.ci_low, found.ci_high]).all()
    assert "the raters never disagree" in found.note


@pytest.mark.parametrize("kind", ["ICC(C,1)", "ICC(C,k)"])
def test_mostly_equal_grades_have_no_limits(kind):
    table = np.zeros((40, 5))
    table[:16] = [[1, 0, 2, 1, 1], [2, 2, 1, 2, 2]] * 8
    with_limits = intraclass_correlation(table, kind)
    assert with_limits.ci_low < with_limits.estimate < with_limits.ci_high
    assert with_limits.note == ""
    table[0] = 0
    found = intraclass_correlation(table, kind)
    assert 0 < found.estimate < 1
    assert np.isnan([found.ci_low, found.ci_high]).all()
    assert "66% of the ratings are 0, more than 65%" in found.note


def test_a_stricter_rater_costs_agreement_and_not_consistency():
    ratings = [[1, 2], [2, 3], [4, 5], [5, 6]]
    assert intraclass_correlation(ratings, "ICC(C,1)").estimate == pytest.approx(1)
    assert intraclass_correlation(ratings).estimate < 0.95


@pytest.mark.parametrize(
    ("ratings", "note"),
    [
        ([[1, 1], [1, 1], [1, 1]], "all ratings are equal"),
        ([[1, 2], [2, 2]], "fewer than 5 ratings"),
        ([[1, 2]], "fewer than two"),
        ([[1], [2], [3]], "fewer than two"),
        ([[1, np.nan], [np.nan, 2], [1, 2]], "fewer than two"),
    ],
)
def test_an_undefined_correlation_has_a_note(ratings, note):
    found = intraclass_correlation(ratings)
    assert np.isnan([found.estimate, found.ci_low, found.ci_high]).all()
    assert note in found.note


def test_items_without_all_ratings_are_left_out():
    ratings = pd.DataFrame(TABLES["shrout"], dtype=float)
    more = pd.concat([ratings, pd.DataFrame([[1, np.nan, 3, 4.0]])], ignore_index=True)
    assert intraclass_correlation(more) == intraclass_correlation(ratings)


def test_agreement_gives_the_same_and_a_reason_if_there_is_none():
    of = intraclass_correlation(TABLES["shrout"], "ICC(C,k)", alpha=0.1)
    found = agreement(TABLES["shrout"], "ICC(C,k)", alpha=0.1)
    assert (found.estimate, found.ci_low, found.ci_high) == (of.estimate, of.ci_low, of.ci_high)
    assert (found.method, found.level, found.n, found.n_ratings) == (
        *("F, effective items, ICC(C,k)", "interval"),
        *(6, 24),
    )
    assert agreement([[1, 2]], "ICC(A,1)").method.startswith("none (fewer than two")


@pytest.mark.parametrize(
    ("ratings", "options", "message"),
    [
        ([["minor", "severe"], ["none", "none"]], {}, "must be numbers"),
        ([1, 2, 3], {}, "1 dimension"),
        ([[1, np.inf], [2, 3]], {}, "finite"),
        ([[1, 2], [2, 3]], {"kind": "both"}, "kind"),
        ([[1, 2], [2, 3]], {"alpha": 5}, "alpha"),
    ],
)
def test_nonsense_is_refused(ratings, options, message):
    with pytest.raises(ValueError, match=message):
        intraclass_correlation(ratings, **options)


COVERAGE = json.loads(
    (Path(__file__).parents[2] / "benchmarks" / "results" / "reliability_coverage.json").read_text(
        encoding="utf-8"
    )
)


def test_docstring_gives_the_coverage():
    rows = pd.DataFrame(COVERAGE["designs"])
    given = rows.groupby("grades")["given"].mean()
    assert given["85% are 0"] < 0.05
    assert given["70% are 0"] == pytest.approx(0.25, abs=0.02)
    few = rows["grades"].str.match("70%|85%")
    assert rows[~few]["coverage"].min() == 0.93
    assert rows[~few]["normal"].min().round(2) == 0.85
    assert rows[few]["coverage"].min().round(2) == 0.89
    assert rows["agreement"].min().round(2) == 0.53


def test_the_simulation_is_that_of_the_script():
    script = benchmark_script("reliability_coverage")
    rows = pd.DataFrame(COVERAGE["designs"])
    design = {"grades": "60% are 0", "items": 150, "raters": 3, "of_items": 2.0, "of_raters": 0.0}
    (number,) = np.flatnonzero((rows[list(design)] == pd.Series(design)).all(axis=1))
    shares = script.GRADES[design.pop("grades")]
    found = script.coverage(int(number), shares, *design.values(), 100)
    assert found["coverage"] == pytest.approx(rows.loc[number, "coverage"], abs=0.1)
    assert found["coverage"] > found["normal"]
