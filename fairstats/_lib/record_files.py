"""Open files that others wrote: whole, within a size, and running nothing that is in them."""

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
    json_objects,
    parse_json,
    parse_unicode,
    read_once,
    refuse_links,
    refuse_long_text,
    refuse_many_values,
    values_of,
)
from fairstats._lib.untrusted_tables import csv_header, load_csv, not_csv, repeated_columns

#: A larger file is refused unread: what is in it takes several times its size in memory.
MAX_BYTES = MAX_TEXT_FILE_BYTES

#: What spreadsheets of different countries write between the cells of a CSV file.
SEPARATORS = ",;\t"
#: The separator is looked for in so many characters, so that one endless line is not read whole.
_HEADER_LENGTH = 2**16

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".dill", ".npy", ".npz")


@dataclass(frozen=True)
class Record:
    """What a file says of one answer.

    Parameters
    ----------
    row : int
        Where it stands, counted from 1: the line, the row or the sample.
    fields : dict
        Its fields by name; fields may hold others.
    columns : Mapping[str, str]
        The file's column behind a column of the answers table, where problems should name it.
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
    """The files that `paths` stand for, each of a kind and size that is read.

    Parameters
    ----------
    paths : path, or iterable of paths
        Files and folders.
    find : callable, optional
        Which files of a folder are meant; with None a folder is refused.
    suffixes : sequence of str
        How their names may end.
    max_bytes : int, optional
        The largest file that is read, by default `MAX_BYTES`.

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
    """The objects of a JSON Lines file by their lines; `unicode` is that of `json_objects`.

    Raises
    ------
    InputError
        As `fairstats._lib.untrusted_files.json_objects`.
    """
    return [Record(number, fields) for number, fields in json_objects(path, unicode=unicode)]


def json_value(path: Path, *, unicode: bool = True) -> Any:
    """The value of a JSON file; `unicode` is that of `fairstats._lib.untrusted_files.json_objects`.

    Raises
    ------
    InputError
        When it is not JSON of UTF-8 text with distinct names, or is too large.
    """
    file = read_once(path, MAX_TEXT_FILE_BYTES)
    refuse_long_text(file)
    refuse_many_values(file, values_of(file.content))
    try:
        # Spreadsheets write a mark before the text that says it is UTF-8.
        parse = parse_unicode if unicode else parse_json
        return parse(file.content.decode("utf-8-sig"))
    except ValueError as error:
        message = f"not UTF-8 text ({error})" if isinstance(error, UnicodeError) else str(error)
        problem = Problem(str(path), message, "use the file as it was written")
        raise InputError([problem]) from None


def csv_records(path: Path, *, separators: str = ",") -> list[Record]:
    """The rows of a CSV file, every cell as text, empty cells as None.

    Parameters
    ----------
    path : Path
        UTF-8, or UTF-16 that says so.
    separators : str
        What may stand between cells; the one that the header has most of does.

    Raises
    ------
    InputError
        When it is not a CSV file of such text with distinct column names.
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
    # Spreadsheets write rows of separators alone below a table.
    return [
        Record(number, {str(name): None if pd.isna(v) else v for name, v in row.items()})
        for number, row in enumerate(table.to_dict("records"), start=1)
        if any(not pd.isna(value) for value in row.values())
    ]


def encoding_of(path: Path) -> str:
    """UTF-16 where a file says so by its first bytes, as some spreadsheets write it; else UTF-8."""
    with path.open("rb") as file:
        mark = file.read(2)
    return "utf-16" if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def separator_of(file: TextIO, separators: str = SEPARATORS) -> str:
    """What stands between the cells of a table: of these the one that its first line has most."""
    begin = file.read(_HEADER_LENGTH)
    file.seek(0)
    # A separator in quotes is part of a name.
    first, *_ = re.sub(r'"[^"]*"', "", begin).splitlines() or [""]
    return max(separators, key=first.count)
