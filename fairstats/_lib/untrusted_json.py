"""Read JSON from others: within limits, with distinct names, and as text that a file can hold."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from fairstats._lib import untrusted_files as limits
from fairstats._lib.formatting import counted
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import (
    SPLIT,
    FileBytes,
    read_once,
    refuse_long_lines,
    too_many_rows,
    too_much_text,
)

# Possessive; an unterminated text extends to the end of the file: the search never backtracks.
_JSON_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
# Commas within texts are distinguished from separators only in long lines.
_FEW_VALUES = 64
_LONG_JSON = 64 * 2**20
REPORTED_LINES = 1_000

T = TypeVar("T")


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
    expected: TypeAdapter[T],
    text: str | bytes,
    path: str | os.PathLike[str],
    message: str,
    remedy: str,
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
        raise InputError([Problem(os.fspath(path), why, remedy, column=column)]) from None
    except ValueError as error:
        raise InputError([Problem(os.fspath(path), f"{message} ({error})", remedy)]) from None


def parse_unicode(text: str) -> Any:
    """Parse JSON like `parse_json`, and refuse text that cannot be stored in a file.

    JSON can escape half of a surrogate pair.

    Raises
    ------
    ValueError
        As `parse_json`, and for such text.
    """
    value = parse_json(text)
    if ("\\ud" in text or "\\uD" in text) and not _is_unicode(value):
        raise ValueError("is not valid Unicode text (unpaired surrogate)")
    return value


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_unicode(row: dict[str, Any]) -> str:
    """Return the field that is not Unicode text; empty if all are."""
    if not all(map(_is_unicode, row)):
        return "line"
    return next((name for name, value in row.items() if not _is_unicode(value)), "")


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


def json_objects(
    path: str | os.PathLike[str], *, unicode: bool = True
) -> list[tuple[int, dict[str, Any]]]:
    """Read the objects of a JSON Lines file with their line numbers; skip blank lines.

    Without `unicode`, halves of surrogate pairs are accepted, since truncated replies can end with
    one.

    Raises
    ------
    InputError
        As `read_once`. Also with a problem for each line that is not one JSON object of UTF-8 text
        with distinct names, or for the first exceeded limit.
    """
    file = read_once(path, limits.MAX_TEXT_FILE_BYTES)
    rows: list[tuple[int, dict[str, Any]]] = []
    problems: list[Problem] = []
    values = memory = 0
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        values += values_of(line)
        if values > limits.MAX_VALUES:
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
            if len(rows) > limits.MAX_ROWS:
                raise InputError([*problems, too_many_rows(str(file))])
            memory += sum(map(sys.getsizeof, row.values()))
            if memory > limits.MAX_TEXT_MEMORY:
                raise InputError([*problems, too_much_text(file)])
            continue
        # Do not show the line: it may be from a private file.
        remedy = "write one JSON object per line, as UTF-8"
        problems.append(Problem(str(file), message, remedy, row=number, column=column))
        if len(problems) >= REPORTED_LINES:
            break
    if problems:
        raise InputError(problems)
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
    return _separators(_JSON_TEXT.sub(b"", content))


def _separators(content: bytes) -> int:
    return sum(map(content.count, (b",", b"[", b"{")))


def refuse_many_values(path: str | os.PathLike[str], values: int) -> None:
    """Refuse a file with more than `fairstats._lib.untrusted_files.MAX_VALUES` values.

    Raises
    ------
    InputError
        Names the limit.
    """
    if values > limits.MAX_VALUES:
        raise InputError([_too_many_values(os.fspath(path))])


def _too_many_values(path: str) -> Problem:
    return Problem(path, f"contains more than {limits.MAX_VALUES:,} values", SPLIT)


def read_json_lines(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the objects of a JSON Lines file; skip blank lines.

    Raises
    ------
    InputError
        As `json_objects`.
    """
    return [row for _, row in json_objects(path)]


def _lines(file: FileBytes) -> Iterator[bytes]:
    """Return the lines of a file one by one; U+2028 in a reply does not end a line."""
    refuse_long_lines(file)
    return iter(io.BytesIO(file.content))
