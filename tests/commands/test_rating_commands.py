"""The commands on ratings print what the functions give, and say what is wrong."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.cli import app
from fairstats.ratings.files import write_ratings
from fairstats.ratings.pilot import design_from
from fairstats.ratings.planner import plan_ratings
from fairstats.ratings.summaries import RATING_TABLES
from tests.drawn_ratings import drawn_ratings, fewer

TABLES = {
    "rates": "bias_rates",
    "agreement": "rater_agreement",
    "preferences": "preferences",
    "strengths": "strengths",
    "pairs": "counterfactual_rates",
    "pairs-alone": "paired_bias",
    "raters": "raters",
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


@pytest.mark.parametrize("command", ["preferences", "strengths", "pairs", "pairs-alone"])
def test_ratings_of_another_kind_are_told(command, ratings, tmp_path):
    single = write_ratings(
        ratings[ratings["rubric"] == "independent"], tmp_path / "b.ratings.parquet"
    )
    told = run(command, single, code=1).stderr
    assert "no such ratings in these files; give ratings" in told


def test_validate_counts_what_is_there(path):
    said = run("validate", path.parent).stdout.splitlines()
    assert (
        "demo, independent: 24 judgements by 1 raters (model) on 24 tasks; 192 ratings" in said[1]
    )
    assert len(said) == 4


def test_validate_names_every_problem(path, tmp_path):
    table = pd.read_parquet(path)
    table.loc[[0, 1], "rater_group"] = "nurse"
    table.to_csv(tmp_path / "wrong.csv", index=False)
    told = run("validate", tmp_path / "wrong.csv", code=1).stderr
    assert "wrong.csv: row 1: rater_group = 'nurse': is not declared by the rubric" in told
    assert "row 2" in told


def test_a_plan_from_a_pilot_is_the_planners(path, ratings):
    options = ("plan", "--pilot", path, "--width", "0.1", "--ratings-per-rater", 50, "--json")
    several = run(*options, code=1).stderr
    assert (
        "contains several studies: demo, independent; demo, pairwise; demo, counterfactual"
        in several
    )
    done = run(*options, "--rubric", "independent")
    found = json.loads(done.stdout)[0]
    assert "demo, independent, bias, dataset pooled, raters pooled" in done.stderr
    design = design_from(ratings)
    own = design[(design["dimension"] == "bias") & (design["rubric"] == "independent")]
    own = own[(own["dataset"] == "pooled") & (own["rater_group"] == "pooled")]
    assert [found["rate"]] == own["rate"].tolist()
    plan = plan_ratings(
        rate=found["rate"],
        width=0.1,
        raters_per_item=3,
        item_icc=found["item_icc"],
        rater_icc=found["rater_icc"],
        ratings_per_rater=50,
    )
    assert found["n_items"] == float(plan.n_items)


def test_a_pilot_without_such_ratings_is_told(path):
    told = run("plan", "--pilot", path, "--width", 0.1, "--dimension", "tone", code=1).stderr
    assert "has no ratings by people for the dimension tone" in told


def test_a_plan_needs_a_rate_and_says_when_raters_are_too_few():
    assert "--rate: is missing" in run("plan", "--width", "0.1", code=1).stderr
    few = run("plan", "--rate", 0.4, "--width", 0.05, "--rater-icc", 0.2, "--raters", 5)
    assert "5 raters are too few for any number of items; use at least" in few.stderr
    wrong = run("plan", "--rate", 2, "--width", 0.05, code=1)
    assert "rate" in wrong.stderr


def test_errors_of_raters_and_categories_of_items(path, ratings, tmp_path):
    people = ratings[(ratings["rubric"] == "independent") & (ratings["rater_kind"] == "person")]
    single = write_ratings(people, tmp_path / "p.ratings.parquet")
    raters = pd.read_csv(io.StringIO(run("errors", single, "--csv").stdout))
    assert raters["rater_id"].nunique() == 7
    items = pd.read_csv(io.StringIO(run("errors", single, "--items", "--csv").stdout))
    assert items.groupby("item_id")["posterior"].sum().to_numpy() == pytest.approx(1)
    assert "error" not in run("errors", path, code=1).stdout


def test_regression_on_who_rates(path, tmp_path):
    people = ["p0", "p1", "p2", "p3", "h0", "h1", "h2"]
    ages = ["young", "old", "young", "old", "old", "young", "young"]
    table = tmp_path / "raters.csv"
    pd.DataFrame({"rater_id": people, "age": ages}).to_csv(table, index=False)
    options = ("regression", path, "--raters", table, "--covariate", "age", "--csv")
    found = pd.read_csv(io.StringIO(run(*options, "--reference", "age=old").stdout))
    assert {"young", "old"} <= set(found["level"])
    assert (
        "--reference: 'old' is not COVARIATE=LEVEL"
        in run(*options, "--reference", "old", code=1).stderr
    )
    table.write_text("rater_id,age\np0,young\n")
    run(*options, code=1)


def test_a_report_is_drawn(small, tmp_path):
    out = tmp_path / "r.html"
    assert run("report", small, "--out", out, "--title", "Study").stdout.strip() == str(out)
    assert "Agreement between raters" in out.read_text(encoding="utf-8")
