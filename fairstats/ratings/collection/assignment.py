"""Assign ratings to raters: a folder of forms and sheets, with the key; and read it again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from fairstats._lib.atomic_files import unfinished_folder
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error, parameter, refuse
from fairstats._lib.records import csv_records, importable_files, json_value
from fairstats._lib.safe_names import file_sha256, text_sha256, unique_slugs
from fairstats._lib.table_text import table_csv
from fairstats.ratings.collection.balance import (
    balanced_loads,
    balanced_sides,
    balanced_tasks,
    concurrence,
)
from fairstats.ratings.collection.forms import (
    RESERVED,
    VALUES,
    Shown,
    check_mirrored,
    form_html,
    sheet_text,
    shown,
    text_columns,
    values_text,
)
from fairstats.ratings.collection.subjects import (
    MAX_BYTES,
    Rater,
    Subject,
    read_raters,
    read_subjects,
)
from fairstats.ratings.rubrics import Rubric, load_rubric

#: Columns of the key: one row per assigned judgement.
KEY_COLUMNS = (
    *("dataset", "task_id", "item_id", "item_id_2", "model", "model_2"),
    *("rater_id", "rater_group", "swapped"),
)
#: Files of an assignment that its raters do not receive, or do not need.
FACTS, KEY, RUBRIC, TASKS = "assignment.json", "key.csv", "rubric.toml", "tasks.jsonl"
#: The entry of an assignment with the hash of each other file.
HASHES = {KEY: "key_sha256", RUBRIC: "rubric_sha256", TASKS: "tasks_sha256"}
_SUFFIXES = (".json", ".csv", ".toml", ".jsonl")


@dataclass(frozen=True)
class HandedOut:
    """An assignment as stored in its folder.

    Parameters
    ----------
    path : Path
        The folder.
    assignment : str
        The identifier used in forms, sheets and exports.
    benchmark : str
        The benchmark of the ratings.
    rubric : Rubric
        The rubric at the time of assignment.
    key : Mapping
        The key's row of each assigned judgement, by (task_id, rater_id).
    """

    path: Path
    assignment: str
    benchmark: str
    rubric: Rubric
    key: Mapping[tuple[str, str], Mapping[str, Any]]


def facts_hash(facts: Mapping[str, object]) -> str:
    """Return the sha256 of an assignment's facts."""
    return text_sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False))


def assignment_id(facts: Mapping[str, object]) -> str:
    """Return a short name for these facts; its letter stops spreadsheets from reading a number."""
    return f"a{facts_hash(facts)[:15]}"


def key_text(key: pd.DataFrame) -> str:
    """Return the key as CSV, from which every name is read back unchanged.

    A name that a spreadsheet would execute gets a leading apostrophe, and so does a name that
    already begins with one; `load_handed_out` removes one.
    """
    guarded = key[list(KEY_COLUMNS)].map(
        lambda value: f"'{value}" if isinstance(value, str) and value.startswith("'") else value
    )
    return table_csv(guarded)


def tasks_text(tasks: Mapping[str, Subject]) -> str:
    """Return each task in the form of `fairstats.ratings.collection.subjects.read_subjects`."""
    lines = []
    for task_id, subject in tasks.items():
        names = {name: value for name, value in subject.names.items() if value is not None}
        row = {"task_id": task_id, **names, **subject.texts}
        lines.append(f"{json.dumps(row, ensure_ascii=False)}\n")
    return "".join(lines)


def _as_it_was(value: Any) -> Any:
    return value[1:] if isinstance(value, str) and value.startswith("'") else value


def load_handed_out(path: Path) -> HandedOut:
    """Load an assignment from its folder, or from the key in it; refuse one with changed files."""
    folder = path.parent if path.name in (FACTS, KEY) else path
    for name in (FACTS, *HASHES):
        importable_files(folder / name, None, _SUFFIXES, MAX_BYTES)
    facts = json_value(folder / FACTS)
    rest = {k: v for k, v in facts.items() if k != "assignment"} if isinstance(facts, dict) else {}
    changed = [
        name for name, fact in HASHES.items() if rest.get(fact) != file_sha256(folder / name)
    ]
    if not rest or facts.get("assignment") != assignment_id(rest):
        changed = [FACTS]
    remedy = "use the files exactly as `fairstats ratings assign` wrote them"
    refuse(Problem(str(folder / n), "was changed after the assignment", remedy) for n in changed)
    rows = [
        {name: _as_it_was(value) for name, value in record.fields.items()}
        for record in csv_records(folder / KEY)
    ]
    key = {(row["task_id"], row["rater_id"]): row for row in rows}
    return HandedOut(
        folder,
        facts["assignment"],
        facts["benchmark"],
        load_rubric(folder / RUBRIC, copied=True),
        key,
    )


