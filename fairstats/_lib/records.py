"""Records of tables from others: JSON, CSV and ``.xlsx``, without running what they contain."""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from fairstats._lib.paths import Paths, each_path
from fairstats._lib.problems import (
    InputError,
    Note,
    Problem,
    first_of,
    input_error,
    keyword,
    refuse,
)
from fairstats._lib.untrusted_files import (
    MAX_TEXT_FILE_BYTES,
    json_objects,
    parse_json,
    parse_unicode,
    read_once,
    refuse_links,
    refuse_long_text,
    refuse_many_values,
    values_of,
)
from fairstats._lib.untrusted_tables import (
    csv_header,
    encoding_of,
    load_csv,
    not_csv,
    repeated_columns,
)

#: Larger files are refused unread: their content takes several times their size in memory.
MAX_BYTES = MAX_TEXT_FILE_BYTES

#: The cell separators that spreadsheets of different countries write to CSV files.
SEPARATORS = ",;\t"
#: The separator is determined from this many characters, so that an endless line is not read.
_HEADER_LENGTH = 2**16

#: A workbook is a compressed folder; this is the limit for its unpacked size.
MAX_UNPACKED = 2**27
#: Its parts are XML, and reading takes up to 400 bytes per tag or attribute; a cell has seven.
MAX_TAGS = 3_000_000
MAX_ROWS = 500_000
MAX_COLUMNS = 300
MAX_CHARACTERS = 2**27

#: The last possible row in a spreadsheet program.
_LAST_ROW = 2**20

_ONE_ROW = "if names fill two rows, make one row of two, e.g. “model-1 white”"
_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".dill", ".npy", ".npz")


@dataclass(frozen=True)
class Record:
    """A file's record of one answer.

    Parameters
    ----------
    row : int
        Its position, counted from 1: the line, the row or the sample. In a workbook, the first row
        of the data is 2, as a spreadsheet shows it.
    fields : dict
        Its fields by name; fields may be nested.
    columns : Mapping[str, str]
        The file's column for a column of the answers table, if problems should name it.
    path : str
        The file, if the records of several files are read together.
    """

    row: int
    fields: dict[str, Any]
    columns: Mapping[str, str] = field(default_factory=dict)
    path: str = ""


def importable_files(
    paths: Paths,
    find: Callable[[Path], Sequence[Path]] | None,
    suffixes: Sequence[str],
    max_bytes: int | None = None,
) -> list[Path]:
    """Return the files in `paths`, checking that each has a supported kind and size.

    `find` selects the files of a folder; without it, folders are refused.
    """
    limit = MAX_BYTES if max_bytes is None else max_bytes
    files: list[Path] = []
    problems: list[Problem] = []
    for path in map(Path, each_path(paths)):
        if find is None and path.is_dir():
            problems.append(Problem(str(path), "is a folder", "give a file in the folder"))
            continue
        found = sorted(find(path)) if find and path.is_dir() else [path]
        if path.is_dir():
            refuse_links(found)
        if not found:
            expected = f"give a folder with files that end in {', '.join(suffixes)}"
            problems.append(Problem(str(path), "the folder contains no such file", expected))
        for file in found:
            wrong = _wrong_file(file, suffixes, limit)
            problems += [] if wrong is None else [Problem(str(file), *wrong)]
            files.append(file)
    if not files and not problems:
        problems.append(Problem("<no path>", "no files to import", "give the files"))
    refuse(problems)
    return files


def _wrong_file(path: Path, suffixes: Sequence[str], max_bytes: int) -> tuple[str, str] | None:
    if not path.is_file():
        return "no such file", "check the path"
    with path.open("rb") as file:
        begin = file.read(2)
    if path.suffix.lower() in _PICKLES or (begin[:1] == b"\x80" and begin[1:] <= b"\x05"):
        message = "is a pickle, which can run any program when opened"
        return message, "ask its owner to export it as CSV or JSON Lines"
    if path.suffix.lower() not in suffixes:
        return f"unknown kind of file {path.suffix!r}", f"use one of {', '.join(suffixes)}"
    size = path.stat().st_size
    if size == 0:
        return "the file is empty", "remove it"
    if size > max_bytes:
        return f"is larger than the limit of {max_bytes:,} bytes", "split it into several files"
    return None


def json_lines(path: Path, *, unicode: bool = True) -> list[Record]:
    """Return the objects of a JSON Lines file by line; for `unicode` see `json_objects`."""
    return [Record(number, fields) for number, fields in json_objects(path, unicode=unicode)]


def json_value(path: Path, *, unicode: bool = True) -> Any:
    """Return the value of a JSON file.

    For `unicode`, see `fairstats._lib.untrusted_files.json_objects`.
    """
    file = read_once(path, MAX_TEXT_FILE_BYTES)
    refuse_long_text(file)
    refuse_many_values(file, values_of(file.content))
    try:
        # Spreadsheets write a mark at the start to identify the text as UTF-8.
        parse = parse_unicode if unicode else parse_json
        return parse(file.content.decode("utf-8-sig"))
    except ValueError as error:
        message = f"not UTF-8 text ({error})" if isinstance(error, UnicodeError) else str(error)
        raise input_error(path, message, "use the file as it was written") from None


