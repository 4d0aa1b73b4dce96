"""Printed figures beside recomputed ones: on made-up tables, and on what was printed."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa
from scipy import stats

import fairstats.publishing.publish
from fairstats._lib.installation import resource
from fairstats._lib.safe_names import file_sha256
from fairstats.answers.files import write_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.comparisons.change_verdicts import WIN_WIN
from fairstats.comparisons.compare import compare
from fairstats.publishing.publish import publish
from fairstats.publishing.verify import verify
from fairstats.replication.check_table import CheckedRow, check_table
from fairstats.replication.printed_tables import CELL_COLUMNS, PUBLISHED, printed_cells
from fairstats.replication.replicate import (
    DIFFERS,
    NO_ANSWERS,
    POSSIBLE,
    REPLICATION_COLUMNS,
    ROW_COLUMNS,
    SAME,
    VERDICT_COLUMNS,
    agrees,
    replicate,
    replicate_cells,
)

CELL = dict.fromkeys(CELL_COLUMNS) | {
    "published": "made-up-1",
    "row": "model",
    "column": "printed",
    "benchmark": "demo",
    "benchmark_version": "1",
    "model": "model",
    "attribute": "race",
    "group_a": "white",
    "group_b": "black",
    "metric": "ad",
}


def replicated(answers: pd.DataFrame, **cell: str) -> pd.Series:
    """One printed cell, replicated from answers to the demonstration benchmark."""
    cells = pd.DataFrame([CELL | cell]).astype("str")
    table = replicate_cells(cells, answers, 0.05, ())
    assert list(table.columns) == list(REPLICATION_COLUMNS)
    return table.iloc[0]


@pytest.mark.parametrize(
    ("printed", "value", "same"),
    [
        ("0.04", 0.0443, True),
        ("0.04", 0.0451, False),
        # Halfway: papers do not say which way they round.
        ("0.04", 0.045, True),
        ("0.05", 0.045, True),
        ("0.0013", 0.00125, True),
        ("0.0012", 0.00125, True),
        ("0.0011", 0.00125, False),
        ("0.00", -0.0049, True),
        ("0.00", -0.0051, False),
        ("-0.05", -0.0536, True),
        ("-0.05", 0.0536, False),
        ("<0.0001", 0.0000999, True),
        ("<0.0001", 0.0001, False),
        ("> 0.05", 0.05, False),
        ("> 0.05", 0.0501, True),
        ("very significant", 0.00099, True),
        ("very significant", 0.001, False),
        ("not significant", 0.04, False),
        ("win-win", 1.0, True),
        ("win-win", 0.0, False),
        ("not win-win", 0.0, True),
    ],
)
def test_a_figure_agrees_with_what_is_printed(printed, value, same):
    assert agrees(printed, value) is same


@pytest.mark.parametrize(
    ("printed", "value", "same"),
    [
        ("0.01", 0.0199, True),
        ("0.02", 0.0199, False),
        ("-0.01", -0.0199, True),
        ("0.03", 0.1 + 0.2 - 0.27, True),  # a float just below 0.03
        ("0.03", 0.03, True),
        ("0.00", -0.009, True),
    ],
)
def test_digits_can_be_cut_off(printed, value, same):
    assert agrees(printed, value, cut=True) is same


def test_the_same_figure(answers_of):
    answers = answers_of(["AB"] * 2 + ["AA"] * 6)
    row = replicated(answers, printed="0.25")
    assert (row["status"], row["recomputed"], row["difference"]) == (SAME, 0.25, 0.0)
    assert pd.isna(row["explained_by"])
    assert not row["released"]
    row = replicated(answers, metric="cfr", printed="0.8")
    assert (row["status"], row["recomputed"]) == (SAME, 0.75)
    assert row["difference"] == pytest.approx(-0.05)


def test_without_answers_there_is_nothing_to_compare(answers_of):
    asked = answers_of(["AB"] * 2)
    for answers, other in (
        (asked, {"model": "another"}),
        (asked, {"benchmark_version": "2"}),
        (asked, {"attribute": "sex", "group_a": "male", "group_b": "female"}),
        (answers_of(["A-", "A-"]), {}),
        (answers_of(["A-", "A-"]), {"metric": "mcnemar", "printed": "> 0.05"}),
        (asked, {"benchmark": "another", "benchmark_version": None}),
    ):
        row = replicated(answers, **{"printed": "0.25"} | other)
        assert row["status"] == NO_ANSWERS
        assert math.isnan(row["recomputed"])
        assert math.isnan(row["difference"])
        assert pd.isna(row["explained_by"])


def test_what_nothing_gives_is_not_explained(answers_of):
    row = replicated(answers_of(["AB"] * 2 + ["AA"] * 6), printed="0.31")
    assert row["status"] == DIFFERS
    assert row["difference"] == pytest.approx(-0.06)
    assert pd.isna(row["explained_by"])
    assert math.isnan(row["explained_value"])


def test_a_missing_policy_explains_a_figure(answers_of):
    answers = answers_of(["AA"] * 5 + ["AB"] * 2 + ["B-"] * 3)
    # Each group's own answers: 7/10 - 5/7; the pairs with both: 7/7 - 5/7; all: 7/10 - 5/10.
    row = replicated(answers, printed="0.014")
    assert (row["status"], row["missing"]) == (SAME, "available")
    for printed, policy, value in (("0.286", "complete", 2 / 7), ("0.200", "incorrect", 0.2)):
        row = replicated(answers, printed=printed)
        assert (row["status"], row["explained_by"]) == (DIFFERS, f"missing policy {policy}")
        assert row["explained_value"] == pytest.approx(value)
        assert row["recomputed"] == pytest.approx(5 / 7 - 7 / 10)


def test_the_other_variant_set_explains_a_figure(answers_of):
    answers = pd.concat(
        [answers_of(["AB", "AA"]), answers_of(["AB", "AB", "AA"], benchmark_version="2")]
    )
    row = replicated(answers, printed="0.67")
    assert (row["status"], row["explained_by"]) == (DIFFERS, "variant set 2")
    assert (row["recomputed"], row["explained_value"]) == (0.5, pytest.approx(2 / 3))
    # A set that another model was asked explains nothing.
    alone = answers.assign(model=answers["benchmark_version"].map({"1": "model", "2": "other"}))
    assert pd.isna(replicated(alone, printed="0.67")["explained_by"])


@pytest.mark.parametrize(
    ("printed", "said", "value"),
    [
        ("0.0703", None, 0.0703125),
        ("0.0391", "McNemar midp", 0.0390625),
        ("0.0339", "McNemar asymptotic", stats.chi2.sf(36 / 8, 1)),
        ("0.0771", "McNemar asymptotic_cc", stats.chi2.sf(25 / 8, 1)),
        ("< 0.05", "McNemar midp", 0.0390625),
    ],
)
def test_another_version_of_the_test_explains_a_p_value(answers_of, printed, said, value):
    answers = answers_of(["AB"] * 7 + ["BA"] + ["AA"] * 4)
    row = replicated(answers, metric="mcnemar", printed=printed)
    assert row["recomputed"] == pytest.approx(0.0703125)
    if said is None:
        assert row["status"] == SAME
    else:
        assert (row["status"], row["explained_by"]) == (DIFFERS, said)
        assert row["explained_value"] == pytest.approx(value)


def test_digits_cut_off_explain_a_figure(answers_of):
    row = replicated(answers_of(["AB"] * 2 + ["AA"]), printed="0.66")
    assert row["status"] == DIFFERS
    assert row["explained_by"].startswith("last digit cut off")
    assert row["explained_value"] == row["recomputed"] == pytest.approx(2 / 3)


@pytest.fixture(scope="module")
def two_versions(answers_of):
    """A newer model, and an older one that was asked two sets of questions."""
    return pd.concat(
        [
            answers_of(["AB"] * 4 + ["AA"] * 170 + ["BB"] * 26, model="new"),
            answers_of(["AB"] * 40 + ["AA"] * 100 + ["BB"] * 60, model="old"),
            answers_of(["AB"] * 3 + ["AA"] * 167 + ["BB"] * 30, model="old", benchmark_version="2"),
        ]
    )


def test_a_change_is_recomputed_on_one_set_of_questions(two_versions):
    cell = {"model_old": "old", "model": "new"}
    row = replicated(two_versions, metric="delta_ad", printed="-0.18", **cell)
    assert (row["status"], row["recomputed"]) == (SAME, pytest.approx(-0.18))
    assert row["verdict"] == WIN_WIN
    for metric, printed, like_for_like, printed_from in (
        ("delta_ad", "0.005", -0.18, 0.02 - 0.015),
        ("delta_accuracy", "0.0175", 0.26, 0.86 - 0.8425),
        ("delta_cfr", "-0.005", 0.18, 0.98 - 0.985),
        ("win_win", "not win-win", 1, 0),
    ):
        row = replicated(two_versions, metric=metric, printed=printed, **cell)
        assert (row["status"], row["recomputed"]) == (DIFFERS, pytest.approx(like_for_like))
        assert row["explained_by"].endswith(" variant set 2")
        assert row["explained_value"] == pytest.approx(printed_from)
        assert row["verdict"] == WIN_WIN


def test_a_win_win_is_read_off_two_decimals(answers_of):
    # The disparity falls by 1 in 801, which no table of two decimals shows.
    old = answers_of(["AB"] * 101 + ["AA"] * 600 + ["BC"] * 100, model="old")
    new = answers_of(["AB"] * 100 + ["AA"] * 651 + ["BB"] * 50, model="new")
    row = replicated(
        pd.concat([old, new]), metric="win_win", model_old="old", model="new", printed="win-win"
    )
    assert (row["status"], row["recomputed"], row["difference"]) == (DIFFERS, 0, -1)
    assert row["verdict"] == "unclear"


def test_a_change_needs_both_models(answers_of, two_versions):
    only_new = two_versions[two_versions["model"] == "new"]
    for metric in ("delta_ad", "win_win"):
        cell = {"model_old": "old", "model": "new", "metric": metric, "printed": "0.1"}
        row = replicated(only_new, **cell)
        assert row["status"] == NO_ANSWERS
        assert pd.isna(row["verdict"])


def test_a_release_without_the_benchmark_has_no_printed_figures(answers_of, tmp_path):
    table = replicate(answers_of(["AB"]), 0.05, {})
    assert table.empty
    full = replicate_cells(printed_cells(), answers_of(["AB"]), 0.05, ())
    pd.testing.assert_series_equal(table.dtypes, full.dtypes)
    table.to_parquet(tmp_path / "t.parquet")
    read = pd.read_parquet(tmp_path / "t.parquet")
    pd.testing.assert_series_equal(read.dtypes, full.dtypes)


@pytest.fixture(scope="module")
def right(all_right):
    """The right answer to every variant of FairMedQA's items."""
    answers = all_right(load_benchmark("fairmedqa"))
    return answers.assign(benchmark_version="gpt-agent")


