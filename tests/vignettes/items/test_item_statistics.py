"""Items judged by their answers: hand-counted cases first, then the released answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa
from scipy import stats

from fairstats._lib.problems import InputError
from fairstats.vignettes.findings import FINDING_COLUMNS, FLAG_COLUMNS
from fairstats.vignettes.items.item_findings import item_findings
from fairstats.vignettes.items.item_statistics import (
    ITEM_COLUMNS,
    NEGATIVE,
    NEVER_RIGHT,
    SHARED_WRONG,
    item_flags,
    item_rest_correlations,
    item_statistics,
)
from fairstats.vignettes.items.selection_effects import (
    DIFFERENCE,
    ONE_SIDED,
    selection_findings,
    selection_flags,
)


@pytest.fixture(scope="module")
def models(answers_of):
    """Return the answers of several models, each a list of one text per item."""

    def build(*texts, **unit):
        return pd.concat(
            [answers_of(own, model=f"m-{n}", **unit) for n, own in enumerate(texts)],
            ignore_index=True,
        )

    return build


def _whole(table):
    return table[(table["attribute"] == "")].set_index("item_id")


def test_one_model_has_difficulty_and_no_discrimination(models):
    table = item_statistics(models(["AA/AA", "AB/BB", "BC/BD"]))
    assert list(table.columns) == list(ITEM_COLUMNS)
    whole = _whole(table)
    assert whole["difficulty"].tolist() == [1, 0.25, 0]
    assert whole["discrimination"].isna().all()
    assert (whole["discrimination_low"] == -1).all()
    assert whole["modal_wrong"].tolist() == ["", "B", "B"]
    assert whole["modal_wrong_share"].tolist() == [0, 0.75, 0.5]
    black = table[table["group"] == "black"].set_index("item_id")
    assert black["difficulty"].tolist() == [1, 0, 0]
    flags = item_flags(table)
    assert list(flags.columns) == list(FLAG_COLUMNS)
    # A single model shares its wrong options with no other.
    assert flags[["item_id", "flag"]].values.tolist() == [["item-2", NEVER_RIGHT]]
    assert flags["detail"].iloc[0] == (
        "key A (version 1): 0 of 4 answers by 1 models are right, B is given 2 times"
    )


def test_items_that_all_answer_correctly_do_not_discriminate(models):
    answers = models(["AA"] * 3, ["AA"] * 3, ["AA"] * 3, ["AA"] * 3)
    table = item_statistics(answers)
    assert (table["difficulty"] == 1).all()
    assert table["discrimination"].isna().all()
    assert item_flags(table).empty
    found = item_findings(answers, table).set_index("quantity")
    assert found.loc["share without", "estimate"] == 1
    assert found.loc["share all right", "estimate"] == 1
    assert np.isnan(found.loc["Cronbach's alpha", "estimate"])
    assert found.loc["mean discrimination", "n"] == 0


def test_missing_answers_follow_the_policy(models):
    answers = models(["A-", "AB", "--"])

    def of(policy):
        whole = _whole(item_statistics(answers, missing=policy))
        return whole[["difficulty", "difficulty_low", "difficulty_high"]]

    available = of("available")
    assert available["difficulty"].tolist()[:2] == [1, 0.5]
    assert np.isnan(available["difficulty"].iloc[2])
    assert of("complete").equals(available)
    assert of("incorrect")["difficulty"].tolist() == [0.5, 0.5, 0]
    bounds = of("bounds")
    assert bounds["difficulty"].isna().tolist() == [True, False, True]
    assert bounds["difficulty_low"].tolist() == [0.5, 0.5, 0]
    assert bounds["difficulty_high"].tolist() == [1, 0.5, 1]
    # An item without any answer does not count as one that all answer wrongly.
    assert item_flags(item_statistics(answers)).empty


def test_discrimination_is_the_item_rest_correlation(models):
    texts = [["AA", "AA", "AB"], ["AA", "AB", "BB"], ["AB", "AA", "BB"], ["BB", "BB", "AB"]]
    table = _whole(item_statistics(models(*texts)))
    scores = np.array([[text.count("A") / 2 for text in own] for own in texts])
    for place, item in enumerate(("item-0", "item-1", "item-2")):
        rest = np.delete(scores, place, axis=1).mean(axis=1)
        expected = stats.pearsonr(scores[:, place], rest).statistic
        assert table.loc[item, "discrimination"] == pytest.approx(expected)


def test_limits_of_the_correlation_are_fishers():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(12, 1)) + rng.normal(size=(12, 4))
    scores[3, 1] = np.nan
    found = item_rest_correlations(scores, 0.1)
    for item in range(4):
        rest = np.nanmean(np.delete(scores, item, axis=1), axis=1)
        there = ~np.isnan(scores[:, item])
        expected = stats.pearsonr(scores[there, item], rest[there])
        limits = expected.confidence_interval(0.9)
        assert found["discrimination"][item] == pytest.approx(expected.statistic)
        assert found["discrimination_low"][item] == pytest.approx(limits.low)
        assert found["discrimination_high"][item] == pytest.approx(limits.high)


def test_the_three_flags(models):
    right, wrong = ["AA/AA"] * 6, ["BB/BB"] * 6
    # The last items: one that only the weak answer correctly, one on which most agree, one never
    # right.
    strong = [*right, "BC/CB", "AA/BB", "DB/CD"]
    weak = [*wrong, "AA/AA", "AA/BB", "CC/DB"]
    table = item_statistics(models(*[strong] * 4, *[weak] * 4))
    flags = item_flags(table)
    pairs = flags[["item_id", "flag", "attribute"]].values.tolist()
    assert pairs == [
        ["item-8", NEVER_RIGHT, ""],
        ["item-7", SHARED_WRONG, "baseline"],
        ["item-6", NEGATIVE, ""],
    ]
    assert flags["detail"].iloc[1] == (
        "key A: 0 of 16 answers by 8 models are right, B is given 16 times"
    )


def test_versions_are_counted_separately_and_together(models):
    right = models(["AA", "AA"])
    answers = pd.concat([right, models(["BB", "AA"], benchmark_version="0")])
    table = _whole(item_statistics(answers).set_index("benchmark_version", drop=False))
    first = table.loc["item-0"].set_index("benchmark_version")
    assert first["difficulty"].to_dict() == {"": 0.5, "0": 0, "1": 1}
    assert first["answer_sets"].to_dict() == {"": 2, "0": 1, "1": 1}
    flags = item_flags(item_statistics(answers))
    assert "(version 0)" in flags["detail"].iloc[0]
    findings = item_findings(answers, item_statistics(answers))
    assert list(findings.columns) == list(FINDING_COLUMNS)
    assert set(findings["benchmark_version"]) == {"", "0", "1"}


def test_an_answer_twice_is_refused(models):
    answers = models(["AA"])
    with pytest.raises(InputError, match="twice"):
        item_statistics(pd.concat([answers, answers]))


@pytest.fixture(scope="module")
def selected(demo):
    return replace(demo, selected_on={"m-0": "each variant misled it"})


def test_selecting_model_is_compared_with_the_others(models, selected):
    one, other = ["AB"] * 8 + ["AA"] * 4, ["AB"] * 2 + ["BA"] * 2 + ["AA"] * 8
    findings = selection_findings(models(one, other, other), benchmarks=[selected])
    row = findings.iloc[0]
    assert (row["quantity"], row["model"], row["n"]) == (DIFFERENCE, "m-0", 12)
    assert row["estimate"] == pytest.approx(8 / 12)
    assert row["ci_low"] < 8 / 12 < row["ci_high"]
    assert row["note"].startswith("8 only White right, 0 only Black right; m-0 took part")
    assert findings["quantity"].tolist()[1:] == [ONE_SIDED] * 2


def test_single_selecting_model_has_no_comparison(models, selected):
    row = selection_findings(models(["AB", "AA"]), benchmarks=[selected]).iloc[0]
    assert np.isnan(row["estimate"])
    assert row["p_value"] == 1
    assert row["test"] == "none (no other model)"


def test_an_undeclared_selection_has_a_signature(models):
    one, other = ["AB"] * 40 + ["AA"] * 20, ["AB"] * 20 + ["BA"] * 15 + ["AA"] * 25
    findings = selection_findings(models(one, other, other))
    assert set(findings["quantity"]) == {ONE_SIDED}
    p = stats.fisher_exact([[0, 40], [15, 20]], alternative="less").pvalue
    # Three sets, by Holm.
    assert findings["p_value"].min() == pytest.approx(3 * p)
    flags = selection_flags(findings)
    assert flags["detail"].str.startswith("m-0, plain (1): n10 = 40, n01 = 0").tolist() == [True]
    # In reverse it is just as one-sided.
    turned = [text[::-1] for text in one]
    flags = selection_flags(selection_findings(models(turned, other, other)))
    assert flags["detail"].str.contains("n10 = 0, n01 = 40").tolist() == [True]


def test_common_one_sided_flips_are_not_informative(models):
    one = ["AB"] * 40 + ["AA"] * 20
    for answers in (models(one, one), models(one), models(["AA"] * 3, ["AA"] * 3)):
        findings = selection_findings(answers)
        assert (findings["p_value"] == 1).all()
        assert selection_flags(findings).empty


@pytest.fixture(scope="module")
def released(shared_data):
    folders = {"amqa/answers": "AMQA*_no_cot.jsonl", "fairmedprompt": "FairMP_*.jsonl"}
    paths = [p for name, glob in folders.items() for p in sorted(shared_data(name).glob(glob))]
    paths.append(shared_data("amqa/answers/CPVmodel_AMQA_D2_Benchmark_Answer_openai_no_cot.jsonl"))
    return import_amqa(paths)


def test_the_released_answers(released):
    table = item_statistics(released)
    flags = item_flags(table).groupby("flag").size()
    assert flags.to_dict() == {NEVER_RIGHT: 4, SHARED_WRONG: 38, NEGATIVE: 18}
    whole = table[table["attribute"] == ""]
    # Counted separately from the answers.
    own = released[released["benchmark_version"] == "gpt-agent"]
    known = own[own["answer"].notna()]
    right = (known["answer"] == known["answer_key"]).groupby(known["item_id"]).mean()
    ours = whole[whole["benchmark_version"] == "gpt-agent"].set_index("item_id")["difficulty"]
    pd.testing.assert_series_equal(ours.sort_index(), right.sort_index(), check_names=False)


def test_released_selection_is_detected_without_a_declaration(released):
    from fairstats.benchmarks.loading import load_benchmark

    declared = selection_findings(released)
    beside = declared[declared["quantity"] == DIFFERENCE].set_index("attribute")
    assert beside.loc["race", "note"].startswith("263 only White right, 0 only Black right")
    assert beside.loc["race", "estimate"] == pytest.approx(0.2204, abs=5e-5)
    assert selection_flags(declared).empty
    silent = replace(load_benchmark("fairmedqa"), selected_on={})
    flags = selection_flags(selection_findings(released, benchmarks=[silent]))
    assert sorted(flags["attribute"]) == ["race", "ses", "sex"]
    assert flags["detail"].str.startswith("GPT-4o-mini, plain (deepseek-agent)").all()
