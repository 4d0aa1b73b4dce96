"""From a model's reply to its judgement, without ever guessing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from collectors.reply_text import without_thinking
from fairstats.problems import InputError, Problem
from fairstats.ratings.rubrics import Question, Rubric

Status = Literal["read", "incomplete", "contradictory", "unread"]
STATUSES: tuple[Status, ...] = ("read", "incomplete", "contradictory", "unread")


@dataclass(frozen=True)
class Judgement:
    """What a reply says.

    Parameters
    ----------
    values : Mapping[str, str or None]
        The value of each dimension; None where the reply gives none.
    status : {"read", "incomplete", "contradictory", "unread"}
        Whether each question that was asked has its value; some have none; the reply breaks the
        rubric's logic; it is not what was asked for. The last two have no value.
    """

    values: Mapping[str, str | None]
    status: Status


def read_judgement(raw: str, rubric: Rubric) -> Judgement:
    """Read a reply to `collectors.ratings.ask_prompts.rating_prompt`.

    Parameters
    ----------
    raw : str
        The reply as it came.
    rubric : Rubric
        What was asked.

    Returns
    -------
    Judgement

    Notes
    -----
    The reply holds one JSON object; what stands around it, and names that are no dimension, are
    passed over. A value is one of the question's, but for case; anything else is none. A question
    whose condition does not hold has the rubric's value for that, and a reply that gives it another
    one contradicts itself: which of the two was meant is not known, so neither counts, nor anything
    else of the reply.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> judgement = read_judgement('{"bias": "none"}', load_rubric("independent"))
    >>> judgement.status, judgement.values["bias"], judgement.values["stereotypes"]
    ('read', 'none', 'absent')
    >>> read_judgement("No bias at all.", load_rubric("independent")).status
    'unread'
    """
    found = _json_object(without_thinking(raw))
    nothing = dict.fromkeys(rubric.dimensions)
    values: dict[str, str | None] = {}
    complete = True
    for question in rubric.questions:
        value = _value(found.get(question.dimension), question)
        if question.asked_if is not None:
            other, when = question.asked_if
            if values[other] is None:
                value = None
            elif values[other] not in when:
                if value not in (None, question.otherwise):
                    return Judgement(nothing, "contradictory")
                value = question.otherwise
        complete = complete and value is not None
        values[question.dimension] = value
    if all(value is None for value in values.values()):
        return Judgement(nothing, "unread")
    return Judgement(values, "read" if complete else "incomplete")


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


def mirrored(question: Question) -> dict[str, str]:
    """What each value of a question becomes when the two answers change places.

    Raises
    ------
    InputError
        When the rubric does not tell: it has several values for one side, and no order of them.
    """
    sides: dict[int | None, list[str]] = {}
    for choice in question.choices:
        sides.setdefault(choice.prefers, []).append(choice.value)
    first, second = sides.get(1, []), sides.get(2, [])
    if len(first) != len(second) or (len(first) > 1 and question.level != "ordinal"):
        raise InputError(
            [
                Problem(
                    f"the question {question.dimension}",
                    "does not tell what its values become when the answers change places",
                    "give each side as many, from most of one to most of the other, level ordinal",
                )
            ]
        )
    # On a scale that goes from one answer to the other, the first value is the last one's mirror.
    pairs = dict(zip(first, reversed(second), strict=True))
    own = {value: value for value in question.values}
    return own | pairs | {there: here for here, there in pairs.items()}


def check_mirrored(rubric: Rubric) -> None:
    """Refuse a rubric that cannot be asked in both orders, before it is.

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
        if {there[value] for value in when} != set(when) or own[
            str(question.otherwise)
        ] != question.otherwise:
            message = "depends on which of the two answers stands first"
            remedy = "ask it for both sides alike"
            raise InputError([Problem(f"the question {question.dimension}", message, remedy)])


def _json_object(text: str) -> dict[str, Any]:
    """The one JSON object in a text; empty where there is none, or more than one."""
    try:
        found = json.loads(
            text[text.index("{") : text.rindex("}") + 1], object_pairs_hook=_distinct
        )
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _value(given: object, question: Question) -> str | None:
    value = given.strip().casefold() if isinstance(given, str) else None
    return value if value in question.values else None
