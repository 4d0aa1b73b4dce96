"""Read an assignment when ratings return: who was asked what, and which side was which."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.json_csv_records import csv_records, importable_files, json_value
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256, text_sha256
from fairstats._lib.table_text import table_csv
from fairstats.ratings.collection.subjects import MAX_BYTES, Subject
from fairstats.ratings.rubrics import Rubric, load_rubric

#: Columns of the key: one row per assigned judgement.
KEY_COLUMNS = (
    *("dataset", "task_id", "item_id", "item_id_2", "model", "model_2"),
    *("rater_id", "rater_group", "swapped"),
)
#: Files of an assignment that its raters do not receive, or do not need.
FACTS, KEY, RUBRIC, TASKS = "assignment.json", "key.csv", "rubric.toml", "tasks.jsonl"
#: The entry of an assignment with the hash of each other file.
HASHES = {KEY: "key_sha256", RUBRIC: "rubric_sha256", TASKS: "tasks_sha256"}
_SUFFIXES = (".json", ".csv", ".toml", ".jsonl")


@dataclass(frozen=True)
class HandedOut:
    """An assignment as stored in its folder.

    Parameters
    ----------
    path : Path
        The folder.
    assignment : str
        The identifier used in forms, sheets and exports.
    benchmark : str
        The benchmark of the ratings.
    rubric : Rubric
        The rubric at the time of assignment.
    key : Mapping
        The key's row of each assigned judgement, by (task_id, rater_id).
    """

    path: Path
    assignment: str
    benchmark: str
    rubric: Rubric
    key: Mapping[tuple[str, str], Mapping[str, Any]]


def facts_hash(facts: Mapping[str, object]) -> str:
    """Return the sha256 of an assignment's facts."""
    return text_sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False))


def assignment_id(facts: Mapping[str, object]) -> str:
    """Return a short name for these facts; its letter stops spreadsheets from reading a number."""
    return f"a{facts_hash(facts)[:15]}"


def key_text(key: pd.DataFrame) -> str:
    """Return the key as CSV, from which every name is read back unchanged.

    A name that a spreadsheet would execute gets a leading apostrophe, and so does a name that
    already begins with one; `load_handed_out` removes one.
    """
    guarded = key[list(KEY_COLUMNS)].map(
        lambda value: f"'{value}" if isinstance(value, str) and value.startswith("'") else value
    )
    return table_csv(guarded)


def tasks_text(tasks: Mapping[str, Subject]) -> str:
    """Return each task in the form of `fairstats.ratings.collection.subjects.read_subjects`."""
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
        If it is not an assignment, or one of its files was changed after `assign` wrote it.
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
