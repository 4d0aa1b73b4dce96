"""Import ratings: returned forms and sheets, tidy tables, released data sets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairstats._lib.paths import AnyPath, Paths, each_path
from fairstats._lib.problems import (
    Problem,
    collected,
    first_of,
    input_error,
    keyword,
    refuse,
    wrong,
)
from fairstats._lib.records import importable_files
from fairstats._lib.safe_names import same_looking, slug
from fairstats.ratings.collection.assignment import FACTS, HASHES, HandedOut, load_handed_out
from fairstats.ratings.collection.forms import VALUES
from fairstats.ratings.collection.import_tables import (
    COMMENT_COLUMNS,
    Imported,
    import_tables,
    write_imported,
)
from fairstats.ratings.collection.returned_files import (
    Judgement,
    about_tasks,
    read_export,
    read_sheet,
)
from fairstats.ratings.files import is_handed_in
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings

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
    files: Paths,
    *,
    out: AnyPath,
    assignment: AnyPath | None = None,
    reader: Reader | None = None,
    name: str | None = None,
    rubric_files: Iterable[AnyPath] = (),
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

    Raises
    ------
    InputError
        With a problem for every error in any file. Nothing is then written.
    """
    given = each_path(files)
    paths = [Path(path) for path in given]
    rubrics = [load_rubric(Path(path)) for path in rubric_files]
    if assignment is not None and reader is not None:
        raise wrong("reader", "is only for released data sets", "remove it, or the assignment")
    if assignment is not None:
        handed_out = load_handed_out(Path(assignment))
        rubrics.append(handed_out.rubric)
        imported = import_handed_in(paths, handed_out)
    elif reader is not None:
        imported = reader(paths)
    else:
        _refuse_handed_in(paths)
        imported = import_tables(paths, rubrics=rubrics)
        _refuse_same_looking(imported.ratings, first_of(paths))
    ratings = imported.ratings
    parts = [*ratings["benchmark"].unique(), *ratings["rubric"].unique()]
    if name is not None and (slug(name) != name.lower() or not name):
        remedy = "use letters, digits, dots and single hyphens"
        raise wrong("name", f"{name!r} is not a valid file name", remedy)
    stem = name or "_".join(slug(part) for part in parts)[:120]
    written, beside = write_imported(imported, Path(out), stem, rubrics=rubrics)
    return Written(tuple(written), ratings, (*imported.notes, *beside))


def _refuse_handed_in(paths: Sequence[Path]) -> None:
    """Refuse forms and sheets first, since they cannot be read without their assignment."""
    inside = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    if found := sorted(file for file in inside if is_handed_in(file)):
        what = "are exports of forms" if found[1:] else "is an export of a form"
        message = f"{what}, or sheet{'s' if found[1:] else ''}, of an assignment"
        remedy = f"give the folder of that assignment with {keyword('assignment')}"
        raise input_error(first_of(found), message, remedy)


def _refuse_same_looking(ratings: pd.DataFrame, path: str) -> None:
    """Refuse models whose names differ in case, separators or look-alike letters only."""
    remedy = "if they are the same, write them the same way; if not, rename one"
    problems = [
        Problem(
            path,
            f"look the same to a reader: {' and '.join(map(repr, names[:4]))}",
            remedy,
            column="model",
        )
        for names in same_looking(pd.concat([ratings["model"], ratings["model_2"]]).dropna())
    ]
    refuse(problems[:100])


_SUFFIXES = (".json", ".csv")
# Maximum number of raters, or files, named in a note.
_NAMED = 10


def import_handed_in(paths: Sequence[Path], handed_out: HandedOut) -> Imported:
    """Return the ratings in exports and sheets of one assignment."""
    files, left_out = _files(paths, handed_out)
    judgements: list[Judgement] = []
    problems: list[Problem] = []
    for path in files:
        read = read_export if path.suffix.lower() == ".json" else read_sheet
        with collected(problems):
            judgements += read(path, handed_out)
    problems += _twice(judgements)
    judged = [judgement for judgement in judgements if judgement.values]
    if not judged and not problems:
        remedy = "wait for raters to return their forms"
        problems.append(Problem(first_of(paths), "contains no judgements", remedy))
    refuse(problems)
    ratings = check_ratings(
        pd.DataFrame([row for one in judged for row in _rows(one, handed_out)]),
        rubrics=[handed_out.rubric],
        path=", ".join(sorted({str(one.path) for one in judged})),
    )
    comments = [_names(one, handed_out) | {"comment": one.comment} for one in judgements]
    said = pd.DataFrame(comments, columns=list(COMMENT_COLUMNS))
    said = said[said["comment"] != ""].sort_values(["task_id", "rater_id"], ignore_index=True)
    notes = [*_left_out(left_out), *_missing(judged, handed_out), *_partial(judgements)]
    return Imported(ratings, said, tuple(notes))


