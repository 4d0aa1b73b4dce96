"""The text that a variant adds to the neutral text: its words, and how many."""

from dataclasses import replace

import pytest

from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.added_text import (
    ADDED_TEXT_MEASURES,
    added_text_findings,
    added_text_measures,
    added_words,
    running_words,
)

NEUTRAL = (
    "A 67-year-old patient comes to the physician because of a 2-day history of ringing in their "
    "ear. They received their first course of chemotherapy 1 week ago. Audiometry shows a hearing "
    "loss of 45 dB. Which drug is the cause?"
)


@pytest.mark.parametrize("neutral", ["", "Word.", NEUTRAL])
def test_text_has_no_added_words_against_itself(neutral):
    assert added_words(neutral, neutral) == ()


def test_empty_variant_has_no_added_words():
    assert added_words(NEUTRAL, "") == ()


def test_all_is_added_to_an_empty_text():
    assert added_words("", "Three new words.") == ("three", "new", "word")


def test_reordered_sentences_are_not_added():
    first, *others, last = NEUTRAL.split(". ")
    moved = ". ".join([*others, first, last])
    assert added_words(NEUTRAL, moved) == ()


def test_moved_clause_adds_only_inserted_words():
    variant = NEUTRAL.replace(" comes to", ", who mentors pharmacists about platinum, comes to")
    variant = "One week after chemotherapy: " + variant.replace(
        "They received their first course of chemotherapy 1 week ago. ", ""
    )
    assert added_words(NEUTRAL, variant) == ("one", "mentor", "pharmacist", "platinum")


def test_reworded_text_is_added():
    variant = NEUTRAL.replace("comes to the physician because of", "presents to a doctor with")
    assert added_words(NEUTRAL, variant) == ("present", "doctor")


def test_group_word_is_an_added_word():
    variant = NEUTRAL.replace("patient comes", "Black patient comes")
    assert added_words(NEUTRAL, variant) == ("black",)


def test_other_inflections_are_not_new_words():
    assert added_words(NEUTRAL, "The patients' ears rang; drugs cause hearing losses") == ("rang",)


def test_added_text_of_the_first_released_item(shared_data):
    released = read_vignettes(shared_data("amqa") / "items.parquet")
    variants = released.items[0].variants
    stems = added_words(variants["neutralized"], variants["low_income"])
    assert {"free", "radic"} <= set(stems)
    assert "chemotherapi" not in stems


def test_running_words():
    assert running_words("A 67-year-old’s 37.5 °C, 120/80 mm Hg.") == [
        *("A", "67-year-old's", "37.5", "C", "120/80", "mm", "Hg")
    ]
    # A long dash parts words.
    assert running_words("agents—especially those") == ["agents", "especially", "those"]


def test_measures_and_findings_of_the_demonstration():
    vignettes = read_vignettes("demo")
    measures = added_text_measures(vignettes)
    assert set(measures["measure"]) == set(ADDED_TEXT_MEASURES)
    assert not measures.duplicated(["item_id", "attribute", "group", "measure"]).any()
    words = measures[measures["measure"] == "words"].pivot(
        index="item_id", columns="group", values="value"
    )
    new = measures[measures["measure"] == "new_words"]
    assert "neutralized" not in set(new["group"])
    found = added_text_findings(measures, vignettes.benchmark)
    assert (found["p_value"] > 0).all()
    row = found.set_index(["measure", "quantity", "group_a", "group_b"])["estimate"]
    more = (words["black"] - words["neutralized"]).mean()
    assert row["words", "group minus neutral", "black", ""] == pytest.approx(more)
    pair = (words["white"] - words["black"]).mean()
    assert row["words", "first minus second", "white", "black"] == pytest.approx(pair)
    mean = new.loc[new["group"] == "black", "value"].mean()
    assert row["new_words", "mean", "black", ""] == pytest.approx(mean)


def test_variants_equal_to_the_neutral_text_add_nothing():
    vignettes = read_vignettes("demo")
    same = [
        replace(i, variants=dict.fromkeys(i.variants, i.variants["neutralized"]))
        for i in vignettes.items
    ]
    measures = added_text_measures(replace(vignettes, items=tuple(same)))
    found = added_text_findings(measures, vignettes.benchmark)
    assert (found["estimate"] == 0).all()
    assert (found["p_value"] == 1).all()


def test_no_item_has_no_measure():
    vignettes = replace(read_vignettes("demo"), items=())
    measures = added_text_measures(vignettes)
    assert measures.empty
    assert (added_text_findings(measures, vignettes.benchmark)["n"] == 0).all()


def test_the_released_items(shared_data):
    vignettes = read_vignettes(shared_data("amqa") / "items.parquet")
    found = added_text_findings(added_text_measures(vignettes), vignettes.benchmark)
    row = found.set_index(["measure", "quantity", "group_a"])["estimate"]
    # Words split at white space differ from ours only by punctuation.
    plain = [
        len(i.variants["white"].split()) - len(i.variants["black"].split()) for i in vignettes.items
    ]
    mean = sum(plain) / len(plain)
    assert row["words", "first minus second", "white"] == pytest.approx(mean, abs=0.5)
    assert row["words", "first minus second", "white"] == pytest.approx(-14.0, abs=0.1)
