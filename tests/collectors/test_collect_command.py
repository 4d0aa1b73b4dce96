"""`fairstats collect` from the command line."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from fairstats_collectors.campaign import Unfinished
from typer.testing import CliRunner

from fairstats._lib.problems import Problem
from fairstats.cli import app

pytestmark = pytest.mark.usefixtures("declared_plugins")


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def replaced(monkeypatch: pytest.MonkeyPatch, outcome: Any) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    def collect(benchmark: Any, **options: Any) -> Path:
        seen.update(options, benchmark=benchmark.name)
        if isinstance(outcome, BaseException):
            raise outcome
        return Path(outcome)

    chat = importlib.import_module("fairstats_collectors.collect")
    monkeypatch.setattr(chat, "collect", collect)
    return seen


def test_options_reach_the_collector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The journal of a shard holds replies that were not read yet.
    seen = replaced(monkeypatch, "a.sqlite")
    done = run(
        *("collect", "--model", "m", "--out", tmp_path, "--price", "2,8", "--max-cost", "3.5"),
        *("--shard", "1/2", "--rpm", "60", "--samples", "3", "--keep-failures"),
    )
    assert (done.exit_code, done.stdout) == (0, "a.sqlite\n")
    assert seen["benchmark"] == "demo"
    assert seen["price"] == (2.0, 8.0)
    wanted = {"max_cost": 3.5, "shard": "1/2", "rpm": 60, "samples": 3, "keep_failures": True}
    assert seen.items() >= wanted.items()


def test_run_ends_with_the_counts_of_its_answers(monkeypatch, tmp_path, answers_of) -> None:
    answers = answers_of(["AB", "AB"], groups=("white", "black"), attribute="race")
    answers.loc[:1, "answer"] = None
    answers.loc[:1, "status"] = ["refused", "unparsed"]
    path = tmp_path / "a.parquet"
    answers.to_parquet(path)
    replaced(monkeypatch, path)
    done = run("collect", "--model", "m", "--out", tmp_path)
    assert done.exit_code == 0
    assert ": 2 answers, 1 refused, 1 unparsed" in done.stderr


def test_replies_that_were_cut_off_are_counted(monkeypatch, tmp_path, answers_of) -> None:
    answers = answers_of(["AB", "AB"], groups=("white", "black"), attribute="race")
    answers["max_tokens"] = 24
    answers["completion_tokens"] = [24, 3, None, 25]
    path = tmp_path / "a.parquet"
    answers.astype({"completion_tokens": "Int64"}).to_parquet(path)
    replaced(monkeypatch, path)
    text = ": 4 answers, 0 refused, 0 unparsed; 2 reached max_tokens and may be cut off: allow more"
    assert text in run("collect", "--model", "m", "--out", tmp_path).stderr
    answers.assign(completion_tokens=3).to_parquet(path)
    assert "cut off" not in run("collect", "--model", "m", "--out", tmp_path).stderr


def test_missing_option_is_named(tmp_path: Path) -> None:
    done = run("collect", "--out", tmp_path)
    assert done.exit_code == 1
    assert "--model: is missing" in done.output
    assert "--out: is missing" in run("collect", "--model", "m").output


@pytest.mark.parametrize("price", ["2", "2,x", "-1,2", "nan,1", "1,2,3"])
def test_invalid_price_is_refused(price: str, tmp_path: Path) -> None:
    done = run("collect", "--model", "m", "--out", tmp_path, f"--price={price}")
    assert done.exit_code == 1
    assert "is not a price" in done.output


def test_ctrl_c_shows_how_to_continue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replaced(monkeypatch, KeyboardInterrupt("j: interrupted"))
    done = run("collect", "--model", "m", "--out", tmp_path)
    assert done.exit_code == 130
    assert "j: interrupted" in done.output
    replaced(monkeypatch, Unfinished([Problem("j", "disk full", "make room")]))
    done = run("collect", "--model", "m", "--out", tmp_path)
    assert (done.exit_code, done.output) == (1, "j: disk full; make room\n")


def test_dry_run_prints_the_prompt_and_writes_no_file(tmp_path: Path) -> None:
    done = run("collect", "--model", "GPT-4.1", "--out", tmp_path / "out", "--dry-run")
    assert done.exit_code == 0
    assert "192 requests" in done.output
    assert "Reply with the letter" in done.output
    assert not (tmp_path / "out").exists()


def test_merge_names_files_that_are_not_journals(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("no")
    done = run("collect", "merge", tmp_path / "j", tmp_path / "gone", "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "j: cannot be read" in done.output
    assert not (tmp_path / "out").exists()
