"""Read tables from others: CSV, JSON Lines and parquet, within limits."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.compute
import pyarrow.parquet
from pyarrow import types

from fairstats._lib import untrusted_files as limits
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Note, Problem, input_error, refuse
from fairstats._lib.untrusted_files import (
    REPORTED_LINES,
    SPLIT,
    FileBytes,
    read_json_lines,
    read_once,
    refuse_long_lines,
    refuse_long_text,
    too_many_cells,
    too_many_rows,
)

_LONGER = "more cells than the first row"
_NO_HEADER = (
    "delete the rows above the header, and put quotation marks around cells with the separator"
)
_UNPACKED_SHARE = 20
_BATCH_ROWS = 65_536
#: pandas' name for the index of a table in a parquet file.
_INDEX = re.compile(r"__index_level_[0-9]+__")


def load_jsonl(path: AnyPath) -> pd.DataFrame:
    """Read a JSON Lines file as a table of texts, numbers and nulls."""
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
        raise InputError(problems[:REPORTED_LINES])
    _refuse_wide(os.fspath(path), len(set().union(*rows)))
    # Keep objects: pandas would convert whole numbers next to nulls to floats.
    return pd.DataFrame(rows, dtype=object)


def load_csv(path: AnyPath, *, separator: str = ",") -> pd.DataFrame:
    """Read a CSV file, with every cell as text and an empty cell as null."""
    file = read_once(path, limits.MAX_TEXT_FILE_BYTES)
    encoding = encoding_of(file)
    refuse_long_lines(file)
    refuse_long_text(file)
    try:
        _refuse_wide(str(file), len(csv_header(file, encoding, separator)))
        with warnings.catch_warnings():
            # For lines longer than the header, pandas drops the rest with a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Text only: the schema defines the types, and 'NA' or 'None' is a normal name.
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
                    if rows > limits.MAX_ROWS:
                        raise InputError([too_many_rows(str(file), limits.MAX_ROWS)])
                    if rows * len(part.columns) > limits.MAX_CELLS:
                        raise InputError([too_many_cells(str(file), limits.MAX_CELLS)])
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


def encoding_of(file: FileBytes) -> str:
    """Return UTF-16 if a file begins with its byte order mark, else UTF-8."""
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return "utf-16" if file.content.startswith(marks) else "utf-8-sig"


def csv_header(file: FileBytes, encoding: str, separator: str) -> list[str]:
    """Read the first row of a CSV file; a quoted name may span several lines.

    Raises
    ------
    csv.Error
        If there is no such row, or it is longer than `MAX_HEADER_BYTES`.
    """
    begin = file.content[: limits.MAX_HEADER_BYTES].decode(encoding, errors="ignore")
    rows = csv.reader(io.StringIO(begin, newline=""), delimiter=separator)
    header = next(rows, [])
    try:
        ends = len(file.content) <= limits.MAX_HEADER_BYTES or next(rows, None) is not None
    except csv.Error:  # A long reply in the second row, possibly truncated.
        ends = True
    if not ends:
        raise csv.Error(f"the first row is longer than {limits.MAX_HEADER_BYTES:,} bytes")
    return header


def not_csv(path: AnyPath, error: Exception) -> Problem:
    """Return why a file could not be read as CSV, for the person who saved it."""
    if isinstance(error, UnicodeDecodeError):
        message = "is not UTF-8, so letters such as é or ß cannot be read"
        remedy = "open it in the spreadsheet program and save it as 'CSV UTF-8'"
        return Problem(os.fspath(path), message, remedy)
    if line := re.search(r"Expected \d+ fields in line (\d+)", str(error)):
        return Problem(os.fspath(path), f"line {line[1]} has {_LONGER}", _NO_HEADER)
    if isinstance(error, pd.errors.ParserWarning):
        return Problem(os.fspath(path), f"has rows with {_LONGER}", _NO_HEADER)
    message = f"is not a CSV file ({str(error).strip()})"
    return Problem(os.fspath(path), message, "save it as UTF-8 CSV again")


def load_parquet(path: AnyPath, columns: Collection[str] | None = None) -> pd.DataFrame:
    """Read a parquet file of texts and numbers.

    With `columns`, only these are read, if present.

    Raises
    ------
    InputError
        As `read_once`. Also if it is not a parquet file, a column is not text or numbers, or the
        table exceeds a limit: rows and columns as declared in the file, text as unpacked.
    """
    file = read_once(path)
    with _named_damage(file):
        table = _arrow_table(file, columns)
        return table.to_pandas(ignore_metadata=True, types_mapper=_exact_integers)


def check_parquet(path: Path) -> None:
    """Check a parquet file as `load_parquet` does, without making a pandas table of it."""
    file = read_once(path)
    with _named_damage(file):
        _arrow_table(file, None)


@contextmanager
def _named_damage(file: FileBytes) -> Iterator[None]:
    """Raise an `InputError` if a parquet file cannot be read."""
    try:
        yield
    except InputError:
        raise
    # Damaged pages raise errors of every kind.
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, IndexError) as error:
        raise input_error(
            file, f"is not a parquet file ({error})", "write it as parquet again"
        ) from None


def _arrow_table(file: FileBytes, wanted: Collection[str] | None) -> pyarrow.Table:
    source = pyarrow.py_buffer(file.content)
    # Use ParquetFile: read_table adds columns from folder names.
    with pyarrow.parquet.ParquetFile(pyarrow.BufferReader(source)) as whole:
        schema, rows = whole.schema_arrow, whole.metadata.num_rows
        chunks = _column_chunks(file, whole.metadata)
    sizes, deltas = _unpacked_sizes(chunks), _delta_encodings(chunks)
    kept = without_index(schema.names, str(file)) if wanted is None else wanted
    fields = [one for one in schema if one.name in kept]
    _refuse_wide(str(file), len(fields))
    names = [one.name for one in fields]
    refuse(repeated_columns(names, str(file)))
    if rows > limits.MAX_PARQUET_ROWS:
        raise InputError([too_many_rows(str(file), limits.MAX_PARQUET_ROWS)])
    if rows * len(fields) > limits.MAX_PARQUET_CELLS:
        raise InputError([too_many_cells(str(file), limits.MAX_PARQUET_CELLS)])
    refuse(_type_problems(fields, str(file)))
    texts = [one.name for one in fields if _is_text(one.type)]
    refuse(_encoded(str(file), name, deltas[name]) for name in texts if name in deltas)
    most = max(limits.MAX_UNPACKED_TEXT, _UNPACKED_SHARE * len(file.content))
    # Of texts that differ, a single batch can have gigabytes.
    if sum(sizes.get(name, 0) for name in texts) > most:
        raise InputError([_unpacks(str(file), most)])
    # Keep a text shared by rows as one text until their total size is known.
    reader = pyarrow.parquet.ParquetFile(
        pyarrow.BufferReader(source), read_dictionary=list(dict.fromkeys(texts))
    )
    batches, unpacked, read = [], 0, 0
    with reader:
        for batch in reader.iter_batches(_BATCH_ROWS, columns=names, use_threads=False):
            unpacked += sum(_text_bytes(column) for column in batch.columns)
            read += batch.num_rows
            if unpacked > most:
                raise InputError([_unpacks(str(file), most)])
            if read > limits.MAX_PARQUET_ROWS:
                raise InputError([too_many_rows(str(file), limits.MAX_PARQUET_ROWS)])
            columns = [_decoded(column) for column in batch.columns]
            batches.append(pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names))
        empty = reader.schema_arrow.empty_table()
    table = pyarrow.Table.from_batches(batches) if batches else empty.select(names)
    # Report text that is not UTF-8 here, by column and row.
    table.validate(full=True)
    return table


def _unpacks(path: str, most: int) -> Problem:
    return Problem(path, f"unpacks to more than {most:,} bytes of text", SPLIT)


def _encoded(path: str, column: str, encoding: str) -> Problem:
    remedy = "write it again with dictionary or plain encodings, as pandas and Polars do"
    message = f"has the encoding {encoding}, which is not read"
    return Problem(path, message, remedy, column=column)


def _unpacked_sizes(chunks: Iterable[Any]) -> dict[str, int]:
    """Return the bytes of each column before compression, as a file states them.

    Texts that rows share count once.
    """
    sizes: Counter[str] = Counter()
    for column in chunks:
        sizes[column.path_in_schema] += column.total_uncompressed_size
    return sizes


def _delta_encodings(chunks: Iterable[Any]) -> dict[str, str]:
    """Return the encoding of each column of texts that are stored as changes to the one before.

    A few bytes of such a file can be gigabytes of text in a single batch.
    """
    found = {}
    for column in chunks:
        for name in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"):
            if name in column.encodings:
                found[column.path_in_schema] = name
    return found


class _NoPages(io.BytesIO):
    """A file that gives none of its bytes, and notes if it is read."""

    was_read = False

    def read(self, size: int | None = -1, /) -> bytes:
        self.was_read = True
        return b""


def _column_chunks(file: FileBytes, metadata: Any) -> list[Any]:
    """Return what a parquet file states about each column of each group of rows.

    Wrong statistics abort the process when these are asked for (in pyarrow 26), but are an error
    when rows are read. So a row of each group is read, up to its first page: all columns are opened
    before that.
    """
    chunks = []
    for number in range(metadata.num_row_groups):
        # Not by an exception of its own: arrow would keep it, and so the caller's tables.
        pages = _NoPages(file.content)
        reader = pyarrow.parquet.ParquetFile(pages, metadata=metadata)
        try:
            next(reader.iter_batches(1, row_groups=[number], use_threads=False), None)
        except (pyarrow.ArrowException, OSError):
            if not pages.was_read:
                raise
        group = metadata.row_group(number)
        chunks += [group.column(place) for place in range(group.num_columns)]
    return chunks


def without_index(columns: Iterable[str], path: str) -> list[str]:
    """Return these columns without pandas' index, which is reported with a `Note`.

    Examples
    --------
    >>> without_index(["model", "answer"], "answers.parquet")
    ['model', 'answer']
    """
    names = list(columns)
    index = [name for name in names if _INDEX.fullmatch(name)]
    for name in index:
        message = f"{path}: column {name} is ignored, as it is the index of a pandas table"
        warnings.warn(message, Note, stacklevel=2)
    return [name for name in names if name not in index]


def _type_problems(fields: Collection[pyarrow.Field], path: str) -> Iterator[Problem]:
    for one in fields:
        kind = one.type
        number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if not (number or types.is_null(kind) or _is_text(kind)):
            message = f"has the type {str(kind)[:80]}"
            yield Problem(path, message, "write it as text or numbers", column=one.name)


def _is_text(kind: pyarrow.DataType) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _text_bytes(column: pyarrow.Array) -> int:
    """Return the bytes of a column if every row has a separate copy of its text."""
    if not types.is_dictionary(column.type):
        return 0
    lengths = pyarrow.compute.binary_length(column.dictionary.cast("large_binary"))
    return pyarrow.compute.sum(lengths.take(column.indices)).as_py() or 0


def _decoded(column: pyarrow.Array) -> pyarrow.Array:
    if not types.is_dictionary(column.type):
        return column
    return column.dictionary.cast("large_string").take(column.indices)


def _exact_integers(kind: Any) -> Any:
    """Keep integers next to nulls as integers: as floats they would be exact only up to 2**53."""
    small = pyarrow.types.is_integer(kind) and not pyarrow.types.is_uint64(kind)
    return pd.Int64Dtype() if small else None


def repeated_columns(columns: Iterable[str], path: str) -> list[Problem]:
    """Return a problem for each duplicate column of a table.

    Examples
    --------
    >>> print(*repeated_columns(["model", "item_id", "model"], "a.csv"))
    a.csv: model: the column appears more than once; drop one
    """
    message = "the column appears more than once"
    twice = [name for name, number in Counter(columns).items() if number > 1]
    named = [str(name) or "(no name)" for name in sorted(twice, key=str)]
    return [Problem(path, message, "drop one", column=name) for name in named]


def _refuse_wide(path: str, columns: int) -> None:
    if columns > limits.MAX_COLUMNS:
        message = f"has {columns:,} columns, more than {limits.MAX_COLUMNS}"
        raise input_error(path, message, "keep the columns that are needed")
