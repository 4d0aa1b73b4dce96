"""The disparity that remains: by hand, compared with `analyze`, and cases without an adjustment."""

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa
from scipy.special import expit, logit

from fairstats._lib.problems import InputError
from fairstats.estimates.analyze import analyze
from fairstats.vignettes.items.remaining_disparity import (
    BALANCED,
    DIFFERENCE,
    GEE,
    OVERLAP,
    QUANTITIES,
    SHARE_GEE,
    SHARE_WITHIN,
    SLOPES,
    WITHIN,
    remaining_disparity,
)
from fairstats.vignettes.measures import measures_frame

ADJUSTED = [GEE, WITHIN, *SLOPES, SHARE_GEE, SHARE_WITHIN]
# 10 items with equal leakage in their variants, then 10 with all of the key in white's.
ITEMS = ["AA"] * 5 + ["AB"] * 3 + ["BA"] + ["BB"] + ["AA"] * 4 + ["AB"] * 5 + ["BB"]
WHITE_KEY = [0.0] * 10 + [1.0] * 10


def measures_of(white, black=None, measure="leakage_overlap", benchmark="demo", **more):
    """Return each variant's leakage of the key A; for distractors 0, except `more`."""
    rows = []
    for group, key in (("white", white), ("black", black or [0.0] * len(white))):
        for number, value in enumerate(key):
            values = {"A": value, "B": 0.0, "C": 0.0} | more.get(group, {})
            rows += [
                {
                    "benchmark": benchmark,
                    "item_id": f"item-{number}",
                    "attribute": "race",
                    "group": group,
                    "measure": measure,
                    "option": option,
                    "role": "key" if option == "A" else "distractor",
                    "value": leaked,
                }
                for option, leaked in values.items()
            ]
    return measures_frame(rows)


def table_of(answers, measures, **options):
    found = remaining_disparity(answers, measures, **options)
    return found[found["attribute"] == "race"].set_index("quantity")


def assert_none(table, quantities, reason):
    rows = table.loc[quantities]
    assert rows["estimate"].isna().all()
    assert rows["p_value"].isna().all()
    assert rows["note"].str.contains(reason).all()


def test_by_hand(answers_of):
    answers = answers_of(ITEMS)
    table = table_of(answers, measures_of(WHITE_KEY))
    assert sorted(table.index) == sorted(QUANTITIES)
    assert (table["aspect"] == "remaining disparity").all()
    assert table.loc[DIFFERENCE, "estimate"] == pytest.approx(17 / 20 - 10 / 20)
    # Three kinds of variants, so the regression fits each share: white without the key 8 of 10,
    # white with it 9 of 10, black 10 of 20. The model gives the odds of black with the key.
    black_with_key = expit(logit(0.5) + logit(0.9) - logit(0.8))
    adjusted = (30 * (0.8 - 0.5) + 10 * (0.9 - black_with_key)) / 40
    assert table.loc[GEE, "estimate"] == pytest.approx(adjusted)
    # Among the items with equal leakage, white has 8 right, black 6.
    assert table.loc[WITHIN, "estimate"] == pytest.approx(0.2)
    assert table.loc[SLOPES[0], "estimate"] == pytest.approx(0.5 - 0.2)
    assert_none(table, [SLOPES[1]], "the covariate does not change for any item")
    assert table.loc[BALANCED, ["estimate", "n"]].tolist() == pytest.approx([0.2, 10])
    assert "10 of 20 items, with an imbalance of at most 0" in table.loc[BALANCED, "note"]
    assert table.loc[SHARE_GEE, "estimate"] == pytest.approx(adjusted / 0.35)
    assert table.loc[SHARE_WITHIN, "estimate"] == pytest.approx(0.2 / 0.35)
    assert table.loc[OVERLAP, ["estimate", "n"]].tolist() == [0.5, 20]
    assert "above 0 in 10 items, 0 in 10, below 0 in 0" in table.loc[OVERLAP, "note"]
    with_limits = table.loc[[n for n in QUANTITIES if n not in (SLOPES[1], OVERLAP)]]
    assert (with_limits["ci_low"] < with_limits["estimate"]).all()
    assert (with_limits["estimate"] < with_limits["ci_high"]).all()
    assert (with_limits["ci_level"] == 0.95).all()


