"""Open files that others wrote: regular files, each read once and within limits.

A file can be made to unpack to a thousand times its size, to never end, or to change while it is
read. Every table, benchmark file and list of keys is opened here. What is refused is refused with
an `InputError` before it takes memory.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import stat
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.problems import InputError, Note, Problem

if TYPE_CHECKING:
    import pyarrow

#: The largest file that is read, and the largest one of text: each byte of text takes several
#: bytes of memory.
MAX_FILE_BYTES = 2**30
MAX_TEXT_FILE_BYTES = 256 * 2**20
#: The longest line of a CSV or JSON Lines file. It holds one row.
MAX_LINE_BYTES = 16 * 2**20
#: The largest table that is read into memory. DuckDB and Spark take larger ones.
MAX_ROWS = 2_000_000
MAX_COLUMNS = 100
MAX_HEADER_BYTES = 2**20
#: The most cells of a CSV file, and of a parquet file, whose numbers take less.
MAX_CELLS = 20_000_000
MAX_PARQUET_CELLS = 30_000_000
#: The most values that are held as objects of Python, each of which takes some 200 bytes: those of
#: a JSON file, and of tables that are imported row by row.
MAX_VALUES = 4_000_000
#: What the text of a CSV or JSON Lines file may take in memory. Python keeps every letter of a text
#: that has one emoji in four bytes.
MAX_TEXT_MEMORY = 512 * 2**20
#: The text of a parquet file may unpack to this much, or to twenty times the size of the file:
#: a short text that many rows repeat takes almost no room in the file.
MAX_UNPACKED_TEXT = 512 * 2**20
_UNPACKED_SHARE = 20

_BATCH_ROWS = 65_536
_ASCII = bytes(range(128))
# Possessive, and a text without an end reaches to the end: the search never goes back.
_JSON_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
# Commas in texts are told from others only in long lines.
_FEW_VALUES = 64
_LONG_JSON = 64 * 2**20
_REPORTED_LINES = 1_000
_SPLIT = "split it into several files"
#: What pandas calls the index of a table in a parquet file.
_INDEX = re.compile(r"__index_level_[0-9]+__")


@dataclass(frozen=True)
class FileBytes(os.PathLike[str]):
    """A file that was read once: what is checked, used and hashed are the same bytes.

    Parameters
    ----------
    path : Path
        Where it was read from.
    content : bytes
        All of it.
    """

    path: Path
    content: bytes = field(repr=False)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def sha256(self) -> str:
        """The sha256 of the content, in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()


def read_once(path: str | os.PathLike[str], most: int | None = None) -> FileBytes:
    """Read a regular file whole; give back one that was read before.

    Parameters
    ----------
    path : path or FileBytes
        The file.
    most : int, optional
        The largest size in bytes; by default `MAX_FILE_BYTES`.

    Returns
    -------
    FileBytes

    Raises
    ------
    InputError
        When there is no such file, it cannot be opened, is a folder, a pipe or a device, is empty
        or is too large.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_bytes(b"before")
    >>> read = read_once(path)
    >>> _ = path.write_bytes(b"after")
    >>> read_once(read).content
    b'before'
    """
    if isinstance(path, FileBytes):
        return path
    limit = MAX_FILE_BYTES if most is None else most
    name = os.fspath(path)

    def wrong(message: str, remedy: str) -> InputError:
        return InputError([Problem(name, message, remedy)])

    try:
        # Without waiting for somebody to write into a pipe.
        opened = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except FileNotFoundError:
        raise wrong("no such file", "check the path") from None
    except (OSError, ValueError) as error:
        raise wrong(f"cannot be opened ({error})", "check the path") from None
    status = os.fstat(opened)
    if not stat.S_ISREG(status.st_mode):
        os.close(opened)
        if stat.S_ISDIR(status.st_mode):
            raise wrong("no such file: it is a folder", "name the file in it that is meant")
        raise wrong("is not a regular file", "copy its content into a file")
    with os.fdopen(opened, "rb") as file:
        # The file may have grown since its size was read.
        content = file.read(limit + 1) if status.st_size <= limit else b""
    if status.st_size > limit or len(content) > limit:
        raise wrong(f"is larger than {limit:,} bytes", _SPLIT)
    if not content:
        raise wrong("the file is empty", "write it again, or leave it out")
    return FileBytes(Path(name), content)


