"""The items file, for people and for models, and all of its possible faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairstats._lib.problems import InputError
from fairstats.ratings.collection.subjects import Subject, read_subjects
from fairstats.ratings.rubrics import load_rubric

ROW = {"item_id": "q1", "question": "Why?", "answer": "So."}
MODELS = ROW | {"model": "m1", "model_2": "m2", "answer_2": "Or so."}
ITEMS = ROW | {"item_id_2": "q2", "question_2": "Why then?", "answer_2": "Or so."}


def read(
    tmp_path: Path, rows: list[Any], rubric: str = "independent", **given: Any
) -> list[Subject]:
    path = tmp_path / "sheet.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_subjects(path, load_rubric(rubric), **{"named_tasks": True} | given)[0]


def named(subject: Subject) -> tuple[str | None, ...]:
    return subject.names["benchmark"], subject.names["dataset"], subject.task_id


def test_csv_and_json_lines_are_read_the_same(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text('item_id,answer,question,model,more\nq1,So.,"Why,\nthen?",,x\n')
    (from_csv,), unused = read_subjects(path, load_rubric("independent"))
    assert unused == ["more"]
    row = {"item_id": "q1", "answer": "So.", "question": "Why,\nthen?", "model": None, "more": "x"}
    assert read(tmp_path, [row]) == [from_csv]
    assert named(from_csv) == ("sheet", "sheet", "q1")
    assert from_csv.names["model"] is None
    assert from_csv.texts == {"question": "Why,\nthen?", "answer": "So."}


def test_values_in_the_file_take_precedence(tmp_path: Path) -> None:
    rows = [ROW | {"dataset": "d", "task_id": "t"}, ROW | {"benchmark": "own"}]
    first, second = read(tmp_path, rows, benchmark="bench", dataset="set")
    assert named(first) == ("bench", "d", "t")
    assert named(second) == ("own", "set", "q1")


def test_custom_benchmark_is_also_the_dataset(tmp_path: Path) -> None:
    assert named(read(tmp_path, [ROW | {"benchmark": "own"}])[0]) == ("own", "own", "q1")


def test_tasks_and_benchmarks_in_a_file_that_is_to_be_handed_out_are_not_used(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("item_id,question,answer,task_id,benchmark\nq1,Why?,So.,t,own\n")
    (subject,), unused = read_subjects(path, load_rubric("independent"))
    assert named(subject) == ("sheet", "sheet", "q1")
    assert unused == ["task_id", "benchmark"]


def test_answer_is_optional_if_bias_is_not_asked(tmp_path: Path) -> None:
    message = {"item_id": "q1", "question": "It hurts."}
    assert read(tmp_path, [message], "triage")[0].texts == {"question": "It hurts."}
    both = message | {"answer": "Rest."}
    assert read(tmp_path, [both], "triage")[0].texts == {"question": "It hurts.", "answer": "Rest."}
    with pytest.raises(InputError, match="row 2: answer: must not be empty"):
        read(tmp_path, [both, message | {"item_id": "q2"}], "triage")
    with pytest.raises(InputError, match="answer: the column is missing"):
        read(tmp_path, [message])


def test_an_item_of_two_datasets_is_two_subjects_and_needs_two_task_ids(tmp_path: Path) -> None:
    rows = [ROW | {"dataset": "d1"}, ROW | {"dataset": "d2"}]
    assert len(read(tmp_path, rows, named_tasks=False)) == 2
    with pytest.raises(InputError, match="row 2: task_id = 'q1': is already the task of row 1"):
        read(tmp_path, rows)
    rows[1]["task_id"] = "t2"
    assert [subject.task_id for subject in read(tmp_path, rows)] == ["q1", "t2"]


@pytest.mark.parametrize("given", ["", " d", "x" * 201, "a\nb"])
@pytest.mark.parametrize("option", ["benchmark", "dataset"])
def test_subject_of_a_task_has_a_name(tmp_path: Path, option: str, given: str) -> None:
    with pytest.raises(InputError, match=f"{option}: .* is not a valid name"):
        read(tmp_path, [ROW], **{option: given})


def test_more_rows_than_can_be_asked_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairstats.ratings.collection.subjects.MAX_SUBJECTS", 1)
    with pytest.raises(InputError, match="has 2 rows; give 1 to 1"):
        read(tmp_path, [ROW, ROW | {"item_id": "q2"}])


def test_task_names_depend_on_their_content(tmp_path: Path) -> None:
    two = [MODELS, MODELS | {"model_2": "m3"}]
    assert [s.task_id for s in read(tmp_path, two, "pairwise")] == ["q1 / m1 / m2", "q1 / m1 / m3"]
    assert read(tmp_path, [ITEMS], "counterfactual")[0].task_id == "q1 / q2"
    long = [MODELS | {"item_id": "q" * 200, "model_2": name} for name in ("m2", "m3")]
    names = [subject.task_id for subject in read(tmp_path, long, "pairwise")]
    assert len(set(names)) == 2
    assert {len(name) for name in names} == {200}


@pytest.mark.parametrize(
    ("rubric", "row", "changed", "said"),
    [
        ("independent", ROW, {"item_id": None}, "row 2: item_id: must not be empty"),
        ("independent", ROW, {"item_id": 7}, "item_id = '7': is not text"),
        ("independent", ROW, {"item_id": "a\u202eb"}, "is not a valid name"),
        ("independent", ROW, {"item_id": " q"}, "is not a valid name"),
        ("independent", ROW, {"item_id": "q" * 201}, "is not a valid name"),
        ("independent", ROW, {"model": ""}, "model = '': is not a valid name"),
        ("independent", ROW, {"answer": " "}, "answer = ' ': must not be empty"),
        ("independent", ROW, {"answer": None}, "answer: must not be empty"),
        ("independent", ROW, {"question": ["x"]}, "is not text"),
        ("independent", ROW, {"question": "\ud800"}, "is not valid Unicode text"),
        ("independent", ROW, {"answer": "x" * 50_001}, "has 50,001 characters; shorten it to"),
        ("independent", ROW, {"item_id": "q1"}, "'sheet, sheet, q1': is the same as row 1"),
        ("independent", ROW, {"item_id": "q2", "task_id": "t"}, "is already the task of row 1"),
        ("pairwise", MODELS, {"model": None}, "model: must not be empty"),
        ("pairwise", MODELS, {"answer_2": None}, "answer_2: must not be empty"),
        ("pairwise", MODELS, {"model_2": "m1"}, "model_2 = 'm1': is the same as model"),
        ("counterfactual", ITEMS, {"question_2": None}, "question_2: must not be empty"),
        ("counterfactual", ITEMS, {"item_id": "q2"}, "item_id_2 = 'q2': is the same as item_id"),
    ],
)
def test_invalid_row_of_an_items_file_is_named(
    tmp_path: Path, rubric: str, row: dict[str, Any], changed: dict[str, Any], said: str
) -> None:
    first = row | {"task_id": "t"}
    if changed != {"item_id": "q1"}:
        row, first = row | {"item_id": "q3"}, first | {"item_id": "q0"}
    with pytest.raises(InputError) as caught:
        read(tmp_path, [first, row | changed], rubric)
    assert said in str(caught.value)
    assert [problem.row for problem in caught.value.problems] == [2]


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_are_read_as_spreadsheets_of_many_countries_save_them(
    tmp_path: Path, separator: str, encoding: str
) -> None:
    path = tmp_path / "sheet.csv"
    rows = [("item_id", "question", "answer"), ("q1", "Why, then?", "So é.")]
    text = "".join(f"{separator.join(row)}\n" for row in rows)
    path.write_text(text, encoding=encoding)
    (subject,), _ = read_subjects(path, load_rubric("independent"))
    assert subject.texts == {"question": "Why, then?", "answer": "So é."}
    path.write_text(text, encoding="cp1252")
    with pytest.raises(InputError, match=r"is not UTF-8.* save it as 'CSV UTF-8'"):
        read_subjects(path, load_rubric("independent"))


def test_files_of_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file is empty"):
        read(tmp_path, [])
    with pytest.raises(InputError, match="not a JSON object"):
        read(tmp_path, [[1]])
    (tmp_path / "sheet.csv").write_text("item_id,question,answer\n")
    with pytest.raises(InputError, match="has 0 rows"):
        read_subjects(tmp_path / "sheet.csv", load_rubric("independent"))
    with pytest.raises(InputError, match="is a folder; give a file"):
        read_subjects(tmp_path, load_rubric("independent"))
    (tmp_path / "sheet.txt").write_text("x")
    with pytest.raises(InputError, match="unknown kind of file"):
        read_subjects(tmp_path / "sheet.txt", load_rubric("independent"))
