"""Versions of a model compared, on invented answers and on the released ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats._lib.problems import InputError
from fairstats.answers.strategies import VOTED
from fairstats.comparisons.change_verdicts import BETTER, judge_changes
from fairstats.comparisons.compare import COMPARISON_COLUMNS, compare

SIDES = ("estimate", "ci_low", "ci_high", "lowest", "highest")


@pytest.fixture(scope="module")
def answers(answers_of):
    def build(items, **unit):
        return answers_of(items, **unit)

    return build


def test_better_and_fairer_model_is_a_win_win(answers):
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


def test_higher_accuracy_is_not_enough_for_a_win_win(answers):
    old = answers(["AB"] * 20 + ["AA"] * 100 + ["BB"] * 80, model="old")
    new = answers(["AB"] * 20 + ["AA"] * 160 + ["BB"] * 20, model="new")
    table = compare(old, new)
    assert set(table["verdict"]) == {"unclear"}
    assert table["p_value"].iloc[0] < 0.001


def test_same_answers_show_no_change(answers):
    one = answers(["AB"] * 5 + ["AA"] * 20, model="old")
    table = compare(one, one.assign(model="new"))
    assert (table["estimate"] == 0).all()
    assert (table["p_value"] == 1).all()
    assert (table["ci_low"] <= 0).all()
    assert (table["ci_high"] > 0).all()


def test_bounds_contain_every_completion(answers):
    old = answers(["AB", "A-", "AA", "BB"], model="old")
    new = answers(["AA", "AA", "-A", "BB"], model="new")
    table = compare(old, new, missing="bounds").set_index("metric")
    # Old: accuracies 3/4 and 1/4 to 2/4; new: 2/4 to 3/4 and 3/4.
    limits = table.loc["delta_accuracy", ["ci_low", "ci_high"]].tolist()
    assert limits == pytest.approx([5 / 8 - 5 / 8, 6 / 8 - 4 / 8])
    assert table["p_value"].isna().all()
    assert table["verdict"].isna().all()
    found = compare(old, new, missing="incorrect", n_resamples=99).set_index("metric")
    assert found["estimate"].between(table["ci_low"] - 1e-12, table["ci_high"] + 1e-12).all()


@pytest.mark.parametrize(
    ("column", "old", "new", "expected"),
    [
        ("temperature", 0.0, 0.0, ""),
        ("temperature", 0.0, 1.0, "different settings: temperature 0 → 1"),
        ("max_tokens", 16, 4096, "different settings: max_tokens 16 → 4096"),
        ("endpoint", "a.org", "b.org", "different settings: endpoint a.org → b.org"),
        ("endpoint", "a.org", None, "different settings: endpoint recorded for one side only"),
        ("snapshot", "m-1", "m-2", ""),
        ("prompt_sha256", "0" * 64, "1" * 64, "different settings: prompts"),
    ],
)
def test_different_settings_are_named(column, old, new, expected, answers):
    items = ["AB"] * 5 + ["AA"] * 20
    sides = [
        answers(items, model=name).assign(**{column: value})
        for name, value in (("old", old), ("new", new))
    ]
    assert set(compare(*sides)["method_note"]) == {expected}


def test_different_snapshots_and_samples_of_one_model_are_named(answers):
    one = answers(["AB"] * 5 + ["AA"] * 20)
    again = one.assign(strategy="cot", snapshot="m-2")
    again = pd.concat([again, again.assign(sample=1)], ignore_index=True)
    note = compare(one.assign(snapshot="m-1"), again)["method_note"].iloc[0]
    assert note == "different settings: snapshot m-1 → m-2, samples 1 → 2"


# By default: the pairs that both models answered


def test_common_pairs_are_those_that_both_models_answered(answers):
    old = answers(["AB", "A-", "AA", "BB", "AA"], model="old")
    new = answers(["AA", "AA", "-A", "BB", "AB"], model="new")
    table = compare(old, new)
    assert set(table["missing"]) == {"common"}
    # Only items 0, 3 and 4: accuracies 2/3 and 1/3, then 2/3 and 1/3; the first no longer differs,
    # the last does.
    assert set(table["n"]) == {3}
    assert table["estimate"].tolist() == [0, 0, 0]
    # All discordant items are exchanged, so no test rejects.
    assert table["test"].str.startswith("models swapped item by item, midp").all()


def test_no_common_pair_means_no_comparison(answers):
    table = compare(answers(["A-"] * 30, model="old"), answers(["-A"] * 30, model="new"))
    assert table["estimate"].isna().all()
    assert (table["p_value"] == 1).all()
    assert (table["ci_low"] == -1).all()
    assert set(table["verdict"]) == {"unclear"}


@pytest.mark.parametrize("missing", [None, "bounds"])
def test_models_without_a_common_attribute_have_no_figures(missing, answers):
    old = answers(["AA", "AB"], model="old").assign(attribute="sex")
    old = old.assign(group=old["group"].map({"white": "male", "black": "female"}))
    new = answers(["AA", "AB"], model="new")
    table = compare(old, new, missing=missing, allow_different_items=True)
    assert list(table.columns) == list(COMPARISON_COLUMNS)
    assert table["estimate"].isna().all()


@pytest.mark.parametrize(
    ("newer", "expected"),
    [
        (
            "FairMP_Answer_gemini_naive",
            {
                "race": (0.1419, 0.1248, -0.0668, 793),
                "sex": (0.1507, 0.1311, -0.0416, 793),
                "ses": (0.1605, 0.1497, -0.0673, 788),
            },
        )
    ],
)
def test_released_versions_on_common_pairs(newer, expected, released):
    old = released("amqa/answers", "AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl")
    new = released("fairmedprompt", f"{newer}.jsonl")
    table = compare(old, new)
    for attribute, (*figures, n) in expected.items():
        rows = table[table["attribute"] == attribute]
        assert rows["estimate"].round(4).tolist() == figures
        assert set(rows["n"]) == {n}


# The requirements of a verdict


def test_completion_that_reverses_a_small_change_has_no_smaller_p_value(answers):
    """Of the pairs that both models answered, one more is the same, right and no gap."""
    old = ["AB"] * 3 + ["BA"] * 2 + ["AA"] * 35 + ["BB"] * 20
    new = ["AB"] * 2 + ["BA"] * 2 + ["AA"] * 36 + ["BB"] * 5 + ["--"] * 15
    rows = compare(answers(old, model="old"), answers(new, model="new"), n_resamples=999)
    assert (rows["estimate"] * rows["metric"].map(BETTER) > 0).all()
    assert (rows["p_worst"] >= rows["p_pair"]).all()


def test_refusing_items_with_differing_answers_is_no_improvement(answers):
    """The same model, but without a reply to items with differing answers."""
    items = ["AA"] * 600 + ["AB"] * 80 + ["BA"] * 8 + ["BB"] * 112
    silent = [text if text[0] == text[1] else "--" for text in items]
    old, new = answers(items, model="old"), answers(silent, model="new")
    for missing in (None, "available", "complete", "incorrect"):
        table = compare(old, new, missing=missing, n_resamples=999)
        assert set(table["verdict"]) == {"unclear"}, missing
        assert (table["lowest"] <= table["highest"]).all()
    rows = compare(old, new, missing="available", n_resamples=999).set_index("metric")
    assert rows.loc["delta_cfr", "estimate"] > 0.1
    assert rows.loc["delta_cfr", ["lowest", "highest"]].tolist() == pytest.approx([0, 88 / 800])


def test_win_win_survives_the_least_favourable_completion(answers):
    """40 pairs against 2 differ; pairs without an answer could differ as well."""
    old = ["AB"] * 40 + ["AA"] * 200 + ["BB"] * 160

    def compared(missing):
        new = ["AB"] * 2 + ["AA"] * 350 + ["BB"] * (48 - missing) + ["--"] * missing
        return compare(answers(old, model="old"), answers(new, model="new"))

    found = {missing: compared(missing) for missing in (0, 10, 37, 38)}
    for missing, table in found.items():
        rows = table.set_index("metric")
        assert rows.loc["delta_ad", "highest"] == pytest.approx((2 + missing - 40) / 400)
        assert (rows["p_worst"] >= rows["p_pair"]).all()
    assert found[0]["p_worst"].tolist() == found[0]["p_pair"].tolist()
    # Only the worst completion decides: the pairs that both answered always show it.
    assert (found[38]["p_pair_adjusted"] <= 0.05).all()
    assert set(found[10]["verdict"]) == {"win-win"}
    assert found[10]["p_worst_adjusted"].iloc[0] <= 0.05
    for missing in (37, 38):
        assert set(found[missing]["verdict"]) == {"unclear"}
        note = "missing answers of either model could change the verdict"
        assert found[missing]["verdict_reason"].eq(note).all()


def test_selective_refusals_do_not_give_a_win_win(answers):
    """The other group's answers to differing pairs are refused, less than 5% of all."""
    old = ["AB"] * 60 + ["AA"] * 600 + ["BB"] * 140
    honest = ["AA"] * 30 + ["AB"] * 30 + ["AB"] * 25 + ["AA"] * 615 + ["BB"] * 100
    refusing = ["A-" if 60 <= place < 85 else text for place, text in enumerate(honest)]
    one = answers(old, model="old")
    assert set(compare(one, answers(honest, model="new"))["verdict"]) == {"unclear"}
    table = compare(one, answers(refusing, model="new"))
    assert (table["p_pair"] < 0.05).all()
    assert set(table["verdict"]) == {"unclear"}
    assert table["verdict_reason"].notna().all()