_BINARY: int = getattr(os, "O_BINARY", 0)


def already_read(paths: Iterable[str | os.PathLike[str]]) -> dict[Path, FileBytes]:
    """Give the files among these paths that were read before, by their paths."""
    return {one.path: one for one in paths if isinstance(one, FileBytes)}


def read_text(path: str | os.PathLike[str], most: int | None = None) -> str:
    """Read a file of UTF-8 text whole, of `most` bytes or, by default, of any size for text.

    Raises
    ------
    InputError
        As `read_once`, and when it is not UTF-8.
    """
    file = read_once(path, MAX_TEXT_FILE_BYTES if most is None else most)
    try:
        return file.content.decode()
    except UnicodeDecodeError as error:
        problem = Problem(str(file), f"not UTF-8 text ({error})", "save it as UTF-8")
        raise InputError([problem]) from None


def file_inside(folder: Path, name: object, *, path: Path, key: str) -> Path:
    """Find a file that another file names, inside the folder of that file.

    A file that is passed on must not name what lies elsewhere on the machine of its reader.

    Parameters
    ----------
    folder : Path
        Where it has to lie, directly or deeper.
    name : object
        The name as declared.
    path, key : Path, str
        Where it is declared, for the problem.

    Returns
    -------
    Path
        The file; it may be missing.

    Raises
    ------
    InputError
        When the name is not text, is absolute, leads out of the folder, or is not that of a
        regular file.
    """

    def wrong(message: str, remedy: str) -> InputError:
        return InputError([Problem(str(path), message, remedy, column=key, value=str(name))])

    remedy = "put the file into the folder of this one, and write its name alone"
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise wrong("is not the name of a file", remedy)
    if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        raise wrong("leads out of the folder of this file", remedy)
    found = folder / name
    try:
        if not found.resolve().is_relative_to(folder.resolve()):
            raise wrong("leads out of the folder of this file", remedy)
        if found.exists() and not found.is_file():
            raise wrong("is not a regular file", remedy)
    except (OSError, RuntimeError) as error:  # a name that is too long, links in a circle
        raise wrong(f"cannot be opened ({error})", remedy) from None
    return found


def refuse_links(paths: Collection[Path]) -> None:
    """Refuse symbolic links among what a folder holds: they may lead anywhere.

    Raises
    ------
    InputError
        Names every link, but not what it leads to.
    """
    remedy = "copy what it leads to into the folder, or remove it"
    if linked := [path for path in paths if path.is_symlink()]:
        raise InputError([Problem(str(path), "is a symbolic link", remedy) for path in linked])


# JSON


def parse_json(text: str | bytes) -> Any:
    """Parse JSON in which every object has distinct names.

    Raises
    ------
    ValueError
        When it is not JSON, an object has a name twice, or it is nested too deep.

    Examples
    --------
    >>> parse_json('{"answer": "D", "answer": "A"}')
    Traceback (most recent call last):
    ValueError: the name 'answer' stands there more than once in one object
    """
    try:
        return json.loads(text, object_pairs_hook=distinct_names)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text ({error})") from None
    except RecursionError:
        raise ValueError("not JSON that can be read (nested too deep)") from None


