from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app
from fairstats.comparisons.levels import compare_levels

SCORES = Path(__file__).parents[1] / "evalstats" / "scores.csv"


def run(*words, code=0):
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def answers(tmp_path):
    keys = load_benchmark("demo").answer_keys.items()
    rows = [
        {
            "benchmark": "demo",
            "benchmark_version": "1",
            "model": model,
            "strategy": "plain",
            "sample": 0,
            "item_id": item,
            "attribute": "race",
            "group": group,
            "answer": key if (place + (group == "black")) % wrong else "AB"[key == "A"],
            "answer_key": key,
            "answer_raw": "",
            "status": "ok",
        }
        for model, wrong in (("m", 2), ("n", 3))
        for place, (item, key) in enumerate(keys)
        for group in ("white", "black")
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "a.parquet")
    return tmp_path


def test_csv_is_the_table_of_pairs():
    words = (
        "explore",
        "levels",
        SCORES,
        "--column",
        "prompt",
        "--item",
        "item",
        "--score",
        "grade",
    )
    printed = pd.read_csv(io.StringIO(run(*words, "--limits", 1, 5, "--csv").stdout))
    expected = compare_levels(
        pd.read_csv(SCORES), "prompt", item="item", score="grade", limits=(1, 5)
    ).pairs
    for name in ("estimate", "ci_low", "ci_high", "p_adjusted"):
        assert printed[name].to_numpy() == pytest.approx(expected[name].to_numpy())


def test_shipped_answers_are_compared_by_their_name():
    words = ("--column", "model", "--where", "group=black", "--baseline", "GPT-4o", "--csv")
    printed = pd.read_csv(io.StringIO(run("explore", "levels", "example", *words).stdout))
    assert len(printed) == 11


def test_terminal_shows_the_drawn_intervals_and_disagreements():
    words = ("explore", "levels", SCORES, "--column", "prompt", "--item", "item")
    shown = run(*words, "--baseline", "plain", "--simultaneous").stdout
    assert shown.count("●") == 4 + 3
    assert "98.33% interval" in shown
    lines = run(*words, "--disagreements", 2).stdout.splitlines()
    assert lines[0].split() == ["item", "plain", "reasoning", "examples", "role", "range"]
    assert len(lines) == 3


def test_answers_are_filtered_and_matched(answers):
    words = ("explore", "levels", answers, "--column", "model", "--where", "group=black")
    shown = run(*words, "--match", "group").stdout
    assert shown.startswith("correct by model: 24 items")
    assert "m − n" in shown


def test_wrong_options_are_reported(answers):
    words = ("explore", "levels", answers, "--column", "model")
    assert "there is no such column" in run(*words, "--where", "grup=x", code=1).output
    assert "baseline='z' is unknown" in run(*words, "--baseline", "z", code=1).output
    assert "fewer than two levels" in run(*words, "--where", "model=m", code=1).output


def test_analyze_draws_the_differences(answers):
    shown = run("analyze", answers, "--chart").stdout
    assert "demo, 1, “m”, “plain”; missing:" in shown
    assert shown.count("race: white − black") == 2
    assert shown.count("├") == 2


def test_without_a_column_those_that_it_could_take_are_listed():
    words = ("explore", "levels", SCORES, "--item", "item")
    assert (
        "--column: is missing; choose from: prompt, grade, similarity" in run(*words, code=1).output
    )
