"""Ratings from elsewhere: tidy tables and workbooks, and the files that an import writes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.problems import InputError, Note, Problem, first_of, input_error, refuse
from fairstats._lib.records import csv_records, importable_files, layout_of, workbook
from fairstats._lib.table_text import table_csv
from fairstats._lib.untrusted_tables import load_parquet
from fairstats.answers.files import COMMENTS_SUFFIX, RATINGS_SUFFIX, load_table
from fairstats.ratings.files import in_two_files, rating_files, shared_judgements, write_ratings
from fairstats.ratings.rubrics import Rubric
from fairstats.ratings.table import JUDGEMENT_COLUMNS, RATING_COLUMNS, TASK_COLUMNS, check_ratings

#: Columns of a file of comments.
COMMENT_COLUMNS = (*JUDGEMENT_COLUMNS, "comment")


@dataclass(frozen=True)
class Imported:
    """Imported ratings."""

    ratings: pd.DataFrame
    comments: pd.DataFrame
    notes: tuple[str, ...] = ()


def write_imported(
    imported: Imported, out: Path, name: str, *, rubrics: Sequence[Rubric] = ()
) -> tuple[list[Path], list[str]]:
    """Write ratings and comments next to each other; without comments, only ratings.

    Returns
    -------
    list of Path, list of str
        The files written, and notes on other files next to them.

    Raises
    ------
    InputError
        If a different file exists, the folder has these judgements in a file of another name, or a
        row is wrong. Nothing is then written.
    """
    path = out / f"{name}{RATINGS_SUFFIX}"
    apart = out / f"{name}{COMMENTS_SUFFIX}"
    text = "" if imported.comments.empty else table_csv(imported.comments[list(COMMENT_COLUMNS)])
    taken = []
    if path.exists() and not _same(load_parquet(path), imported.ratings):
        taken.append(path)
    if apart.exists() and apart.read_text(encoding="utf-8") != text:
        taken.append(apart)
    remedy = "remove it to replace it by the new ratings, or choose another folder"
    message = "already exists with different content"
    refuse(Problem(str(one), message, remedy) for one in taken)
    notes = _beside(imported.ratings, path)
    if not text:
        return [write_ratings(imported.ratings, path, rubrics=rubrics)], notes
    with whole_file(apart) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
        write_ratings(imported.ratings, path, rubrics=rubrics)
    return [path, apart], notes


def _beside(ratings: pd.DataFrame, path: Path) -> list[str]:
    """Return notes on files of the folder with ratings of the same tasks; refuse the same ratings.

    A folder is read as a whole, so a judgement in two of its files makes it unusable.
    """
    problems, notes = [], []
    for other in rating_files([path.parent]):
        if other.resolve() == path.resolve():
            continue
        try:
            there = load_parquet(other)
        except InputError:
            continue  # The error is reported when the folder is read.
        if not {*RATING_COLUMNS} <= {*there}:
            continue
        if shared := shared_judgements([there, ratings]):
            (count,) = shared.values()
            message = f"already contains {count:,} of these judgements, which would count twice"
            remedy = "remove it to import all files again, or choose another folder"
            problems.append(Problem(str(other), message, remedy))
        elif (count := _same_tasks(there, ratings)) > 0:
            notes.append(f"{other} contains other judgements of {count:,} of these tasks")
    refuse(problems)
    return notes


def _same_tasks(there: pd.DataFrame, ratings: pd.DataFrame) -> int:
    """Count tasks judged in both by raters of the same kind, not those of a model and people."""
    columns = [*TASK_COLUMNS, "rater_kind"]
    return len(there[columns].drop_duplicates().merge(ratings[columns].drop_duplicates()))


def _same(there: pd.DataFrame, ratings: pd.DataFrame) -> bool:
    if list(there) != list(ratings) or len(there) != len(ratings):
        return False
    return (
        there.astype(object)
        .where(there.notna(), None)
        .equals(ratings.astype(object).where(ratings.notna(), None))
    )


_SUFFIXES = (".csv", ".jsonl", ".parquet")


def import_tables(paths: Sequence[Path], *, rubrics: Sequence[Rubric] = ()) -> Imported:
    """Read tables with the columns of the ratings table and, if present, ``comment``."""
    frames, comments = [], []
    files = importable_files(paths, None, _SUFFIXES)
    for path in files:
        frame = load_table(path)
        ratings = check_ratings(
            frame.drop(columns="comment", errors="ignore"), rubrics=rubrics, path=str(path)
        )
        frames.append(ratings)
        if "comment" in frame:
            comments.append(_comments(frame))
    together = ", ".join(map(str, paths))
    whole = frames[0]
    if len(frames) > 1:
        refuse(in_two_files(files, frames))
        whole = check_ratings(pd.concat(frames), rubrics=rubrics, path=together)
    said = pd.concat(comments) if comments else pd.DataFrame(columns=list(COMMENT_COLUMNS))
    return Imported(whole, said.reset_index(drop=True))


def _comments(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per judgement with a comment: most tables repeat it for each dimension."""
    fills = {"dataset": frame["benchmark"], "repeat": 0}
    lacking = {name: fill for name, fill in fills.items() if name not in frame}
    said = frame.assign(**lacking)
    said = said.assign(
        dataset=said["dataset"].fillna(said["benchmark"]), comment=said["comment"].astype("str")
    )
    said = said[frame["comment"].notna() & (said["comment"].str.strip() != "")]
    return said[[*JUDGEMENT_COLUMNS, "comment"]].drop_duplicates()