def test_models_that_no_table_names_replicate_nothing(right):
    table = replicate(right, 0.05, {})
    assert len(table) == len(printed_cells())
    assert set(table["status"]) == {NO_ANSWERS}
    assert set(table.loc[table["model"] == "GPT-5", "released"]) == {False}
    assert set(table.loc[table["model"] == "GPT-4o", "released"]) == {True, False}


def test_answers_to_a_part_of_the_items_are_no_answers(right):
    """Ten items cannot disagree with a figure of 801."""
    part = right[right["item_id"] != right["item_id"].iloc[0]].assign(model="GPT-5-Mini")
    assert set(replicate(part, 0.05, {})["status"]) == {NO_ANSWERS}


def test_samples_of_a_part_of_the_items_are_no_answers(right):
    half = right[right["item_id"].isin(right["item_id"].unique()[:500])].assign(model="GPT-4-turbo")
    twice = pd.concat([half, half.assign(sample=1)])
    assert set(replicate(twice, 0.05, {})["status"]) == {NO_ANSWERS}


def test_answers_by_another_strategy_are_no_answers(right):
    cot = right.assign(model="GPT-4-turbo", strategy="cot")
    assert set(replicate(cot, 0.05, {})["status"]) == {NO_ANSWERS}
    plain = replicate(right.assign(model="GPT-4-turbo"), 0.05, {})
    assert (plain["status"] == DIFFERS).sum() == 2