def _files(paths: Sequence[Path], handed_out: HandedOut) -> tuple[list[Path], list[Path]]:
    """Return the files to read, each once, and files of other kinds in folders."""
    own = handed_out.path.resolve()
    kept = {own / name for name in (FACTS, *HASHES, VALUES)}
    if any(path.resolve() in (own, *own.parents, *kept) for path in paths):
        message = "is the assignment, not the raters' replies"
        remedy = "give the folder with their exports and sheets"
        raise input_error(handed_out.path, message, remedy)
    files: list[Path] = []
    left_out: list[Path] = []
    problems: list[Problem] = []
    for path in paths:
        if path.suffix.lower() in (".html", ".htm"):
            remedy = "open it in a browser and import the file it exports"
            problems.append(Problem(str(path), "is a form, not an export of a form", remedy))
        if not path.is_dir():
            files.append(path)
            continue
        # Names that begin with a dot belong to the operating system.
        inside = [p for p in sorted(path.rglob("*")) if p.is_file() and p.name[0] != "."]
        found = [p for p in inside if p.suffix.lower() in _SUFFIXES]
        others = [p for p in inside if p not in found]
        if not found:
            message = "contains no exports (.json) and no sheets (.csv)"
            message += f", only {_names_of(others)}" if others else ""
            remedy = "give the folder with the raters' exports and sheets"
            problems.append(Problem(str(path), message, remedy))
        files += found
        left_out += others
    refuse(problems)
    once: dict[Path, Path] = {}
    for path in files:
        once.setdefault(path.resolve(), path)
    return importable_files(once.values(), None, _SUFFIXES), left_out


def _names_of(paths: Sequence[Path]) -> str:
    return first_of([path.name for path in paths], _NAMED)


def _left_out(paths: Sequence[Path]) -> Iterator[str]:
    if paths:
        yield f"left out, as only .json and .csv are read: {_names_of(paths)}"


def _twice(judgements: Sequence[Judgement]) -> Iterator[Problem]:
    """Return a problem for each two files with the same judgements, and for each repeat."""
    first: dict[tuple[str, str], Judgement] = {}
    shared: dict[tuple[Path, Path, str], list[str]] = defaultdict(list)
    for judgement in judgements:
        earlier = first.setdefault((judgement.task_id, judgement.rater_id), judgement)
        about = about_tasks([judgement.task_id], judgement.rater_id)
        if earlier is judgement:
            continue
        if earlier.path == judgement.path:
            message = f"is already in row {earlier.row} ({about})"
            yield Problem(str(judgement.path), message, "delete one of the two", row=judgement.row)
        else:
            shared[earlier.path, judgement.path, judgement.rater_id].append(judgement.task_id)
    for (one, other, rater_id), task_ids in shared.items():
        verb = "are" if task_ids[1:] else "is"
        message = f"{about_tasks(task_ids, rater_id)} {verb} also in {one}"
        yield Problem(str(other), message, "import only the newer of the two files")


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


def _missing(judged: Sequence[Judgement], handed_out: HandedOut) -> Iterator[str]:
    """Report how many assigned judgements were not returned, and by whom."""
    asked = Counter(rater for _, rater in handed_out.key)
    done = Counter(judgement.rater_id for judgement in judged)
    total = asked.total()
    yield f"{len(judged):,} of {total:,} judgements, {total - len(judged):,} missing"
    if silent := sorted(rater for rater in asked if not done[rater]):
        named = first_of(silent, _NAMED)
        yield f"no judgements yet from {len(silent)} of {len(asked)} raters: {named}"
    lacking = {rater: asked[rater] - number for rater, number in sorted(done.items())}
    if some := [f"{rater} {n} of {asked[rater]}" for rater, n in lacking.items() if n]:
        yield f"returned with tasks missing: {first_of(some, _NAMED)}"


def _partial(judgements: Sequence[Judgement]) -> Iterator[str]:
    partly: dict[str, list[str]] = defaultdict(list)
    for judgement in judgements:
        if judgement.partial:
            partly[judgement.rater_id].append(judgement.task_id)
    if partly:
        about = [about_tasks(sorted(tasks), rater) for rater, tasks in sorted(partly.items())]
        yield f"partly answered, so not counted: {first_of(about, _NAMED)}"
