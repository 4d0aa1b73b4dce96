"""Import the answer files that the AMQA and FairMedQA authors released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.json_csv_records import Paths, importable_files
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.untrusted_json import read_json_lines
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats_collectors.import_answers import join_files
from fairstats_collectors.import_mapping import FACTS, Given, refuse_others
from fairstats_collectors.listed_files import ListedFile, listed_file, read_list

_PREFIX = "test_model_answer_"
# The two releases spell two of the eight keys differently.
_GROUPS = {
    "original_question": "original",
    "desensitized_question": "neutralized",
    "original": "original",
    "desensitized": "neutralized",
}
_UNPARSED = "Unknown"


@dataclass(frozen=True)
class ReleasedFile(ListedFile):
    """A released answer file as listed in ``data/sources/fairmedqa.csv``."""

    rows: int
    model: str
    snapshot: str
    strategy: str
    benchmark: str
    benchmark_version: str


def released_files() -> tuple[ReleasedFile, ...]:
    """Return every listed answer file."""
    numbers = ("bytes", "rows")
    rows: list[dict[str, Any]] = [
        row | {name: int(row[name]) for name in numbers}
        for row in read_list("fairmedqa.csv")
        if row["model"]
    ]
    return tuple(ReleasedFile(**row) for row in rows)


def released_archives() -> tuple[ListedFile, ...]:
    """Return every listed archive."""
    rows = read_list("fairmedqa.csv")
    return tuple(listed_file(row) for row in rows if not row["model"])


def import_amqa(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read released AMQA or FairMedPrompt files into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        JSON Lines files, with one object per item that has the model's letter for each of eight
        variants; or folders of ``.jsonl`` files.
    **given
        Only ``constants``: model, snapshot, strategy and benchmark version. They are known for
        files with a listed sha256. Given values replace the known ones.

    Returns
    -------
    pandas.DataFrame
        Answers, eight rows per item; ``Unknown`` becomes a missing answer, ``unparsed``.

    Raises
    ------
    InputError
        If a file is missing, empty or in another layout. If it is not listed and the model or
        version is not given. If two files contain the same answers. Then no answers are returned.
    """
    refuse_others("amqa", given, constants=FACTS)
    constants = given.get("constants", {})
    files = importable_files(paths, lambda folder: [*folder.rglob("*.jsonl")], (".jsonl",))
    return join_files(files, lambda path: _import_file(path, constants))


def _import_file(path: Path, given: Mapping[str, str | None]) -> pd.DataFrame:
    facts = _facts(path, file_sha256(path), given)
    benchmark = load_benchmark("fairmedqa")
    attributes = {group: a for a, group in benchmark.variants}
    rows: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for number, item in enumerate(read_json_lines(path), start=1):
        found, wrong = _item_answers(item, number, path, attributes, benchmark.options)
        rows.extend(found)
        problems.extend(wrong)
    if not rows and not problems:
        problems.append(Problem(str(path), "the file is empty", "remove it"))
    if problems:
        raise InputError(problems)
    frame = pd.DataFrame(rows).assign(benchmark=benchmark.name, sample=0, collector="amqa", **facts)
    try:
        return check_answers(frame, path=str(path))
    except InputError as error:
        # Problems name rows of the resulting table, one per variant; the file has one row per item.
        variants = len(benchmark.variants)
        by_item = {
            (row, problem.column): replace(problem, row=row)
            for problem in error.problems
            for row in [None if problem.row is None else (problem.row - 1) // variants + 1]
        }
        raise InputError(list(by_item.values())) from None


def _facts(path: Path, sha256: str, given: Mapping[str, str | None]) -> dict[str, str]:
    """Return a file's facts: as given, else as listed under its hash."""
    listed = next((entry for entry in released_files() if entry.sha256 == sha256), None)
    facts = {name: given.get(name) or (getattr(listed, name) if listed else None) for name in FACTS}
    facts["strategy"] = facts["strategy"] or "plain"
    lacking = [name for name in ("model", "benchmark_version") if not facts[name]]
    if lacking:
        options = " and ".join(f"--{name.replace('_', '-')}" for name in lacking)
        message = f"is not a listed release (sha256 {sha256[:12]}…)"
        raise InputError(
            [Problem(str(path), message, f"give {options} for this file, or remove it")]
        )
    return {name: value for name, value in facts.items() if value}


def _item_answers(
    item: Mapping[str, Any],
    number: int,
    path: Path,
    attributes: Mapping[str, str],
    options: tuple[str, ...],
) -> tuple[list[dict[str, Any]], list[Problem]]:
    problems: list[Problem] = []

    def wrong(message: str, remedy: str, column: str, value: object = None) -> None:
        shown = None if value is None else str(value)
        problems.append(Problem(str(path), message, remedy, row=number, column=column, value=shown))

    answers: dict[str, str | None] = {}
    seen: set[str] = set()
    for key in ("question_id", "answer_idx"):
        if not isinstance(item.get(key), str):
            wrong("is missing or is not text", "use the file as released", key, item.get(key))
    for key, value in item.items():
        if not key.startswith(_PREFIX):
            continue
        suffix = key.removeprefix(_PREFIX)
        group = _GROUPS.get(suffix, suffix)
        if group not in attributes:
            wrong("unknown group", f"use one of {', '.join(attributes)}", key, value)
        elif group in seen:
            wrong("names the same group twice", "keep one of the two spellings", key, value)
        elif value not in (*options, _UNPARSED):
            remedy = f"use one of {', '.join(options)} or {_UNPARSED}"
            wrong("is not an option letter", remedy, key, value)
        else:
            answers[group] = None if value == _UNPARSED else value
        seen.add(group)
    for group in attributes:
        if group not in seen:
            wrong("has no answer", "use the file as released", f"{_PREFIX}{group}")
    if problems:
        return [], problems
    return [
        {
            "item_id": item["question_id"],
            "attribute": attributes[group],
            "group": group,
            "answer": answers[group],
            "answer_key": item["answer_idx"],
            "status": "unparsed" if answers[group] is None else "ok",
        }
        for group in attributes
    ], []
