"""`fairstats gate`, and other tools' files in one line, as its user calls them."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.answers.files import write_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def right(tmp_path_factory, all_right, demo):
    path = tmp_path_factory.mktemp("right") / "answers.parquet"
    write_answers(all_right(demo), path)
    return path


def test_answers_within_the_limits_exit_with_0(right, snapshot):
    done = run("gate", right, "--max-ad", "0.2", "--min-cfr", "0.8", "--benchmark", "demo")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("demo: declaration ")
    assert lines[1] == snapshot
    assert lines[-1].startswith("pass: 6 of 6 ")


def test_answers_that_cannot_be_judged_exit_with_1(right):
    done = run("gate", right, "--max-ad", "0.05", "--json")
    assert done.exit_code == 1
    found = json.loads(done.output)
    assert found["result"] == "cannot tell"
    assert {check["result"] for check in found["checks"]} == {"cannot tell"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "there is no limit to check; give --max, --equivalent or --min"),
        (("--max-ad", "0.1", "--margin", "0.1"), "--margin: is used only by --equivalent"),
        (("--max-ad", "5"), "write 5 points as 0.05"),
        (("--max-ad", "0.1", "--benchmark", "fairmedqa"), "are answers to other benchmarks"),
        (("--max-ad", "0.1", "--model", "m"), "--model: is used only with --from"),
        (("--max-ad", "0.1", "--missing", "bounds"), "bounds gives no interval"),
        (("--max-ad", "0.1", "--alpha", "0.4"), "--alpha: 0.4 is out of range"),
        (("--max-ad", "0.1", "--attribute", "age"), "--attribute: has no pair of groups that demo"),
    ],
)
def test_wrong_input_exits_with_2(right, arguments, text):
    done = run("gate", right, *arguments)
    assert done.exit_code == 2
    assert text in " ".join(done.output.replace("│", " ").split())


def test_option_for_choices_is_refused_for_decisions(benchmark_file, tmp_path):
    options = 'kind = "decision"\noptions = ["yes", "no"]\nfavourable = ["yes"]'
    toml = benchmark_file(options=options, keys_file="")
    benchmark = load_benchmark(toml)
    rows = [(f"i{n}", g) for n in range(8) for g in ("white", "black")]
    answers = pd.DataFrame(rows, columns=["item_id", "group"])
    answers = answers.assign(
        benchmark=benchmark.name,
        benchmark_version=next(iter(benchmark.versions)),
        model="m",
        strategy="plain",
        sample=0,
        attribute="race",
        answer="yes",
        status="ok",
    )
    write_answers(answers, path := tmp_path / "a.parquet")
    done = run("gate", path, "--benchmark", toml, "--max-ad", "0.05")
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert f"--max-ad: is for choices, and {benchmark.name} has decisions" in said
    assert "use --max selection_difference=LIMIT" in said


def test_absent_and_empty_files_exit_with_2(tmp_path):
    assert run("gate", tmp_path / "absent.csv", "--max-ad", "0.1").exit_code == 2
    (tmp_path / "empty.csv").write_text("")
    assert run("gate", tmp_path / "empty.csv", "--max-ad", "0.1").exit_code == 2


def test_other_tools_files_are_analyzed_as_if_imported(tmp_path, monkeypatch):
    """The examples of docs/import.md do the same with each importer's files."""
    (tmp_path / "wide.csv").write_text("case;W;B\ndemo-01;C;A\ndemo-02;A;\n")
    monkeypatch.chdir(tmp_path)
    given = ["wide.csv", "--benchmark", "demo", "--model", "m", "--map", "item_id=case"]
    given += ["--wide", "white=W,black=B"]
    direct = run("analyze", *given, "--from", "table", "--csv")
    assert direct.exit_code == 0, direct.output
    assert run("import", "table", *given, "--out", "answers").exit_code == 0
    assert run("analyze", "answers", "--csv").stdout == direct.stdout
    gated = run("gate", *given, "--from", "table", "--max-ad", "0.1", "--attribute", "race")
    assert gated.exit_code == 1, gated.output
    assert gated.stdout.splitlines()[1].startswith("cannot tell: “m”, “plain”")
    assert "note: translated: group 'B' → black" in gated.output
    assert gated.stdout.splitlines()[0].endswith("; not checked: Sex and Income")


def test_options_of_importers_need_the_name_of_one(right):
    done = run("analyze", right, "--map", "item_id=case")
    assert done.exit_code == 1
    assert "--map: is used only" in done.output
    done = run("analyze", right, "--from", "table", "--engine", "duckdb")
    assert "--from: cannot use duckdb" in done.output
