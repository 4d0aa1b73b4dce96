"""One returned file: an export of a form, or a filled sheet, checked against the assignment."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from fairstats._lib.problems import InputError, Problem, first_of, input_error, refuse
from fairstats._lib.records import importable_files, json_value, separator_of
from fairstats._lib.untrusted_files import read_once
from fairstats._lib.untrusted_tables import encoding_of, not_csv, repeated_columns
from fairstats.ratings.collection.assignment import HandedOut
from fairstats.ratings.collection.forms import (
    EXPORT_VERSION,
    MAX_COMMENT,
    RESERVED,
    as_given,
    text_columns,
)
from fairstats.ratings.files import EXPORT_FORMAT, SHEET_COLUMNS
from fairstats.ratings.rubrics import Question, is_asked


@dataclass(frozen=True)
class Judgement:
    """One rater's judgement of one task: a row of an export or a sheet.

    Parameters
    ----------
    path, row
        The source file, and the position in it.
    assignment, rater_id, task_id : str
        Together the key of the assigned judgement.
    values : Mapping[str, str | None]
        As written, the entry for each dimension, missing or an empty text if not filled in. Once
        checked, a value for each dimension, as if the answers had not been swapped; empty if there
        is only a comment, or only part of the answers.
    comment : str
        May be empty.
    duration_s : float or None
        The duration.
    partial : bool
        Whether the rater was informed that these answers are incomplete and do not count.
    """

    path: Path
    row: int
    assignment: str
    rater_id: str
    task_id: str
    values: Mapping[str, str | None]
    comment: str
    duration_s: float | None = None
    partial: bool = False


def checked_judgements(
    handed_out: HandedOut, entries: Iterable[Judgement], problems: Iterable[Problem] = ()
) -> list[Judgement]:
    """Return the judgements of a file; empty ones are left out."""
    found: list[tuple[Judgement, Problem]] = []
    judgements = []
    for entry in entries:
        judgement, wrong = _checked(entry, handed_out)
        found += [(entry, problem) for problem in wrong]
        if judgement is not None:
            judgements.append(judgement)
    refuse([*problems, *_naming_tasks(found)])
    return judgements


def about_tasks(task_ids: Sequence[str], rater_id: str) -> str:
    """Describe the tasks of a problem, so that it can be passed on to the rater.

    Examples
    --------
    >>> about_tasks(["t1"], "P1"), about_tasks(["t1", "t2", "t3", "t4"], "P1")
    ('task t1 of P1', 'tasks t1, t2, t3 and 1 more of P1')
    """
    return f"task{'s' if task_ids[1:] else ''} {first_of(task_ids)} of {rater_id}"


def _naming_tasks(found: Sequence[tuple[Judgement, Problem]]) -> list[Problem]:
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


def _checked(entry: Judgement, handed_out: HandedOut) -> tuple[Judgement | None, list[Problem]]:
    """Return a judgement with its values, or its errors; neither if it is empty."""

    def wrong(message: str, remedy: str, column: str, value: str) -> Problem:
        return Problem(str(entry.path), message, remedy, row=entry.row, column=column, value=value)

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
    answered = any(entry.values.values()) and not entry.partial
    for question in handed_out.rubric.questions if answered else ():
        dimension, text = question.dimension, entry.values.get(question.dimension) or ""
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
        problems.append(Problem(str(entry.path), message, remedy, row=entry.row))
    if problems or not (values or entry.comment or entry.partial):
        return None, problems
    if asked["swapped"] == "true":
        values = as_given(values, handed_out.rubric)
    return replace(entry, values=values), []


def _value(question: Question, text: str) -> str | None:
    """Return the value written as itself or as its label, ignoring case."""
    wanted = text.strip().casefold()
    names = {choice.label.casefold(): choice.value for choice in question.choices}
    names |= {choice.value: choice.value for choice in question.choices}
    return names.get(wanted)


_MAX_BYTES = 64 * 2**20
#: Longer than any session, and the limit of the ratings table.
_MOST_SECONDS = 1e7
# Partly answered tasks are separate from judgements, so that nothing is lost.
_LISTS = ("judgements", "partial")
_ENTRIES = ("task_id", "answers", "comment", "duration_s")


def read_export(path: Path, handed_out: HandedOut) -> list[Judgement]:
    """Return the judgements of an export.

    Raises
    ------
    InputError
        If it is not an export of a form, or is for another assignment. Also with a problem for each
        judgement that is partly filled without being marked as such, or has values unknown to the
        rubric.
    """
    (path,) = importable_files(path, None, (".json",), _MAX_BYTES)
    export = json_value(path)
    refuse(_wrong_layout(export, path))
    entries: list[Judgement] = []
    problems = []
    for name in _LISTS:
        for number, entry in enumerate(export.get(name, []), start=1):
            if wrong := list(_wrong_entry(entry, handed_out, path, number, name)):
                about = _about(entry, export["rater_id"])
                problems += [replace(one, message=f"{one.message}{about}") for one in wrong]
                continue
            entries.append(
                Judgement(
                    path,
                    number,
                    export["assignment"],
                    export["rater_id"],
                    entry["task_id"],
                    values=entry["answers"],
                    comment=entry["comment"].strip(),
                    duration_s=entry["duration_s"],
                    partial=name == "partial",
                )
            )
    return checked_judgements(handed_out, entries, problems)


def _about(entry: Any, rater_id: str) -> str:
    task_id = entry.get("task_id") if isinstance(entry, dict) else None
    return f" ({about_tasks([task_id], rater_id)})" if isinstance(task_id, str) else ""


def _wrong_layout(export: Any, path: Path) -> Iterator[Problem]:
    remedy = "use the exported file without changes"
    if not isinstance(export, dict) or export.get("format") != EXPORT_FORMAT:
        yield Problem(str(path), "is not an export of a form", remedy)
        return
    if export.get("version") != EXPORT_VERSION:
        value = str(export.get("version"))
        newer = "import it with the version of fairstats that wrote the form"
        yield Problem(str(path), "is unknown", newer, column="version", value=value)
    kinds = {"assignment": str, "rater_id": str} | dict.fromkeys(_LISTS, list)
    for name, kind in kinds.items():
        # Forms of earlier versions had no list of partial answers.
        if not isinstance(export.get(name, [] if name == "partial" else None), kind):
            yield Problem(str(path), "is missing or has the wrong type", remedy, column=name)


def _wrong_entry(
    entry: Any, handed_out: HandedOut, path: Path, number: int, name: str
) -> Iterator[Problem]:
    wrong = partial(Problem, str(path), remedy="use the exported file without changes", row=number)
    if not isinstance(entry, dict) or not {*_ENTRIES} <= {*entry}:
        yield wrong(f"is not a judgement with {', '.join(_ENTRIES)}", column=name)
        return
    answers, duration = entry["answers"], entry["duration_s"]
    if not isinstance(entry["task_id"], str) or not isinstance(entry["comment"], str):
        yield wrong("is not text", column="task_id, comment")
    number_given = isinstance(duration, int | float) and not isinstance(duration, bool)
    if not number_given or not (math.isfinite(duration) and 0 <= duration <= _MOST_SECONDS):
        yield wrong("is not a time", column="duration_s", value=str(duration))
    if not isinstance(answers, dict) or not all(isinstance(v, str) for v in answers.values()):
        yield wrong("is not a set of answers", column="answers")
        return
    for dimension in answers:
        if dimension not in handed_out.rubric.dimensions:
            message = f"is not a dimension of the rubric {handed_out.rubric.name}"
            yield wrong(message, column=dimension)


def read_sheet(path: Path, handed_out: HandedOut) -> list[Judgement]:
    """Return the judgements of a filled sheet; rows without values are left out.

    Raises
    ------
    InputError
        With a problem for each row that belongs to another assignment or rater, is partly filled,
        or has a value unknown to the rubric.
    """
    (path,) = importable_files(path, None, (".csv",), _MAX_BYTES)
    header, rows = _rows(path)
    dimensions = handed_out.rubric.dimensions
    if not {*SHEET_COLUMNS} & {*header}:
        message = f"is not a sheet: it needs the columns {', '.join(SHEET_COLUMNS)}"
        raise input_error(path, message, "remove it")
    problems = [
        Problem(str(path), "the column is missing", "use the sheet of the assignment", column=name)
        for name in (*SHEET_COLUMNS, *dimensions, "comment")
        if name not in header
    ] + [
        Problem(str(path), "unknown column", "delete it, or use the comment column", column=name)
        for name in header
        if name not in (*RESERVED, *text_columns(handed_out.rubric), *dimensions)
    ]
    refuse(problems)
    entries = (
        Judgement(
            path,
            number,
            row["assignment"],
            row["rater_id"],
            row["task_id"],
            values={dimension: row[dimension] for dimension in dimensions},
            comment=row["comment"],
        )
        for number, row in rows
        if any(row.values())
    )
    return checked_judgements(handed_out, entries)


def _rows(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the header and the numbered rows; in many countries, spreadsheets write semicolons."""
    try:
        with path.open(encoding=encoding_of(read_once(path)), newline="") as file:
            lines = list(csv.reader(file, delimiter=separator_of(file), strict=True))
    except (UnicodeError, csv.Error) as error:
        raise InputError([not_csv(path, error)]) from None
    if not lines:
        raise input_error(path, "the file is empty", "remove it")
    header = [name.strip().lstrip("\ufeff") for name in lines[0]]
    while header and not header[-1]:
        header.pop()
    problems = repeated_columns(header, str(path)) + [
        Problem(
            str(path),
            "has more cells than the header",
            "use the sheet with its original columns",
            row=number,
        )
        for number, cells in enumerate(lines[1:], start=1)
        if any(cell.strip() for cell in cells[len(header) :])
    ]
    refuse(problems)
    rows = []
    for number, cells in enumerate(lines[1:], start=1):
        filled = [cell.strip() for cell in cells] + [""] * (len(header) - len(cells))
        rows.append((number, dict(zip(header, filled, strict=False))))
    return header, rows
