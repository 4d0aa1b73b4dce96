"""`fairstats explore specifications`, as its user calls it."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.answers.files import write_answers
from fairstats.cli import app
from fairstats.estimates.specifications import SPECIFICATION_COLUMNS


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def answers(tmp_path_factory, answers_of):
    path = tmp_path_factory.mktemp("answers") / "answers.parquet"
    # Disparity at the margin of 5 points and below, equivalent at 20 points.
    write_answers(answers_of(["AB"] * 40 + ["BA"] * 9 + ["AA"] * 251), path)
    return path


def test_shares_are_printed_and_specifications_written(answers, tmp_path):
    out = tmp_path / "all.parquet"
    done = run("explore", "specifications", answers, "--json", "--margin", "0.2", "--out", out)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    table = pd.read_parquet(out)
    assert tuple(table.columns) == SPECIFICATION_COLUMNS
    assert row["specifications"] == len(table) == 2 * 3 * 3 * 4 * 4
    assert (row["disparity"], row["equivalent"]) == (0.5, 0.5)


def test_declaration_is_named(answers, demo):
    done = run("explore", "specifications", answers, "--json")
    assert [row["declaration"] for row in json.loads(done.stdout)] == [demo.basis()]


def test_one_row_per_model(answers):
    done = run("explore", "specifications", answers, "--by", "model", "--csv")
    assert done.exit_code == 0, done.output
    head, row = done.stdout.strip().splitlines()
    assert head.startswith("benchmark,benchmark_version,model,specifications,disparity")
    assert row.startswith("demo,1,model,")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--margin", "2"), "--margin: 2 is out of range; give a share between 0 and 1"),
        (("--out", "a.csv"), "end the name in .parquet"),
    ],
)
def test_wrong_input_exits_with_1(answers, arguments, text):
    done = run("explore", "specifications", answers, *arguments)
    assert done.exit_code == 1
    assert text in " ".join(done.output.split())
