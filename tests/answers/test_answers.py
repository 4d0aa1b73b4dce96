"""Reading, writing and checking answers: every fault is named, and no file is left incomplete."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

import fairstats
from fairstats._lib.atomic_files import unfinished
from fairstats._lib.problems import InputError, Note, Problem
from fairstats._lib.safe_names import normal_name
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.engines import scan_answers
from fairstats.answers.files import (
    answer_files,
    read_answers,
    read_parquet,
    write_answer_sets,
    write_answers,
    write_parquet,
)
from fairstats.answers.schema import KEY_COLUMNS, REQUIRED_COLUMNS, STATUSES, answers_schema
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.analyze import analyze

ROW = {
    "benchmark": "demo",
    "benchmark_version": "1",
    "model": "model",
    "strategy": "plain",
    "item_id": "demo-01",
    "attribute": "race",
    "group": "white",
    "sample": 0,
    "answer": "A",
    "answer_key": "C",
    "status": "ok",
}
OPTIONAL = {
    "answer_key": "C",
    "snapshot": "model-2025-01-01",
    "answer_raw": "A, I think.\u2028“Yes”\n\x00",
    "prompt_sha256": "0f" * 32,
    "context_sha256": "f0" * 32,
    "temperature": 0.7,
    "max_tokens": 16,
    "seed": 2**53 + 1,
    "latency_s": 1.25,
    "prompt_tokens": 120,
    "completion_tokens": 0,
    "collected_at": "2025-01-01T12:00:00Z",
    "collector": "chat",
    "endpoint": "host.org/v1",
    "cluster": "patient-7",
}
MISSING = {"answer": None, "status": "unparsed"}


def rows(*changes: dict[str, Any]) -> pd.DataFrame:
    """Return one answer per change, each to a different item."""
    return pd.DataFrame(
        [ROW | {"item_id": f"demo-{i:02}"} | change for i, change in enumerate(changes, start=1)]
    )


def problems_of(call: Callable[[], object]) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        call()
    return list(caught.value.problems)


def as_jsonl(path: Path, *lines: dict[str, Any] | str) -> Path:
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(text), encoding="utf-8")
    return path


def save(answers: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        return write_answers(answers, path)
    if path.suffix == ".csv":
        answers.to_csv(path, index=False)
        return path
    records = answers.astype(object).where(answers.notna(), None).to_dict("records")
    return as_jsonl(path, *records)


# The schema


def test_the_schema_names_the_columns_of_the_table():
    columns = answers_schema().columns
    assert [name for name, column in columns.items() if column.required] == list(REQUIRED_COLUMNS)
    assert [name for name, column in columns.items() if not column.required] == list(OPTIONAL)


def test_good_answers_pass_and_get_their_types():
    given = rows(OPTIONAL, OPTIONAL | MISSING | {"sample": "3"})
    checked = check_answers(given)
    assert checked["sample"].tolist() == [0, 3]
    assert checked["answer"].isna().tolist() == [False, True]
    assert str(checked["sample"].dtype) == "int64"
    assert str(checked["seed"].dtype) == "Int64"
    assert given["sample"].tolist() == [0, "3"], "the frame that was handed over is not changed"


@pytest.mark.parametrize(
    "name",
    [
        *("GPT #1 (equivalent)", "Rank 1", "1. GPT", "win-win", "\N{NUMERO SIGN} 1 GPT"),
        *(
            "Rank1-7B",
            "No-Code-3",
            "2nd-gen",
            "Llama-3-8B (LoRA, rank 16)",
            "Command R+",
            "通义千问-7B",
        ),
        *("f(x)*2", "o1", "通义千问-7B", 'the "small" one', "tiny-\N{HUGGING FACE}"),
    ],
)
def test_names_may_have_any_words(name):
    name = normal_name(name)
    assert set(check_answers(rows({"model": name, "strategy": name}))["model"]) == {name}


@pytest.mark.parametrize("status", STATUSES)
def test_answer_is_present_exactly_if_status_is_ok(status):
    right, wrong = ("A", None) if status == "ok" else (None, "A")
    check_answers(rows({"status": status, "answer": right}))
    (problem,) = problems_of(lambda: check_answers(rows({"status": status, "answer": wrong})))
    assert (problem.row, problem.column) == (1, "status")
    assert "if and only if" in problem.message


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("model", "", "1 to 200 printable characters"),
        ("model", "x" * 201, "1 to 200 printable characters"),
        ("model", "a\x1b[2Jb", "printable characters"),
        ("model", "a\nb", "printable characters"),
        ("model", "a\u202eb", "printable characters"),
        *[("model", f"GPT-4o {mark}", "without marks") for mark in "*†‡§◆◇▲●⏶⏺"],
        ("model", "GPT-4o \N{FIRST PLACE MEDAL}", "without marks"),
        *[("model", f"GPT-4o{mark}", "without marks") for mark in ("\u2217", " \u204e", "*)")],
        ("model", "GPT-4o  1  equivalent", "two spaces in a row"),
        ("strategy", "plain ‡", "without marks"),
        ("benchmark_version", "1*", "without marks"),
        ("model", "a\u2066b", "printable characters"),
        ("model", "a\x85b", "printable characters"),
        ("model", "a\x9bb", "printable characters"),
        ("model", "a\u2028b", "printable characters"),
        ("model", "model\n", "printable characters"),
        ("model", None, "must not be empty"),
        ("group", None, "must not be empty"),
        ("sample", -1, "must not be negative"),
        ("sample", 1.5, "is not a whole number"),
        ("sample", "one", "is not a whole number"),
        ("sample", "1_000", "is not a whole number"),
        ("sample", pd.Timestamp("2025-01-01"), "is not a whole number"),
        ("sample", None, "must not be empty"),
        ("sample", 2**63, "is too large"),
        ("sample", 10**30, "is too large"),
        ("sample", "1" + "0" * 30, "is too large"),
        ("sample", float("inf"), "is not a whole number"),
        ("answer", "A\n", "must be an option or a number"),
        ("answer", " A", "must be an option or a number"),
        ("answer", "a\u202eb", "must be an option or a number"),
        ("answer", "x" * 61, "must be an option or a number"),
        ("answer", "", "must be an option or a number"),
        ("answer_key", "", "must be an option or a number"),
        ("answer_key", "C\n", "must be an option or a number"),
        ("cluster", "x" * 201, "1 to 200 printable characters"),
        ("status", "fine", "must be one of ok, unparsed, refused, error"),
        ("status", None, "must not be empty"),
        ("answer_raw", "x" * 1_000_001, "longer than 1,000,000 characters"),
        ("prompt_sha256", "0F" * 32, "64 hexadecimal digits"),
        ("prompt_sha256", "0f" * 32 + "\n", "64 hexadecimal digits"),
        ("temperature", "warm", "is not a number"),
        ("temperature", "٧", "is not a number"),
        ("temperature", -0.1, "must not be negative"),
        ("endpoint", "https://user:password@host.org/v1", "without a user, a password"),
        ("endpoint", "user@host.org", "without a user, a password"),
        ("endpoint", "host.org/v1?key=secret", "without a user, a password or a query"),
        ("max_tokens", 1.5, "is not a whole number"),
        ("latency_s", float("inf"), "is not a number"),
        ("collected_at", "2025-01-01 12:00", "ISO 8601"),
        ("collected_at", "2025-01-01T12:00:00", "ISO 8601"),
        ("collected_at", "2025-02-30T12:00:00Z", "ISO 8601"),
        ("collected_at", "2025-01-01T24:00:00Z", "ISO 8601"),
        ("collected_at", "9999-12-31T23:59:59-14:00", "ISO 8601"),
        ("collector", "a\tb", "printable"),
    ],
)
def test_a_fault_is_named_with_row_column_value_and_remedy(column, value, message):
    (problem,) = problems_of(
        lambda: check_answers(rows(OPTIONAL, OPTIONAL | {column: value}), path="a.csv")
    )
    assert (problem.path, problem.row, problem.column) == ("a.csv", 2, column)
    assert message in problem.message
    assert problem.remedy
    if value is not None:
        assert problem.value == str(value)[:300]


@pytest.mark.parametrize("answer", ["A", "a", "AB", "3", "-2.5", "Ä", "treat at home", "x" * 60])
def test_options_words_and_numbers_are_answers(answer):
    assert check_answers(rows({"answer": answer}))["answer"].tolist() == [answer]


@pytest.mark.parametrize("endpoint", ["https://host.org:80/v1", "host.org/models/a@001", "Azure"])
def test_endpoints_may_be_addresses_without_secrets(endpoint):
    assert check_answers(rows({"endpoint": endpoint}))["endpoint"].tolist() == [endpoint]


def test_numbers_among_empty_cells_are_written_as_a_reader_would():
    # With an empty cell, pandas makes a column of whole numbers one of fractions.
    changes = ({"answer": 3}, {"answer": 2.5}, MISSING)
    answers = rows(*changes).astype({"answer": "float64"})
    assert check_answers(answers)["answer"].tolist()[:2] == ["3", "2.5"]


@pytest.mark.parametrize("column", ["max_tokens", "seed", "prompt_tokens", "completion_tokens"])
def test_null_among_whole_numbers_stays_null(column):
    checked = check_answers(rows({column: 16}, {}))
    assert checked[column].isna().tolist() == [False, True]


def test_every_fault_is_named_in_the_order_of_the_rows():
    answers = rows(
        {"model": "", "answer": " z"},
        {},
        {"sample": "x", "temperature": "hot"},
        {"status": "fine"},
        {"item_id": "demo-02"},
    )
    found = problems_of(lambda: check_answers(answers))
    assert [(problem.row, problem.column) for problem in found] == [
        (1, "answer"),
        (1, "model"),
        (3, "sample"),
        (3, "temperature"),
        (4, "status"),
        (5, "key"),
    ]


def test_a_duplicate_is_named_by_its_whole_key():
    answers = rows({}, {"item_id": "demo-01"}, {"item_id": "demo-01", "sample": 1})
    (problem,) = problems_of(lambda: check_answers(answers))
    assert problem.row == 2
    assert problem.message.endswith(" in row 1")
    assert problem.value == ", ".join(f"{column}={ROW[column]}" for column in KEY_COLUMNS)


def test_thousands_of_duplicates_are_named_without_delay():
    answers = rows(*[{} for _ in range(2000)])
    started = time.perf_counter()
    found = problems_of(lambda: check_answers(pd.concat([answers, answers])))
    assert [problem.row for problem in found] == list(range(2001, 4001))
    assert time.perf_counter() - started < 1


def test_missing_and_unknown_columns_are_all_named():
    answers = rows({}).drop(columns=["group", "status"]).assign(race="white", answr="A")
    found = problems_of(lambda: check_answers(answers))
    assert [(problem.column, problem.message) for problem in found] == [
        ("group", "required column is missing"),
        ("status", "required column is missing"),
        ("race", "unknown column"),
        ("answr", "unknown column"),
    ]


@pytest.mark.parametrize("column", ["answer", "sample"])
def test_duplicate_column_is_named(column):
    answers = pd.concat([rows({}), rows({})[[column]]], axis=1)
    (problem,) = problems_of(lambda: check_answers(answers))
    assert problem.column == column


def test_a_table_without_rows_is_a_fault():
    (problem,) = problems_of(lambda: check_answers(rows({}).iloc[:0]))
    assert problem.message == "the table has no rows"


def test_rows_are_counted_from_one_for_any_index():
    answers = rows({}, {"answer": " "}).set_index(pd.Index([70, 70]))
    (problem,) = problems_of(lambda: check_answers(answers))
    assert problem.row == 2


# Files


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_written_answers_are_read_back_unchanged(suffix, tmp_path):
    text = OPTIONAL | {"answer_raw": 'A, I think.\u2028\x85“Yes”\n,"x"'}
    if suffix == ".csv":
        text["answer_raw"] = 'A, I think.\u2028“Yes”\n,"x"'
    answers = check_answers(rows(text, text | MISSING, text | {"model": "NA"}))
    back = read_answers(save(answers, tmp_path / f"answers{suffix}"))
    pd.testing.assert_frame_equal(back, answers[back.columns])
    assert list(back.columns) == list(answers_schema().columns)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_large_and_missing_seeds_are_read_back_unchanged(suffix, tmp_path):
    answers = rows({}, {}, {})
    answers["seed"] = pd.array([2**53 + 1, None, 7], dtype="Int64")
    answers["max_tokens"] = pd.array([16, None, 0], dtype="Int64")
    back = read_answers(save(answers, tmp_path / f"answers{suffix}"))
    assert back["seed"].tolist() == [2**53 + 1, pd.NA, 7]
    assert back["max_tokens"].tolist() == [16, pd.NA, 0]


def test_jsonl_numbers_in_text_columns_are_kept_as_written(tmp_path):
    path = as_jsonl(
        tmp_path / "a.jsonl", ROW | {"snapshot": 20250101}, ROW | {"item_id": 7, "snapshot": None}
    )
    back = read_answers(path)
    assert back["snapshot"].tolist()[0] == "20250101"
    assert back["item_id"].tolist() == ["demo-01", "7"]


def test_an_empty_csv_cell_is_a_null_and_na_is_a_name(tmp_path):
    path = save(
        rows({"model": "NA"}, {"model": "null"}, {"model": "None"} | MISSING), tmp_path / "a.csv"
    )
    back = read_answers(path)
    assert back["model"].tolist() == ["NA", "null", "None"]
    assert back["answer"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_csv_file_saved_by_excel_is_read(encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(rows({}).to_csv(index=False).replace("\n", "\r\n").encode(encoding))
    assert read_answers(path)["benchmark"].tolist() == ["demo"]


def test_line_separators_in_a_reply_do_not_end_the_line(tmp_path):
    reply = "A\u2028B\u2029C\x85D"
    line = json.dumps(ROW | {"answer_raw": reply}, ensure_ascii=False)
    path = as_jsonl(tmp_path / "a.jsonl", line, "", "  ")
    assert read_answers(path)["answer_raw"].tolist() == [reply]


def test_every_malformed_line_is_named(tmp_path):
    path = as_jsonl(
        tmp_path / "a.jsonl", "{", ROW, "[1]", "nope", '{"a": 1}}', "null", "[" * 99_999
    )
    found = problems_of(lambda: read_answers(path))
    assert [problem.row for problem in found] == [1, 3, 4, 5, 6, 7]
    assert [problem.message[:8] for problem in found] == ["not JSON"] * 1 + ["not a JS"] + [
        "not JSON"
    ] * 2 + ["not a JS", "not JSON"]
    assert all(len(str(problem)) < 700 for problem in found)


def test_number_with_thousands_of_digits_is_a_problem(tmp_path):
    path = as_jsonl(tmp_path / "a.jsonl", '{"seed": ' + "1" * 5000 + "}")
    (problem,) = problems_of(lambda: read_answers(path))
    assert problem.row == 1


@pytest.mark.parametrize("column", ["answer_raw", "model"])
def test_half_a_surrogate_pair_is_a_problem(column, tmp_path):
    path = as_jsonl(tmp_path / "a.jsonl", ROW | {column: "\ud83d"})
    (problem,) = problems_of(lambda: read_answers(path))
    assert (problem.row, problem.path) == (1, str(path))


@pytest.mark.parametrize("value", [[1], {"a": 1}, [["A"]]])
@pytest.mark.parametrize("column", ["answer", "sample", "status"])
def test_nested_values_are_problems(column, value, tmp_path):
    path = as_jsonl(tmp_path / "a.jsonl", ROW, ROW | {"item_id": "2", column: value})
    (problem,) = problems_of(lambda: read_answers(path))
    assert (problem.row, problem.column) == (2, column)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"", "the file is empty"),
        ("a.csv", b"", "the file is empty"),
        ("a.jsonl", b"", "the file is empty"),
        ("a.parquet", b"\x00garbage" * 99, "not a parquet file"),
        ("a.parquet", pickle.dumps({"a": [1, 2]}), "not a parquet file"),
        ("a.parquet", b"PAR1" + b"\xff" * 64 + b"PAR1", "not a parquet file"),
        ("a.csv", b"model\n\xe9", "is not UTF-8"),
        ("a.csv", b"\xff\xfea\x00b", "is not UTF-8"),
        ("a.csv", b"\n\n", "not a CSV file"),
        ("a.csv", b'model,group\n"open', "not a CSV file"),
        ("a.csv", b"model,group\n1,2\n1,2,3,4\n", "more cells than the first row"),
        ("a.csv", ",".join(ROW).encode(), "the table has no rows"),
        ("a.jsonl", b"\xff\xfe{}", "not UTF-8 text"),
    ],
)
def test_file_of_another_type_than_its_suffix_is_named(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    (problem,) = problems_of(lambda: read_answers(path))
    assert problem.path == str(path)
    assert message in problem.message
    assert problem.remedy


def test_a_parquet_file_cut_short_is_named(tmp_path):
    path = write_answers(rows(*[{}] * 50), tmp_path / "a.parquet")
    path.write_bytes(path.read_bytes()[:-200])
    (problem,) = problems_of(lambda: read_answers(path))
    assert "not a parquet file" in problem.message


def test_a_parquet_file_with_other_types_is_read_by_the_schema(tmp_path):
    table = pyarrow.Table.from_pandas(rows({}, {}), preserve_index=False)
    for column in ("model", "group"):
        place = table.schema.get_field_index(column)
        table = table.set_column(place, column, table[column].dictionary_encode())
    place = table.schema.get_field_index("sample")
    table = table.set_column(place, "sample", table["sample"].cast("int8"))
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(read_answers(tmp_path / "a.parquet"), check_answers(rows({}, {})))


def test_text_that_is_not_utf8_in_a_parquet_file_is_named(tmp_path):
    table = pyarrow.Table.from_pandas(rows({}), preserve_index=False)
    place = table.schema.get_field_index("model")
    bytes_as_text = pyarrow.array([b"\xff\xfe"], pyarrow.binary()).view(pyarrow.string())
    table = table.set_column(place, "model", bytes_as_text)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    (problem,) = problems_of(lambda: read_answers(tmp_path / "a.parquet"))
    assert "UTF8" in problem.message.replace("-", "")


def test_csv_file_with_an_extra_cell_per_line_is_reported(tmp_path):
    header, *lines = rows({}, {}).to_csv(index=False).splitlines()
    (tmp_path / "a.csv").write_text("\n".join([header, *[f"{line},more" for line in lines]]))
    (problem, *_) = problems_of(lambda: read_answers(tmp_path / "a.csv"))
    assert "more cells than the first row" in problem.message


def test_files_of_a_folder_are_read_in_a_stable_order(tmp_path):
    for name in ("b/2.csv", "a/3.jsonl", "1.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        save(rows({"model": name}), tmp_path / name)
    (tmp_path / "notes.txt").write_text("not answers")
    assert read_answers(tmp_path)["model"].tolist() == ["1.parquet", "a/3.jsonl", "b/2.csv"]


def test_files_with_different_optional_columns_are_read_together(tmp_path):
    save(rows({"seed": 5}), tmp_path / "1.csv")
    save(rows({"model": "other", "snapshot": "s"}), tmp_path / "2.csv")
    back = read_answers([tmp_path / "1.csv", tmp_path / "2.csv"])
    assert back["seed"].tolist() == [5, pd.NA]
    assert back["snapshot"].isna().tolist() == [True, False]
    assert list(back.columns[-2:]) == ["snapshot", "seed"]


def test_problems_of_every_file_are_named(tmp_path):
    save(rows({"answer": "A "}), tmp_path / "1.csv")
    (tmp_path / "2.jsonl").write_text("{")
    save(rows({}), tmp_path / "3.csv")
    found = problems_of(lambda: read_answers(tmp_path))
    assert [Path(problem.path).name for problem in found] == ["1.csv", "2.jsonl"]


def test_the_same_answers_in_two_files_are_refused(tmp_path):
    save(rows({}, {}), tmp_path / "1.csv")
    save(rows({}, {"item_id": "other"}), tmp_path / "2.jsonl")
    (problem,) = problems_of(lambda: read_answers(tmp_path))
    assert "1 answers are in more than one" in str(problem)
    assert "item_id=demo-01" in str(problem)


def test_the_same_answers_in_two_files_are_named_with_both_files_and_a_row(tmp_path):
    paths = [save(rows({}, {}), tmp_path / name) for name in ("1.csv", "2.csv", "3.csv")]
    save(rows({"model": "other"}), paths[1])
    found = problems_of(lambda: read_answers(tmp_path))
    said = "\n".join(map(str, found))
    assert str(paths[0]) in said
    assert str(paths[2]) in said
    assert str(paths[1]) not in said
    assert found[0].row is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [("nowhere.csv", "no such file or folder"), ("a.xlsx", "unknown kind of file '.xlsx'")],
)
def test_a_path_that_cannot_be_read_is_named(name, message, tmp_path):
    (tmp_path / "a.xlsx").write_text("x")
    (problem,) = problems_of(lambda: answer_files(tmp_path / name))
    assert (problem.path, problem.message) == (str(tmp_path / name), message)


@pytest.mark.parametrize("name", ["answers.parquet", "answers/part-0.parquet"])
def test_folder_of_a_release_means_its_answers(name, tmp_path):
    release = tmp_path / "site" / "v" / "1"
    path = write_answers(rows({}), release / "downloads" / name)
    (release / "manifest.json").write_text("{}")
    (release / "downloads" / "ranks.csv").write_text("model,rank\nm,1\n")
    assert answer_files(release) == [path]
    assert len(read_answers(release)) == 1
    (problem,) = problems_of(lambda: answer_files(tmp_path / "site"))
    assert str(release) in problem.remedy


def test_folder_without_answers_and_missing_path_are_faults(tmp_path):
    assert "no answer file" in problems_of(lambda: read_answers(tmp_path))[0].message
    assert problems_of(lambda: read_answers([]))[0].message == "no files to read"


# Writing


def test_writing_creates_the_folder_and_only_the_file(tmp_path):
    path = write_answers(rows({}), tmp_path / "new" / "answers.parquet")
    assert [p.name for p in path.parent.iterdir()] == ["answers.parquet"]
    assert pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_writing_twice_gives_the_same_bytes(tmp_path):
    one, two = (
        write_answers(rows({}, MISSING), tmp_path / name) for name in ("1.parquet", "2.parquet")
    )
    assert one.read_bytes() == two.read_bytes()


def test_faulty_answers_do_not_overwrite_good_ones(tmp_path):
    path = write_answers(rows({}), tmp_path / "a.parquet")
    before = path.read_bytes()
    problems_of(lambda: write_answers(rows({"answer": " "}), path))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_write_that_fails_halfway_keeps_the_former_file(error, tmp_path, monkeypatch):
    path = write_answers(rows({}), tmp_path / "a.parquet")
    before = path.read_bytes()

    def half(frame, where, **options):
        Path(where).write_bytes(b"PAR1 half a file")
        raise error

    monkeypatch.setattr("pyarrow.parquet.write_table", half)
    with pytest.raises(type(error)):
        write_answers(rows({}, {}), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: write_answer_sets(rows({}), folder, add=True),
        lambda folder: write_answers(rows({}), folder / "a.parquet"),
    ],
)
def test_what_killed_processes_left_next_to_answers_is_removed(write, tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    running = unfinished(tmp_path / "b.parquet")
    left = running.with_name(running.name.replace(f"-{os.getpid()}.", f"-{ended.pid}."))
    machine = running.name.split(".")[3].partition("-")[0]
    others = {running.name, left.name.replace(machine, "0123abcd"), f".b.{ended.pid}.tmp"}
    for name in (left.name, *others):
        (tmp_path / name).write_text("half")
    write(tmp_path)
    assert {path.name for path in tmp_path.glob(".*")} == others


def test_parquet_is_not_written_under_another_suffix(tmp_path):
    problems_of(lambda: write_answers(rows({}), tmp_path / "a.csv"))


def test_each_answer_set_has_its_file(tmp_path):
    answers = pd.concat([rows({}, {}), rows({"model": "other/../one"}), rows({"strategy": "cot"})])
    paths = write_answer_sets(answers, tmp_path / "new")
    assert len({path.name for path in paths}) == 3
    assert all(path.parent == tmp_path / "new" for path in paths)
    keys = list(KEY_COLUMNS)
    back = read_answers(tmp_path / "new").sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(back, check_answers(answers).sort_values(keys, ignore_index=True))


def test_writing_the_same_answer_sets_again_changes_nothing(tmp_path):
    (path,) = write_answer_sets(rows({}, {}), tmp_path)
    assert write_answer_sets(rows({}, {}), tmp_path) == [path]


def test_answer_set_is_not_overwritten_with_other_answers(tmp_path):
    (path,) = write_answer_sets(rows({}), tmp_path)
    before = path.read_bytes()
    both = pd.concat([rows({"answer": "B"}), rows({"model": "another"})])
    (problem,) = problems_of(lambda: write_answer_sets(both, tmp_path))
    assert problem.path == str(path)
    assert "with different answers" in problem.message
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_column_order_does_not_change_an_answer_set(tmp_path):
    answers = rows({}, {})[[*ROW][::-1]]
    paths = write_answer_sets(answers, tmp_path)
    assert write_answer_sets(answers, tmp_path) == paths


def test_models_that_differ_only_in_case_are_both_kept(tmp_path):
    write_answer_sets(pd.concat([rows({"model": "Llama"}), rows({"model": "llama"})]), tmp_path)
    assert sorted(read_answers(tmp_path)["model"]) == ["Llama", "llama"]


@pytest.mark.parametrize(
    "answers",
    [
        rows(MISSING, MISSING),
        pd.concat([rows({"snapshot": "s-1", "seed": 3}), rows({"model": "other"})]),
    ],
    ids=["no answer at all", "a column that one set lacks"],
)
def test_writing_answer_sets_with_an_empty_column_again_changes_nothing(answers, tmp_path):
    paths = write_answer_sets(answers, tmp_path)
    assert write_answer_sets(answers, tmp_path) == paths


@pytest.mark.filterwarnings("error::UserWarning")
def test_pandas_index_in_parquet_is_ignored_with_a_note(tmp_path):
    path = tmp_path / "a.parquet"
    answers = rows({}, {})
    answers.set_index(pd.Index([7, 9])).to_parquet(path, index=True)
    with pytest.warns(Note, match=r"a\.parquet: column __index_level_0__ is ignored"):
        read = read_answers(path)
    pd.testing.assert_frame_equal(read, check_answers(answers))
    with pytest.warns(Note, match="__index_level_0__"):
        assert len(scan_answers(path).df()) == 2
    # A column that only looks like an index stays unknown.
    answers.assign(__index_level_0__x=1).to_parquet(path)
    problems_of(lambda: read_answers(path))


def test_adding_answers_keeps_existing_ones(tmp_path):
    (path,) = write_answer_sets(rows({}), tmp_path)
    more = rows({"item_id": "added", "snapshot": "s-1"})
    assert write_answer_sets(more, tmp_path, add=True) == [path]
    assert read_answers(path)["item_id"].tolist() == [*rows({})["item_id"], "added"]
    assert read_answers(path)["snapshot"].isna().tolist() == [True, False]
    before = path.read_bytes()
    for again in (more, rows({"answer": "B"})):
        (problem,) = problems_of(lambda a=again: write_answer_sets(a, tmp_path, add=True))
        assert "contains 1 of the 1" in problem.message
        assert path.read_bytes() == before


def test_answers_are_found_in_files_of_any_name(tmp_path):
    write_answers(pd.concat([rows({}), rows({"model": "other"})]), tmp_path / "both.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    (problem,) = problems_of(lambda: write_answer_sets(rows({}), tmp_path, add=True))
    assert problem.path == str(tmp_path / "both.parquet")
    (path,) = write_answer_sets(rows({"item_id": "added"}), tmp_path, add=True)
    assert path.name not in ("both.parquet", "broken.parquet")
    assert len(read_answers([path, tmp_path / "both.parquet"])) == 3


def test_names_that_differ_in_case_do_not_hide_answers(tmp_path):
    write_answer_sets(rows({"model": "Llama"}), tmp_path, add=True)
    other = rows({"model": "Llama"}).assign(answer="D")
    both = pd.concat([other, rows({"model": "llama"})])
    (problem,) = problems_of(lambda: write_answer_sets(both, tmp_path, add=True))
    assert "Llama" in problem.message
    write_answer_sets(rows({"model": "llama"}), tmp_path, add=True)
    assert sorted(read_answers(tmp_path)["model"]) == ["Llama", "llama"]


def test_bytes_of_a_table_do_not_depend_on_the_parts_it_was_joined_from(tmp_path):
    # Verification compares the bytes of a table that was read with those of one that was joined.
    whole = pd.DataFrame({"text": pd.array([f"{n:060}" for n in range(60_000)], dtype="str")})
    joined = pd.concat([whole[:25_001], whole[25_001:]], ignore_index=True)
    written = [
        write_parquet(table, tmp_path / f"{name}.parquet").read_bytes()
        for name, table in (("whole", whole), ("joined", joined))
    ]
    assert written[0] == written[1]


ROWS = "model,item_id,group,answer\nm,demo-01,white,C\nm,demo-01,black,\n"


@pytest.fixture
def levels(benchmark_file):
    """Return a benchmark of levels 1 to 3 with clusters that its file of keys does not list."""

    def build(**given):
        kind = 'kind = "level"\noptions = [1, 2, 3]\ncluster = "patient"'
        return load_benchmark(benchmark_file(options=kind, **given))

    return build


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


def test_keys_are_filled_where_the_benchmark_has_them(file, levels):
    text = "model,item_id,group,answer,patient\nm,i1,white,2,p1\nm,i2,white,3,p2\n"
    keyless = levels(keys="item_id\ni1\ni2\n")
    found = read_answers(file(text), benchmark=keyless)
    assert "answer_key" not in found
    # The column of the cluster has its name in the benchmark.
    assert found["cluster"].tolist() == ["p1", "p2"]
    assert len(analyze(found, benchmarks=[keyless]))
    found = read_answers(file(text), benchmark=levels(keys="item_id,answer_key\ni1,2\ni2,\n"))
    assert found["answer_key"].fillna("").tolist() == ["2", ""]


def test_without_the_benchmark_the_error_names_it_as_remedy(file):
    message = r"sample, status: required columns are missing; .*benchmark="
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


def test_table_without_the_keys_of_a_benchmark_is_refused(file, demo, levels):
    answers = read_answers(file(ROWS), benchmark=demo).drop(columns="answer_key")
    found = validate_answers(answers)
    message = "is missing, and demo has answer keys"
    (problem,) = [one for one in found if one.column == "answer_key"]
    assert (problem.message, "benchmark=" in problem.remedy) == (message, True)
    (again,) = problems_of(lambda: analyze(answers))
    assert again == replace(problem, path="<answers>")
    # DuckDB fills the column if another file has it.
    path = write_answers(answers, file(ROWS).with_suffix(".parquet"))
    with pytest.raises(InputError, match=message):
        analyze(scan_answers(path))


def test_validating_a_frame_without_columns_lists_them(file, demo):
    answers = read_answers(file(ROWS), benchmark=demo).drop(columns=["benchmark", "status"])
    assert [problem.column for problem in validate_answers(answers)] == ["benchmark, status"]


def test_arrow_opens_the_packages_own_parquet_files_itself(tmp_path, monkeypatch):
    # A thread of arrow that let go of a Python file aborted some commands at their end.
    sources = []
    read = pyarrow.parquet.read_table

    def noted(source, *arguments, **options):
        sources.append(source)
        return read(source, *arguments, **options)

    monkeypatch.setattr(pyarrow.parquet, "read_table", noted)
    table = pd.DataFrame({"model": ["m"], "n": [1]})
    path = write_parquet(table, tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(read_parquet(path), table)
    assert all(isinstance(source, str | Path) for source in sources)
    package = Path(fairstats.__file__).parent
    calls = [
        path.name for path in package.rglob("*.py") if "pd.read_parquet(" in path.read_text("utf-8")
    ]
    assert (len(sources), calls) == (1, ["files.py"])
