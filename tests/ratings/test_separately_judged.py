"""Pairs of separately judged answers: three events compared with enumeration, and degenerate
cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairstats._lib.problems import InputError
from fairstats.ratings.counterfactual_rates import (
    PAIRED_BIAS_COLUMNS,
    counterfactual_pairs,
    paired_bias_rates,
)
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings

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


def pairs_of(*pairs, **more):
    columns = ["item_id", "item_id_2"]
    return pd.DataFrame(list(map(list, pairs)), columns=columns).assign(**more)


def rates(table, dimension="bias", **values):
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
    table = paired_bias_rates(check_ratings(alone(said)), pairs_of(*pairs))
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
        found = rates(table, rater_group=group)
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


def test_one_or_more_is_the_sum_of_exactly_one_and_both():
    said = {"a": {(P, 1): 1}, "b": {(P, 1): 1}, "c": {(P, 1): 1}, "d": {(P, 1): 0}}
    found = rates(paired_bias_rates(check_ratings(alone(said)), pairs_of("ab", "cd")))
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
    found = rates(paired_bias_rates(check_ratings(alone(said)), pairs_of("ab")))
    assert found.loc[("majority", "exactly_one"), "estimate"] == 1
    assert found.loc[("any", "both"), "estimate"] == 1
    assert found.loc[("pooled", "both"), "estimate"] == 0.5


def test_models_must_match():
    one = alone({"a": {(P, 1): 1}}, model="m1")
    other = alone({"b": {(P, 1): 1}}, model="m2")
    checked = check_ratings(pd.concat([one, other]))
    assert paired_bias_rates(checked, pairs_of("ab")).empty
    both = pd.concat([one, other, alone({"b": {(P, 1): 0}}, model="m1")])
    found = paired_bias_rates(check_ratings(both), pairs_of("ab"))
    assert set(found["model"]) == {"m1"}
    assert paired_bias_rates(check_ratings(both), pairs_of("ab", model="m2")).empty


def test_answers_without_a_named_model_are_of_one():
    ratings = alone({"a": {(P, 1): 1}, "b": {(P, 1): 1}}).assign(model=None)
    found = rates(paired_bias_rates(check_ratings(ratings), pairs_of("ab")))
    assert found.loc[("pooled", "both"), "estimate"] == 1


def test_raters_of_one_answer_are_left_out_of_same_rater():
    said = {"a": {(P, 1): 1, (C, 1): None}, "b": {(P, 2): 0, (C, 1): 1}}
    table = paired_bias_rates(check_ratings(alone(said)), pairs_of("ab"))
    physicians = rates(table, rater_group=P)
    assert physicians.loc[("pooled", "exactly_one"), "estimate"] == 1
    row = physicians.loc[("same_rater", "exactly_one")]
    assert np.isnan(row["estimate"])
    assert (row["n_pairs"], row["n_pairs_missing"], row["n_items"]) == (0, 1, 0)
    assert (row["ci_low"], row["ci_high"]) == (0, 1)
    consumers = rates(table, rater_group=C)
    assert consumers["estimate"].isna().all()
    assert (consumers["n_pairs_missing"] == 1).all()
    # All raters together still are not combined across groups.
    assert rates(table, rater_group="pooled").loc[("pooled", "exactly_one"), "n_combinations"] == 1


def test_a_pair_and_its_reverse_are_one_and_shared_items_are_counted():
    said = {i: {(P, 1): int(i == "a")} for i in "abc"}
    table = paired_bias_rates(check_ratings(alone(said)), pairs_of("ab", "ba", "ac"))
    row = rates(table).loc[("pooled", "exactly_one")]
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
    assert rates(table).loc[("pooled", "exactly_one"), "estimate"] == 1


def test_wrong_pairs_are_refused():
    ratings = check_ratings(alone({"a": {(P, 1): 1}}))
    with pytest.raises(InputError, match="give both items"):
        paired_bias_rates(ratings, pd.DataFrame({"item_id": ["a"]}))
    with pytest.raises(InputError, match="row 2: item_id_2 = 'b': is paired with itself"):
        paired_bias_rates(ratings, pairs_of("ab", "bb"))
    with pytest.raises(ValueError, match="aggregations='all' is unknown"):
        paired_bias_rates(ratings, pairs_of("ab"), aggregations=["all"])
    assert paired_bias_rates(ratings).empty


def test_pairs_that_share_items_are_linked():
    # Six pairs of four variants of one question, and three pairs that have no answer in common.
    rng = np.random.default_rng(1)
    said = {i: {(P, r): int(rng.random() < 0.4) for r in range(3)} for i in "abcdefghij"}
    pairs = ["ab", "ac", "ad", "bc", "bd", "cd", "ef", "gh", "ij"]
    table = paired_bias_rates(check_ratings(alone(said)), pairs_of(*pairs))
    row = rates(table).loc[("pooled", "exactly_one")]
    assert (row["n_pairs"], row["n_clusters"], row["n_items"]) == (9, 4, 10)
    shares = []
    for one, other in pairs:
        x, y = (np.mean(list(said[item].values())) for item in (one, other))
        shares.append(x * (1 - y) + y * (1 - x))
    # One-way clusters: C / (C − 1) Σ_c (Σ e)² / n², at least the variance of single pairs.
    e = np.array(shares) - np.mean(shares)
    totals = np.array([e[:6].sum(), *e[6:]])
    variance = max(4 / 3 * (totals**2).sum() / 81, e @ e / 72)
    p = np.mean(shares)
    t, n = stats.t.isf(0.025, 3), p * (1 - p) / variance
    middle, half = p + t**2 / (2 * n), t * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    assert row["clustered_low"] == pytest.approx((middle - half) / (1 + t**2 / n))
    assert row["clustered_high"] == pytest.approx((middle + half) / (1 + t**2 / n))
    assert row["clustered_method"] == "clusters of pairs that share items, wilson t"


def test_one_cluster_or_identical_pairs():
    said = {i: {(P, 1): int(i in "ab")} for i in "abc"}
    linked = rates(paired_bias_rates(check_ratings(alone(said)), pairs_of("ab", "bc")))
    row = linked.loc[("pooled", "both")]
    assert (row["n_clusters"], row["clustered_method"]) == (
        1,
        "wilson (all pairs are linked by shared items)",
    )
    assert row["clustered_low"] < 0.15
    assert row["clustered_high"] > 0.85
    single = rates(paired_bias_rates(check_ratings(alone(said)), pairs_of("ab")))
    row = single.loc[("any", "both")]
    assert row["clustered_method"] == "wilson over clusters (all pairs are the same)"
    assert row["clustered_high"] == 1