def test_selected_items_are_no_improvement(answers, demo):
    """Both were asked the same items, but only some of the benchmark's items."""
    known = replace(demo, name="own", answer_keys={f"item-{i}": "A" for i in range(400)})
    known = replace(known, lowest_accuracy=0.3)
    old = answers(["AB"] * 40 + ["AA"] * 60 + ["BB"] * 60, model="old")
    new = answers(["AB"] * 2 + ["AA"] * 130 + ["BB"] * 28, model="new")
    assert set(compare(old, new)["verdict"]) == {"win-win"}
    old, new = (table.assign(benchmark="own") for table in (old, new))
    table = compare(old, new, benchmarks=[known])
    assert set(table["verdict"]) == {"unclear"}
    assert table["verdict_reason"].str.contains("could change the verdict").all()


def test_more_samples_of_items_without_a_gap_are_no_improvement(answers):
    """Each answer counts, so items with more of them would decide the comparison."""
    items = ["AB"] * 60 + ["BA"] * 20 + ["AA"] * 120 + ["BB"] * 40
    old, new = (answers(items, model=name) for name in ("old", "new"))
    good = new["item_id"].isin([f"item-{place}" for place in range(80, 200)])
    again = [new[good].assign(sample=sample) for sample in range(1, 5)]
    table = compare(old, pd.concat([new, *again], ignore_index=True))
    assert table["p_pair_adjusted"].max() < 0.05
    assert set(table["verdict"]) == {"unclear"}
    assert set(table["verdict_reason"]) == {"new answers: items have different numbers of samples"}


