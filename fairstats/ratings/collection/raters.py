"""The raters of an assignment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairstats._lib.json_csv_records import SEPARATORS, csv_records, importable_files
from fairstats._lib.problems import InputError, Problem
from fairstats.ratings.collection.subjects import MAX_BYTES, NAME_LENGTH, is_name
from fairstats.ratings.rubrics import Rubric

_COLUMNS = ("rater_id", "rater_group", "max_tasks")


@dataclass(frozen=True)
class Rater:
    """A person who rates.

    Parameters
    ----------
    rater_id : str
        A pseudonym: it is published with the ratings.
    rater_group : str
        A group of the rubric.
    max_tasks : int or None
        Maximum number of tasks of this person.
    """

    rater_id: str
    rater_group: str
    max_tasks: int | None = None


def read_raters(path: Path, rubric: Rubric) -> list[Rater]:
    """Read raters from a file with ``rater_id``, ``rater_group`` and optionally ``max_tasks``.

    Raises
    ------
    InputError
        For a file that cannot be read, an id that is invalid, duplicate or looks like an address, a
        group that the rubric does not declare, or a limit that is not a whole number.
    """
    (path,) = importable_files(path, None, (".csv",), MAX_BYTES)
    raters: list[Rater] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    records = csv_records(path, separators=SEPARATORS)
    for name in _COLUMNS[:2] if records else ():
        if name not in records[0].fields:
            remedy = "give rater_id and rater_group"
            problems.append(Problem(str(path), "the column is missing", remedy, column=name))
    if problems:
        raise InputError(problems)
    for record in records:
        found = {name: (record.fields.get(name) or "").strip() for name in _COLUMNS}
        wrong = list(_wrong_rater(found, seen, rubric))
        problems += [
            Problem(str(path), message, remedy, row=record.row, column=column, value=found[column])
            for column, message, remedy in wrong
        ]
        seen.add(found["rater_id"])
        if not wrong:
            limit = int(found["max_tasks"]) if found["max_tasks"] else None
            raters.append(Rater(found["rater_id"], found["rater_group"], limit))
    if not seen:
        problems.append(Problem(str(path), "is missing", "give rater_id and rater_group"))
    if problems:
        raise InputError(problems)
    return raters


def _wrong_rater(
    found: Mapping[str, str], seen: set[str], rubric: Rubric
) -> Iterator[tuple[str, str, str]]:
    rater_id, limit = found["rater_id"], found["max_tasks"]
    if not is_name(rater_id):
        yield "rater_id", "is not a valid name", f"give 1 to {NAME_LENGTH} printable characters"
    elif not rater_id[0].isalnum():
        # A spreadsheet would execute text that begins with = or +, and the sheets contain the id.
        yield (
            "rater_id",
            "begins with a special character",
            "use a letter or digit as the first character",
        )
    elif rater_id in seen:
        yield "rater_id", "appears twice", "delete one; a rater belongs to one group"
    elif "@" in rater_id:
        remedy = "use a pseudonym: rater ids are published with the ratings"
        yield "rater_id", "looks like an email address", remedy
    if found["rater_group"] not in rubric.rater_groups:
        remedy = f"use one of {', '.join(rubric.rater_groups)}"
        yield "rater_group", f"is not a group of the rubric {rubric.name}", remedy
    if limit and not re.fullmatch("[1-9][0-9]{0,8}", limit):
        yield (
            "max_tasks",
            "must be a number of tasks",
            "write a whole number of at least 1, or leave it empty",
        )
