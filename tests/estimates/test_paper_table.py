"""The wide table of estimates, and the options of `analyze` that select rows or set the margin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.benchmarks.kinds import KINDS
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.analyze import analyze
from fairstats.estimates.table import PUBLICATION_COLUMNS, publication_table
from tests.make_kinds import DECLARED, SIGNS, answers_to, declared

SAME = ["AA/A"] * 1000 + ["AB/A"] * 10 + ["BA/A"] * 8
GAP = ["AA/A"] * 60 + ["AB/A"] * 25 + ["BA/A"] * 5 + ["A-/A"] * 2
WIDE = {
    "difference": "accuracy_difference",
    "cfr": "cfr",
    "cohens_h": "cohens_h",
    "rate_a": "accuracy_a",
    "rate_b": "accuracy_b",
}


@pytest.fixture(scope="module")
def answers(answers_of) -> pd.DataFrame:
    return pd.concat([answers_of(SAME, model="fair"), answers_of(GAP, model="unfair")])


@pytest.fixture(scope="module")
def estimates(answers) -> pd.DataFrame:
    return analyze(answers)


def test_each_pair_is_one_row_of_its_estimates(estimates):
    table = publication_table(estimates)
    assert tuple(table) == PUBLICATION_COLUMNS
    signed = estimates[estimates["metric"] == "accuracy_difference"]
    assert len(table) == len(signed) == len(table.drop_duplicates(["model", "attribute"]))
    for row in table.to_dict("records"):
        own = estimates[
            (estimates["model"] == row["model"]) & (estimates["attribute"] == row["attribute"])
        ].set_index("metric")
        for name, metric in WIDE.items():
            assert row[name] == pytest.approx(own.loc[metric, "estimate"], rel=0, nan_ok=True)
        for name in ("difference", "cfr", "cohens_h"):
            limits = own.loc[WIDE[name], ["ci_low", "ci_high"]].tolist()
            assert [row[f"{name}_low"], row[f"{name}_high"]] == limits
        midp = own.loc[["mcnemar"]].set_index("test").loc["mcnemar midp"]
        assert row["p_value"] == midp["p_value"]
        assert row["p_adjusted"] == pytest.approx(midp["p_adjusted"], nan_ok=True)
        verdicts = pd.Series([row["verdict"], own.loc["accuracy_difference", "verdict"]])
        assert verdicts.isna().all() or verdicts.nunique(dropna=False) == 1


@pytest.mark.parametrize("name", DECLARED)
def test_every_kind_of_answers_has_its_own_rates_and_difference(name, benchmark_file, estimates):
    kind, benchmark = KINDS[name], declared(benchmark_file, name)
    low, high = SIGNS[name][0], SIGNS[name][-1]
    own = analyze(answers_to(benchmark, [low + high, low + low] * 20), benchmarks=[benchmark])
    for table in (own, pd.concat([estimates, own])):
        wide = publication_table(table)
        wide = wide[wide["metric"].eq(kind.difference) & wide["group_b"].eq("black")]
        (row,) = wide.to_dict("records")
        figures = own[own["group_b"] == "black"].drop_duplicates("metric").set_index("metric")
        for column, metric in {
            "rate_a": kind.rate_a,
            "rate_b": kind.rate_b,
            "difference": kind.difference,
            "cfr": "cfr",
        }.items():
            assert row[column] == figures.loc[metric, "estimate"]
        decides = own["metric"].eq(kind.test) & own["test"].str.contains("midp")
        assert row["p_value"] == own.loc[decides & own["group_b"].eq("black"), "p_value"].item()
        assert np.isnan(row["cohens_h"]) == kind.numeric


def test_ranges_over_completions_have_no_verdict(answers):
    table = publication_table(analyze(answers, "bounds"))
    assert table["verdict"].isna().all()
    assert np.isfinite(table[["difference_low", "difference_high"]]).all(axis=None)


def test_no_estimates_give_no_rows(estimates):
    table = publication_table(estimates.iloc[:0])
    assert (len(table), tuple(table)) == (0, PUBLICATION_COLUMNS)


def test_two_policies_at_once_are_refused(answers, estimates):
    both = pd.concat([estimates, analyze(answers, "complete")])
    with pytest.raises(ValueError, match=r"two rows of .* one analysis and one policy"):
        publication_table(both)
    with pytest.raises(ValueError, match="lacks the column ci_high: give the table"):
        publication_table(estimates.drop(columns="ci_high"))


def test_margin_decides_equivalence_and_moves_no_estimate(answers, estimates):
    wide, narrow = (analyze(answers, margin=margin) for margin in (0.05, 0.005))
    for table, expected in ((wide, "equivalent"), (narrow, "inconclusive")):
        row = publication_table(table).set_index(["model", "attribute"]).loc["fair", "race"]
        assert row["verdict"] == expected
        same = [name for name in estimates if not name.startswith(("verdict", "margin"))]
        pd.testing.assert_frame_equal(table[same], estimates[same])


def test_selected_rows_are_those_of_the_whole(answers, estimates):
    chosen = analyze(answers, attributes=["race"], metrics=["cfr", "mcnemar"])
    expected = estimates[
        (estimates["attribute"] == "race") & estimates["metric"].isin(["cfr", "mcnemar"])
    ]
    pd.testing.assert_frame_equal(chosen, expected.reset_index(drop=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 5}, "margin=5.0 must be a share between 0 and 1, e.g. 0.02"),
        ({"margin": [0.1, 0.2]}, "must be one number"),
        ({"attributes": ["age"]}, "attributes='age' is not in the estimates; use race, baseline"),
        ({"metrics": "cfrs"}, "metrics='cfrs' is not in the estimates; use accuracy_a"),
    ],
)
def test_unknown_options_are_refused(answers, options, message):
    with pytest.raises(ValueError, match=message):
        analyze(answers, **options)


def test_the_table_tells_how_the_differences_were_judged(answers):
    """A verdict at a margin or level of one's own choice must not look like a declared one."""
    table = publication_table(analyze(answers, margin=0.4, alpha=0.2))
    own = table[table["attribute"] == "race"]
    assert own["verdict"].eq("equivalent").all()
    assert own["margin"].eq(0.4).all()
    assert own["ci_level"].eq(0.8).all()
    assert own["missing"].eq("available").all()
    of_demo = load_benchmark("demo").equivalence_margin
    assert set(publication_table(analyze(answers))["margin"].dropna()) == {of_demo}