@pytest.mark.parametrize("unanswered", [(), ("item-3",)])
def test_more_samples_of_one_model_leave_the_test_as_it_is(unanswered, answers):
    """Equal samples tell nothing new; if swaps moved other weights, the test would lose power."""
    old = answers(["AB"] * 14 + ["AA"] * 60 + ["BB"] * 16, model="old")
    new = answers(["AB"] * 6 + ["AA"] * 78 + ["BB"] * 6, model="new")
    lacking = new["item_id"].isin(unanswered) & (new["group"] == "white")
    new.loc[lacking, ["answer", "status"]] = None, "unparsed"
    again = pd.concat([new.assign(sample=sample) for sample in range(4)], ignore_index=True)
    expected, found = compare(old, new), compare(old, again)
    assert (expected["p_value"] < 0.05).all()
    for column in ("estimate", "ci_low", "ci_high", "p_value", "p_worst"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-9, err_msg=column)


def test_item_with_a_missing_sample_counts_with_its_other_answers(answers):
    """One answer of each item is missing, and of two items all answers for a group."""
    one = answers(["AB"] * 6 + ["AA"] * 10 + ["BB"] * 8, model="old")
    old = pd.concat([one.assign(sample=sample) for sample in range(4)], ignore_index=True)
    unanswered, new = ["item-0", "item-7"], old.assign(model="new")
    lacking = (new["sample"] == 0) | new["item_id"].isin(unanswered)
    new.loc[lacking & (new["group"] == "white"), ["answer", "status"]] = None, "unparsed"
    table = compare(old, new, n_resamples=999)
    whole = one[~one["item_id"].isin(unanswered)]
    expected = compare(whole, whole.assign(model="new"))
    assert set(table["n"]) == {22}
    for column in ("old", "new", "estimate"):
        np.testing.assert_allclose(table[column], expected[column], atol=1e-12)


