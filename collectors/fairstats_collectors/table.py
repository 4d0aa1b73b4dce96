"""Import plain tables (CSV, Excel or JSON Lines) by a mapping of their columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from fairstats._lib.record_files import (
    SEPARATORS,
    Record,
    csv_records,
    importable_files,
    json_lines,
)
from fairstats._lib.spreadsheets import xlsx_records
from fairstats.answers.schema import answers_schema
from fairstats.benchmarks.declaration import Benchmark
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import OPTIONS, mapping
from fairstats_collectors.wide import long_records, wide_groups

SUFFIXES = (".csv", ".tsv", ".xlsx", ".jsonl")


def import_table(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    benchmark: str | Path | Benchmark | None = None,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str | None] | None = None,
    values: Mapping[str, Mapping[str, str]] | None = None,
    where: Mapping[str, str] | None = None,
    wide: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Read tables of answers into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        CSV (with commas, semicolons or tabs), Excel (``.xlsx``, the first sheet) or JSON Lines
        files, one row per answer; a folder stands for those in it.
    benchmark : str, path or Benchmark
        What was asked.
    columns : mapping, optional
        A column of the answers table and the file's own that fills it. Columns of the same name
        need none; others of the file are passed over.
    constants : mapping, optional
        A column and its value in every row.
    values : mapping, optional
        A column, a value as the file writes it and what it means.
    where : mapping, optional
        Only the rows that have this value in this column of the file.
    wide : mapping, optional
        For a table with one row per item: the column of each group's answers, by ``"GROUP"`` or
        ``"ATTRIBUTE:GROUP"``. Its cells hold letters or replies; an empty one is a missing answer.

    Returns
    -------
    pandas.DataFrame
        Answers. Without a column for ``answer`` the letter is read from ``answer_raw``.

    Raises
    ------
    InputError
        When a file cannot be read, or a row does not fit; every one is named with its row, column
        and remedy, and nothing is returned.
    """
    same = {column: (column,) for column in (*answers_schema().columns, OPTIONS)}
    mapped = mapping(
        benchmark,
        columns=columns,
        constants=constants,
        values=values,
        where=where,
        defaults=same,
    )
    files = importable_files(paths, _tables, SUFFIXES)
    if not wide:
        return imported(files, _read, mapped, "table")
    groups = wide_groups(wide, mapped)
    return imported(
        files, lambda path: long_records(_read(path), groups, mapped, str(path)), mapped, "table"
    )


def _tables(folder: Path) -> Sequence[Path]:
    return [path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES]


def _read(path: Path) -> Sequence[Record]:
    if path.suffix.lower() == ".xlsx":
        return xlsx_records(path)
    if path.suffix.lower() == ".jsonl":
        return json_lines(path, unicode=False)
    return csv_records(path, separators=SEPARATORS)