def test_the_largest_distractor_counts_not_their_mean(answers_of):
    measures = measures_of([0.0] * 20, black=WHITE_KEY)
    swapped = measures.assign(
        role=measures["role"]
        .mask(measures["option"] == "A", "distractor")
        .mask(measures["option"] == "B", "key")
    )
    table = table_of(answers_of(ITEMS), swapped)
    assert table.loc[WITHIN, "estimate"] == pytest.approx(0.2)
    # L_a − L_b of the distractor is −1 if D is larger by 0.3.
    assert table.loc[SLOPES[1], "estimate"] == pytest.approx(-0.3)
    assert_none(table, [SLOPES[0]], "does not change for any item")


@pytest.mark.parametrize("policy", ["available", "complete", "incorrect"])
def test_without_leakage_all_remains(policy, answers_of):
    answers = answers_of([*ITEMS, "A-", "-B", "--"])
    table = table_of(answers, measures_of([0.0] * 23), missing=policy)
    plain = table.loc[DIFFERENCE, "estimate"]
    assert table.loc[[GEE, BALANCED], "estimate"].tolist() == pytest.approx([plain, plain])
    assert table.loc[[SHARE_GEE, SHARE_WITHIN], "estimate"].tolist() == pytest.approx([1, 1])
    assert table.loc[OVERLAP, "estimate"] == 1


@pytest.mark.parametrize("policy", ["available", "complete", "incorrect", "bounds"])
def test_the_difference_is_that_of_analyze(policy, answers_of):
    answers = answers_of([*ITEMS, "A-", "-B", "--"])
    row = table_of(answers, measures_of([0.0, 1.0] * 12), missing=policy).loc[DIFFERENCE]
    estimates = analyze(answers, policy).query("attribute == 'race'").set_index("metric")
    expected = estimates.loc["accuracy_difference"]
    for name in ("estimate", "ci_low", "ci_high", "ci_method", "n"):
        assert row[name] == expected[name] or (pd.isna(row[name]) and pd.isna(expected[name]))
    test = estimates[estimates["test"].fillna("").str.startswith("mcnemar midp")].loc["mcnemar"]
    assert (row["p_value"], row["test"]) == (test["p_value"], test["test"])


def test_bounds_have_no_adjustment(answers_of):
    table = table_of(answers_of(ITEMS), measures_of(WHITE_KEY), missing="bounds")
    assert_none(table, [*ADJUSTED, BALANCED], "no answers to fit")


def test_other_variants_are_not_adjusted(answers_of):
    answers = answers_of(ITEMS)
    table = table_of(answers, measures_of(WHITE_KEY), versions=["another"])
    assert_none(table, [*ADJUSTED, BALANCED], "variants other than the measured ones")
    assert table.loc[DIFFERENCE, "estimate"] == pytest.approx(0.35)
    same = table_of(answers, measures_of(WHITE_KEY), versions=["1"])
    pd.testing.assert_frame_equal(same, table_of(answers, measures_of(WHITE_KEY)))


def test_a_model_that_selected_the_items_is_named(answers_of, demo):
    from dataclasses import replace

    selecting = replace(demo, selected_on={"model": "wrote them"})
    table = table_of(answers_of(ITEMS), measures_of(WHITE_KEY), benchmarks=[selecting])
    own = table[table["model"] == "model"]
    assert own["note"].str.contains("took part in selecting the items").all()


@pytest.mark.parametrize("items", [["AA"] * 12, ["AB"] * 12, ["AA", "AB"] * 6, ["BB"] * 12])
def test_separated_answers_have_no_regression(items, answers_of):
    table = table_of(answers_of(items), measures_of([0.0, 0.5, 1.0] * 4))
    assert_none(table, [GEE, SHARE_GEE], "all right or all wrong")
    assert np.isfinite(table.loc[DIFFERENCE, ["estimate", "ci_low", "ci_high"]].astype(float)).all()
    assert np.isfinite(table.loc[WITHIN, ["estimate", "ci_low", "ci_high"]].astype(float)).all()


def test_leakage_confounded_with_the_group_is_reported(answers_of):
    table = table_of(answers_of(ITEMS), measures_of([1.0] * 20))
    assert_none(table, [GEE, SHARE_GEE], "follows from the others")
    assert_none(table, [WITHIN, SHARE_WITHIN, *SLOPES], "changes in the same way for all items")
    assert table.loc[OVERLAP, "estimate"] == 0
    # All items are among those with the most similar leakage; the note gives the imbalance.
    assert "an imbalance of at most 1" in table.loc[BALANCED, "note"]


@pytest.mark.parametrize("item", ["AA", "AB", "A-", "--", "A."])
def test_one_item(item, answers_of):
    table = table_of(answers_of([item]), measures_of([0.5]))
    assert_none(table, ADJUSTED, "")
    assert (table.loc[ADJUSTED, "note"] != "").all()


