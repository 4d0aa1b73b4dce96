"""Open answer files in an engine that does not hold them in memory: DuckDB or Spark.

`fairstats.counts.outcomes` counts the answers inside the engine. This module opens them there and
refuses what `fairstats.read_answers` would refuse. No other module imports an engine.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import narwhals as nw
import pandas as pd
import pyarrow
import pyarrow.parquet
from pyarrow import types

from fairstats._lib.paths import AnyPath, Paths
from fairstats._lib.problems import (
    InputError,
    Problem,
    collected,
    input_error,
    parameter,
    refuse,
    wrong,
)
from fairstats._lib.safe_names import normal_name
from fairstats._lib.untrusted_tables import without_index
from fairstats.answers import ENGINES, MEMORY_LIMIT, Engine
from fairstats.answers.engine_frames import PART_ROWS, distinct, distinct_parts
from fairstats.answers.files import answer_files, no_such_snapshot, read_answers
from fairstats.answers.schema import KEY_COLUMNS, NAME_COLUMNS, REQUIRED_COLUMNS
from fairstats.answers.schema_checks import check_answers, column_problems

if TYPE_CHECKING:
    import duckdb
    import pyspark.sql

#: Settings that must not differ between groups.
_SETTINGS = ("temperature", "max_tokens", "endpoint", "prompt_sha256")
#: The columns needed for estimates; others, such as answer_raw (most of the bytes), are never read.
READ_COLUMNS = (*REQUIRED_COLUMNS, "answer_key", "snapshot", "cluster", "collector", *_SETTINGS)
#: Types of the columns that are not text, in SQL.
_NUMBERS = {"sample": "BIGINT", "max_tokens": "BIGINT", "temperature": "DOUBLE"}
_MOST_THREADS = 4
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


def scan_answers(
    source: Paths,
    *,
    engine: Engine = "duckdb",
    memory_limit: str = MEMORY_LIMIT,
    temp_directory: AnyPath | None = None,
    snapshot: str | None = None,
) -> Any:
    """Open answer files in an engine, for `fairstats.analyze`.

    Parameters
    ----------
    source : path, or iterable of paths
        Files or folders, as in `fairstats.read_answers`. DuckDB and Spark take parquet. A column
        may also be given only by folder names, as in ``model=NAME/part-0.parquet``.
    engine : {"duckdb", "spark", "pandas"}
        ``"pandas"`` reads everything into memory (`fairstats.read_answers`). ``"spark"`` uses the
        current session, or starts one from Spark's configuration; without a configuration, a local
        one.
    memory_limit : str
        Memory limit of DuckDB, e.g. ``"2GB"``; it spills the rest to disk. Spark's memory is set in
        its configuration (``spark.driver.memory``).
    temp_directory : path, optional
        DuckDB's folder for spilled data; by default the system's temporary folder.
    snapshot : str, optional
        Keep only the answers of this exact version of a model, as in `fairstats.read_answers`.

    Returns
    -------
    pandas.DataFrame, duckdb.DuckDBPyRelation or pyspark.sql.DataFrame
        The answers. A relation or a Spark frame holds no rows: each use reads the files again.

    Raises
    ------
    InputError
        If a file is missing, unreadable or not parquet, lacks a column or has it in another type,
        or a value violates the schema. Also if the engine is not installed or does not start.
    ValueError
        For an unknown engine.

    Notes
    -----
    The checks are those of `fairstats.read_answers`, run in the engine on the distinct values. They
    name the value but not its row. Duplicate answers are refused later, by `fairstats.analyze`. Of
    the optional columns, only ``answer_key``, ``snapshot``, ``cluster``, ``collector``,
    ``temperature``, ``max_tokens``, ``endpoint`` and ``prompt_sha256`` are read and checked.

    See Also
    --------
    fairstats.read_answers : reads into memory, and names the row of every problem.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={engine!r} is unknown; use one of {', '.join(ENGINES)}")
    if engine == "pandas":
        return read_answers(source, snapshot=snapshot)
    files = [path.absolute() for path in answer_files(source)]
    columns, partitioned = _check_files(files, engine)
    answers: Any
    with engine_problems(engine):
        if engine == "duckdb":
            answers = _in_duckdb(files, columns, partitioned, memory_limit, temp_directory)
            check_values(answers)
        else:
            answers = _in_spark(files, columns, partitioned)
            check_values(_valid_text(answers))
        return answers if snapshot is None else _of_snapshot(answers, columns, snapshot)


def _of_snapshot(answers: Any, columns: list[str], snapshot: str) -> Any:
    """Return the answers of a snapshot, which must be there."""
    frame = nw.from_native(answers).lazy()
    there = set(distinct(frame, ["snapshot"])["snapshot"]) if "snapshot" in columns else set()
    if snapshot not in there:
        raise InputError([no_such_snapshot(snapshot, there)])
    return frame.filter(nw.col("snapshot") == snapshot).to_native()