@dataclass(frozen=True)
class Assigned:
    """Result of an assignment.

    Parameters
    ----------
    path : Path
        The folder.
    assignment : str
        The identifier of the forms, the sheets, and the files returned by raters.
    groups : pandas.DataFrame
        One row per rater group: ``raters``, ``tasks``, ``replicates``, the fewest and most tasks of
        a rater (``load_min``, ``load_max``), and the fewest and most tasks shared by two of its
        raters (``shared_min``, ``shared_max``).
    notes : tuple of str
        Notes to read before sending out the forms.
    """

    path: Path
    assignment: str
    groups: pd.DataFrame
    notes: tuple[str, ...] = ()


def assign(
    items: AnyPath,
    raters: AnyPath,
    *,
    rubric: AnyPath,
    out: AnyPath,
    replicates: int | Mapping[str, int] = 3,
    seed: int = 1,
    benchmark: str | None = None,
    dataset: str | None = None,
) -> Assigned:
    """Assign tasks to raters, and write a form and a sheet for each rater.

    Parameters
    ----------
    items : path
        CSV or JSON Lines, one row per subject, see `read_subjects`.
    raters : path
        CSV with ``rater_id``, ``rater_group`` and, if wanted, ``max_tasks``.
    rubric : str or path
        A built-in rubric's name, or a rubric's ``.toml``.
    out : path
        The output folder; it must be empty or absent.
    replicates : int or mapping
        Number of raters *of each group* who judge a task, as counted in EquityMedQA; by group, or
        the same for every group with raters.
    seed : int
        The same inputs and seed give the same assignment.
    benchmark : str, optional
        The benchmark of the ratings; by default the name of the items file.
    dataset : str, optional
        The dataset of items that do not name one; by default the benchmark.

    Raises
    ------
    InputError
        If a file cannot be used, a group has too few raters or too little capacity for the
        replicates, or the folder is not empty. Nothing is then written.

    Notes
    -----
    Within a group, the loads of raters differ by at most one, except for raters at their
    ``max_tasks``. Pairs of raters share a number of tasks that is as even as exchanges can make it.
    Two answers shown next to each other are swapped for half of each task's and of each rater's
    judgements, within one. Task ids are numbers assigned after shuffling.
    """
    items, raters, out = Path(items), Path(raters), Path(out)
    declared = load_rubric(rubric)
    _check_rubric(declared)
    benchmark = items.stem if benchmark is None else benchmark
    dataset = benchmark if dataset is None else dataset
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        remedy = "choose another folder: an assignment is never overwritten"
        raise input_error(out, "already exists", remedy)
    subjects, unused = read_subjects(items, declared, benchmark=benchmark, dataset=dataset)
    people = read_raters(raters, declared)
    wanted = _replicates(replicates, people, raters)

    inputs = {
        "benchmark": benchmark,
        "dataset": dataset,
        "rubric": declared.name,
        HASHES[RUBRIC]: file_sha256(declared.path),
        "items_sha256": file_sha256(items),
        "raters_sha256": file_sha256(raters),
        "replicates": wanted,
        "seed": seed,
    }
    rng = Random(seed)
    rng.shuffle(subjects)
    # Ids that distinguish an assignment's tasks from another's, without revealing their content.
    digits = len(str(len(subjects)))
    tasks = {
        f"t{facts_hash(inputs)[:4]}-{number:0{digits}d}": subject
        for number, subject in enumerate(subjects, start=1)
    }
    key, groups = _assigned(tasks, people, wanted, declared, rng, raters)
    secret = {KEY: key_text(key), TASKS: tasks_text(tasks)}
    facts = inputs | {HASHES[name]: text_sha256(text) for name, text in secret.items()}
    assignment = assignment_id(facts)
    stated = json.dumps({"assignment": assignment} | facts, indent=1, ensure_ascii=False)
    files = {
        FACTS: f"{stated}\n",
        **secret,
        RUBRIC: declared.path.read_bytes().decode(),
        VALUES: values_text(declared),
    }
    file_names = unique_slugs(person.rater_id for person in people)
    for rater_id, rows in key.groupby("rater_id", sort=False):
        order = rows.to_dict("records")
        rng.shuffle(order)
        handed: dict[str, Shown] = {
            row["task_id"]: shown(tasks[row["task_id"]], declared, swapped=row["swapped"] == "true")
            for row in order
        }
        name = file_names[str(rater_id)]
        files[f"forms/{name}.html"] = form_html(declared, str(rater_id), assignment, handed)
        files[f"sheets/{name}.csv"] = sheet_text(declared, str(rater_id), assignment, handed)
    _write_folder(files, out)
    return Assigned(out, assignment, groups, tuple(_notes(subjects, people, key, unused, declared)))


