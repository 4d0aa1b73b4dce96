"""Changed answers and changed snippets: degenerate tables first, then counts by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairstats._lib.problems import InputError
from fairstats.inference.intervals import wilson
from fairstats.retrieval.effects import (
    CELLS,
    CHANGE_DIFFERENCE,
    CHANGED_OTHER,
    CHANGED_SAME,
    EFFECT_COLUMNS,
    retrieval_effects,
)
from fairstats.retrieval.overlap import retrieval_overlap
from fairstats.retrieval.variant_lists import no_retrievals
from fairstats.retrieval.voting import vote_counts
from tests.make_answers import make_answers
from tests.make_kinds import declared
from tests.retrieval_tables import drawn_lists, retrievals_of

STRATEGY = "plain+bm25@2"
FULL = {
    ("sex", "male"): "ab",
    ("sex", "female"): "ab",
    ("ses", "high_income"): "ab",
    ("ses", "low_income"): "ab",
    ("baseline", "original"): "ab",
    ("baseline", "neutralized"): "ab",
}


def case(pairs: list[tuple[str, str, str, str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return answers about race with the key A, and their retrievals.

    A pair is the two letters, ``-`` for a missing one, and the two lists, a letter a snippet.
    """
    rows, lists = [], {}
    for number, (a, b, list_a, list_b) in enumerate(pairs, start=1):
        item = f"demo-{number:02}"
        # Another attribute's snippets mean that the item was searched for, unless it is "x".
        own = {("race", "white"): list_a, ("race", "black"): list_b}
        found = {} if "x" in list_a else FULL | own
        lists |= {(item, *variant): list(text) for variant, text in found.items()}
        rows += [
            {
                "benchmark": "key-a",
                "benchmark_version": "1",
                "model": "m",
                "strategy": STRATEGY,
                "item_id": item,
                "attribute": "race",
                "group": group,
                "sample": 0,
                "answer": None if letter == "-" else letter,
                "answer_key": "A",
            }
            for group, letter in (("white", a), ("black", b))
        ]
    return pd.DataFrame(rows).astype({"answer": "str"}), retrievals_of(lists, benchmark="key-a")


@pytest.fixture
def key_a(demo):
    """Return the demonstration benchmark with A as the key of every item."""
    from dataclasses import replace

    return [replace(demo, name="key-a", answer_keys=dict.fromkeys(demo.answer_keys, "A"))]


def effects(pairs, benchmarks, **options) -> pd.DataFrame:
    answers, retrievals = case(pairs)
    table = retrieval_effects(answers, retrievals, benchmarks=benchmarks, **options)
    return table.set_index(["of", "metric"])


# Degenerate


def test_without_retrievals_or_a_retriever_the_table_is_empty(demo):
    answers = make_answers(0.6, strategies=["plain", "plain+bm25@10"], missing=0.05)
    table = retrieval_effects(answers, no_retrievals())
    assert (len(table), list(table.columns)) == (0, list(EFFECT_COLUMNS))
    retrievals = retrievals_of(drawn_lists(demo))
    assert retrieval_effects(answers[answers["strategy"] == "plain"], retrievals).empty
    voted = answers.assign(strategy="majority_vote+bm25@10").drop_duplicates(
        ["strategy", "item_id", "attribute", "group"]
    )
    assert retrieval_effects(voted, retrievals).empty
    filled = retrieval_effects(answers, retrievals)
    pd.testing.assert_series_equal(table.dtypes, filled.dtypes)


def test_comparison_needs_both_kinds_of_pairs(key_a):
    table = effects([("A", "B", "ab", "ab"), ("A", "A", "ab", "ab")], key_a)
    row = table.loc[("all", CHANGE_DIFFERENCE)]
    assert np.isnan(row["estimate"])
    assert np.isnan(row["p_value"])
    assert (row["ci_low"], row["ci_high"], row["n"]) == (-1, 1, 2)
    assert row["method_note"].startswith("no pairs with other snippets,")
    assert pd.isna(row["test"])
    nothing = table.loc[("wrong_a", CHANGE_DIFFERENCE)]
    assert "and none with same snippets" in nothing["method_note"]
    cell = table.loc[("wrong_a", CELLS[0])]
    assert (cell["count"], cell["n"], cell["method_note"]) == (0, 0, "no such pairs")
    assert np.isnan(cell["estimate"])


