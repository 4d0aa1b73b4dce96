"""Read a table that has some columns of the answers table, to propose a benchmark from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem, keyword, wrong
from fairstats._lib.records import (
    SEPARATORS,
    Record,
    csv_records,
    importable_files,
    json_lines,
    xlsx_records,
)
from fairstats.answers.files import read_answers
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.answers.schema_checks import check_answers

SUFFIXES = (".csv", ".tsv", ".xlsx", ".jsonl")
_NEEDED = ("item_id", "group", "answer_key")


def read_partial_answers(
    paths: Sequence[Path], *, benchmark: str | None = None, attribute: str = "group"
) -> pd.DataFrame:
    """Read answer files, or one table that lacks columns which do not describe the benchmark.

    Parameters
    ----------
    paths : sequence of Path
        Answer files and folders; or one CSV, TSV, Excel or JSON Lines table with at least the
        columns ``item_id``, ``group`` and ``answer_key``.
    benchmark : str, optional
        The benchmark: its answers are kept, and a table without that column gets it.
    attribute : str
        The attribute, if a table has no such column.

    Returns
    -------
    pandas.DataFrame
        Checked answers of the benchmark. Answers of a table that are not letters are missing.

    Raises
    ------
    InputError
        As `fairstats.read_answers`; also if a needed column or the benchmark is missing.
    """
    paths = list(paths)
    one_table = len(paths) == 1 and paths[0].suffix.lower() in SUFFIXES
    if not one_table or paths[0].is_dir():
        answers = read_answers(paths)
    else:
        (path,) = importable_files(paths, None, SUFFIXES)
        answers = check_answers(_completed(path, benchmark, attribute), path=str(path))
    if benchmark is None:
        return answers
    kept = answers[answers["benchmark"] == benchmark]
    if kept.empty:
        names = ", ".join(sorted(answers["benchmark"].unique())[:10])
        message, remedy = "is not in the answers", f"use one of: {names}"
        raise wrong("benchmark", message, remedy, value=benchmark)
    return kept


def _completed(path: Path, benchmark: str | None, attribute: str) -> pd.DataFrame:
    table = pd.DataFrame([record.fields for record in _records(path)], dtype=object)
    missing = [column for column in _NEEDED if column not in table]
    if missing:
        found = ", ".join(map(str, table.columns[:8])) or "none"
        remedy = f"rename or add it; the columns are {found}"
        raise InputError(
            [Problem(str(path), "required column is missing", remedy, column=c) for c in missing]
        )
    if "benchmark" not in table and benchmark is None:
        message, remedy = "is not in the table", f"add it, or give {keyword('benchmark')}"
        raise InputError([Problem(str(path), message, remedy, column="benchmark")])
    defaults = {
        "benchmark": benchmark,
        "benchmark_version": "1",
        "model": "model",
        "strategy": "plain",
        "attribute": attribute,
    }
    for column, value in defaults.items():
        if column not in table:
            table[column] = value
    answer = table["answer"] if "answer" in table else pd.Series(None, table.index, dtype=object)
    table["answer"] = answer.where(answer.map(_is_letter), None)
    table["status"] = table["answer"].notna().map({True: "ok", False: "unparsed"})
    keys = [column for column in KEY_COLUMNS if column != "sample"]
    # Repeats are numbered: whether they are duplicates is not decided here.
    table["sample"] = table.astype(dict.fromkeys(keys, str)).groupby(keys).cumcount()
    return table[[*KEY_COLUMNS, "answer", "answer_key", "status"]]


def _records(path: Path) -> Sequence[Record]:
    if path.suffix.lower() == ".xlsx":
        return xlsx_records(path)
    if path.suffix.lower() == ".jsonl":
        return json_lines(path, unicode=False)
    return csv_records(path, separators=SEPARATORS)


def _is_letter(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1 and value.isascii() and value.isupper()