def parse_unicode(text: str) -> Any:
    """Parse JSON as `parse_json` does, and refuse text that no file can hold.

    JSON may escape half of a surrogate pair.

    Raises
    ------
    ValueError
        As `parse_json`, and for such text.
    """
    value = parse_json(text)
    if ("\\ud" in text or "\\uD" in text) and not _is_unicode(value):
        raise ValueError("is not Unicode text: half of a surrogate pair")
    return value


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_unicode(row: dict[str, Any]) -> str:
    """Name the field that is not Unicode text; empty if all are."""
    if not all(map(_is_unicode, row)):
        return "line"
    return next((name for name, value in row.items() if not _is_unicode(value)), "")


def distinct_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its names and values; refuse a name that it has twice.

    Some readers take the first value of such a name, others the last.
    """
    # One name for all rows: a parser makes another of each.
    found = {sys.intern(name): value for name, value in pairs}
    if len(found) < len(pairs):
        seen: set[str] = set()
        for twice, _ in pairs:
            if twice in seen:
                break
            seen.add(twice)
        raise ValueError(f"the name {twice[:80]!r} stands there more than once in one object")
    return found


def json_objects(
    path: str | os.PathLike[str], *, unicode: bool = True
) -> list[tuple[int, dict[str, Any]]]:
    """Read the objects of a JSON Lines file with the numbers of their lines; skip blank lines.

    Without `unicode` halves of surrogate pairs are passed on: replies that were cut off end so.

    Raises
    ------
    InputError
        As `read_once`; and with a problem for each line that is not one JSON object of UTF-8 text
        with distinct names, or for the first limit that is exceeded.
    """
    file = read_once(path, MAX_TEXT_FILE_BYTES)
    rows: list[tuple[int, dict[str, Any]]] = []
    problems: list[Problem] = []
    values = memory = 0
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        values += values_of(line)
        if values > MAX_VALUES:
            raise InputError([*problems, _too_many_values(str(file))])
        try:
            # Spreadsheets write a mark before the text that says it is UTF-8.
            row = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            if not isinstance(row, dict):
                raise ValueError("not a JSON object")
        except UnicodeDecodeError as error:
            column, message = "line", f"not UTF-8 text ({error})"
        except ValueError as error:
            column, message = "line", str(error)
        else:
            column = _not_unicode(row) if unicode and (b"\\ud" in line or b"\\uD" in line) else ""
            message = "is not Unicode text: half of a surrogate pair"
        if not column:
            rows.append((number, row))
            if len(rows) > MAX_ROWS:
                raise InputError([*problems, too_many_rows(str(file))])
            memory += sum(map(sys.getsizeof, row.values()))
            if memory > MAX_TEXT_MEMORY:
                raise InputError([*problems, _too_much_text(file)])
            continue
        # Not the line: it may be of a file that nobody meant to show.
        remedy = "write one JSON object per line, as UTF-8"
        problems.append(Problem(str(file), message, remedy, row=number, column=column))
        if len(problems) >= _REPORTED_LINES:
            break
    if problems:
        raise InputError(problems)
    return rows


def values_of(content: bytes) -> int:
    """Count the values of JSON before it is parsed.

    Of few values, and of a very long text, commas in texts count as well.

    Examples
    --------
    >>> values_of(b'{"reply": "A, since B, C and D are wrong", "answer": "A"}')
    4
    >>> values_of(b'[' + b'"a, b",' * 100 + b'0]')
    101
    """
    values = _separators(content)
    if values <= _FEW_VALUES or len(content) > _LONG_JSON:
        return values
    return _separators(_JSON_TEXT.sub(b"", content))


def _separators(content: bytes) -> int:
    return sum(map(content.count, (b",", b"[", b"{")))


def refuse_many_values(path: str | os.PathLike[str], values: int) -> None:
    """Refuse a file that holds more than `MAX_VALUES` values.

    Raises
    ------
    InputError
        Names the limit.
    """
    if values > MAX_VALUES:
        raise InputError([_too_many_values(os.fspath(path))])


def _too_many_values(path: str) -> Problem:
    return Problem(path, f"holds more than {MAX_VALUES:,} values", _SPLIT)


def read_json_lines(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the objects of a JSON Lines file; skip blank lines.

    Raises
    ------
    InputError
        As `json_objects`.
    """
    return [row for _, row in json_objects(path)]