def test_p_is_one_if_no_answer_changed(key_a):
    table = effects([("B", "B", "ab", "ab"), ("C", "C", "ab", "cd")], key_a)
    row = table.loc[("all", CHANGE_DIFFERENCE)]
    assert (row["estimate"], row["p_value"]) == (0, 1)
    assert row["ci_low"] < 0 < row["ci_high"]


def test_missing_answers_are_counted_separately(key_a):
    table = effects([("B", "-", "ab", "cd"), ("-", "-", "ab", "ab"), ("B", "B", "ab", "ab")], key_a)
    assert table.loc[("wrong_a", "counterpart_missing"), ["count", "n"]].tolist() == [1, 2]
    assert table.loc[("wrong_b", "counterpart_missing"), ["count", "n"]].tolist() == [0, 1]
    assert table.loc[("all", "counterpart_missing"), ["count", "n"]].tolist() == [2, 3]
    for of in ("wrong_a", "wrong_b", "all"):
        assert table.loc[[(of, cell) for cell in CELLS], "count"].tolist() == [1, 0, 0, 0]


def test_items_without_a_snippet_are_counted_separately(key_a):
    table = effects(
        [("B", "A", "x", "x"), ("B", "A", "", ""), ("B", "B", "", "a"), ("A", "A", "ab", "ab")],
        key_a,
    )
    assert table.loc[("all", "not_retrieved"), ["count", "n"]].tolist() == [1, 4]
    assert table.loc[("wrong_a", "not_retrieved"), ["count", "n"]].tolist() == [1, 3]
    # No results for both is the same context; for one of them it is a different one.
    assert table.loc[("wrong_a", CELLS[1]), "count"] == 1
    assert table.loc[("wrong_a", CELLS[2]), "count"] == 1
    assert table.loc[("all", CELLS[0]), ["count", "n"]].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t[t["rank"] < 2], "end at rank 1"),
        (lambda t: t.assign(retriever="dense"), "no retrievals by bm25 for key-a, version 1"),
        (lambda t: t[t["group"] != "black"], "no snippets for race black"),
    ],
)
def test_retrievals_that_are_lacking_in_part_are_refused(key_a, change, said):
    answers, retrievals = case([("A", "B", "ab", "cd")])
    with pytest.raises(InputError, match=said):
        retrieval_effects(answers, change(retrievals), benchmarks=key_a)


# Counts


def test_counts_by_hand(key_a):
    pairs = [
        ("A", "B", "ab", "ab"),  # wrong_b: same snippets, other answer
        ("A", "B", "ab", "ba"),  # wrong_b: reordered, other answer
        ("B", "B", "ab", "cd"),  # both wrong: other snippets, same answer
        ("B", "C", "ab", "ac"),  # both wrong: other snippets, other answer
        ("B", "A", "ab", "ab"),  # wrong_a: same snippets, other answer
        ("A", "A", "ab", "ab"),
        ("A", "A", "ab", "cd"),
    ]
    table = effects(pairs, key_a)
    expected = {"wrong_a": [0, 1, 1, 1], "wrong_b": [0, 1, 1, 2], "all": [1, 2, 2, 2]}
    for of, counts in expected.items():
        assert table.loc[[(of, cell) for cell in CELLS], "count"].tolist() == counts
        assert set(table.loc[[(of, cell) for cell in CELLS], "n"]) == {sum(counts)}
    assert table["count"].xs("reordered", level="metric").to_dict() == {
        "wrong_a": 0,
        "wrong_b": 1,
        "all": 1,
    }
    assert table.loc[("all", CHANGED_SAME), ["count", "n"]].tolist() == [2, 3]
    assert table.loc[("all", CHANGED_OTHER), ["count", "n"]].tolist() == [2, 4]
    assert table.loc[("all", CHANGE_DIFFERENCE), "estimate"] == pytest.approx(2 / 4 - 2 / 3)
    assert set(table["retriever"]) == {"bm25"}
    assert set(table["top_k"]) == {2}
    share = table.loc[("all", CELLS[1])]
    assert (share["ci_low"], share["ci_high"]) == tuple(
        map(float, (wilson(2, 7).ci_low, wilson(2, 7).ci_high))
    )