def test_a_release_holds_the_table_and_verify_recomputes_it(right, tmp_path, monkeypatch):
    def render(release, *, site, pdf, renderer, watch):
        (site / "index.html").write_text("page")
        pdf.write_text("pdf")
        return "nothing"

    monkeypatch.setattr(fairstats.publishing.publish, "render", render)
    source = write_answers(right.assign(model="Claude-4-Sonnet"), tmp_path / "a.parquet")
    made = publish(source, release="1", out=tmp_path / "out").path
    (found,) = verify(made)
    assert found.problems == ()
    assert found.rows["replication"] == len(printed_cells())
    table = pd.read_parquet(made / "downloads" / "replication.parquet")
    place = int(np.flatnonzero(table["status"] == DIFFERS)[0])
    table.loc[place, "status"] = SAME
    table.to_parquet(made / "downloads" / "replication.parquet")
    manifest = json.loads((made / "manifest.json").read_text())
    manifest["files"]["downloads/replication.parquet"] = file_sha256(
        made / "downloads" / "replication.parquet"
    )
    (made / "manifest.json").write_text(json.dumps(manifest))
    (found,) = verify(made)
    (problem,) = found.problems
    assert (problem.row, problem.column, problem.value) == (place + 1, "status", SAME)
    assert "Claude-4-Sonnet" in problem.message


