"""Take in ratings: what forms and sheets brought back, tidy tables, released data sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from collectors.import_files import importable_files
from collectors.ratings.equitymedqa import import_equitymedqa
from collectors.ratings.exports import read_export
from collectors.ratings.handed_out import HandedOut, load_handed_out
from collectors.ratings.imported import COMMENT_COLUMNS, Imported, write_imported
from collectors.ratings.judgements import Judgement
from collectors.ratings.medperturb import import_medperturb
from collectors.ratings.sheets import read_sheet
from collectors.ratings.tables import import_tables
from fairstats.names import slug
from fairstats.problems import InputError, Problem
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings


def _import_medperturb(paths: Sequence[Path]) -> Imported:
    frames = [import_medperturb(path) for path in paths]
    comments = pd.DataFrame(columns=list(COMMENT_COLUMNS))
    return Imported(pd.concat(frames, ignore_index=True), comments)


#: Released data sets by what ``--format`` calls them, each a function of the files.
FORMATS: Mapping[str, Callable[[Sequence[Path]], Imported]] = {
    "equitymedqa": import_equitymedqa,
    "medperturb": _import_medperturb,
}


@dataclass(frozen=True)
class Written:
    """What was taken in.

    Parameters
    ----------
    paths : tuple of Path
        The ratings, and the comments where there are any.
    ratings : pandas.DataFrame
        In the normal form.
    notes : tuple of str
        What is missing, and what was assumed.
    """

    paths: tuple[Path, ...]
    ratings: pd.DataFrame
    notes: tuple[str, ...]


def import_ratings(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str],
    assignment: str | os.PathLike[str] | None = None,
    format: str | None = None,
    name: str | None = None,
    rubric_files: Iterable[str | os.PathLike[str]] = (),
) -> Written:
    """Take in ratings, and write them as ``NAME.ratings.parquet``, comments apart from them.

    Parameters
    ----------
    files : path, or iterable of paths
        Exports and sheets of an assignment, tidy tables, or the files of a released data set; of
        an assignment also a folder of exports and sheets.
    out : path
        The folder to write into.
    assignment : path, optional
        The folder that `assign` wrote, or the key in it: the files are its exports and sheets.
    format : str, optional
        A released data set, one of `FORMATS`; without it and without `assignment` the files are
        tables with the columns of the ratings table.
    name : str, optional
        NAME; by default the benchmarks and rubrics.
    rubric_files : iterable of path
        Rubrics of tables that are not built in.

    Returns
    -------
    Written

    Raises
    ------
    InputError
        With a problem for everything that is wrong in any file. Nothing is written then.
    """
    given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    paths = [Path(path) for path in given]
    rubrics = [load_rubric(Path(path)) for path in rubric_files]
    if assignment is not None and format is not None:
        raise InputError([Problem("--format", "is for files of others", "drop it or --assignment")])
    if assignment is not None:
        handed_out = load_handed_out(Path(assignment))
        rubrics.append(handed_out.rubric)
        imported = import_handed_out(paths, handed_out)
    elif format is not None:
        if format not in FORMATS:
            remedy = f"use one of {', '.join(FORMATS)}"
            raise InputError([Problem("--format", f"{format!r} is unknown", remedy)])
        imported = FORMATS[format](paths)
    else:
        imported = import_tables(paths, rubrics=rubrics)
    ratings = imported.ratings
    parts = [*ratings["benchmark"].unique(), *ratings["rubric"].unique()]
    if name is not None and (slug(name) != name.lower() or not name):
        remedy = "use letters, digits, dots and single hyphens"
        raise InputError([Problem("--name", f"{name!r} is no name for a file", remedy)])
    stem = name or "_".join(slug(part) for part in parts)[:120]
    written = write_imported(imported, Path(out), stem, rubrics=rubrics)
    return Written(tuple(written), ratings, imported.notes)


def import_handed_out(paths: Sequence[Path], handed_out: HandedOut) -> Imported:
    """The ratings in exports and sheets of one assignment.

    Raises
    ------
    InputError
        With a problem for everything that is wrong in any file, and for a judgement that stands
        in two.
    """
    judgements: list[Judgement] = []
    problems: list[Problem] = []
    for path in importable_files(paths, _handed_in, (".json", ".csv")):
        read = read_export if path.suffix.lower() == ".json" else read_sheet
        try:
            judgements += read(path, handed_out)
        except InputError as error:
            problems += error.problems
    first: dict[tuple[str, str], Judgement] = {}
    for judgement in judgements:
        key = (judgement.task_id, judgement.rater_id)
        earlier = first.setdefault(key, judgement)
        if earlier is not judgement:
            message = f"stands in {earlier.path} (row {earlier.row}) already"
            remedy = "import the newer of the two files alone"
            value = ", ".join(key)
            where, row = str(judgement.path), judgement.row
            problems.append(Problem(where, message, remedy, row, "task_id, rater_id", value))
    judged = [judgement for judgement in first.values() if judgement.values]
    if not judged and not problems:
        remedy = "wait for raters to hand in filled forms"
        problems.append(Problem(", ".join(map(str, paths)), "holds no judgement", remedy))
    if problems:
        raise InputError(problems)
    ratings = check_ratings(
        pd.DataFrame([row for one in judged for row in _rows(one, handed_out)]),
        rubrics=[handed_out.rubric],
        path=", ".join(sorted({str(one.path) for one in judged})),
    )
    comments = [_names(one, handed_out) | {"comment": one.comment} for one in first.values()]
    said = pd.DataFrame(comments, columns=list(COMMENT_COLUMNS))
    said = said[said["comment"] != ""].sort_values(["task_id", "rater_id"], ignore_index=True)
    return Imported(ratings, said, tuple(_missing(judged, handed_out)))


def _handed_in(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix.lower() in (".json", ".csv")]


def _names(judgement: Judgement, handed_out: HandedOut) -> dict[str, object]:
    asked = handed_out.key[judgement.task_id, judgement.rater_id]
    return {
        "benchmark": handed_out.benchmark,
        "dataset": asked["dataset"],
        "rubric": handed_out.rubric.name,
        "task_id": judgement.task_id,
        "rater_id": judgement.rater_id,
        "repeat": 0,
    }


def _rows(judgement: Judgement, handed_out: HandedOut) -> Iterable[dict[str, object]]:
    asked = handed_out.key[judgement.task_id, judgement.rater_id]
    for dimension, value in judgement.values.items():
        yield _names(judgement, handed_out) | {
            **{c: asked[c] for c in ("item_id", "item_id_2", "model", "model_2", "rater_group")},
            "rater_kind": "person",
            "dimension": dimension,
            "value": value,
            "swapped": asked["swapped"],
            "duration_s": judgement.duration_s,
        }


def _missing(judged: Sequence[Judgement], handed_out: HandedOut) -> Iterable[str]:
    """How much of what was asked for did not come back."""
    done = {(one.task_id, one.rater_id) for one in judged}
    raters = {rater for _, rater in handed_out.key}
    silent = raters - {rater for _, rater in done}
    left = len(handed_out.key) - len(done)
    yield (
        f"{len(done):,} of {len(handed_out.key):,} judgements, {left:,} missing"
        + (f"; nothing yet from {len(silent)} of {len(raters)} raters" if silent else "")
    )