def _check_rubric(rubric: Rubric) -> None:
    taken = (*RESERVED, *text_columns(rubric))
    for question in rubric.questions:
        if question.dimension in taken:
            message = "is the name of a column in the sheets"
            remedy = f"rename the dimension; reserved names: {', '.join(taken)}"
            place = str(rubric.path)
            raise input_error(place, message, remedy, column=question.dimension)
    if rubric.compares == "models":
        check_mirrored(rubric)


def _replicates(
    given: int | Mapping[str, int], people: Sequence[Rater], path: Path
) -> dict[str, int]:
    """Return the number of raters of each task by group."""
    present = list(dict.fromkeys(person.rater_group for person in people))
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(present, given)
    problems = []
    for group in {**dict.fromkeys(present), **wanted}:
        if group not in present or group not in wanted:
            message = "has replicates but no raters" if group in wanted else "has no replicates"
            problems.append(
                Problem(str(path), message, "give both or none", column="rater_group", value=group)
            )
        elif wanted[group] < 1:
            message = "must be a whole number of at least 1"
            problems.append(Problem(parameter("replicates"), message, "give a number of raters"))
    refuse(problems)
    return {group: wanted[group] for group in present}


def _assigned(
    tasks: Mapping[str, Subject],
    people: Sequence[Rater],
    replicates: Mapping[str, int],
    rubric: Rubric,
    rng: Random,
    path: Path,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the key, and how even each group's assignment is."""
    rows: list[dict[str, object]] = []
    groups = []
    for group, wanted in replicates.items():
        members = [person for person in people if person.rater_group == group]
        rng.shuffle(members)
        try:
            loads = balanced_loads(
                len(tasks), [person.max_tasks for person in members], replicates=wanted
            )
        except ValueError as error:
            message = f"the {len(members)} raters of the group have {error}"
            remedy = "add raters, raise max_tasks, or lower the replicates"
            raise input_error(path, message, remedy, column="rater_group", value=group) from None
        chosen = balanced_tasks(len(tasks), loads, replicates=wanted, rng=rng)
        sides = balanced_sides(chosen, rng) if rubric.compares == "models" else {}
        for task, (task_id, subject) in enumerate(tasks.items()):
            rows += [
                {
                    **subject.names,
                    "task_id": task_id,
                    "rater_id": members[rater].rater_id,
                    "rater_group": group,
                    "swapped": str(sides[task, rater]).lower() if sides else None,
                }
                for rater in sorted(chosen[task], key=lambda rater: members[rater].rater_id)
            ]
        fewest, most = concurrence(chosen, len(members))
        groups.append(
            (group, len(members), len(tasks), wanted, min(loads), max(loads), fewest, most)
        )
    columns = ["rater_group", "raters", "tasks", "replicates", "load_min", "load_max"]
    summary = pd.DataFrame(groups, columns=[*columns, "shared_min", "shared_max"])
    key = pd.DataFrame(rows, columns=list(KEY_COLUMNS)).sort_values("task_id", kind="stable")
    return key.reset_index(drop=True), summary


def _notes(
    subjects: Sequence[Subject],
    people: Sequence[Rater],
    key: pd.DataFrame,
    unused: Sequence[str],
    rubric: Rubric,
) -> list[str]:
    notes = []
    if unused:
        notes.append(f"columns of the items file not used: {', '.join(unused)}")
    if rubric.compares == "nothing" and not any("answer" in s.texts for s in subjects):
        notes.append("the items have no answers, so only the questions are judged")
    telling = sum(
        any(
            model.lower() in text.lower()
            for model in (subject.names["model"], subject.names["model_2"])
            if model
            for text in subject.texts.values()
        )
        for subject in subjects
    )
    if telling:
        notes.append(f"{telling} of {len(subjects)} tasks are not blinded: a text names the model")
    if idle := len(people) - key["rater_id"].nunique():
        notes.append(f"{idle} raters have no task, as there are too few tasks")
    return notes


def _write_folder(files: Mapping[str, str], out: Path) -> None:
    """Write all files or none."""
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    with unfinished_folder(out) as temporary:
        for name, text in files.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        if out.exists():
            # The folder is empty, and some systems cannot rename onto an existing folder.
            out.rmdir()
        temporary.rename(out)
