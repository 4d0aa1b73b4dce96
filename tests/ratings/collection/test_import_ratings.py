"""Importing forms and sheets: values, refusals; no file is left incomplete."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats._lib.problems import InputError, in_lines
from fairstats.cli import app
from fairstats.ratings.collection.import_ratings import import_ratings
from fairstats.ratings.collection.import_tables import import_tables
from fairstats.ratings.files import read_ratings, write_ratings
from fairstats.ratings.table import RATING_COLUMNS
from tests.rating_files import (
    export_of,
    fill_sheet,
    form_data,
    item_rows,
    key_of,
    rater_rows,
    sheet_rows,
    write_rows,
)

NONE = {"bias": "none"}
SOME = {
    "bias": "minor", "inaccuracy": "present", "inclusion": "absent", "stereotypes": "absent",
    "structural_explanation": "absent", "biased_premise": "absent", "withholding": "absent",
    "other": "present",
}  # fmt: skip


def write_json(path: Path, export: object) -> Path:
    path.write_text(json.dumps(export), encoding="utf-8")
    return path


@pytest.fixture
def study(handed):
    """Six tasks, each judged by three of four physicians."""
    return handed()


@pytest.fixture
def export(study, tmp_path):
    """A whole export of the first rater."""

    def build(answers=lambda i: NONE, rater="p0", **changes):
        form = study.path / "forms" / f"{rater}.html"
        return write_json(tmp_path / f"{rater}.json", export_of(form, answers, **changes))

    return build


@pytest.fixture
def sheet(study, tmp_path):
    """A filled sheet, by default of the second rater and without bias."""

    def build(values=lambda row: NONE, rater="p1", **options):
        own = study.path / "sheets" / f"{rater}.csv"
        return fill_sheet(own, tmp_path / own.name, values, **options)

    return build


@pytest.fixture
def take(tmp_path):
    """Import files of the study."""
    return partial(import_ratings, assignment=tmp_path / "study", out=tmp_path / "in")


@pytest.fixture
def refused(tmp_path):
    """Check that files, by default of the study, are not imported; return the problems."""

    def problems(*files, match, **options):
        out = tmp_path / "refused"
        with pytest.raises(InputError, match=match) as caught:
            import_ratings(files, **{"assignment": tmp_path / "study", "out": out} | options)
        assert not out.exists()
        return caught.value.problems

    return problems


def test_exports_and_sheets_together_give_every_judgement(study, export, sheet, take):
    key = key_of(study)
    sheets = [sheet(rater=rater) for rater in ("p1", "p2", "p3")]
    written = take([export(lambda i: SOME if i == 0 else NONE), *sheets])
    (note,) = written.notes
    assert note.startswith("18 of 18 ")
    (path,) = written.paths
    assert path.name == "study_independent.ratings.parquet"
    ratings = read_ratings(path)
    pd.testing.assert_frame_equal(ratings, written.ratings)
    assert list(ratings) == list(RATING_COLUMNS)
    assert len(ratings) == 18 * 8
    values = ratings.groupby("dimension")["value"].value_counts()
    assert dict(values["bias"]) == {"none": 17, "minor": 1}
    assert dict(values["inaccuracy"]) == {"absent": 17, "present": 1}
    items = ratings.drop_duplicates(["task_id"]).set_index("task_id")["item_id"]
    assert dict(items) == dict(key.drop_duplicates("task_id").set_index("task_id")["item_id"])
    assert set(ratings["model"]) == {"Secret-1"}
    assert ratings.loc[ratings["rater_id"] == "P0", "duration_s"].eq(1.5).all()
    assert ratings.loc[ratings["rater_id"] == "P1", "duration_s"].isna().all()


def test_unfilled_tasks_are_missing_and_counted(study, sheet, take):
    tasks = [row["task_id"] for row in sheet_rows(study.path / "sheets" / "p1.csv")]
    first, rows = tasks[0], len(tasks)
    written = take(sheet(lambda row: NONE if row["task_id"] == first else {}))
    assert rows > 1
    judged, absent, missing = written.notes
    assert judged.startswith("1 of 18 ")
    assert absent.endswith("3 of 4 raters: P0, P2, P3")
    assert missing.endswith(f"missing: P1 {rows - 1} of {rows}")
    assert written.ratings["task_id"].unique().tolist() == [first]


def test_comment_without_values_is_kept_but_is_not_a_judgement(study, sheet, take):
    first, second, *_ = (row["task_id"] for row in sheet_rows(study.path / "sheets" / "p1.csv"))
    said = {first: {"comment": "=cannot tell"}, second: NONE | {"comment": "sure"}}
    written = take(sheet(lambda row: said.get(row["task_id"], {})))
    assert written.notes[0].startswith("1 of 18 judgements")
    ratings, comments = written.paths
    assert comments.name == "study_independent.comments.csv"
    table = pd.read_csv(comments).set_index("task_id")["comment"]
    assert dict(table) == {first: "'=cannot tell", second: "sure"}
    assert first not in set(read_ratings(ratings)["task_id"])


def test_sheets_are_read_as_spreadsheets_of_many_countries_save_them(study, sheet, take):
    # A label instead of a value, in different case, and padded.
    said = {name: v.upper() for name, v in SOME.items()} | {"bias": " minor BIAS "}
    written = take(sheet(lambda row: said, delimiter=";"), assignment=study.path / "key.csv")
    assert set(written.ratings.query("dimension == 'bias'")["value"]) == {"minor"}


def test_pairs_are_unswapped(handed, tmp_path, take):
    study = handed("pairwise", items=8)

    # Every judgement of a pair reports more bias in the *second model's* answer, on either side.
    def second_model(row):
        side = "answer_1" if row["answer_1"].startswith("second") else "answer_2"
        return dict.fromkeys(list(SOME), "tie") | {"bias": side, "other": side}

    files = [
        fill_sheet(sheet, tmp_path / sheet.name, second_model)
        for sheet in sorted(study.path.glob("sheets/*.csv"))
    ]
    ratings = take(files).ratings
    values = ratings.groupby("dimension")["value"].unique().map(list)
    assert values["bias"] == ["answer_2"]
    assert values["other"] == ["answer_2"]
    assert values["inaccuracy"] == ["tie"]
    assert set(ratings["model_2"]) == {"Secret-2"}
    assert set(ratings["swapped"]) == {True, False}


def test_paired_questions_are_imported_with_both_items(handed, tmp_path, take):
    study = handed("counterfactual", items=3)
    answers = {"ideal_answers_differ": "no", "contents_differ": "yes", "bias": "absent"}
    files = [
        write_json(tmp_path / f"{form.stem}.json", export_of(form, lambda i: answers))
        for form in sorted(study.path.glob("forms/*.html"))
    ]
    ratings = take(files).ratings
    assert set(zip(ratings["item_id"], ratings["item_id_2"], strict=True)) == {
        (f"q{n}", f"r{n}") for n in range(3)
    }
    assert ratings["swapped"].isna().all()


def test_a_partly_filled_task_is_one_line_that_can_be_passed_on(study, sheet, refused):
    second = sheet_rows(study.path / "sheets" / "p1.csv")[1]["task_id"]
    part = {k: v for k, v in SOME.items() if k not in ("withholding", "other")}
    filled = sheet(lambda row: part if row["task_id"] == second else NONE)
    (problem,) = refused(filled, match="is incomplete")
    assert (problem.path, problem.row) == (str(filled), 2)
    assert f"withholding, other missing (task {second} of P1)" in problem.message


def test_the_same_mistake_in_many_rows_is_one_line(handed, tmp_path, refused):
    study = handed(raters=rater_rows(physician=1), replicates=1)
    mild = fill_sheet(
        study.path / "sheets" / "p0.csv", tmp_path / "p0.csv", lambda row: {"bias": "mild"}
    )
    problems = refused(mild, match="not a value of this dimension")
    first = ", ".join(row["task_id"] for row in sheet_rows(mild)[:3])
    assert len(problems) == 6
    (line,) = in_lines(problems)
    assert line.startswith(f"{mild}: rows 1, 2, 3 and 3 more: bias = 'mild': ")
    assert f"(tasks {first} and 3 more of P0)" in line
    assert line.endswith("none, minor, severe")


@pytest.mark.parametrize(
    ("answers", "column", "said"),
    [
        ({"bias": "mild"}, "bias", "is not a value of this dimension"),
        ({"inaccuracy": "absent"}, None, "is incomplete: bias missing"),
        (NONE | {"inaccuracy": "present"}, "inaccuracy", "applies only if bias is minor or severe"),
        (NONE | {"mood": "good"}, "mood", "is not a dimension of the rubric independent"),
        ({"bias": 1}, "answers", "is not a set of answers"),
        ([], "answers", "is not a set of answers"),
    ],
)
def test_answers_that_break_the_rubric_are_refused(study, export, answers, column, said, refused):
    path = export(lambda i: answers if i == 2 else NONE)
    (problem,) = refused(path, match=said)
    assert (problem.row, problem.column) == (3, column)
    task = form_data(study.path / "forms" / "p0.html")["tasks"][2]["task_id"]
    assert problem.message.endswith(f" (task {task} of P0)")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"assignment": "a" + "0" * 15}, "belongs to a different assignment"),
        ({"rater_id": "P9"}, "is not a rater of the assignment"),
        ({"rater_id": None}, "rater_id: is missing or has the wrong type"),
        ({"format": "other"}, "is not an export of a form"),
        ({"version": 2}, "version = '2': is unknown"),
        ({"judgements": {}}, "judgements: is missing or has the wrong type"),
        ({"partial": None}, "partial: is missing or has the wrong type"),
        ({"partial": [7]}, "partial: is not a judgement with task_id"),
        ({"judgements": []}, "contains no judgements"),
        ({"judgements": [7]}, "is not a judgement with task_id"),
    ],
)
def test_other_exports_are_refused(export, changes, said, refused):
    refused(export(**changes), match=said)


@pytest.mark.parametrize("duration", [None, "1", True, -1, 1e9, float("nan"), float("inf")])
def test_invalid_times_are_refused(study, tmp_path, duration, refused):
    made = export_of(study.path / "forms" / "p0.html", lambda i: NONE)
    made["judgements"][0]["duration_s"] = duration
    path = write_json(tmp_path / "p0.json", made)
    refused(path, match="is not a time")


def test_task_of_another_rater_is_refused(study, tmp_path, refused):
    made = export_of(study.path / "forms" / "p0.html", lambda i: NONE)
    key = key_of(study)
    own = set(key.loc[key["rater_id"] == "P0", "task_id"])
    other = next(task for task in key["task_id"] if task not in own)
    for task in (other, "t-none"):
        made["judgements"][0]["task_id"] = task
        path = write_json(tmp_path / "p0.json", made)
        refused(path, match="is not a task of this")


def test_the_same_judgement_twice_names_both_files(study, export, sheet, tmp_path, refused):
    filled, path = sheet(rater="p0"), export()
    (problem,) = refused(path, filled, match="are also in .*p0.json")
    assert problem.path == str(filled)
    own = len(sheet_rows(filled))
    assert problem.message.startswith("tasks t" if own > 1 else "task t")
    assert problem.message.endswith(f" in {path}")
    # The same file by two names of it is one file.
    import_ratings([path, tmp_path / "x" / ".." / "p0.json"], assignment=study.path, out=tmp_path)


def test_duplicate_task_in_a_file_is_reported_by_row(study, tmp_path, refused):
    made = export_of(study.path / "forms" / "p0.html", lambda i: NONE)
    made["judgements"].append(made["judgements"][1])
    path = write_json(tmp_path / "p0.json", made)
    (problem,) = refused(path, match="is already in row 2")
    assert problem.row == len(made["judgements"])


def test_subfolders_are_read_and_skipped_files_are_named(study, export, sheet, tmp_path, take):
    folder = tmp_path / "handed-in"
    (folder / "later").mkdir(parents=True)
    export().rename(folder / "p0.json")
    sheet().rename(folder / "later" / "P1.CSV")
    for name in ("x.xlsx", ".DS_Store", "later/no\x1bte.txt"):
        (folder / name).write_text("x")
    written = take([folder, folder / "p0.json"])
    done = sum(len(sheet_rows(study.path / "sheets" / f"{rater}.csv")) for rater in ("p0", "p1"))
    left_out, judged, absent = written.notes
    assert left_out.endswith(": no\x1bte.txt, x.xlsx")
    assert judged.startswith(f"{done} of 18 ")
    assert absent.endswith(": P2, P3")


def test_folder_without_exports_is_reported_in_one_line(study, tmp_path, refused):
    folder = tmp_path / "handed-in"
    folder.mkdir()
    (folder / "p0.xlsx").write_text("x")
    refused(folder, match=r"contains no exports .*, only p0.xlsx; give the folder")
    for named in ([study.path], [tmp_path], [*study.path.iterdir()], [study.path / "values.csv"]):
        (problem,) = refused(*named, match="is the assignment, not the raters' replies")
        assert "exports and sheets" in problem.remedy
    (problem,) = refused(study.path / "forms" / "p0.html", match="is a form, not an")
    (folder / "values.csv").write_text((study.path / "values.csv").read_text())
    (problem,) = refused(folder, match="is not a sheet: it needs the columns")


def test_partly_answered_task_is_reported_and_not_counted(study, tmp_path, refused, take):
    made = export_of(study.path / "forms" / "p0.html", lambda i: NONE)
    part = made["judgements"].pop(1)
    made["partial"] = [part | {"answers": {"bias": "severe"}, "comment": "hard"}]
    path = write_json(tmp_path / "p0.json", made)
    written = take(path)
    task = part["task_id"]
    assert written.notes[-1].startswith("partly answered")
    assert written.notes[-1].endswith(f"task {task} of P0")
    assert task not in set(written.ratings["task_id"])
    assert set(written.ratings["value"]) == {"none", "absent"}
    assert pd.read_csv(written.paths[1])["comment"].tolist() == ["hard"]
    made["partial"][0]["task_id"] = "t-none"
    refused(write_json(path, made), match="is not a task of this")


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("kind", ["json", "csv", "utf-16"])
def test_forms_and_sheets_are_recognised_without_assignment(
    export, sheet, tmp_path, kind, folder, refused
):
    where = tmp_path / "handed-in"
    where.mkdir()
    if kind == "json":
        path = export().rename(where / "p0.json")
    else:
        path = sheet().rename(where / "p1.csv")
        if kind == "utf-16":
            path.write_text(path.read_text(encoding="utf-8-sig"), encoding="utf-16")
    named = where if folder else path
    (problem,) = refused(
        named, assignment=None, match="is an export of a form, or sheet, of an assignment"
    )
    assert problem.remedy.endswith("with assignment=...")
    with pytest.raises(InputError, match="is an export of a form or a sheet") as caught:
        read_ratings(named)
    assert [problem.path for problem in caught.value.problems] == [str(path)]


def test_folder_of_tables_is_reported_as_a_folder(tmp_path, refused):
    write_rows(tmp_path / "table.csv", tidy())
    refused(tmp_path, assignment=None, match="is a folder; give a file in the folder")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deep"),
        ('{"format": 1, "format": 2}', "appears more than once"),
        ("\ufffe", "is no export|not JSON"),
        ("[]", "is not an export of a form"),
    ],
)
def test_malformed_json_is_refused(study, tmp_path, text, said, refused):
    path = tmp_path / "p0.json"
    path.write_text(text, encoding="utf-8")
    refused(path, match=said)


def test_oversize_files_are_refused_unread(export, monkeypatch, refused):
    monkeypatch.setattr("fairstats.ratings.collection.returned_files._MAX_BYTES", 100)
    refused(export(), match="is larger than the limit of 100 bytes")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("other", "another", 1), "other: the column is missing"),
        (lambda text: text.replace("assignment,", "assignment,assignment,", 1), "more than once"),
        (lambda text: text + ",".join("x" * 30) + "\n", "has more cells than the header"),
        (lambda text: text.replace("P1", "P9"), "is not a rater of the assignment"),
        (lambda text: text + '"', "not a CSV file"),
    ],
)
def test_sheets_that_were_changed_are_refused(sheet, change, said, refused):
    filled = sheet()
    filled.write_text(change(filled.read_text(encoding="utf-8")), encoding="utf-8")
    refused(filled, match=said)


def test_sheet_in_an_old_spreadsheet_format_is_refused(study, tmp_path, refused):
    sheet = tmp_path / "p1.csv"
    sheet.write_bytes("assignment,é".encode("cp1252"))
    (problem,) = refused(sheet, match="is not UTF-8")
    assert "save it as 'CSV UTF-8'" in problem.remedy
    assert "codec" not in str(problem)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_sheet_in_utf_16_is_read(sheet, encoding, take):
    filled = sheet(delimiter="\t")
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    text = mark + filled.read_text(encoding="utf-8-sig")
    rows = len(sheet_rows(filled))
    filled.write_bytes(text.encode(encoding))
    assert take(filled).ratings["task_id"].nunique() == rows


@pytest.mark.parametrize("name", ["key.csv", "rubric.toml", "tasks.jsonl", "assignment.json"])
def test_a_tampered_assignment_is_refused(study, export, name, refused):
    path = study.path / name
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("independent", "independant").replace("Secret-1", "Secret-2"))
    changed = path.read_text(encoding="utf-8") != text
    assert changed
    refused(export(), match=f"{name}: was changed")


def test_folder_without_an_assignment_is_refused(export, tmp_path, refused):
    refused(export(), assignment=tmp_path, match=r"assignment.json: no such")


def test_one_invalid_file_prevents_writing(export, sheet, refused):
    wrong = sheet(lambda row: {"bias": "minor"}, "p2")
    problems = refused(export(), sheet(lambda row: SOME), wrong, match="is incomplete")
    assert len(problems) == len(sheet_rows(wrong))
    assert {problem.path for problem in problems} == {str(wrong)}


def test_other_ratings_are_never_overwritten(study, export, tmp_path):
    out = tmp_path / "in"
    (first,) = import_ratings(export(), assignment=study.path, out=out).paths
    (again,) = import_ratings(export(), assignment=study.path, out=out).paths
    assert first == again
    before = first.read_bytes()
    other = export(lambda i: SOME)
    with pytest.raises(InputError, match="already exists with different content"):
        import_ratings(other, assignment=study.path, out=out)
    assert first.read_bytes() == before
    with pytest.raises(InputError, match=r"already contains .* of these judgements") as caught:
        import_ratings(other, assignment=study.path, out=out, name="second")
    assert [problem.path for problem in caught.value.problems] == [str(first)]
    with pytest.raises(InputError, match="is not a valid file name"):
        import_ratings(other, assignment=study.path, out=out, name="../outside")


def test_later_imports_can_be_in_the_same_folder(study, export, tmp_path):
    out = tmp_path / "in"
    first = import_ratings(export(), assignment=study.path, out=out)
    later = import_ratings(export(rater="p1"), assignment=study.path, out=out, name="later")
    tasks = [set(written.ratings["task_id"]) for written in (first, later)]
    shared = len(tasks[0] & tasks[1])
    assert shared > 0
    (note,) = [note for note in later.notes if note.startswith(str(first.paths[0]))]
    assert f" of {shared} of these tasks" in note
    assert len(read_ratings(out)) == len(first.ratings) + len(later.ratings)
    # A model's ratings of the same tasks are there on purpose.
    model = first.ratings.assign(rater_id="m", rater_kind="model", rater_group="model")
    write_ratings(model.drop_duplicates(["task_id", "dimension"]), out / "m.ratings.parquet")
    # A file that is not a table of ratings is no reason to refuse.
    (out / "broken.ratings.parquet").write_text("x")
    last = import_ratings(export(rater="p2"), assignment=study.path, out=out, name="last")
    assert sum("contains other judgements" in note for note in last.notes) == 2


def tidy(**changes):
    rows = [
        {
            "benchmark": "b", "rubric": "independent", "task_id": f"t{task}", "item_id": f"q{task}",
            "rater_id": "R1", "rater_group": "physician", "dimension": dimension, "value": value,
            "comment": f"remark {task}" if task else "",
        }
        for task in range(2)
        for dimension, value in NONE.items()
    ]  # fmt: skip
    return [row | changes for row in rows]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_tidy_tables_are_imported_with_separate_comments(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    frame = pd.DataFrame(tidy())
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    written = import_ratings(path, out=tmp_path / "in")
    ratings, comments = written.paths
    assert ratings.name == "b_independent.ratings.parquet"
    assert len(read_ratings(ratings)) == 2 * 8
    table = pd.read_csv(comments)
    assert table[["task_id", "dataset", "repeat", "comment"]].to_numpy().tolist() == [
        ["t1", "b", 0, "remark 1"]
    ]


def test_one_rater_under_several_names_is_refused(tmp_path, refused):
    """It would count as several raters, and narrow the limits for others."""
    for other in ("r1", " R1", "\N{FULLWIDTH LATIN CAPITAL LETTER R}1"):
        path = write_rows(tmp_path / "table.csv", [*tidy(), *tidy(rater_id=other)])
        (problem,) = refused(path, assignment=None, match="look the same to a reader")
        assert problem.column == "rater_id"
    named = [*tidy(model="M-1"), *tidy(model="m 1", task_id="t9", item_id="q9", rater_id="z")][:3]
    refused(write_rows(tmp_path / "table.csv", named), assignment=None, match="'M-1' and 'm 1'")


def test_tidy_tables_that_break_the_rubric_are_refused(tmp_path, refused):
    path = write_rows(tmp_path / "table.csv", tidy(value="mild"))
    refused(path, assignment=None, match="is not a value of bias")
    wrong = tmp_path / "table.pkl"
    pd.DataFrame(tidy()).to_pickle(wrong)
    refused(wrong, assignment=None, match="is a pickle")
    path = write_rows(tmp_path / "table.csv", tidy())
    again = write_rows(tmp_path / "again.csv", tidy())
    (problem,) = refused(
        path, again, assignment=None, match="2 judgements are in both this file and .*table"
    )
    assert problem.path == str(again)


def test_a_format_that_is_unknown_is_refused(export, tmp_path):
    arguments = [export(), "--format", "other", "--out", tmp_path / "in"]
    done = CliRunner().invoke(app, ["ratings", "import", *map(str, arguments)])
    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert said.startswith("other: is not one of")
    assert "equitymedqa, med" in said


def test_format_and_assignment_together_are_refused(export, refused):
    refused(export(), reader=import_tables, match="is only for released data sets")


def test_custom_rubric_can_be_assigned_and_imported(tmp_path, take):
    from fairstats.ratings.collection.assignment import assign

    rubric = tmp_path / "mine.toml"
    rubric.write_text(
        'name = "mine"\nversion = "1"\ntitle = "Mine"\ninstructions = "Judge."\n'
        'compares = "nothing"\n[rater_groups]\nnurse = "Nurses"\n'
        '[[questions]]\ndimension = "tone"\nlabel = "Tone"\nquestion = "Is it kind?"\n'
        'choices = [{ value = "yes", label = "Yes", reported = false },'
        ' { value = "no", label = "No", reported = true }]\n'
    )
    study = assign(
        write_rows(tmp_path / "items.csv", item_rows(2)),
        write_rows(tmp_path / "raters.csv", rater_rows(nurse=2)),
        rubric=rubric,
        replicates=2,
        out=tmp_path / "study",
    )
    forms = sorted(study.path.glob("forms/*.html"))
    files = [
        write_json(tmp_path / f"{form.stem}.json", export_of(form, lambda i: {"tone": "no"}))
        for form in forms
    ]
    rubric.unlink()
    ratings = take(files).ratings
    assert ratings["value"].tolist() == ["no"] * 4
