"""Exports of a form: one JSON file with a rater's judgements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairstats._lib.json_csv_records import importable_files, json_value
from fairstats._lib.problems import InputError, Problem
from fairstats.ratings.collection.assignment_folder import HandedOut
from fairstats.ratings.collection.form import EXPORT_VERSION
from fairstats.ratings.collection.judgements import (
    Entry,
    Judgement,
    about_tasks,
    checked_judgements,
)
from fairstats.ratings.files import EXPORT_FORMAT

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
    if problems := list(_wrong_layout(export, path)):
        raise InputError(problems)
    entries: list[Entry] = []
    problems = []
    for name in _LISTS:
        for number, entry in enumerate(export.get(name, []), start=1):
            if wrong := list(_wrong_entry(entry, handed_out, path, number, name)):
                about = _about(entry, export["rater_id"])
                problems += [replace(one, message=f"{one.message}{about}") for one in wrong]
                continue
            entries.append(
                Entry(
                    number,
                    assignment=export["assignment"],
                    rater_id=export["rater_id"],
                    task_id=entry["task_id"],
                    given=entry["answers"],
                    comment=entry["comment"].strip(),
                    duration_s=entry["duration_s"],
                    partial=name == "partial",
                )
            )
    return checked_judgements(handed_out, path, entries, problems)


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
    remedy = "use the exported file without changes"
    if not isinstance(entry, dict) or not {*_ENTRIES} <= {*entry}:
        message = f"is not a judgement with {', '.join(_ENTRIES)}"
        yield Problem(str(path), message, remedy, row=number, column=name)
        return
    answers, duration = entry["answers"], entry["duration_s"]
    if not isinstance(entry["task_id"], str) or not isinstance(entry["comment"], str):
        yield Problem(str(path), "is not text", remedy, row=number, column="task_id, comment")
    number_given = isinstance(duration, int | float) and not isinstance(duration, bool)
    if not number_given or not (math.isfinite(duration) and 0 <= duration <= _MOST_SECONDS):
        yield Problem(
            str(path), "is not a time", remedy, row=number, column="duration_s", value=str(duration)
        )
    if not isinstance(answers, dict) or not all(isinstance(v, str) for v in answers.values()):
        yield Problem(str(path), "is not a set of answers", remedy, row=number, column="answers")
        return
    for dimension in answers:
        if dimension not in handed_out.rubric.dimensions:
            message = f"is not a dimension of the rubric {handed_out.rubric.name}"
            yield Problem(str(path), message, remedy, row=number, column=dimension)