@pytest.mark.parametrize("metrics", [["cfr"], ["accuracy_difference"]])
def test_estimates_that_were_selected_by_metric_are_refused(metrics, answers):
    with pytest.raises(ValueError, match="leave metrics= out"):
        publication_table(analyze(answers, metrics=metrics))


def test_a_model_that_selected_the_items_and_slanted_texts_are_named():
    benchmark = load_benchmark("fairmedqa")
    row = {"benchmark": "fairmedqa", "benchmark_version": "gpt-agent", "strategy": "plain"}
    answers = pd.DataFrame(
        [
            row
            | {"model": model, "item_id": item, "attribute": attribute, "group": group}
            | {"sample": 0, "answer": key, "answer_key": key}
            for model in ("GPT-4o-mini", "other")
            for item, key in list(benchmark.answer_keys.items())[:20]
            for attribute, group in benchmark.variants
        ]
    )
    table = publication_table(analyze(answers))
    judged = table[table["attribute"] != "baseline"].set_index("model")
    assert judged.loc["GPT-4o-mini", "verdict"].isna().all()
    said = "model took part in selecting the items"
    assert judged.loc["GPT-4o-mini", "verdict_reason"].eq(said).all()
    assert judged["method_note"].str.contains("not a rate of bias in practice").all()