def test_model_that_guesses_does_not_win(answers):
    """Always one letter: more accurate and fairer than a model that is rarely right."""
    old = answers(["BA"] * 20 + ["AB"] * 80 + ["BB"] * 700, model="old")
    new = answers(["AA"] * 200 + ["BB"] * 600, model="new")
    table = compare(old, new)
    assert set(table["verdict"]) == {"unclear"}
    assert table["verdict_reason"].str.startswith("new answers: accuracy for").all()


def test_a_single_figure_does_not_improve_by_guessing(answers):
    """One letter for all groups of an item: CFR improves, without a change of accuracy."""
    old = answers(["AB"] * 30 + ["BA"] * 30 + ["BB"] * 60 + ["CC"] * 80, model="old")
    new = answers(["AA"] * 30 + ["BB"] * 92 + ["CC"] * 77 + ["AB"], model="new")
    # Nor is an honest model worse than a guess in part.
    for one, other, side in ((old, new, "new"), (new, old, "old")):
        table = compare(one, other).set_index("metric")
        assert table.loc["delta_cfr", "p_adjusted"] < 0.05 < table.loc["delta_ad", "p_adjusted"]
        reasons = table["verdict_reason"].astype(str)
        assert reasons.str.startswith(f"{side} answers: accuracy for").all()


def test_a_single_figure_does_not_improve_by_leaving_items_out(answers):
    old = answers(["AB"] * 10 + ["BA"] * 10 + ["AA"] * 50 + ["BB"] * 50, model="old")
    new = answers(["AA"] * 40 + ["--"] * 30 + ["AA"] * 25 + ["--"] * 25, model="new")
    table = compare(old, new).set_index("metric")
    assert table.loc["delta_accuracy", "p_adjusted"] < 0.05 < table.loc["delta_ad", "p_adjusted"]
    assert table["verdict_reason"].str.contains("missing answers").all()


@pytest.mark.parametrize(("a", "b"), [("-", "-"), ("B", "A")])
def test_answers_left_out_do_not_change_a_verdict(a, b, answers):
    """The tests reject for every completion; for one of them an interval includes 0."""
    both = [("AA", "AA")] * 35 + [("BB", "BB")] * 18 + [("AB", "AA")] * 15
    both += [("AB", "AB")] * 9 + [("BA", "BA")] * 7 + [("BC", "BC")] * 4
    both += [("BB", "AA")] * 3 + [("AA", f"{a}A"), (f"A{b}", "AA")]
    old, new = zip(*both, strict=True)
    table = compare(answers(old, model="old"), answers(new, model="new"))
    assert (table["ci_high"].iloc[2] > 0) == (a == "B")
    assert set(table["verdict"]) == {"win-win"}


def test_interval_under_bounds_counts_items(answers):
    one = answers(["AB", "AA", "A-", "BB"], model="old")
    more = pd.concat([one.assign(sample=sample) for sample in range(3)], ignore_index=True)
    table = compare(more, more.assign(model="new"), missing="bounds")
    assert set(table["n"]) == {4}


def test_a_guess_does_not_win_if_its_single_figures_are_not_significant():
    """Holm's method over all figures is stricter than over pairs."""
    row = {"benchmark": "b", "benchmark_version": "1", "model_old": "o", "model_new": "n"}
    row |= {"strategy": "plain", "family": "f", "judged": True, "no_verdict": "", "p_value": 0.03}
    row |= {"p_worst": np.nan, "guessing_old": "", "guessing_new": "always A"}
    rows = [
        row
        | {"attribute": "race", "group_a": "white", "group_b": "black", "metric": metric}
        | {name: sign * size for name, size in zip(SIDES, (0.2, low, high, low, high), strict=True)}
        for metric, sign in BETTER.items()
        if metric in ("delta_accuracy", "delta_cfr", "delta_ad")
        for low, high in [(0.1, 0.3)[::sign]]
    ]
    table = judge_changes(pd.DataFrame(rows))
    assert table["p_pair_adjusted"].max() < 0.05 < table["p_adjusted"].min()
    assert set(table["verdict"]) == {"unclear"}
    assert set(table["verdict_reason"]) == {"new answers: always A"}


def test_tests_decide_where_an_interval_leaves_the_signs_open(answers):
    """Five items show less AD by their test."""
    old = answers(["AB"] * 5 + ["AA"] * 20 + ["BB"] * 6, model="old")
    new = answers(["AA"] * 25 + ["BB"] * 6, model="new")
    table = compare(old, new)
    assert table["p_pair_adjusted"].iloc[0] < 0.05
    assert table.set_index("metric").loc["delta_ad", "ci_high"] > 0
    assert set(table["verdict"]) == {"win-win"}
    fewer = compare(old.query("item_id != 'item-0'"), new.query("item_id != 'item-0'"))
    assert set(fewer["verdict"]) == {"unclear"}


