"""Returned judgements, checked against the assignment and the rubric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairstats._lib.problems import InputError, Problem, first_of
from fairstats.ratings.collection.assignment_folder import HandedOut
from fairstats.ratings.collection.rubric_logic import as_given, is_asked
from fairstats.ratings.rubrics import Question

#: Longer comments are refused.
MAX_COMMENT = 20_000


@dataclass(frozen=True)
class Entry:
    """The unprocessed content of one row of an export or a sheet.

    Parameters
    ----------
    row : int
        Its position in the file.
    assignment, rater_id, task_id : str
        The task and the rater.
    given : Mapping[str, str]
        The entry for each dimension; missing, or an empty text, if not filled in.
    comment : str
        May be empty.
    duration_s : float or None
        The duration.
    partial : bool
        Whether the rater was informed that these answers are incomplete and do not count.
    """

    row: int
    assignment: str
    rater_id: str
    task_id: str
    given: Mapping[str, str]
    comment: str
    duration_s: float | None = None
    partial: bool = False


@dataclass(frozen=True)
class Judgement:
    """One rater's judgement of one task.

    Parameters
    ----------
    path, row
        The source file, and the position in it.
    task_id, rater_id : str
        Together the key of the assigned judgement.
    values : Mapping[str, str | None]
        A value for each dimension, as if the answers had not been swapped; empty if there is only a
        comment, or only part of the answers.
    comment : str
        May be empty.
    duration_s : float or None
        The duration.
    partial : bool
        Whether only part of the answers is given.
    """

    path: Path
    row: int
    task_id: str
    rater_id: str
    values: Mapping[str, str | None]
    comment: str = ""
    duration_s: float | None = None
    partial: bool = False


def checked_judgements(
    handed_out: HandedOut, path: Path, entries: Iterable[Entry], problems: Iterable[Problem] = ()
) -> list[Judgement]:
    """Return the judgements of a file; empty entries are left out.

    Raises
    ------
    InputError
        With these problems, and one for every error in an entry.
    """
    found: list[tuple[Entry, Problem]] = []
    judgements = []
    for entry in entries:
        judgement, wrong = _checked(entry, handed_out, path)
        found += [(entry, problem) for problem in wrong]
        if judgement is not None:
            judgements.append(judgement)
    if problems := [*problems, *_naming_tasks(found)]:
        raise InputError(problems)
    return judgements


def about_tasks(task_ids: Sequence[str], rater_id: str) -> str:
    """Describe the tasks of a problem, so that it can be passed on to the rater.

    Examples
    --------
    >>> about_tasks(["t1"], "P1"), about_tasks(["t1", "t2", "t3", "t4"], "P1")
    ('task t1 of P1', 'tasks t1, t2, t3 and 1 more of P1')
    """
    return f"task{'s' if task_ids[1:] else ''} {first_of(task_ids)} of {rater_id}"


def _naming_tasks(found: Sequence[tuple[Entry, Problem]]) -> list[Problem]:
    """Add tasks to the problems; the same error in many rows stays one line."""
    alike: dict[tuple[Problem, str], list[str]] = defaultdict(list)
    for entry, problem in found:
        alike[replace(problem, row=None), entry.rater_id].append(entry.task_id)
    named = []
    for entry, problem in found:
        tasks = alike[replace(problem, row=None), entry.rater_id]
        about = about_tasks(tasks if len(tasks) > 3 else [entry.task_id], entry.rater_id)
        named.append(replace(problem, message=f"{problem.message} ({about})"))
    return named


def _checked(
    entry: Entry, handed_out: HandedOut, path: Path
) -> tuple[Judgement | None, list[Problem]]:
    """Return the judgement of an entry, or its errors; neither if it is empty."""

    def wrong(message: str, remedy: str, column: str, value: str) -> Problem:
        return Problem(str(path), message, remedy, row=entry.row, column=column, value=value)

    rater_id, task_id = entry.rater_id, entry.task_id
    if entry.assignment != handed_out.assignment:
        message = f"belongs to a different assignment than {handed_out.path}"
        remedy = "give the folder that its form or sheet came from"
        return None, [wrong(message, remedy, "assignment", entry.assignment)]
    asked = handed_out.key.get((task_id, rater_id))
    if asked is None:
        remedy = "use the ids of the assignment"
        if rater_id not in {rater for _, rater in handed_out.key}:
            return None, [wrong("is not a rater of the assignment", remedy, "rater_id", rater_id)]
        return None, [wrong("is not a task of this rater", remedy, "task_id", task_id)]
    if len(entry.comment) > MAX_COMMENT:
        remedy = f"shorten it to {MAX_COMMENT:,} characters"
        return None, [wrong("is too long", remedy, "comment", entry.comment)]
    values: dict[str, str | None] = {}
    problems: list[Problem] = []
    lacking: list[str] = []
    answered = any(entry.given.values()) and not entry.partial
    for question in handed_out.rubric.questions if answered else ():
        dimension, text = question.dimension, entry.given.get(question.dimension, "")
        value, asked_for = _value(question, text), is_asked(question, values)
        if text and value is None:
            remedy = f"use one of {', '.join(question.values)}"
            problems.append(wrong("is not a value of this dimension", remedy, dimension, text))
        elif asked_for is None:
            continue  # The error is reported at the question on which it depends.
        elif not asked_for and value not in (None, question.otherwise):
            other, when = question.asked_if or ("", ())
            message = f"applies only if {other} is {' or '.join(when)}"
            problems.append(wrong(message, f"leave it empty, or correct {other}", dimension, text))
        elif asked_for and value is None:
            lacking.append(dimension)
        else:
            values[dimension] = value or question.otherwise
    if lacking:
        remedy = "ask the rater to finish the task, or delete all of its values"
        message = f"is incomplete: {', '.join(lacking)} missing"
        problems.append(Problem(str(path), message, remedy, row=entry.row))
    if problems or not (values or entry.comment or entry.partial):
        return None, problems
    if asked["swapped"] == "true":
        values = as_given(values, handed_out.rubric)
    judgement = Judgement(
        path, entry.row, task_id, rater_id, values, entry.comment, entry.duration_s, entry.partial
    )
    return judgement, []


def _value(question: Question, text: str) -> str | None:
    """Return the value written as itself or as its label, ignoring case."""
    wanted = text.strip().casefold()
    names = {choice.label.casefold(): choice.value for choice in question.choices}
    names |= {choice.value: choice.value for choice in question.choices}
    return names.get(wanted)
