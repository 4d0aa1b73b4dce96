"""Open files and JSON from others: regular files, each read once and within limits.

A file can be made to unpack to a thousand times its size, to never end, or to change while it is
read. So every table, benchmark file and list of keys is opened here. Files are refused with an
`InputError` before they take memory.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from fairstats._lib.formatting import counted
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Problem, input_error, refuse

#: Maximum size of a file, and of a text file: each byte of text takes several bytes of memory.
MAX_FILE_BYTES = 2**30
MAX_TEXT_FILE_BYTES = 256 * 2**20
#: Maximum length of a line of a CSV or JSON Lines file, which is one row.
MAX_LINE_BYTES = 16 * 2**20
#: Maximum number of rows of a text file, and of a parquet file, in memory. DuckDB and Spark accept
#: larger tables.
MAX_ROWS = 2_000_000
MAX_PARQUET_ROWS = 5_000_000
MAX_COLUMNS = 100
MAX_HEADER_BYTES = 2**20
#: Maximum number of cells of a CSV file, and of a parquet file, which needs less memory for
#: numbers.
MAX_CELLS = 20_000_000
MAX_PARQUET_CELLS = 75_000_000
#: Maximum number of values held as Python objects, at about 200 bytes each: those of a JSON file,
#: and of tables imported row by row.
MAX_VALUES = 4_000_000
#: Maximum memory for the text of a CSV or JSON Lines file. If a text has a single emoji, Python
#: stores each of its letters in four bytes.
MAX_TEXT_MEMORY = 512 * 2**20
#: Maximum unpacked size of the text of a parquet file, or twenty times the file's size. A short
#: text repeated in many rows takes almost no space in the file.
MAX_UNPACKED_TEXT = 512 * 2**20

_ASCII = bytes(range(128))
SPLIT = "split it into several files"
_BINARY: int = getattr(os, "O_BINARY", 0)
#: Possessive; an unterminated text extends to the end of the file: the search never backtracks.
JSON_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
# Commas within texts are distinguished from separators only in long lines.
_FEW_VALUES = 64
_LONG_JSON = 64 * 2**20
REPORTED_LINES = 1_000

T = TypeVar("T")


@dataclass(frozen=True)
class FileBytes(os.PathLike[str]):
    """A file that was read once, so that the same bytes are checked, used and hashed."""

    path: Path
    content: bytes = field(repr=False)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def sha256(self) -> str:
        """Return the sha256 of the content, in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()


