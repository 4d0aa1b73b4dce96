"""Read and write answers: everything that enters or leaves the package as answers.

One row is one answer of one model to one variant of one item; `fairstats.schema` says what it
holds.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats.names import digest, unique_slugs
from fairstats.problems import InputError, Note, Problem
from fairstats.schema import KEY_COLUMNS, answers_schema, check_answers, duplicate_problems
from fairstats.whole_files import whole_file

SUFFIXES = (".parquet", ".csv", ".jsonl")
#: What pandas calls an index that it writes into a parquet file.
_INDEX = re.compile(r"__index_level_[0-9]+__")
#: An answer set has one value in each of these columns.
_SET_COLUMNS = ("benchmark", "benchmark_version", "model", "strategy")
#: How the name of a file of retrievals ends; it may lie in a folder of answers.
RETRIEVALS_SUFFIX = ".retrievals.parquet"
#: The same of ratings, and of what raters wrote beside them.
RATINGS_SUFFIX = ".ratings.parquet"
#: The end of the name of a file with what was measured of vignettes.
MEASURES_SUFFIX = ".measures.parquet"
COMMENTS_SUFFIX = ".comments.csv"
_NO_ANSWERS = (RETRIEVALS_SUFFIX, RATINGS_SUFFIX, MEASURES_SUFFIX, COMMENTS_SUFFIX)


def read_answers(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> pd.DataFrame:
    """Read answers from a file, from several, or from a folder.

    Parameters
    ----------
    source : path, or iterable of paths
        Parquet, CSV or JSON Lines (``.parquet``, ``.csv``, ``.jsonl``). A folder stands for all
        such files directly or deeper in it. An empty CSV cell is a null.

    Returns
    -------
    pandas.DataFrame
        The rows of all files in the order of the paths, in the schema's column order. Optional
        columns that no file has are left out.

    Raises
    ------
    InputError
        When a file is missing, empty, unreadable or breaks the schema, or when two rows (of one
        file or of two) have the same key. Its ``problems`` name each file, row, column and value.

    See Also
    --------
    write_answers : the inverse for parquet.
    fairstats.validation.validate_answers : checks against the benchmark's own declarations.
    """
    frames: list[pd.DataFrame] = []
    problems: list[Problem] = []
    paths = answer_files(source)
    for path in paths:
        try:
            frames.append(check_answers(load_table(path), path=str(path)))
        except InputError as error:
            problems.extend(error.problems)
    if not problems:
        problems = duplicate_problems(frames, [str(path) for path in paths])
    if problems:
        raise InputError(problems)
    joined = pd.concat(frames, ignore_index=True)
    return joined[[column for column in answers_schema().columns if column in joined]]


def write_answers(answers: pd.DataFrame, path: str | os.PathLike[str]) -> Path:
    """Write answers as parquet (zstd), whole or not at all.

    The rows are checked first, written to a temporary name in the same folder, and renamed: a
    reader never sees half a file, and a failure leaves what was there before.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers in the schema of `answers_schema`.
    path : path
        Where to; the folder is made when it is not there.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    InputError
        When a row breaks the schema, or the name does not end in ``.parquet``; nothing is written.
    """
    path = Path(path)
    if path.suffix != ".parquet":
        raise InputError([Problem(str(path), "is written as parquet", "end it in .parquet")])
    return write_parquet(check_answers(answers, path=str(path)), path)


def write_parquet(frame: pd.DataFrame, path: Path) -> Path:
    """Write a frame as parquet (zstd) under a temporary name, and rename it."""
    with whole_file(path) as temporary:
        frame.to_parquet(temporary, compression="zstd", index=False)
    return path


def write_answer_sets(
    answers: pd.DataFrame, folder: str | os.PathLike[str], *, add: bool = False
) -> list[Path]:
    """Write answers into a folder, one file for each benchmark version, model and strategy.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers of any number of answer sets.
    folder : path
        Where to.
    add : bool
        Whether answers are added to an answer set that is in the folder already.

    Returns
    -------
    list of pathlib.Path
        The files, named after what they hold.

    Raises
    ------
    InputError
        When a row breaks the schema, or a file is there already with other answers (with `add`,
        with any of these answers); nothing is written then.
    """
    checked = check_answers(answers)
    checked = checked[[column for column in answers_schema().columns if column in checked]]
    slugs = {column: unique_slugs(checked[column].unique()) for column in _SET_COLUMNS}
    present = _files_of_sets(Path(folder)) if add else {}
    sets: dict[Path, pd.DataFrame] = {}
    problems: list[Problem] = []
    for key, rows in checked.groupby(list(_SET_COLUMNS), sort=True):
        name = "_".join(slugs[c][n] for c, n in zip(_SET_COLUMNS, key, strict=True))
        path, rows = Path(folder) / f"{name}.parquet", rows.reset_index(drop=True)
        if not add and path.exists() and not read_answers(path).equals(rows):
            remedy = "remove it or choose another folder"
            problems.append(Problem(str(path), "is there already, with other answers", remedy))
        files = present.get(key, [])
        problems += [problem for file in files for problem in _present(rows, file)]
        if add and path.exists() and path not in files:
            # It holds another set, whose names differ by case alone.
            path = path.with_name(f"{name}-{digest(repr(key))}.parquet")
        if path in files:
            rows = pd.concat([read_answers(path), rows], ignore_index=True)
        sets[path] = rows[[column for column in answers_schema().columns if column in rows]]
    if problems:
        raise InputError(problems)
    return [write_answers(rows, path) for path, rows in sets.items()]


def _files_of_sets(folder: Path) -> dict[tuple[str, ...], list[Path]]:
    """Return the parquet files in a folder by the answer sets that they hold."""
    found: dict[tuple[str, ...], list[Path]] = {}
    for path in sorted(folder.glob("*.parquet")):
        if path.name.endswith(_NO_ANSWERS):
            continue
        try:
            table = load_parquet(path)
        except InputError:
            continue  # It is no answer set, whatever it is.
        if set(_SET_COLUMNS) <= set(table):
            for key in table[list(_SET_COLUMNS)].drop_duplicates().itertuples(index=False):
                found.setdefault(tuple(key), []).append(path)
    return found


def _present(rows: pd.DataFrame, path: Path) -> list[Problem]:
    """Return a problem if a file has any of the answers of an answer set."""
    keys = list(KEY_COLUMNS)
    there = pd.MultiIndex.from_frame(read_answers(path)[keys])
    again = int(pd.MultiIndex.from_frame(rows[keys]).isin(there).sum())
    if not again:
        return []
    of = ", ".join(str(rows[column].iloc[0]) for column in _SET_COLUMNS)
    message = f"has {again:,} of the {len(rows):,} answers of {of} already"
    remedy = "import the others only, remove this file, or choose another folder"
    return [Problem(str(path), message, remedy)]


def answer_files(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> list[Path]:
    """The answer files that `source` stands for, folders opened, in a stable order.

    Raises
    ------
    InputError
        When a path does not exist, has another suffix, or a folder holds no answer file.
    """
    paths = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    files: list[Path] = []
    problems: list[Problem] = []
    known = ", ".join(SUFFIXES)
    if not paths:
        problems.append(Problem("<no path>", "nothing to read", "name a file or a folder"))
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(
                p
                for p in path.rglob("*")
                if p.suffix.lower() in SUFFIXES and not p.name.endswith(_NO_ANSWERS) and p.is_file()
            )
            if not inside:
                problems.append(
                    Problem(str(path), "the folder holds no answer file", f"expected {known}")
                )
            files.extend(inside)
        elif not path.exists():
            problems.append(Problem(str(path), "no such file or folder", "check the path"))
        elif path.suffix.lower() not in SUFFIXES:
            problems.append(
                Problem(str(path), f"unknown kind of file {path.suffix!r}", f"use one of {known}")
            )
        else:
            files.append(path)
    if problems:
        raise InputError(problems)
    return files


def files_ending(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], suffix: str
) -> list[Path]:
    """The files with this end of a name among paths and inside of folders among them, each once.

    Examples
    --------
    >>> [path.name for path in files_ending(["a.parquet", "b.ratings.parquet"], RATINGS_SUFFIX)]
    ['b.ratings.parquet']
    """
    paths = [Path(source)] if isinstance(source, (str, os.PathLike)) else [Path(p) for p in source]
    found: dict[Path, Path] = {}
    for path in paths:
        inside = sorted(path.rglob(f"*{suffix}")) if path.is_dir() else [path]
        for file in inside:
            if file.name.endswith(suffix):
                found.setdefault(file.resolve(), file)
    return list(found.values())


def load_table(path: Path) -> pd.DataFrame:
    """A parquet, CSV or JSON Lines file as it is, or an `InputError` where it is none."""
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        remedy = f"name a file that ends in one of {', '.join(SUFFIXES)}"
        raise InputError([Problem(str(path), "no such file", remedy)])
    if path.stat().st_size == 0:
        raise InputError([Problem(str(path), "the file is empty", "collect or import it again")])
    readers = {".parquet": load_parquet, ".csv": _load_csv, ".jsonl": _load_jsonl}
    return readers[path.suffix.lower()](path)


def load_parquet(path: Path) -> pd.DataFrame:
    """A parquet file as it is, or an `InputError` where it is none."""
    import pyarrow
    import pyarrow.parquet

    try:
        # ParquetFile and not read_table: the latter adds columns from folder names.
        table = pyarrow.parquet.ParquetFile(path).read()
        # Text that is not UTF-8 is found here, by its column and row.
        table.validate(full=True)
        kept = without_index(table.column_names, str(path))
        table = table.drop_columns([name for name in table.column_names if name not in kept])
        return table.to_pandas(ignore_metadata=True, types_mapper=_exact_integers)
    except (pyarrow.ArrowException, OSError) as error:
        problem = Problem(str(path), f"not a parquet file ({error})", "write it as parquet again")
        raise InputError([problem]) from None


def without_index(columns: Sequence[str], path: str) -> list[str]:
    """Return these columns without pandas' index, of which it warns with a `Note`.

    Examples
    --------
    >>> without_index(["model", "answer"], "answers.parquet")
    ['model', 'answer']
    """
    index = [name for name in columns if _INDEX.fullmatch(name)]
    for name in index:
        message = f"{path}: column {name} is ignored: it is the index of a pandas table"
        warnings.warn(message, Note, stacklevel=2)
    return [name for name in columns if name not in index]


def _exact_integers(kind: Any) -> Any:
    """Integers beside nulls stay integers: pandas would make them floats, exact to 2**53 only."""
    import pyarrow

    small = pyarrow.types.is_integer(kind) and not pyarrow.types.is_uint64(kind)
    return pd.Int64Dtype() if small else None


def _load_csv(path: Path) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            # Of lines that are longer than the header pandas would drop the end with a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Text only: the schema gives the types, and 'NA' or 'None' is a name like any other.
            return pd.read_csv(
                path, dtype=str, keep_default_na=False, na_values=[""], index_col=False
            )
    except (
        pd.errors.ParserError,
        pd.errors.ParserWarning,
        pd.errors.EmptyDataError,
        UnicodeDecodeError,
    ) as error:
        problem = Problem(str(path), f"not a CSV file ({error})", "save it as UTF-8 CSV again")
        raise InputError([problem]) from None


def _load_jsonl(path: Path) -> pd.DataFrame:
    # Objects as they are: of whole numbers beside nulls pandas would make floats.
    return pd.DataFrame(read_json_lines(path), dtype=object)


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file, blank lines passed over.

    Raises
    ------
    InputError
        When a line is not a JSON object, or the file is not UTF-8; every such line is named.
    """
    rows: list[dict[str, Any]] = []
    problems: list[Problem] = []
    try:
        # Not splitlines(): a reply may hold U+2028, which JSON need not escape.
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        problem = Problem(str(path), f"not UTF-8 text ({error})", "save it as UTF-8")
        raise InputError([problem]) from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # also a number of too many digits
            row = None
            message = f"not JSON ({error})"
        else:
            message = "not a JSON object"
        if isinstance(row, dict):
            rows.append(row)
        else:
            remedy = "write one JSON object a line"
            problems.append(Problem(str(path), message, remedy, number, "line", line))
    if problems:
        raise InputError(problems)
    return rows