def csv_records(path: Path, *, separators: str = ",") -> list[Record]:
    """Return the rows of a CSV file, with every cell as text and empty cells as None.

    Parameters
    ----------
    path : Path
        UTF-8, or UTF-16 with a byte order mark.
    separators : str
        Possible separators; the most frequent one in the header is used.
    """
    file = read_once(path, MAX_TEXT_FILE_BYTES)
    encoding = encoding_of(file)
    try:
        with io.TextIOWrapper(io.BytesIO(file.content), encoding, newline="") as text:
            separator = separator_of(text, separators)
        header = csv_header(file, encoding, separator)
    except (UnicodeError, csv.Error) as error:
        raise InputError([not_csv(path, error)]) from None
    named = sum(bool(name.strip()) for name in header)
    # The first of two rows of names begins with empty cells.
    if "".join(header[:1]).strip() and len(header) - named >= max(2, named):
        raise _title(path, named, len(header))
    _refuse_repeated(path, header)
    table = load_csv(file, separator=separator)
    # Below a title with other separators than the table, or none, the whole header is one cell.
    first, *rest = table.iloc[0] if len(table) else [""]
    if pd.isna(rest).all():
        cells = 1 + max(
            (str(first).count(one) for one in separators if one != separator), default=0
        )
        if cells > max(2, len(header)):
            raise _title(path, named, cells)
    refuse_many_values(path, table.size)
    last = file.content.rpartition(b"\n")[2]
    cells = last.count(separator.encode()) + 1
    if last.strip(b"\0\r ") and cells < len(header) and b'"' not in last:
        message = f"{path}: the last line has {cells} of {len(header)} cells"
        warnings.warn(f"{message}; check that the file is complete", Note, stacklevel=2)
    # Spreadsheets write rows of separators without content below a table.
    return [
        Record(number, {str(name): None if pd.isna(v) else v for name, v in row.items()})
        for number, row in enumerate(table.to_dict("records"), start=1)
        if any(not pd.isna(value) for value in row.values())
    ]


def _title(path: Path, named: int, cells: int) -> InputError:
    message = f"the first row names {named} of {cells} columns"
    return input_error(path, message, f"delete the rows above the header; {_ONE_ROW}")


def separator_of(file: TextIO, separators: str = SEPARATORS) -> str:
    """Return the separator of a table's cells: the most frequent one in its first line."""
    begin = file.read(_HEADER_LENGTH)
    file.seek(0)
    # A separator in quotes is part of a name.
    first, *_ = re.sub(r'"[^"]*"', "", begin).splitlines() or [""]
    return max(separators, key=first.count)


@dataclass(frozen=True)
class NoValue:
    """A cell with a formula or an error, or one of merged cells without their value."""

    kind: str
    remedy: str = "replace it with its value (paste values only)"


_MERGED = NoValue("one of merged cells", "unmerge them, and fill in each")


@dataclass(frozen=True)
class Layout:
    """What a sheet does not show as it is.

    `rows` and `columns` are hidden; columns count from 0. `merged` has the columns and the last row
    of merged cells, by their first row and column.
    """

    rows: set[int] = field(default_factory=set)
    columns: list[range] = field(default_factory=list)
    merged: dict[int, dict[int, tuple[range, int]]] = field(default_factory=dict)