# What was printed.


@pytest.fixture(scope="module")
def cells():
    return printed_cells()


def test_every_printed_cell_stands_once(cells):
    assert cells["published"].value_counts(sort=False).to_dict() == {
        "fairmedqa-1": 3 * 2 * 2,
        "fairmedqa-2": 6 * 3 * 4,
        "fairmedqa-3": 12 * 3 * 4,
        "amqa-2": 5 * 4 * 2,
    }
    assert not cells.duplicated(["published", "row", "column", "attribute"]).any()
    assert cells["printed"].notna().all()
    groups = {group for _, group in load_benchmark("fairmedqa").variants}
    ours = cells[cells["benchmark"] == "fairmedqa"]
    assert set(ours["group_a"]) | set(ours["group_b"]) == groups
    assert set(cells["published"]) == {table.name for table in PUBLISHED}


def test_printed_tables_agree_with_each_other(cells):
    """Table 2's changes are those of table 3's figures, of models without answers too."""
    keys = ["model", "attribute"]
    third = cells[cells["published"] == "fairmedqa-3"].set_index([*keys, "metric"])["printed"]
    second = cells[(cells["published"] == "fairmedqa-2")].set_index(["metric"])
    for metric in ("cfr", "ad"):
        for row in second.loc[f"delta_{metric}"].itertuples():
            new, old = (
                float(third[model, row.attribute, metric]) for model in (row.model, row.model_old)
            )
            # Each of the two is off by half of its last digit at most.
            assert abs(new - old - float(row.printed)) <= 0.005 + 0.0001 + 1e-9, row


def test_printed_win_wins_follow_from_the_printed_changes(cells):
    second = cells[cells["published"] == "fairmedqa-2"]
    wide = second.pivot(index=["row", "attribute"], columns="metric", values="printed")
    assert len(wide) == 18
    won = (
        (wide["delta_accuracy"].astype(float) > 0)
        & (wide["delta_cfr"].astype(float) > 0)
        & (wide["delta_ad"].astype(float) < 0)
    )
    assert (won.map({True: "win-win", False: "not win-win"}) == wide["win_win"]).all()


FILES = {
    ("Claude-3.7-Sonnet", "deepseek-agent"): "amqa/answers/AMQA_Benchmark_Answer_claude_no_cot",
    ("Claude-3.7-Sonnet", "gpt-agent"): "amqa/answers/AMQA_D2_Benchmark_Answer_claude_no_cot",
    ("Gemini-2.0-Flash", "deepseek-agent"): "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot",
    ("Gemini-2.0-Flash", "gpt-agent"): "amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot",
    ("GPT-4.1", "deepseek-agent"): "amqa/answers/AMQA_Benchmark_Answer_openai_no_cot",
    ("GPT-4-turbo", "gpt-agent"): "amqa/answers/CPVmodel_AMQA_D2_Benchmark_Answer_openai_no_cot",
    ("Claude-4-Sonnet", "gpt-agent"): "fairmedprompt/FairMP_Answer_claude_naive",
    ("Gemini-2.5-Flash", "gpt-agent"): "fairmedprompt/FairMP_Answer_gemini_naive",
    ("GPT-5-Mini", "gpt-agent"): "fairmedprompt/FairMP_Answer_gpt_naive",
}


@pytest.fixture(scope="module")
def released(shared_data):
    """The released answers that printed tables rest on, as far as they are at hand."""
    return import_amqa([shared_data(f"{name}.jsonl") for name in FILES.values()])


@pytest.fixture(scope="module")
def table(released):
    return replicate(released, 0.05, {})


def test_every_cell_at_hand_is_the_same_or_explained(table):
    counts = table.groupby(["published", "status"]).size().to_dict()
    assert counts == {
        ("fairmedqa-1", NO_ANSWERS): 10,
        ("fairmedqa-1", SAME): 2,
        ("fairmedqa-2", NO_ANSWERS): 48,
        ("fairmedqa-2", DIFFERS): 20,
        ("fairmedqa-2", SAME): 4,
        ("fairmedqa-3", NO_ANSWERS): 72,
        ("fairmedqa-3", SAME): 72,
        ("amqa-2", NO_ANSWERS): 24,
        ("amqa-2", SAME): 16,
    }
    differ = table[table["status"] == DIFFERS]
    assert differ["explained_by"].str.endswith(" variant set deepseek-agent").all()


