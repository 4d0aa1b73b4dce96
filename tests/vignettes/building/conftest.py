"""A scripted agent for every stage, and declarations and items to build from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairstats.benchmarks.benchmark_files import toml_text
from tests.serving import only_loopback, served
from tests.vignettes.building import stubs
from tests.vignettes.building.scripted import Service, declared, item, run


@pytest.fixture
def service(monkeypatch):
    only_loopback(monkeypatch, "sk-planted-0123456789abcdef")
    with served(Service()) as server:
        yield server


@pytest.fixture
def ruled(monkeypatch):
    """Replace the real rules with those of `stubs`."""
    stubs.put_in_place(monkeypatch.setattr)


# Forks for each line it reads, and writes the new process's id and, in the end, its exit code.
_FORK = """
import json, os, sys
import fairstats.cli, fairstats.report.terminal, openai, pyarrow.parquet
from fairstats_collectors.ask_tasks import connect
from fairstats.vignettes.building.run import run
from tests.vignettes.building.stubs import put_in_place
for line in sys.stdin:
    code, output = json.loads(line)
    child = os.fork()
    if not child:
        for stream in (1, 2):
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        put_in_place()
        exec(code)
        break
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Child:
    """A process to send a signal to."""

    def __init__(self, parent, code, output):
        assert parent.stdin
        assert parent.stdout
        parent.stdin.write(json.dumps([code, str(output)]) + "\n")
        parent.stdin.flush()
        self._ends = parent.stdout
        self._id = int(self._ends.readline())

    def end_by(self, signal):
        """Send a signal, wait for the end, and return the exit code."""
        os.kill(self._id, signal)
        return int(self._ends.readline())


Start = Callable[[str, Path], Child]


@pytest.fixture(scope="session")
def start():
    """Run code in a new process, forked from one that has loaded the libraries once."""
    environment = {
        "PYTHONPATH": ":".join([str(Path(__file__).parents[3]), *sys.path]),
        "NO_PROXY": "127.0.0.1",
        "OPENAI_API_KEY": "sk-planted-0123456789abcdef",
    }
    with subprocess.Popen(
        [sys.executable, "-c", _FORK],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        yield lambda code, output: Child(parent, code, output)
        parent.kill()


@pytest.fixture
def write(service, tmp_path):
    """Write items and a declaration; return the declaration's path."""

    def written(items, changes=None):
        lines = [json.dumps(row) + "\n" for row in items]
        (tmp_path / "items.jsonl").write_text("".join(lines), encoding="utf-8")
        path = tmp_path / "build.toml"
        path.write_text(toml_text(declared(service.url, **changes or {})), encoding="utf-8")
        return path

    return written


@pytest.fixture
def build(write, tmp_path):
    """Build from one item, or from given ones; return the folder."""

    def built(*items, stage=None, limit=None, out="out", **changes):
        path = write(list(items) or [item("one")], changes)
        found = run(path, out=tmp_path / out, stage=stage, limit=limit, progress=False)
        if stage in (None, "validate"):
            assert found.path == tmp_path / out / "variants.jsonl"
        return tmp_path / out

    return built
