"""What a large release computes once, or in two processes."""

import shutil
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest

import fairstats.release.tables
from fairstats.benchmarks.loading import load_benchmark
from fairstats.release.contents import Release
from fairstats.release.tables import TABLES, ReleaseInputs, tables_of
from tests.report.conftest import answers_of_models


@pytest.fixture
def inputs():
    answers = answers_of_models(("One", "Two"))
    return ReleaseInputs.of_answers(answers, None, 0.05, {"demo": load_benchmark("demo")})


@pytest.fixture
def processes(monkeypatch):
    """Take the smallest release for a large one; return the processes that were started."""
    start, started = subprocess.Popen, []

    def started_now(*command, **options):
        started.append(start(*command, **options))
        return started[-1]

    monkeypatch.setattr(fairstats.release.tables, "_FEWEST", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", started_now)
    return started


def _assert_as_in_one_process(found, inputs):
    assert list(found) == list(TABLES)
    for name, table in TABLES.items():
        pd.testing.assert_frame_equal(found[name], table.make(inputs), check_exact=True)


def test_second_process_computes_the_same_tables(inputs, processes):
    found = tables_of(inputs)
    assert [process.returncode for process in processes] == [0]
    _assert_as_in_one_process(found, inputs)


def test_tables_of_a_failed_process_are_computed_here(inputs, processes, monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    found = tables_of(inputs)
    assert [process.returncode for process in processes] == [1]
    _assert_as_in_one_process(found, inputs)


def test_second_process_ends_if_a_table_fails(inputs, processes, monkeypatch):
    def fail(of):
        raise ZeroDivisionError

    failing = {"estimates": replace(TABLES["estimates"], make=fail)}
    monkeypatch.setattr(fairstats.release.tables, "TABLES", dict(TABLES) | failing)
    with pytest.raises(ZeroDivisionError):
        tables_of(inputs)
    assert [process.returncode < 0 for process in processes] == [True]


def test_small_release_starts_no_process(inputs, processes, monkeypatch):
    monkeypatch.setattr(fairstats.release.tables, "_FEWEST", len(inputs.answers) + 1)
    _assert_as_in_one_process(tables_of(inputs), inputs)
    assert processes == []


def test_benchmarks_of_a_release_are_loaded_once_until_a_file_changes(benchmark_file, tmp_path):
    shutil.copytree(benchmark_file().parent, tmp_path / "benchmarks")
    one, again = (Release(tmp_path).benchmarks["three"] for _ in range(2))
    assert again is one
    keys = tmp_path / "benchmarks" / "keys.csv"
    keys.write_text(keys.read_text().replace("i1,A", "i1,B"))
    assert Release(tmp_path).benchmarks["three"].answer_keys["i1"] == "B"
