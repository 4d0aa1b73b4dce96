"""Ratings in tidy tables; their comments are stored separately."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fairstats._lib.json_csv_records import importable_files
from fairstats._lib.problems import InputError
from fairstats.answers.files import load_table
from fairstats.ratings.collection.imported import COMMENT_COLUMNS, Imported
from fairstats.ratings.files import in_two_files
from fairstats.ratings.rubrics import Rubric
from fairstats.ratings.schema import JUDGEMENT_COLUMNS
from fairstats.ratings.table import check_ratings

_SUFFIXES = (".csv", ".jsonl", ".parquet")


def import_tables(paths: Sequence[Path], *, rubrics: Sequence[Rubric] = ()) -> Imported:
    """Read tables with the columns of the ratings table and, if present, ``comment``.

    Raises
    ------
    InputError
        If a file cannot be read, or its rows violate the schema or the rubric.
    """
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
        if problems := list(in_two_files(files, frames)):
            raise InputError(problems)
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