@contextmanager
def workbook(
    path: Path, *, max_unpacked: int, formulas: bool, max_tags: float = math.inf
) -> Iterator[Any]:
    """Open a workbook with openpyxl, without running formulas or following links.

    `formulas` is whether a cell returns its formula or its last saved value. A workbook with a
    larger unpacked size in bytes, or more XML tags and attributes, is refused.
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
        raise input_error(path, f"is not a workbook ({error})", "save it as .xlsx again") from None
    if unpacked > max_unpacked or tags > max_tags:
        message = f"unpacks to {unpacked:,} bytes; the limit is {max_unpacked:,}"
        if unpacked <= max_unpacked:
            held = f"{tags:,} tags and attributes; the limit is {max_tags:,}"
            message = f"has too many cells ({held})"
        raise input_error(path, message, "save its sheets as CSV files")
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
        raise input_error(path, message, "save it as .xlsx again") from None


def _tags(packed: zipfile.ZipFile) -> int:
    """Count the tags and attributes in all parts of a workbook, without storing them."""
    tags = 0
    for entry in packed.infolist():
        with packed.open(entry) as part:
            while chunk := part.read(2**20):
                tags += chunk.count(b"<") + chunk.count(b"=")
    return tags


def xlsx_records(path: Path, sheet_name: str | None = None) -> list[Record]:
    """Return the rows of a workbook's sheet, with the names in the sheet's first row.

    Rows without a value are skipped, and so are columns without a name. A formula, an error or a
    merged cell without the value becomes a `NoValue`, which is refused if a value is needed. By
    default, the first sheet is read, with a note on others.

    Raises
    ------
    InputError
        If the file is not a workbook, is too large, has no such sheet, or has a duplicate column or
        a title above its columns. If the sheet, a row or a column is hidden, by hand or by a
        filter: people would take other ones for the data.
    """
    with workbook(path, max_unpacked=MAX_UNPACKED, formulas=True, max_tags=MAX_TAGS) as book:
        sheets = {one.title: one for one in book.worksheets}
        first, *others = sheets
        if sheet_name is not None and sheet_name not in sheets:
            message, remedy = f"has no sheet {sheet_name!r}", f"use one of {first_of([*sheets], 8)}"
            raise input_error(path, message, remedy)
        if sheet_name is None and others:
            unread = first_of([*map(repr, others)])
            message = f"{path}: only the sheet {first!r} is read, not {unread}; choose another "
            warnings.warn(f"{message}with {keyword('sheet', 'NAME')}", Note, stacklevel=2)
        sheet = sheets[sheet_name or first]
        if sheet.sheet_state != "visible":
            message = f"its sheet {sheet.title!r} is hidden"
            raise input_error(path, message, "delete it, or unhide it if it has the answers")
        # A sheet's declared size may be wrong.
        sheet.reset_dimensions()
        layout = layout_of(sheet)
        rows = sheet.iter_rows()
        names = [_value(cell) for cell in next(rows, ())]
        columns = {place: str(name).strip() for place, name in enumerate(names) if name is not None}
        _check_columns(path, list(columns.values()))
        records: list[Record] = []
        merged: dict[int, int] = {}
        characters = 0
        for number, cells in enumerate(rows, start=2):
            firsts = layout.merged.get(number, {})
            for first, (span, last) in firsts.items():
                if first < len(cells) and _value(cells[first]) is not None:
                    merged |= {place: last for place in columns if place in span}
            fields = dict.fromkeys(columns.values())
            for place, name in columns.items():
                fields[name] = _value(cells[place]) if place < len(cells) else None
                if merged.get(place, 0) >= number and place not in firsts:
                    fields[name] = _MERGED
            if not records and _below_title(cells, columns):
                message = "has values in columns that the header does not name"
                remedy = f"delete the rows above the header; {_ONE_ROW}"
                raise input_error(path, message, remedy, row=number)
            characters += sum(len(v) for v in fields.values() if isinstance(v, str))
            if number > _LAST_ROW or len(records) >= MAX_ROWS or characters > MAX_CHARACTERS:
                message = f"has more than {MAX_ROWS:,} rows or {MAX_CHARACTERS:,} characters"
                raise input_error(path, message, "split it into several files")
            if any(value is not None for value in fields.values()):
                records.append(Record(number, fields))
    unseen: list[dict[str, Any]] = [{"row": one.row} for one in records if one.row in layout.rows]
    for place, name in columns.items():
        if any(place in span for span in layout.columns):
            unseen.append({"column": name})
    message = "is hidden, by hand or by a filter"
    remedy = "delete it, or unhide it and clear the filter if it has answers"
    refuse(Problem(str(path), message, remedy, **place) for place in unseen)
    return records


def layout_of(sheet: Any) -> Layout:
    """Return what is hidden, by hand or by a filter, and what is merged.

    openpyxl does not keep it of a read-only sheet.
    """
    from openpyxl.utils.cell import range_boundaries
    from openpyxl.xml.functions import iterparse

    found, number = Layout(), 0
    with sheet._get_source() as source:
        for _, element in iterparse(source):
            tag = element.tag.rpartition("}")[2]
            if tag == "row":
                number = int(element.get("r", number + 1))
                if _is_hidden(element, "ht"):
                    found.rows.add(number)
                element.clear()
            elif tag == "col" and _is_hidden(element, "width"):
                found.columns.append(range(int(element.get("min")) - 1, int(element.get("max"))))
            elif tag == "mergeCell":
                left, top, right, bottom = range_boundaries(element.get("ref"))
                found.merged.setdefault(top, {})[left - 1] = range(left - 1, right), bottom
    return found


def _is_hidden(element: Any, size: str) -> bool:
    return element.get("hidden") in ("1", "true") or float(element.get(size, 1)) < 1


def _check_columns(path: Path, names: list[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise input_error(path, f"has {len(names):,} columns", f"use at most {MAX_COLUMNS}")
    _refuse_repeated(path, names)


def _refuse_repeated(path: Path, names: list[str]) -> None:
    remedy = f"give each a name of its own, in the first row; {_ONE_ROW}"
    refuse(replace(one, remedy=remedy) for one in repeated_columns(names, str(path)))


def _below_title(cells: Sequence[Any], columns: Mapping[int, str]) -> bool:
    """Return whether a row of cells is, or is below, the actual names of the columns."""
    given = [place for place, cell in enumerate(cells) if _value(cell) is not None]
    unnamed = [place for place in given if place not in columns]
    # Some columns, such as notes to the right of a table, have no name.
    return bool(unnamed) and (len(unnamed) >= len(columns) or min(columns) not in given)


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
        # Excel stores a day as its midnight.
        return str(value).removesuffix(" 00:00:00")
    return None if value == "" else value