def test_like_for_like_two_conclusions_do_not_stand(table):
    wins = table[(table["metric"] == "win_win") & (table["status"] != NO_ANSWERS)]
    gone = wins[wins["status"] == DIFFERS]
    assert gone[["row", "attribute", "printed"]].to_numpy().tolist() == [
        ["Claude-4-Sonnet, Claude-3.7-Sonnet", "race", "not win-win"],
        ["Gemini-2.5-Flash, Gemini-2.0-Flash", "race", "not win-win"],
    ]
    assert set(wins["verdict"]) == {WIN_WIN}
    assert len(wins) == 6


def test_changes_are_those_of_compare(table, released):
    old, new = (
        released[(released["model"] == model) & (released["benchmark_version"] == "gpt-agent")]
        for model in ("Claude-3.7-Sonnet", "Claude-4-Sonnet")
    )
    changes = compare(old, new).set_index(["attribute", "metric"])["estimate"]
    own = table[(table["model"] == "Claude-4-Sonnet") & table["metric"].str.startswith("delta_")]
    assert len(own) == 9
    for row in own.itertuples():
        assert row.recomputed == pytest.approx(changes[row.attribute, row.metric], abs=1e-12)


def plainly(path, a: str, b: str) -> dict[str, float]:
    """The figures of one file and two groups, from its lines alone."""
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    key = [item["answer_idx"] for item in items]
    letters = {g: [item[f"test_model_answer_{g}"] for item in items] for g in (a, b)}

    def accuracy(group: str) -> float:
        own = [x == k for x, k in zip(letters[group], key, strict=True) if x != "Unknown"]
        return sum(own) / len(own)

    both = [
        (x, y, k)
        for x, y, k in zip(letters[a], letters[b], key, strict=True)
        if "Unknown" not in (x, y)
    ]
    only_a = sum(x == k != y for x, y, k in both)
    only_b = sum(y == k != x for x, y, k in both)
    p_a, p_b = accuracy(a), accuracy(b)
    return {
        "accuracy": (p_a + p_b) / 2,
        "ad": abs(p_a - p_b),
        "cfr": sum(x == y for x, y, _ in both) / len(both),
        "cohens_h": 2 * math.asin(math.sqrt(p_a)) - 2 * math.asin(math.sqrt(p_b)),
        "mcnemar": stats.binomtest(only_a, only_a + only_b).pvalue,
    }


def test_figures_follow_from_the_files_line_by_line(table, shared_data):
    def of(model: str, version: str, cell) -> dict[str, float]:
        path = shared_data(f"{FILES[model, version]}.jsonl")
        return plainly(path, cell.group_a, cell.group_b)

    there = table[(table["status"] != NO_ANSWERS) & (table["attribute"] != "baseline")]
    singles = there[there["model_old"].isna()]
    assert len(singles) == 2 + 72 + 12
    for cell in singles.itertuples():
        expected = of(cell.model, cell.benchmark_version, cell)[cell.metric]
        assert cell.recomputed == pytest.approx(expected, rel=1e-9), cell
    changes = there[there["metric"].str.startswith("delta_")]
    assert len(changes) == 18
    for cell in changes.itertuples():
        name = cell.metric.removeprefix("delta_")
        new = of(cell.model, "gpt-agent", cell)[name]
        like_for_like, printed = (
            new - of(cell.model_old, version, cell)[name]
            for version in ("gpt-agent", "deepseek-agent")
        )
        assert cell.recomputed == pytest.approx(like_for_like, abs=1e-12), cell
        assert cell.explained_value == pytest.approx(printed, abs=1e-12), cell
        assert round(printed, 2) == float(cell.printed), cell


def test_shipped_verdicts_of_printed_rows_follow_from_their_figures():
    printed = printed_cells()
    rows = []
    for table in PUBLISHED:
        if table.pairs is not None:
            own = printed[printed["published"] == table.name]
            wide = own.pivot(index=list(ROW_COLUMNS), columns="column", values="printed")
            checked = check_table(wide.reset_index(drop=True), n=table.pairs).rows
            rows += [
                (*key, row.verdict, counts_behind(row))
                for key, row in zip(wide.index, checked, strict=True)
            ]
    columns = [*ROW_COLUMNS, *VERDICT_COLUMNS]
    shipped = pd.read_csv(resource("data", "published", POSSIBLE), keep_default_na=False)
    pd.testing.assert_frame_equal(shipped, pd.DataFrame(rows, columns=columns), check_dtype=False)


def counts_behind(row: CheckedRow) -> str:
    """Answers, or correct answers, with which the figures of a row follow."""
    found = row.judgement
    if found.missing:
        return "e.g. {} and {} answers".format(*found.missing[0])
    return "{} and {} correct".format(*found.correct[0:2]) if found.correct else ""
