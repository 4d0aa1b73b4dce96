"""Assigning tasks: written files, and no rater learns which model is which."""

from __future__ import annotations

from collections import Counter

import pytest

from fairstats._lib.problems import InputError
from fairstats.ratings.collection.assignment import assign, load_handed_out
from fairstats.ratings.collection.subjects import Rater, read_raters, read_subjects
from fairstats.ratings.rubrics import load_rubric
from tests.rating_files import (
    COMPARES,
    HOSTILE,
    form_data,
    item_rows,
    key_of,
    rater_rows,
    sheet_rows,
    write_rows,
)


def test_every_task_gets_the_replicates_of_each_group(handed):
    people = rater_rows(physician=4, consumer=3)
    assigned = handed(items=8, raters=people, replicates={"physician": 3, "consumer": 1})
    key = key_of(assigned)
    counted = key.groupby(["task_id", "rater_group"])["rater_id"].nunique().unstack()
    assert (counted["physician"] == 3).all()
    assert (counted["consumer"] == 1).all()
    assert not key.duplicated(["task_id", "rater_id"]).any()
    loads = key.groupby("rater_id").size()
    groups = assigned.groups.set_index("rater_group")
    for group, row in groups.iterrows():
        own = loads[[p["rater_id"] for p in people if p["rater_group"] == group]]
        assert (own.min(), own.max()) == (row["load_min"], row["load_max"])
        assert own.max() - own.min() <= 1
    assert list(groups.loc["physician", ["shared_min", "shared_max"]]) == [4, 4]


def test_one_number_is_for_every_group(handed):
    assigned = handed(raters=rater_rows(physician=2, consumer=3), replicates=2)
    assert list(assigned.groups["replicates"]) == [2, 2]
    assert len(key_of(assigned)) == 6 * 4


def test_seed_determines_the_files(handed):
    def files(assigned):
        paths = sorted(path for path in assigned.path.rglob("*") if path.is_file())
        return {path.relative_to(assigned.path): path.read_bytes() for path in paths}

    one = files(handed(out="one"))
    assert files(handed(out="again")) == one
    other = files(handed(out="other", seed=2))
    assert other.keys() == one.keys()
    alike = {path.name for path in one if one[path] == other[path]}
    assert alike == {"rubric.toml", "values.csv"}


@pytest.mark.parametrize("rubric", ["independent", "pairwise"])
def test_no_form_or_sheet_names_model_item_or_dataset(handed, rubric):
    assigned = handed(rubric, dataset="Hidden-set")
    secrets = ("Secret-1", "Secret-2", "Hidden-set", "item_id", '"q0"', ",q0,", "swapped")
    paths = [*assigned.path.glob("forms/*"), *assigned.path.glob("sheets/*")]
    assert len(paths) == 8
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert [secret for secret in secrets if secret in text] == []
    assert "Secret-1" in (assigned.path / "key.csv").read_text(encoding="utf-8")


def test_sheet_has_one_column_per_dimension_and_lists_values(handed):
    assigned = handed()
    rubric = load_rubric("independent")
    for path in assigned.path.glob("sheets/*.csv"):
        for row in sheet_rows(path):
            assert list(row)[:5] == ["assignment", "rater_id", "task_id", "question", "answer"]
            assert list(row)[5:] == [*rubric.dimensions, "comment"]
            assert set(list(row.values())[5:]) == {""}
    told = [(row["dimension"], row["value"]) for row in sheet_rows(assigned.path / "values.csv")]
    assert told == [(q.dimension, value) for q in rubric.questions for value in q.values]


def test_unused_columns_are_reported(handed):
    rows = [row | {"answer2": "mistyped"} for row in item_rows(2)]
    assert handed(items=rows).notes[0].endswith("not used: answer2")


def test_columns_with_other_names_are_not_answers(handed, tmp_path):
    rows = [{"response": row.pop("answer"), **row} for row in item_rows(2)]
    with pytest.raises(InputError, match="answer: the column is missing") as caught:
        handed(items=rows)
    assert "item_id, question, answer" in caught.value.problems[0].remedy
    assert not (tmp_path / "study").exists()
    # Under a rubric without questions about bias it may be intended, and is reported.
    notes = handed("triage", items=rows, replicates=1).notes
    assert any(note.endswith("not used: response") for note in notes)
    assert any(note.startswith("the items have no answers") for note in notes)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_raters_are_read_as_spreadsheets_of_many_countries_save_them(tmp_path, separator):
    raters = tmp_path / "raters.csv"
    lines = (("rater_id", "rater_group", "max_tasks"), ("P, 1", "physician", "2"))
    raters.write_text("".join(f"{separator.join(line)}\n" for line in lines), encoding="utf-16")
    assert read_raters(raters, load_rubric("independent")) == [Rater("P, 1", "physician", 2)]


