"""What is to be rated, and by whom: the two files that an assignment starts from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collectors.import_files import Record, csv_records, importable_files, json_lines
from fairstats.problems import InputError, Problem
from fairstats.ratings.rubrics import Rubric

#: A longer text is no answer that a person can be asked to judge, and would fill a form.
MAX_TEXT = 50_000
MAX_SUBJECTS = 20_000
_MAX_BYTES = 256 * 2**20
_NAME_LENGTH = 200

#: The columns that an items file needs for each kind of task. An item may come without an answer:
#: then the question is judged alone, as a patient's message is.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "nothing": ("item_id", "question"),
    "models": ("item_id", "question", "model", "answer", "model_2", "answer_2"),
    "items": ("item_id", "question", "answer", "item_id_2", "question_2", "answer_2"),
}
_OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "nothing": ("dataset", "model", "answer"),
    "models": ("dataset",),
    "items": ("dataset", "model"),
}
_NAMES = ("dataset", "item_id", "item_id_2", "model", "model_2")


@dataclass(frozen=True)
class Subject:
    """What one task holds: one answer, two answers to one item, or answers to two items.

    Parameters
    ----------
    names : Mapping[str, str | None]
        ``dataset``, ``item_id``, ``item_id_2``, ``model`` and ``model_2``; no rater sees them.
    texts : Mapping[str, str]
        ``question``, ``answer``, ``question_2`` and ``answer_2``, those that there are.
    """

    names: Mapping[str, str | None]
    texts: Mapping[str, str]


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
        The most tasks that this person takes.
    """

    rater_id: str
    rater_group: str
    max_tasks: int | None = None


def read_subjects(path: Path, rubric: Rubric, *, dataset: str) -> tuple[list[Subject], list[str]]:
    """The subjects of an items file, and the columns of it that are not used.

    Parameters
    ----------
    path : Path
        CSV or JSON Lines, a row a subject.
    rubric : Rubric
        Says what stands side by side, and so which columns there have to be.
    dataset : str
        The dataset of rows that name none.

    Raises
    ------
    InputError
        For a file that cannot be read, and each missing, too long or repeated entry.
    """
    (path,) = importable_files(path, lambda _: (), (".csv", ".jsonl"), _MAX_BYTES)
    records = csv_records(path) if path.suffix.lower() == ".csv" else json_lines(path)
    if not 0 < len(records) <= MAX_SUBJECTS:
        message = f"has {len(records):,} rows"
        raise InputError([Problem(str(path), message, f"give 1 to {MAX_SUBJECTS:,}")])
    required = _COLUMNS[rubric.compares]
    known = (*required, *_OPTIONAL[rubric.compares])
    present = list(dict.fromkeys(name for record in records for name in record.fields))
    if lacking := [name for name in required if name not in present]:
        remedy = f"an items file for the rubric {rubric.name} has {', '.join(required)}"
        missing = [Problem(str(path), "the column is missing", remedy, column=n) for n in lacking]
        raise InputError(missing)
    needed = {*required, *({"answer"} & {*present})}
    problems = [
        problem
        for record in records
        for name in known
        if (problem := _wrong_entry(record, name, path, required=name in needed))
    ]
    if problems:
        raise InputError(problems)
    subjects = [_subject(record, known, dataset) for record in records]
    if problems := list(_wrong_subjects(subjects, records, rubric, path)):
        raise InputError(problems)
    return subjects, [name for name in present if name not in known]


def read_raters(path: Path, rubric: Rubric) -> list[Rater]:
    """The raters of a file with ``rater_id``, ``rater_group`` and, if wanted, ``max_tasks``.

    Raises
    ------
    InputError
        For a file that cannot be read, an id that is none, stands there twice or looks like an
        address, a group that the rubric does not declare, and a limit that is no whole number.
    """
    (path,) = importable_files(path, lambda _: (), (".csv",), _MAX_BYTES)
    raters: list[Rater] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for record in csv_records(path):
        found = {name: (record.fields.get(name) or "").strip() for name in _RATER_COLUMNS}
        wrong = list(_wrong_rater(found, seen, rubric))
        problems += [
            Problem(str(path), message, remedy, record.row, column, found[column])
            for column, message, remedy in wrong
        ]
        seen.add(found["rater_id"])
        if not wrong:
            limit = int(found["max_tasks"]) if found["max_tasks"] else None
            raters.append(Rater(found["rater_id"], found["rater_group"], limit))
    if not seen:
        problems.append(Problem(str(path), "names no rater", "give rater_id and rater_group"))
    if problems:
        raise InputError(problems)
    return raters


