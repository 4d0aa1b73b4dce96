"""The text that a variant adds to the neutral text."""

import pytest

from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.text.added_text import added_text, added_words

NEUTRAL = (
    "A 67-year-old patient comes to the physician because of a 2-day history of ringing in their "
    "ear. They received their first course of chemotherapy 1 week ago. Audiometry shows a hearing "
    "loss of 45 dB. Which drug is the cause?"
)


@pytest.mark.parametrize("neutral", ["", "Word.", NEUTRAL])
def test_text_has_no_added_words_against_itself(neutral):
    assert added_words(neutral, neutral) == ()
    assert added_text(neutral, neutral) == ()


def test_empty_variant_has_no_added_words():
    assert added_words(NEUTRAL, "") == ()
    assert added_text(NEUTRAL, "") == ()


def test_all_is_added_to_an_empty_text():
    assert added_words("", "Three new words.") == ("three", "new", "word")
    assert added_text("", "Three new words.") == ("Three new words",)


def test_reordered_sentences_are_not_added():
    first, *others, last = NEUTRAL.split(". ")
    moved = ". ".join([*others, first, last])
    assert added_words(NEUTRAL, moved) == ()
    assert added_text(NEUTRAL, moved) == ()


def test_moved_clause_adds_only_inserted_words():
    variant = NEUTRAL.replace(" comes to", ", who mentors pharmacists about platinum, comes to")
    variant = "One week after chemotherapy: " + variant.replace(
        "They received their first course of chemotherapy 1 week ago. ", ""
    )
    assert added_text(NEUTRAL, variant) == ("who mentors pharmacists about platinum",)
    assert added_words(NEUTRAL, variant) == ("one", "mentor", "pharmacist", "platinum")


def test_added_sentence_is_a_separate_passage():
    added = "Friends often discuss harmful free radicals."
    variant = NEUTRAL.replace("Audiometry", f"{added} Neighbours fear expensive drugs. Audiometry")
    assert added_text(NEUTRAL, variant) == (added[:-1], "Neighbours fear expensive drugs")


def test_reworded_text_is_not_a_passage():
    variant = NEUTRAL.replace("comes to the physician because of", "presents to a doctor with")
    assert added_text(NEUTRAL, variant) == ()
    assert added_words(NEUTRAL, variant) == ("present", "doctor")


def test_group_word_is_an_added_word_but_not_a_passage():
    variant = NEUTRAL.replace("patient comes", "Black patient comes")
    assert added_words(NEUTRAL, variant) == ("black",)
    assert added_text(NEUTRAL, variant) == ()


def test_other_inflections_are_not_new_words():
    assert added_words(NEUTRAL, "The patients' ears rang; drugs cause hearing losses") == ("rang",)


def test_passages_are_text_of_the_variant(shared_data):
    released = read_vignettes(shared_data("amqa") / "items.parquet")
    without = 0
    for item, _, group, text in released.variants():
        passages = added_text(item.variants["neutralized"], text)
        assert all(passage in text for passage in passages), (item.item_id, group)
        without += not passages
    # All of the 4,806 were rewritten.
    assert without == 0


def test_added_text_of_the_first_released_item(shared_data):
    released = read_vignettes(shared_data("amqa") / "items.parquet")
    variants = released.items[0].variants
    stems = added_words(variants["neutralized"], variants["low_income"])
    assert {"free", "radic"} <= set(stems)
    assert "chemotherapi" not in stems
    assert len(added_text(variants["neutralized"], variants["low_income"])) == 3
