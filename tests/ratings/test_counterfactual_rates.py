"""Counterfactual pairs judged as pairs: cells and margins, and the study's printed intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.crossed_means import crossed_interval
from fairstats.ratings.counterfactual_rates import COUNTERFACTUAL_COLUMNS, counterfactual_rates
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings

RUBRIC = load_rubric("counterfactual")
BIAS = [q.dimension for q in RUBRIC.questions if q.about == "bias"]
WORDS = {"y": "yes", "n": "no", "-": None}


def judgements(said, *, group="physician", **facts):
    """Three signs a judgement: ideal answers differ, contents differ, bias (y, n or -)."""
    rows = []
    for number, (ideal, contents, bias) in enumerate(said):
        bias_value = {"y": "present", "n": "absent", "-": None}[bias]
        values = {"ideal_answers_differ": WORDS[ideal], "contents_differ": WORDS[contents]}
        values |= dict.fromkeys(BIAS, bias_value)
        rows += [
            {
                "benchmark": "demo",
                "dataset": "d1",
                "rubric": "counterfactual",
                "task_id": f"{group} {number // 2} {sorted(facts.items())}",
                "item_id": f"item {number // 2}",
                "item_id_2": f"item {number // 2} b",
                "model": "m",
                "rater_id": f"{group} {number % 2}",
                "rater_kind": "person",
                "rater_group": group,
                "dimension": dimension,
                "value": value,
            }
            | facts
            for dimension, value in values.items()
        ]
    return pd.DataFrame(rows)


def cells(table, dimension="bias", **values):
    found = table[table["dimension"] == dimension]
    for column, value in values.items():
        found = found[found[column] == value]
    found = found.set_index(["ideal_answers_differ", "contents_differ"])
    assert found.index.is_unique
    assert len(found) == 9
    return found


def test_the_four_cells_and_their_margins():
    said = ["yyy", "yyn", "yny", "nyn", "nyy", "nyy", "nnn", "nnn", "nnn", "nny"]
    table = counterfactual_rates(check_ratings(judgements(said)))
    assert list(table.columns) == list(COUNTERFACTUAL_COLUMNS)
    found = cells(table)
    counts = {key: tuple(found.loc[key, ["n_reported", "n_ratings"]]) for key in found.index}
    assert counts == {
        ("yes", "yes"): (1, 2),
        ("yes", "no"): (1, 1),
        ("no", "yes"): (2, 3),
        ("no", "no"): (1, 4),
        ("yes", "pooled"): (2, 3),
        ("no", "pooled"): (3, 7),
        ("pooled", "yes"): (3, 5),
        ("pooled", "no"): (2, 5),
        ("pooled", "pooled"): (5, 10),
    }
    whole = found.loc[("pooled", "pooled")]
    assert (whole["estimate"], whole["n_tasks"], whole["n_raters"]) == (0.5, 5, 2)
    assert 0 < whole["ci_low"] < 0.5 < whole["ci_high"] < 1


def test_empty_cell_has_no_rate_and_a_note():
    found = cells(counterfactual_rates(check_ratings(judgements(["nnn", "nnn"]))))
    empty = found.loc[("yes", "yes")]
    assert np.isnan(empty["estimate"])
    assert (empty["n_ratings"], empty["ci_low"], empty["ci_high"]) == (0, 0, 1)
    full = found.loc[("no", "no")]
    assert full["estimate"] == 0
    assert full["ci_high"] > 0.5


def test_missing_ideal_judgement_counts_only_in_the_total():
    found = cells(counterfactual_rates(check_ratings(judgements(["--y", "-yn", "y-y", "nn-"]))))
    n = {key: int(found.loc[key, "n_ratings"]) for key in found.index}
    assert n[("pooled", "pooled")] == 3
    assert n[("yes", "pooled")] == n[("pooled", "yes")] == 1
    assert sum(n[(i, c)] for i in ("yes", "no") for c in ("yes", "no")) == 0
    assert found.loc[("no", "no"), "n_missing"] == found.loc[("pooled", "pooled"), "n_missing"] == 1


def test_without_judgements_there_are_no_rates():
    found = cells(counterfactual_rates(check_ratings(judgements(["---"]))))
    assert found["estimate"].isna().all()
    assert found["n_ratings"].sum() == 0
    assert counterfactual_rates(check_ratings(judgements(["nnn"])).iloc[:0]).empty


def test_rubric_without_questions_on_differences():
    questions = tuple(q for q in RUBRIC.questions if q.about == "bias")
    own = replace(RUBRIC, name="plain", questions=questions)
    rows = judgements(["nny", "nnn"]).query("dimension in @BIAS").assign(rubric="plain")
    table = counterfactual_rates(check_ratings(rows, rubrics=[own]), rubrics=[own])
    found = cells(table)
    assert found.loc[("pooled", "pooled"), "estimate"] == 0.5
    assert found.loc[("no", "no"), "n_ratings"] == 0


def test_groups_models_and_datasets_are_separate_and_pooled():
    parts = [
        judgements(["nny", "nnn"]),
        judgements(["nny", "nny"], group="consumer"),
        judgements(["nnn"] * 4, dataset="d2"),
        judgements(["nny"] * 6, model="other"),
        judgements(["nny"] * 8, group="model", rater_kind="model"),
    ]
    table = counterfactual_rates(check_ratings(pd.concat(parts)))
    table = table.query("ideal_answers_differ == 'pooled' and contents_differ == 'pooled'")
    found = table.query("dimension == 'bias'").set_index(
        ["model", "rater_kind", "dataset", "rater_group"]
    )["n_ratings"]
    assert found["m", "person", "d1", "pooled"] == 4
    assert found["m", "person", "pooled", "pooled"] == 8
    assert found["other", "person", "d1", "physician"] == 6
    assert [found["m", "model", "d1", f"model {i}"] for i in range(2)] == [4, 4]
    assert ("m", "model", "pooled", "model 0") not in found.index


@pytest.mark.parametrize("group", ["physician", "health_equity_expert"])
def test_the_studys_rates(group, shared_data):
    counts = pd.read_csv(shared_data("published/equitymedqa_implied_counts.csv"))
    name = {"physician": "physician", "health_equity_expert": "equity"}[group]
    printed = counts.query(f"statistic == 'CC-Manual cf rubric {name}' and method == 'bca'").iloc[0]
    reported, n = int(printed["implied_count"]), int(printed["n"])
    said = ["yyy"] * reported + ["yyn"] * (n - reported)
    found = cells(counterfactual_rates(check_ratings(judgements(said, group=group))))
    row = found.loc[("pooled", "pooled")]
    assert round(row["estimate"], 3) == printed["published_rate"]
    # The study draws 1,000 resamples in an order of rows that is not released; a rating is 0.0033.
    ranges = printed["range_over_row_orders"].split("/")
    for limit, drawn in zip(("ci_low", "ci_high"), ranges, strict=True):
        low, high = map(float, drawn.split("-"))
        assert low - 0.0038 <= row[limit] <= high + 0.0038


def test_crossed_limits_count_with_pairs_and_raters():
    said = ["nny", "nny", "nyn", "nyn", "nny", "nny", "nyn", "nyn", "yyn", "yyn", "yyn", "yyn"]
    found = cells(counterfactual_rates(check_ratings(judgements(said))))
    whole = found.loc[("pooled", "pooled")]
    reported = [text[2] == "y" for text in said]
    expected = crossed_interval(reported, np.repeat(np.arange(6), 2), np.tile([0, 1], 6))
    assert whole["crossed_low"] == pytest.approx(float(expected.ci_low))
    assert whole["crossed_high"] == pytest.approx(float(expected.ci_high))
    assert whole["crossed_high"] - whole["crossed_low"] > whole["ci_high"] - whole["ci_low"]
    empty = found.loc[("yes", "no")]
    assert (empty["crossed_low"], empty["crossed_high"]) == (0, 1)
    assert empty["crossed_method"] == "none (no ratings)"


def pairs_of(pairs, said, **facts):
    """Judgements of pairs of items, a text of y and n each, a sign a rater."""
    parts = []
    for (one, other), signs in zip(pairs, said, strict=True):
        part = judgements([f"nn{sign}" for sign in signs], **facts)
        # Of `judgements` each two are of one task; here all of a pair are.
        rater = part.groupby("dimension").cumcount().astype(str)
        part = part.assign(task_id=f"{min(one, other)} {max(one, other)}", rater_id=rater)
        parts.append(part.assign(item_id=one, item_id_2=other))
    return pd.concat(parts, ignore_index=True)


def test_item_order_does_not_matter():
    rng = np.random.default_rng(3)
    pairs = [(f"base {i % 6}", f"variant {i}") for i in range(60)]
    said = ["".join(rng.choice(["y", "n"], 3, p=(p, 1 - p))) for p in np.tile([0.1, 0.8], 30)]
    turned = [pair[::-1] for pair in pairs]
    half = [pair[:: rng.choice([-1, 1])] for pair in pairs]
    there, back, mixed = (
        counterfactual_rates(check_ratings(pairs_of(own, said))) for own in (pairs, turned, half)
    )
    pd.testing.assert_frame_equal(there, back)
    pd.testing.assert_frame_equal(there, mixed)
    whole = cells(there).loc[("pooled", "pooled")]
    assert (whole["n_tasks"], whole["n_clusters"], whole["n_ratings"]) == (60, 6, 180)
    reported = [sign == "y" for text in said for sign in text]
    expected = crossed_interval(reported, np.repeat(np.arange(60) % 6, 3), np.tile(range(3), 60))
    assert whole["crossed_low"] == pytest.approx(float(expected.ci_low))
    assert whole["crossed_high"] == pytest.approx(float(expected.ci_high))
    alone = crossed_interval(reported, np.repeat(np.arange(60), 3), np.tile(range(3), 60))
    assert whole["crossed_high"] > alone.ci_high + 0.1


def test_pairs_are_linked_through_others_but_not_across_models():
    pairs = [("a", "b"), ("c", "b"), ("c", "d"), ("x", "y")]
    one = pairs_of(pairs, ["yn", "ny", "nn", "yy"])
    other = pairs_of([("a", "b"), ("c", "d")], ["yn", "nn"], model="other")
    other = other.assign(task_id="other " + other["task_id"])
    table = counterfactual_rates(check_ratings(pd.concat([one, other])))
    clusters = {
        model: int(cells(table, model=model).loc[("pooled", "pooled"), "n_clusters"])
        for model in ("m", "other")
    }
    assert clusters == {"m": 2, "other": 2}
    single = pairs_of([("a", "b"), ("c", "b")], ["yny", "nyy"])
    row = cells(counterfactual_rates(check_ratings(single))).loc[("pooled", "pooled")]
    assert row["n_clusters"] == 1
    assert "one item: the variance between items is unknown" in row["crossed_method"]
