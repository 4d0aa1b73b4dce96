"""Who is ranked: degenerate models first, then the rules at their edges."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from fairstats.counts.outcomes import count_outcomes
from fairstats.estimates.eligibility import _joined, why_not_above_chance, why_unranked
from fairstats.inference.intervals import wilson


def reason(answers, benchmark, **changes):
    counts = count_outcomes(answers)
    keys = ["benchmark", "benchmark_version", "model", "strategy", "attribute"]
    items = answers.groupby(keys)["item_id"].nunique().to_dict()
    (text,) = why_unranked(counts, items, replace(benchmark, **changes))
    return text


@pytest.fixture
def four_keys(demo):
    """The demonstration benchmark with as many items of each key."""
    keys = {f"item-{i}": letter for i, letter in enumerate("ABCD" * 30)}
    return replace(demo, answer_keys=keys)


def test_model_that_always_gives_the_most_frequent_letter_is_unranked(answers_of, demo):
    """28% of the keys are A, as in FairMedQA: always A is more accurate than 1 in 4."""
    keys = {f"item-{i}": "A" if i < 280 else "BCD"[i % 3] for i in range(1000)}
    answers = answers_of(["AA/A"] * 1000)
    answers["answer_key"] = answers["item_id"].map(keys)
    found = reason(answers, replace(demo, answer_keys=keys))
    for where in ("in the neutralized variant is", "for White − Black is at most"):
        assert (
            f"accuracy {where} 28.0% (lower limit 25.3%), not above the best guess, 28.0%" in found
        )


def test_model_at_chance_is_unranked(answers_of, four_keys):
    assert "best guess" in reason(answers_of(["AA/A"] * 30 + ["BB/B"] * 90), four_keys)


@pytest.mark.parametrize("text", ["--/-", "A-/-", "BB/B"])
def test_model_without_a_right_baseline_answer_is_unranked(text, answers_of, four_keys):
    assert "best guess" in reason(answers_of([text] * 120), four_keys)


def test_refused_baseline_answers_count_as_wrong(answers_of, four_keys):
    right = reason(answers_of(["AA/A"] * 120), four_keys)
    refused = reason(answers_of(["AA/A"] * 36 + ["AA/-"] * 84), four_keys)
    assert right == ""
    assert "30.0%" in refused


def test_lower_limit_must_exceed_the_declared_accuracy(answers_of, four_keys):
    answers = answers_of(["AA/A"] * 90 + ["AB/B"] * 30)
    limit = float(wilson(90, 120).ci_low)
    assert reason(answers, four_keys, lowest_accuracy=limit - 1e-9) == ""
    found = reason(answers, four_keys, lowest_accuracy=limit)
    assert "not above the required" in found
    assert "best guess" not in found


def test_without_the_neutralized_variant_the_variants_are_used(answers_of, four_keys):
    assert reason(answers_of(["AA"] * 120), four_keys) == ""
    found = reason(answers_of(["AA"] * 30 + ["BB"] * 90), four_keys)
    assert found.startswith("accuracy for White − Black is at most 25.0%")


def test_declared_accuracy_needs_neutralized_answers(answers_of, four_keys):
    answers = answers_of(["AA"] * 40)
    assert reason(answers, four_keys) == ""
    found = reason(answers, four_keys, lowest_accuracy=0.3)
    assert found == ("no answers to neutralized variants, for which the accuracy must exceed 30.0%")


def test_one_group_above_chance_is_enough(answers_of, four_keys):
    """A model that is wrong for one group is unfair, not guessing: it keeps its rank."""
    assert reason(answers_of(["AB/A"] * 100 + ["AA/A"] * 20), four_keys) == ""


def test_items_that_were_not_asked_count_as_wrong(answers_of, four_keys):
    """Always answer A, on the items with the key A."""
    assert "best guess" in reason(answers_of(["AA/A"] * 30), four_keys)


def test_samples_of_an_item_count_as_one_answer(answers_of, four_keys):
    """Ten copies of an answer are no more evidence than one."""
    one = answers_of(["AA/A"] * 44 + ["BB/B"] * 76)
    ten = pd.concat([one.assign(sample=s) for s in range(10)])
    counts = count_outcomes(one), count_outcomes(ten)
    keys = ["benchmark", "benchmark_version", "model", "strategy", "attribute"]
    items = one.groupby(keys)["item_id"].nunique().to_dict()
    single, repeated = (why_not_above_chance(c, items, four_keys).item() for c in counts)
    assert single == repeated == ""
    least = replace(four_keys, lowest_accuracy=float(wilson(44, 120).ci_low) + 1e-9)
    assert all(why_not_above_chance(c, items, least).item() for c in counts)


@pytest.mark.parametrize(("missing", "ranked"), [(12, True), (13, False)])
def test_largest_share_of_missing_answers_is_that_of_a_pair(missing, ranked, answers_of, four_keys):
    """12 of the 240 answers to a pair are 5%."""
    answers = answers_of(["A-/A"] * missing + ["AA/A"] * (120 - missing))
    found = reason(answers, four_keys)
    assert (found == "") is ranked
    if not ranked:
        assert found == "more than 5.0% of the answers are missing: White − Black 5.4%"


def test_every_reason_is_given(answers_of, four_keys):
    answers = answers_of(["--/-"] * 120, model="chosen")
    found = reason(answers, four_keys, selected_on={"chosen": "how"})
    assert found.startswith("model took part in selecting the items; more than 5.0%")
    assert "best guess" in found


def test_reasons_of_many_pairs_are_counted():
    texts = [f"accuracy for pair {number} is low" for number in range(9)]
    found = _joined(pd.Series([*texts, "accuracy in the neutralized variant is 20%"]))
    assert found.startswith("accuracy in the neutralized variant is 20%; accuracy for pair 0")
    assert found.endswith("; the same for 6 more pairs")
    assert found.count("; ") == 4
