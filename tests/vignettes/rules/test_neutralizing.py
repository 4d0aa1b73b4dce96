"""Rules remove demographic words and pronouns from a text, and change nothing else."""

import re
import tomllib
from pathlib import Path

import pytest

from fairstats._lib.installation import resource
from fairstats.benchmarks.vignette_items import read_amqa_items, read_vignettes
from fairstats.vignettes.rules.demographic_words import demographic_words, left_over
from fairstats.vignettes.rules.filtering import sex_specific_words
from fairstats.vignettes.rules.neutralizing import neutralize
from fairstats.vignettes.rules.pronouns import plural_verb
from tests.serving import benchmark_script

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def benchmark():
    """Import the script that compares with the authors' text."""
    return benchmark_script("neutralizing")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "A 40-year-old patient has pain. What is the diagnosis?",
        "White blood cells 9,000/mm3; black, tarry stools; sister chromatids; daughter cells.",
        "HER2-positive, her2/neu, HER-2; the bundle of His; His-Purkinje; MEN 2A; MS; MR imaging.",
        "There the thermometer shows the usual; this hernia; Helicobacter; Sheehan; mango; human.",
        "Hepatic encephalopathy (HE) is graded.",
        "They have pain and take aspirin. Their partner is well.",
    ],
)
def test_neutral_text_is_unchanged(text):
    assert neutralize(text).text == text
    assert neutralize(text).changes == ()
    assert left_over(text) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # Nouns
        ("A 65-year-old man has pain.", "A 65-year-old patient has pain."),
        ("A 65-year-old woman's pain.", "A 65-year-old patient's pain."),
        ("A woman’s arm is sore.", "A patient’s arm is sore."),
        ("A 6-year-old boy and a young girl", "A 6-year-old patient and a young child"),
        ("A 30-year-old man meets another man.", "A 30-year-old patient meets another person."),
        ("The man and his wife are seen.", "The patient and their partner are seen."),
        ("A 4-day-old newborn boy", "A 4-day-old newborn"),
        ("THE GENTLEMAN", "THE PATIENT"),
        ("a policewoman", "a police officer"),
        # "male" is inside "female", before a noun or used as one
        ("A 40-year-old female presents.", "A 40-year-old patient presents."),
        ("A 40-year-old male smokes.", "A 40-year-old patient smokes."),
        ("A female patient", "A patient"),
        ("a 20-year-old male smoker", "a 20-year-old smoker"),
        ("one male partner", "one partner"),
        ("two female coworkers", "two coworkers"),
        ("a male infant", "an infant"),
        # race, with a corrected article
        ("An African-American man is seen.", "A patient is seen."),
        ("A Caucasian 80-year-old woman", "An 80-year-old patient"),
        ("A 50-year-old Hispanic woman", "A 50-year-old patient"),
        ("a white, otherwise healthy man", "an otherwise healthy patient"),
        ("A 45-year-old African American presents.", "A 45-year-old patient presents."),
        ("A Japanese man with Japanese encephalitis", "A patient with Japanese encephalitis"),
        # pronouns and their verbs
        ("He has pain.", "They have pain."),
        ("HE HAS PAIN.", "THEY HAVE PAIN."),
        ("She also often denies it.", "They also often deny it."),
        ("When she is well, he walks.", "When they are well, they walk."),
        ("Does she have pain? Is he ill?", "Do they have pain? Are they ill?"),
        ("He felt ill and could not go.", "They felt ill and could not go."),
        ("He smokes and drinks.", "They smoke and drink."),
        ("He works, no longer drinks, and sleeps.", "They work, no longer drink, and sleep."),
        ("She has hands and wrists that hurt.", "They have hands and wrists that hurt."),
        # A denial of one verb does not extend to the next.
        ("He does not smoke and drinks beer.", "They do not smoke and they drink beer."),
        ("He runs, doesn't eat, but often drinks.", "They run, don't eat, but they often drink."),
        ("He does not smoke or drinks beer.", "They do not smoke or drink beer."),
        ("She cannot see and is ill.", "They cannot see and are ill."),
        ("She has had fever and is ill.", "They have had fever and are ill."),
        ("He says it is dull and takes aspirin.", "They say it is dull and take aspirin."),
        ("She's ill; she’s been ill; he'd go.", "They're ill; they’ve been ill; they'd go."),
        ("He doesn't smoke.", "They don't smoke."),
        ("A friend of his is like him.", "A friend of theirs is like them."),
        ("She hurt herself.", "They hurt themselves."),
        ("He or she has his or her own.", "They have their own."),
        ("Her arm hurts her.", "Their arm hurts them."),
        ("They told her to rest her arm.", "They told them to rest their arm."),
        ("He told her what to do.", "They told them what to do."),
        ("It affects her sleep.", "It affects their sleep."),
        ("Pain in her back and at her home.", "Pain in their back and at their home."),
        # relatives
        ("His mother and father are well.", "Their parents are well."),
        ("A 3-year-old's mother-in-law", "A 3-year-old's parent-in-law"),
        ("The half-brother of an uncle", "The half-sibling of an aunt or uncle"),
        ("His mother is ill, his father well.", "Their parent is ill, their other parent well."),
        ('"I told my husband," she says.', '"I told my partner," they say.'),
        ("A boy's mother is ill, a father not.", "A patient's parent is ill, another parent not."),
        ("A 30-year-old white male, his Hispanic wife", "A 30-year-old patient, their partner"),
        # titles
        ("Mr. Smith is ill. See Mrs. Jones's arm.", "The patient is ill. See the patient's arm."),
    ],
)  # fmt: skip
def test_words_that_reveal_a_group_are_removed(given, expected):
    result = neutralize(given)
    assert result.text == expected
    assert left_over(result.text, ["sex", "family", "race", "origin"]) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "A 9-year-old boy is brought by his mother. She says her son is ill.",
            "A 9-year-old patient is brought by their parent. The parent says the patient is ill.",
        ),
        (
            "A 55-year-old man's wife is here. She says her husband fell. Ask her.",
            "A 55-year-old patient's partner is here. "
            "The partner says the patient fell. Ask the partner.",
        ),
        (
            # The text names no one of the other sex, and no pronoun remains.
            "A 55-year-old man is here. She has pain.",
            "A 55-year-old patient is here. They have pain.",
        ),
    ],
)
def test_pronouns_of_other_persons_become_their_nouns(given, expected):
    assert neutralize(given).text == expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("They called her back.", "her"),
        ("They saw her walking.", "her"),
        ("He has pain that radiates and is worse.", "is"),
        ("The infant drinks its mother's breast milk.", "mother"),
        ("It is common in men.", "men"),
        ("A black and white patient", "black"),
        ("The patient from Mexico", "from Mexico"),
        ("It is common in Caucasians.", "Caucasians"),
        ("male and female patients", "male"),
        ("The patient is a Jehovah's Witness.", "Jehovah's Witness"),
        ("The patient is homeless.", "homeless"),
        ("A truck driver of Ashkenazi descent", "truck driver"),
        ("Hematocrit (female) 34%", "female"),
    ],
)
def test_ambiguous_words_are_left_and_reported(text, word):
    result = neutralize(text)
    (left, *_) = result.undecided
    assert (left.old, left.new) == (word, word)
    assert result.text[result.text.index(word) :].startswith(word)
    assert left.why