def test_verdict_uses_the_largest_p_value_of_a_pair_adjusted_over_the_pairs(answers):
    def asked(model, items):
        tables = [
            answers(items, model=model, attribute=attribute, groups=groups)
            for attribute, groups in (
                ("race", ("white", "black")),
                ("sex", ("male", "female")),
                ("ses", ("high_income", "low_income")),
            )
        ]
        return pd.concat(tables)

    # 30 pairs no longer differ and 15 others do: only one pair of groups shows it.
    old = ["AB"] * 30 + ["AA"] * 200 + ["BB"] * 170
    new = ["AA"] * 30 + ["AB"] * 15 + ["AA"] * 295 + ["BB"] * 60
    one = compare(answers(old, model="old"), answers(new, model="new"))
    assert set(one["verdict"]) == {"win-win"}
    assert one["p_pair"].tolist() == [one["p_value"].max()] * 3
    assert one["p_pair_adjusted"].tolist() == one["p_pair"].tolist()
    three = compare(asked("old", old), asked("new", new))
    assert three["p_pair_adjusted"].tolist() == pytest.approx([3 * one["p_pair"].iloc[0]] * 9)
    assert 0.05 / 3 < one["p_pair"].iloc[0] < 0.05
    assert set(three["verdict"]) == {"unclear"}


def test_unknown_policy_is_refused(answers):
    one = answers(["AB"])
    with pytest.raises(ValueError, match="missing='both' is unknown; use common"):
        compare(one, one, missing="both")


def test_several_models_are_refused(answers):
    two = pd.concat([answers(["AB"], model="one"), answers(["AB"], model="two")])
    with pytest.raises(InputError, match="model = 'one, two'"):
        compare(answers(["AB"], model="old"), two)


def test_several_benchmarks_are_refused_with_what_to_give(answers):
    both = pd.concat([answers(["AB"]), answers(["AB"], benchmark="fairmedqa")])
    with pytest.raises(InputError, match=r"benchmark = .* such as one folder or file"):
        compare(both, both)


def test_different_items_are_refused_unless_allowed(answers):
    old, new = answers(["AB", "AA", "AA"], model="old"), answers(["AB", "AA"], model="new")
    with pytest.raises(InputError, match="answered different items"):
        compare(old, new)
    table = compare(old, new, allow_different_items=True, n_resamples=199)
    assert set(table["method_note"]) == {
        "different items: 1 items only for “old”, 0 only for “new”"
    }
    # The two items that both were asked.
    assert set(table["n"]) == {2}
    assert table["estimate"].tolist() == [0, 0, 0]


def test_other_benchmark_version_is_refused_unless_allowed(answers):
    old = answers(["AB", "AA"], model="old", benchmark_version="0")
    new = answers(["AB", "AA"], model="new")
    with pytest.raises(InputError, match="different questions"):
        compare(old, new)
    table = compare(old, new, allow_different_items=True)
    assert set(table["method_note"]) == {
        "different questions: benchmark versions 0 and 1; demo does not declare 0"
    }
    assert set(table["verdict_reason"]) == {"the questions are different"}
    assert set(table["benchmark_version"]) == {"0 → 1"}


def test_undeclared_version_gets_no_verdict(answers, demo):
    old = answers(["AB"] * 40 + ["AA"] * 100 + ["BB"] * 60, model="old", benchmark_version="panel")
    new = answers(["AB"] * 4 + ["AA"] * 170 + ["BB"] * 26, model="new", benchmark_version="panel")
    table = compare(old, new)
    assert set(table["verdict"]) == {"unclear"}
    assert set(table["verdict_reason"]) == {"the benchmark does not declare the version"}
    own = replace(demo, name="own", answer_keys={}, versions={"panel": "Panel"})
    named = [side.assign(benchmark="own") for side in (old, new)]
    assert set(compare(*named, benchmarks=[own])["verdict"]) == {"win-win"}


def test_other_benchmark_is_refused(answers, three_groups):
    new = answers(["AAB"], groups=("white", "black", "asian"), benchmark="three")
    with pytest.raises(InputError, match="different benchmarks"):
        compare(answers(["AB"]), new, allow_different_items=True, benchmarks=[three_groups])


