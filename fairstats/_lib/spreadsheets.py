"""Read the saved values of the first sheet of an ``.xlsx`` workbook, without computing any."""

from __future__ import annotations

import datetime
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairstats._lib.json_csv_records import Record
from fairstats._lib.problems import InputError, Problem

#: A workbook is a compressed folder; this is the limit for its unpacked size.
MAX_UNPACKED = 2**27
#: Its parts are XML, and reading takes up to 400 bytes per tag or attribute; a cell has seven.
MAX_TAGS = 3_000_000
MAX_ROWS = 500_000
MAX_COLUMNS = 300
MAX_CHARACTERS = 2**27

#: The last possible row in a spreadsheet program.
_LAST_ROW = 2**20


@dataclass(frozen=True)
class NoValue:
    """A cell with a formula or an error.

    Parameters
    ----------
    kind : str
        Its content, for messages.
    """

    kind: str


@contextmanager
def workbook(
    path: Path, *, max_unpacked: int, formulas: bool, max_tags: float = math.inf
) -> Iterator[Any]:
    """Open a workbook with openpyxl, without running formulas or following links.

    Parameters
    ----------
    path : Path
        The file.
    max_unpacked : int
        Maximum unpacked size in bytes.
    formulas : bool
        Whether a cell returns its formula or its last saved value.
    max_tags : float
        Maximum number of XML tags and attributes.

    Raises
    ------
    InputError
        If it is not a workbook, or its unpacked size is larger.
    """
    import openpyxl

    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
            if len(set(names)) < len(names):
                raise zipfile.BadZipFile("it contains the same part twice")
            unpacked = sum(entry.file_size for entry in packed.infolist())
            tags = _tags(packed) if unpacked <= max_unpacked and max_tags < math.inf else 0
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
        problem = Problem(str(path), f"is not a workbook ({error})", "save it as .xlsx again")
        raise InputError([problem]) from None
    if unpacked > max_unpacked or tags > max_tags:
        message = f"unpacks to {unpacked:,} bytes; the limit is {max_unpacked:,}"
        if unpacked <= max_unpacked:
            held = f"{tags:,} tags and attributes; the limit is {max_tags:,}"
            message = f"has too many cells ({held})"
        raise InputError([Problem(str(path), message, "save its sheets as CSV files")])
    try:
        book = openpyxl.load_workbook(
            path, read_only=True, data_only=not formulas, keep_links=False
        )
        try:
            yield book
        finally:
            book.close()
    except InputError:
        raise
    # A file from others can have any error, and openpyxl has no common exception for them.
    except Exception as error:
        message = f"is not a readable workbook ({type(error).__name__}: {error})"
        raise InputError([Problem(str(path), message, "save it as .xlsx again")]) from None


def _tags(packed: zipfile.ZipFile) -> int:
    """Count the tags and attributes in all parts of a workbook, without storing them."""
    tags = 0
    for entry in packed.infolist():
        with packed.open(entry) as part:
            while chunk := part.read(2**20):
                tags += chunk.count(b"<") + chunk.count(b"=")
    return tags


def xlsx_records(path: Path) -> list[Record]:
    """Return the rows of a workbook's first sheet, with the names in the sheet's first row.

    Rows without a value are skipped, and so are columns without a name. A formula or an error
    becomes a `NoValue`, which is refused if a value is needed.

    Parameters
    ----------
    path : Path
        The workbook.

    Raises
    ------
    InputError
        If the file is not a workbook, is too large, or has a duplicate column.
    """
    with workbook(path, max_unpacked=MAX_UNPACKED, formulas=True, max_tags=MAX_TAGS) as book:
        sheet = book.worksheets[0]
        # A sheet's declared size may be wrong.
        sheet.reset_dimensions()
        rows = sheet.iter_rows()
        names = [_value(cell) for cell in next(rows, ())]
        columns = {place: str(name).strip() for place, name in enumerate(names) if name is not None}
        _check_columns(path, list(columns.values()))
        records: list[Record] = []
        characters = 0
        for number, cells in enumerate(rows, start=1):
            fields = dict.fromkeys(columns.values())
            for place, name in columns.items():
                fields[name] = _value(cells[place]) if place < len(cells) else None
            characters += sum(len(v) for v in fields.values() if isinstance(v, str))
            if number > _LAST_ROW or len(records) >= MAX_ROWS or characters > MAX_CHARACTERS:
                message = f"has more than {MAX_ROWS:,} rows or {MAX_CHARACTERS:,} characters"
                raise InputError([Problem(str(path), message, "split it into several files")])
            if any(value is not None for value in fields.values()):
                records.append(Record(number, fields))
    return records


def _check_columns(path: Path, names: list[str]) -> None:
    if len(names) > MAX_COLUMNS:
        message = f"has {len(names):,} columns"
        raise InputError([Problem(str(path), message, f"use at most {MAX_COLUMNS}")])
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = "the first sheet has this column more than once"
        raise InputError([Problem(str(path), message, "drop one", column=n) for n in twice])


def _value(cell: Any) -> Any:
    """Return a cell's content, with whole numbers as integers and times as text."""
    value = cell.value
    if cell.data_type == "f":
        return NoValue("a formula")
    if cell.data_type == "e":
        return NoValue(f"the error {value}")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return str(value)
    return None if value == "" else value
