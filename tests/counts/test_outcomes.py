"""Folding answers into outcome counts: every pattern, every engine."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError, Note
from fairstats.answers.engine_frames import UNIT_COLUMNS, open_answers
from fairstats.counts.outcomes import count_outcomes, outcomes_of
from fairstats.counts.patterns import PAIR_COLUMNS, PATTERNS

ENGINES = ("pandas", "pandas object", "polars", "polars lazy", "duckdb", "pyarrow", "pyspark")
PATTERN_OF = {
    "AA": "n11",
    "AB": "n10",
    "BA": "n01",
    "BB": "n00_same",
    "BC": "n00_different",
    "A-": "n1x",
    "B-": "n0x",
    "-A": "nx1",
    "-B": "nx0",
    "--": "nxx",
    # A variant without a row counts as one without an answer.
    "A.": "n1x",
    ".B": "nx0",
    "-.": "nxx",
}


def random_items(number: int, seed: int, groups: int = 2) -> list[str]:
    draw = random.Random(seed)
    items = ["".join(draw.choices("AABC-.", k=groups)) for _ in range(number)]
    return [f"{item}/{draw.choice(['A', 'B', '-', ''])}" for item in items]


def pattern_by_hand(a: str, b: str) -> str:
    signs = "".join("x" if sign in "-." else str(int(sign == "A")) for sign in (a, b))
    return f"n{signs}" if signs != "00" else "n00_same" if a == b else "n00_different"


@pytest.fixture(scope="module")
def two_models(answers_of) -> pd.DataFrame:
    return pd.concat(
        [
            answers_of(random_items(60, 1), model="one"),
            answers_of(random_items(60, 2), model="two"),
            answers_of(
                random_items(20, 3), groups=("male", "female"), attribute="sex", model="two"
            ),
        ]
    ).drop_duplicates(["model", "item_id", "attribute", "group"], ignore_index=True)


@pytest.mark.parametrize(("item", "pattern"), PATTERN_OF.items())
def test_each_pair_of_answers_is_the_pattern_it_looks_like(item, pattern, answers_of):
    counts = count_outcomes(answers_of([item]))
    assert counts[list(PATTERNS)].iloc[0].to_dict() == dict.fromkeys(PATTERNS, 0) | {pattern: 1}


def test_counts_are_those_of_counting_by_hand(answers_of):
    items = random_items(300, 5)
    counts = count_outcomes(answers_of(items)).set_index("attribute").loc["race"]
    pairs = [item[:2] for item in items if item[:2] != ".."]
    found = [sum(pattern_by_hand(*pair) == pattern for pair in pairs) for pattern in PATTERNS]
    assert counts[list(PATTERNS)].tolist() == found
    # With one right option, two right answers are the same.
    assert [pattern for pattern, count in zip(PATTERNS, found, strict=True) if not count] == [
        "n11_different"
    ]


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_all_engines_count_the_same(engine, two_models, in_engine):
    # Some items have a second sample.
    more = two_models[two_models["item_id"] < "item-3"].assign(sample=1)
    for answers in (two_models, pd.concat([two_models, more], ignore_index=True)):
        opened = open_answers(in_engine(answers, engine))
        pd.testing.assert_frame_equal(count_outcomes(opened), count_outcomes(answers))
        found, expected = (outcomes_of(own)["demo"] for own in (opened, open_answers(answers)))
        for name in ("patterns", "copies", "letters", "clustered", "fewer_samples"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
        np.testing.assert_array_equal(found.unasked, expected.unasked)
        for attribute in expected.groups:
            one, other = (own.rows_asked(attribute) for own in (found, expected))
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_a_table_without_any_answer(engine, two_models, in_engine):
    counts = count_outcomes(in_engine(two_models.assign(answer=None), engine))
    expected = count_outcomes(two_models)
    assert counts["nxx"].tolist() == expected[list(PATTERNS)].sum(axis=1).tolist()


def test_three_groups_pair_as_declared(answers_of, three_groups):
    items = ["AAA", "ABB", "ACC", "BBA", "BBC", "A-B", "-.B", "BCB"]
    answers = answers_of(items, groups=("white", "black", "asian"), benchmark="three")
    counts = count_outcomes(answers, benchmarks=[three_groups]).query("attribute == 'race'")
    assert counts["group_a"].tolist() == ["white", "white", "black"]
    places = list(combinations(range(3), 2))
    for (a, b), row in zip(places, counts.to_dict("records"), strict=True):
        patterns = [pattern_by_hand(item[a], item[b]) for item in items]
        assert [row[p] for p in PATTERNS] == [patterns.count(p) for p in PATTERNS], (a, b)


def test_pooled_pairs_add_up_the_attributes_of_an_answer_set(two_models):
    found = outcomes_of(open_answers(two_models))["demo"]
    pooled = found.patterns[found.pooled]
    # Only the second model was asked for another attribute.
    assert found.unit[found.pooled].tolist() == [1]
    own = np.isin(found.attribute.astype(str), ["race", "sex"]) & (found.unit == 1)
    np.testing.assert_array_equal(pooled[0], found.patterns[own].sum(axis=0))
    assert list(found.clusters) == np.flatnonzero(found.pooled).tolist()
    ((cells, many),) = found.clusters.values()
    np.testing.assert_array_equal(many @ cells, pooled[0])
    assert cells.sum(axis=1).max() == 2
    assert "pooled" not in set(count_outcomes(two_models)["attribute"])


def test_items_that_were_not_asked_are_counted(demo, all_right):
    answers = all_right(demo)
    answers = answers[(answers["attribute"] != "sex") | (answers["item_id"] < "demo-05")]
    found = outcomes_of(open_answers(answers[answers["item_id"] < "demo-21"]))["demo"]
    without, items = (dict(zip(found.attribute, side, strict=True)) for side in found.unasked)
    assert without == {"race": 4, "sex": 20, "ses": 4, "baseline": 4, "pooled": 28}
    assert items == dict.fromkeys(("race", "sex", "ses", "baseline"), 24) | {"pooled": 72}


def test_a_pair_declared_against_the_order_of_the_groups_is_mirrored(answers_of, swapped_demo):
    items = random_items(80, 6)
    one = count_outcomes(answers_of(items)).iloc[0]
    answers = answers_of(items, benchmark="swapped")
    other = count_outcomes(answers, benchmarks=[swapped_demo]).iloc[0]
    assert (other["group_a"], other["group_b"]) == ("black", "white")
    for pattern in PATTERNS:
        signs = pattern[1:3][::-1] + pattern[3:]
        assert other[f"n{signs}"] == one[pattern], pattern


def test_every_sample_of_one_group_is_paired_with_every_sample_of_the_other(answers_of):
    answers = pd.concat([answers_of(["AB"], sample=0), answers_of(["AA"], sample=1)])
    counts = count_outcomes(answers)
    assert counts[["n11", "n10", "copies"]].iloc[0].tolist() == [2, 2, 2]


def test_units_are_counted_separately(answers_of):
    tables = [answers_of(["AB"], **{column: "demo"}) for column in UNIT_COLUMNS]
    counts = count_outcomes(pd.concat(tables))
    assert len(counts) == 4
    assert counts["n10"].tolist() == [1] * 4


def test_an_attribute_without_answers_has_no_row(answers_of):
    assert count_outcomes(answers_of(["AB"]))["attribute"].tolist() == ["race"]


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "pyspark"])
def test_duplicate_answer_is_refused(engine, answers_of, in_engine):
    answers = pd.concat([answers_of(["AB", "AA"]), answers_of(["A."])], ignore_index=True)
    with pytest.raises(
        InputError, match=r"1 items have the same answer more than once .*model=model"
    ):
        count_outcomes(in_engine(answers, engine))


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "pyspark"])
def test_samples_with_parts_of_numbers_are_refused(engine, answers_of, in_engine):
    answers = answers_of(["AB", "AA"])
    answers = pd.concat([answers.assign(sample=0.0), answers.assign(sample=0.4)])
    with pytest.raises(InputError, match=r"sample = '0.4': is not a whole number"):
        count_outcomes(in_engine(answers, engine))


def test_duplicate_neutralized_answer_is_refused(answers_of):
    twice = pd.concat([answers_of(["AB/A"]), answers_of(["../A"])], ignore_index=True)
    with pytest.raises(InputError, match="more than once"):
        count_outcomes(twice)


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (
            {"benchmark": "nowhere"},
            "nowhere: no such benchmark; use one of biasmedqa, demo, fairmedqa",
        ),
        ({"attribute": "height"}, "attribute = 'height': unknown attribute; demo declares race"),
        ({"group": "wite"}, "group = 'wite': unknown group; demo declares white, black for race"),
    ],
)
def test_undeclared_value_is_named_with_the_declared_ones(unit, said, answers_of):
    with pytest.raises(InputError) as caught:
        count_outcomes(answers_of(["AB"]).assign(**unit))
    assert said in str(caught.value)


def test_every_unknown_group_is_named(answers_of):
    answers = answers_of(["AB"]).assign(group=["wite", "blak"])
    with pytest.raises(InputError) as caught:
        count_outcomes(answers)
    assert [problem.value for problem in caught.value.problems] == ["blak", "wite"]


def test_an_empty_table_is_an_input_error(answers_of):
    with pytest.raises(InputError, match="row"):
        count_outcomes(answers_of(["AB"]).iloc[:0])


@pytest.mark.parametrize("column", ["benchmark", "attribute", "group"])
def test_a_null_in_a_key_column_is_an_input_error(column, answers_of):
    answers = answers_of(["AB", "AA"])
    answers.loc[0, column] = None
    with pytest.raises(InputError, match=column):
        count_outcomes(answers)


def test_a_benchmark_named_like_a_file_is_not_opened(answers_of, benchmark_file):
    path = benchmark_file()
    answers = answers_of(["AB"], benchmark=str(path))
    with pytest.raises(InputError, match="no such benchmark"):
        count_outcomes(answers)


def test_categories_count_as_text(answers_of):
    answers = answers_of(["AB", "AA", "B-"])
    columns = ["benchmark", "model", "attribute", "group", "item_id", "answer", "answer_key"]
    found = count_outcomes(answers.astype(dict.fromkeys(columns, "category")))
    pd.testing.assert_frame_equal(found, count_outcomes(answers))


def test_chunks_of_the_items_add_up_to_the_whole(two_models):
    whole = count_outcomes(two_models).set_index(list(PAIR_COLUMNS))
    number = two_models["item_id"].str.removeprefix("item-").astype(int)
    chunks = [
        count_outcomes(two_models[number % 3 == i]).set_index(list(PAIR_COLUMNS)) for i in range(3)
    ]
    together = sum(chunk[list(PATTERNS)] for chunk in chunks).loc[whole.index]
    pd.testing.assert_frame_equal(together.astype("int64"), whole[list(PATTERNS)])


def test_the_names_of_the_letters_do_not_matter(two_models):
    renamed = {"A": "C", "B": "A", "C": "B"}
    other = two_models.assign(
        answer=two_models["answer"].replace(renamed),
        answer_key=two_models["answer_key"].replace(renamed),
    )
    pd.testing.assert_frame_equal(count_outcomes(other), count_outcomes(two_models))


@pytest.mark.parametrize("engine", ["pandas", "polars", "duckdb", "pyspark"])
def test_unknown_items_among_known_ones_are_refused_by_name(engine, demo, all_right, in_engine):
    answers = all_right(demo)
    # A left-out item is replaced by a copy of another, under a name that looks the same.
    answers["item_id"] = answers["item_id"].where(answers["item_id"] != "demo-02", "demo-01 ")
    answers["answer_key"] = answers["answer"] = (
        answers["item_id"].str.strip().map(dict(demo.answer_keys))
    )
    with pytest.raises(InputError) as caught:
        count_outcomes(in_engine(answers, engine))
    (problem,) = caught.value.problems
    assert (problem.column, problem.value) == ("item_id", "demo-01 ")
    assert "not an item of demo" in problem.message
    assert "fairstats validate" in problem.remedy


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_answers_to_other_items_only_are_noted_or_refused(engine, all_right, demo, in_engine):
    own = all_right(demo)
    answers = in_engine(own.assign(item_id="my " + own["item_id"]), engine)
    with pytest.warns(Note, match="none of the 24 items is an item of demo"):
        open_answers(answers)
    with pytest.raises(InputError, match=r"item_id = 'my demo-01': is not an item of demo"):
        open_answers(answers, only_listed=True)


def test_at_most_ten_unknown_items_are_named(demo, all_right, answers_of):
    answers = pd.concat([all_right(demo), answers_of(["AB"] * 12)], ignore_index=True)
    with pytest.raises(InputError) as caught:
        count_outcomes(answers)
    assert len(caught.value.problems) == 10