# FairMedQA, table 2, gives +.04, +.01 and .00 for race, computed from the released answers. The
# older model answered other questions there. On the same questions the result differs.


@pytest.fixture(scope="module")
def released(shared_data):
    def read(folder: str, name: str) -> pd.DataFrame:
        return import_amqa([shared_data(f"{folder}/{name}")])

    return read


def test_published_comparison_uses_different_questions(released):
    old = released("amqa/answers", "AMQA_Benchmark_Answer_claude_no_cot.jsonl")
    new = released("fairmedprompt", "FairMP_Answer_claude_naive.jsonl")
    with pytest.raises(InputError, match="deepseek-agent and gpt-agent"):
        compare(old, new)
    table = compare(old, new, missing="available", allow_different_items=True)
    assert table["method_note"].str.startswith("different questions").all()
    assert (
        table["method_note"].str.contains("judged by changes of answer: different variants").all()
    )
    race = table.query("attribute == 'race'").set_index("metric")
    assert race["estimate"].round(4).to_dict() == {
        "delta_accuracy": 0.0443,
        "delta_cfr": 0.0150,
        "delta_ad": 0.0012,
    }
    assert race["ci_low"]["delta_cfr"] < 0 < race["ci_high"]["delta_cfr"]
    assert set(race["verdict"]) == {"unclear"}


def test_newer_model_wins_on_the_same_questions(released):
    old = released("amqa/answers", "AMQA_D2_Benchmark_Answer_claude_no_cot.jsonl")
    new = released("fairmedprompt", "FairMP_Answer_claude_naive.jsonl")
    race = compare(old, new).query("attribute == 'race'").set_index("metric")
    assert race["estimate"].round(4).to_dict() == {
        "delta_accuracy": 0.0974,
        "delta_cfr": 0.0612,
        "delta_ad": -0.0499,
    }
    assert set(race["verdict"]) == {"win-win"}


def test_recomputed_part_of_the_published_table_agrees(released, shared_data):
    printed = pd.read_csv(shared_data("published/fairmedqa_table2.csv"))
    files = {
        "Claude-4-Sonnet": ("AMQA_Benchmark_Answer_claude_no_cot", "FairMP_Answer_claude_naive"),
        "Gemini-2.5-Flash": ("AMQA_Benchmark_Answer_gemini_no_cot", "FairMP_Answer_gemini_naive"),
    }
    for model, (old, new) in files.items():
        table = compare(
            released("amqa/answers", f"{old}.jsonl"),
            released("fairmedprompt", f"{new}.jsonl"),
            missing="available",
            allow_different_items=True,
            n_resamples=199,
        ).set_index(["attribute", "metric"])["estimate"]
        for row in printed[printed["newer"] == model].itertuples():
            for metric in ("delta_accuracy", "delta_cfr", "delta_ad"):
                found = table[row.attribute, metric]
                assert found == pytest.approx(getattr(row, metric), abs=0.005), (row, metric)


def test_model_that_selected_the_items_does_not_win(answers, demo):
    old, new = ["AB"] * 40 + ["AA"] * 60 + ["BB"] * 60, ["AB"] * 2 + ["AA"] * 130 + ["BB"] * 28
    sides = [
        answers(texts, model=model).assign(benchmark="own")
        for texts, model in ((old, "old"), (new, "new"))
    ]
    known = replace(demo, name="own")
    assert set(compare(*sides, benchmarks=[known])["verdict"]) == {"win-win"}
    for model in ("old", "new"):
        selected = replace(known, selected_on={model: "how"})
        table = compare(*sides, benchmarks=[selected])
        assert set(table["verdict"]) == {"unclear"}
        assert table["verdict_reason"].str.contains("took part in selecting the items").all()


def test_votes_are_named_in_a_comparison(answers):
    old, new = (answers(["AB"] * 20 + ["AA"] * 20, model=model) for model in ("old", "new"))
    (note,) = set(compare(old, new.assign(strategy="majority_vote"))["method_note"])
    assert f"new answers: {VOTED}" in note
    assert "old answers" not in note


def test_votes_under_another_name_are_named_in_a_comparison(answers):
    old, new = (answers(signs, model=model) for model, signs in (
        ("old", ["AB"] * 20 + ["AA"] * 20), ("new", ["BB"] * 20 + ["AA"] * 20)
    ))  # fmt: skip
    (note,) = set(compare(old, new)["method_note"])
    assert note.startswith("new answers: no answer changes with the group")
