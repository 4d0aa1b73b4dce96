"""The sheets of a workbook, or a CSV file as one sheet: saved cells, without recomputation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairstats._lib.json_csv_records import csv_records
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.spreadsheets import workbook

#: A workbook is a compressed folder; this is the limit for its unpacked size.
MAX_UNPACKED = 256 * 2**20
MAX_ROWS = 500_000
MAX_COLUMNS = 300
MAX_CELLS = 10_000_000


@dataclass(frozen=True)
class Sheet:
    """One table.

    Parameters
    ----------
    path : str
        The file and, for a workbook, the sheet.
    columns : Mapping[str, str]
        The column names as written, by their names in lower case with underscores.
    rows : sequence of mapping
        Cells by those names; an empty one is None.
    """

    path: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]


def read_sheets(path: Path) -> list[Sheet]:
    """Read the sheets of an ``.xlsx`` workbook, or the only table of a CSV file.

    Raises
    ------
    InputError
        If it is neither, is too large when unpacked, or has a duplicate column.
    """
    if path.suffix.lower() == ".csv":
        records = csv_records(path)
        header = list(records[0].fields) if records else []
        rows = (list(record.fields.values()) for record in records)
        return [_sheet(str(path), header, rows)]
    # Read saved values: the released workbook has computed columns.
    with workbook(path, max_unpacked=MAX_UNPACKED, formulas=False) as book:
        return [_worksheet(path, sheet) for sheet in book.worksheets]


def _worksheet(path: Path, sheet: Any) -> Sheet:
    name = f"{path}, sheet {sheet.title}"
    rows = sheet.iter_rows(values_only=True)
    header = [("" if cell is None else str(cell)) for cell in next(rows, ())]
    return _sheet(name, header, rows)


def _sheet(name: str, header: Sequence[str], cells: Iterator[Sequence[Any]]) -> Sheet:
    while header and not header[-1].strip():
        header = header[:-1]
    if len(header) > MAX_COLUMNS:
        message = f"has {len(header):,} columns"
        raise InputError([Problem(name, message, f"use at most {MAX_COLUMNS}")])
    columns: dict[str, str] = {}
    for column in header:
        plain = re.sub(r"[^a-z0-9]+", "_", column.strip().casefold()).strip("_")
        if plain in columns:
            message = "the column appears more than once"
            raise InputError([Problem(name, message, "drop one", column=column)])
        columns[plain] = column
    rows: list[Mapping[str, Any]] = []
    for row in cells:
        # An empty cell takes no space in the file, but does in memory.
        if len(rows) >= min(MAX_ROWS, MAX_CELLS // max(len(header), 1)):
            raise InputError([Problem(name, f"has more than {len(rows):,} rows", "split the file")])
        padded = [*row[: len(header)], *[None] * (len(header) - len(row))]
        rows.append(dict(zip(columns, padded, strict=True)))
    return Sheet(name, columns, rows)
