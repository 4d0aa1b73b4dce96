"""What importing ratings gives, and how it is written: ratings here, comments apart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairstats.answers import COMMENTS_SUFFIX, RATINGS_SUFFIX, load_parquet
from fairstats.problems import InputError, Problem
from fairstats.ratings.files import write_ratings
from fairstats.ratings.rubrics import Rubric
from fairstats.ratings.table import JUDGEMENT_COLUMNS
from fairstats.report.downloads import table_csv

#: The columns of a file of comments.
COMMENT_COLUMNS = (*JUDGEMENT_COLUMNS, "comment")


@dataclass(frozen=True)
class Imported:
    """Ratings as they were taken in.

    Parameters
    ----------
    ratings : pandas.DataFrame
        In the normal form of `fairstats.ratings.table.check_ratings`.
    comments : pandas.DataFrame
        `COMMENT_COLUMNS`, a row a comment.
    notes : tuple of str
        What is missing, and what was assumed.
    """

    ratings: pd.DataFrame
    comments: pd.DataFrame
    notes: tuple[str, ...] = ()


def write_imported(
    imported: Imported, out: Path, name: str, *, rubrics: Sequence[Rubric] = ()
) -> list[Path]:
    """Write ratings and comments beside each other; where there is no comment, ratings alone.

    Raises
    ------
    InputError
        When another file stands there, or a row is wrong; nothing is written then.
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
        remedy = "remove it, or choose another folder or --name"
        message = "is there already, with other content"
        raise InputError([Problem(str(one), message, remedy) for one in taken])
    if not text:
        return [write_ratings(imported.ratings, path, rubrics=rubrics)]
    out.mkdir(parents=True, exist_ok=True)
    temporary = apart.with_name(f".{apart.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="")
        write_ratings(imported.ratings, path, rubrics=rubrics)
        temporary.replace(apart)
    finally:
        temporary.unlink(missing_ok=True)
    return [path, apart]


def _same(there: pd.DataFrame, ratings: pd.DataFrame) -> bool:
    if list(there) != list(ratings) or len(there) != len(ratings):
        return False
    return (
        there.astype(object)
        .where(there.notna(), None)
        .equals(ratings.astype(object).where(ratings.notna(), None))
    )