def read_once(path: AnyPath, most: int | None = None) -> FileBytes:
    """Read a whole regular file; return a file that was read before unchanged.

    It may have up to `most` bytes, by default `MAX_FILE_BYTES`.

    Raises
    ------
    InputError
        If there is no such file, it cannot be opened, is a folder, a pipe or a device, is empty or
        is too large.

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
    wrong = partial(input_error, name)
    try:
        # Do not wait for a writer if the file is a pipe.
        opened = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except FileNotFoundError:
        raise wrong("no such file", "check the path") from None
    except (OSError, ValueError) as error:
        raise wrong(f"cannot be opened ({error})", "check the path") from None
    status = os.fstat(opened)
    if not stat.S_ISREG(status.st_mode):
        os.close(opened)
        if stat.S_ISDIR(status.st_mode):
            raise wrong("is a folder, not a file", "give a file in the folder")
        raise wrong("is not a regular file", "copy its content into a file")
    with os.fdopen(opened, "rb") as file:
        # The file may have grown since its size was read.
        content = file.read(limit + 1) if status.st_size <= limit else b""
    if status.st_size > limit or len(content) > limit:
        raise wrong(f"is larger than {limit:,} bytes", SPLIT)
    if not content:
        raise wrong("the file is empty", "write it again, or remove it")
    return FileBytes(Path(name), content)


def already_read(paths: Iterable[str | os.PathLike[str]]) -> dict[Path, FileBytes]:
    """Return the files among these paths that were read before, by path."""
    return {one.path: one for one in paths if isinstance(one, FileBytes)}


def read_text(path: AnyPath, most: int | None = None) -> str:
    """Read a whole UTF-8 text file, up to `most` bytes or, by default, the limit for text."""
    file = read_once(path, MAX_TEXT_FILE_BYTES if most is None else most)
    try:
        return file.content.decode()
    except UnicodeDecodeError as error:
        raise input_error(file, f"not UTF-8 text ({error})", "save it as UTF-8") from None


def file_inside(folder: Path, name: object, *, path: Path, key: str) -> Path:
    """Return the path of a file named in another file, which must be inside that file's folder.

    A shared file must not refer to files elsewhere on its reader's machine.

    `path` and `key` are where the name is declared. The file may be missing, and at any depth.

    Raises
    ------
    InputError
        If the name is not text, is absolute, is outside the folder, or does not belong to a regular
        file.
    """
    wrong = partial(input_error, path, column=key, value=str(name))
    remedy = "put the file in the same folder as this one, and write only its name"
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise wrong("is not a file name", remedy)
    if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        raise wrong("points outside the folder of this file", remedy)
    found = folder / name
    try:
        if not found.resolve().is_relative_to(folder.resolve()):
            raise wrong("points outside the folder of this file", remedy)
        if found.exists() and not found.is_file():
            raise wrong("is not a regular file", remedy)
    except (OSError, RuntimeError) as error:  # The name is too long, or links form a cycle.
        raise wrong(f"cannot be opened ({error})", remedy) from None
    return found


def refuse_links(paths: Collection[Path]) -> None:
    """Refuse symbolic links in a folder, but do not name their targets: they may lead anywhere."""
    remedy = "replace it by the file it points to, or remove it"
    linked = (path for path in paths if path.is_symlink())
    refuse(Problem(str(path), "is a symbolic link", remedy) for path in linked)


def refuse_long_lines(file: FileBytes) -> None:
    """Refuse a file with a line of twice the limit; lines within the limit always pass."""
    content, step = file.content, MAX_LINE_BYTES
    for start in range(0, len(content) - step, step):
        if content.find(b"\n", start, start + step) < 0:
            message = f"a line is longer than {step:,} bytes"
            raise input_error(file, message, "write one row per line")


def too_much_text(file: FileBytes) -> Problem:
    """Return the problem of a text that takes too much memory."""
    message = f"takes more than {MAX_TEXT_MEMORY:,} bytes of memory"
    return Problem(str(file), message, SPLIT)


def refuse_long_text(file: FileBytes) -> None:
    """Refuse a file, before decoding, with text that may take more than `MAX_TEXT_MEMORY`."""
    if len(file.content) * _bytes_of_a_letter(file.content) > MAX_TEXT_MEMORY:
        raise InputError([too_much_text(file)])


def _bytes_of_a_letter(content: bytes) -> int:
    """Return Python's bytes per letter for a text with the widest letters in this UTF-8 content.

    Examples
    --------
    >>> [_bytes_of_a_letter(text.encode()) for text in ("yes", "déjà vu", "≥ 5 mg", "\\U0001f600")]
    [1, 1, 2, 4]
    """
    widest = max(content.translate(None, _ASCII), default=0)
    return 4 if widest >= 0xF0 else 2 if widest >= 0xC4 else 1


def too_many_rows(path: str, most: int) -> Problem:
    """Return the problem of a table that is too long for memory."""
    return Problem(path, f"has more than {most:,} rows", SPLIT)


def too_many_cells(path: str, most: int) -> Problem:
    """Return the problem of a table that is too large for memory."""
    return Problem(path, f"has more than {most:,} cells", SPLIT)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON in which every object has distinct names.

    Raises
    ------
    ValueError
        If it is not JSON, an object has a name twice, or it is nested too deeply.

    Examples
    --------
    >>> parse_json('{"answer": "D", "answer": "A"}')
    Traceback (most recent call last):
    ValueError: the name 'answer' appears more than once in one object
    """
    try:
        return json.loads(text, object_pairs_hook=distinct_names)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text ({error})") from None
    except RecursionError:
        raise ValueError("not JSON that can be read (nested too deeply)") from None


def checked(
    expected: TypeAdapter[T], text: str | bytes, path: AnyPath, message: str, remedy: str
) -> T:
    """Parse JSON from outside, and check it with a model; values are not converted.

    pydantic's own parser would accept an object that has a name twice.

    Raises
    ------
    InputError
        If it is not JSON as `parse_json` accepts it, or with the first field that is missing,
        unknown or wrong. The problem contains no value: the file may be from anybody.

    Examples
    --------
    >>> adapter = TypeAdapter(dict[str, int])
    >>> checked(adapter, '{"rows": "3"}', "a.json", "is no list", "get it again")
    Traceback (most recent call last):
    fairstats.InputError: a.json: rows: is no list (input should be a valid integer); get it again
    """
    try:
        return expected.validate_python(
            parse_json(text if isinstance(text, str) else text.decode()), strict=True
        )
    except ValidationError as error:
        first, *others = error.errors(include_url=False, include_input=False)
        said = first["msg"].removeprefix("Value error, ")
        more = f", and {counted(len(others), 'other field')}" if others else ""
        why = f"{message} ({said[:1].lower()}{said[1:]}{more})"
        column = ".".join(str(step)[:80] for step in first["loc"]) or None
        raise input_error(path, why, remedy, column=column) from None
    except ValueError as error:
        raise input_error(path, f"{message} ({error})", remedy) from None


