"""One judgement as it came back, checked against the assignment and the rubric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from collectors.ratings.handed_out import HandedOut
from collectors.ratings.texts import mirrored
from fairstats.problems import Problem
from fairstats.ratings.rubrics import Question

#: A longer comment is no comment.
MAX_COMMENT = 20_000


@dataclass(frozen=True)
class Judgement:
    """What one rater says of one task.

    Parameters
    ----------
    path, row
        The file it came from, and where in it.
    task_id, rater_id : str
        Together the key of what was asked.
    values : Mapping[str, str]
        A value for each dimension, as if the answers had not been swapped; empty where there is a
        comment alone.
    comment : str
        May be empty.
    duration_s : float or None
        How long it took.
    """

    path: Path
    row: int
    task_id: str
    rater_id: str
    values: Mapping[str, str]
    comment: str = ""
    duration_s: float | None = None


def checked_judgement(
    handed_out: HandedOut,
    path: Path,
    row: int,
    *,
    assignment: str,
    rater_id: str,
    task_id: str,
    given: Mapping[str, str],
    comment: str,
    duration_s: float | None,
) -> tuple[Judgement | None, list[Problem]]:
    """The judgement of one row, or what is wrong with it; neither where nothing was filled in."""

    def wrong(message: str, remedy: str, column: str, value: str) -> Problem:
        return Problem(str(path), message, remedy, row, column, value)

    if assignment != handed_out.assignment:
        message = f"is of another assignment than {handed_out.path}"
        remedy = "name the folder that its form or sheet came from"
        return None, [wrong(message, remedy, "assignment", assignment)]
    asked = handed_out.key.get((task_id, rater_id))
    if asked is None:
        raters = {rater for _, rater in handed_out.key}
        if rater_id not in raters:
            remedy = "use the ids as they were handed out"
            return None, [wrong("is no rater of the assignment", remedy, "rater_id", rater_id)]
        message = f"is no task of the rater {rater_id}"
        return None, [wrong(message, "use the ids as they were handed out", "task_id", task_id)]
    if len(comment) > MAX_COMMENT:
        remedy = f"shorten it to {MAX_COMMENT:,} characters"
        return None, [wrong("is too long", remedy, "comment", comment)]
    values: dict[str, str] = {}
    unclear: set[str] = set()
    problems: list[Problem] = []
    for question in handed_out.rubric.questions if any(given.values()) else ():
        dimension, text = question.dimension, given.get(question.dimension, "")
        other, when = question.asked_if or ("", ())
        value = _value(question, text)
        asked_for = not other or values.get(other) in when
        if text and value is None:
            remedy = f"use one of {', '.join(question.values)}"
            problems.append(wrong("is no value of it", remedy, dimension, text))
        elif other in unclear:
            # Whether this was asked cannot be told; what is wrong stands there.
            unclear.add(dimension)
        elif not asked_for and value not in (None, question.otherwise):
            message = f"is asked only if {other} is {' or '.join(when)}"
            problems.append(wrong(message, f"empty it, or correct {other}", dimension, text))
        elif asked_for and value is None:
            remedy = "have the rater finish the task, or empty all of its values"
            problems.append(wrong("is empty in a partly filled task", remedy, dimension, ""))
        else:
            values[dimension] = value if value is not None else str(question.otherwise)
        if dimension not in values:
            unclear.add(dimension)
    if problems or not (values or comment):
        return None, problems
    if asked["swapped"] == "true":
        questions = {question.dimension: question for question in handed_out.rubric.questions}
        values = {name: mirrored(questions[name])[value] for name, value in values.items()}
    return Judgement(path, row, task_id, rater_id, values, comment, duration_s), []


def _value(question: Question, text: str) -> str | None:
    """A value that was written as itself or as its label, in any case of letters."""
    wanted = text.strip().casefold()
    names = {choice.label.casefold(): choice.value for choice in question.choices}
    names |= {choice.value: choice.value for choice in question.choices}
    return names.get(wanted)
