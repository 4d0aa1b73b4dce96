"""A rubric's logic: whether a question is asked, and the effect of swapping two answers."""

from __future__ import annotations

from collections.abc import Mapping

from fairstats._lib.problems import InputError, Problem
from fairstats.ratings.rubrics import Question, Rubric

_EXCHANGE = str.maketrans("12", "21")


def is_asked(question: Question, values: Mapping[str, str | None]) -> bool | None:
    """Return whether a question is asked, given the earlier values; None if undetermined.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> stereotypes = load_rubric("independent").question("stereotypes")
    >>> is_asked(stereotypes, {"bias": "minor"}), is_asked(stereotypes, {"bias": "none"})
    (True, False)
    >>> is_asked(stereotypes, {"bias": None})
    """
    if question.asked_if is None:
        return True
    other, when = question.asked_if
    value = values.get(other)
    return None if value is None else value in when


def mirrored(question: Question) -> dict[str, str]:
    """Return the value that replaces each value of a question if the two answers are swapped.

    Raises
    ------
    InputError
        If the rubric does not determine it, or names and ``prefers`` of values contradict each
        other; nothing is guessed.

    Notes
    -----
    The values that favour one answer mirror those that favour the other. If there are several for
    each, they form a scale from one answer to the other: the first mirrors the last. Their names
    have to agree, i.e. differ only by 1 and 2. A value that favours neither answer does not change.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> mirrored(load_rubric("pairwise").question("bias"))
    {'answer_1': 'answer_2', 'answer_2': 'answer_1', 'tie': 'tie'}
    """

    def wrong(message: str, remedy: str, value: str | None = None) -> InputError:
        return InputError(
            [Problem("rubric", message, remedy, column=question.dimension, value=value)]
        )

    first, second = (
        [choice.value for choice in question.choices if choice.prefers == answer]
        for answer in (1, 2)
    )
    if len(first) != len(second) or (len(first) > 1 and question.level != "ordinal"):
        raise wrong(
            "does not define its values with the answers swapped",
            "give both sides the same number of values, in order from one to the other (level "
            "ordinal)",
        )
    pairs = dict(zip(first, reversed(second), strict=True))
    mirror = {value: value for value in question.values}
    mirror |= pairs | {there: here for here, there in pairs.items()}
    for value, other in mirror.items():
        named = value.translate(_EXCHANGE)
        told = named != value and named in mirror
        if value == other and told:
            # It may be a number unrelated to the two answers, or mean one of them.
            message = f"favours neither answer, although there is a {named}"
            raise wrong(message, "give it `prefers`, or a name without 1 and 2", value)
        if value != other and named != other and (told or len(first) > 1):
            message = "favours one answer, and no value favours the other in the same way"
            remedy = (
                "give the two names that differ only in 1 and 2, e.g. much_more_1 and much_more_2"
            )
            raise wrong(message, remedy, value)
    return mirror


def check_mirrored(rubric: Rubric) -> None:
    """Refuse a rubric that cannot be used with the answers on either side, before it is used.

    Raises
    ------
    InputError
        As `mirrored`, and if a question is asked, or has a default value, for only one of the
        sides.
    """
    for question in rubric.questions:
        own = mirrored(question)
        if question.asked_if is None:
            continue
        other, when = question.asked_if
        there = mirrored(rubric.question(other))
        unasked = str(question.otherwise)
        if {there[value] for value in when} != {*when} or own[unasked] != unasked:
            message = "depends on which of the two answers comes first"
            remedy = "define it in the same way for both sides"
            raise InputError([Problem("rubric", message, remedy, column=question.dimension)])


def as_given(values: Mapping[str, str | None], rubric: Rubric) -> dict[str, str | None]:
    """Return the values of a judgement with the two answers in their original order.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> as_given({"bias": "answer_1", "other": "tie"}, load_rubric("pairwise"))
    {'bias': 'answer_2', 'other': 'tie'}
    """
    return {
        dimension: None if value is None else mirrored(rubric.question(dimension))[value]
        for dimension, value in values.items()
    }
