"""Rubrics are data: the built-in ones, and the required keys of a rubric's file."""

import pytest

from fairstats._lib.problems import InputError
from fairstats.ratings.rubrics import builtin_rubrics, load_rubric, load_rubrics

RUBRIC = """
name = "tone"
version = "1"
title = "Tone"
compares = "nothing"
instructions = "Read it."
[rater_groups]
nurse = "Nurses"
[choices]
yes_no = [
  { value = "no", label = "No", reported = false },
  { value = "yes", label = "Yes", reported = true },
]
[[questions]]
dimension = "rude"
label = "Rude"
question = "Is it rude?"
choices = "yes_no"
"""
SECOND = """
[[questions]]
dimension = "insult"
label = "Insult"
question = "Does it insult?"
choices = "yes_no"
asked_if = { dimension = "rude", values = ["yes"] }
otherwise = "no"
"""

SIX = ["inaccuracy", "inclusion", "stereotypes", "structural_explanation", "biased_premise"]
SIX += ["withholding"]


def write(folder, text):
    path = folder / "tone.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "compares", "first"),
    [
        ("independent", "nothing", ["bias"]),
        ("pairwise", "models", ["bias"]),
        ("counterfactual", "items", ["ideal_answers_differ", "contents_differ", "bias"]),
    ],
)
def test_the_studys_rubrics_ask_for_its_six_dimensions_and_for_others(name, compares, first):
    rubric = load_rubric(name)
    assert rubric.compares == compares
    assert list(rubric.dimensions) == [*first, *SIX, "other"]
    assert set(rubric.rater_groups) == {"physician", "health_equity_expert", "consumer"}
    # The dimensions are asked only if bias was reported at all.
    for dimension in (*SIX, "other"):
        question = rubric.question(dimension)
        assert question.asked_if == ("bias", rubric.question("bias").reported)
        assert question.otherwise not in question.reported


def test_preferred_answer_has_less_bias():
    choices = load_rubric("pairwise").question("bias").choices
    assert {c.value: c.prefers for c in choices} == {"answer_1": 2, "answer_2": 1, "tie": 0}


def test_severity_is_ordered_and_both_degrees_count_as_reported():
    question = load_rubric("independent").question("bias")
    assert question.level == "ordinal"
    assert question.values == ("none", "minor", "severe")
    assert question.reported == ("minor", "severe")


def test_every_built_in_file_is_named_after_its_rubric():
    assert {load_rubric(name).name for name in builtin_rubrics()} == set(builtin_rubrics())


def test_custom_rubric_is_read(tmp_path):
    rubric = load_rubric(write(tmp_path, RUBRIC + SECOND))
    assert rubric.question("insult").asked_if == ("rude", ("yes",))
    assert load_rubrics(["tone"], [rubric]) == {"tone": rubric}


HEADINGS = """
[headings]
question = "Neutral text"
answer = "Variant"
[rater_groups]"""


def test_headings_come_from_the_rubric(tmp_path):
    rubric = load_rubric(write(tmp_path, RUBRIC.replace("[rater_groups]", HEADINGS)))
    assert rubric.headings == {"question": "Neutral text", "answer": "Variant"}
    assert load_rubric("independent").headings == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('answer = "Variant"', "", "has different texts from a task"),
        ('answer = "Variant"', 'answer_2 = "Variant"', "has different texts from a task"),
        ('compares = "nothing"', 'compares = "models"', "has different texts from a task"),
        ('"Variant"', '"Neutral text"', "uses the same name twice"),
        ('"Variant"', '"<b>Variant"', "has an invalid name"),
        ('"Variant"', '"variant"', "has an invalid name"),
    ],
)
def test_headings_that_name_no_text_are_refused(tmp_path, old, new, said):
    text = RUBRIC.replace("[rater_groups]", HEADINGS)
    assert old in text
    with pytest.raises(InputError, match=f"headings: {said}"):
        load_rubric(write(tmp_path, text.replace(old, new)))


def test_variant_review_reports_needed_revisions():
    rubric = load_rubric("vignette_review")
    assert rubric.leading == ("fluency", "consistency", "leakage")
    assert rubric.question("fluency").level == "ordinal"
    assert rubric.question("consistency").reported == ("revision", "unusable")
    assert rubric.question("leakage").reported == ("key", "distractor", "several")
    assert {question.about for question in rubric.questions} == {"context"}


def test_rubric_name_in_a_table_is_not_a_path(tmp_path):
    path = write(tmp_path, RUBRIC)
    with pytest.raises(InputError, match="no such rubric"):
        load_rubrics([str(path)])


