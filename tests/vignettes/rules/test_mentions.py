"""The first mention of the patient in a vignette, and cases in which a rule must not guess."""

import time

import pytest

from fairstats.vignettes.rules.persons import Mention, NotFound, find_mention


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no mention of a patient"),
        ("Which of the following inhibits xanthine oxidase?", "no mention of a patient"),
        ("They were diagnosed when they were 3 years old.", "no mention of a patient"),
        ("The outpatient clinic is closed.", "no mention of a patient"),
        ("A healthy 23-year-old is running.", "no noun follows the age"),
        ("A 23-year-old presents with pain.", "no noun follows the age"),
        ("A 23-year-old.", "no noun follows the age"),
        ("A 23-year-old's arm hurts.", "no noun follows the age"),
        ("A parent brings their 6-year-old to the clinic.", "no noun follows the age"),
        ("A 2-day-old infant was born to a 30-year-old individual.", "more than one person of sta"),
        ("A newborn is seen. A 6-year-old sibling is well.", "a person before the one of stated"),
        ("A 6-year-old sibling is well.", "the person of stated age is a relative: 6-year-old"),
        (
            "A 40-year-old patient joins 59 patients in a trial.",
            "more than one person: 59 patients",
        ),
        ("A patient is seen, then another patient.", "more than one person: another patient"),
    ],
)
def test_undecided_mention_has_a_reason(text, reason):
    found = find_mention(text)
    assert isinstance(found, NotFound)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("A 45-year-old | patient has pain.", 45),
        ("An 80-year-old | individual has pain.", 80),
        ("Two days later, a 61-year-old | patient has pain.", 61),
        ("A 59-year-old overweight | patient has pain.", 59),
        ("A 65-year-old, previously healthy | patient has pain.", 65),
        ("A 70-year-old hypertensive and hyperlipidemic | patient has pain.", 70),
        ("A 69-year-old right-handed | patient has pain.", 69),
        ("A previously healthy 18-year-old | army recruit has pain.", 18),
        ("A 36-year-old | nursing home worker has pain.", 36),
        ("A 20-year-old | college student has pain.", 20),
        ("A 50-year-old | diabetic presents with pain.", 50),
        ("A six-year-old | patient has pain.", 6),
        ("An 18-month-old | infant has fever.", 1.5),
        ("A 26-week-old | infant has fever.", 0.5),
        ("A 73-day-old | infant has fever.", 0.2),
        ("An 876-hour-old | infant has fever.", 0.1),
        ("A 12-hour-old | newborn has fever.", 12 / 8760),
        ("The parents of a 5-year-old | child ask for advice.", 5),
        ("A parent brings their 6-year-old | child.", 6),
        ("A 2-year-old | patient cries. Later the same 2-year-old patient sleeps.", 2),
        ("A 40-year-old\n| patient has pain.", 40),
        ("The | patient has pain.", None),
        ("A | person has pain.", None),
        ("An | individual has pain.", None),
        ("An unconscious | individual is found.", None),
        ("A severely injured | patient is found.", "not found"),
        ("An | infant has fever.", 0),
        ("A | teenager has fever.", 13),
        ("What is the cause of this | person's glucosuria?", None),
    ],
)
def test_position_before_the_noun_is_found(text, age):
    neutral = text.replace("| ", "")
    if age == "not found":
        assert isinstance(find_mention(neutral), NotFound)
    else:
        assert find_mention(neutral) == Mention(text.index("|"), pytest.approx(age))


@pytest.mark.parametrize(
    "text",
    [
        "A 45-year-old" + " previously healthy" * 5000,
        "The" + " elderly previously healthy" * 5000,
        "A" + " very" * 20_000 + " patient",
        "9" * 100_000 + "-year-old patient",
        "9" * 100_000 + "-year-old",
        "the " * 50_000,
    ],
)
def test_no_text_takes_long(text):
    began = time.perf_counter()
    find_mention(text)
    assert time.perf_counter() - began < 2
