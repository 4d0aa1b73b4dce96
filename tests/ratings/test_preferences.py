"""Preferences: degenerate cases, by hand, and against the study's published intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairstats._lib.problems import InputError
from fairstats.inference.crossed_means import crossed_interval
from fairstats.ratings.preferences import PREFERENCE_COLUMNS, PREFERENCE_METRICS, preference_rates
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings

DIMENSIONS = load_rubric("pairwise").dimensions
VALUES = {"1": "answer_2", "2": "answer_1", "0": "tie", "-": None}


def judgements(tasks, *, models=("m1", "m2"), group="physician", **facts):
    """Read one text per task: the preference of each rater (1, 2, 0 or missing: -)."""
    swapped = facts.pop("swapped", None)
    rows = []
    for task, signs in enumerate(tasks):
        for rater, sign in enumerate(signs):
            asked = DIMENSIONS if sign in "12" else DIMENSIONS[:1]
            rows += [
                {
                    "benchmark": "demo",
                    "dataset": "d1",
                    "rubric": "pairwise",
                    "task_id": f"{models[0]} {group} {task} {sorted(facts.items())}",
                    "item_id": f"item {task}",
                    "model": models[0],
                    "model_2": models[1],
                    "rater_id": f"{group} {rater}",
                    "rater_kind": "person",
                    "rater_group": group,
                    "dimension": dimension,
                    "value": VALUES[sign],
                    "swapped": None if swapped is None else swapped[task],
                }
                | facts
                for dimension in (DIMENSIONS if sign == "-" else asked)
            ]
    return pd.DataFrame(rows)


def of(table, metric, dimension="bias", **values):
    found = table[(table["metric"] == metric) & (table["dimension"] == dimension)]
    for column, value in values.items():
        found = found[found[column] == value]
    assert len(found) == 1
    return found.iloc[0]


def test_without_any_preference_p_is_1_and_the_interval_is_not_empty():
    table = preference_rates(check_ratings(judgements(["00", "00", "00"])))
    assert list(table.columns) == list(PREFERENCE_COLUMNS)
    row = of(table, "preference_difference")
    assert (row["estimate"], row["p_value"], row["n_ratings"], row["n_tasks"]) == (0, 1, 6, 3)
    assert row["ci_low"] < 0 < row["ci_high"]
    assert row["ci_low"] == pytest.approx(-row["ci_high"])
    assert of(table, "indifferent")["estimate"] == 1
    assert of(table, "preferred")["ci_high"] > 0


def test_without_judgements_there_is_no_estimate():
    table = preference_rates(check_ratings(judgements(["--", "-"])))
    row = of(table, "preference_difference")
    assert np.isnan(row["estimate"])
    assert np.isnan(row["p_value"])
    assert (row["test"], row["n_ratings"], row["n_tasks"], row["n_missing"]) == ("none", 0, 0, 3)
    assert set(table["metric"]) & {"first_shown_preferred", "position_difference"} == set()


def test_ratings_of_one_task_are_one_case():
    one = of(preference_rates(check_ratings(judgements(["1111111111"]))), "preference_difference")
    assert (one["estimate"], one["n_raters"], one["n_tasks"]) == (1, 10, 1)
    # Only one sign: ½ on each side; mid-p counts half of it at the observed sum.
    assert one["p_value"] == pytest.approx(0.5)
    ten = of(preference_rates(check_ratings(judgements(["1"] * 10))), "preference_difference")
    assert ten["p_value"] == pytest.approx(2**-10)


def test_the_test_flips_tasks():
    tasks = ["110", "12", "22", "1", "1", "01", "000"]
    row = of(preference_rates(check_ratings(judgements(tasks))), "preference_difference")
    d = np.array([2, 0, -2, 1, 1, 1, 0])
    sums = np.array([np.dot(signs, d) for signs in product((-1, 1), repeat=len(d))])
    beyond, at = np.mean(abs(sums) > 3), np.mean(abs(sums) == 3)
    assert row["statistic"] == 3
    assert row["p_value"] == pytest.approx(beyond + at / 2)


def test_task_with_reversed_models_is_swapped():
    there = judgements(["1", "1", "2", "0"], models=("a", "b"), swapped=[False, True, True, False])
    back = judgements(["2", "2", "0"], models=("b", "a"), swapped=[False, True, False])
    table = preference_rates(check_ratings(pd.concat([there, back])))
    assert set(zip(table["model"], table["model_2"], strict=True)) == {("a", "b")}
    assert of(table, "preferred")["estimate"] == pytest.approx(4 / 7)
    assert of(table, "preferred_2")["estimate"] == pytest.approx(1 / 7)
    # First were: a (preferred), b, b (preferred), -, b, a (preferred), -.
    assert of(table, "first_shown_preferred")["estimate"] == pytest.approx(3 / 7)
    position = of(table, "position_difference")
    assert position["estimate"] == pytest.approx(1 / 7)
    assert position["method_note"].startswith("4 of 7 ")


def test_side_comes_from_ratings_with_a_known_side():
    known = judgements(["1", "1", "0"], swapped=[False, False, True])
    unknown = judgements(["2"] * 5, group="consumer")
    table = preference_rates(check_ratings(pd.concat([known, unknown])))
    pooled = {"rater_group": "pooled"}
    assert of(table, "preferred", **pooled)["n_ratings"] == 8
    row = of(table, "first_shown_preferred", **pooled)
    assert (row["estimate"], row["n_ratings"], row["n_raters"]) == (pytest.approx(2 / 3), 3, 1)
    assert not len(table.query("rater_group == 'consumer' and metric == 'position_difference'"))


@pytest.mark.parametrize("swapped", [False, True])
def test_no_side_is_preferred_if_one_model_is_always_shown_first(swapped):
    # Raters who prefer a model would seem to prefer its side.
    table = preference_rates(check_ratings(judgements(["1"] * 24, swapped=[swapped] * 24)))
    assert of(table, "preference_difference")["p_value"] < 0.001
    assert set(table["metric"]) == set(PREFERENCE_METRICS)


def test_datasets_and_persons_are_pooled_and_models_are_not():
    parts = [
        judgements(["1", "1"]),
        judgements(["2", "0"], dataset="d2"),
        judgements(["2"], group="consumer"),
        judgements(["2"] * 9, group="model", rater_kind="model"),
    ]
    table = preference_rates(check_ratings(pd.concat(parts)))
    bias = table.query("dimension == 'bias' and metric == 'preferred'")
    found = {
        (row["rater_kind"], row["dataset"], row["rater_group"]): (row["n_ratings"], row["estimate"])
        for row in bias.to_dict("records")
    }
    assert found[("person", "pooled", "pooled")] == (5, 0.4)
    assert found[("person", "d1", "pooled")] == (3, pytest.approx(2 / 3))
    assert found[("person", "d2", "physician")] == (2, 0)
    assert found[("model", "d1", "model 0")] == (9, 0)
    assert not any(kind == "model" and group == "pooled" for kind, _, group in found)


def test_name_pooled_is_refused():
    with pytest.raises(InputError, match="is reserved for all groups together"):
        preference_rates(check_ratings(judgements(["1"], dataset="pooled")))


def test_other_rubrics_are_ignored():
    rows = judgements(["1"])
    other = rows.head(1).assign(
        rubric="triage", task_id="t", model_2=None, rater_id="r", value="yes"
    )
    other = pd.concat([other.assign(dimension=d) for d in ("manage", "visit", "resource")])
    checked = check_ratings(pd.concat([rows, other]))
    assert set(preference_rates(checked)["rubric"]) == {"pairwise"}
    assert preference_rates(checked[checked["rubric"] == "triage"]).empty


def test_one_rating_a_task_is_mcnemars_test():
    row = of(
        preference_rates(check_ratings(judgements(["1"] * 9 + ["2"] * 3 + ["0"] * 20))),
        "preference_difference",
    )
    law = stats.binom(12, 0.5)
    assert row["p_value"] == pytest.approx(2 * law.cdf(3) - law.pmf(3))


def test_the_studys_preferences(shared_data):
    counts = pd.read_csv(shared_data("published/equitymedqa_implied_counts.csv"))
    counts = counts[counts["statistic"].str.contains("prefers") & (counts["method"] == "bca")]
    counts["group"] = np.where(counts["statistic"].str.contains("equity"), "equity", "physician")
    second = counts["statistic"].str.endswith("Med-PaLM 2")
    groups = {"equity": "health_equity_expert", "physician": "physician"}
    assert len(counts) == 4
    for group, name in groups.items():
        own = counts["group"] == group
        one, two = (
            int(counts.loc[own & side, "implied_count"].iloc[0]) for side in (~second, second)
        )
        tasks = ["1"] * one + ["2"] * two + ["0"] * (1061 - one - two)
        table = preference_rates(
            check_ratings(judgements(tasks, models=("Med-PaLM", "Med-PaLM 2"), group=name))
        )
        for metric, side in (("preferred", ~second), ("preferred_2", second)):
            printed = counts[own & side].iloc[0]
            row = of(table, metric)
            assert round(row["estimate"], 3) == printed["published_rate"]
            # The study draws 1,000 resamples in an order of rows that is not released.
            ranges = printed["range_over_row_orders"].split("/")
            for limit, drawn in zip(("ci_low", "ci_high"), ranges, strict=True):
                low, high = map(float, drawn.split("-"))
                assert low - 0.0011 <= row[limit] <= high + 0.0011


def test_crossed_limits_count_with_items_and_raters():
    tasks = ["111", "000", "222", "110", "000", "111", "000", "222"]
    table = preference_rates(check_ratings(judgements(tasks)))
    row = of(table, "preference_difference")
    said = np.array([{"1": 1, "2": -1, "0": 0}[sign] for text in tasks for sign in text])
    raters, items = np.tile(np.arange(3), 8), np.repeat(np.arange(8), 3)
    found = crossed_interval((said + 1) / 2, items, raters)
    assert row["crossed_low"] == pytest.approx(2 * float(found.ci_low) - 1)
    assert row["crossed_high"] == pytest.approx(2 * float(found.ci_high) - 1)
    # Raters agree on each task: eight tasks, not 24 ratings.
    assert row["crossed_high"] - row["crossed_low"] > 1.3 * (row["ci_high"] - row["ci_low"])
    share = crossed_interval(said == 1, items, raters)
    assert of(table, "preferred")["crossed_high"] == pytest.approx(float(share.ci_high))
    assert of(table, "preferred")["crossed_method"] == str(share.method)
    nothing = of(preference_rates(check_ratings(judgements(["-"]))), "preference_difference")
    assert (nothing["crossed_low"], nothing["crossed_high"]) == (-1, 1)


def test_crossed_p_value_agrees_with_the_crossed_interval():
    rng = np.random.default_rng(11)
    rows = [
        judgements(["".join(rng.choice(list("012"), 3, p=p)) for _ in range(9)], models=models)
        for models, p in (
            (("a", "b"), (0.2, 0.5, 0.3)),
            (("c", "d"), (0.1, 0.8, 0.1)),
            (("e", "f"), (0.6, 0.3, 0.1)),
            (("g", "h"), (1, 0, 0)),
        )
    ]
    ratings = check_ratings(pd.concat(rows))
    seen = set()
    for alpha in (0.01, 0.05, 0.2, 0.6):
        table = preference_rates(ratings, alpha=alpha).query("metric == 'preference_difference'")
        outside = (table["crossed_low"] > 0) | (table["crossed_high"] < 0)
        assert (outside == (table["crossed_p_value"] < alpha)).all()
        seen |= set(outside)
    assert seen == {True, False}
    ties = of(table, "preference_difference", model_2="h")
    assert (ties["p_value"], ties["crossed_p_value"]) == (1, 1)
    assert ties["crossed_test"].startswith("score over items (")
    shares = preference_rates(ratings).query("metric == 'preferred'")
    assert shares["crossed_p_value"].isna().all()
    assert set(shares["crossed_test"]) == {"none"}


def test_raters_with_opposite_preferences_widen_the_interval():
    # Three raters on forty tasks: two always prefer one model, one always the other.
    row = of(preference_rates(check_ratings(judgements(["112"] * 40))), "preference_difference")
    assert row["estimate"] == pytest.approx(1 / 3)
    assert row["p_value"] < 1e-6
    assert row["test"].startswith("sign flips of tasks given")
    assert row["crossed_p_value"] > 0.3
    assert row["crossed_test"] == "two-way clusters, score t"
    nothing = of(preference_rates(check_ratings(judgements(["-"]))), "preference_difference")
    assert np.isnan(nothing["crossed_p_value"])
    assert nothing["crossed_test"] == "none (no ratings)"
