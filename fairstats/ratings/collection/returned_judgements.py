"""Returned files of one assignment, combined: exports of forms and filled sheets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from fairstats._lib.json_csv_records import importable_files
from fairstats._lib.problems import InputError, Problem, first_of
from fairstats.ratings.collection.assignment_folder import FACTS, HASHES, HandedOut
from fairstats.ratings.collection.exported_forms import read_export
from fairstats.ratings.collection.imported import COMMENT_COLUMNS, Imported
from fairstats.ratings.collection.judgements import Judgement, about_tasks
from fairstats.ratings.collection.sheets import VALUES, read_sheet
from fairstats.ratings.table import check_ratings

_SUFFIXES = (".json", ".csv")
# Maximum number of raters, or files, named in a note.
_NAMED = 10


def import_handed_in(paths: Sequence[Path], handed_out: HandedOut) -> Imported:
    """Return the ratings in exports and sheets of one assignment.

    Raises
    ------
    InputError
        With a problem for every error in any file, and for each two files with the same judgements.
    """
    files, left_out = _files(paths, handed_out)
    judgements: list[Judgement] = []
    problems: list[Problem] = []
    for path in files:
        read = read_export if path.suffix.lower() == ".json" else read_sheet
        try:
            judgements += read(path, handed_out)
        except InputError as error:
            problems += error.problems
    problems += _twice(judgements)
    judged = [judgement for judgement in judgements if judgement.values]
    if not judged and not problems:
        remedy = "wait for raters to return their forms"
        problems.append(Problem(first_of(paths), "contains no judgements", remedy))
    if problems:
        raise InputError(problems)
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
        raise InputError([Problem(str(handed_out.path), message, remedy)])
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
    if problems:
        raise InputError(problems)
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
