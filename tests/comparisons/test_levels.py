from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairstats
from fairstats._lib.problems import InputError
from fairstats.comparisons.levels import LEVEL_COLUMNS, LEVEL_PAIR_COLUMNS, compare_levels
from fairstats.inference.intervals import wilson

FOLDER = Path(__file__).parents[1] / "evalstats"
SCORES = pd.read_csv(FOLDER / "scores.csv")
# What evalstats 0.3.3 computes from them.
PAIRS = pd.read_csv(FOLDER / "pairs.csv")


def table(levels, *, score="correct"):
    return pd.DataFrame(
        [
            {"prompt": level, "item_id": f"q{place}", score: value}
            for level, values in levels.items()
            for place, value in enumerate(values)
        ]
    )


@pytest.mark.parametrize(
    ("score", "limits"), [("correct", None), ("grade", (1, 5)), ("similarity", (0, 1))]
)
def test_pairs_agree_with_evalstats(score, limits):
    found = compare_levels(SCORES, "prompt", item="item", score=score, limits=limits)
    assert tuple(found.pairs) == LEVEL_PAIR_COLUMNS
    assert tuple(found.levels) == LEVEL_COLUMNS
    names = ["level_a", "level_b", "estimate", "ci_low", "ci_high", "p_value"]
    expected = PAIRS.query("score == @score")[names].reset_index(drop=True)
    if score == "correct":
        pd.testing.assert_frame_equal(found.pairs[names], expected, rtol=1e-9)
        return
    # evalstats has Student's t for both. Here signs are flipped, and few differing items widen it.
    pd.testing.assert_frame_equal(found.pairs[names[:3]], expected[names[:3]], rtol=1e-9)
    assert (found.pairs["ci_low"] <= expected["ci_low"] + 1e-9).all()
    assert (found.pairs["ci_high"] >= expected["ci_high"] - 1e-9).all()
    wider = (found.pairs["ci_high"] - found.pairs["ci_low"]).to_numpy()
    assert (wider < 1.1 * (expected["ci_high"] - expected["ci_low"])).all()
    np.testing.assert_allclose(found.pairs["p_value"], expected["p_value"], atol=2e-3)


def test_copies_of_items_in_a_cluster_change_nothing():
    grades = {"a": [1, 4, 3, 2, 5, 3, 4, 2], "b": [2, 4, 1, 2, 4, 4, 2, 1]}
    once = table(grades)
    twice = pd.concat([once, once.assign(item_id=once["item_id"] + "'")])
    twice = twice.assign(patient=twice["item_id"].str.rstrip("'"))
    one = compare_levels(once, "prompt", score="correct", limits=(1, 5))
    two = compare_levels(twice, "prompt", score="correct", limits=(1, 5), cluster="patient")
    names = ["estimate", "ci_low", "ci_high", "p_value"]
    pd.testing.assert_frame_equal(one.pairs[names], two.pairs[names])
    assert two.pairs["n"].tolist() == [16]
    alone = compare_levels(twice, "prompt", score="correct", limits=(1, 5))
    assert alone.pairs["p_value"][0] < two.pairs["p_value"][0]
    with pytest.raises(ValueError, match="limits must be given with clusters"):
        compare_levels(twice, "prompt", score="correct", cluster="patient")
    wrong = twice.assign(patient=range(len(twice)))
    with pytest.raises(InputError, match="differs between the rows of an item"):
        compare_levels(wrong, "prompt", score="correct", limits=(1, 5), cluster="patient")


def test_equal_levels_have_no_evidence_of_a_difference():
    found = compare_levels(table({"a": [1, 0, 1, 1], "b": [1, 0, 1, 1]}), "prompt")
    (row,) = found.pairs.to_dict("records")
    assert row["estimate"] == 0
    assert row["p_value"] == row["p_adjusted"] == 1
    assert -1 < row["ci_low"] < 0 < row["ci_high"] < 1
    assert found.disagreements().empty


def test_one_grade_for_all_is_not_certain():
    found = compare_levels(table({"a": [5] * 6, "b": [3] * 6}), "prompt", limits=(1, 5))
    (row,) = found.pairs.to_dict("records")
    assert row["estimate"] == 2
    assert row["ci_low"] < 2
    unbounded = compare_levels(table({"a": [5] * 6, "b": [3] * 6}), "prompt").pairs.iloc[0]
    assert np.isnan(unbounded["ci_low"])
    assert unbounded["p_value"] == 1 / 2**6