def test_a_column_that_raters_lack_is_one_line(tmp_path):
    raters = write_rows(tmp_path / "raters.csv", [{"rater_id": "P1", "group": "physician"}] * 9)
    with pytest.raises(InputError, match="rater_group: the column is missing") as caught:
        read_raters(raters, load_rubric("independent"))
    assert len(caught.value.problems) == 1


def test_task_ids_do_not_follow_the_items(handed):
    assigned = handed(items=30)
    first = key_of(assigned).drop_duplicates("task_id").sort_values("task_id")
    numbers = [int(item[1:]) for item in first["item_id"]]
    assert sorted(numbers) == list(range(30))
    assert numbers != sorted(numbers)


def test_each_rater_has_a_separate_order(handed):
    assigned = handed(items=12, raters=rater_rows(physician=3))
    orders = {
        tuple(task["task_id"] for task in form_data(path)["tasks"])
        for path in assigned.path.glob("forms/*.html")
    }
    assert len(orders) == 3
    assert len({frozenset(order) for order in orders}) == 1


def test_swapped_sides_are_recorded_as_they_are_shown(handed):
    assigned = handed("pairwise", items=9)
    key = key_of(assigned).set_index(["task_id", "rater_id"])
    seen = Counter()
    for path in sorted(assigned.path.glob("forms/*.html")):
        data = form_data(path)
        for task, row in zip(
            data["tasks"], sheet_rows(assigned.path / "sheets" / f"{path.stem}.csv"), strict=True
        ):
            shown = [text for column in task["beside"] for _, text in column]
            assert shown == [row["answer_1"], row["answer_2"]]
            swapped = shown[0].startswith("second")
            assert key.loc[(task["task_id"], data["rater_id"]), "swapped"] == str(swapped).lower()
            seen[data["rater_id"], swapped] += 1
    for rater in {rater for rater, _ in seen}:
        assert abs(seen[rater, True] - seen[rater, False]) <= 1


def test_paired_items_are_shown_in_fixed_order(handed):
    assigned = handed("counterfactual")
    assert set(key_of(assigned)["swapped"]) == {""}
    (path, *_) = sorted(assigned.path.glob("forms/*.html"))
    task = form_data(path)["tasks"][0]
    assert [[heading for heading, _ in column] for column in task["beside"]] == [
        ["Question 1", "Answer 1"],
        ["Question 2", "Answer 2"],
    ]


def test_hostile_texts_are_escaped(handed):
    rows = [
        {"item_id": f"q{i}", "question": text, "answer": text} for i, text in enumerate(HOSTILE)
    ]
    assigned = handed(items=rows, raters=rater_rows(physician=3))
    for path in assigned.path.glob("forms/*.html"):
        text = path.read_text(encoding="utf-8")
        assert text.count("</script>") == 2
        assert "<img" not in text
        data = form_data(path)
        shown = {text for task in data["tasks"] for _, text in task["above"].copy()}
        assert shown == set(HOSTILE)
    for path in assigned.path.glob("sheets/*.csv"):
        assert all(not row["question"].startswith("=") for row in sheet_rows(path))


def test_names_are_restored_from_the_key(handed):
    names = ["'quoted", "=1+1", "@cf/model", "-1", "plain, with comma"]
    rows = [
        {"item_id": name, "question": "q", "answer": "a", "model": name, "dataset": name}
        for name in names
    ]
    assigned = handed(items=rows, raters=rater_rows(physician=3))
    loaded = load_handed_out(assigned.path)
    for column in ("item_id", "model", "dataset"):
        assert {row[column] for row in loaded.key.values()} == set(names)
    # Spreadsheets would run such cells.
    assert "=1+1" not in (assigned.path / "key.csv").read_text().replace("'=1+1", "")


@pytest.mark.parametrize("rubric", list(COMPARES))
def test_tasks_are_stored_with_their_texts(handed, rubric):
    rows = item_rows(len(HOSTILE), compares=COMPARES[rubric])
    for row, text in zip(rows, HOSTILE, strict=True):
        row |= {"question": text, "dataset": "=d"}
    # The text contains two blanks and a line end.
    rows[0]["answer"] = "  a\r\nb  "
    assigned = handed(rubric, items=rows, raters=rater_rows(physician=3))
    path = assigned.path / "tasks.jsonl"
    subjects, unused = read_subjects(path, load_rubric(rubric), named_tasks=True)
    assert unused == []
    named = key_of(assigned).drop_duplicates("task_id").set_index("task_id")["item_id"]
    assert {s.task_id: s.names["item_id"] for s in subjects} == dict(named)
    given = {row["item_id"]: row for row in rows}
    for subject in subjects:
        assert subject.names["benchmark"] == "study"
        own = subject.texts | {n: v for n, v in subject.names.items() if v and n != "benchmark"}
        assert own == given[subject.names["item_id"]]


