"""The differences of a choice of items are those that `analyze` gives, to the last digit."""

import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats.counts.item_outcomes import item_patterns
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.analyze import analyze
from fairstats.estimates.subset_differences import differences_of

POLICIES = ["available", "complete", "incorrect", "bounds"]


def assert_as_analyzed(answers, policy):
    found = differences_of(item_patterns(answers), policy, 0.05).reset_index()
    estimates = analyze(answers, policy)
    keys = list(PAIR_COLUMNS)
    own = estimates[estimates["attribute"] != "pooled"]
    difference = own[own["metric"] == "accuracy_difference"].merge(found, on=keys)
    assert len(difference) == len(found) > 0
    for name in ("estimate", "ci_low", "ci_high", "n"):
        pd.testing.assert_series_equal(
            difference[f"{name}_x"].astype(float),
            difference[f"{name}_y"].astype(float),
            check_names=False,
            check_exact=True,
        )
    assert (difference["ci_method_x"] == difference["ci_method_y"]).all()
    is_midp = own["test"].fillna("").str.startswith("mcnemar midp")
    test = own[(own["metric"] == "mcnemar") & is_midp].merge(found, on=keys, how="right")
    assert test["p_value_x"].tolist() == pytest.approx(test["p_value_y"].tolist(), nan_ok=True)
    assert (test["test_x"].fillna("") == test["test_y"].fillna("")).all()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "items",
    [
        ["AA"],
        ["AA"] * 9,
        ["--", "-."],
        ["A-", "-B"],
        ["AA", "AB", "BA", "BC", "A-", "-A", "B-", "--", ".B"] * 3,
    ],
)
def test_small_answers(items, policy, answers_of):
    assert_as_analyzed(answers_of(items), policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_several_samples_of_an_item(policy, answers_of):
    items = ["AA", "AB", "AB", "BA", "BB", "A-"] * 4
    answers = pd.concat([answers_of(items, sample=0), answers_of(items[::-1], sample=1)])
    assert_as_analyzed(answers, policy)


def test_no_pair_has_no_difference(answers_of):
    nothing = item_patterns(answers_of(["AB"])).iloc[:0]
    assert differences_of(nothing, "available", 0.05).empty


def test_released_answers(shared_data):
    names = ("AMQA_D2_Benchmark_Answer_gemini_no_cot", "AMQA_Benchmark_Answer_claude_no_cot")
    paths = [shared_data(f"amqa/answers/{name}.jsonl") for name in names]
    assert_as_analyzed(import_amqa(paths), "available")