#: A workbook is a compressed folder; this is the limit for its unpacked size.
MAX_UNPACKED = 256 * 2**20
MAX_ROWS = 500_000
MAX_COLUMNS = 300
MAX_CELLS = 10_000_000


@dataclass(frozen=True)
class Sheet:
    """One table.

    Parameters
    ----------
    path : str
        The file and, for a workbook, the sheet.
    columns : Mapping[str, str]
        The column names as written, by their names in lower case with underscores.
    rows : sequence of mapping
        Cells by those names; an empty one is None.
    """

    path: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]


def read_sheets(path: Path) -> list[Sheet]:
    """Read the sheets of an ``.xlsx`` workbook, or the only table of a CSV file."""
    if path.suffix.lower() == ".csv":
        records = csv_records(path)
        header = list(records[0].fields) if records else []
        rows = (list(record.fields.values()) for record in records)
        return [_sheet(str(path), header, rows)]
    # Read saved values: the released workbook has computed columns.
    with workbook(path, max_unpacked=MAX_UNPACKED, formulas=False) as book:
        return [_worksheet(path, sheet) for sheet in book.worksheets]


def _worksheet(path: Path, sheet: Any) -> Sheet:
    name = f"{path}, sheet {sheet.title}"
    if hidden := sorted(layout_of(sheet).rows):
        message = f"hidden rows of the sheet are read too: {first_of(hidden)}"
        warnings.warn(f"{name}: {message}", Note, stacklevel=2)
    rows = sheet.iter_rows(values_only=True)
    header = [("" if cell is None else str(cell)) for cell in next(rows, ())]
    return _sheet(name, header, rows)


def _sheet(name: str, header: Sequence[str], cells: Iterator[Sequence[Any]]) -> Sheet:
    while header and not header[-1].strip():
        header = header[:-1]
    if len(header) > MAX_COLUMNS:
        message = f"has {len(header):,} columns"
        raise input_error(name, message, f"use at most {MAX_COLUMNS}")
    columns: dict[str, str] = {}
    for column in header:
        plain = re.sub(r"[^a-z0-9]+", "_", column.strip().casefold()).strip("_")
        if plain in columns:
            message = "the column appears more than once"
            raise input_error(name, message, "drop one", column=column)
        columns[plain] = column
    rows: list[Mapping[str, Any]] = []
    for row in cells:
        # An empty cell takes no space in the file, but does in memory.
        if len(rows) >= min(MAX_ROWS, MAX_CELLS // max(len(header), 1)):
            raise input_error(name, f"has more than {len(rows):,} rows", "split the file")
        padded = [*row[: len(header)], *[None] * (len(header) - len(row))]
        rows.append(dict(zip(columns, padded, strict=True)))
    return Sheet(name, columns, rows)
