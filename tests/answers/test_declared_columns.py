"""Columns that follow from the benchmark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairstats import InputError, read_answers, validate_answers

ROWS = "model,item_id,group,answer\nm,demo-01,white,C\nm,demo-01,black,\n"


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "answers.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_four_columns_suffice_with_the_benchmark(file, demo):
    found = read_answers(file(ROWS), benchmark=demo)
    first, second = found.to_dict("records")
    assert first == {
        "benchmark": "demo",
        "benchmark_version": "1",
        "model": "m",
        "strategy": "plain",
        "item_id": "demo-01",
        "attribute": "race",
        "group": "white",
        "sample": 0,
        "answer": "C",
        "answer_key": demo.answer_keys["demo-01"],
        "status": "ok",
    }
    assert second["status"] == "unparsed"


def test_columns_of_the_file_are_kept(file, demo):
    text = "strategy,sample,answer_key,model,item_id,group,answer\ncot,3,B,m,demo-01,male,B\n"
    (row,) = read_answers(file(text), benchmark=demo).to_dict("records")
    assert (row["strategy"], row["sample"], row["answer_key"]) == ("cot", 3, "B")
    assert row["attribute"] == "sex"


def test_without_the_benchmark_the_error_names_it_as_remedy(file):
    message = r"answer_key, status: required columns are missing; .*benchmark="
    with pytest.raises(InputError, match=message):
        read_answers(file(ROWS))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("black", "blck", r"row 2: group = 'blck': is no group of demo; use one of white, black"),
        ("demo-01,black", "x,black", r"row 2: item_id = 'x': is no item of demo, so its key"),
        ("answer\n", "reply\n", "answer: required column is missing; add it"),
        ("group", "patient", "group: required column is missing; add it"),
    ],
)
def test_unknown_values_and_columns_are_named(file, demo, old, new, message):
    with pytest.raises(InputError, match=message):
        read_answers(file(ROWS.replace(old, new)), benchmark=demo)


def test_column_that_does_not_follow_is_asked_for(file, demo):
    two = replace(demo, versions={"1": "one", "2": "two"})
    with pytest.raises(
        InputError, match="benchmark_version: is missing, and demo has the versions"
    ):
        read_answers(file(ROWS), benchmark=two)
    sex = replace(demo.attributes["sex"], name="other", groups=demo.attributes["race"].groups)
    twice = replace(demo, attributes={**demo.attributes, "other": sex})
    with pytest.raises(InputError, match="is a group of race and other; add the column attribute"):
        read_answers(file(ROWS), benchmark=twice)


def test_validating_a_frame_without_columns_lists_them(file, demo):
    answers = read_answers(file(ROWS), benchmark=demo).drop(columns=["benchmark", "status"])
    assert [problem.column for problem in validate_answers(answers)] == ["benchmark, status"]