def test_strategys_k_limits_the_snippets(key_a):
    answers, retrievals = case([("A", "B", "ab", "ac"), ("A", "A", "ab", "ab")])
    one = retrieval_effects(
        answers.assign(strategy="plain+bm25@1"), retrievals, benchmarks=key_a
    ).set_index(["of", "metric"])
    assert one.loc[("all", CELLS[1]), "count"] == 1
    assert one.loc[("all", CELLS[3]), "count"] == 0


def test_the_difference_has_the_tests_and_limits_of_two_independent_groups(key_a):
    pairs = [("A", "B", "ab", "cd")] * 9 + [("A", "A", "ab", "cd")] * 3
    pairs += [("A", "B", "ab", "ab")] * 2 + [("A", "A", "ab", "ab")] * 8
    row = effects(pairs, key_a).loc[("all", CHANGE_DIFFERENCE)]
    assert row["estimate"] == pytest.approx(9 / 12 - 2 / 10)
    assert row["p_value"] == pytest.approx(stats.fisher_exact([[9, 3], [2, 8]])[1])
    from statsmodels.stats.proportion import confint_proportions_2indep

    expected = confint_proportions_2indep(9, 12, 2, 10, method="newcomb")
    np.testing.assert_allclose((row["ci_low"], row["ci_high"]), expected, atol=1e-9)
    assert "association" in row["method_note"]
    narrow = effects(pairs, key_a, alpha=0.5).loc[("all", CHANGE_DIFFERENCE)]
    assert row["ci_low"] < narrow["ci_low"] < narrow["ci_high"] < row["ci_high"]
    assert narrow["ci_level"] == 0.5


def test_several_samples_have_no_test_and_copies_do_not_count(key_a):
    pairs = [("A", "B", "ab", "cd")] * 5 + [("A", "A", "ab", "cd")] * 3
    pairs += [("A", "B", "ab", "ab")] * 2 + [("A", "A", "ab", "ab")] * 8
    answers, retrievals = case(pairs)
    copies = pd.concat([answers.assign(sample=number) for number in range(3)])
    one, three = (
        retrieval_effects(rows, retrievals, benchmarks=key_a).set_index(["of", "metric"])
        for rows in (answers, copies)
    )
    row = three.loc[("all", CHANGE_DIFFERENCE)]
    assert row["estimate"] == one.loc[("all", CHANGE_DIFFERENCE), "estimate"]
    assert np.isnan(row["p_value"])
    assert ": no test;" in row["method_note"]
    for metric in (CHANGED_OTHER, CELLS[1]):
        found, single = three.loc[("all", metric)], one.loc[("all", metric)]
        assert found["count"] == 3 * single["count"]
        assert "design effect" in found["ci_method"]
        # Three copies of an answer are worth one, up to Student's quantile for few items.
        assert 0 <= found["ci_high"] - single["ci_high"] < 0.03


def test_one_item_with_a_change_does_not_show_that_samples_vary_independently(key_a):
    """Items whose samples all change can be there, and happen not to be drawn."""
    pairs = [("A", "A", "ab", "ab")] * 20
    answers, retrievals = case(pairs)
    samples = pd.concat([answers.assign(sample=number) for number in range(3)], ignore_index=True)
    one = samples.index[(samples["group"] == "black") & (samples["sample"] == 2)][0]
    samples.loc[one, "answer"] = "B"
    table = retrieval_effects(samples, retrievals, benchmarks=key_a)
    row = table[(table["of"] == "all") & (table["metric"] == CHANGED_SAME)].iloc[0]
    assert (row["count"], row["n"]) == (1, 60)
    # Independent samples would have a design effect of 1, equal ones of 3.
    assert row["ci_high"] > wilson(1, 60, design_effect=2).ci_high


@pytest.mark.parametrize("clustered", [False, True])
def test_difference_of_several_samples_has_room_for_rare_items(key_a, clustered):
    pairs = [("A", "A", "ab", "cd")] * 12 + [("A", "A", "ab", "ab")] * 12
    answers, retrievals = case(pairs)
    answers["cluster"] = answers["item_id"]
    samples = pd.concat([answers.assign(sample=number) for number in range(20)], ignore_index=True)
    # In both parts, one answer to each of eight items differs by chance.
    black = samples[(samples["group"] == "black") & (samples["sample"] == 0)].index
    samples.loc[[*black[:8], *black[-8:]], "answer"] = "B"
    benchmarks = [replace(key_a[0], cluster="patient" if clustered else None)]
    table = retrieval_effects(samples, retrievals, benchmarks=benchmarks)
    row = table[(table["of"] == "all") & (table["metric"] == CHANGE_DIFFERENCE)].iloc[0]
    # Of 12 more items in a part, two could change in all samples.
    assert (row["ci_low"] < -2 / 12) == (row["ci_high"] > 2 / 12) == (not clustered)
    assert ("with room for rare differences" in row["ci_method"]) == (not clustered)
    assert row["estimate"] == 0
    assert np.isnan(row["p_value"])