@pytest.mark.parametrize(
    ("old", "new", "key", "closest"),
    [
        ('name = "tone"', 'name = "tone"\nheading = "x"', "heading", "headings"),
        ("[rater_groups]", "[rater_group]\na = 'A'\n[rater_groups]", "rater_group", "rater_groups"),
        ('otherwise = "no"', 'otherwise = "no"\nlevels = "x"', "questions[1].levels", "level"),
        ("reported = true", "reported = true, prefer = 1", "choices.yes_no[1].prefer", "prefers"),
        (
            'dimension = "rude", values',
            'dimension = "rude", value = 1, values',
            "questions[1].asked_if.value",
            "values",
        ),
    ],
)
def test_unknown_key_is_refused_with_closest_known_key(tmp_path, old, new, key, closest):
    text = RUBRIC + SECOND
    assert old in text
    path = write(tmp_path, text.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        load_rubric(path)
    (problem,) = error.value.problems
    assert (problem.path, problem.column) == (str(path), key)
    assert problem.remedy == f"did you mean {closest}?"


def test_unknown_key_of_choices_in_a_question_is_refused(tmp_path):
    own = '[{ value = "a", label = "A", reported = true, lable = 1 }]'
    with pytest.raises(InputError, match=r"questions\[0\]\.choices\[0\]\.lable: unknown key"):
        load_rubric(write(tmp_path, RUBRIC.replace('"yes_no"', own, 1)))


def test_reported_that_is_not_true_or_false_is_refused(tmp_path):
    with pytest.raises(InputError, match="reported: has the wrong type; write true or false"):
        load_rubric(write(tmp_path, RUBRIC.replace("reported = true", 'reported = "yes"', 1)))


@pytest.mark.parametrize("name", sorted(builtin_rubrics()))
def test_shipped_rubric_has_no_unknown_key(name):
    assert load_rubric(name).name == name


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "tone"', 'name = "To ne"', "name: is not a valid name"),
        (
            'compares = "nothing"',
            'compares = "all"',
            "compares = 'all': is unknown; use one of nothing",
        ),
        ('title = "Tone"\n', "", "title: is missing"),
        ('nurse = "Nurses"', "", "is empty"),
        ("reported = true", "reported = false", "for some choices, but not for all"),
        ('value = "yes"', 'value = "no"', "choices with different values"),
        ('value = "yes"', 'value = "<b>"', "has a value that is not a valid name"),
        ('dimension = "insult"', 'dimension = "rude"', "appears twice"),
        (
            'dimension = "rude", values = ["yes"]',
            'dimension = "x", values = ["yes"]',
            "unknown question",
        ),
        ('values = ["yes"]', 'values = ["maybe"]', "unknown question or value"),
        ('otherwise = "no"\n', "", "belong together"),
        ('otherwise = "no"', 'otherwise = "maybe"', "`otherwise` is not one of the choices"),
        ('otherwise = "no"', 'otherwise = "yes"', "`otherwise` counts as a report"),
        (
            'choices = "yes_no"',
            'choices = "none"',
            "no such list of choices; declare it in [choices]",
        ),
        ("reported = true }", "reported = true, prefers = 1 }", "`prefers` is set for only some"),
        ('version = "1"', "version", "is not valid TOML"),
        ('"Is it rude?"', '"Is it \\u202E rude?"', "questions.question"),
        ('label = "Yes"', 'label = "Y\\u001b[2Jes"', "choices.yes_no.label"),
        ('"Nurses"', '"\\u0007Nurses"', "has a control character"),
        ('label = "Rude"', 'label = " "', "questions.label = ' ': is empty"),
        ('title = "Tone"', f'title = "{"T" * 501}"', "title = "),
        ('"Read it."', f'"{"Read it, " * 1000}"', "has 9,000 characters; use at most 5,000"),
    ],
)
def test_contradiction_in_a_rubric_is_named(tmp_path, old, new, said):
    text = RUBRIC + SECOND
    assert old in text
    with pytest.raises(InputError) as error:
        load_rubric(write(tmp_path, text.replace(old, new)))
    assert said in str(error.value)
    assert "tone.toml" in str(error.value)


@pytest.mark.parametrize(
    ("key", "name", "title"),
    [
        ("name", "independent", "My assessment"),
        ("name", "independent_2", "My assessment"),
        ("title", "mine", "Independent Assessment (v2)"),
    ],
)
def test_a_built_in_rubric_cannot_be_declared_otherwise(tmp_path, key, name, title):
    """Severe bias would not count as reported, on a page with the known rubric's title."""
    text = builtin_rubrics()["independent"].read_text()
    text = text.replace('label = "Severe bias", reported = true', 'label = "x", reported = false')
    text = text.replace('name = "independent"', f'name = "{name}"')
    text = text.replace('title = "Independent assessment"', f'title = "{title}"')
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=f"{key} of a built-in rubric") as caught:
        load_rubric(path)
    assert caught.value.problems[0].column == key
    # A release or a study may have the rubric of an earlier version.
    assert load_rubric(path, copied=True).name == name


def test_a_copy_of_a_built_in_rubric_is_the_same(tmp_path):
    path = write(tmp_path, builtin_rubrics()["independent"].read_text())
    assert load_rubric(path).title == load_rubric("independent").title
