"""A benchmark without original and neutralized variants, from a spreadsheet to a release."""

from __future__ import annotations

import json
import re

import jsonschema
import openpyxl
import pytest
from typer.testing import CliRunner

from fairstats.answers.files import read_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app
from fairstats.estimates.analyze import analyze

BENCHMARK = """
name = "languages"
title = "Languages"
description = "Questions about patients of three languages and two ages."
options = ["A", "B", "C", "D"]
keys_file = "languages.keys.csv"
missing = "available"
equivalence_margin = 0.05
sources = ["https://example.org"]
licence = "CC BY 4.0"
citation = "none"

[versions]
1 = "the only one"

[attributes.language]
label = "Language"
groups = { german = "German", turkish = "Turkish", polish = "Polish" }
pairs = [["german", "turkish"], ["german", "polish"], ["turkish", "polish"]]

[attributes.age]
label = "Age"
groups = { young = "Young", old = "Old" }
pairs = [["young", "old"]]
"""
KEYS = ["A", "B", "C", "D"] * 6


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("languages")
    keys = "".join(f"q{number},{key}\n" for number, key in enumerate(KEYS))
    (folder / "languages.keys.csv").write_text(f"item_id,answer_key\n{keys}", encoding="utf-8")
    (folder / "languages.toml").write_text(BENCHMARK, encoding="utf-8")
    return folder / "languages.toml"


@pytest.fixture(scope="module")
def answers(benchmark):
    """Import a workbook with one model that is always right, and one that is right for half the
    groups."""
    book = openpyxl.Workbook()
    book.active.append(["llm", "item", "Deutsch", "Türkisch", "Polnisch", "jung", "alt"])
    for number, key in enumerate(KEYS):
        wrong = "ABCD"[("ABCD".index(key) + 1) % 4] if number % 3 else key
        book.active.append(["Right", f"q{number}", *[key] * 5])
        book.active.append(["Half", f"q{number}", key, wrong, None, key, f"It is {wrong}."])
    path = benchmark.with_name("answers.xlsx")
    book.save(path)
    wide = ("german=Deutsch,turkish=Türkisch,polish=Polnisch", "age:young=jung,old=alt")
    options = ["--map", "item_id=item", "--map", "model=llm", "--benchmark", benchmark]
    for columns in wide:
        run("import", "table", path, "--wide", columns, *options, "--out", benchmark.parent / "in")
    return benchmark.parent / "in"


@pytest.fixture(scope="module")
def site(answers, benchmark):
    out = benchmark.parent / "out"
    run(
        *("publish", "--answers", answers, "--benchmark", benchmark, "--release", "2026.11"),
        *("--out", out, "--renderer", "builtin"),
    )
    return out


def test_answers_are_valid_without_a_baseline(answers, benchmark):
    assert run("validate", answers, "--benchmark", benchmark) == "no problems found\n"


@pytest.mark.parametrize("missing", ["available", "complete", "incorrect", "bounds"])
def test_figures_need_no_baseline(answers, benchmark, missing):
    estimates = analyze(
        read_answers(answers), benchmarks=[load_benchmark(benchmark)], missing=missing
    )
    assert set(estimates["attribute"]) == {"language", "age", "pooled"}
    # EO is conditional on the neutralized answer, so it is missing.
    assert "dp" in set(estimates["metric"])
    assert "eo" not in set(estimates["metric"])
    right = estimates[estimates["model"] == "Right"].set_index(["metric", "group_a", "group_b"])
    assert right.loc[("accuracy_difference", "young", "old"), "estimate"] == 0
    assert right.loc[("cfr", "german", "polish"), "estimate"] == 1


def test_release_is_published_and_verified(site):
    assert "verified" in run("verify", site, "--no-pages")
    api = site / "v" / "2026.11" / "api"
    leaderboard = json.loads((api / "leaderboard.json").read_text(encoding="utf-8"))
    jsonschema.validate(leaderboard, json.loads((api / "leaderboard.schema.json").read_text()))
    (board,) = leaderboard["boards"]
    assert {row["accuracy"] for row in board["rows"]} == {None}


def words(path) -> str:
    text = re.sub(
        r"<(script|style|svg)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S
    )
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_pages_do_not_mention_unused_variants(site):
    release = site / "v" / "2026.11"
    for path in (release / "index.html", *(release / "reports" / "models").glob("*.html")):
        text = words(path)
        assert not re.search(r"(?i)\b(original|neutrali[sz]ed|baseline|nan|EO)\b", text), path.name
    board = words(release / "index.html")
    assert "Accuracy of groups, %" in board
    assert "Right" in board
    assert "100.0" in board


def test_board_labels_each_of_several_pairs(site):
    board = (site / "v" / "2026.11" / "index.html").read_text(encoding="utf-8")
    heads = re.findall(r'<th scope="col" class="panel.*?</th>', board, flags=re.S)
    assert len(heads) % 5 == 0
    notes = [re.search(r"<small>(.*?)</small>", head)[1] for head in heads[:5]]
    assert notes[1:4] == ["German − Turkish", "German − Polish", "Turkish − Polish"]
