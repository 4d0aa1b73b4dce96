"""Reading and writing ratings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from fairstats.answers import RATINGS_SUFFIX, load_table, write_parquet
from fairstats.problems import InputError, Problem
from fairstats.ratings.rubrics import Rubric
from fairstats.ratings.table import check_ratings


def rating_files(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> list[Path]:
    """The ratings files among these paths and inside of the folders among them, each once.

    Examples
    --------
    >>> [path.name for path in rating_files(["answers.parquet", "physicians.ratings.parquet"])]
    ['physicians.ratings.parquet']
    """
    paths = [Path(source)] if isinstance(source, (str, os.PathLike)) else [Path(p) for p in source]
    found: dict[Path, Path] = {}
    for path in paths:
        inside = sorted(path.rglob(f"*{RATINGS_SUFFIX}")) if path.is_dir() else [path]
        for file in inside:
            if file.name.endswith(RATINGS_SUFFIX):
                found.setdefault(file.resolve(), file)
    return list(found.values())


def read_ratings(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    rubrics: Iterable[Rubric] | Mapping[str, Rubric] = (),
) -> pd.DataFrame:
    """Read ratings from a file, from several, or from a folder.

    Parameters
    ----------
    source : path, or iterable of paths
        Parquet, CSV or JSON Lines with the columns of the ratings table; a folder stands for the
        files in it whose names end in ``.ratings.parquet``, as ``fairstats ratings import``
        writes them.
    rubrics : iterable or mapping of Rubric
        Rubrics that are not built in.

    Returns
    -------
    pandas.DataFrame
        In the normal form of `fairstats.ratings.table.check_ratings`.

    Raises
    ------
    InputError
        When a file cannot be read, or its rows, or all files together, break the schema or the
        rubric; each with file, row, column and value.
    """
    paths = [Path(source)] if isinstance(source, (str, os.PathLike)) else [Path(p) for p in source]
    files: list[Path] = []
    for path in paths:
        inside = rating_files(path) if path.is_dir() else [path]
        if not inside:
            remedy = f"name a folder with files *{RATINGS_SUFFIX}, or a file"
            raise InputError([Problem(str(path), "holds no ratings", remedy)])
        files += inside
    frames: list[pd.DataFrame] = []
    problems: list[Problem] = []
    for path in files:
        try:
            frames.append(check_ratings(load_table(path), rubrics=rubrics, path=str(path)))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    if not frames:
        raise InputError([Problem("<no path>", "nothing to read", "name a file or a folder")])
    if len(frames) == 1:
        return frames[0]
    together = ", ".join(map(str, files))
    return check_ratings(pd.concat(frames, ignore_index=True), rubrics=rubrics, path=together)


def write_ratings(
    ratings: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    rubrics: Iterable[Rubric] | Mapping[str, Rubric] = (),
) -> Path:
    """Write checked ratings as one parquet file, by a rename.

    Parameters
    ----------
    ratings : pandas.DataFrame
        What `check_ratings` passes.
    path : path
        A name that ends in ``.ratings.parquet``.
    rubrics : iterable or mapping of Rubric
        Rubrics that are not built in.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    InputError
        When a row is wrong or the name ends otherwise; nothing is written then.
    """
    path = Path(path)
    if not path.name.endswith(RATINGS_SUFFIX):
        raise InputError([Problem(str(path), "is no name for it", f"end it in {RATINGS_SUFFIX}")])
    return write_parquet(check_ratings(ratings, rubrics=rubrics, path=str(path)), path)