def test_one_item_shows_nothing():
    found = compare_levels(table({"a": [1], "b": [0], "c": [0]}), "prompt")
    assert (found.pairs["p_adjusted"] == 1).all()
    # Mid-p of one discordant pair.
    assert found.pairs["p_value"].max() == 1
    assert (found.pairs["ci_low"] < 0).all()


def test_missing_scores_are_counted_and_bounded():
    scores = table({"a": [1, 1, 1, None], "b": [0, 0, 1, 1]})
    found = compare_levels(scores, "prompt")
    (row,) = found.pairs.to_dict("records")
    assert row["n"] == 3
    assert row["estimate"] == pytest.approx(2 / 3)
    # The fourth item adds −1 or 0.
    assert row["lowest"] == pytest.approx(1 / 4)
    assert row["highest"] == pytest.approx(2 / 4)
    assert found.levels["n_missing"].tolist() == [1, 0]
    assert "1 at a" in found.summary()
    # A row that is not there is the same as an empty one.
    short = compare_levels(scores.dropna(), "prompt").pairs
    pd.testing.assert_frame_equal(short, found.pairs)
    grades = compare_levels(scores.replace(1, 2), "prompt").pairs.iloc[0]
    assert np.isnan(grades["lowest"])


def test_level_without_any_score_has_no_estimate():
    found = compare_levels(table({"a": [None, None], "b": [0, 1], "c": [1, 1]}), "prompt")
    row = found.pairs.iloc[0]
    assert np.isnan(row["estimate"])
    assert (row["ci_low"], row["ci_high"], row["p_value"]) == (-1, 1, 1)
    assert (row["lowest"], row["highest"]) == (-0.5, 0.5)


def test_several_scores_of_an_item_count_as_one_item():
    one = table({"a": [1, 0, 1, 1, 0], "b": [0, 0, 1, 0, 0]})
    runs = pd.concat([one, one], ignore_index=True)
    found = compare_levels(runs, "prompt")
    assert found.pairs["n"].tolist() == [5]
    assert found.pairs["estimate"].tolist() == [0.4]
    assert found.pairs["test"].tolist() == ["sign flip midp"]


def test_means_of_several_scores_leave_room_for_rare_items():
    """Without room, limits covered in 66 to 89% if few items are wrong in all samples."""
    rows = pd.concat([table({"a": [1] * 30, "b": [1] * 29 + [0]})] * 10)
    rows.iloc[0, rows.columns.get_loc("correct")] = 0
    found = compare_levels(rows, "prompt")
    share = float(wilson(0, 30).ci_high)
    pair, b = found.pairs.iloc[0], found.levels.set_index("level").loc["b"]
    assert pair["ci_low"] <= pair["estimate"] - share * (1 + pair["estimate"]) + 1e-12
    assert b["ci_low"] <= 29 / 30 * (1 - share) + 1e-12
    wards = compare_levels(rows.assign(ward=rows["item_id"]), "prompt", cluster="ward")
    assert not wards.levels["method"].str.contains("room").any()
    # Points out of 100 are as shares are.
    points = compare_levels(rows.assign(correct=100 * rows["correct"]), "prompt", limits=(0, 100))
    names = ["estimate", "ci_low", "ci_high"]
    for one, other in ((points.pairs, found.pairs), (points.levels, found.levels)):
        np.testing.assert_allclose(one[names], 100 * other[names], atol=1e-9)
    # Limits that exclude 0 stay there: ten of 30 items are better in all samples.
    clear = pd.concat([table({"a": [1] * 30, "b": [1] * 20 + [0] * 10})] * 3)
    pair = compare_levels(clear, "prompt").pairs.iloc[0]
    assert pair["p_value"] < 0.05
    assert pair["ci_low"] > 0


