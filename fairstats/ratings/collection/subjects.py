"""The two files of an assignment: the subjects of ratings, for people and models, and raters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error, refuse, wrong
from fairstats._lib.records import (
    SEPARATORS,
    Record,
    csv_records,
    importable_files,
    json_lines,
)
from fairstats._lib.safe_names import digest
from fairstats.ratings.rubrics import Compares, Rubric

#: A longer text cannot be judged by a person, and would fill a form.
MAX_TEXT = 50_000
MAX_SUBJECTS = 20_000
MAX_BYTES = 256 * 2**20
NAME_LENGTH = 200

# The required columns of an items file, by kind of comparison.
_NAMES: Mapping[Compares, tuple[str, ...]] = {
    "nothing": ("item_id",),
    "models": ("item_id", "model", "model_2"),
    "items": ("item_id", "item_id_2"),
}
_TEXTS: Mapping[Compares, tuple[str, ...]] = {
    "nothing": ("question",),
    "models": ("question", "answer", "answer_2"),
    "items": ("question", "answer", "question_2", "answer_2"),
}
_SUBJECT = ("item_id", "item_id_2", "model", "model_2")


@dataclass(frozen=True)
class Subject:
    """Content of one task: one answer, two answers to one item, or answers to two items.

    Parameters
    ----------
    task_id : str
        The file's name for the task, or one from its items and models; an assignment uses different
        ids.
    names : Mapping[str, str | None]
        ``benchmark``, ``dataset``, ``item_id``, ``item_id_2``, ``model`` and ``model_2``; no rater
        sees them.
    texts : Mapping[str, str]
        ``question``, ``answer``, ``question_2`` and ``answer_2``, as far as present.
    """

    task_id: str
    names: Mapping[str, str | None]
    texts: Mapping[str, str]


def read_subjects(
    path: AnyPath,
    rubric: Rubric,
    *,
    benchmark: str | None = None,
    dataset: str | None = None,
    named_tasks: bool = False,
) -> tuple[list[Subject], list[str]]:
    """Read the subjects of an items file, and list its unused columns.

    Parameters
    ----------
    path : path
        CSV or JSON Lines, one row per subject, with ``item_id`` and ``question``. To compare models
        also ``model``, ``answer``, ``model_2`` and ``answer_2``. To compare items also ``answer``,
        ``item_id_2``, ``question_2`` and ``answer_2``. ``model`` and ``dataset`` are optional in
        all other cases. A rubric that asks about bias needs an ``answer``. With other rubrics the
        question may be judged alone, and is if the file has no such column.
    rubric : Rubric
        Determines the kind of comparison.
    benchmark, dataset : str, optional
        Defaults for rows that do not name them; by default the file's name, and the benchmark.
    named_tasks : bool
        Whether rows may name their ``benchmark`` and ``task_id``, and are tasks with separate ids.
        If not, these columns are unused.

    Returns
    -------
    list of Subject, list of str
        In the order of the file.

    Raises
    ------
    InputError
        For a file that cannot be read, and each missing, too long or duplicate entry.
    """
    given = {"benchmark": Path(path).stem if benchmark is None else benchmark, "dataset": dataset}
    for argument, name in given.items():
        if name is not None and not is_name(name):
            remedy = f"use 1 to {NAME_LENGTH} printable characters"
            raise wrong(argument, f"{name!r} is not a valid name", remedy)
    (file,) = importable_files(path, None, (".csv", ".jsonl"), MAX_BYTES)
    if file.suffix.lower() == ".csv":
        records = csv_records(file, separators=SEPARATORS)
    else:
        records = json_lines(file)
    if not 0 < len(records) <= MAX_SUBJECTS:
        message = f"has {len(records):,} rows"
        raise input_error(file, message, f"give 1 to {MAX_SUBJECTS:,} rows")
    present = list(dict.fromkeys(name for record in records for name in record.fields))
    names, texts = _NAMES[rubric.compares], _TEXTS[rubric.compares]
    asks_about_bias = any(question.about == "bias" for question in rubric.questions)
    if "answer" not in texts and (asks_about_bias or "answer" in present):
        texts = (*texts, "answer")
    remedy = f"an items file for the rubric {rubric.name} has {', '.join((*names, *texts))}"
    refuse(
        Problem(str(file), "the column is missing", remedy, column=name)
        for name in (*names, *texts)
        if name not in present
    )
    optional = ("dataset", "model", *(("benchmark", "task_id") if named_tasks else ()))
    names = tuple(dict.fromkeys((*names, *optional)))
    problems = []
    for record in records:
        for name in (*names, *texts):
            value = record.fields.get(name)
            required = name not in optional or name in _NAMES[rubric.compares]
            if error := _wrong_entry(value, is_text=name in texts, required=required):
                shown = None if value is None else str(value)
                problems.append(
                    Problem(str(file), *error, row=record.row, column=name, value=shown)
                )
    refuse(problems)
    subjects = [_subject(record.fields, names, texts, given) for record in records]
    refuse(_repeated(subjects, records, str(file), named_tasks=named_tasks))
    return subjects, [name for name in present if name not in (*names, *texts)]


def is_name(text: str) -> bool:
    """Return whether a text can be a name in a ratings table, distinct from every other name."""
    return 0 < len(text) <= NAME_LENGTH and text.isprintable() and text == text.strip()


def _wrong_entry(value: Any, *, is_text: bool, required: bool) -> tuple[str, str] | None:
    """Return the error in a cell, and the remedy."""
    if value is None or (required and isinstance(value, str) and not value.strip()):
        return ("must not be empty", "fill it in") if required else None
    if not isinstance(value, str):
        return "is not text", "write text"
    if not is_text:
        remedy = f"use 1 to {NAME_LENGTH} printable characters, with no spaces before or after"
        return None if is_name(value) else ("is not a valid name", remedy)
    if any("\ud800" <= character <= "\udfff" for character in value):
        # Half a character, from cutting UTF-16 in the middle, cannot be stored in a file.
        return "contains an unpaired surrogate", "export the text again"
    if len(value) > MAX_TEXT:
        remedy = f"shorten it to {MAX_TEXT:,}, as raters must see the whole text"
        return f"has {len(value):,} characters", remedy
    return None


def _subject(
    fields: Mapping[str, Any],
    names: Sequence[str],
    texts: Sequence[str],
    given: Mapping[str, str | None],
) -> Subject:
    named = {name: fields.get(name) for name in names}
    benchmark = named.get("benchmark") or given["benchmark"]
    dataset = named["dataset"] or given["dataset"] or benchmark
    subject = {name: named.get(name) for name in _SUBJECT}
    own = " / ".join(name for name in subject.values() if name)
    return Subject(
        task_id=named.get("task_id") or _shortened(own),
        names={"benchmark": benchmark, "dataset": dataset, **subject},
        texts={name: fields[name] for name in texts},
    )


def _shortened(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 9]}-{digest(name)}"


def _repeated(
    subjects: Sequence[Subject], records: Sequence[Record], path: str, *, named_tasks: bool
) -> Iterator[Problem]:
    """Report duplicate subjects and tasks, and duplicate pairs."""
    first: dict[tuple[str | None, ...], int] = {}
    tasks: dict[str, int] = {}
    for subject, record in zip(subjects, records, strict=True):
        names, task_id, row = subject.names, subject.task_id, record.row
        earlier = first.setdefault(tuple(names.values()), row)
        task = tasks.setdefault(task_id, row)
        if earlier != row:
            message, remedy = (
                f"is the same as row {earlier}",
                "delete one, or make the two distinguishable",
            )
            value = ", ".join(name for name in names.values() if name)
            yield Problem(path, message, remedy, row=row, column="item_id", value=value)
        elif named_tasks and task != row:
            message, remedy = f"is already the task of row {task}", "give each task its own id"
            yield Problem(path, message, remedy, row=row, column="task_id", value=task_id)
        for own, other in (("model", "model_2"), ("item_id", "item_id_2")):
            if names[other] is not None and names[own] == names[other]:
                message = f"is the same as {own}"
                yield Problem(
                    path, message, "give another", row=row, column=other, value=names[other]
                )


_COLUMNS = ("rater_id", "rater_group", "max_tasks")


@dataclass(frozen=True)
class Rater:
    """A person who rates, under a pseudonym: it is published with the ratings."""

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
    refuse(problems)
    for record in records:
        found = {name: (record.fields.get(name) or "").strip() for name in _COLUMNS}
        errors = list(_wrong_rater(found, seen, rubric))
        problems += [
            Problem(str(path), message, remedy, row=record.row, column=column, value=found[column])
            for column, message, remedy in errors
        ]
        seen.add(found["rater_id"])
        if not errors:
            limit = int(found["max_tasks"]) if found["max_tasks"] else None
            raters.append(Rater(found["rater_id"], found["rater_group"], limit))
    if not seen:
        problems.append(Problem(str(path), "is missing", "give rater_id and rater_group"))
    refuse(problems)
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
