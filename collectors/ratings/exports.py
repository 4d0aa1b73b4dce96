"""What a form exports: one JSON file of a rater's judgements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collectors.import_files import importable_files, json_value
from collectors.ratings.form import EXPORT_FORMAT, EXPORT_VERSION
from collectors.ratings.handed_out import HandedOut
from collectors.ratings.judgements import Judgement, checked_judgement
from fairstats.problems import InputError, Problem

_MAX_BYTES = 64 * 2**20
#: Longer than any sitting; the ratings table takes no more either.
_MOST_SECONDS = 1e7
_ENTRIES = ("task_id", "answers", "comment", "duration_s")


def read_export(path: Path, handed_out: HandedOut) -> list[Judgement]:
    """The judgements of an export.

    Raises
    ------
    InputError
        When it is no export of a form, or of another assignment, and with a problem for each
        judgement that is partly filled or holds what the rubric does not know.
    """
    (path,) = importable_files(path, lambda _: (), (".json",), _MAX_BYTES)
    export = json_value(path)
    if problems := list(_wrong_layout(export, path)):
        raise InputError(problems)
    judgements = []
    problems = []
    for number, entry in enumerate(export["judgements"], start=1):
        if wrong := list(_wrong_entry(entry, handed_out, path, number)):
            problems += wrong
            continue
        judgement, wrong = checked_judgement(
            handed_out,
            path,
            number,
            assignment=export["assignment"],
            rater_id=export["rater_id"],
            task_id=entry["task_id"],
            given=entry["answers"],
            comment=entry["comment"].strip(),
            duration_s=entry["duration_s"],
        )
        problems += wrong
        if judgement is not None:
            judgements.append(judgement)
    if problems:
        raise InputError(problems)
    return judgements


def _wrong_layout(export: Any, path: Path) -> Iterator[Problem]:
    remedy = "use the file that the form exported, as it is"
    if not isinstance(export, dict) or export.get("format") != EXPORT_FORMAT:
        yield Problem(str(path), "is no export of a form", remedy)
        return
    if export.get("version") != EXPORT_VERSION:
        value = str(export.get("version"))
        newer = "import it with the version of fairstats that made the form"
        yield Problem(str(path), "is unknown", newer, column="version", value=value)
    for name, kind in (("assignment", str), ("rater_id", str), ("judgements", list)):
        if not isinstance(export.get(name), kind):
            yield Problem(str(path), "is missing or of another type", remedy, column=name)


def _wrong_entry(entry: Any, handed_out: HandedOut, path: Path, number: int) -> Iterator[Problem]:
    remedy = "use the file that the form exported, as it is"
    if not isinstance(entry, dict) or not {*_ENTRIES} <= {*entry}:
        message = f"is no judgement with {', '.join(_ENTRIES)}"
        yield Problem(str(path), message, remedy, number, "judgements")
        return
    answers, duration = entry["answers"], entry["duration_s"]
    if not isinstance(entry["task_id"], str) or not isinstance(entry["comment"], str):
        yield Problem(str(path), "is no text", remedy, number, "task_id, comment")
    number_given = isinstance(duration, int | float) and not isinstance(duration, bool)
    if not number_given or not (math.isfinite(duration) and 0 <= duration <= _MOST_SECONDS):
        yield Problem(str(path), "is no time", remedy, number, "duration_s", str(duration))
    if not isinstance(answers, dict) or not all(isinstance(v, str) for v in answers.values()):
        yield Problem(str(path), "is no set of answers", remedy, number, "answers")
        return
    for name in answers:
        if name not in handed_out.rubric.dimensions:
            message = f"is no dimension of the rubric {handed_out.rubric.name}"
            yield Problem(str(path), message, remedy, number, name)