_RATER_COLUMNS = ("rater_id", "rater_group", "max_tasks")


def _wrong_rater(
    found: Mapping[str, str], seen: set[str], rubric: Rubric
) -> Iterator[tuple[str, str, str]]:
    rater_id, limit = found["rater_id"], found["max_tasks"]
    if not _is_name(rater_id):
        yield "rater_id", "is no name", f"give 1 to {_NAME_LENGTH} printable characters"
    elif not rater_id[0].isalnum():
        # A spreadsheet would run what begins with = or +, and the sheets hold the id.
        yield "rater_id", "begins with a sign", "begin it with a letter or a digit"
    elif rater_id in seen:
        yield "rater_id", "stands there twice", "drop one; a rater belongs to one group"
    elif "@" in rater_id:
        remedy = "give a pseudonym: the ids of raters are published with their ratings"
        yield "rater_id", "looks like a person's address", remedy
    if found["rater_group"] not in rubric.rater_groups:
        remedy = f"use one of {', '.join(rubric.rater_groups)}"
        yield "rater_group", f"is no group of the rubric {rubric.name}", remedy
    if limit and not re.fullmatch("[1-9][0-9]{0,8}", limit):
        yield "max_tasks", "is no number of tasks", "write a whole number from 1, or nothing"


def _wrong_entry(record: Record, name: str, path: Path, *, required: bool) -> Problem | None:
    value = record.fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and name in _NAMES:
        value = str(value)
    shown = None if value is None else str(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        if not required:
            return None
        return Problem(str(path), "must not be empty", "fill it in", record.row, name)
    if not isinstance(value, str):
        return Problem(str(path), "is no text", "write a text", record.row, name, shown)
    if name in _NAMES:
        wrong = None if _is_name(value.strip()) else "is no name"
        remedy = f"use 1 to {_NAME_LENGTH} printable characters"
    else:
        wrong = f"has {len(value):,} characters" if len(value) > MAX_TEXT else None
        remedy = f"give at most {MAX_TEXT:,}: what is cut off would not be judged"
        if any("\ud800" <= c <= "\udfff" for c in value):
            # Half a character, as cutting UTF-16 in the middle leaves it: no file can hold it.
            wrong, remedy = "holds half a character", "export the text again"
    return None if wrong is None else Problem(str(path), wrong, remedy, record.row, name, shown)


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _NAME_LENGTH and text.isprintable()


def _subject(record: Record, known: Sequence[str], dataset: str) -> Subject:
    given = {name: record.fields.get(name) for name in known}
    names = {
        name: None if given.get(name) in (None, "") else str(given[name]).strip() for name in _NAMES
    }
    texts = {name: str(value) for name, value in given.items() if name not in names and value}
    return Subject(names | {"dataset": names["dataset"] or dataset}, texts)


def _wrong_subjects(
    subjects: Sequence[Subject], records: Sequence[Record], rubric: Rubric, path: Path
) -> Iterator[Problem]:
    first: dict[tuple[str | None, ...], int] = {}
    for subject, record in zip(subjects, records, strict=True):
        names = subject.names
        key = tuple(names[name] for name in _NAMES)
        if key in first:
            value = ", ".join(name for name in key if name)
            message, remedy = f"is the same as row {first[key]}", "drop one, or tell the two apart"
            yield Problem(str(path), message, remedy, record.row, "item_id", value)
        first.setdefault(key, record.row)
        for kind, own, other in (
            ("models", "model", "model_2"),
            ("items", "item_id", "item_id_2"),
        ):
            if rubric.compares == kind and names[own] == names[other]:
                message = f"is the same as {own}"
                yield Problem(str(path), message, "name another", record.row, other, names[other])
