"""Open files from others: read fully, within a size limit, without executing their content."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import (
    MAX_TEXT_FILE_BYTES,
    read_once,
    refuse_links,
    refuse_long_text,
)
from fairstats._lib.untrusted_json import (
    json_objects,
    parse_json,
    parse_unicode,
    refuse_many_values,
    values_of,
)
from fairstats._lib.untrusted_tables import csv_header, load_csv, not_csv, repeated_columns

#: Larger files are refused unread: their content takes several times their size in memory.
MAX_BYTES = MAX_TEXT_FILE_BYTES

#: The cell separators that spreadsheets of different countries write to CSV files.
SEPARATORS = ",;\t"
#: The separator is determined from this many characters, so that an endless line is not read.
_HEADER_LENGTH = 2**16

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".dill", ".npy", ".npz")


@dataclass(frozen=True)
class Record:
    """A file's record of one answer.

    Parameters
    ----------
    row : int
        Its position, counted from 1: the line, the row or the sample.
    fields : dict
        Its fields by name; fields may be nested.
    columns : Mapping[str, str]
        The file's column for a column of the answers table, if problems should name it.
    """

    row: int
    fields: dict[str, Any]
    columns: Mapping[str, str] = field(default_factory=dict)


def importable_files(
    paths: Paths,
    find: Callable[[Path], Sequence[Path]] | None,
    suffixes: Sequence[str],
    max_bytes: int | None = None,
) -> list[Path]:
    """Return the files in `paths`, checking that each has a supported kind and size.

    Parameters
    ----------
    paths : path, or iterable of paths
        Files and folders.
    find : callable, optional
        Selects the files of a folder; if None, folders are refused.
    suffixes : sequence of str
        The allowed suffixes.
    max_bytes : int, optional
        Maximum size of a file, by default `MAX_BYTES`.

    Raises
    ------
    InputError
        With a problem for each path that cannot be read.
    """
    limit = MAX_BYTES if max_bytes is None else max_bytes
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    files: list[Path] = []
    problems: list[Problem] = []
    for path in map(Path, given):
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
    if problems:
        raise InputError(problems)
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
    """Return the objects of a JSON Lines file by line; for `unicode` see `json_objects`.

    Raises
    ------
    InputError
        As `fairstats._lib.untrusted_json.json_objects`.
    """
    return [Record(number, fields) for number, fields in json_objects(path, unicode=unicode)]


def json_value(path: Path, *, unicode: bool = True) -> Any:
    """Return the value of a JSON file.

    For `unicode`, see `fairstats._lib.untrusted_json.json_objects`.

    Raises
    ------
    InputError
        If it is not JSON of UTF-8 text with distinct names, or is too large.
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
        problem = Problem(str(path), message, "use the file as it was written")
        raise InputError([problem]) from None


def csv_records(path: Path, *, separators: str = ",") -> list[Record]:
    """Return the rows of a CSV file, with every cell as text and empty cells as None.

    Parameters
    ----------
    path : Path
        UTF-8, or UTF-16 with a byte order mark.
    separators : str
        Possible separators; the most frequent one in the header is used.

    Raises
    ------
    InputError
        If it is not a CSV file of such text with distinct column names.
    """
    file = read_once(path, MAX_TEXT_FILE_BYTES)
    encoding = encoding_of(path)
    try:
        with io.TextIOWrapper(io.BytesIO(file.content), encoding, newline="") as text:
            separator = separator_of(text, separators)
        header = csv_header(file, encoding, separator)
    except (UnicodeError, csv.Error) as error:
        raise InputError([not_csv(path, error)]) from None
    if problems := repeated_columns(header, str(path)):
        raise InputError(problems)
    table = load_csv(file, encoding=encoding, separator=separator)
    refuse_many_values(path, table.size)
    # Spreadsheets write rows of separators without content below a table.
    return [
        Record(number, {str(name): None if pd.isna(v) else v for name, v in row.items()})
        for number, row in enumerate(table.to_dict("records"), start=1)
        if any(not pd.isna(value) for value in row.values())
    ]


def encoding_of(path: Path) -> str:
    """Return UTF-16 if the file begins with its byte order mark, else UTF-8."""
    with path.open("rb") as file:
        mark = file.read(2)
    return "utf-16" if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def separator_of(file: TextIO, separators: str = SEPARATORS) -> str:
    """Return the separator of a table's cells: the most frequent one in its first line."""
    begin = file.read(_HEADER_LENGTH)
    file.seek(0)
    # A separator in quotes is part of a name.
    first, *_ = re.sub(r'"[^"]*"', "", begin).splitlines() or [""]
    return max(separators, key=first.count)
