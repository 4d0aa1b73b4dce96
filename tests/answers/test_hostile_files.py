"""Malicious answer files are refused with one line each, within limits of memory and time."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from fairstats._lib import untrusted_files
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.untrusted_tables import load_parquet
from fairstats.answers import benchmark_checks, schema_checks
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.engines import scan_answers
from fairstats.answers.files import files_ending, read_answers, write_answers
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.publishing.publish import publish
from fairstats.ratings.files import write_ratings
from fairstats.ratings.rubrics import load_rubric
from fairstats.release.contents import Release
from tests.answers.test_answers import OPTIONAL, ROW, as_jsonl, problems_of, rows, save
from tests.drawn_ratings import drawn_ratings

BOMBS = Path(__file__).with_name("read_within_memory.py")


def problem_of(path: Path) -> Problem:
    (problem,) = problems_of(lambda: read_answers(path))
    assert "\n" not in str(problem)
    return problem


def write_columns(path: Path, **columns: Any) -> Path:
    """Write two answers as parquet, some columns replaced by Arrow arrays."""
    table = pyarrow.Table.from_pandas(rows({}, {}), preserve_index=False)
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, values)
    pyarrow.parquet.write_table(table, path)
    return path


# Sizes


TEXT = (".csv", ".jsonl")
#: Suffixes, a limit and its value, rows that keep it, rows that do not, and the problem.
LIMITS = [
    (TEXT, "MAX_ROWS", 3, [{}] * 3, [{}] * 4, "more than 3 rows"),
    ((".parquet",), "MAX_PARQUET_ROWS", 3, [{}] * 3, [{}] * 4, "more than 3 rows"),
    (
        TEXT,
        "MAX_LINE_BYTES",
        4096,
        [{}, {"answer_raw": "x" * 2000}],
        [{}, {"answer_raw": "x" * 9000}],
        "longer than 4,096 bytes",
    ),
    ((".csv",), "MAX_CELLS", 2 * len(ROW), [{}] * 2, [{}] * 3, "more than 22 cells"),
    ((".parquet",), "MAX_PARQUET_CELLS", len(ROW), [{}], [{}] * 2, "more than 11 cells"),
    # One emoji makes every letter of its text four times as large.
    (
        TEXT,
        "MAX_TEXT_MEMORY",
        4000,
        [{"answer_raw": "x" * 1000}],
        [{"answer_raw": "x" * 1000 + "\U0001f600"}],
        "4,000 bytes of memory",
    ),
    # The text of a large file may be large; a repeated one takes no space in the file.
    (
        (".parquet",),
        "MAX_UNPACKED_TEXT",
        100_000,
        [{"answer_raw": os.urandom(5_000).hex()} for _ in range(100)],
        [{"answer_raw": "x" * 10_000}] * 100,
        "unpacks to more than",
    ),
]


@pytest.mark.parametrize(
    ("suffix", "limit", "value", "sound", "hostile", "message"),
    [(suffix, *case) for suffixes, *case in LIMITS for suffix in suffixes],
    ids=[f"{case[0]}{suffix}" for suffixes, *case in LIMITS for suffix in suffixes],
)
def test_file_beyond_a_limit_is_refused(
    suffix, limit, value, sound, hostile, message, tmp_path, monkeypatch
):
    paths = [save(rows(*of), tmp_path / f"{n}{suffix}") for n, of in enumerate((sound, hostile))]
    monkeypatch.setattr(untrusted_files, limit, value)
    assert len(read_answers(paths[0])) == len(sound)
    assert message in problem_of(paths[1]).message


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_file_larger_than_the_limit_is_refused(suffix, tmp_path, monkeypatch):
    path = save(rows({}), tmp_path / f"a{suffix}")
    for name in ("MAX_TEXT_FILE_BYTES", "MAX_FILE_BYTES"):
        monkeypatch.setattr(untrusted_files, name, path.stat().st_size - 1)
    assert "is larger than" in problem_of(path).message


def test_jsonl_file_of_too_many_values_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted_files, "MAX_VALUES", 1000)
    path = as_jsonl(tmp_path / "a.jsonl", ROW, '{"model": [' + ",".join(["[]"] * 1000) + "]}")
    assert "more than 1,000 values" in problem_of(path).message


def test_commas_in_a_long_reply_do_not_count_as_values(tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted_files, "MAX_VALUES", 50)
    reply = "no, " * 1000
    path = as_jsonl(tmp_path / "a.jsonl", ROW | {"answer_raw": f'"{reply}"'})
    assert len(read_answers(path)) == 1


def test_unterminated_text_is_read_once(tmp_path):
    """A search that restarts at each quote takes minutes."""
    path = as_jsonl(tmp_path / "a.jsonl", '{"a": [' + "1," * 100 + '"' + '\\"' * 200_000)
    assert "not JSON" in problem_of(path).message


def test_header_over_several_lines_is_read_as_one(tmp_path):
    many = ",".join(f"c{number}" for number in range(untrusted_files.MAX_COLUMNS))
    (tmp_path / "a.csv").write_text(f'"a\nb",{many}\n' + "1," * 100 + "1\n", encoding="utf-8")
    assert "101 columns" in problem_of(tmp_path / "a.csv").message


def test_first_reply_of_a_csv_file_may_be_long(tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted_files, "MAX_HEADER_BYTES", 4096)
    path = save(rows({"answer_raw": "x" * 200_000}), tmp_path / "a.csv")
    assert len(read_answers(path)) == 1
    path.write_text("c" * 10_000 + "\n1\n", encoding="utf-8")
    assert "is longer than 4,096 bytes" in problem_of(path).message


@pytest.mark.parametrize("length", [0, 2])
def test_duplicate_column_is_refused_in_an_empty_table(length, tmp_path):
    table = pyarrow.Table.from_pandas(rows({}, {}), preserve_index=False)
    twice = table.append_column("model", table["model"]).slice(0, length)
    pyarrow.parquet.write_table(twice, tmp_path / "a.parquet")
    problem = problem_of(tmp_path / "a.parquet")
    assert problem.column == "model"
    assert "more than once" in problem.message


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_reply_beyond_the_limit_is_named_by_its_beginning(suffix, tmp_path):
    path = save(rows({"answer_raw": "x" * 1_000_001}), tmp_path / f"a{suffix}")
    problem = problem_of(path)
    assert (problem.row, problem.column, problem.value) == (1, "answer_raw", "x" * 300)
    assert "longer than 1,000,000 characters" in problem.message


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_file_of_too_many_columns_is_refused(suffix, tmp_path):
    many = pd.DataFrame({f"column-{n}": ["x"] for n in range(untrusted_files.MAX_COLUMNS + 1)})
    if suffix == ".parquet":
        many.to_parquet(tmp_path / "a.parquet")
    else:
        save(many, tmp_path / f"a{suffix}")
    assert "columns" in problem_of(tmp_path / f"a{suffix}").message


@pytest.mark.parametrize(("limit", "most"), [("MAX_PARQUET_ROWS", 2), ("MAX_PARQUET_CELLS", 30)])
def test_more_rows_than_can_be_read_are_not_written(limit, most, tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted_files, limit, most)
    (problem,) = problems_of(lambda: write_answers(rows({}, {}, {}), tmp_path / "a.parquet"))
    assert f"more than {most} " in problem.message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", [{"answer": " z"}, {"item_id": "demo-01"}, {"model": " \n"}])
def test_problems_of_a_large_table_are_listed_up_to_a_limit(change, monkeypatch):
    monkeypatch.setattr(schema_checks, "_PART_ROWS", 7)
    monkeypatch.setattr(schema_checks, "MOST_PROBLEMS", 10)
    problems = problems_of(lambda: check_answers(rows(*[change] * 100)))
    assert len(problems) == 11
    assert "more than the 10" in problems[-1].message
    assert [problem.row for problem in problems[:-1]] == sorted(p.row for p in problems[:-1])


def test_table_is_the_same_when_checked_in_parts(monkeypatch):
    given = rows(OPTIONAL, *[{}] * 20, OPTIONAL | {"answer": None, "status": "unparsed"})
    whole = check_answers(given)
    monkeypatch.setattr(schema_checks, "_PART_ROWS", 7)
    pd.testing.assert_frame_equal(check_answers(given), whole)


def test_answer_repeated_in_another_part_is_a_problem(monkeypatch):
    monkeypatch.setattr(schema_checks, "_PART_ROWS", 2)
    frame = rows({}, {}, {}, {"item_id": "demo-01"})
    (problem,) = problems_of(lambda: check_answers(frame))
    assert (problem.row, problem.column) == (4, "key")


def test_problems_of_validation_are_listed_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(benchmark_checks, "_MOST_ROWS", 3)
    monkeypatch.setattr(benchmark_checks, "_MOST_UNITS", 2)
    frame = check_answers(rows(*[{"group": "none", "model": f"m{n}"} for n in range(9)]))
    problems = validate_answers(frame)
    groups = [problem for problem in problems if problem.column == "group"]
    assert len(groups) == 4
    assert "(in 6 more rows)" in groups[-1].message
    units = [problem for problem in problems if "complete" in problem.message]
    assert "more than the 2" in units[-1].message


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux does")
def test_bombs_are_refused_within_a_gigabyte(tmp_path):
    """Run in other processes, since the peak of memory is that of the whole process."""
    command = [sys.executable, str(BOMBS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 8
    for one in told:
        assert one["problems"] >= 1, one
        assert one["seconds"] < 60, one
        assert one["peak_bytes"] < 10**9, one


# Types


@pytest.mark.parametrize(
    "values",
    [
        pyarrow.array([["x"], ["x"]]),
        pyarrow.array([{"a": "x"}, {"a": "x"}]),
        pyarrow.array([datetime(2026, 1, 1, tzinfo=UTC)] * 2),
        pyarrow.array([datetime(2026, 1, 1).date()] * 2),
        pyarrow.array([b"x", b"x"]),
        pyarrow.array([b"\xff", b"x"]).dictionary_encode(),
        pyarrow.array([[("a", "b")], []], pyarrow.map_(pyarrow.string(), pyarrow.string())),
    ],
    ids=["list", "struct", "timestamp", "date", "binary", "binary dictionary", "map"],
)
@pytest.mark.parametrize("column", ["model", "group"])
def test_column_of_another_kind_is_refused(column, values, tmp_path):
    path = write_columns(tmp_path / "a.parquet", **{column: values})
    problem = problem_of(path)
    assert problem.column == column
    assert "has the type" in problem.message
    with pytest.raises(InputError, match="has the type"):
        scan_answers(path, engine="duckdb")


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.large_string(),
        pyarrow.string_view(),
        pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
    ],
    ids=str,
)
def test_text_of_any_arrow_type_is_read(kind, tmp_path):
    text = pyarrow.array(["model", "model"])
    values = text.dictionary_encode() if pyarrow.types.is_dictionary(kind) else text.cast(kind)
    path = write_columns(tmp_path / "a.parquet", model=values)
    pd.testing.assert_frame_equal(read_answers(path), check_answers(rows({}, {})))


@pytest.mark.parametrize("value", [["x"], {"a": 1}, True], ids=["list", "object", "true"])
@pytest.mark.parametrize("column", ["model", "answer_raw", "item_id"])
def test_value_that_is_not_text_is_refused_in_jsonl(column, value, tmp_path):
    problem = problem_of(as_jsonl(tmp_path / "a.jsonl", ROW, ROW | {"item_id": "2", column: value}))
    assert (problem.row, problem.column) == (2, column)


@pytest.mark.parametrize("value", [pd.Timestamp("2026-01-01"), ("x",), b"x", True], ids=repr)
def test_value_that_is_not_text_is_refused_in_a_frame(value):
    frame = rows({}, {}).assign(model=pd.Series([value, value]))
    problems = problems_of(lambda: check_answers(frame))
    assert {problem.column for problem in problems} == {"model"}


def test_duplicate_name_in_a_json_object_is_refused(tmp_path):
    line = json.dumps(ROW)[:-1] + ', "answer": "C"}'
    problem = problem_of(as_jsonl(tmp_path / "a.jsonl", ROW | {"item_id": "2"}, line))
    assert "'answer' appears more than once" in problem.message
    assert problem.row == 2


@pytest.mark.parametrize("text", ['{"\\ud83d": 1}', '{"model": "\\uD83D"}'])
def test_half_of_a_surrogate_pair_is_refused_in_jsonl(text, tmp_path):
    assert "not valid Unicode text" in problem_of(as_jsonl(tmp_path / "a.jsonl", ROW, text)).message


def test_whole_surrogate_pair_is_read_from_jsonl(tmp_path):
    path = as_jsonl(tmp_path / "a.jsonl", json.dumps(ROW | {"answer_raw": "\U0001f600"}))
    assert read_answers(path)["answer_raw"].tolist() == ["\U0001f600"]


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_parquet_file_with_delta_encodings_is_named_with_a_remedy(encoding, tmp_path):
    table = pyarrow.Table.from_pandas(rows({}, {}), preserve_index=False)
    path = tmp_path / "a.parquet"
    encodings = {name: encoding for name in table.column_names if name != "sample"}
    encodings["sample"] = "DELTA_BINARY_PACKED"
    pyarrow.parquet.write_table(table, path, use_dictionary=False, column_encoding=encodings)
    problems = problems_of(lambda: read_answers(path))
    assert [problem.column for problem in problems] == [n for n in encodings if n != "sample"]
    assert str(problems[0]) == (
        f"{path}: benchmark: has the encoding {encoding}, which is not read; "
        "write it again with dictionary or plain encodings, as pandas and Polars do"
    )


# In a process of its own: pyarrow aborts it at some wrong statistics.
FLIPPED = """
import sys
from pathlib import Path
from fairstats._lib.problems import InputError
from fairstats._lib.untrusted_tables import check_parquet

