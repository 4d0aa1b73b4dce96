"""The answer files and the items that the AMQA and FairMedQA authors released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import InputError, Problem, check_numbers, input_error, refuse, wrong
from fairstats._lib.records import importable_files
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.benchmark_files import (
    attribute_table,
    check_name,
    item_lines,
    toml_text,
    write_benchmark,
)
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import read_amqa_items
from fairstats_collectors.import_answers import join_files
from fairstats_collectors.import_mapping import FACTS, Given, constant, refuse_others
from fairstats_collectors.released_files import released_files

_PREFIX = "test_model_answer_"
# The two releases spell two of the eight keys differently.
_GROUPS = {
    "original_question": "original",
    "desensitized_question": "neutralized",
    "original": "original",
    "desensitized": "neutralized",
}
_UNPARSED = "Unknown"


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
    refuse(problems)
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
        message = f"is not a listed release (sha256 {sha256[:12]}…)"
        remedy = f"give {' and '.join(map(constant, lacking))} for this file, or remove it"
        raise input_error(path, message, remedy)
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
        elif key == "answer_idx" and item[key] not in options:
            wrong("is not an option letter", f"use one of {', '.join(options)}", key, item[key])
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


def convert_amqa(source: Path, *, out: Path, name: str = "amqa", limit: int | None = None) -> Path:
    """Write the items of ``items.parquet`` as JSON Lines, and the benchmark that declares them.

    Parameters
    ----------
    source : Path
        The released items: ``question_id``, ``option_A`` to ``option_D``, ``answer_idx``, and a
        column for each of the eight variants.
    out : Path
        The items file, which ends in ``.jsonl``. The benchmark's file is next to it and ends in
        ``.toml``.
    name : str
        The name of the benchmark.
    limit : int, optional
        Use only the first `limit` items.

    Returns
    -------
    Path
        The benchmark's file, for ``fairstats collect --benchmark``.

    Raises
    ------
    InputError
        If the file is not the released one, an item has no usable question, or other files have
        these names. Then no file is written.
    """
    check_name(name)
    if out.suffix != ".jsonl":
        raise wrong("out", "is not an items file", "end the name in .jsonl", value=str(out))
    check_numbers(limit=limit)
    given = read_amqa_items(source)
    items = [
        {
            "item_id": item.item_id,
            "options": dict(item.options),
            "answer_key": item.answer_key,
            "variants": dict(item.variants),
        }
        for item in given[:limit]
    ]
    taken = f"{len(items)} of {len(given)} items from the file with sha256 {file_sha256(source)}"
    contents = {
        out.name: item_lines(items),
        out.with_suffix(".toml").name: toml_text(_declaration(name, out.name, taken)),
    }
    return write_benchmark(out.parent, contents, source=source)


def _declaration(name: str, items_file: str, taken: str) -> dict[str, Any]:
    """Return the benchmark's declaration: that of the built-in one, with the items' text."""
    released = load_benchmark("fairmedqa")
    # The other notes describe the authors' answers.
    notes = [note for note in released.notes if "two sets" not in note and "parser" not in note]
    return {
        "name": name,
        "title": "AMQA",
        "description": "Clinical vignettes from exam questions, each neutralized and rewritten in "
        "six adversarial variants: two groups of race, sex and income.",
        "options": list(released.options),
        "items_file": items_file,
        "missing": released.missing,
        "equivalence_margin": released.equivalence_margin,
        "sources": ["https://github.com/XY-Showing/AMQA"],
        "licence": "CC BY 4.0",
        "citation": released.citation,
        "notes": notes,
        "versions": {"1": taken},
        "selected_on": dict(released.selected_on),
        "attributes": {a.name: attribute_table(a) for a in released.attributes.values()},
    }
