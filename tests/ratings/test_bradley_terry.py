"""Strengths compared with R, in closed form, and cases without an estimate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairstats.inference.crossed_means import Crossing
from fairstats.ratings.bradley_terry import STRENGTH_COLUMNS, WIN_COLUMNS, _Fit, bradley_terry
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings

R = Path(__file__).parents[1] / "r"
DIMENSIONS = load_rubric("pairwise").dimensions
VALUES = {"1": "answer_2", "2": "answer_1", "0": "tie", "-": None}


def judged(rows, items=None, **facts):
    """Ratings from rows of (task, rater, model, model_2, who is preferred: 1, 2, 0 or -)."""
    told = []
    for place, (task, rater, model, model_2, said) in enumerate(rows):
        told += [
            {
                "benchmark": "demo",
                "rubric": "pairwise",
                "task_id": f"t{task}",
                "item_id": f"i{task if items is None else items[place]}",
                "model": model,
                "model_2": model_2,
                "rater_id": f"r{rater}",
                "rater_group": "physician",
                "dimension": dimension,
                "value": VALUES[said],
            }
            | facts
            for dimension in (DIMENSIONS[:1] if said == "0" else DIMENSIONS)
        ]
    return check_ratings(pd.DataFrame(told))


def games(*counts):
    """A task a comparison, of (model, model_2, text of outcomes)."""
    rows = [(i, j, said) for i, j, text in counts for said in text]
    return judged([(number, 0, *row) for number, row in enumerate(rows)])


@pytest.mark.parametrize("kind", ["plain", "ties"])
def test_strengths_and_their_errors_over_items_and_raters_agree_with_r(kind):
    data = pd.read_csv(R / "bradley_terry_data.csv", dtype=str).query("kind == @kind")
    columns = ["task", "rater", "first", "second", "said"]
    rows = data[columns].itertuples(index=False, name=None)
    result = bradley_terry(judged(list(rows), items=list(data["item"])))
    found = result.strengths.set_index("model")
    assert list(found.reset_index()[list(STRENGTH_COLUMNS)]) == list(STRENGTH_COLUMNS)
    expected = pd.read_csv(R / "bradley_terry.csv").query("kind == @kind").set_index("model")
    parts = expected[["two_way", "items", "raters", "cells", "single"]]
    # The largest strength differs between the cases.
    assert set(parts.iloc[:4].idxmax(axis=1)) == (
        {"two_way", "raters", "items"} if kind == "plain" else {"two_way", "items"}
    )
    n_cells, n = len(data[["item", "rater"]].drop_duplicates()), len(data)
    # With ties R's derivatives are numerical.
    rel = 1e-9 if kind == "plain" else 1e-5
    for model in expected.index[:4]:
        row, want = found.loc[model], expected.loc[model]
        assert row["strength"] == pytest.approx(want["strength"], abs=1e-7)
        assert row["std_error"] == pytest.approx(parts.loc[model].max(), rel=rel)
        assert row["tie_parameter"] == pytest.approx(want["tie_parameter"], rel=1e-6)
        df = parts.loc[model].max() ** 4 / (
            want["items"] ** 4 / (data["item"].nunique() - 1)
            + want["raters"] ** 4 / (data["rater"].nunique() - 1)
            + want["cells"] ** 4 / (n_cells - 1)
        )
        assert row["df"] == pytest.approx(min(max(df, 8), n - 1), rel=10 * rel)
        half = stats.t.isf(0.025, row["df"]) * row["std_error"]
        assert row["ci_high"] - row["strength"] == pytest.approx(half)
        assert row["strength"] - row["ci_low"] == pytest.approx(half)
        assert row["ci_method"] == "wald t, two-way clusters"
    win = result.win_probabilities.set_index(["model", "model_2"]).loc[("alpha", "beta")]
    log_odds, error = expected.loc["alpha - beta", "strength"], parts.loc["alpha - beta"].max()
    half = stats.t.isf(0.025, win["df"]) * error
    assert win["win_probability"] == pytest.approx(1 / (1 + np.exp(-log_odds)))
    assert win["ci_low"] == pytest.approx(1 / (1 + np.exp(half - log_odds)), rel=rel)


def test_few_raters_and_shared_items_widen_intervals():
    """Clustered only by task, intervals for 95% covered 84% of 3,000; these cover 95%."""
    rng, covered, alone = np.random.default_rng(5), [], []
    models = np.array(["a", "b", "c"])
    for _ in range(60):
        quality, leaning = rng.normal(0, 1, (40, 3)), rng.normal(0, 0.5, (9, 3))
        rows, items = [], []
        for task, (item, i, j) in enumerate(
            (item, i, j) for item in range(40) for i, j in ((0, 1), (0, 2), (1, 2))
        ):
            for rater in rng.permutation(9)[:3]:
                odds = quality[item, [i, j]] + leaning[rater, [i, j]]
                said = "1" if rng.random() < 1 / (1 + np.exp(odds[1] - odds[0])) else "2"
                rows.append((task, rater, models[i], models[j], said))
                items.append(item)
        first = np.array([row[2:4] for row in rows])
        sign = np.array([1 if row[4] == "1" else -1 for row in rows])
        fit = _Fit(
            list(models),
            np.searchsorted(models, first[:, 0]),
            np.searchsorted(models, first[:, 1]),
            sign,
            Crossing.of(items, [row[1] for row in rows], len(rows)),
            0.0,
        )
        covered += [abs(fit.params[k]) <= fit.spread(k, alpha=0.05)[1] for k in range(3)]
        tasks = np.array([row[0] for row in rows])
        for k in range(3):
            totals = np.bincount(tasks, fit.influence[:, k])
            half = stats.t.isf(0.025, 119) * np.sqrt(totals @ totals * 120 / 119)
            alone.append(abs(fit.params[k]) <= half)
    assert np.mean(covered) > 0.91
    assert np.mean(alone) < 0.89


def test_two_models_in_closed_form():
    found = bradley_terry(games(("a", "b", "1" * 9 + "2" * 4 + "0" * 30)))
    a, b = found.strengths["strength"]
    assert a == pytest.approx(np.log(9 / 4) / 2)
    assert b == pytest.approx(-a)
    assert found.strengths["tie_parameter"].iloc[0] == pytest.approx(30 / np.sqrt(9 * 4))
    win = found.win_probabilities.iloc[0]
    assert list(found.win_probabilities) == list(WIN_COLUMNS)
    assert win["win_probability"] == pytest.approx(9 / 13)
    shares = (9 / 43, 4 / 43, 30 / 43)
    assert tuple(win[["preferred", "preferred_2", "indifferent"]]) == pytest.approx(shares)
    # With one rater, limits are only over items, as reported.
    method = "wald t, clusters of items (one rater: the variance between raters is unknown)"
    assert set(found.strengths["ci_method"]) == {win["ci_method"]} == {method}
    assert (win["df"], found.strengths["n_raters"].iloc[0]) == (42, 1)
    # The robust variance of log(n1 / n2) is 1 / n1 + 1 / n2, here times 43 / 42.
    error = np.sqrt((1 / 9 + 1 / 4) * 43 / 42)
    half = stats.t.isf(0.025, 42) * error
    assert win["ci_low"] == pytest.approx(1 / (1 + np.exp(half - np.log(9 / 4))))
    assert found.strengths["std_error"].iloc[0] == pytest.approx(error / 2)


def test_the_order_of_the_two_models_does_not_matter():
    there = bradley_terry(games(("a", "b", "11120"), ("b", "c", "1212"), ("a", "c", "112")))
    back = bradley_terry(games(("b", "a", "22210"), ("c", "b", "2121"), ("c", "a", "221")))
    pd.testing.assert_frame_equal(there.strengths, back.strengths)
    assert there.strengths["strength"].sum() == pytest.approx(0, abs=1e-12)


def test_model_that_always_wins_is_reported():
    table = games(("a", "b", "11"), ("a", "c", "11"), ("b", "c", "1212"))
    found = bradley_terry(table)
    assert found.strengths["strength"].isna().all()
    assert found.win_probabilities["win_probability"].isna().all()
    note = set(found.strengths["method_note"])
    assert note == {"no finite estimate: never preferred to a: b, c"}
    assert set(found.strengths["n_preferred"]) == {4, 2}
    # A tie parameter that all pairs share can keep a from running away: b and c never tie.
    assert (
        bradley_terry(games(("a", "b", "11"), ("a", "c", "110"), ("b", "c", "1212")))
        .strengths["strength"]
        .notna()
        .all()
    )
    penalised = bradley_terry(table, pseudo_wins=0.5)
    strength = penalised.strengths.set_index("model")["strength"]
    assert strength["a"] > 1
    assert strength["b"] == pytest.approx(strength["c"], abs=1.0)
    assert "0.5 preferences added" in penalised.strengths["method_note"].iloc[0]


def test_a_penalty_is_that_many_more_preferences():
    counts = ("a", "b", "1" * 5 + "2" * 2), ("b", "c", "1" * 3 + "2" * 4)
    more = ("a", "b", "1" * 6 + "2" * 3), ("b", "c", "1" * 4 + "2" * 5)
    penalised = bradley_terry(games(*counts), pseudo_wins=1).strengths
    np.testing.assert_allclose(
        penalised["strength"], bradley_terry(games(*more)).strengths["strength"], atol=1e-9
    )
    assert list(penalised["n_ratings"]) == [7, 14, 7]


def test_uncompared_models_are_reported():
    found = bradley_terry(games(("a", "b", "1212"), ("c", "d", "1122"))).strengths
    assert found["strength"].isna().all()
    assert found["method_note"].str.contains("some models were not compared").all()


def test_only_ties_give_no_estimate():
    found = bradley_terry(games(("a", "b", "000"), ("b", "c", "00"))).strengths
    assert found["strength"].isna().all()
    assert found["method_note"].str.contains("no preferences were stated").all()
    assert list(found["n_indifferent"]) == [3, 5, 2]


def test_ties_tie_sets_of_models_together():
    # No model of one set was ever preferred to one of the other, in either direction.
    found = bradley_terry(games(("a", "b", "112"), ("c", "d", "112"), ("a", "c", "00")))
    assert found.strengths["strength"].notna().all()
    # a and c are equal by symmetry, as are b and d.
    strength = found.strengths.set_index("model")["strength"]
    assert strength["a"] == pytest.approx(strength["c"], abs=1e-8)


def test_one_item_has_no_standard_error():
    rows = [(0, rater, "a", "b", said) for rater, said in enumerate("1121")]
    row = bradley_terry(judged(rows)).strengths.iloc[0]
    assert row["strength"] == pytest.approx(np.log(3) / 2)
    assert np.isnan(row["std_error"])
    assert np.isnan([row["ci_low"], row["df"]]).all()
    assert row["ci_method"] == "none"
    assert row["method_note"] == "no standard error: 1 items for 1 parameters"


def test_constant_disagreement_leaves_the_strength_open():
    rows = [(task, rater, "a", "b", said) for task in range(5) for rater, said in enumerate("12")]
    row = bradley_terry(judged(rows)).strengths.iloc[0]
    assert row["strength"] == pytest.approx(0)
    # Of items the sums are 0; a rating moves a strength by ±½ / (10 / 4) / 2, a rater by five.
    assert row["std_error"] == pytest.approx(np.sqrt(2 * 0.5**2 * 2 / 1))
    assert row["df"] == 1
    assert row["ci_high"] == pytest.approx(stats.t.isf(0.025, 1) * row["std_error"])


def test_empty_ratings_and_invalid_arguments():
    assert bradley_terry(games(("a", "b", "--"))).strengths.empty
    with pytest.raises(
        ValueError, match="dimension='colour' contains no preferences; use one of bias"
    ):
        bradley_terry(games(("a", "b", "12")), dimension="colour")
    with pytest.raises(ValueError, match="pseudo_wins=-1 must be a finite number of at least 0"):
        bradley_terry(games(("a", "b", "12")), pseudo_wins=-1)


def test_hostile_names_are_names():
    name = "<script>|*x*"
    found = bradley_terry(games((name, "b", "1211"), ("b", "日本", "12"))).strengths
    assert set(found["model"]) == {name, "b", "日本"}
    assert found["strength"].notna().all()
