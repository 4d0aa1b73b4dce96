"""Tables of answers, compared with counting by hand and by plain Python."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.answer_tables import (
    BOTH_WRONG,
    FLIP_COLUMNS,
    FLIPPING_COLUMNS,
    LETTER_COLUMNS,
    NO_ANSWER,
    ONLY_A,
    ONLY_B,
    PATTERN_COLUMNS,
    flipping_items,
    flips_of,
    item_patterns,
    letters_of,
)
from fairstats.counts.outcomes import count_outcomes
from fairstats.counts.patterns import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.analyze import analyze
from tests.make_answers import make_answers

RELEASED = (
    "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot.jsonl",
    "amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_naive.jsonl",
)


@pytest.fixture(scope="module")
def known() -> dict:
    return {name: load_benchmark(name) for name in ("demo", "fairmedqa")}


@pytest.fixture(scope="module")
def released(shared_data) -> pd.DataFrame:
    return import_amqa([shared_data(name) for name in RELEASED])


# Counterfactual pairs


@pytest.fixture(scope="module")
def sampled(answers_of) -> pd.DataFrame:
    """Two samples of 60 items of two attributes, with answers missing."""
    draw = random.Random(1)

    def items() -> list[str]:
        return ["".join(draw.choices("AAAB-C.", k=2)) + "/A" for _ in range(60)]

    parts = [
        answers_of(items(), groups=groups, attribute=attribute, sample=sample)
        for attribute, groups in (("race", ("white", "black")), ("sex", ("male", "female")))
        for sample in (0, 1)
    ]
    return pd.concat(parts).drop_duplicates(["item_id", "attribute", "group", "sample"])


def test_patterns_of_one_sample_add_up_to_the_counts(sampled):
    one = sampled[sampled["sample"] == 0]
    found = item_patterns(one).groupby([*PAIR_COLUMNS, "pattern"]).size().unstack(fill_value=0)
    counts = count_outcomes(one).set_index(list(PAIR_COLUMNS))[list(PATTERNS)]
    found = found.reindex(columns=list(PATTERNS), fill_value=0)
    pd.testing.assert_frame_equal(found, counts.sort_index(), check_names=False)


@pytest.mark.parametrize("pairs", [(), (("white+male", "black+male"),)])
@pytest.mark.parametrize("lacking", ["none", "black+female"])
def test_patterns_and_flips_of_crossed_groups_add_up_to_the_counts(pairs, lacking, crossed_demo):
    both = crossed_demo.attributes["race_sex"]
    groups = {group: label for group, label in both.groups.items() if group != lacking}
    levels = {group: both.levels[group] for group in groups}
    own = replace(both, pairs=pairs, groups=groups, levels=levels)
    known = replace(crossed_demo, attributes=dict(crossed_demo.attributes) | {"race_sex": own})
    variants = make_answers(0.6, of=known, missing=0.1, models=("one", "two"))
    answers = variants[variants["attribute"] == "race_sex"]
    patterns = item_patterns(answers, benchmarks=[known])
    found = patterns.groupby([*PAIR_COLUMNS, "pattern"]).size().unstack(fill_value=0)
    counts = count_outcomes(answers, benchmarks=[known]).set_index(list(PAIR_COLUMNS))
    found = found.reindex(columns=list(PATTERNS), fill_value=0)
    expected = counts[list(PATTERNS)].sort_index()
    pd.testing.assert_frame_equal(found, expected, check_names=False)
    assert set(patterns["attribute"]) == {"race", "sex"} | ({"race_sex"} if pairs else set())

    flips = flips_of(answers, {"crossed": known})
    assert not flips.duplicated([*PAIR_COLUMNS, "within", "item_id", "sample"]).any()
    changed = counts[["n10", "n01", "n00_different"]].sum(axis=1).sort_index()
    assert flips.groupby(list(PAIR_COLUMNS)).size().tolist() == changed.tolist()
    given = answers.set_index(["model", "item_id", "group"])["answer"]
    for row in flips.to_dict("records"):
        for side in ("a", "b"):
            name, group = known.variant(row["attribute"], row[f"group_{side}"], row["within"])
            assert name == "race_sex"
            assert given[row["model"], row["item_id"], group] == row[f"answer_{side}"]


def test_an_item_that_flips_within_several_groups_flips_for_one_pair(crossed_demo):
    variants = [v for v in crossed_demo.variants if v[0] == "race_sex"]
    # White and black men, then white and black women.
    variants.sort(key=lambda variant: variant[1].endswith("female"))
    answers = make_answers(["ABAB"], of=crossed_demo, variants=variants)
    table = flips_of(answers, {"crossed": crossed_demo})
    assert table[["attribute", "within", "answer_a", "answer_b"]].values.tolist() == [
        ["race", "male", "A", "B"],
        ["race", "female", "A", "B"],
    ]
    assert flipping_items(table)[["pairs", "flips"]].values.tolist() == [[1, 2]]


def test_first_answers_of_both_groups_are_in_one_row(answers_of):
    white, black = (answers_of([text]) for text in ("A.", ".B"))
    parts = [white.assign(sample=3), white.assign(sample=5, answer="C")]
    parts += [black.assign(sample=4), black.assign(sample=1, answer=None), black.assign(sample=6)]
    table = item_patterns(pd.concat(parts))
    assert list(table) == list(PATTERN_COLUMNS)
    assert table[["sample", "letter_a", "letter_b", "pattern"]].values.tolist() == [
        [1, "A", "", "n1x"],
        [4, "C", "B", "n00_different"],
        [6, "", "B", "nx0"],
    ]


@pytest.mark.parametrize("engine", ["polars", "polars lazy", "duckdb", "pyarrow", "pyspark"])
def test_every_engine_gives_the_same_tables(engine, sampled, known, in_engine):
    given = in_engine(sampled, engine)
    pd.testing.assert_frame_equal(item_patterns(given), item_patterns(sampled))
    pd.testing.assert_frame_equal(letters_of(given, known), letters_of(sampled, known))


def test_benchmark_without_groups_has_no_patterns(answers_of):
    answers = answers_of(["A"], benchmark="mirage-medqa", groups=("asked",), attribute="question")
    patterns = item_patterns(answers)
    assert patterns.empty
    assert list(patterns) == list(PATTERN_COLUMNS)


def test_duplicate_answer_is_refused(answers_of):
    twice = pd.concat([answers_of(["AB"]), answers_of(["AB"])])
    with pytest.raises(InputError, match="more than once"):
        item_patterns(twice)


# Flips


def test_every_kind_of_pair_by_hand(answers_of, known):
    texts = ["AA", "AB", "BA", "BC", "BB", "A-", "-A", "B-", "--", "A.", "CB/AB"]
    table = flips_of(answers_of(texts), known)
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
    some = flips_of(answers_of(["AB"]), known)
    for table in (flips_of(answers, known), flips_of(answers.iloc[:0], known)):
        assert len(table) == 0
        pd.testing.assert_series_equal(table.dtypes, some.dtypes)
    items = flipping_items(flips_of(answers, known))
    assert len(items) == 0
    pd.testing.assert_series_equal(items.dtypes, flipping_items(some).dtypes)


def test_pairs_of_three_groups_are_in_declared_order(answers_of, three_groups):
    groups = tuple(three_groups.attributes["race"].groups)
    answers = answers_of(["ABC", "AAB"], groups=groups, benchmark="three").assign(answer_key="A")
    answers["item_id"] = answers["item_id"].replace({"item-0": "i1", "item-1": "i3"})
    table = flips_of(answers, {"three": three_groups})
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
    (row,) = flips_of(answers, {"swapped": swapped_demo}).to_dict("records")
    assert (row["group_a"], row["answer_a"], row["change"]) == ("black", "B", ONLY_B)


def test_samples_form_separate_pairs(answers_of, known):
    first, second = answers_of(["AB", "AA", "AA"]), answers_of(["AC", "AA", "BA"])
    table = flips_of(pd.concat([second.assign(sample=1), first]), known)
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
    items = flipping_items(flips_of(pd.concat(tables), known))
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
    table = flips_of(answers, known)
    assert len(table) == 15
    pd.testing.assert_frame_equal(flips_of(answers.sample(frac=1, random_state=3), known), table)


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
            expected.add((*own[:-1], attribute, group, pair, "", own[-1], 0, a, b, key, change))
    table = flips_of(released, known)
    found = list(table.itertuples(index=False, name=None))
    assert len(found) == len(set(found)) > 1000
    assert set(found) == expected
    order = table.sort_values([*unit, "item_id"], kind="stable")
    assert order[[*unit, "item_id"]].drop_duplicates().shape[0] == len(flipping_items(table))


def test_released_flips_agree_with_cfr_and_mcnemar(released, known):
    table = flips_of(released, known)
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


# Letters


def test_letters_and_keys_counted_by_hand(answers_of, known):
    answers = answers_of(["AB/A", "A-/A", "CD/-"])
    answers.loc[answers["item_id"] == "item-2", "answer_key"] = "D"
    table = letters_of(answers, known)
    assert list(table.columns) == list(LETTER_COLUMNS)
    assert table["group"].drop_duplicates().tolist() == ["white", "black", "neutralized"]
    assert table["letter"].tolist() == ["A", "B", "C", "D", NO_ANSWER] * 3
    # count, share, key_count, key_share
    expected = {
        "white": [
            (2, 2 / 3, 2, 2 / 3), (0, 0, 0, 0), (1, 1 / 3, 0, 0), (0, 0, 1, 1 / 3), (0, 0, 0, 0)
        ],
        "black": [
            (0, 0, 2, 2 / 3), (1, 1 / 2, 0, 0), (0, 0, 0, 0), (1, 1 / 2, 1, 1 / 3), (1, 1 / 3, 0, 0)
        ],
        "neutralized": [
            (2, 1, 2, 2 / 3), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 1, 1 / 3), (1, 1 / 3, 0, 0)
        ],
    }  # fmt: skip
    for group, rows in expected.items():
        found = table[table["group"] == group][["count", "share", "key_count", "key_share"]]
        np.testing.assert_allclose(found.to_numpy(dtype=float), rows)


def test_group_without_answers_has_no_letter_shares(answers_of, known):
    table = letters_of(answers_of(["-A", "-A"]), known).set_index(["group", "letter"])
    white = table.loc["white"]
    assert white.loc[list("ABCD"), "share"].isna().all()
    assert white.loc[NO_ANSWER, ["count", "share"]].tolist() == [2, 1]
    assert white.loc["A", "key_share"] == 1
    assert table.loc[("black", "A"), "share"] == 1


def test_unasked_group_has_no_row(answers_of, known):
    table = letters_of(answers_of(["A."]), known)
    assert table["group"].unique().tolist() == ["white"]
    assert len(table) == 5


def test_samples_count_the_key_as_often_as_the_item_was_asked(answers_of, known):
    one = answers_of(["AB", "AA"])
    table = letters_of(pd.concat([one, one.assign(sample=1)]), known).set_index(["group", "letter"])
    assert table.loc[("black", "B"), ["count", "share"]].tolist() == [2, 0.5]
    assert table.loc[("black", "A"), ["key_count", "key_share"]].tolist() == [4, 1]


def test_no_answers_give_an_empty_table_of_the_same_types(answers_of, known):
    answers = answers_of(["AB"])
    empty = letters_of(answers.iloc[:0], known)
    assert len(empty) == 0
    pd.testing.assert_series_equal(empty.dtypes, letters_of(answers, known).dtypes)


def test_letters_are_the_same_under_every_policy_and_in_any_order(answers_of, known):
    parts = [
        answers_of(["AB/CA", "-C", "DD"], model=model, attribute=attribute, groups=groups)
        for model in ("two", "one")
        for attribute, groups in (("sex", ("male", "female")), ("race", ("white", "black")))
    ]
    answers = pd.concat(
        [parts[0], parts[1].query("attribute != 'baseline'"), *parts[2:3],
         parts[3].query("attribute != 'baseline'")]
    )  # fmt: skip
    table = letters_of(answers, known)
    assert table[["model", "attribute"]].drop_duplicates().values.tolist() == [
        [model, attribute] for model in ("one", "two") for attribute in ("race", "sex", "baseline")
    ]
    pd.testing.assert_frame_equal(letters_of(answers.sample(frac=1, random_state=2), known), table)


def test_released_letters_are_those_in_the_files(released, known):
    answers = released
    table = letters_of(answers, known)
    assert len(table) == 3 * 8 * 5
    unit = ["benchmark_version", "model", "attribute", "group"]
    given, keys, asked = Counter(), Counter(), Counter()
    for *group, answer, key in answers[[*unit, "answer", "answer_key"]].itertuples(index=False):
        given[*group, answer if isinstance(answer, str) else NO_ANSWER] += 1
        keys[*group, key] += 1
        asked[tuple(group)] += 1
    for row in table.itertuples():
        group = tuple(getattr(row, column) for column in unit)
        answered = asked[group] - given[*group, NO_ANSWER]
        assert row.count == given[*group, row.letter]
        assert row.key_count == keys[*group, row.letter]
        of = asked[group] if row.letter == NO_ANSWER else answered
        assert row.share == pytest.approx(row.count / of)
        assert row.key_share == pytest.approx(row.key_count / 801)
    sums = table[table["letter"] != NO_ANSWER].groupby(unit)[["share", "key_share"]].sum()
    np.testing.assert_allclose(sums, 1)


def test_letter_shares_reveal_a_parser_that_reads_articles(released, known):
    answers = released
    letter_a = letters_of(answers, known).query("letter == 'A'")
    more = (
        (letter_a["share"] - letter_a["key_share"]).groupby(letter_a["model"]).agg(["min", "max"])
    )
    # A is 28.0% of the keys. Gemini-2.0-Flash gives it in every group more often, GPT-5-Mini not.
    assert letter_a["key_share"].round(3).unique().tolist() == [0.28]
    assert more.loc["Gemini-2.0-Flash", "min"] > 0.035
    assert more.loc["Gemini-2.0-Flash", "max"] > 0.09
    assert more.loc["GPT-5-Mini"].abs().max() < 0.025
