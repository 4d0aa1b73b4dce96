"""The commands on items, models and samples print the tables of their functions."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.answers.files import write_answers
from fairstats.cli import app
from fairstats.estimates.item_statistics import gap_heterogeneity, item_functioning
from fairstats.estimates.sampling_noise import sampling_noise
from tests.report.conftest import answers_of_models

ANSWERS = answers_of_models(tuple(f"m-{number}" for number in range(5)), items=6)


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_answers(ANSWERS, tmp_path_factory.mktemp("in") / "answers.parquet")


def table_of(done):
    assert done.exit_code == 0, done.output
    return pd.read_csv(io.StringIO(done.stdout), dtype={"benchmark_version": "str"})


def same(found, expected):
    expected = expected.reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-12)


def test_items_prints_the_largest_contributions_of_each_pair(path):
    table = table_of(run("explore", "items", path, "--most", 2, "--missing", "incorrect", "--csv"))
    expected = item_functioning(ANSWERS, missing="incorrect")
    pair = ["attribute", "group_a", "group_b"]
    same(table, expected.groupby(pair, sort=False).head(2))
    assert table.groupby(pair).size().eq(2).all()


def test_items_takes_the_test(path):
    table = table_of(run("explore", "items", path, "--test", "midp", "--csv"))
    assert set(table["test"]) == {"sign flips, midp"}


def test_heterogeneity_prints_its_table(path):
    table = table_of(run("explore", "heterogeneity", path, "--alpha", 0.1, "--csv"))
    same(table, gap_heterogeneity(ANSWERS, alpha=0.1))


def test_noise_prints_its_table(path):
    table = table_of(run("explore", "noise", path, "--csv"))
    same(table.fillna({"method_note": ""}), sampling_noise(ANSWERS))


def test_bounds_are_a_usage_error(path):
    for command in ("items", "heterogeneity", "noise"):
        assert run("explore", command, path, "--missing", "bounds").exit_code == 2
