"""Read a judgement from a model's reply strictly, without guessing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairstats._lib.untrusted_json import distinct_names
from fairstats.asking.reply_patterns import without_thinking
from fairstats.ratings.collection.rubric_logic import is_asked
from fairstats.ratings.rubrics import Question, Rubric

Status = Literal["read", "incomplete", "contradictory", "unread"]
STATUSES: tuple[Status, ...] = ("read", "incomplete", "contradictory", "unread")


@dataclass(frozen=True)
class ReadReply:
    """The content of a reply.

    Parameters
    ----------
    values : Mapping[str, str or None]
        The value of each dimension; None if the reply does not give one.
    status : {"read", "incomplete", "contradictory", "unread"}
        Whether each question that was asked has a value; some have none; the reply violates the
        rubric's logic; or it does not have the requested form. In the last two cases there are no
        values.
    """

    values: Mapping[str, str | None]
    status: Status


def read_judgement(raw: str, rubric: Rubric) -> ReadReply:
    """Read a reply to `fairstats.ratings.collection.ask_prompts.rating_prompt`.

    Parameters
    ----------
    raw : str
        The unprocessed reply.
    rubric : Rubric
        The rubric of the prompt.

    Returns
    -------
    ReadReply

    Notes
    -----
    The reply contains one JSON object. Text around it, and unknown dimensions, are ignored. A value
    must be one of the question's, ignoring case; anything else is treated as missing. A question
    with an unmet condition has the rubric's value for that case. A reply with a different value
    contradicts itself. Since its intended meaning is unknown, the whole reply is discarded.

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
        asked = is_asked(question, values)
        if asked is None:
            value = None
        elif not asked:
            if value not in (None, question.otherwise):
                return ReadReply(nothing, "contradictory")
            value = question.otherwise
        complete = complete and value is not None
        values[question.dimension] = value
    if all(value is None for value in values.values()):
        return ReadReply(nothing, "unread")
    return ReadReply(values, "read" if complete else "incomplete")


def _json_object(text: str) -> dict[str, Any]:
    """Return the only JSON object in a text; empty if there is none, or more than one."""
    try:
        found = json.loads(
            text[text.index("{") : text.rindex("}") + 1], object_pairs_hook=distinct_names
        )
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _value(given: object, question: Question) -> str | None:
    value = given.strip().casefold() if isinstance(given, str) else None
    return value if value in question.values else None
