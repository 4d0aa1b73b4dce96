"""Read what is to be judged: a row a task."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from collectors.import_files import csv_records, importable_files, json_lines
from fairstats.names import digest
from fairstats.problems import InputError, Problem
from fairstats.ratings.rubrics import Compares, Rubric

_NAME_LENGTH = 200
_TEXT_LENGTH = 100_000

# The columns that a rubric needs, by what it compares; texts after names.
_NAMES: Mapping[Compares, tuple[str, ...]] = {
    "nothing": ("item_id",),
    "models": ("item_id", "model", "model_2"),
    "items": ("item_id", "item_id_2"),
}
_TEXTS: Mapping[Compares, tuple[str, ...]] = {
    "nothing": ("question", "answer"),
    "models": ("question", "answer", "answer_2"),
    "items": ("question", "answer", "question_2", "answer_2"),
}
_OPTIONAL_NAMES = ("benchmark", "dataset", "task_id", "model")


@dataclass(frozen=True)
class Subject:
    """What one task holds.

    Parameters
    ----------
    benchmark, dataset, task_id : str
        Which task it is.
    item_id, item_id_2, model, model_2 : str or None
        As in the ratings table.
    question, answer, question_2, answer_2 : str or None
        The texts; None where the rubric does not need them.
    """

    benchmark: str
    dataset: str
    task_id: str
    item_id: str
    item_id_2: str | None = None
    model: str | None = None
    model_2: str | None = None
    question: str = ""
    answer: str | None = None
    question_2: str | None = None
    answer_2: str | None = None


def read_subjects(
    path: str | os.PathLike[str],
    rubric: Rubric,
    *,
    benchmark: str | None = None,
    dataset: str | None = None,
) -> list[Subject]:
    """Read the items file of a rating campaign.

    Parameters
    ----------
    path : path
        CSV or JSON Lines with ``item_id``, ``question`` and ``answer``; to compare models
        ``model``, ``model_2`` and ``answer_2`` as well; to compare items ``item_id_2``,
        ``question_2`` and ``answer_2``. ``model``, ``benchmark``, ``dataset`` and ``task_id`` may
        be given otherwise too; other columns are passed over.
    rubric : Rubric
        What is asked. One that asks nothing about bias judges a text alone, and needs no answer.
    benchmark, dataset : str, optional
        Where the file does not say; else the file's name, and the benchmark's.

    Returns
    -------
    list of Subject
        In the order of the file.

    Raises
    ------
    InputError
        When a row lacks what the rubric needs, or is the same task as one before.

    Notes
    -----
    Without ``task_id`` a task is named by its items and models.
    """
    file, *_ = importable_files(path, lambda folder: [], (".csv", ".jsonl"))
    records = csv_records(file) if file.suffix.lower() == ".csv" else json_lines(file)
    if not records:
        raise InputError([Problem(str(file), "the file holds no item", "add items to it")])
    given = {"benchmark": benchmark or file.stem, "dataset": dataset}
    subjects: list[Subject] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for record in records:
        faults = list(_faults(record.fields, rubric))
        if not faults:
            subject = _subject(record.fields, rubric, given)
            if subject.task_id in seen:
                faults = [
                    (
                        "task_id",
                        subject.task_id,
                        "is a task before it",
                        "drop it, or name each task",
                    )
                ]
            seen.add(subject.task_id)
            subjects.append(subject)
        for column, value, message, remedy in faults:
            shown = None if value is None else str(value)
            problems.append(Problem(str(file), message, remedy, record.row, column, shown))
    if problems:
        raise InputError(problems)
    return subjects


def _texts(rubric: Rubric) -> tuple[str, ...]:
    texts = _TEXTS[rubric.compares]
    judges_bias = any(question.about == "bias" for question in rubric.questions)
    return texts if judges_bias or rubric.compares != "nothing" else texts[:1]


def _faults(fields: Mapping[str, Any], rubric: Rubric) -> Iterator[tuple[str, Any, str, str]]:
    """What is wrong with a row: column, value, message, remedy."""
    names = _NAMES[rubric.compares]
    optional = [name for name in _OPTIONAL_NAMES if name not in names]
    for column in (*names, *optional):
        value = fields.get(column)
        if value is None and column in optional:
            continue
        if value is None:
            yield column, None, f"is missing; the rubric {rubric.name} needs it", "add it"
        elif not (isinstance(value, str) and 0 < len(value) <= _NAME_LENGTH and _is_plain(value)):
            yield column, value, f"is no name of 1 to {_NAME_LENGTH} printable signs", "shorten it"
    for column in _texts(rubric):
        value = fields.get(column)
        if value is None or (isinstance(value, str) and not value.strip()):
            yield column, None, f"is missing; the rubric {rubric.name} needs it", "add it"
        elif not isinstance(value, str) or not _is_unicode(value):
            yield column, "not shown", "has to be a text", "write it as one"
        elif len(value) > _TEXT_LENGTH:
            yield column, "not shown", f"is longer than {_TEXT_LENGTH:,} characters", "shorten it"
    for one, other in (("item_id", "item_id_2"), ("model", "model_2")):
        if other in names and fields.get(one) == fields.get(other) is not None:
            yield other, fields[other], f"is the same as {one}", "name another"


def _is_plain(value: str) -> bool:
    return value.isprintable() and value == value.strip()


def _is_unicode(value: str) -> bool:
    """JSON can escape half of a surrogate pair, which no request can send."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _subject(fields: Mapping[str, Any], rubric: Rubric, given: Mapping[str, str | None]) -> Subject:
    columns = {*_NAMES[rubric.compares], "model", *_texts(rubric)}
    known: dict[str, Any] = {column: fields.get(column) for column in columns}
    names = [known.get(name) for name in ("item_id", "item_id_2", "model", "model_2")]
    benchmark = fields.get("benchmark") or given["benchmark"]
    return Subject(
        benchmark=str(benchmark),
        dataset=str(fields.get("dataset") or given["dataset"] or benchmark),
        task_id=fields.get("task_id") or _short(" / ".join(name for name in names if name)),
        **known,
    )


def _short(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 9]}-{digest(name)}"
