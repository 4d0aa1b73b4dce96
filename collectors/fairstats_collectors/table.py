"""Import plain tables (CSV, Excel or JSON Lines) by a mapping of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Unpack

import pandas as pd

from fairstats._lib.json_csv_records import (
    SEPARATORS,
    Paths,
    Record,
    csv_records,
    importable_files,
    json_lines,
)
from fairstats._lib.spreadsheets import xlsx_records
from fairstats.answers.schema import ANSWERS
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import OPTIONS, Given, Mapped, mapping
from fairstats_collectors.wide_tables import Groups, long_records, wide_groups

SUFFIXES = (".csv", ".tsv", ".xlsx", ".jsonl")


def import_table(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read tables of answers into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        CSV (with commas, semicolons or tabs), Excel (``.xlsx``, the first sheet) or JSON Lines
        files, one row per answer; or folders of such files.
    **given
        See `fairstats_collectors.import_mapping.Given`. Columns of the same name need no mapping;
        the file's other columns are ignored.

    Returns
    -------
    pandas.DataFrame
        Answers. Without a column for ``answer`` the letter is read from ``answer_raw``.

    Raises
    ------
    InputError
        If a file cannot be read, or a row is not valid. Each is named with its row, column and
        remedy, and no answers are returned.
    """
    same = {column: (column,) for column in (*ANSWERS.columns, OPTIONS)}
    mapped = mapping("table", given, same, wide=True)
    files = importable_files(paths, _tables, SUFFIXES)
    wide = given.get("wide")
    groups = wide_groups(wide, mapped) if wide else {}
    return imported(files, partial(_read, groups=groups), mapped)


def _tables(folder: Path) -> Sequence[Path]:
    return [path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES]


def _read(path: Path, mapped: Mapped, *, groups: Groups) -> Sequence[Record]:
    if path.suffix.lower() == ".xlsx":
        records = xlsx_records(path)
    elif path.suffix.lower() == ".jsonl":
        records = json_lines(path, unicode=False)
    else:
        records = csv_records(path, separators=SEPARATORS)
    return long_records(records, groups, mapped, str(path)) if groups else records
