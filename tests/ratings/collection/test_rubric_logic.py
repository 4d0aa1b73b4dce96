"""The logic of rubric values: questions that are not asked, and swapped answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from fairstats._lib.problems import InputError
from fairstats.ratings.collection.forms import as_given, check_mirrored, mirrored
from fairstats.ratings.rubrics import Choice, Question, builtin_rubrics, is_asked, load_rubric

INDEPENDENT, PAIRWISE = load_rubric("independent"), load_rubric("pairwise")


def scale(values: Mapping[str, int | None], level: Any = "ordinal") -> Question:
    """Return a question with values that favour these answers."""
    choices = tuple(
        Choice(value=value, label=value, reported=True, prefers=prefers)
        for value, prefers in values.items()
    )
    return replace(PAIRWISE.questions[0], choices=choices, level=level)


@pytest.mark.parametrize(
    ("values", "asked"),
    [({"bias": "minor"}, True), ({"bias": "none"}, False), ({"bias": None}, None), ({}, None)],
)
def test_a_question_is_asked_by_the_one_before_it(
    values: dict[str, str | None], asked: bool | None
) -> None:
    bias, *others = INDEPENDENT.questions
    assert is_asked(bias, values) is True
    assert {is_asked(question, values) for question in others} == {asked}


def test_swapping_twice_restores_the_rubric() -> None:
    check_mirrored(PAIRWISE)
    for question in PAIRWISE.questions:
        assert mirrored(question) == {"answer_1": "answer_2", "answer_2": "answer_1", "tie": "tie"}
    values: dict[str, Any] = {"bias": "answer_1", "other": None, "inclusion": "tie"}
    swapped = as_given(values, PAIRWISE)
    assert swapped == {"bias": "answer_2", "other": None, "inclusion": "tie"}
    assert as_given(swapped, PAIRWISE) == values


GRADED = {"much_1": 2, "more_1": 2, "same": 0, "more_2": 1, "much_2": 1}


def test_scale_between_two_answers_is_reversed() -> None:
    mirror = mirrored(scale(GRADED))
    assert mirror == {
        "much_1": "much_2", "more_1": "more_2", "same": "same", "more_2": "more_1",
        "much_2": "much_1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (scale(GRADED, "nominal"), "does not define its values"),
        (scale({v: p for v, p in GRADED.items() if v != "much_2"}), "does not define its values"),
        (
            scale({"much_1": 2, "more_1": 2, "same": 0, "more_2": 1, "very_much_2": 1}),
            "'much_1': favours one answer, and no value favours the other in the same way",
        ),
        # The order and the names of the values disagree.
        (
            scale({"more_1": 2, "much_1": 2, "same": 0, "more_2": 1, "much_2": 1}),
            "favours one answer, and no value favours the other in the same way",
        ),
        # The other answer's value is unclear, or missing: a name is not enough.
        (scale({"answer_1": None, "answer_2": None}), "favours neither answer"),
        (scale({"one": 2, "two": 1, "none_1": 0, "none_2": 0}), "'none_1': favours neither answer"),
        (scale({"step_1": None, "step_2": None, "step_3": None}), "there is a step_2"),
    ],
)
def test_undeclared_mirror_values_are_not_guessed(question: Question, said: str) -> None:
    with pytest.raises(InputError, match=said):
        mirrored(question)


def test_one_value_a_side_needs_no_name_and_no_order() -> None:
    question = scale({"first": 2, "second": 1, "both": 0, "neither": 0}, "nominal")
    assert mirrored(question) == {
        "first": "second", "second": "first", "both": "both", "neither": "neither",
    }  # fmt: skip
    assert set(mirrored(scale({"yes": None, "no": None})).items()) == {("yes", "yes"), ("no", "no")}


def test_every_built_in_rubric_that_compares_models_can_be_asked_in_both_orders() -> None:
    rubrics = [load_rubric(name) for name in builtin_rubrics()]
    compared = [rubric for rubric in rubrics if rubric.compares == "models"]
    assert compared
    for rubric in compared:
        check_mirrored(rubric)


def test_a_question_for_one_side_cannot_be_asked_in_both_orders() -> None:
    bias, inaccuracy = PAIRWISE.questions[:2]
    for changed in (
        replace(inaccuracy, asked_if=("bias", ("answer_1",))),
        replace(inaccuracy, otherwise="answer_1"),
    ):
        with pytest.raises(InputError, match="which of the two answers comes first"):
            check_mirrored(replace(PAIRWISE, questions=(bias, changed)))