def parse_unicode(text: str) -> Any:
    """Parse JSON like `parse_json`, and refuse text that cannot be stored in a file.

    JSON can escape half of a surrogate pair.

    Raises
    ------
    ValueError
        As `parse_json`, and for such text.
    """
    value = parse_json(text)
    if ("\\ud" in text or "\\uD" in text) and not is_unicode(value):
        raise ValueError("is not valid Unicode text (unpaired surrogate)")
    return value


def is_unicode(value: Any) -> bool:
    """Return whether UTF-8 can encode a value: JSON can escape half of a surrogate pair."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_unicode(row: dict[str, Any]) -> str:
    """Return the field that is not Unicode text; empty if all are."""
    if not all(map(is_unicode, row)):
        return "line"
    return next((name for name, value in row.items() if not is_unicode(value)), "")


def distinct_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object from its names and values; refuse duplicate names.

    For a duplicate name, some readers use the first value, others the last.
    """
    # Share one name between all rows: a parser creates a copy in each.
    found = {sys.intern(name): value for name, value in pairs}
    if len(found) < len(pairs):
        seen: set[str] = set()
        for twice, _ in pairs:
            if twice in seen:
                break
            seen.add(twice)
        raise ValueError(f"the name {twice[:80]!r} appears more than once in one object")
    return found


def json_objects(path: AnyPath, *, unicode: bool = True) -> list[tuple[int, dict[str, Any]]]:
    """Read the objects of a JSON Lines file with their line numbers; skip blank lines.

    Without `unicode`, halves of surrogate pairs are accepted, since truncated replies can end with
    one.

    Raises
    ------
    InputError
        As `read_once`. Also with a problem for each line that is not one JSON object of UTF-8 text
        with distinct names, or for the first exceeded limit.
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
            # Spreadsheets write a mark at the start to identify the text as UTF-8.
            row = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            if not isinstance(row, dict):
                raise ValueError("not a JSON object")
        except UnicodeDecodeError as error:
            column, message = "line", f"not UTF-8 text ({error})"
        except ValueError as error:
            column, message = "line", str(error)
        else:
            column = _not_unicode(row) if unicode and (b"\\ud" in line or b"\\uD" in line) else ""
            message = "is not valid Unicode text (unpaired surrogate)"
        if not column:
            rows.append((number, row))
            if len(rows) > MAX_ROWS:
                raise InputError([*problems, too_many_rows(str(file), MAX_ROWS)])
            memory += sum(map(sys.getsizeof, row.values()))
            if memory > MAX_TEXT_MEMORY:
                raise InputError([*problems, too_much_text(file)])
            continue
        # Do not show the line: it may be from a private file.
        remedy = "write one JSON object per line, as UTF-8"
        problems.append(Problem(str(file), message, remedy, row=number, column=column))
        if len(problems) >= REPORTED_LINES:
            break
    refuse(problems)
    return rows


def values_of(content: bytes) -> int:
    """Count the values of JSON before it is parsed.

    For few values, and for a very long text, commas within texts count as well.

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
    return _separators(JSON_TEXT.sub(b"", content))


def _separators(content: bytes) -> int:
    return sum(map(content.count, (b",", b"[", b"{")))


def refuse_many_values(path: AnyPath, values: int) -> None:
    """Refuse a file with more than `MAX_VALUES` values."""
    if values > MAX_VALUES:
        raise InputError([_too_many_values(os.fspath(path))])


def _too_many_values(path: str) -> Problem:
    return Problem(path, f"contains more than {MAX_VALUES:,} values", SPLIT)


def read_json_lines(path: AnyPath) -> list[dict[str, Any]]:
    """Read the objects of a JSON Lines file as `json_objects` does, without line numbers."""
    return [row for _, row in json_objects(path)]


def _lines(file: FileBytes) -> Iterator[bytes]:
    """Return the lines of a file one by one; U+2028 in a reply does not end a line."""
    refuse_long_lines(file)
    return iter(io.BytesIO(file.content))
