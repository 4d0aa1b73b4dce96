"""Import ratings: returned forms and sheets, tidy tables, released data sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairstats._lib.problems import InputError, Problem, first_of
from fairstats._lib.safe_names import slug
from fairstats.ratings.collection.assignment_folder import load_handed_out
from fairstats.ratings.collection.imported import Imported, write_imported
from fairstats.ratings.collection.returned_judgements import import_handed_in
from fairstats.ratings.collection.tidy_tables import import_tables
from fairstats.ratings.files import is_handed_in
from fairstats.ratings.rubrics import load_rubric

#: Reads the files of a released data set.
Reader = Callable[[Sequence[Path]], Imported]


@dataclass(frozen=True)
class Written:
    """Result of an import.

    Parameters
    ----------
    paths : tuple of Path
        The ratings, and the comments if there are any.
    ratings : pandas.DataFrame
        In normal form.
    notes : tuple of str
        Missing ratings, and assumptions.
    """

    paths: tuple[Path, ...]
    ratings: pd.DataFrame
    notes: tuple[str, ...]


def import_ratings(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str],
    assignment: str | os.PathLike[str] | None = None,
    reader: Reader | None = None,
    name: str | None = None,
    rubric_files: Iterable[str | os.PathLike[str]] = (),
) -> Written:
    """Import ratings, and write them as ``NAME.ratings.parquet``, with comments in a separate file.

    Parameters
    ----------
    files : path, or iterable of paths
        Exports and sheets of an assignment, tidy tables, or the files of a released data set. For
        an assignment also folders of exports and sheets, read at any depth.
    out : path
        The output folder.
    assignment : path, optional
        The folder written by `assign`, or the key in it; the files are then its exports and sheets.
    reader : callable, optional
        Reads the files of a released data set. Without it and without `assignment`, the files are
        tables with the columns of the ratings table.
    name : str, optional
        NAME; by default built from the benchmarks and rubrics.
    rubric_files : iterable of path
        Rubrics of tables that are not built in.

    Returns
    -------
    Written

    Raises
    ------
    InputError
        With a problem for every error in any file. Nothing is then written.
    """
    given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    paths = [Path(path) for path in given]
    rubrics = [load_rubric(Path(path)) for path in rubric_files]
    if assignment is not None and reader is not None:
        raise InputError(
            [
                Problem(
                    "--format",
                    "is only for released data sets",
                    "remove it, or remove --assignment",
                )
            ]
        )
    if assignment is not None:
        handed_out = load_handed_out(Path(assignment))
        rubrics.append(handed_out.rubric)
        imported = import_handed_in(paths, handed_out)
    elif reader is not None:
        imported = reader(paths)
    else:
        _refuse_handed_in(paths)
        imported = import_tables(paths, rubrics=rubrics)
    ratings = imported.ratings
    parts = [*ratings["benchmark"].unique(), *ratings["rubric"].unique()]
    if name is not None and (slug(name) != name.lower() or not name):
        remedy = "use letters, digits, dots and single hyphens"
        raise InputError([Problem("--name", f"{name!r} is not a valid file name", remedy)])
    stem = name or "_".join(slug(part) for part in parts)[:120]
    written, beside = write_imported(imported, Path(out), stem, rubrics=rubrics)
    return Written(tuple(written), ratings, (*imported.notes, *beside))


def _refuse_handed_in(paths: Sequence[Path]) -> None:
    """Refuse forms and sheets first, since they cannot be read without their assignment."""
    inside = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    if found := sorted(file for file in inside if is_handed_in(file)):
        what = "are exports of forms" if found[1:] else "is an export of a form"
        message = f"{what}, or sheet{'s' if found[1:] else ''}, of an assignment"
        remedy = "add --assignment DIR with the folder of that assignment"
        raise InputError([Problem(first_of(found), message, remedy)])