def test_items_of_a_cluster_count_as_one(key_a):
    pairs = [("A", "B", "ab", "cd")] * 3 + [("A", "A", "ab", "cd")] * 2
    pairs += [("A", "B", "ab", "ab")] * 2 + [("A", "A", "ab", "ab")] * 4
    clustered = replace(key_a[0], cluster="patient")
    one, two = (
        retrieval_effects(
            answers.assign(cluster="c" + (number % len(pairs)).astype(str)),
            retrievals,
            benchmarks=[clustered],
        ).set_index(["of", "metric"])
        for times in (1, 2)
        for answers, retrievals in [case(pairs * times)]
        for number in [answers["item_id"].str[-2:].astype(int) - 1]
    )
    assert one.loc[("all", CHANGE_DIFFERENCE), "test"] == "fisher exact"
    assert np.isnan(two.loc[("all", CHANGE_DIFFERENCE), "p_value"])
    for metric in (CHANGED_OTHER, CHANGED_SAME):
        found, single = two.loc[("all", metric)], one.loc[("all", metric)]
        assert found["count"] == 2 * single["count"]
        # Two copies of an item are worth one, up to Student's quantile for few items.
        assert 0 <= found["ci_high"] - single["ci_high"] < 0.08


def test_every_pair_of_every_unit_has_its_rows_in_order(demo):
    answers = pd.concat(
        make_answers(
            0.6,
            strategies=["cot+bm25@15", "plain+bm25@10"],
            missing=0.05,
            models=[model],
            seed=seed,
        )
        for seed, model in enumerate(("two", "<b>one</b>"))
    )
    retrievals = retrievals_of(drawn_lists(demo, replaced=0.02))
    table = retrieval_effects(answers, retrievals)
    assert len(table) == 4 * 4 * 3 * 10
    units = table[["model", "strategy", "attribute"]].drop_duplicates().values.tolist()
    assert units == [
        [model, strategy, attribute]
        for model in ("<b>one</b>", "two")
        for strategy in ("cot+bm25@15", "plain+bm25@10")
        for attribute in ("race", "sex", "ses", "baseline")
    ]
    shuffled = retrieval_effects(
        answers.sample(frac=1, random_state=1), retrievals.sample(frac=1, random_state=2)
    )
    pd.testing.assert_frame_equal(table, shuffled)
    cells = table[table["metric"].isin(CELLS)].groupby(["model", "strategy", "attribute", "of"])
    assert (cells["count"].sum() == cells["n"].first()).all()


def test_the_wrong_answers_are_those_of_plain_pandas(demo):
    answers = make_answers(0.6, strategies=["plain+bm25@10"], missing=0.05)
    lists = drawn_lists(demo, replaced=0.03)
    table = retrieval_effects(answers, retrievals_of(lists))
    wide = answers[answers["attribute"] == "ses"].pivot(
        index="item_id", columns="group", values="answer"
    )
    counts = dict.fromkeys(CELLS, 0)
    for item, row in wide.iterrows():
        high, low = row["high_income"], row["low_income"]
        if pd.isna(high) or pd.isna(low) or low == demo.answer_keys[item]:
            continue
        of_high, of_low = (lists[item, "ses", g][:10] for g in ("high_income", "low_income"))
        snippets = "same" if of_high == of_low else "other"
        counts[f"{snippets}_snippets_{'same' if high == low else 'other'}_answer"] += 1
    own = table[(table["attribute"] == "ses") & (table["of"] == "wrong_b")].set_index("metric")
    assert own.loc[list(CELLS), "count"].to_dict() == counts
    assert sum(counts.values()) > 5


