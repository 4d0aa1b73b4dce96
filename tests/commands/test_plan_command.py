"""The command that plans prints the power functions' figures, and refuses unclear plans."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.cli import app
from fairstats.inference.power import power_equivalence, power_mcnemar
from fairstats.inference.power_comparison import change_shares, power_comparison
from fairstats.inference.power_means import power_means, samplesize_means, units_of

GROUPS = ["--discordant", 0.12, "--difference", 0.04]
EQUIVALENCE = ["--test", "equivalence", "--discordant", 0.2, "--difference", 0, "--margin", 0.1]


def run(*words, code=0):
    done = CliRunner().invoke(app, ["plan", *map(str, words)])
    assert done.exit_code == code, done.output
    return done


def table(*words):
    return pd.read_csv(io.StringIO(run(*words, "--csv").stdout))


def test_powers_are_those_of_the_functions():
    items = ["--items", 200, "--items", 801]
    n = [200, 801]
    changes = change_shares((0.08, 0.04), (0.05, 0.05))
    new = ["--new-discordant", 0.1, "--new-difference", 0]
    for words, power in (
        (["--test", "mcnemar", *GROUPS], power_mcnemar(n, 0.08, 0.04)),
        (EQUIVALENCE, power_equivalence(n, 0.1, 0.1, margin=0.1)),
        (["--test", "models", *GROUPS, *new], power_comparison(n, changes)),
    ):
        found = table(*words, *items)
        assert found["n_items"].tolist() == n
        assert found["power"].to_numpy() == pytest.approx(power, abs=1e-9)


MEANS = ["--deviation", 0.38, "--difference", 0.1]


def test_levels_and_scores_are_planned_with_clusters():
    size, icc = ["--cluster-size", 3.8], ["--icc", 0.1]
    found = table("--test", "means", *MEANS, *size, *icc, "--items", 190)
    power = power_means(190, 0.1, 0.38, cluster_size=3.8, icc=0.1)
    assert found.to_dict("records") == [
        {"n_items": 190, "n_units": 50, "power": pytest.approx(float(power))}
    ]
    done = run("--test", "means-equivalence", *MEANS, "--margin", 0.2, "--scale", 4, *size, *icc)
    needed = samplesize_means(0.1, 0.38, margin=0.2, scale=4, cluster_size=3.8, icc=0.1)
    assert f"{needed} items in {units_of(needed, 3.8)} clusters have 80% power" in done.stderr


def test_number_of_items_is_in_the_table_and_in_a_sentence():
    done = run(*EQUIVALENCE, "--json")
    rows = json.loads(done.stdout)
    reached = next(row["n_items"] for row in rows if row["power"] >= 0.8)
    assert f"{reached} items have 80% power" in done.stderr


def test_plot_is_an_svg_of_the_curve(tmp_path):
    file = tmp_path / "power.svg"
    run(*EQUIVALENCE, "--plot", file)
    svg = file.read_text(encoding="utf-8")
    assert svg.lstrip().startswith("<?xml")
    assert " items</text>" in svg


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--test", "mcnemar"], "--discordant: is missing for --test mcnemar"),
        (["--test", "mcnemar", *GROUPS, "--margin", 0.1], "--margin: is not used"),
        (["--test", "mcnemar", "--discordant", 0.1, "--difference", 0], "difference of 0"),
        (
            ["--test", "mcnemar", "--discordant", 0.01, "--difference", -0.1],
            "--discordant: 0.01 is",
        ),
        (["--test", "mcnemar", "--discordant", 12, "--difference", 4], "12 is not a share"),
        (["--test", "equivalence", *GROUPS, "--margin", 0.04], "not below margin=0.04"),
        (["--test", "models", *GROUPS], "--new-discordant: is missing"),
        (
            ["--test", "models", *GROUPS, "--new-discordant", 0.1, "--new-difference", 0.04],
            "--new-difference: gives a difference of 0",
        ),
        (
            ["--test", "models", *GROUPS, "--new-discordant", 0.07, "--new-difference", -0.03],
            "--new-difference: has the other sign",
        ),
        ([*EQUIVALENCE, "--power", 80], "--power: 80.0 is out of range"),
        ([*EQUIVALENCE, "--items", 0], "--items: must be at least 1"),
        ([*EQUIVALENCE, "--plot", "power.png"], "power.png: is not a .svg file"),
    ],
)
def test_unclear_plans_are_refused(words, said):
    assert said in run(*words, code=1).stderr


def test_power_near_a_difference_of_0_is_said_to_be_lower():
    words = ["--test", "models", "--discordant", 0.2, "--difference", 0.05]
    near = run(*words, "--new-discordant", 0.2, "--new-difference", 0).stderr
    assert "may have either sign" in near
    clear = ["--test", "models", "--discordant", 0.12, "--difference", 0.08]
    far = run(*clear, "--new-discordant", 0.07, "--new-difference", 0.03).stderr
    assert "may have either sign" not in far
