"""Versions of a model compared, on made answers and on the released ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from collectors.amqa import import_amqa
from fairstats.problems import InputError
from fairstats.versions import COMPARISON_COLUMNS, compare


@pytest.fixture(scope="module")
def answers(answers_of):
    def build(items, **unit):
        return answers_of(items, **unit)

    return build


def test_a_better_and_fairer_model_wins_twice(answers):
    old = answers(["AB"] * 40 + ["AA"] * 100 + ["BB"] * 60, model="old")
    new = answers(["AB"] * 4 + ["AA"] * 170 + ["BB"] * 26, model="new")
    table = compare(old, new)
    assert list(table.columns) == list(COMPARISON_COLUMNS)
    assert table["metric"].tolist() == ["delta_accuracy", "delta_cfr", "delta_ad"]
    np.testing.assert_allclose(table["estimate"], [0.86 - 0.6, 0.18, -0.18])
    assert set(table["verdict"]) == {"win-win"}
    back = compare(new, old)
    assert set(back["verdict"]) == {"lose-lose"}
    np.testing.assert_allclose(back["estimate"], -table["estimate"])
    assert (table["p_adjusted"] >= table["p_value"]).all()


def test_more_accurate_alone_is_not_win_win(answers):
    old = answers(["AB"] * 20 + ["AA"] * 100 + ["BB"] * 80, model="old")
    new = answers(["AB"] * 20 + ["AA"] * 160 + ["BB"] * 20, model="new")
    table = compare(old, new)
    assert set(table["verdict"]) == {"not shown"}
    assert table["p_value"].iloc[0] < 0.001


def test_the_same_answers_show_nothing(answers):
    one = answers(["AB"] * 5 + ["AA"] * 20, model="old")
    table = compare(one, one.assign(model="new"))
    assert (table["estimate"] == 0).all()
    assert (table["p_value"] == 1).all()
    assert (table["ci_low"] <= 0).all()
    assert (table["ci_high"] > 0).all()


def test_bounds_hold_every_fill_in(answers):
    old = answers(["AB", "A-", "AA", "BB"], model="old")
    new = answers(["AA", "AA", "-A", "BB"], model="new")
    table = compare(old, new, missing="bounds").set_index("metric")
    # Old: accuracies 3/4 and 1/4 to 2/4; new: 2/4 to 3/4 and 3/4.
    limits = table.loc["delta_accuracy", ["ci_low", "ci_high"]].tolist()
    assert limits == pytest.approx([5 / 8 - 5 / 8, 6 / 8 - 4 / 8])
    assert table["p_value"].isna().all()
    assert table["verdict"].isna().all()
    for policy in ("available", "complete", "incorrect"):
        found = compare(old, new, missing=policy, n_resamples=99).set_index("metric")
        if policy == "incorrect":
            inside = (found["estimate"] >= table["ci_low"] - 1e-12) & (
                found["estimate"] <= table["ci_high"] + 1e-12
            )
            assert inside.all()


def test_several_models_are_refused(answers):
    two = pd.concat([answers(["AB"], model="one"), answers(["AB"], model="two")])
    with pytest.raises(InputError, match="model = 'one, two'"):
        compare(answers(["AB"], model="old"), two)


def test_other_items_are_refused_unless_they_are_asked_for(answers):
    old, new = answers(["AB", "AA", "AA"], model="old"), answers(["AB", "AA"], model="new")
    with pytest.raises(InputError, match="not asked the same items"):
        compare(old, new)
    table = compare(old, new, allow_different_items=True, n_resamples=199)
    assert set(table["method_note"]) == {"different items: 1 items of old alone, 0 of new alone"}
    assert table["estimate"].iloc[0] == pytest.approx(3 / 4 - 5 / 6)


def test_another_version_of_the_benchmark_is_refused_unless_it_is_asked_for(answers):
    old = answers(["AB", "AA"], model="old", benchmark_version="0")
    new = answers(["AB", "AA"], model="new")
    with pytest.raises(InputError, match="different questions"):
        compare(old, new)
    table = compare(old, new, allow_different_items=True)
    assert set(table["method_note"]) == {
        "different questions: benchmark versions 0 and 1; demo does not declare 0"
    }
    assert set(table["benchmark_version"]) == {"0 → 1"}


def test_another_benchmark_is_refused(answers, three_groups):
    new = answers(["AAB"], groups=("white", "black", "asian"), benchmark="three")
    with pytest.raises(InputError, match="another benchmark"):
        compare(answers(["AB"]), new, allow_different_items=True, benchmarks=[three_groups])


# FairMedQA, table 2, prints +.04, +.01 and .00 for race; computed from the released answers. The
# older model's answers are to other questions there; like for like the picture is another.


@pytest.fixture(scope="module")
def released(shared_data):
    def read(folder: str, name: str) -> pd.DataFrame:
        return import_amqa([shared_data(f"{folder}/{name}")])

    return read


def test_the_printed_comparison_is_of_different_questions(released):
    old = released("amqa/answers", "AMQA_Benchmark_Answer_claude_no_cot.jsonl")
    new = released("fairmedprompt", "FairMP_Answer_claude_naive.jsonl")
    with pytest.raises(InputError, match="deepseek-agent and gpt-agent"):
        compare(old, new)
    table = compare(old, new, allow_different_items=True)
    assert table["method_note"].str.startswith("different questions").all()
    assert table["method_note"].str.contains("by their flips different variants").all()
    race = table.query("attribute == 'race'").set_index("metric")
    assert race["estimate"].round(4).to_dict() == {
        "delta_accuracy": 0.0443,
        "delta_cfr": 0.0150,
        "delta_ad": 0.0012,
    }
    assert race["ci_low"]["delta_cfr"] < 0 < race["ci_high"]["delta_cfr"]
    assert set(race["verdict"]) == {"not shown"}


def test_like_for_like_the_newer_model_wins(released):
    old = released("amqa/answers", "AMQA_D2_Benchmark_Answer_claude_no_cot.jsonl")
    new = released("fairmedprompt", "FairMP_Answer_claude_naive.jsonl")
    race = compare(old, new).query("attribute == 'race'").set_index("metric")
    assert race["estimate"].round(4).to_dict() == {
        "delta_accuracy": 0.0974,
        "delta_cfr": 0.0612,
        "delta_ad": -0.0499,
    }
    assert set(race["verdict"]) == {"win-win"}


def test_what_can_be_recomputed_of_the_printed_table_agrees(released, shared_data):
    printed = pd.read_csv(shared_data("published/fairmedqa_table2.csv"))
    files = {
        "Claude-4-Sonnet": ("AMQA_Benchmark_Answer_claude_no_cot", "FairMP_Answer_claude_naive"),
        "Gemini-2.5-Flash": ("AMQA_Benchmark_Answer_gemini_no_cot", "FairMP_Answer_gemini_naive"),
    }
    for model, (old, new) in files.items():
        table = compare(
            released("amqa/answers", f"{old}.jsonl"),
            released("fairmedprompt", f"{new}.jsonl"),
            allow_different_items=True,
            n_resamples=199,
        ).set_index(["attribute", "metric"])["estimate"]
        for row in printed[printed["newer"] == model].itertuples():
            for metric in ("delta_accuracy", "delta_cfr", "delta_ad"):
                found = table[row.attribute, metric]
                assert found == pytest.approx(getattr(row, metric), abs=0.005), (row, metric)