def test_a_group_without_answers(answers_of):
    table = table_of(answers_of(["A-", "B-", "A-"]), measures_of([0.5, 0.0, 1.0]))
    assert_none(table, [GEE, SHARE_GEE], "a group has no answer")
    assert_none(table, [WITHIN, SHARE_WITHIN], "no item has answers for both groups")


def test_no_answer_among_the_balanced_items(answers_of):
    measures = measures_of([0.0, 1.0, 1.0])
    answers = answers_of(["AB", "AB", "BB"]).query("item_id != 'item-0'")
    table = table_of(answers, measures)
    assert_none(table, [BALANCED], "no answer to such an item")


def test_an_item_without_the_measure_is_left_out_and_counted(answers_of):
    measures = measures_of(WHITE_KEY)
    undefined = measures["value"].mask(
        (measures["item_id"] == "item-3") & (measures["role"] == "key")
    )
    lacking = measures.assign(value=undefined).query("item_id != 'item-12'")
    table = table_of(answers_of(ITEMS), lacking)
    assert table.loc[GEE, "n"] == table.loc[WITHIN, "n"] == 18
    assert table.loc[ADJUSTED, "note"].str.contains("2 items without this measure").all()
    assert table.loc[DIFFERENCE, "n"] == 20
    nothing = table_of(answers_of(ITEMS), measures.assign(value=np.nan))
    assert_none(nothing, [GEE, SHARE_GEE], "a group has no answer")
    assert_none(nothing, [BALANCED, OVERLAP], "no item has this measure for both groups")


def test_a_difference_that_is_not_clear_has_no_share(answers_of):
    table = table_of(answers_of(["AB", "BA", "AA", "BB", "AB"] * 4), measures_of([0.0, 1.0] * 10))
    assert_none(table, [SHARE_GEE, SHARE_WITHIN], "too uncertain")
    assert np.isfinite(table.loc[GEE, "estimate"])


def test_several_samples_are_one_item(answers_of):
    once = answers_of(ITEMS)
    twice = pd.concat([once, once.assign(sample=1)])
    single, double = (table_of(answers, measures_of(WHITE_KEY)) for answers in (once, twice))
    for quantity in (GEE, WITHIN, SHARE_GEE):
        for name in ("estimate", "ci_low", "ci_high", "n"):
            assert double.loc[quantity, name] == pytest.approx(single.loc[quantity, name])


def test_each_leakage_measure_has_only_its_rows(answers_of):
    measures = pd.concat(
        [
            measures_of(WHITE_KEY),
            measures_of([0.1, 0.4] * 10, measure="leakage_tfidf"),
            measures_of(WHITE_KEY, measure="words"),
            measures_of(WHITE_KEY, measure="leakage_overlap_by_chance"),
        ]
    )
    found = remaining_disparity(answers_of(ITEMS), measures)
    assert found["measure"].unique().tolist() == ["leakage_overlap", "leakage_tfidf"]


def test_wrong_input_is_refused(answers_of):
    answers, measures = answers_of(ITEMS), measures_of(WHITE_KEY)
    with pytest.raises(InputError, match="no measure of leakage for demo"):
        remaining_disparity(answers, measures.assign(measure="words"))
    with pytest.raises(InputError, match="no measure of leakage for demo"):
        remaining_disparity(answers, measures.assign(benchmark="fairmedqa"))
    with pytest.raises(InputError, match="appears twice"):
        remaining_disparity(answers, pd.concat([measures, measures.iloc[:1]]))
    with pytest.raises(ValueError, match="balanced_share"):
        remaining_disparity(answers, measures, balanced_share=0)
    with pytest.raises(ValueError, match="alpha"):
        remaining_disparity(answers, measures, alpha=0)


def test_the_released_answers(shared_data, crude_leakage):
    answers = import_amqa(
        [shared_data("amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl")]
    )
    found = remaining_disparity(answers, crude_leakage, versions=["gpt-agent"])
    estimates = analyze(answers).query("metric == 'accuracy_difference'").set_index("attribute")
    for attribute in ("race", "sex", "ses"):
        table = found[found["attribute"] == attribute].set_index("quantity")
        for name in ("estimate", "ci_low", "ci_high"):
            assert table.loc[DIFFERENCE, name] == estimates.loc[attribute, name]
        assert table.loc[BALANCED, "n"] > 250
        # Adjusting for shared words removes none of it; more than all of it remains.
        assert table.loc[SHARE_GEE, "ci_low"] > 1
        assert 0.8 < table.loc[BALANCED, "estimate"] / table.loc[DIFFERENCE, "estimate"] < 1.4
