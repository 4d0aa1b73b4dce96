"""The assignment again, when ratings come back: who was asked what, and which side was which."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.record_files import csv_records, importable_files, json_value
from fairstats._lib.safe_names import file_sha256, text_sha256
from fairstats._lib.table_text import table_csv
from fairstats.ratings.collection.subjects import MAX_BYTES, Subject
from fairstats.ratings.rubrics import Rubric, load_rubric

#: The columns of the key: a row a judgement that was asked for.
KEY_COLUMNS = (
    *("dataset", "task_id", "item_id", "item_id_2", "model", "model_2"),
    *("rater_id", "rater_group", "swapped"),
)
#: The files of an assignment that its raters do not get, or need not.
FACTS, KEY, RUBRIC, TASKS = "assignment.json", "key.csv", "rubric.toml", "tasks.jsonl"
#: The fact of an assignment that says what each of its other files was.
HASHES = {KEY: "key_sha256", RUBRIC: "rubric_sha256", TASKS: "tasks_sha256"}
_SUFFIXES = (".json", ".csv", ".toml", ".jsonl")


@dataclass(frozen=True)
class HandedOut:
    """An assignment as its folder holds it.

    Parameters
    ----------
    path : Path
        The folder.
    assignment : str
        What forms, sheets and exports name it by.
    benchmark : str
        What the ratings are of.
    rubric : Rubric
        As it was when the forms were made.
    key : Mapping
        The key's row of each judgement that was asked for, by (task_id, rater_id).
    """

    path: Path
    assignment: str
    benchmark: str
    rubric: Rubric
    key: Mapping[tuple[str, str], Mapping[str, Any]]


def facts_hash(facts: Mapping[str, object]) -> str:
    """The sha256 of what an assignment states of itself."""
    return text_sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False))


def assignment_id(facts: Mapping[str, object]) -> str:
    """A short name for these facts; its letter keeps a spreadsheet from reading a number in it."""
    return f"a{facts_hash(facts)[:15]}"


def key_text(key: pd.DataFrame) -> str:
    """The key as CSV from which every name comes back as it was.

    A name that a spreadsheet would run has an apostrophe before it, and so has one that begins
    with an apostrophe: `load_handed_out` takes one away.
    """
    guarded = key[list(KEY_COLUMNS)].map(
        lambda value: f"'{value}" if isinstance(value, str) and value.startswith("'") else value
    )
    return table_csv(guarded)


def tasks_text(tasks: Mapping[str, Subject]) -> str:
    """What each task holds, as `fairstats.ratings.collection.subjects.read_subjects` reads it."""
    lines = []
    for task_id, subject in tasks.items():
        names = {name: value for name, value in subject.names.items() if value is not None}
        row = {"task_id": task_id, **names, **subject.texts}
        lines.append(f"{json.dumps(row, ensure_ascii=False)}\n")
    return "".join(lines)


def _as_it_was(value: Any) -> Any:
    return value[1:] if isinstance(value, str) and value.startswith("'") else value


def load_handed_out(path: Path) -> HandedOut:
    """Load an assignment from its folder, or from the key in it.

    Raises
    ------
    InputError
        When it is none, or one of its files is not as `assign` wrote it.
    """
    folder = path.parent if path.name in (FACTS, KEY) else path
    for name in (FACTS, *HASHES):
        importable_files(folder / name, None, _SUFFIXES, MAX_BYTES)
    facts = json_value(folder / FACTS)
    rest = {k: v for k, v in facts.items() if k != "assignment"} if isinstance(facts, dict) else {}
    changed = [
        name for name, fact in HASHES.items() if rest.get(fact) != file_sha256(folder / name)
    ]
    if not rest or facts.get("assignment") != assignment_id(rest):
        changed = [FACTS]
    if changed:
        remedy = "use the files exactly as `fairstats ratings assign` wrote them"
        raise InputError(
            [Problem(str(folder / n), "was changed after the assignment", remedy) for n in changed]
        )
    rows = [
        {name: _as_it_was(value) for name, value in record.fields.items()}
        for record in csv_records(folder / KEY)
    ]
    key = {(row["task_id"], row["rater_id"]): row for row in rows}
    return HandedOut(
        folder, facts["assignment"], facts["benchmark"], load_rubric(folder / RUBRIC), key
    )
