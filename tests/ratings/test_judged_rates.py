from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.cli import app
from fairstats.inference.ppi import ppi_mean
from fairstats.ratings.files import write_ratings
from fairstats.ratings.rates import JUDGED_COLUMNS, judged_rates
from fairstats.ratings.table import check_ratings
from tests.drawn_ratings import drawn_ratings

PEOPLE, JUDGE = "1101001000", "1111001010" * 5


def rated(rater, kind, values, *, task="t"):
    return [
        {
            "benchmark": "b",
            "rubric": "triage",
            "task_id": f"{task}{place}",
            "item_id": f"q{place}",
            "rater_id": rater,
            "rater_kind": kind,
            "rater_group": "physician" if kind == "person" else "model",
            "dimension": dimension,
            "value": "yes" if sign == "1" else "no",
        }
        for place, sign in enumerate(values)
        for dimension in ("manage", "visit", "resource")
    ]


def table(*rows):
    return check_ratings(pd.DataFrame([one for part in rows for one in part]))


def test_rates_are_those_of_ppi_mean():
    # People's tasks have other names than the judge's.
    ratings = table(rated("p1", "person", PEOPLE, task="s"), rated("m", "model", JUDGE))
    found = judged_rates(ratings)
    assert tuple(found) == JUDGED_COLUMNS
    assert len(found) == 3
    row = found.iloc[0]
    people = [float(sign) for sign in PEOPLE] + [np.nan] * 40
    expected = ppi_mean(people, [int(sign) for sign in JUDGE])
    for name in ("estimate", "ci_low", "ci_high", "weight", "correlation", "n_people"):
        assert row[name] == pytest.approx(getattr(expected, name))
    assert row["n_items"] == 50
    assert row["judge_rate"] == pytest.approx(0.6)
    assert row["people_rate"] == pytest.approx(0.4)
    assert row["judge_bias"] == pytest.approx(0.2)


def test_several_people_are_averaged_by_item():
    second = "1100001000"
    one = rated("p1", "person", PEOPLE)
    found = judged_rates(table(one, rated("p2", "person", second), rated("m", "model", JUDGE)))
    people = [(int(a) + int(b)) / 2 for a, b in zip(PEOPLE, second, strict=True)]
    expected = ppi_mean(people + [np.nan] * 40, [int(sign) for sign in JUDGE])
    assert found["estimate"].iloc[0] == pytest.approx(expected.estimate)
    assert found["n_people"].iloc[0] == 10


def test_items_without_a_judge_are_counted():
    found = judged_rates(table(rated("p1", "person", PEOPLE), rated("m", "model", JUDGE[:6])))
    assert found["n_not_judged"].tolist() == [4] * 3
    assert found["n_people"].tolist() == [6] * 3


def test_only_people_or_only_models_give_no_rows():
    for ratings in (table(rated("p1", "person", PEOPLE)), table(rated("m", "model", JUDGE))):
        assert judged_rates(ratings).empty


def test_each_judge_and_group_of_people_has_a_row():
    found = judged_rates(drawn_ratings(items=6))
    keys = ["dataset", "model", "dimension", "rater_group", "judge"]
    assert not found.duplicated(keys).any()
    assert set(found["rater_group"]) == {"physician", "health_equity_expert", "pooled"}
    assert set(found["judge"]) == {"judge"}


def run(*words, code=0):
    done = CliRunner().invoke(app, ["ratings", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


def test_command_prints_the_corrected_rates(tmp_path):
    ratings = table(rated("p1", "person", PEOPLE), rated("m", "model", JUDGE))
    path = write_ratings(ratings, tmp_path / "a.ratings.parquet")
    assert "judge_bias" in run("judged", path)
    assert run("judged", path, "--csv").startswith("benchmark,dataset,rubric")
    alone = write_ratings(table(rated("p1", "person", PEOPLE)), tmp_path / "b.ratings.parquet")
    assert "no ratings by people and by a model" in run("judged", alone, code=1)


def test_command_plans_the_items_that_people_rate():
    words = ("plan", "--rate", 0.2, "--width", 0.1)
    shown = run(*words, "--judge-correlation", 0.6, "--judged-items", 2000, "--csv")
    assert ",173,245," in shown
    assert "--judged-items: is missing" in run(*words, "--judge-correlation", 0.6, code=1)
    both = (*words, "--judge-correlation", 0.6, "--judged-items", 2000, "--raters", 3)
    assert "--raters" in run(*both, code=1)
    few = (*words, "--judge-correlation", 0.6, "--judged-items", 20)
    assert "even all items are too few" in run(*few)
