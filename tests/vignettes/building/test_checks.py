"""The checks of a build: whether a background has the requested structure."""

import pytest

from fairstats.vignettes.building.checks import (
    GROUP_PRONOUNS,
    NOT_NAMED,
    NOT_THREE_SENTENCES,
    ONLY_A_PRONOUN,
    is_named,
    structure_problems,
    times_named,
    words_of_group,
)

GOOD = "The Black patient teaches. Dr. Smith is a friend. They swim 2.5 km a day."


def kinds(background):
    problems = structure_problems(background, words=("black",))
    return [problem.partition(": ")[0] for problem in problems]


def test_empty_background_violates_both_rules():
    assert kinds("") == [NOT_THREE_SENTENCES, NOT_NAMED]


def test_three_sentences_that_name_the_group_are_right():
    assert kinds(GOOD) == []
    assert kinds(GOOD + " They read.") == [NOT_THREE_SENTENCES]


def test_empty_text_names_no_group():
    assert times_named("anything", ()) == 0
    assert times_named("anything", ("", " ")) == 0


@pytest.mark.parametrize(
    ("text", "group", "label", "named"),
    [
        ("A BLACK patient", "black", "Black", True),
        ("a white man", "white", "White", True),
        ("blackened toes", "black", "Black", False),
        ("a woman", "male", "Male", False),
        ("a female", "male", "Male", False),
        ("Two males", "male", "Male", True),
        ("His father", "male", "Male", False),
        ("a high-income family", "high_income", "High income", True),
        ("a lower income", "low_income", "Low income", True),
        ("a patient of the Roma", "roma", "Roma", True),
    ],
)
def test_words_that_name_a_group(text, group, label, named):
    assert bool(times_named(text, words_of_group(group, label))) is named


def test_white_cell_in_the_neutral_text_names_no_group():
    neutral = "White blood cells are few."
    assert not is_named(neutral, neutral, ("white",))
    assert is_named(neutral, f"A white patient. {neutral}", ("white",))


def test_pronoun_is_reported_separately():
    found = structure_problems(
        "He teaches. He reads. He swims.", words=("man",), pronouns=GROUP_PRONOUNS["male"]
    )
    assert found == [f"{ONLY_A_PRONOUN}: man"]