@contextmanager
def engine_problems(engine: Engine) -> Iterator[None]:
    """Convert an engine's errors to an `InputError`, e.g. a damaged page or lack of memory."""
    errors: tuple[type[Exception], ...] = ()
    if engine == "duckdb":
        import duckdb

        errors = (duckdb.Error,)
    elif engine == "spark":
        pyspark = _pyspark()
        from py4j.protocol import Py4JError

        errors = (pyspark.errors.PySparkException, Py4JError)
    try:
        yield
    except errors as error:
        # In Java stack traces, the innermost cause is the most informative, and the first line the
        # least.
        lines = str(error).strip().split("\n")
        said = next((line for line in reversed(lines) if line.startswith("Caused by:")), lines[0])
        remedy = "check the files with `fairstats validate`, or see the engine's documentation"
        if "Out of Memory" in said:
            remedy = f"raise {parameter('memory_limit')}"
        elif "JAVA_GATEWAY" in said:
            said = "Spark did not start"
            remedy = "install a Java version that Spark supports and set JAVA_HOME"
        raise input_error(engine, said, remedy) from error


def _check_files(files: list[Path], engine: Engine) -> tuple[list[str], bool]:
    """Return the columns to read, and whether folder names give any of them."""
    problems: list[Problem] = []
    found: set[str] = set()
    partitioned = False
    for path in files:
        with collected(problems):
            schema = _file_schema(path, engine)
            folders = _folder_columns(path)
            partitioned |= bool(folders)
            # A column in both the file and its folder's name counts as a duplicate.
            names = [*without_index(schema.names, str(path)), *(name for name, _ in folders)]
            problems += column_problems(pd.Index(names), str(path))
            problems += _folder_problems(path, folders, engine)
            problems += _type_problems(schema, str(path))
            found.update(names)
    refuse(problems)
    return [name for name in READ_COLUMNS if name in found], partitioned


def file_columns(path: Path) -> list[str]:
    """Return the columns of a parquet file."""
    return list(_file_schema(path, "duckdb").names)


def _file_schema(path: Path, engine: Engine) -> pyarrow.Schema:
    if path.suffix.lower() != ".parquet":
        remedy = "use pandas, or convert the file: write_answers(read_answers(...), ...)"
        raise input_error(path, f"{engine} reads only parquet", remedy)
    if not path.is_file():
        # Opening a pipe would wait for a writer.
        raise input_error(path, "is not a regular file", "copy its content into a file")
    try:
        # Use ParquetFile: read_schema would interpret the path as a pattern or an address.
        with pyarrow.parquet.ParquetFile(path) as file:
            return file.schema_arrow
    # A column name that is not UTF-8 raises a ValueError.
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise input_error(
            path, f"is not a parquet file ({error})", "write it as parquet again"
        ) from None


def _folder_columns(path: Path) -> list[tuple[str, str]]:
    """Return the answer columns given by the names of a file's folders, as in ``model=NAME``.

    Engines do not tell capital letters from small ones.
    """
    named = (part.partition("=") for part in path.parent.parts)
    return [
        (name.lower(), unquote(value))
        for name, sign, value in named
        if sign and name.lower() in READ_COLUMNS
    ]


def _folder_problems(path: Path, folders: list[tuple[str, str]], engine: Engine) -> list[Problem]:
    problems = [
        Problem(str(path), "must not be empty", "rename the folder", column=name, value=value)
        for name, value in folders
        if value in ("", _NULL_FOLDER)
    ]
    # Spark 4 turns each byte of a UTF-8 letter into a separate letter. Other engines read it
    # correctly.
    escaped = re.search("%[89A-Fa-f]", str(path.parent))
    if engine == "spark" and folders and escaped:
        message = "Spark misreads escaped letters in folder names"
        problems.append(Problem(str(path), message, "use the letter itself, or use duckdb"))
    if engine == "spark" and path.name.startswith(("_", ".")):
        message = "Spark skips files with names that begin with _ or ."
        problems.append(Problem(str(path), message, "rename it, or use duckdb"))
    return problems


def _type_problems(schema: pyarrow.Schema, path: str) -> list[Problem]:
    problems = []
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        # A setting without a single value has no type.
        if field.name not in READ_COLUMNS or (field.name in _SETTINGS and types.is_null(kind)):
            continue
        number = _NUMBERS.get(field.name)
        if number == "BIGINT":
            wanted = "whole numbers"
            right = types.is_integer(kind) and not types.is_uint64(kind)
        elif number == "DOUBLE":
            wanted = "numbers"
            right = types.is_floating(kind) or types.is_integer(kind)
        else:
            wanted = "text"
            right = types.is_string(kind) or types.is_large_string(kind)
        if not right:
            message, remedy = f"has the type {field.type}", f"write it as {wanted}"
            problems.append(Problem(path, message, remedy, column=field.name))
    return problems