@pytest.mark.parametrize("kind", ["decision", "score"])
def test_without_right_answers_none_is_wrong_and_close_scores_are_the_same(benchmark_file, kind):
    """Every answer without a key was wrong, and scores that count as the same had changed."""
    parts = {"keys": "item_id\ni1\ni2\n", "keys_file": 'keys_file = "keys.csv"'}
    if kind == "score":
        parts = {"keys": "item_id,answer_key\ni1,3\ni2,3\n", "keys_file": parts["keys_file"]}
        parts["options"] = 'kind = "score"\nlimits = [0, 9]\nsame_within = 3'
    benchmark = declared(benchmark_file, kind, **parts)
    given = ("Y", "N") if kind == "decision" else ("3", "6")
    row = {"benchmark": "three", "benchmark_version": "1", "model": "m", "strategy": STRATEGY}
    row |= {"sample": 0, "attribute": "race", "answer_key": "3" if kind == "score" else None}
    groups = ("white", "black", "asian")
    answers = pd.DataFrame(
        [
            row | {"item_id": item, "group": group, "answer": answer}
            for item in ("i1", "i2")
            for group, answer in zip(groups[:2], given, strict=True)
        ]
    )
    lists = {(item, "race", group): "ab" for item in ("i1", "i2") for group in groups}
    retrievals = retrievals_of(lists, benchmark="three")
    table = retrieval_effects(answers, retrievals, benchmarks=[benchmark])
    assert set(table["of"]) == {"all"}
    changed = table[table["metric"] == CHANGED_SAME].iloc[0]
    assert (changed["count"], changed["n"]) == (2 if kind == "decision" else 0, 2)
    # The benchmark has no baseline.
    overlap = retrieval_overlap(retrievals, benchmarks=[benchmark])
    assert set(overlap["attribute"]) == {"race", "pooled"}
    assert vote_counts(answers, benchmarks=[benchmark]).empty


def test_items_without_a_key_have_no_wrong_answers_next_to_items_with_one(benchmark_file):
    """They counted as wrong if any item had a key."""
    parts = {"keys": "item_id,answer_key\ni1,Y\ni2,\n", "keys_file": 'keys_file = "keys.csv"'}
    benchmark = declared(benchmark_file, "decision", **parts)
    row = {"benchmark": "three", "benchmark_version": "1", "model": "m", "strategy": STRATEGY}
    answers = pd.DataFrame(
        [
            row
            | {"sample": 0, "attribute": "race", "group": group, "item_id": item}
            | {"answer": "N", "answer_key": key}
            for item, key in (("i1", "Y"), ("i2", None))
            for group in ("white", "black")
        ]
    )
    groups = ("white", "black", "asian")
    lists = {(item, "race", group): "ab" for item in ("i1", "i2") for group in groups}
    table = retrieval_effects(
        answers, retrievals_of(lists, benchmark="three"), benchmarks=[benchmark]
    )
    own = table[(table["metric"] == "not_retrieved") & (table["group_b"] == "black")]
    asked = own.set_index("of")["n"]
    assert asked.to_dict() == {"wrong_a": 1, "wrong_b": 1, "all": 2}


@pytest.mark.parametrize("pairs", [(), (("white+male", "black+male"),)])
def test_crossed_groups_have_the_snippets_of_both_attributes(pairs, crossed_demo):
    own = replace(crossed_demo.attributes["race_sex"], pairs=pairs)
    known = replace(crossed_demo, attributes=dict(crossed_demo.attributes) | {"race_sex": own})
    variants = [variant for variant in known.variants if variant[0] == "race_sex"]
    answers = make_answers(["AABC"] * 3, of=known, variants=variants, strategies=(STRATEGY,))
    lists = {
        (item, *variant): list("bc" if variant[1] == "black+female" else "ab")
        for item in list(known.answer_keys)[:3]
        for variant in variants
    }
    assert [group for _, group in variants] == [
        "white+male", "white+female", "black+male", "black+female"
    ]  # fmt: skip
    retrievals = retrievals_of(lists, benchmark="crossed")
    table = retrieval_effects(answers, retrievals, benchmarks=[known])
    counts = table[table["of"] == "all"].set_index(["attribute", "metric"])["count"]
    # White and black men: same snippets, other answers (A, B). Women: other ones (A, C).
    assert counts["race"][list(CELLS)].tolist() == [0, 3, 0, 3]
    # White men and women: the same (A, A). Black men and women: other ones (B, C).
    assert counts["sex"][list(CELLS)].tolist() == [3, 0, 0, 3]
    lacking = retrievals[retrievals["group"] != "black+male"]
    with pytest.raises(InputError, match=r"no snippets for race_sex black\+male;"):
        retrieval_effects(answers, lacking, benchmarks=[known])