path = Path(sys.argv[1])
whole = path.read_bytes()
refused = 0
for place in range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"), len(whole)):
    for bit in range(8):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
        try:
            check_parquet(path)
        except InputError:
            refused += 1
print(refused)
"""


def test_no_flipped_bit_of_what_a_parquet_file_states_ends_the_process(tmp_path):
    table = pyarrow.table({"answer": ["A", None, "B"], "sample": [1, 2, None]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", store_schema=False)
    command = [sys.executable, "-W", "ignore", "-c", FLIPPED, str(tmp_path / "t.parquet")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    assert int(done.stdout) > 0


def test_no_table_of_a_parquet_file_is_kept_in_memory(tmp_path):
    table = pyarrow.table({"sample": np.arange(100_000), "score": np.arange(100_000) / 7})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    before = pyarrow.total_allocated_bytes()
    for _ in range(3):
        load_parquet(tmp_path / "t.parquet")
        gc.collect()
    assert pyarrow.total_allocated_bytes() - before < table.nbytes / 2


def test_column_name_that_is_not_utf8_is_refused(tmp_path):
    path = write_columns(tmp_path / "a.parquet")
    path.write_bytes(path.read_bytes().replace(b"strategy", b"strateg\xff"))
    problem_of(path)
    with pytest.raises(InputError):
        scan_answers(path, engine="duckdb")


# Files that are not files of answers


@pytest.mark.parametrize("kind", ["file", "folder", "dangling"])
def test_link_inside_a_folder_is_refused(kind, tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "answers"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "secret.csv").write_text("root:x:0:0\nsecret,line\n")
    save(rows({}), folder / "a.csv")
    target = {"file": elsewhere / "secret.csv", "folder": elsewhere, "dangling": tmp_path / "none"}
    (folder / ("b.csv" if kind != "folder" else "more")).symlink_to(target[kind])
    problem = problem_of(folder)
    assert "symbolic link" in problem.message
    assert "secret" not in str(problem)


@pytest.mark.parametrize("name", [".a.csv", ".one.0123-9.tmp/a.csv", "b/.ipynb_checkpoints/a.csv"])
def test_hidden_files_of_a_folder_are_not_read(name, tmp_path):
    hidden = tmp_path / ".board" / name
    hidden.parent.mkdir(parents=True)
    save(rows({}), tmp_path / ".board" / "one.csv")
    save(rows({"model": "Planted"}), hidden)
    assert len(read_answers(tmp_path / ".board")) == 1
    assert len(read_answers(hidden)) == 1


def test_link_to_retrievals_inside_a_folder_is_refused(tmp_path):
    (tmp_path / "secret").write_text("x")
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "a.ratings.parquet").symlink_to(tmp_path / "secret")
    (problem,) = problems_of(lambda: files_ending(tmp_path / "answers", ".ratings.parquet"))
    assert "symbolic link" in problem.message


def test_file_that_is_named_may_be_a_link(tmp_path):
    save(rows({}), tmp_path / "a.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    assert len(read_answers(tmp_path / "b.csv")) == 1


def test_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    assert "not a regular file" in problem_of(tmp_path / "a.csv").message
    os.mkfifo(tmp_path / "a.toml")
    for load in (load_benchmark, load_rubric):
        (problem,) = problems_of(lambda load=load: load(tmp_path / "a.toml"))
        assert "not a regular file" in problem.message


@pytest.mark.parametrize("key", ["keys_file", "items_file"])
@pytest.mark.parametrize("name", ["absolute", "above", "link", "device", "pipe", "folder"])
def test_benchmark_reads_only_regular_files_of_its_folder(key, name, benchmark_file, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("item_id,answer_key\nroot,SECRET\n")
    path = benchmark_file()
    relative = os.path.relpath(secret, path.parent)
    (path.parent / "link.csv").symlink_to(secret)
    (path.parent / "inside").mkdir()
    os.mkfifo(path.parent / "pipe.csv")
    given = {
        "absolute": str(secret),
        "above": relative,
        "link": "link.csv",
        "device": "/dev/zero",
        "pipe": "pipe.csv",
        "folder": "inside",
    }[name]
    text = path.read_text().replace('keys_file = "keys.csv"', f"{key} = {json.dumps(given)}")
    path.write_text(text)
    (problem,) = problems_of(lambda: load_benchmark(path))
    assert "SECRET" not in str(problem)
    assert "folder" in str(problem) or "regular file" in str(problem)


@pytest.mark.parametrize(
    "replaced",
    [
        {"options": 'options = [["A"]]'},
        {"options": "options = 3"},
        {"options": "options = [1, 2]"},
        {"title": "title = 2026-01-01"},
        {"race": "attributes = 3"},
        {"versions": "versions = [1]"},
        {"race": '[attributes.race]\nlabel = "Race"\ngroups = [1]\npairs = [["white", "black"]]'},
        {"race": '[attributes.race]\nlabel = "R"\ngroups = {a = "A"}\npairs = [["a", "a", "a"]]'},
        {"race": '[attributes.race]\nlabel = "R"\ngroups = {a = "A"}\npairs = ["ab"]\ncrosses = 1'},
        {"missing": 'missing = ["available"]'},
        {"missing": "missing = {}"},
        {"equivalence_margin": "equivalence_margin = nan"},
        {"equivalence_margin": "equivalence_margin = []"},
        {"keys_file": "keys_file = 3"},
        {"keys_file": 'keys_file = "a\\u0000b"'},
        {"name": 'name = ["a"]'},
        {"name": "family = []\nname = 'a'"},
        {"name": "ranking = 3\nname = 'a'"},
        {"name": "selected_on = 3\nname = 'a'"},
        {"name": "selected_on = {a = []}\nname = 'a'"},
        {"name": "notes = 3\nname = 'a'"},
        {"name": "same_variants_odds_ratio = []\nname = 'a'"},
        {"name": "a = " + "[" * 5000 + "]" * 5000 + "\nname = 'a'"},
    ],
    ids=lambda replaced: next(iter(replaced.values()))[:40],
)
def test_declaration_of_another_type_is_one_line(replaced, benchmark_file):
    path = benchmark_file(**replaced)
    problems = problems_of(lambda: load_benchmark(path))
    assert all("\n" not in str(problem) for problem in problems)


@pytest.mark.parametrize(
    "keys", ["item_id,answer_key\nx\n", "a,b\n1,2\n", "item_id,answer_key\ni1,A,3\n", "", "\x00"]
)
def test_broken_file_of_keys_is_one_line(keys, benchmark_file):
    path = benchmark_file(keys=keys)
    problems = problems_of(lambda: load_benchmark(path))
    assert all("\n" not in str(problem) for problem in problems)


# Files that change


def test_files_replaced_while_publishing_are_published_as_validated(
    all_right, demo, tmp_path, without_pages, few_tables, monkeypatch
):
    write_answers(all_right(demo), tmp_path / "a.parquet")
    write_ratings(drawn_ratings(items=3), tmp_path / "b.ratings.parquet")
    files = [tmp_path / name for name in ("a.parquet", "b.ratings.parquet")]
    sources = [{"name": path.name, "sha256": file_sha256(path)} for path in files]

    def read_and_replace(path: Path) -> untrusted_files.FileBytes:
        read = untrusted_files.read_once(path)
        path.write_bytes(b"replaced")
        return read

    monkeypatch.setattr("fairstats.publishing.inputs.read_once", read_and_replace)
    published = publish(tmp_path, release="1", out=tmp_path / "site")
    assert {path.read_bytes() for path in files} == {b"replaced"}
    assert json.loads((published.path / "manifest.json").read_text())["sources"] == sources
    pd.testing.assert_frame_equal(
        pd.read_parquet(Release(published.path).answers_path)[["item_id", "answer"]],
        all_right(demo)
        .sort_values(list(KEY_COLUMNS), ignore_index=True)[["item_id", "answer"]]
        .astype("str"),
    )