def _in_duckdb(
    files: list[Path],
    columns: list[str],
    partitioned: bool,
    memory_limit: str,
    temp_directory: AnyPath | None,
) -> duckdb.DuckDBPyRelation:
    import duckdb

    spill = tempfile.mkdtemp(prefix="fairstats-", dir=temp_directory)
    atexit.register(shutil.rmtree, spill, ignore_errors=True)
    settings: dict[str, Any] = {
        "memory_limit": memory_limit,
        "temp_directory": spill,
        # Counts do not depend on the order of rows, and preserving it takes memory.
        "preserve_insertion_order": False,
        # Without these, it keeps the memory that a query needed.
        "allocator_background_threads": True,
        # Each thread needs part of the memory: 32 run out of 300 MB.
        "threads": min(_MOST_THREADS, os.cpu_count() or 1),
    }
    try:
        connection = duckdb.connect(config=settings)
    except duckdb.Error as error:
        raise wrong("memory_limit", str(error), "use e.g. 2GB", value=memory_limit) from None
    # DuckDB interprets a path as a pattern.
    literal = [re.sub(r"([*?\[])", r"[\1]", str(path)) for path in files]
    paths = ", ".join("'" + path.replace("'", "''") + "'" for path in literal)
    chosen = ", ".join(f'"{name}"::{_NUMBERS.get(name, "VARCHAR")} AS "{name}"' for name in columns)
    # Inline the paths: with a parameter, DuckDB might run the query and keep its rows. Without
    # autocast, a version '1.10' in a folder name stays text.
    return connection.sql(
        f"SELECT {chosen} FROM read_parquet([{paths}], union_by_name = true, "
        f"hive_partitioning = {partitioned}, hive_types_autocast = false)"
    )


def _in_spark(files: list[Path], columns: list[str], partitioned: bool) -> pyspark.sql.DataFrame:
    session = _pyspark().sql.SparkSession.builder.getOrCreate()
    kinds = ", ".join(f"`{name}` {_NUMBERS.get(name, 'STRING')}" for name in columns)
    # Spark interprets a path as a pattern.
    literal = {path: re.sub(r"([\\*?\[\]{}])", r"\\\1", f"file://{path}") for path in files}
    if not partitioned:
        return session.read.schema(kinds).parquet(*literal.values())
    # Folder names are read relative to a base, and one read has one base.
    by_base: dict[Path, list[str]] = {}
    for path in files:
        outermost = [folder for folder in path.parents if "=" in folder.name][-1:]
        base = outermost[0].parent if outermost else path.parent
        by_base.setdefault(base, []).append(literal[path])
    frames = [
        session.read.schema(kinds).option("basePath", f"file://{base}").parquet(*paths)
        for base, paths in by_base.items()
    ]
    return reduce(lambda one, other: one.unionByName(other), [f.select(*columns) for f in frames])


def _valid_text(answers: pyspark.sql.DataFrame) -> pyspark.sql.DataFrame:
    """Return a frame that fails on text that is not UTF-8, which Spark accepts silently."""
    validate = _pyspark().sql.functions.validate_utf8
    return answers.select(
        *(name if name in _NUMBERS else validate(name).alias(name) for name in answers.columns)
    )


def _pyspark() -> Any:
    try:
        import pyspark.errors
        import pyspark.sql.functions
    except ImportError:
        raise input_error(
            "spark", "pyspark is not installed", "`pip install fairstats[spark]`"
        ) from None
    return pyspark


def _spelling_problems(kinds: pd.DataFrame) -> Iterator[Problem]:
    """Report names that `read_answers` would normalise but that stay as they are here."""
    for column in NAME_COLUMNS:
        for name in kinds[column].dropna().unique() if column in kinds else ():
            if name != normal_name(name):
                message = "begins or ends with spaces, or is not in Unicode normal form NFKC"
                remedy = "write it again: write_answers(read_answers(...), ...)"
                yield Problem("<answers>", message, remedy, column=column, value=name)


def check_values(answers: Any) -> None:
    """Check the distinct values of a table in an engine as `read_answers` checks rows.

    Names that reading would rewrite are refused too.
    """
    frame = nw.from_native(answers).lazy()
    there = frame.collect_schema().names()
    columns = [name for name in READ_COLUMNS if name in there]
    of_items = [name for name in ("item_id", "cluster") if name in columns]
    prompts = [name for name in ("prompt_sha256",) if name in columns]
    separate = (*of_items, *prompts, "sample")
    kinds = distinct(frame, [name for name in columns if name not in separate])
    if kinds.empty:
        raise input_error("<answers>", "the table has no rows", "collect or import it again")
    items = distinct(frame, of_items)
    least = frame.select(nw.col("sample").min()).collect().to_pandas()
    # Check items, prompts and samples in separate rows, with valid values in the other columns.
    # Combined with the other columns, they would be as numerous as the answers.
    passing = dict.fromkeys(KEY_COLUMNS, "-") | {"answer": "A", "status": "ok"}
    problems = dict.fromkeys(_spelling_problems(kinds))
    parts = chain(
        (items[start : start + PART_ROWS] for start in range(0, len(items), PART_ROWS)),
        distinct_parts(frame, prompts) if prompts else (),
    )
    for rows in chain(
        [kinds.assign(item_id="-", sample=range(len(kinds)))],
        (own.assign(**passing | dict(own) | {"sample": range(len(own))}) for own in parts),
        [least.assign(**passing | {"sample": least["sample"]})],
    ):
        try:
            check_answers(rows, path="<answers>")
        except InputError as error:
            problems |= dict.fromkeys(replace(problem, row=None) for problem in error.problems)
    refuse(problems)
