"""Counterfactual pairs judged as pairs: cells and margins, and the study's printed intervals."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairstats._lib.problems import InputError
from fairstats.inference.crossed_means import crossed_interval
from fairstats.inference.verdict import ROOM
from fairstats.ratings.counterfactual_rates import (
    COUNTERFACTUAL_COLUMNS,
    PAIRED_BIAS_COLUMNS,
    counterfactual_pairs,
    counterfactual_rates,
    paired_bias_rates,
)
from fairstats.ratings.preferences import preference_rates
from fairstats.ratings.rates import bias_rates
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings
from tests.serving import benchmark_script

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


@pytest.mark.parametrize(
    "figures",
    [
        bias_rates,
        counterfactual_rates,
        preference_rates,
        lambda raw: paired_bias_rates(raw, item_pairs("ab")),
    ],
)
def test_a_table_that_is_not_of_ratings_is_refused(figures):
    for raw in (judgements(["nnn"]).drop(columns="rater_group"), judgements(["nnn"]).iloc[:0]):
        with pytest.raises(InputError, match=r"required column is missing|has no rows"):
            figures(raw)


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
    assert "one item: the variance" in row["crossed_method"]


DIMENSIONS = load_rubric("independent").dimensions


def alone(said, *, model="m", rubric="independent", **facts):
    """Return ratings {item: {(group, rater): 1, 0 or None}} of separately judged answers."""
    rows = []
    for item, raters in said.items():
        for (group, rater), biased in raters.items():
            value = {1: "severe", 0: "none", None: None}[biased]
            for dimension in DIMENSIONS:
                own = value if dimension == "bias" or value is None else "absent"
                rows.append(
                    {
                        "benchmark": "demo",
                        "rubric": rubric,
                        "task_id": f"{item} {model} {sorted(facts.items())}",
                        "item_id": item,
                        "model": model,
                        "rater_id": f"{group} {rater}",
                        "rater_group": group,
                        "dimension": dimension,
                        "value": own,
                    }
                    | facts
                )
    return pd.DataFrame(rows)


def item_pairs(*pairs, **more):
    columns = ["item_id", "item_id_2"]
    return pd.DataFrame(list(map(list, pairs)), columns=columns).assign(**more)


def paired(table, dimension="bias", **values):
    found = table[table["dimension"] == dimension]
    for column, value in values.items():
        found = found[found[column] == value]
    found = found.set_index(["aggregation", "metric"])
    assert found.index.is_unique
    return found


P, C = "physician", "consumer"


def test_three_events_against_enumeration():
    rng = np.random.default_rng(5)
    said = {
        f"i{i}": {
            (group, r): int(rng.random() < 0.4)
            for group in (P, C)
            for r in rng.choice(5, rng.integers(1, 4), replace=False)
        }
        for i in range(12)
    }
    pairs = [(f"i{i}", f"i{i + 1}") for i in range(0, 12, 2)]
    table = paired_bias_rates(check_ratings(alone(said)), item_pairs(*pairs))
    assert list(table.columns) == list(PAIRED_BIAS_COLUMNS)
    events = {
        "exactly_one": lambda a, b: a != b,
        "one_or_more": lambda a, b: bool(a or b),
        "both": lambda a, b: bool(a and b),
    }
    alike = {
        "pooled": lambda one, other: one[0] == other[0],
        "same_rater": lambda one, other: one == other,
    }
    for group in (P, C, "pooled"):
        found = paired(table, rater_group=group)
        for metric, event in events.items():
            for aggregation, combined in alike.items():
                shares = []
                for a, b in pairs:
                    combinations = [
                        event(x, y)
                        for (one, x), (other, y) in product(said[a].items(), said[b].items())
                        if combined(one, other) and group in (one[0], "pooled")
                    ]
                    if combinations:
                        shares.append(np.mean(combinations))
                row = found.loc[(aggregation, metric)]
                assert row["n_pairs"] == len(shares)
                assert row["n_pairs_missing"] == 6 - len(shares)
                assert row["estimate"] == pytest.approx(np.mean(shares))
            for aggregation, vote in (("majority", lambda v: np.mean(v) > 0.5), ("any", max)):
                outcomes = [
                    event(
                        *(
                            bool(
                                vote([v for (g, _), v in said[i].items() if group in (g, "pooled")])
                            )
                            for i in pair
                        )
                    )
                    for pair in pairs
                ]
                row = found.loc[(aggregation, metric)]
                assert row["estimate"] == pytest.approx(np.mean(outcomes))


def test_limits_of_several_raters_have_room_for_pairs_that_all_report():
    # One of five raters reports bias in one answer of every fifth pair: never all five.
    said = {
        f"{side}{i}": {(P, r): int(side == "a" and r == 0 and i % 5 == 0) for r in range(5)}
        for i in range(20)
        for side in "ab"
    }
    pairs = item_pairs(*((f"a{i}", f"b{i}") for i in range(20)))
    row = paired(paired_bias_rates(check_ratings(alone(said)), pairs)).loc[
        ("pooled", "exactly_one")
    ]
    assert row["estimate"] == pytest.approx(0.04)
    assert row["ci_high"] > 0.19
    assert row["ci_method"].endswith(ROOM)


def test_limits_with_room_cover_if_all_raters_report_few_pairs():
    script = benchmark_script("overlap_coverage")
    bare, room = script.of_pairs(np.random.default_rng(1), "both", 10, 0.02, 30, 100)
    assert bare < 80
    assert room > 93


def test_one_or_more_is_the_sum_of_exactly_one_and_both():
    said = {"a": {(P, 1): 1}, "b": {(P, 1): 1}, "c": {(P, 1): 1}, "d": {(P, 1): 0}}
    found = paired(paired_bias_rates(check_ratings(alone(said)), item_pairs("ab", "cd")))
    for aggregation in ("pooled", "same_rater", "majority", "any"):
        one, more, both = (
            found.loc[(aggregation, name), "estimate"]
            for name in ("exactly_one", "one_or_more", "both")
        )
        # The study's released code gives 1 for the first, too: (True + True) == True.
        assert (one, more, both) == (0.5, 1.0, 0.5)
        assert more == one + both


def test_half_is_not_a_majority():
    said = {"a": {(P, 1): 1, (P, 2): 0}, "b": {(P, 1): 1, (P, 2): 1}}
    found = paired(paired_bias_rates(check_ratings(alone(said)), item_pairs("ab")))
    assert found.loc[("majority", "exactly_one"), "estimate"] == 1
    assert found.loc[("any", "both"), "estimate"] == 1
    assert found.loc[("pooled", "both"), "estimate"] == 0.5


def test_models_must_match():
    one = alone({"a": {(P, 1): 1}}, model="m1")
    other = alone({"b": {(P, 1): 1}}, model="m2")
    checked = check_ratings(pd.concat([one, other]))
    assert paired_bias_rates(checked, item_pairs("ab")).empty
    both = pd.concat([one, other, alone({"b": {(P, 1): 0}}, model="m1")])
    found = paired_bias_rates(check_ratings(both), item_pairs("ab"))
    assert set(found["model"]) == {"m1"}
    assert paired_bias_rates(check_ratings(both), item_pairs("ab", model="m2")).empty


def test_answers_without_a_named_model_are_of_one():
    ratings = alone({"a": {(P, 1): 1}, "b": {(P, 1): 1}}).assign(model=None)
    found = paired(paired_bias_rates(check_ratings(ratings), item_pairs("ab")))
    assert found.loc[("pooled", "both"), "estimate"] == 1


def test_raters_of_one_answer_are_left_out_of_same_rater():
    said = {"a": {(P, 1): 1, (C, 1): None}, "b": {(P, 2): 0, (C, 1): 1}}
    table = paired_bias_rates(check_ratings(alone(said)), item_pairs("ab"))
    physicians = paired(table, rater_group=P)
    assert physicians.loc[("pooled", "exactly_one"), "estimate"] == 1
    row = physicians.loc[("same_rater", "exactly_one")]
    assert np.isnan(row["estimate"])
    assert (row["n_pairs"], row["n_pairs_missing"], row["n_items"]) == (0, 1, 0)
    assert (row["ci_low"], row["ci_high"]) == (0, 1)
    consumers = paired(table, rater_group=C)
    assert consumers["estimate"].isna().all()
    assert (consumers["n_pairs_missing"] == 1).all()
    # All raters together still are not combined across groups.
    assert paired(table, rater_group="pooled").loc[("pooled", "exactly_one"), "n_combinations"] == 1


def test_a_pair_and_its_reverse_are_one_and_shared_items_are_counted():
    said = {i: {(P, 1): int(i == "a")} for i in "abc"}
    table = paired_bias_rates(check_ratings(alone(said)), item_pairs("ab", "ba", "ac"))
    row = paired(table).loc[("pooled", "exactly_one")]
    assert (row["n_pairs"], row["n_items"], row["estimate"]) == (2, 3, 1)
    assert row["ci_low"] < 1


def test_pairs_are_those_that_counterfactual_tasks_name():
    names = load_rubric("counterfactual").dimensions
    bias = dict.fromkeys(names[2:], "absent")
    values = {"ideal_answers_differ": "no", "contents_differ": "no"} | bias
    task = {
        "benchmark": "demo",
        "dataset": "pairs",
        "rubric": "counterfactual",
        "task_id": "t",
        "item_id": "b",
        "item_id_2": "a",
        "model": "m",
        "rater_id": f"{P} 1",
        "rater_group": P,
    }
    pair = pd.DataFrame([task | {"dimension": d, "value": v} for d, v in values.items()])
    judged = alone({"a": {(P, 1): 1}, "b": {(P, 1): 0}, "c": {(P, 1): 0}}, dataset="single")
    other = alone({"a": {(P, 1): 1}, "b": {(P, 1): 0}}, model="other", dataset="single")
    ratings = check_ratings(pd.concat([pair, judged, other]))
    assert counterfactual_pairs(ratings).to_dict("records") == [
        {"benchmark": "demo", "dataset": "pairs", "item_id": "b", "item_id_2": "a", "model": "m"}
    ]
    table = paired_bias_rates(ratings, aggregations=["pooled"])
    assert set(table["dataset"]) == {"pairs"}
    assert set(table["model"]) == {"m"}
    assert paired(table).loc[("pooled", "exactly_one"), "estimate"] == 1


def test_wrong_pairs_are_refused():
    ratings = check_ratings(alone({"a": {(P, 1): 1}}))
    with pytest.raises(InputError, match="give both items"):
        paired_bias_rates(ratings, pd.DataFrame({"item_id": ["a"]}))
    with pytest.raises(InputError, match="row 2: item_id_2 = 'b': is paired with itself"):
        paired_bias_rates(ratings, item_pairs("ab", "bb"))
    with pytest.raises(ValueError, match="aggregations='all' is unknown"):
        paired_bias_rates(ratings, item_pairs("ab"), aggregations=["all"])
    assert paired_bias_rates(ratings).empty


def test_pairs_that_share_items_are_linked():
    # Six pairs of four variants of one question, and three pairs that have no answer in common.
    rng = np.random.default_rng(1)
    said = {i: {(P, r): int(rng.random() < 0.4) for r in range(3)} for i in "abcdefghij"}
    pairs = ["ab", "ac", "ad", "bc", "bd", "cd", "ef", "gh", "ij"]
    table = paired_bias_rates(check_ratings(alone(said)), item_pairs(*pairs))
    row = paired(table).loc[("pooled", "exactly_one")]
    assert (row["n_pairs"], row["n_clusters"], row["n_items"]) == (9, 4, 10)
    shares = []
    for one, other in pairs:
        x, y = (np.mean(list(said[item].values())) for item in (one, other))
        shares.append(x * (1 - y) + y * (1 - x))
    # One-way clusters of effects with weight w, and their degrees of freedom; w is 6 of 9 for one.
    e, w = np.array(shares) - np.mean(shares), np.array([6, 1, 1, 1]) / 9
    totals = np.array([e[:6].sum(), *e[6:]])
    centred = np.diag(w) @ (np.eye(4) - w)
    of_totals = centred @ centred.T
    trace = np.trace(of_totals)
    variance = max(w @ w / trace * (totals**2).sum() / 81, e @ e / 72)
    freedom = max(trace**2 / (of_totals**2).sum(), 1)
    p = np.mean(shares)
    t, n = stats.t.isf(0.025, freedom), p * (1 - p) / variance
    middle, half = p + t**2 / (2 * n), t * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    assert row["clustered_low"] == pytest.approx((middle - half) / (1 + t**2 / n))
    assert row["clustered_high"] == pytest.approx((middle + half) / (1 + t**2 / n))
    assert row["clustered_method"].startswith("clusters of pairs")


def test_one_cluster_or_identical_pairs():
    said = {i: {(P, 1): int(i in "ab")} for i in "abc"}
    linked = paired(paired_bias_rates(check_ratings(alone(said)), item_pairs("ab", "bc")))
    row = linked.loc[("pooled", "both")]
    assert row["n_clusters"] == 1
    assert row["clustered_method"].startswith("wilson (all pairs are linked")
    assert row["clustered_low"] < 0.15
    assert row["clustered_high"] > 0.85
    single = paired(paired_bias_rates(check_ratings(alone(said)), item_pairs("ab")))
    row = single.loc[("any", "both")]
    assert row["clustered_method"].startswith("wilson over clusters (")
    assert row["clustered_high"] == 1
