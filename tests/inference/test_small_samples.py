"""Scripts that measure where intervals hold less than their level, and what docs say of them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.serving import benchmark_script

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
SMALL = json.loads((RESULTS / "small_samples.json").read_text(encoding="utf-8"))
RANKS = json.loads((RESULTS / "rank_ranges.json").read_text(encoding="utf-8"))
GAPS = pd.read_csv(RESULTS / "gap_components.csv")


@pytest.mark.parametrize(
    ("figure", "design", "measured"),
    [
        ("excess", (50, 8, 0.02, 0.02), "coverage"),
        ("equivalence", (30, 5, 0.2, 0.2), "equivalent"),
        ("repeated", (60, 8, 0.02, 0.01), "interval"),
        ("alpha", (30, 3, 0.1), "coverage"),
        ("changes", (100, (0.02, 0.03)), "coverage"),
        ("samples", (40, 0.9, 3.0), "accuracy"),
        ("moved", (100, 8, 0.02, 0.01), "only_a"),
        ("wrong", (30, 20, 0.03, 0.01, False), "bare"),
        ("corrected", (40, 10, 0.04), "bare"),
        ("favoured", (40, 20, 0.04, 0.0), "bare"),
        ("voted", (30, 12, 0.03), "bare"),
        ("shifted", (40, 20, 0.03), "level_difference"),
        ("grades", (60, 1.5), "interval"),
        ("rare_grades", (60, 3, 0.03, 3), "ordinal"),
        ("reported", (30, 0.05), "coverage"),
        ("preferred", (100, 4, 10), "coverage"),
        ("disagreeing", (100, 0.02, 0.2), "coverage"),
        ("positive", (60, 3, 0.1, 0.9), "coverage"),
        ("unequal", (30, 4, 0.5, 4.5), "accuracy"),
        ("controls", (60, 0.1, 2, (2, 3)), "rejected"),
        ("planned", (400, 1, 0.2, 0.06), "equivalent"),
        ("rare", (100, 0.01, 0.2), "interval"),
        ("clusters", (20,), "coverage"),
        ("regression", (6, "5", 1, 0.6), "group"),
    ],
)
def test_the_simulation_is_that_of_the_script(figure, design, measured):
    found = getattr(benchmark_script("small_samples"), figure)(*design, 100)
    values = [x for part in design for x in (part if isinstance(part, tuple) else (part,))]
    names = list(found)[: len(values)]
    (row,) = [row for row in SMALL[figure] if [row[name] for name in names] == values]
    assert found[measured] == pytest.approx(row[measured], abs=0.1)


def test_excess_covers():
    assert pd.DataFrame(SMALL["excess"])["coverage"].min() > 0.94


def test_shares_cover_if_few_items_are_wrong_in_all_answers():
    rows = pd.DataFrame(SMALL["wrong"])
    assert rows[["accuracy", "cohens_h", "cfr", "only_a"]].min().min() >= 0.925
    assert rows["bare"].min() < 0.6


def test_crossed_limits_cover_if_raters_agree_on_few_items():
    assert pd.DataFrame(SMALL["reported"])["coverage"].min() >= 0.95
    assert pd.DataFrame(SMALL["preferred"])["coverage"].min() >= 0.93


def test_changes_cover_if_few_items_change_in_all_samples():
    rows = pd.DataFrame(SMALL["corrected"])
    assert rows[["accuracy", "cfr"]].min().min() > 0.94
    assert rows["bare"].min() < 0.6


def test_changes_cover_where_the_bootstrap_does_not():
    rows = pd.DataFrame(SMALL["changes"])
    assert rows["coverage"].min() > 0.93
    assert rows["bootstrap"].min() < 0.81


def test_models_with_unequal_numbers_of_samples_hold_their_level():
    assert pd.DataFrame(SMALL["unequal"])[["accuracy", "cfr"]].max().max() < 0.08


def test_changes_beyond_controls_hold_their_level():
    rows = pd.DataFrame(SMALL["controls"])
    assert rows["rejected"].max() < 0.065
    assert rows["coverage"].min() >= 0.945
    assert rows.loc[rows["groups"] <= 3, "coverage"].min() >= 0.95


def test_limits_with_room_cover_if_few_items_differ_in_all_answers():
    for name, figures in (
        ("favoured", ["ad"]),
        ("changing", ["coverage"]),
        ("voted", ["coverage"]),
        ("shifted", ["moved_up", "net_moved"]),
    ):
        rows = pd.DataFrame(SMALL[name])
        assert rows[figures].min().min() >= 0.94
        assert rows["bare"].min() < 0.8
    assert pd.DataFrame(SMALL["changing"])["rejected"][1::2].max() < 0.065
    levels = pd.DataFrame(SMALL["shifted"]).groupby("items")["level_difference"].min()
    assert levels.round(2).to_dict() == {30: 0.61, 40: 0.66, 60: 0.85, 100: 0.94, 200: 0.94}


def test_several_samples_cover_unless_a_rate_is_near_1():
    rows = pd.concat([pd.DataFrame(SMALL[name]) for name in ("samples", "moved")])
    assert rows[["cohens_h", "cfr", "only_a"]].min().min() > 0.93
    assert rows["accuracy"].min() > 0.915


def test_planned_power_of_equivalence_needs_units_that_differ():
    rows = pd.DataFrame(SMALL["planned"])
    short = rows["planned"] - rows["equivalent"]
    assert short[rows["clusters"] >= 100].abs().max() < 0.02
    assert 0.1 < short.max() < 0.135


def test_rare_large_differences_are_missed_by_intervals_and_not_by_verdicts():
    rows = pd.DataFrame(SMALL["rare"])
    assert rows["equivalent"].max() < 0.07
    assert rows["interval"].max().round(2) == 0.61
    lowest = rows.groupby("items")["coverage"].min()
    assert lowest.round(2).to_dict() == {50: 0.39, 100: 0.61, 200: 0.86, 800: 0.93}


def test_kappa_misses_rare_large_differences():
    rows = pd.DataFrame(SMALL["disagreeing"])
    lowest = rows.groupby("items")["coverage"].min()
    assert lowest.round(2).to_dict() == {60: 0.82, 100: 0.85, 200: 0.83, 400: 0.86}
    assert rows[(rows["items"] == 400) & (rows["rare"] > 0.005)]["coverage"].min() >= 0.92


def test_agreement_on_few_reports():
    rows = pd.DataFrame(SMALL["positive"])
    assert rows["coverage"].round(2).min() >= 0.92
    assert rows["of_alpha"].min() >= 0.95
    rare = rows[rows["certain"] == 1]
    assert rare["coverage"].round(2).min() >= 0.96
    assert rare["of_alpha"].round(2).min() >= 0.97


def test_agreement_on_rare_grades():
    rows = pd.DataFrame(SMALL["rare_grades"])
    lowest = rows.groupby("grades")[["nominal", "ordinal", "interval", "fleiss"]].min().min(axis=1)
    assert lowest.loc[3].round(2) >= 0.94
    assert lowest.loc[5].round(2) >= 0.92


def test_skewed_means_of_few_clusters():
    coverage = pd.DataFrame(SMALL["clusters"]).set_index("clusters")["coverage"]
    assert 0.885 < coverage.loc[:40].min() < coverage.loc[:40].max() < 0.93


def test_regressions_over_few_clusters_keep_their_level():
    rows = pd.DataFrame(SMALL["regression"])
    assert rows["group"].between(0.015, 0.07).all()
    assert rows["covariate"].max() < 0.035


def test_equivalence_at_the_margin_is_rarer_than_one_in_eleven():
    for name in ("equivalence", "repeated"):
        rows = pd.DataFrame(SMALL[name])
        assert rows["equivalent"].max() < 0.09
        assert rows["equivalent"].mean() < 0.06


def test_without_room_many_samples_of_few_items_show_equivalence():
    rows = pd.DataFrame(SMALL["repeated"])
    assert rows.groupby("samples")["interval"].max().round(2).to_dict() == {
        3: 0.1,
        8: 0.21,
        20: 0.43,
    }


def test_room_on_the_sides_of_0_lets_differences_of_many_samples_cover():
    rows = pd.DataFrame(SMALL["repeated"])
    assert rows["coverage"].min() > 0.925
    assert rows["bare"].min() < 0.58


def test_alpha_covers_with_few_positive_ratings():
    rows = pd.DataFrame(SMALL["alpha"]).query("given > 0.5")
    assert rows["coverage"].min() >= 0.92


def test_gaps_cover_less_if_a_model_is_far_from_the_others():
    covered = GAPS.groupby(["swayed", "outlying"])[["interval", "same_items", "new_items"]].min()
    assert (covered.loc[[(0.0, 0.0), (0.0, 0.1)]] > 0.94).all(axis=None)
    assert (covered.loc[(0.0, 0.3)] > 0.86).all()
    assert (covered.loc[(0.05, 0.0)] > 0.9).all()


def test_a_joint_adjustment_hardly_narrows_rank_ranges():
    rows = pd.DataFrame(RANKS["designs"]).set_index(["models", "method"])
    for models in (50, 200):
        width = rows.loc[models, "width"]
        assert 0.95 < width["step_down"] / width["holm"] < 1


def test_rank_ranges_of_the_script_are_those_of_the_file():
    found = benchmark_script("rank_ranges").compared(12, 0.6, 0.9, 10)
    rows = [
        row for row in RANKS["designs"] if row["accuracy"] == [0.6, 0.9] and row["models"] == 12
    ]
    for own, of_file in zip(found, rows, strict=True):
        assert own["width"] == pytest.approx(of_file["width"], rel=0.15)
