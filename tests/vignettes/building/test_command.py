"""`fairstats vignettes run`: its output and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.serving import Answer
from tests.vignettes.building.conftest import Start, Write
from tests.vignettes.building.reading import content
from tests.vignettes.building.scripted import (
    Request,
    Service,
    item,
)
from tests.vignettes.building.scripted import run as build_again

pytestmark = pytest.mark.usefixtures("ruled")

Run = Callable[..., Any]


def test_the_shares_by_round_are_printed(
    service: Service, write: Write, run: Run, tmp_path: Path
) -> None:
    build = write([item("one")])
    result = run("run", build, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "as intended" in result.stdout
    assert "every group" in result.stdout
    assert str(tmp_path / "out" / "variants.jsonl") in result.stdout.replace("\n", "")
    assert "variants: 2 of 2 kept (2 as intended)" in result.stderr
    assert "filter: 1 of 1 items kept" in result.stderr


def test_a_run_stops_after_a_stage(
    service: Service, write: Write, run: Run, tmp_path: Path
) -> None:
    build = write([item("one"), item("two")])
    result = run("run", build, "--out", tmp_path / "out", "--stage", "neutralize", "--limit", 1)
    assert result.exit_code == 0, result.output
    assert "items.jsonl" in result.stdout
    assert "neutralize: 1 of 1 items kept" in result.stderr
    assert not service.requests


def test_problems_are_printed_one_per_line(write: Write, run: Run, tmp_path: Path) -> None:
    build = write([item("one")], {"rounds": 7, "title": None})
    result = run("run", build, "--out", tmp_path / "out")
    assert result.exit_code == 1
    named = [line.split(": ")[1] for line in result.stderr.splitlines()]
    assert named == ["title", "rounds = '7'"]
    assert not (tmp_path / "out").exists()


def test_dry_run_sends_and_writes_nothing(
    service: Service, write: Write, run: Run, tmp_path: Path
) -> None:
    items = [
        item("one"),
        item("two", "A doubtful man: he has pain."),
        item("three", "A pregnant man: he has pain."),
    ]
    changes = {"generate.price": [1, 1], "fuse": None}
    result = run("run", write(items, changes), "--out", tmp_path / "out", "--dry-run")
    assert result.exit_code == 0, result.output
    said = dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line)
    assert said["filter (tiny)"].startswith("1 requests, about ")
    assert said["neutralize (tiny)"].startswith("1 requests")
    assert said["generate (tiny)"].startswith("4 requests")
    assert "at most 1,200 completion tokens, at most about $0.0" in said["generate (tiny)"]
    assert said["fuse"] == "no requests"
    assert said["validate (tiny)"].startswith("6 requests")
    assert "up to 3 rounds" in result.stdout
    assert not service.requests
    assert not (tmp_path / "out").exists()


def test_failures_are_kept_if_requested(
    service: Service, write: Write, run: Run, tmp_path: Path
) -> None:
    fault: Answer = (400, {"error": {"message": "no", "type": "x", "param": None, "code": None}})
    service.script = lambda r: fault if (r.stage, r.group) == ("generate", "black") else None
    build = write([item("one")])
    assert run("run", build, "--out", tmp_path / "out").exit_code == 0
    before = content(tmp_path / "out")
    service.requests.clear()
    assert run("run", build, "--out", tmp_path / "out", "--keep-failures").exit_code == 0
    assert not service.requests
    assert content(tmp_path / "out") == before


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another signal there")
@pytest.mark.parametrize("stage", ["filter", "generate", "fuse", "validate"])
def test_interrupted_run_shows_how_to_continue(
    service: Service, write: Write, start: Start, tmp_path: Path, stage: str
) -> None:
    items = [item(f"n{number}", "A doubtful man.") for number in range(3)]
    build = write(items, {f"{stage}.concurrency": 1})
    reached, on = threading.Event(), threading.Event()

    def script(request: Request) -> Answer | None:
        # The first request of a stage is sent alone; the others wait with the second one.
        if request.stage == stage and len(service.at(stage)) == 2 and not reached.is_set():
            reached.set()
            on.wait(30)
        return None

    service.script = script
    out = tmp_path / "out"
    code = f"fairstats.cli.app(['vignettes', 'run', {str(build)!r}, '--out', {str(out)!r}])"
    child = start(code, tmp_path / "said")
    assert reached.wait(60)
    threading.Timer(0.3, on.set).start()
    ended = child.end_by(signal.SIGINT)
    said = (tmp_path / "said").read_text()
    assert ended == 130, said
    assert "run it again to continue" in " ".join(said.split())
    asked = [json.dumps(r.body) for r in service.requests]
    build_again(build, out=out, progress=False)
    after = [json.dumps(r.body) for r in service.requests[len(asked) :]]
    # The requests in progress were completed and stored.
    assert not set(asked) & set(after)