def _lines(file: FileBytes) -> Iterator[bytes]:
    """Give the lines of a file one by one; a reply may hold U+2028, which ends no line."""
    _refuse_long_lines(file)
    return iter(io.BytesIO(file.content))


def _refuse_long_lines(file: FileBytes) -> None:
    """Refuse a file with a line of twice the limit; lines within the limit always pass."""
    content, step = file.content, MAX_LINE_BYTES
    for start in range(0, len(content) - step, step):
        if content.find(b"\n", start, start + step) < 0:
            message = f"a line is longer than {step:,} bytes"
            raise InputError([Problem(str(file), message, "write one row a line")])


def _too_much_text(file: FileBytes) -> Problem:
    message = f"takes more than {MAX_TEXT_MEMORY:,} bytes of memory"
    return Problem(str(file), message, _SPLIT)


def refuse_long_text(file: FileBytes) -> None:
    """Refuse a file whose text may take more than `MAX_TEXT_MEMORY`.

    Raises
    ------
    InputError
        Before any of it is decoded.
    """
    if len(file.content) * _bytes_of_a_letter(file.content) > MAX_TEXT_MEMORY:
        raise InputError([_too_much_text(file)])


def _bytes_of_a_letter(content: bytes) -> int:
    """Give the bytes that Python takes for each letter of a text that is as the widest in UTF-8.

    Examples
    --------
    >>> [_bytes_of_a_letter(text.encode()) for text in ("yes", "déjà vu", "≥ 5 mg", "\\U0001f600")]
    [1, 1, 2, 4]
    """
    widest = max(content.translate(None, _ASCII), default=0)
    return 4 if widest >= 0xF0 else 2 if widest >= 0xC4 else 1


def too_many_rows(path: str) -> Problem:
    """Build the problem of a table that is too long to be read into memory."""
    return Problem(path, f"has more than {MAX_ROWS:,} rows", _SPLIT)


def _too_many_cells(path: str, most: int) -> Problem:
    return Problem(path, f"has more than {most:,} cells", _SPLIT)


def repeated_columns(columns: Iterable[str], path: str) -> list[Problem]:
    """Build a problem for each column that a table has more than once.

    Examples
    --------
    >>> print(*repeated_columns(["model", "item_id", "model"], "a.csv"))
    a.csv: model: the column stands there more than once; drop one
    """
    message = "the column stands there more than once"
    twice = [name for name, number in Counter(columns).items() if number > 1]
    return [Problem(path, message, "drop one", column=str(name)) for name in sorted(twice, key=str)]


def _refuse_wide(path: str, columns: int) -> None:
    if columns > MAX_COLUMNS:
        message = f"has {columns:,} columns, more than {MAX_COLUMNS}"
        raise InputError([Problem(path, message, "keep the columns that are needed")])


# Tables