def test_sex_specific_words_are_kept():
    text = "A pregnant woman has an ovarian cyst; her husband has an enlarged prostate."
    expected = "A pregnant patient has an ovarian cyst; their partner has an enlarged prostate."
    assert neutralize(text).text == expected
    assert sex_specific_words(text) == ("pregnant", "ovarian", "prostate")


def test_only_words_of_the_chosen_attributes_are_removed():
    text = "A Hispanic man is here with his wife."
    assert neutralize(text, attributes=["race"]).text == "A man is here with his wife."
    assert (
        neutralize(text, attributes=["sex"]).text == "A Hispanic patient is here with their wife."
    )
    assert [found.word for found in left_over(text, ["family"])] == ["wife"]
    assert neutralize(text, attributes=[]).changes == ()


def test_the_changes_make_the_text_and_are_in_order():
    text = "An African-American woman's HER2 is 3+. She's ill, and Dr. Ray called her back."
    result = neutralize(text)
    parts, last = [], 0
    for change in result.changes:
        assert text[change.start : change.end] == change.old
        assert last <= change.start
        assert change.undecided == (change.old == change.new)
        parts += [text[last : change.start], change.new]
        last = change.end
    assert "".join([*parts, text[last:]]) == result.text
    # A neutral text does not change again.
    assert neutralize(result.text).text == result.text


@pytest.mark.parametrize(
    ("verb", "plural"),
    [
        ("is", "are"),
        ("Has", "Have"),
        ("goes", "go"),
        ("denies", "deny"),
        ("dies", "die"),
        ("watches", "watch"),
        ("aches", "ache"),
        ("loses", "lose"),
        ("accuses", "accuse"),
        ("focuses", "focus"),
        ("wasn’t", "weren’t"),
        ("had", None),
        ("always", None),
        ("discuss", None),
        ("as", None),
    ],
)
def test_the_form_of_a_verb_after_they(verb, plural):
    assert plural_verb(verb) == plural


def test_every_listed_word_is_replaced_by_a_neutral_one():
    for words in demographic_words().values():
        for word, neutral in words.replace.items():
            assert left_over(f"see the {word} again"), word
            for new in neutral.split("|"):
                gendered = [f for f in left_over(f"the {new}") if f.attribute in ("sex", "family")]
                assert gendered == [], word


def test_list_has_only_used_keys():
    path = resource("data", "vignettes", "demographic_words.toml")
    for table in tomllib.loads(path.read_text(encoding="utf-8")).values():
        assert set(table) <= {"replace", "drop", "always", "mark"}


def test_the_demonstration_items_are_neutral_already():
    for item in read_vignettes("demo").items:
        assert neutralize(item.variants["neutralized"], attributes=["sex", "race"]).changes == ()


def test_200_released_originals_against_the_authors_neutral_text(shared_data, benchmark):
    items = read_amqa_items(shared_data("amqa/items.parquet"))
    chosen = benchmark.the_200(items)
    assert len(chosen) == 200
    found = benchmark.compared(chosen)
    assert found["agreeing exactly"] >= 0.10
    assert found["agreeing but for how persons are named"] >= 0.25
    assert found["agreeing but for that and articles"] >= 0.48
    assert found["differing words but for that and articles"] <= 0.015
    # "Find her" and a word in -ing: an object, or a possessive; it is left as undecided.
    assert found["pronouns left by the rules"] == {"444": ["her"]}
    assert found["numbers differ from the original, rules"] == 0


def test_remaining_pronouns_of_released_originals_are_known(shared_data):
    # With a separate pattern that has no exceptions.
    pronoun = re.compile(r"(?i)\b(?:he|she|him|his|her|hers|himself|herself)\b")
    left = {}
    for item in read_amqa_items(shared_data("amqa/items.parquet")):
        words = pronoun.findall(neutralize(item.variants["original"]).text)
        if words:
            left[item.item_id] = words
    assert left == {"444": ["her"]}
