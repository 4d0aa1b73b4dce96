"""The items file of a model's ratings, and every way in which it can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.ratings.ask_items import read_subjects
from fairstats.problems import InputError
from fairstats.ratings.rubrics import load_rubric

ROW = {"item_id": "q1", "question": "Why?", "answer": "So."}
MODELS = ROW | {"model": "m1", "model_2": "m2", "answer_2": "Or so."}
ITEMS = ROW | {"item_id_2": "q2", "question_2": "Why then?", "answer_2": "Or so."}


def read(tmp_path: Path, rows: list[Any], rubric: str = "independent", **given: Any) -> Any:
    path = tmp_path / "sheet.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_subjects(path, load_rubric(rubric), **given)


def test_csv_and_json_lines_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text('item_id,answer,question,model,more\nq1,So.,"Why,\nthen?",,x\n')
    (from_csv,) = read_subjects(path, load_rubric("independent"))
    row = {"item_id": "q1", "answer": "So.", "question": "Why,\nthen?", "model": None, "more": "x"}
    assert read(tmp_path, [row]) == [from_csv]
    assert (from_csv.benchmark, from_csv.dataset, from_csv.task_id) == ("sheet", "sheet", "q1")


def test_what_the_file_says_wins(tmp_path: Path) -> None:
    rows = [ROW | {"dataset": "d", "task_id": "t"}, ROW | {"benchmark": "own"}]
    first, second = read(tmp_path, rows, benchmark="bench", dataset="set")
    assert (first.benchmark, first.dataset, first.task_id) == ("bench", "d", "t")
    assert (second.benchmark, second.dataset, second.task_id) == ("own", "set", "q1")


def test_tasks_are_named_by_what_they_hold(tmp_path: Path) -> None:
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
        ("independent", ROW, {"item_id": None}, "row 2: item_id: is missing"),
        ("independent", ROW, {"item_id": 7}, "item_id = '7': is no name"),
        ("independent", ROW, {"item_id": "a\u202eb"}, "is no name"),
        ("independent", ROW, {"item_id": " q"}, "is no name"),
        ("independent", ROW, {"item_id": "q" * 201}, "is no name"),
        ("independent", ROW, {"model": ""}, "model = '': is no name"),
        ("independent", ROW, {"answer": " "}, "answer: is missing; the rubric independent"),
        ("independent", ROW, {"answer": None}, "answer: is missing"),
        ("independent", ROW, {"question": ["x"]}, "has to be a text"),
        ("independent", ROW, {"question": "\ud800"}, "has to be a text"),
        ("independent", ROW, {"answer": "x" * 100_001}, "is longer than 100,000"),
        ("independent", ROW, {"item_id": "q1"}, "task_id = 'q1': is a task before it"),
        ("pairwise", MODELS, {"model": None}, "model: is missing; the rubric pairwise"),
        ("pairwise", MODELS, {"answer_2": None}, "answer_2: is missing"),
        ("pairwise", MODELS, {"model_2": "m1"}, "model_2 = 'm1': is the same as model"),
        ("counterfactual", ITEMS, {"question_2": None}, "question_2: is missing"),
        ("counterfactual", ITEMS, {"item_id": "q2"}, "item_id_2 = 'q2': is the same as item_id"),
    ],
)
def test_a_row_that_does_not_fit_is_named(
    tmp_path: Path, rubric: str, row: dict[str, Any], changed: dict[str, Any], said: str
) -> None:
    first = row | {"task_id": "t"} if changed != {"item_id": "q1"} else row
    with pytest.raises(InputError) as caught:
        read(tmp_path, [first, row | changed], rubric)
    assert said in str(caught.value)
    assert [problem.row for problem in caught.value.problems] == [2]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file is empty"):
        read(tmp_path, [])
    with pytest.raises(InputError, match="not a JSON object"):
        read(tmp_path, [[1]])
    (tmp_path / "sheet.csv").write_text("item_id,question,answer\n")
    with pytest.raises(InputError, match="holds no item"):
        read_subjects(tmp_path / "sheet.csv", load_rubric("independent"))
    with pytest.raises(InputError, match="holds no such file"):
        read_subjects(tmp_path, load_rubric("independent"))
    (tmp_path / "sheet.txt").write_text("x")
    with pytest.raises(InputError, match="unknown kind of file"):
        read_subjects(tmp_path / "sheet.txt", load_rubric("independent"))
