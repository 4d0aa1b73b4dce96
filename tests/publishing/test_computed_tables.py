"""What a large release computes once, or in two processes."""

import os
import shutil
import signal
import time
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.context import ForkContext

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
    started, copied = [], get_context("fork").Process

    class Watched(copied):
        def start(self):
            super().start()
            started.append(self)

    monkeypatch.setattr(fairstats.release.tables, "_FEWEST", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(ForkContext, "Process", Watched)
    return started


def _assert_as_in_one_process(found, inputs):
    assert list(found) == list(TABLES)
    for name, table in TABLES.items():
        pd.testing.assert_frame_equal(found[name], table.make(inputs), check_exact=True)


def test_second_process_computes_the_same_tables(inputs, processes):
    found = tables_of(inputs)
    assert len(processes) == 1
    _assert_as_in_one_process(found, inputs)


@pytest.mark.parametrize("end", [lambda of: os._exit(1), lambda of: 1 / 0])
def test_tables_of_a_failed_process_are_computed_here(inputs, processes, monkeypatch, end):
    own, here = TABLES["sensitivity"], os.getpid()
    failing = replace(own, make=lambda of: own.make(of) if os.getpid() == here else end(of))
    monkeypatch.setitem(TABLES, "sensitivity", failing)
    found = tables_of(inputs)
    assert len(processes) == 1
    monkeypatch.setitem(TABLES, "sensitivity", own)
    _assert_as_in_one_process(found, inputs)


def test_second_process_ends_if_a_table_fails(inputs, processes, monkeypatch):
    slow = replace(TABLES["sensitivity"], make=lambda of: time.sleep(60))
    failing = replace(TABLES["estimates"], make=lambda of: 1 / 0)
    monkeypatch.setitem(TABLES, "sensitivity", slow)
    monkeypatch.setitem(TABLES, "estimates", failing)
    with pytest.raises(ZeroDivisionError):
        tables_of(inputs)
    assert [process.exitcode for process in processes] == [-signal.SIGKILL]


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
