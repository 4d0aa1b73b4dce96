"""Words that make an item's variants invalid are detected, and other words are not."""

import pytest

from fairstats.vignettes.rules.filtering import left_over_group, sex_specific_word


@pytest.mark.parametrize(
    "text",
    [
        "He has pain.",
        "The patient says her arm hurts.",
        "Convince the wife to agree.",
        "It is more common in men.",
        "Mr. Smith has pain.",
        "A Black patient has pain.",
        "A white, otherwise healthy patient has pain.",
        "An Asian 40-year-old patient has pain.",
        "The patient is of Ashkenazi descent.",
        "The patient, of West African descent, has pain.",
        "A Latino family is seen.",
    ],
)
def test_a_text_that_names_a_group_is_not_neutral(text):
    assert left_over_group(text)


def test_the_words_of_declared_groups_are_looked_for_before_a_noun():
    assert left_over_group("A Maori patient.", ["Maori"]) == "Maori patient"
    assert left_over_group("A (.*) patient.", ["(.*)", "$"]) is None  # matched literally
    assert left_over_group("A patient.", ["(.*)", "."]) is None
    assert left_over_group("They live in a Maori village.", ["Maori"]) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "They have multiple endocrine neoplasia (MEN) 2A and MS; an MR image is normal.",
        "White blood cells 9,000; black, tarry stools; a white retina.",
        "Their mother and their uncle had gout. The treatment helped; there is hernia.",
    ],
)
def test_a_neutral_text_is_let_through(text):
    assert left_over_group(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "A pregnancy test is negative.",
        "Examination shows an enlarged prostate.",
        "PSA is 9 ng/mL.",
        "Menses are regular.",
        "An ovarian cyst is seen.",
        "The testes are descended.",
        "G2P1 at 32 weeks",
        "There is cervical motion tenderness.",
        "X-linked recessive",
    ],
)
def test_sex_specific_content_is_found(text):
    assert sex_specific_word(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Cervical lymph nodes are enlarged; the cervical spine is normal.",
        "Serum lactate and laboratory studies are normal; breathing is labored.",
        "Fetal hemoglobin is 2%.",
        "A penicillin was given. They collaborate.",
        "An outer layer; a recovery; the overall course.",
    ],
)
def test_other_content_is_not_excluded(text):
    assert sex_specific_word(text) is None
