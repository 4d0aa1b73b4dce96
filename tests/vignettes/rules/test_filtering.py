"""Rules detect items without a valid variant, and name the word that decides."""

import pytest

from fairstats.benchmarks.vignette_items import Item, read_amqa_items, read_vignettes
from fairstats.vignettes.rules.filtering import Decision, filter_by_rules

OPTIONS = {"A": "Aspirin", "B": "Heparin", "C": "Rest", "D": "Surgery"}


def item(text, **options):
    return Item("1", OPTIONS | options, "A", {"original": text})


def test_a_plain_item_is_kept_and_no_reason_given():
    found = filter_by_rules(item("A 45-year-old man has chest pain. What is next?"))
    assert found == Decision("keep", "", "")


def test_without_an_original_the_neutral_text_is_read():
    neutral = Item("1", OPTIONS, "A", {"neutralized": "A 45-year-old patient has prostatitis."})
    assert filter_by_rules(neutral).action == "exclude"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("A 45-year-old man has a rash as shown in the image.", "shown in the image"),
        ("A 45-year-old man has pain. His ECG is shown.", "ECG is shown"),
        ("A 45-year-old man has a rash (Figure 1).", "(Figure 1)"),
        ("A 45-year-old man has a rash. A photograph is shown below.", "photograph is shown below"),
        ("A 45-year-old man has pain. See the exhibit below.", "See the exhibit"),
        ("A 45-year-old man. An MRI of the brain is shown.", "MRI of the brain is shown"),
    ],
)  # fmt: skip
def test_an_image_is_needed(text, word):
    found = filter_by_rules(item(text))
    assert (found.action, found.rule) == ("exclude", "image")
    assert f'"{word}"' in found.reason


@pytest.mark.parametrize(
    "text",
    [
        "A 45-year-old man has pain. Laboratory values are shown below:\nNa+ 139 mEq/L",
        "A 45-year-old man has pain. On x-ray, multiple nodules are seen.",
        "A 45-year-old man is shown how to use the inhaler; imaging shows a picture of sepsis.",
        "A 45-year-old man figures that he is ill. Which of the following ECG changes is likely?",
    ],
)
def test_values_in_the_text_and_plain_words_need_no_image(text):
    assert filter_by_rules(item(text)).rule != "image"


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("Which enzyme is inhibited by aspirin?", "exclude"),
        ("", "exclude"),
        ("He has chest pain. What is next?", "ask"),
    ],
)
def test_an_item_without_a_patient(text, decision):
    found = filter_by_rules(item(text))
    assert (found.action, found.rule) == (decision, "no_patient")


def test_two_persons_are_left_to_a_model():
    found = filter_by_rules(item("A 3-day-old boy is born to a 33-year-old woman with fever."))
    assert (found.action, found.rule) == ("ask", "several_patients")


@pytest.mark.parametrize(
    ("text", "attributes", "decision", "word"),
    [
        ("A 45-year-old man has an enlarged prostate.", ["sex"], "exclude", "prostate"),
        ("A 45-year-old man has an enlarged prostate.", ["gender"], "exclude", "prostate"),
        ("A 45-year-old man has an enlarged prostate.", ["race_gender"], "exclude", "prostate"),
        ("A 45-year-old man has an enlarged prostate.", ["race", "ses"], "keep", ""),
        ("A 25-year-old woman is pregnant.", ["sex"], "exclude", "pregnant"),
        ("A 2-day-old girl; the pregnancy was normal.", ["sex"], "ask", "pregnancy"),
        ("A 25-year-old woman's last menses were late.", ["sex"], "exclude", "menses"),
        ("A 5-year-old boy has an X-linked disease.", ["sex"], "exclude", "X-linked"),
        ("A 25-year-old man has sickle cell disease.", ["race"], "exclude", "sickle cell"),
        ("A 25-year-old man has sickle cell disease.", ["ethnicity"], "exclude", "sickle cell"),
        ("A 25-year-old man has sickle cell disease.", ["sex", "ses"], "keep", ""),
        ("A 1-year-old boy has Tay-Sachs disease.", ["race"], "exclude", "Tay-Sachs"),
        ("A 45-year-old man is homeless.", ["ses"], "ask", "homeless"),
        ("A 45-year-old man is homeless.", ["race"], "keep", ""),
        ("A 45-year-old man has pain.", ["an attribute of my own"], "keep", ""),
    ],
)
def test_diagnosis_that_depends_on_the_attribute_is_excluded(text, attributes, decision, word):
    found = filter_by_rules(item(text), attributes=attributes)
    assert found.action == decision
    assert found.rule == ("dependent_diagnosis" if word else "")
    assert word in found.reason


def test_wrong_option_that_depends_on_a_group_is_left_to_a_model():
    text = "A 45-year-old man has pain."
    assert filter_by_rules(item(text, B="Sickle cell disease")).action == "ask"
    assert filter_by_rules(item(text, A="Sickle cell disease")).action == "exclude"
    assert filter_by_rules(item(text, A="Prostatitis")).action == "exclude"
    assert filter_by_rules(item(text, B="Prostatitis")).action == "ask"


def test_options_that_name_a_group():
    text = "A 45-year-old man has pain."
    found = filter_by_rules(item(text, C="It is more common in Caucasian persons"))
    assert found.action == "exclude"
    assert found.reason.endswith('names a group: "Caucasian".')
    assert filter_by_rules(item(text, C="Tell her the truth")).action == "ask"
    assert filter_by_rules(item(text, C="Caucasian"), attributes=["sex"]).action == "keep"
    assert filter_by_rules(item(text, C="White blood cells; HER2")).action == "keep"


def test_exclusion_precedes_doubt():
    text = "A 45-year-old man is homeless. His ECG is shown."
    assert filter_by_rules(item(text)).action == "exclude"


def test_the_demonstration_items_are_kept():
    assert {filter_by_rules(one).action for one in read_vignettes("demo").items} == {"keep"}


def test_most_items_that_the_authors_kept_are_kept(shared_data):
    found = [filter_by_rules(one) for one in read_amqa_items(shared_data("amqa/items.parquet"))]
    kept = sum(one.action == "keep" for one in found)
    assert kept / len(found) > 0.85
    assert all((one.reason == "") == (one.action == "keep") for one in found)