def test_matched_columns_compare_like_with_like():
    scores = pd.DataFrame(
        {
            "prompt": ["a", "a", "b", "a", "b", "a", "b"],
            "item_id": ["q1", "q1", "q1", "q2", "q2", "q3", "q3"],
            "group": ["x", "y", "x", "x", "x", "y", "y"],
            "correct": [1, 0, 1, 1, 0, 1, 1],
        }
    )
    found = compare_levels(scores, "prompt", match="group")
    # Without the unmatched group y of q1, the differences are 0, 1 and 0.
    assert found.pairs["estimate"].tolist() == [pytest.approx(1 / 3)]
    plain = compare_levels(scores, "prompt")
    assert plain.pairs["estimate"].tolist() == [pytest.approx((-0.5 + 1 + 0) / 3)]


def test_answers_need_no_column_of_scores():
    answers = pd.DataFrame(
        {
            "model": ["m", "m", "n", "n"],
            "item_id": ["q1", "q2"] * 2,
            "answer": ["A", "B", "C", None],
            "answer_key": ["A", "B", "A", "B"],
        }
    )
    found = compare_levels(answers, "model")
    assert found.pairs["n"].tolist() == [1]
    rows = found.disagreements("m", "n")
    assert rows[["item_id", "m", "n", "answer_m", "answer_n"]].values.tolist() == [
        ["q1", 1.0, 0.0, "A", "C"]
    ]


def test_disagreements_are_sorted_by_size():
    found = compare_levels(SCORES, "prompt", item="item", score="grade")
    every = found.disagreements()
    assert every["range"].is_monotonic_decreasing
    assert (every["range"] > 0).all()
    two = found.disagreements("plain", "role", top=5)
    assert len(two) == 5
    assert two["difference"].tolist() == (two["plain"] - two["role"]).tolist()
    sizes = two["difference"].abs()
    assert sizes.is_monotonic_decreasing
    wide = SCORES.pivot(index="item", columns="prompt", values="grade")
    assert sizes.iloc[0] == (wide["plain"] - wide["role"]).abs().max()


def test_baseline_and_simultaneous_intervals():
    found = compare_levels(SCORES, "prompt", item="item", baseline="plain", simultaneous=True)
    assert found.pairs["level_b"].tolist() == ["plain"] * 3
    assert found.pairs["ci_level"].tolist() == pytest.approx([1 - 0.05 / 3] * 3)
    alone = compare_levels(SCORES, "prompt", item="item", baseline="plain")
    assert (found.pairs["ci_low"] < alone.pairs["ci_low"]).all()
    assert found.pairs["p_value"].equals(alone.pairs["p_value"])


def test_polars_and_text_from_a_csv_file_are_read():
    expected = compare_levels(SCORES, "prompt", item="item").pairs
    for other in (pl.from_pandas(SCORES), SCORES.astype(str)):
        pd.testing.assert_frame_equal(compare_levels(other, "prompt", item="item").pairs, expected)
    words = SCORES.assign(correct=SCORES["correct"].map({1: "True", 0: "false"}))
    assert compare_levels(words, "prompt", item="item").pairs.equals(expected)


def test_summary_draws_every_interval():
    found = compare_levels(SCORES, "prompt", item="item", score="grade", limits=(1, 5))
    lines = found.summary().splitlines()
    assert sum("●" in line for line in lines) == 4 + 6
    drawn = {line.split("  ")[0]: line for line in lines}
    # Zero is left of, and inside, these intervals.
    assert drawn["examples − role"].index("┊") < drawn["examples − role"].index("├")
    assert "┼" in drawn["plain − role"]
    assert repr(found) == found.summary()
    assert (
        "<b>"
        not in compare_levels(
            SCORES.assign(prompt="<b>" + SCORES["prompt"]), "prompt", item="item"
        )._repr_html_()
    )


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        ({}, {"column": "promt"}, "no such column; choose from: prompt, item_id, correct"),
        ({}, {"item": "q"}, "there is no such column"),
        ({}, {"item": "prompt"}, "is used for two things"),
        ({"item_id": None}, {}, "row 1: item_id: is empty"),
        ({"prompt": "a"}, {}, "has fewer than two levels"),
        ({}, {"levels": ["a", "z"]}, "no row has this level"),
        ({"correct": "much"}, {}, "not a finite number"),
        ({"correct": 7}, {"limits": (1, 5)}, "outside the limits 1 to 5"),
        ({"item_id": [*"abcdef"]}, {}, "no item in common"),
    ],
)
def test_wrong_tables_are_refused(change, given, message):
    scores = table({"a": [1, 1, 0], "b": [0, 1, 0]}).assign(**change)
    with pytest.raises(InputError, match=message):
        compare_levels(scores, **({"column": "prompt"} | given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limits": (5, 1)}, "lowest and highest score"),
        ({"adjust": "bonferroni"}, "holm, hommel, bh or by"),
        ({"baseline": "z"}, "baseline='z' is unknown"),
        ({"alpha": 5}, "alpha=5"),
    ],
)
def test_wrong_options_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        fairstats.compare_levels(table({"a": [1, 1], "b": [0, 1]}), "prompt", **given)


