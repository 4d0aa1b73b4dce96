"""Flipped answers, compared with pairs built by plain Python."""

from __future__ import annotations

import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.flips import (
    BOTH_WRONG,
    FLIP_COLUMNS,
    FLIPPING_COLUMNS,
    ONLY_A,
    ONLY_B,
    flipping_items,
    flips_of,
)
from fairstats.estimates.analyze import analyze

RELEASED = (
    "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot.jsonl",
    "amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_naive.jsonl",
)


@pytest.fixture(scope="module")
def known() -> dict:
    return {name: load_benchmark(name) for name in ("demo", "fairmedqa")}


def flips(answers: pd.DataFrame, known) -> pd.DataFrame:
    return flips_of(answers, known)


def test_every_kind_of_pair_by_hand(answers_of, known):
    texts = ["AA", "AB", "BA", "BC", "BB", "A-", "-A", "B-", "--", "A.", "CB/AB"]
    table = flips(answers_of(texts), known)
    assert list(table.columns) == list(FLIP_COLUMNS)
    shown = ["item_id", "answer_a", "answer_b", "answer_key", "change"]
    # The baseline of the last item flips too, but is not in a demographic pair.
    assert table[shown].values.tolist() == [
        ["item-1", "A", "B", "A", ONLY_A],
        ["item-10", "C", "B", "A", BOTH_WRONG],
        ["item-2", "B", "A", "A", ONLY_B],
        ["item-3", "B", "C", "A", BOTH_WRONG],
    ]
    assert set(table["attribute"]) == {"race"}


@pytest.mark.parametrize("texts", [["AA", "BB"], ["A-", "--"], ["A."], [".A/AB"]])
def test_table_without_flips_is_empty_and_typed(texts, answers_of, known):
    answers = answers_of(texts)
    some = flips(answers_of(["AB"]), known)
    for table in (flips(answers, known), flips(answers.iloc[:0], known)):
        assert len(table) == 0
        pd.testing.assert_series_equal(table.dtypes, some.dtypes)
    items = flipping_items(flips(answers, known))
    assert len(items) == 0
    pd.testing.assert_series_equal(items.dtypes, flipping_items(some).dtypes)


def test_pairs_of_three_groups_are_in_declared_order(answers_of, three_groups):
    groups = tuple(three_groups.attributes["race"].groups)
    answers = answers_of(["ABC", "AAB"], groups=groups, benchmark="three").assign(answer_key="A")
    answers["item_id"] = answers["item_id"].replace({"item-0": "i1", "item-1": "i3"})
    table = flips(answers, {"three": three_groups})
    assert table[["group_a", "group_b", "item_id", "change"]].values.tolist() == [
        ["white", "black", "i1", ONLY_A],
        ["white", "asian", "i1", ONLY_A],
        ["white", "asian", "i3", ONLY_A],
        ["black", "asian", "i1", BOTH_WRONG],
        ["black", "asian", "i3", ONLY_A],
    ]
    items = flipping_items(table)
    assert items[["item_id", "pairs", "flips"]].values.tolist() == [["i1", 3, 3], ["i3", 2, 2]]


def test_a_is_the_group_that_the_pair_names_first(answers_of, swapped_demo):
    answers = answers_of(["AB"], benchmark="swapped")
    (row,) = flips(answers, {"swapped": swapped_demo}).to_dict("records")
    assert (row["group_a"], row["answer_a"], row["change"]) == ("black", "B", ONLY_B)


def test_samples_form_separate_pairs(answers_of, known):
    first, second = answers_of(["AB", "AA", "AA"]), answers_of(["AC", "AA", "BA"])
    table = flips(pd.concat([second.assign(sample=1), first]), known)
    assert table[["item_id", "sample", "answer_b"]].values.tolist() == [
        ["item-0", 0, "B"],
        ["item-0", 1, "C"],
        ["item-2", 1, "A"],
    ]
    items = flipping_items(table)
    assert list(items.columns) == list(FLIPPING_COLUMNS)
    assert items[["item_id", "pairs", "flips"]].values.tolist() == [
        ["item-0", 1, 2],
        ["item-2", 1, 1],
    ]


def test_items_that_flip_for_most_pairs_come_first_in_each_unit(answers_of, known):
    tables = [
        answers_of(texts, model=model, attribute=attribute, groups=groups)
        for model, swap in (("two", 0), ("one", 1))
        for attribute, groups, texts in (
            ("race", ("white", "black"), ["AA", "AB", "AB", "BC"]),
            ("sex", ("male", "female"), ["AA", "AA", "AB" if swap else "AA", "CB"]),
        )
    ]
    items = flipping_items(flips(pd.concat(tables), known))
    assert items[["model", "item_id", "pairs", "flips"]].values.tolist() == [
        ["one", "item-2", 2, 2],
        ["one", "item-3", 2, 2],
        ["one", "item-1", 1, 1],
        ["two", "item-3", 2, 2],
        ["two", "item-1", 1, 1],
        ["two", "item-2", 1, 1],
    ]


def test_flips_are_the_same_in_any_order(answers_of, known):
    answers = answers_of(["AB", "BC", "-A", "BA/AB"] * 5)
    table = flips(answers, known)
    assert len(table) == 15
    pd.testing.assert_frame_equal(flips(answers.sample(frac=1, random_state=3), known), table)


# The released answers


@pytest.fixture(scope="module")
def released(shared_data) -> pd.DataFrame:
    return import_amqa([shared_data(name) for name in RELEASED])


def test_released_flips_are_those_in_the_files(released, known):
    unit = ["benchmark", "benchmark_version", "model", "strategy"]
    given = {
        tuple(row[:-1]): row[-1]
        for row in released[[*unit, "item_id", "attribute", "group", "answer"]].itertuples(
            index=False, name=None
        )
    }
    keys = dict(zip(released["item_id"], released["answer_key"], strict=True))
    expected = set()
    for (*own, attribute, group), a in given.items():
        pair = {"white": "black", "male": "female", "high_income": "low_income"}.get(group)
        b = given[*own, attribute, pair] if pair else None
        if isinstance(a, str) and isinstance(b, str) and a != b:
            key = keys[own[-1]]
            change = ONLY_A if a == key else ONLY_B if b == key else BOTH_WRONG
            expected.add((*own[:-1], attribute, group, pair, own[-1], 0, a, b, key, change))
    table = flips(released, known)
    found = list(table.itertuples(index=False, name=None))
    assert len(found) == len(set(found)) > 1000
    assert set(found) == expected
    order = table.sort_values([*unit, "item_id"], kind="stable")
    assert order[[*unit, "item_id"]].drop_duplicates().shape[0] == len(flipping_items(table))


def test_released_flips_agree_with_cfr_and_mcnemar(released, known):
    table = flips(released, known)
    keys = ["benchmark_version", "model", "attribute"]
    estimates = analyze(released, "available", benchmarks=known)
    estimates = estimates[~estimates["attribute"].isin(["baseline", "pooled"])]
    cfr = estimates[estimates["metric"] == "cfr"].set_index(keys)
    rate = table.groupby(keys).size() / cfr["n"].astype(float)
    pd.testing.assert_series_equal(1 - cfr["estimate"], rate.reindex(cfr.index), check_names=False)
    tests = estimates[estimates["test"] == "mcnemar exact"].set_index(keys)
    for change, cell in ((ONLY_A, "n10"), (ONLY_B, "n01")):
        counted = table[table["change"] == change].groupby(keys).size()
        assert counted.reindex(tests.index).tolist() == tests[cell].tolist()
