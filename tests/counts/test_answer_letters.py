"""The frequency of answered letters, compared with counting by hand and by plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.answer_letters import LETTER_COLUMNS, NO_ANSWER, letters_of

RELEASED = (
    "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot.jsonl",
    "amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_naive.jsonl",
)
GROUP = ["model", "attribute", "group"]


@pytest.fixture(scope="module")
def known() -> dict:
    return {name: load_benchmark(name) for name in ("demo", "fairmedqa")}


def table_of(answers: pd.DataFrame, known) -> pd.DataFrame:
    return letters_of(answers, known)


def test_letters_and_keys_counted_by_hand(answers_of, known):
    answers = answers_of(["AB/A", "A-/A", "CD/-"])
    answers.loc[answers["item_id"] == "item-2", "answer_key"] = "D"
    table = table_of(answers, known)
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
    table = table_of(answers_of(["-A", "-A"]), known).set_index(["group", "letter"])
    white = table.loc["white"]
    assert white.loc[list("ABCD"), "share"].isna().all()
    assert white.loc[NO_ANSWER, ["count", "share"]].tolist() == [2, 1]
    assert white.loc["A", "key_share"] == 1
    assert table.loc[("black", "A"), "share"] == 1


def test_unasked_group_has_no_row(answers_of, known):
    table = table_of(answers_of(["A."]), known)
    assert table["group"].unique().tolist() == ["white"]
    assert len(table) == 5


def test_samples_count_the_key_as_often_as_the_item_was_asked(answers_of, known):
    one = answers_of(["AB", "AA"])
    table = table_of(pd.concat([one, one.assign(sample=1)]), known).set_index(["group", "letter"])
    assert table.loc[("black", "B"), ["count", "share"]].tolist() == [2, 0.5]
    assert table.loc[("black", "A"), ["key_count", "key_share"]].tolist() == [4, 1]


def test_no_answers_give_an_empty_table_of_the_same_types(answers_of, known):
    answers = answers_of(["AB"])
    empty = table_of(answers.iloc[:0], known)
    assert len(empty) == 0
    pd.testing.assert_series_equal(empty.dtypes, table_of(answers, known).dtypes)


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
    table = table_of(answers, known)
    assert table[["model", "attribute"]].drop_duplicates().values.tolist() == [
        [model, attribute] for model in ("one", "two") for attribute in ("race", "sex", "baseline")
    ]
    pd.testing.assert_frame_equal(table_of(answers.sample(frac=1, random_state=2), known), table)


def test_released_letters_are_those_in_the_files(shared_data, known):
    answers = import_amqa([shared_data(name) for name in RELEASED])
    table = table_of(answers, known)
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


def test_letter_shares_reveal_a_parser_that_reads_articles(shared_data, known):
    answers = import_amqa([shared_data(name) for name in RELEASED])
    letter_a = table_of(answers, known).query("letter == 'A'")
    more = (
        (letter_a["share"] - letter_a["key_share"]).groupby(letter_a["model"]).agg(["min", "max"])
    )
    # A is 28.0% of the keys. Gemini-2.0-Flash gives it in every group more often, GPT-5-Mini not.
    assert letter_a["key_share"].round(3).unique().tolist() == [0.28]
    assert more.loc["Gemini-2.0-Flash", "min"] > 0.035
    assert more.loc["Gemini-2.0-Flash", "max"] > 0.09
    assert more.loc["GPT-5-Mini"].abs().max() < 0.025