def test_scores_that_are_no_table_are_refused():
    with pytest.raises(ValueError, match="must be a pandas or Polars DataFrame"):
        compare_levels([1, 2], "prompt")


def test_one_level_of_two_is_refused():
    found = compare_levels(table({"a": [1, 1], "b": [0, 1]}), "prompt")
    with pytest.raises(ValueError, match="or neither"):
        found.disagreements("a")
    with pytest.raises(ValueError, match="level_b='z'"):
        found.disagreements("a", "z")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("second", [[1, 0, 1], [0.5, 0, 1]])
def test_level_without_answers_has_no_figures(second):
    """With several right or wrong answers, limits have room for rare items."""
    first = table({"a": [1, 1, 0], "b": [0, 1, 1], "none": [None] * 3})
    scores = pd.concat([first, table({"a": second, "b": second, "none": [None] * 3})])
    found = compare_levels(scores, "prompt", score="correct", limits=(0, 1))
    assert found.levels["n"].tolist() == [3, 3, 0]
    assert np.isnan(found.levels["estimate"][2])
    pairs = found.pairs.set_index("level_b").loc["none"]
    assert pairs["estimate"].isna().all()
    assert pairs["ci_low"].eq(-1).all()
    assert pairs["ci_high"].eq(1).all()


@pytest.mark.parametrize("cluster", [None, "case"])
def test_rare_errors_in_the_mean_of_few_rows_are_no_difference(cluster):
    rng, wrongly = np.random.default_rng(3), 0
    for _ in range(40):
        once, often = (rng.random((60, n)) < 0.97 for n in (1, 10))
        rows = [
            pd.DataFrame(
                {
                    "prompt": name,
                    "item_id": np.repeat(np.arange(60), right.shape[1]),
                    "correct": right.ravel(),
                }
            )
            for name, right in (("once", once), ("often", often))
        ]
        both = pd.concat(rows)
        both["case"] = both["item_id"] // 2
        found = compare_levels(both, "prompt", cluster=cluster, limits=(0, 1))
        (pair,) = found.pairs.to_dict("records")
        assert (pair["p_value"] <= 0.05) <= (pair["ci_low"] > 0 or pair["ci_high"] < 0)
        wrongly += pair["ci_low"] > 0 or pair["ci_high"] < 0
    assert wrongly <= 4


def test_exchanged_rows_have_the_variance_of_all_exchanges():
    once, often = [1, 0, 1], [[1, 1, 0], [1, 1, 1], [0, 1, 0]]
    rows = [("once", item, value) for item, value in enumerate(once)]
    rows += [("often", item, value) for item, own in enumerate(often) for value in own]
    found = compare_levels(pd.DataFrame(rows, columns=["prompt", "item_id", "correct"]), "prompt")
    variance = 0.0
    for first, others in zip(once, often, strict=True):
        pooled = np.array([first, *others])
        differences = [own - np.delete(pooled, place).mean() for place, own in enumerate(pooled)]
        variance += np.var(differences)
    assert found._scored.exchange_variance("once", "often") == pytest.approx(variance)
    same = pd.DataFrame(rows, columns=["prompt", "item_id", "correct"]).drop_duplicates(
        ["prompt", "item_id"]
    )
    assert compare_levels(same, "prompt")._scored.exchange_variance("once", "often") == 0


def test_matched_column_can_be_called_score():
    rows = [("a", 0, "x", 1), ("a", 0, "y", 0), ("b", 0, "x", 1), ("b", 0, "y", 1)]
    scores = pd.DataFrame(rows, columns=["prompt", "item_id", "score", "correct"])
    (pair,) = compare_levels(scores, "prompt", match="score").pairs.to_dict("records")
    assert (pair["n"], pair["estimate"]) == (1, -0.5)