def load_jsonl(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a JSON Lines file as a table of texts, numbers and nulls.

    Raises
    ------
    InputError
        As `json_objects`; and when a value is a list or an object, which has no place in a cell.
    """
    rows = read_json_lines(path)
    problems = [
        Problem(
            os.fspath(path),
            f"is a JSON {'array' if isinstance(value, list) else 'object'}",
            "write a text or a number",
            row=number,
            column=name,
            value=str(value)[:300],
        )
        for number, row in enumerate(rows, start=1)
        for name, value in row.items()
        if isinstance(value, list | dict)
    ]
    if problems:
        raise InputError(problems[:_REPORTED_LINES])
    _refuse_wide(os.fspath(path), len(set().union(*rows)))
    # Objects as they are: pandas would make floats of whole numbers next to nulls.
    return pd.DataFrame(rows, dtype=object)


def load_csv(
    path: str | os.PathLike[str], *, encoding: str = "utf-8", separator: str = ","
) -> pd.DataFrame:
    """Read a CSV file, every cell as text and an empty one as a null.

    Raises
    ------
    InputError
        As `read_once`; when it is not a CSV file of UTF-8 text, or exceeds a limit.
    """
    file = read_once(path, MAX_TEXT_FILE_BYTES)
    _refuse_long_lines(file)
    refuse_long_text(file)
    try:
        _refuse_wide(str(file), len(csv_header(file, encoding, separator)))
        with warnings.catch_warnings():
            # pandas drops the end of lines that are longer than the header, with a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Text only: the schema gives the types, and 'NA' or 'None' is a name like any other.
            parts = pd.read_csv(
                io.BytesIO(file.content),
                dtype=str,
                keep_default_na=False,
                na_values=[""],
                index_col=False,
                encoding=encoding,
                sep=separator,
                chunksize=_BATCH_ROWS,
            )
            tables, rows = [], 0
            with parts:
                for part in parts:
                    rows += len(part)
                    if rows > MAX_ROWS:
                        raise InputError([too_many_rows(str(file))])
                    if rows * len(part.columns) > MAX_CELLS:
                        raise InputError([_too_many_cells(str(file), MAX_CELLS)])
                    tables.append(part)
    except (
        pd.errors.ParserError,
        pd.errors.ParserWarning,
        pd.errors.EmptyDataError,
        UnicodeError,
        csv.Error,
    ) as error:
        raise InputError([not_csv(file, error)]) from None
    return pd.concat(tables, ignore_index=True)


def csv_header(file: FileBytes, encoding: str, separator: str) -> list[str]:
    """Read the first row of a CSV file; a quoted name may go over several lines.

    Raises
    ------
    csv.Error
        When it is no such row, or longer than `MAX_HEADER_BYTES`.
    """
    begin = file.content[:MAX_HEADER_BYTES].decode(encoding, errors="ignore")
    rows = csv.reader(io.StringIO(begin, newline=""), delimiter=separator)
    header = next(rows, [])
    try:
        ends = len(file.content) <= MAX_HEADER_BYTES or next(rows, None) is not None
    except csv.Error:  # a long reply in the second row, or what is left of it
        ends = True
    if not ends:
        raise csv.Error(f"its first row is longer than {MAX_HEADER_BYTES:,} bytes")
    return header


def not_csv(path: str | os.PathLike[str], error: Exception) -> Problem:
    """Say why a file could not be read as CSV, for whoever saved it."""
    if isinstance(error, UnicodeDecodeError):
        message = "is not saved as UTF-8: letters such as é or ß cannot be read"
        remedy = "open it in the spreadsheet again and save it as 'CSV UTF-8'"
        return Problem(os.fspath(path), message, remedy)
    message = f"not a CSV file ({error})"
    return Problem(os.fspath(path), message, "save it as UTF-8 CSV again")


def load_parquet(
    path: str | os.PathLike[str], columns: Collection[str] | None = None
) -> pd.DataFrame:
    """Read a parquet file of texts and numbers.

    Parameters
    ----------
    path : path or FileBytes
        The file.
    columns : collection of str, optional
        Read only these columns, if they are there.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    InputError
        As `read_once`; when it is not a parquet file; and when a column is not of texts or
        numbers, or the table exceeds a limit: rows and columns by what the file declares, text as
        it is unpacked.
    """
    import pyarrow

    file = read_once(path)
    try:
        table = _arrow_table(file, columns)
        # Text that is not UTF-8 is found here, by its column and row.
        table.validate(full=True)
        return table.to_pandas(ignore_metadata=True, types_mapper=_exact_integers)
    except InputError:
        raise
    # Damaged pages bring out errors of every kind.
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        problem = Problem(str(file), f"not a parquet file ({error})", "write it as parquet again")
        raise InputError([problem]) from None


def _arrow_table(file: FileBytes, wanted: Collection[str] | None) -> pyarrow.Table:
    import pyarrow
    import pyarrow.parquet

    source = pyarrow.py_buffer(file.content)
    # ParquetFile and not read_table: the latter adds columns from folder names.
    with pyarrow.parquet.ParquetFile(pyarrow.BufferReader(source)) as whole:
        schema, rows = whole.schema_arrow, whole.metadata.num_rows
    kept = without_index(schema.names, str(file)) if wanted is None else wanted
    fields = [one for one in schema if one.name in kept]
    _refuse_wide(str(file), len(fields))
    names = [one.name for one in fields]
    if problems := repeated_columns(names, str(file)):
        raise InputError(problems)
    if rows > MAX_ROWS:
        raise InputError([too_many_rows(str(file))])
    if rows * len(fields) > MAX_PARQUET_CELLS:
        raise InputError([_too_many_cells(str(file), MAX_PARQUET_CELLS)])
    if problems := list(_type_problems(fields, str(file))):
        raise InputError(problems)
    texts = [one.name for one in fields if _is_text(one.type)]
    # A text that rows share stays one text until it is known how much they are together.
    reader = pyarrow.parquet.ParquetFile(
        pyarrow.BufferReader(source), read_dictionary=list(dict.fromkeys(texts))
    )
    most = max(MAX_UNPACKED_TEXT, _UNPACKED_SHARE * len(file.content))
    batches, unpacked, read = [], 0, 0
    with reader:
        for batch in reader.iter_batches(_BATCH_ROWS, columns=names, use_threads=False):
            unpacked += sum(_text_bytes(column) for column in batch.columns)
            read += batch.num_rows
            if unpacked > most:
                message = f"unpacks to more than {most:,} bytes of text"
                raise InputError([Problem(str(file), message, _SPLIT)])
            if read > MAX_ROWS:
                raise InputError([too_many_rows(str(file))])
            columns = [_decoded(column) for column in batch.columns]
            batches.append(pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names))
        empty = reader.schema_arrow.empty_table()
    return pyarrow.Table.from_batches(batches) if batches else empty.select(names)


def without_index(columns: Iterable[str], path: str) -> list[str]:
    """Return these columns without pandas' index, of which it warns with a `Note`.

    Examples
    --------
    >>> without_index(["model", "answer"], "answers.parquet")
    ['model', 'answer']
    """
    names = list(columns)
    index = [name for name in names if _INDEX.fullmatch(name)]
    for name in index:
        message = f"{path}: column {name} is ignored: it is the index of a pandas table"
        warnings.warn(message, Note, stacklevel=2)
    return [name for name in names if name not in index]


def _type_problems(fields: Collection[pyarrow.Field], path: str) -> Iterator[Problem]:
    from pyarrow import types

    for one in fields:
        kind = one.type
        number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if not (number or types.is_null(kind) or _is_text(kind)):
            message = f"has the type {str(kind)[:80]}"
            yield Problem(path, message, "write it as text or numbers", column=one.name)


def _is_text(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _text_bytes(column: pyarrow.Array) -> int:
    """How many bytes a column takes when every row has its text."""
    import pyarrow.compute
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return 0
    lengths = pyarrow.compute.binary_length(column.dictionary.cast("large_binary"))
    return pyarrow.compute.sum(lengths.take(column.indices)).as_py() or 0


def _decoded(column: pyarrow.Array) -> pyarrow.Array:
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return column
    return column.dictionary.cast("large_string").take(column.indices)


def _exact_integers(kind: Any) -> Any:
    """Keep integers next to nulls integers: as floats they would be exact to 2**53 only."""
    import pyarrow

    small = pyarrow.types.is_integer(kind) and not pyarrow.types.is_uint64(kind)
    return pd.Int64Dtype() if small else None
