"""Reading and writing ratings."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from fairstats._lib.paths import AnyPath, Paths, each_path
from fairstats._lib.problems import Problem, collected, input_error, refuse
from fairstats._lib.untrusted_files import already_read
from fairstats.answers.files import RATINGS_SUFFIX, files_ending, load_table, write_parquet
from fairstats.ratings.rubrics import Rubrics
from fairstats.ratings.table import JUDGEMENT_COLUMNS, check_ratings

#: Format name in an export of a form, and column prefix in a sheet. Files from raters are not a
#: ratings table until they are imported.
EXPORT_FORMAT = "fairstats-ratings"
SHEET_COLUMNS = ("assignment", "rater_id", "task_id")
_HANDED_IN = (
    "is an export of a form or a sheet of an assignment, not a table of ratings",
    "import it with `fairstats ratings import`, with its assignment",
)


def rating_files(source: Paths) -> list[Path]:
    """Return the ratings files among these paths and inside folders, each once.

    Examples
    --------
    >>> [path.name for path in rating_files(["answers.parquet", "physicians.ratings.parquet"])]
    ['physicians.ratings.parquet']
    """
    return files_ending(source, RATINGS_SUFFIX)


def is_handed_in(path: Path) -> bool:
    """Return whether a file looks like an export of a form or like a sheet, filled or not."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".json") or not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(4096)
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    text = begin.decode("utf-16" if begin.startswith(marks) else "utf-8", errors="ignore")
    if kind == ".json":
        return f'"{EXPORT_FORMAT}"' in text
    return {*SHEET_COLUMNS} <= {*re.findall(r"\w+", text.partition("\n")[0])}


def shared_judgements(tables: Sequence[pd.DataFrame]) -> dict[tuple[int, int], int]:
    """Count the judgements shared by each two tables, by the numbers of the tables."""
    first: dict[tuple[object, ...], int] = {}
    shared: Counter[tuple[int, int]] = Counter()
    for number, table in enumerate(tables):
        judgements = table[list(JUDGEMENT_COLUMNS)].drop_duplicates()
        for judgement in judgements.itertuples(index=False, name=None):
            earlier = first.setdefault(judgement, number)
            if earlier != number:
                shared[earlier, number] += 1
    return dict(shared)


def read_ratings(
    source: Paths,
    *,
    rubrics: Rubrics = (),
) -> pd.DataFrame:
    """Read ratings from a file, several files or a folder.

    Parameters
    ----------
    source : path, or iterable of paths
        Parquet, CSV or JSON Lines with the columns of the ratings table. For a folder, the files in
        it with names ending in ``.ratings.parquet``, as written by ``fairstats ratings import``.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        In the normal form of `fairstats.ratings.table.check_ratings`.

    Raises
    ------
    InputError
        If a file cannot be read, or if rows, or all files together, violate the schema or the
        rubric; names file, row, column and value. Also if a judgement is in two files.
    """
    given = each_path(source)
    read = already_read(given)
    found: dict[Path, Path] = {}
    problems: list[Problem] = []
    for path in map(Path, given):
        inside = rating_files(path) if path.is_dir() else [path]
        if not inside:
            problems.append(_no_ratings_in(path))
        for file in inside:
            found.setdefault(file.resolve(), file)
    refuse(problems)
    files = list(found.values())
    frames: list[pd.DataFrame] = []
    for path in files:
        with collected(problems):
            if is_handed_in(path):
                raise input_error(path, *_HANDED_IN)
            table = load_table(read.get(path, path))
            frames.append(check_ratings(table, rubrics=rubrics, path=str(path)))
    refuse(problems)
    if not frames:
        raise input_error("<no path>", "no files to read", "give a file or a folder")
    if len(frames) == 1:
        return frames[0]
    refuse(in_two_files(files, frames))
    together = ", ".join(map(str, files))
    return check_ratings(pd.concat(frames, ignore_index=True), rubrics=rubrics, path=together)


def in_two_files(files: Sequence[Path], tables: Sequence[pd.DataFrame]) -> Iterator[Problem]:
    """Return a problem for each two files with the same judgements, which would count twice."""
    for (one, other), count in shared_judgements(tables).items():
        some = "one judgement is" if count == 1 else f"{count:,} judgements are"
        message = f"{some} in both this file and {files[one]}"
        yield Problem(str(files[other]), message, "give only one of the two")


def write_ratings(
    ratings: pd.DataFrame,
    path: AnyPath,
    *,
    rubrics: Rubrics = (),
) -> Path:
    """Write checked ratings as one parquet file, by renaming a temporary file.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings that pass `check_ratings`.
    path : path
        A name that ends in ``.ratings.parquet``.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    InputError
        If a row is wrong or the name has another ending. Nothing is then written.
    """
    path = Path(path)
    if not path.name.endswith(RATINGS_SUFFIX):
        raise input_error(
            path, "is not a valid name for ratings", f"end the name in {RATINGS_SUFFIX}"
        )
    return write_parquet(check_ratings(ratings, rubrics=rubrics, path=str(path)), path)


def _no_ratings_in(folder: Path) -> Problem:
    handed_in = next((path for path in sorted(folder.rglob("*")) if is_handed_in(path)), None)
    if handed_in is not None:
        return Problem(str(handed_in), *_HANDED_IN)
    remedy = f"give a file, or a folder with files *{RATINGS_SUFFIX}"
    return Problem(str(folder), "contains no ratings", remedy)
