"""Answer files in DuckDB and Spark: the same figures and the same refusals as in pandas."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fairstats_collectors.amqa import import_amqa
from typer.testing import CliRunner

from fairstats import example_answers, rank_models
from fairstats._lib.problems import InputError, Problem
from fairstats.answers.engines import scan_answers
from fairstats.answers.files import read_answers, write_answer_sets, write_answers
from fairstats.cli import app
from fairstats.estimates.analyze import analyze
from tests.make_answers import make_answers
from tests.report.conftest import answers_of_models

#: Names that must be escaped in a folder's name, or that look like a number.
MODELS = ("org/model 1", "1.10", "it's; 100%")


@pytest.fixture(scope="module")
def answers() -> pd.DataFrame:
    frame = answers_of_models(MODELS)
    # A model may have no snapshot, and answers a second sample.
    frame.loc[frame["model"] == "1.10", "snapshot"] = None
    again = frame[frame["model"] == "1.10"].assign(sample=1, answer="A", status="ok")
    return pd.concat([frame, again], ignore_index=True)


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("local_spark")
    return request.param


def partitioned(answers: pd.DataFrame, folder: Path, *columns: str) -> Path:
    table = pa.Table.from_pandas(answers, preserve_index=False)
    pq.write_to_dataset(table, folder, partition_cols=list(columns))
    return folder


def problems_of(call: Callable[[], object]) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        call()
    return list(caught.value.problems)


# The same figures


def test_partitioned_folders_give_the_estimates_of_pandas(engine, answers, tmp_path):
    # In the folders' names, the version '1' and the model '1.10' are text, and the sample is a
    # number.
    for sample, rows in answers.groupby("sample"):
        folder = tmp_path / f"batch {sample}"
        partitioned(rows, folder, "model", "benchmark_version", "sample")
    found = scan_answers([tmp_path / "batch 0", tmp_path / "batch 1"], engine=engine)
    pd.testing.assert_frame_equal(analyze(found), analyze(answers))


def test_settings_that_differ_between_groups_cost_the_verdict_in_each_engine(engine, tmp_path):
    settings = [
        ("prompt_sha256", "a" * 64, "a" * 64),
        ("temperature", 0.0, 0.7),
        ("temperature", None, None),
        ("max_tokens", 16, 512),
        ("endpoint", "one.example/v1", "other.example/v1"),
    ]
    tables = []
    for column, white, other in settings:
        own = make_answers(0.9).assign(model=f"{column} {white}")
        own[column] = [white if group == "white" else other for group in own["group"]]
        tables.append(own)
    answers = pd.concat(tables).astype({"temperature": "float64", "max_tokens": "Int64"})
    answers.to_parquet(tmp_path / "a.parquet", index=False)
    expected = analyze(read_answers(tmp_path / "a.parquet"), margin=0.6)
    pd.testing.assert_frame_equal(
        analyze(scan_answers(tmp_path / "a.parquet", engine=engine), margin=0.6), expected
    )
    of_race = expected[expected["margin"].notna() & (expected["attribute"] == "race")]
    judged = of_race["model"][of_race["verdict"].notna()]
    assert set(judged) == {"temperature None"}
    assert of_race["model"].nunique() == len(settings)


def test_a_prompt_that_is_no_hash_is_refused_in_each_engine(engine, tmp_path):
    make_answers(0.9, prompt_sha256="short").to_parquet(tmp_path / "a.parquet", index=False)
    (problem,) = problems_of(lambda: scan_answers(tmp_path / "a.parquet", engine=engine))
    assert (problem.column, problem.value) == ("prompt_sha256", "short")


def test_the_released_answers_give_the_estimates_of_pandas(engine, shared_data, tmp_path):
    names = (
        "amqa/answers/AMQA_Benchmark_Answer_claude_no_cot",
        "fairmedprompt/FairMP_Answer_gpt_few",
    )
    released = import_amqa([shared_data(f"{name}.jsonl") for name in names])
    folder = partitioned(released, tmp_path / "answers", "model")
    found = analyze(scan_answers(folder, engine=engine))
    pd.testing.assert_frame_equal(found, analyze(released))


def test_figures_of_the_example_are_the_same_to_the_last_digit(engine, tmp_path):
    """Rows that are alike are joined in an engine; the order of a sum must not show."""
    answers = example_answers()
    stored = scan_answers(write_answers(answers, tmp_path / "a.parquet"), engine=engine)
    for function in (analyze, rank_models):
        pd.testing.assert_frame_equal(function(stored), function(answers), check_exact=True)


def test_files_may_differ_in_optional_columns_and_types(engine, answers, tmp_path):
    """An optional column, small integers, categories; a folder that looks like a pattern."""
    one, two, three = (answers[answers["model"] == model] for model in MODELS)
    write_answers(one.assign(answer_raw="The answer is A."), tmp_path / "[a]*" / "1.parquet")
    write_answers(two.drop(columns="snapshot"), tmp_path / "[a]*" / "2.parquet")
    categories = three.astype({"model": "category", "answer": "category", "sample": "int16"})
    categories.to_parquet(tmp_path / "[a]*" / "3.parquet", index=False)
    found = scan_answers(tmp_path, engine=engine)
    assert "answer_raw" not in found.columns
    pd.testing.assert_frame_equal(analyze(found), analyze(read_answers(tmp_path)))


@pytest.mark.parametrize("name", ["*/a.parquet", "**/a.parquet", "?.parquet", "[ab].parquet"])
def test_names_are_not_patterns_of_other_files(engine, name, answers, tmp_path):
    write_answers(answers, tmp_path / name)
    for private in ("a/a.parquet", "a.parquet", "b.parquet"):
        write_answers(answers.assign(model=answers["model"] + f" of {private}"), tmp_path / private)
    found = analyze(scan_answers(tmp_path / name, engine=engine))
    assert set(found["model"]) == set(MODELS)


def test_pandas_reads_as_read_answers_does(answers, tmp_path):
    path = write_answers(answers, tmp_path / "answers.parquet")
    pd.testing.assert_frame_equal(scan_answers(path, engine="pandas"), read_answers(path))


def test_an_unknown_engine_is_a_value_error():
    with pytest.raises(ValueError, match="use one of pandas, duckdb, spark"):
        scan_answers("answers", engine="polars")


def test_command_line_prints_the_same_and_leaves_no_files(answers, tmp_path):
    write_answer_sets(answers, tmp_path / "answers")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "fairstats.cli", "analyze", str(tmp_path / "answers")]
    done = subprocess.run(
        [*command, "--json", "--engine", "duckdb", "--memory-limit", "500MB"],
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = CliRunner().invoke(app, ["analyze", str(tmp_path / "answers"), "--json"])
    assert (done.stdout, done.stderr) == (expected.stdout, "")
    assert not list(temporary.iterdir())


# Files that cannot be used


def file_with(change: str, answers: pd.DataFrame, folder: Path) -> Path:
    """Return answers that break a rule of files, of columns or of folders."""
    path = folder / "answers.parquet"
    if change == "no column":
        answers.drop(columns="status").to_parquet(path, index=False)
    elif change == "another column":
        answers.assign(remark="-").to_parquet(path, index=False)
    elif change == "another table":
        pd.DataFrame({"x": [1]}).to_parquet(path, index=False)
    elif change == "numbers for text":
        answers.assign(item_id=1).to_parquet(path, index=False)
    elif change == "text for numbers":
        answers.assign(sample="0").to_parquet(path, index=False)
    elif change == "no type":
        table = pa.Table.from_pandas(answers, preserve_index=False)
        place = table.schema.get_field_index("answer")
        pq.write_table(table.set_column(place, "answer", pa.nulls(len(table))), path)
    elif change == "not parquet":
        path.write_text("benchmark,model\n")
    elif change == "csv":
        answers.to_csv(folder / "answers.csv", index=False)
    elif change == "twice":
        write_answers(answers, folder / "model=one" / "answers.parquet")
    elif change == "twice, in capitals":
        inside = folder / "snapshot=x" / "Answer=A" / "answers.parquet"
        write_answers(answers.drop(columns="snapshot"), inside)
    elif change == "nested":
        nested = folder / "model=one" / "model=1.10"
        nested.mkdir(parents=True)
        answers.drop(columns="model").to_parquet(nested / "answers.parquet", index=False)
    elif change == "empty name":
        partitioned(answers.assign(model=None), folder, "model")
    return folder


@pytest.mark.parametrize("chosen", ["duckdb", "spark"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("no column", "answers.parquet: status: required column is missing; add it"),
        ("another column", "answers.parquet: remark: unknown column; drop or rename it"),
        ("another table", "is not an answers table; its columns are x"),
        ("numbers for text", "item_id: has the type int64; write it as text"),
        ("text for numbers", "string; write it as whole numbers"),
        ("no type", "answer: has the type null; write it as text"),
        ("not parquet", "answers.parquet: is not a parquet file"),
        ("csv", "reads only parquet; use pandas, or convert the file"),
        ("twice", "model=one/answers.parquet: model: the column appears more than once"),
        ("twice, in capitals", "Answer=A/answers.parquet: answer: the column appears more than"),
        ("nested", "model=1.10/answers.parquet: model: the column appears more than once"),
        ("empty name", "model = '__HIVE_DEFAULT_PARTITION__': must not be empty; rename"),
        ("no file", "the folder contains no answer files; give a folder with .parquet"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(chosen, change, said, answers, tmp_path):
    folder = file_with(change, answers[answers["model"] == "1.10"], tmp_path)
    problems = problems_of(lambda: scan_answers(folder, engine=chosen))
    assert said in str(problems[0])
    assert str(tmp_path) in problems[0].path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("model=%C3%BC/answers.parquet", "misreads escaped letters in folder names"),
        ("_answers.parquet", "skips files with names that begin with _ or ."),
    ],
)
def test_file_that_spark_would_misread_is_refused(name, said, answers, tmp_path):
    rows = answers[answers["model"] == "1.10"].drop(columns=["model"] if "model" in name else [])
    (tmp_path / name).parent.mkdir(exist_ok=True)
    rows.to_parquet(tmp_path / name, index=False)
    (problem,) = problems_of(lambda: scan_answers(tmp_path, engine="spark"))
    assert said in problem.message
    if "model" in name:
        assert analyze(scan_answers(tmp_path))["model"].unique().tolist() == ["ü"]


def test_a_file_that_is_damaged_inside_is_an_input_error(engine, answers, tmp_path):
    path = write_answers(answers, tmp_path / "answers.parquet")
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    (problem,) = problems_of(lambda: scan_answers(path, engine=engine))
    assert problem.path == engine


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "answers.parquet")
    for source in (tmp_path, tmp_path / "answers.parquet"):
        (problem,) = problems_of(lambda source=source: scan_answers(source))
        assert problem.message == "is not a regular file"


def test_text_that_is_not_utf8_is_an_input_error(engine, answers, tmp_path):
    path = tmp_path / "answers.parquet"
    table = pa.table(answers[answers["model"] == "1.10"].reset_index(drop=True))
    column = table.schema.get_field_index("item_id")
    raw = pa.array([b"\xff"] * len(table))
    text = pa.StringArray.from_buffers(len(raw), *raw.buffers()[1:])
    pq.write_table(table.set_column(column, "item_id", text), path)
    (problem,) = problems_of(lambda: scan_answers(path, engine=engine))
    assert "utf8" in problem.message.lower()


# Values that cannot be used


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"model": ""}, "model"),
        ({"model": "a\x1b[2J"}, "model"),
        ({"strategy": None}, "strategy"),
        ({"item_id": "i" * 201}, "item_id"),
        ({"item_id": None}, "item_id"),
        ({"sample": -1}, "sample"),
        ({"answer": "A "}, "answer"),
        ({"answer_key": "a" * 61}, "answer_key"),
        ({"status": "fine"}, "status"),
        ({"answer": None, "status": "ok"}, "status"),
        ({"snapshot": "\n"}, "snapshot"),
    ],
)
def test_a_value_is_refused_in_the_words_of_read_answers(change, column, answers, tmp_path):
    path = tmp_path / "answers.parquet"
    broken = answers[answers["model"] == "1.10"].astype({"snapshot": object}).reset_index(drop=True)
    for name, value in change.items():
        broken.loc[3, name] = value
    broken.astype({"snapshot": "str"}).to_parquet(path, index=False)
    found = problems_of(lambda: scan_answers(path))
    read = problems_of(lambda: read_answers(path))
    assert found == [replace(problem, path="<answers>", row=None) for problem in read]
    assert column in {problem.column for problem in found}


def test_an_item_in_two_clusters_is_no_answer_given_twice(answers, tmp_path):
    path = tmp_path / "a.parquet"
    write_answers(answers.assign(cluster=[f"c{row}" for row in range(len(answers))]), path)
    assert len(scan_answers(path)) == len(read_answers(path)) == len(answers)


def test_spark_refuses_the_same_values(local_spark, answers, tmp_path):
    path = tmp_path / "answers.parquet"
    broken = answers.copy()
    broken.loc[3, "model"] = ""
    broken.loc[4, "sample"] = -1
    broken.to_parquet(path, index=False)
    found = problems_of(lambda: scan_answers(path, engine="spark"))
    assert [problem.column for problem in found] == ["model", "sample"]


def test_table_without_rows_is_an_input_error(answers, tmp_path):
    answers.iloc[:0].to_parquet(tmp_path / "answers.parquet", index=False)
    (problem,) = problems_of(lambda: scan_answers(tmp_path))
    assert problem.message == "the table has no rows"


def test_a_file_that_is_given_twice_is_refused(answers, tmp_path):
    path = write_answers(answers, tmp_path / "answers.parquet")
    with pytest.raises(InputError, match="more than once"):
        analyze(scan_answers([path, path]))


# Engines that do not run


@pytest.mark.parametrize(
    ("limit", "said"),
    [("some", "memory_limit='some': Parser Error"), ("1MB", "raise memory_limit")],
)
def test_a_memory_limit_that_cannot_be_kept_is_an_input_error(limit, said, answers, tmp_path):
    path = write_answers(answers, tmp_path / "answers.parquet")
    (problem,) = problems_of(lambda: scan_answers(path, memory_limit=limit))
    assert said in str(problem)


def test_threads_that_share_the_memory_do_not_grow_with_the_cores(answers, tmp_path, monkeypatch):
    path = write_answers(answers, tmp_path / "answers.parquet")
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    query = "SELECT current_setting('threads')"
    assert scan_answers(path).query("answers", query).fetchall() == [(4,)]


def test_spark_that_is_not_installed_is_named_with_its_extra(answers, tmp_path, monkeypatch):
    path = write_answers(answers, tmp_path / "answers.parquet")
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    done = CliRunner().invoke(app, ["analyze", str(path), "--engine", "spark"])
    assert done.exit_code == 1
    assert done.stderr.startswith("spark: pyspark is not installed")
    assert "fairstats[spark]" in done.stderr


def test_spark_without_java_is_reported(answers, tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    path = write_answers(answers, tmp_path / "answers.parquet")
    # The tools that Spark's start script needs, without Java.
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "dirname", "env", "rm", "ps"):
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    environment: dict[str, Any] = {k: v for k, v in os.environ.items() if k != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "fairstats.cli", "analyze", str(path), "--engine", "spark"],
        env=environment | {"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "spark: Spark did not start" in done.stderr
