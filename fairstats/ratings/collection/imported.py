"""Result of importing ratings, and its files: ratings and comments separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.table_text import table_csv
from fairstats._lib.untrusted_tables import load_parquet
from fairstats.answers.files import COMMENTS_SUFFIX, RATINGS_SUFFIX
from fairstats.ratings.files import rating_files, shared_judgements, write_ratings
from fairstats.ratings.rubrics import Rubric
from fairstats.ratings.schema import JUDGEMENT_COLUMNS, RATING_COLUMNS, TASK_COLUMNS

#: Columns of a file of comments.
COMMENT_COLUMNS = (*JUDGEMENT_COLUMNS, "comment")


@dataclass(frozen=True)
class Imported:
    """Imported ratings.

    Parameters
    ----------
    ratings : pandas.DataFrame
        In the normal form of `fairstats.ratings.table.check_ratings`.
    comments : pandas.DataFrame
        `COMMENT_COLUMNS`, one row per comment.
    notes : tuple of str
        Missing ratings, and assumptions.
    """

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
    if taken:
        remedy = "remove it to replace it by the new ratings, or choose another folder"
        message = "already exists with different content"
        raise InputError([Problem(str(one), message, remedy) for one in taken])
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
    if problems:
        raise InputError(problems)
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
