"""What a rubric says of values: was a question asked, and what if two answers change places."""

from __future__ import annotations

from collections.abc import Mapping

from fairstats._lib.problems import InputError, Problem
from fairstats.ratings.rubrics import Question, Rubric

_EXCHANGE = str.maketrans("12", "21")


def is_asked(question: Question, values: Mapping[str, str | None]) -> bool | None:
    """Whether a question is asked, by the values of those before it; None where nobody can tell.

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
    """What each value of a question becomes when the two answers change places.

    Raises
    ------
    InputError
        When the rubric does not tell, and when names and ``prefers`` of values tell different
        things: nothing is guessed.

    Notes
    -----
    The values that favour the one and the other answer are each other's mirror. Where there are
    several for each, they are a scale from most of one answer to most of the other, so that the
    first is the last one's mirror, and their names have to say the same: the two differ by 1 and 2
    alone. A value that favours neither answer stays what it is.

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
            # It may be a number that has nothing to do with the two answers, or mean one of them.
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
    """Refuse a rubric that cannot be asked with the answers on either side, before it is.

    Raises
    ------
    InputError
        As `mirrored`, and when a question is asked, or answered unasked, for one of the sides.
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
    """The values of a judgement whose rater saw the two answers the other way round.

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