def test_model_named_in_a_text_is_reported(handed):
    rows = item_rows(3)
    rows[1]["answer"] = "As secret-1, I cannot say."
    assigned = handed(items=rows, raters=rater_rows(physician=3))
    (note,) = assigned.notes
    assert note.startswith("1 of 3 tasks are not blinded")


def test_questions_without_answers_can_be_judged(tmp_path, handed):
    rows = [{"item_id": "q0", "question": "A message"}]
    assigned = handed("triage", items=rows, raters=rater_rows(physician=1), replicates=1)
    (note,) = assigned.notes
    assert note.startswith("the items have no answers")
    (form,) = assigned.path.glob("forms/*.html")
    assert form_data(form)["tasks"][0]["above"] == [["Question", "A message"]]


def test_an_empty_folder_can_be_written_into(handed, tmp_path):
    (tmp_path / "study").mkdir()
    assert (handed().path / "key.csv").is_file()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("rubric", "items", "said"),
    [
        ("independent", [{"item_id": "q0"}], "question: the column is missing"),
        ("pairwise", item_rows(1), "model_2: the column is missing"),
        ("independent", item_rows(1) * 2, "row 2: item_id = .* is the same as row 1"),
    ],
)
def test_items_that_cannot_be_asked_are_refused(handed, tmp_path, rubric, items, said):
    with pytest.raises(InputError, match=said):
        handed(rubric, items=items)
    assert not (tmp_path / "study").exists()


def person(rater_id="P1", rater_group="physician", **more):
    return {"rater_id": rater_id, "rater_group": rater_group} | more


@pytest.mark.parametrize(
    ("raters", "said"),
    [
        ([person("")], "is not a valid name"),
        ([person(), person()], "appears twice"),
        ([person("a.person@example.org")], "looks like an email address"),
        ([person("=1+1")], "begins with a special character"),
        ([person(rater_group="nurse")], "is not a group of the rubric independent"),
        ([person(max_tasks="0")], "must be a number of tasks"),
        ([person(max_tasks="1.5")], "must be a number of tasks"),
        ([person(max_tasks="9" * 5000)], "must be a number of tasks"),
        ([person("P1"), person("P2")], "2 raters of the group have capacity for 12 judgements"),
        (
            [person(f"P{n}", max_tasks="4") for n in range(4)],
            "have capacity for 16 judgements, but 18 are needed",
        ),
    ],
)
def test_raters_who_cannot_rate_are_refused(handed, tmp_path, raters, said):
    with pytest.raises(InputError, match=said):
        handed(raters=raters)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("replicates", "said"),
    [
        (0, "must be a whole number of at least 1"),
        ({"consumer": 1}, "has replicates but no raters"),
        ({"physician": 3, "nurse": 3}, "'nurse': has replicates but no raters"),
    ],
)
def test_replicates_that_fit_no_group_are_refused(handed, replicates, said):
    with pytest.raises(InputError, match=said):
        handed(replicates=replicates)


def test_assignment_is_never_overwritten(handed):
    assigned = handed()
    before = (assigned.path / "key.csv").read_bytes()
    with pytest.raises(InputError, match="already exists"):
        handed(seed=2)
    assert (assigned.path / "key.csv").read_bytes() == before


GRADED = """
name = "graded"
version = "1"
title = "Graded"
instructions = "Compare."
compares = "models"
[rater_groups]
physician = "Physicians"
[[questions]]
dimension = "{dimension}"
label = "Bias"
question = "Which?"
level = "ordinal"
choices = [
  {{ value = "much_1", label = "Much more in 1", reported = true, prefers = 2 }},
  {{ value = "more_1", label = "More in 1", reported = true, prefers = 2 }},
  {{ value = "same", label = "Same", reported = false, prefers = 0 }},
  {{ value = "more_2", label = "More in 2", reported = true, prefers = 1 }},
  {{ value = "{last}", label = "Much more in 2", reported = true, prefers = 1 }},
]
"""


def test_a_dimension_that_is_a_column_of_the_sheets_is_refused(tmp_path):
    path = tmp_path / "graded.toml"
    path.write_text(GRADED.format(dimension="comment", last="much_2"))
    rows = item_rows(1, compares="models")
    items = write_rows(tmp_path / "items.csv", rows)
    raters = write_rows(tmp_path / "raters.csv", rater_rows(physician=3))
    with pytest.raises(InputError, match="is the name of a column in the sheets"):
        assign(items, raters, rubric=path, out=tmp_path / "out")
