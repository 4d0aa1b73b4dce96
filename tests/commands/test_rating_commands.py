"""The commands on ratings print what the functions give, and say what is wrong."""

from __future__ import annotations

import io
import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.cli import app
from fairstats.ratings.files import write_ratings
from fairstats.ratings.summaries import RATING_TABLES
from tests.drawn_ratings import drawn_ratings, fewer

TABLES = {
    "rates": "bias_rates",
    "agreement": "rater_agreement",
    "preferences": "preferences",
    "pairs": "counterfactual_rates",
    "pairs-alone": "paired_bias",
}


@pytest.fixture(scope="module")
def ratings():
    return drawn_ratings()


@pytest.fixture(scope="module")
def path(ratings, tmp_path_factory):
    return write_ratings(ratings, tmp_path_factory.mktemp("r") / "a.ratings.parquet")


@pytest.fixture(scope="module")
def small(ratings, tmp_path_factory):
    return write_ratings(fewer(ratings), tmp_path_factory.mktemp("r") / "a.ratings.parquet")


def run(*words, code=0):
    done = CliRunner().invoke(app, ["ratings", *map(str, words)])
    assert done.exit_code == code, done.output
    return done


@pytest.mark.parametrize("command", TABLES)
def test_a_table_is_printed_whole_as_csv_and_json(command, small, ratings):
    table = RATING_TABLES[TABLES[command]].make(fewer(ratings), alpha=0.1, rubrics={})
    printed = pd.read_csv(io.StringIO(run(command, small, "--csv", "--alpha", "0.1").stdout))
    assert list(printed.columns) == list(table.columns)
    assert len(printed) == len(table)
    number = next(c for c in ("estimate", "strength", "n_ratings") if c in table)
    assert printed[number].to_numpy() == pytest.approx(table[number].to_numpy(), nan_ok=True)
    records = json.loads(run(command, small, "--json").stdout)
    assert len(records) == len(table)


@pytest.mark.parametrize("command", TABLES)
def test_a_terminal_shows_the_main_columns(command, small):
    assert "rater_group" in run(command, small).stdout


@pytest.mark.parametrize("command", ["preferences", "pairs", "pairs-alone"])
def test_ratings_of_another_kind_are_told(command, ratings, tmp_path):
    single = write_ratings(
        ratings[ratings["rubric"] == "independent"], tmp_path / "b.ratings.parquet"
    )
    told = run(command, single, code=1).stderr
    assert "no such ratings" in told


def test_validate_counts_what_is_there(path):
    said = run("validate", path.parent).stdout.splitlines()
    assert re.findall(r"\d+", said[1])[:4] == ["24", "1", "24", "192"]
    assert len(said) == 4


def test_validate_names_every_problem(path, tmp_path):
    table = pd.read_parquet(path)
    table.loc[[0, 1], "rater_group"] = "nurse"
    table.to_csv(tmp_path / "wrong.csv", index=False)
    told = run("validate", tmp_path / "wrong.csv", code=1).stderr
    assert "wrong.csv: row 1: rater_group = 'nurse': " in told
    assert "row 2" in told


def test_regression_on_who_rates(path, tmp_path):
    people = ["p0", "p1", "p2", "p3", "h0", "h1", "h2"]
    ages = ["young", "old", "young", "old", "old", "young", "young"]
    table = tmp_path / "raters.csv"
    pd.DataFrame({"rater_id": people, "age": ages}).to_csv(table, index=False)
    options = ("regression", path, "--raters", table, "--covariate", "age", "--csv")
    found = pd.read_csv(io.StringIO(run(*options, "--reference", "age=old").stdout))
    assert {"young", "old"} <= set(found["level"])
    assert (
        "--reference: must be NAME=VALUE, not 'old'"
        in run(*options, "--reference", "old", code=1).stderr
    )
    table.write_text("rater_id,age\np0,young\n")
    run(*options, code=1)


def test_a_report_is_drawn(ratings, tmp_path):
    # One rubric: the parts of the page have their own tests.
    few = fewer(ratings)
    path = write_ratings(few[few["rubric"] == "independent"], tmp_path / "a.ratings.parquet")
    out = tmp_path / "r.html"
    assert run("report", path, "--out", out, "--title", "Study").stdout.strip() == str(out)
    assert "Agreement between raters" in out.read_text(encoding="utf-8")


def test_a_wrong_argument_is_named_by_its_option(path, tmp_path):
    table = tmp_path / "raters.csv"
    table.write_text("rater_id,age\np0,young\n")
    options = ("regression", path, "--raters", table, "--covariate", "age")
    told = run(*options, "--dimension", "tone", code=1).stderr
    assert told.startswith("--dimension tone: is not asked")
    assert run(*options, code=1).stderr.startswith("--raters: rater_id = 'h0': ")
    ways = ("import", path, "--out", tmp_path, "--format", "medperturb", "--assignment", tmp_path)
    assert run(*ways, code=1).stderr.startswith("--format: is only for")
