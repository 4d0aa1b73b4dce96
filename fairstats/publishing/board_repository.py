"""Create the repository of a board and a submission to it, and accept submissions."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.atomic_files import locked, named_errors, unfinished_folder
from fairstats._lib.installation import __version__, resource
from fairstats._lib.paths import Paths
from fairstats._lib.problems import (
    InputError,
    Problem,
    input_error,
    keyword,
    parameter,
    refuse,
    wrong,
)
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.toml_files import read_toml
from fairstats.answers.files import (
    NO_ANSWERS,
    RETRIEVALS_SUFFIX,
    SUFFIXES,
    read_answers,
    write_answer_sets,
)
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import by_name, load_benchmark
from fairstats.publishing.submission_check import SubmissionCheck, check_submission
from fairstats.report.site_settings import SETTINGS
from fairstats.retrieval.retrievals_table import (
    RETRIEVAL_COLUMNS,
    read_retrievals,
    retrieval_files,
    write_retrievals,
)
from fairstats.submissions.declaration import (
    KEYS,
    NOT_KNOWN,
    SUBMISSION_FILE,
    declaration_text,
    empty_keys,
    parse_declaration,
)
from fairstats.submissions.folder import (
    ACCEPTANCE_FILE,
    acceptance_of,
    acceptance_text,
    declared_facts,
    refuse_name,
)

#: The files of a new repository, and the templates in ``data/board`` that they are made from.
_FILES = {
    "README.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "requirements.txt": "requirements.txt",
    "site.toml": "site.toml",
    ".gitignore": "gitignore",
    ".gitattributes": "gitattributes",
    ".github/workflows/check.yml": "workflows/check.yml",
    ".github/workflows/publish.yml": "workflows/publish.yml",
}
_LONGEST_NAME = 100
#: Folders of a board's repository.
ACCEPTED, SUBMITTED, BENCHMARKS = "accepted", "submissions", "benchmarks"


def create_board(
    folder: Path,
    *,
    title: str = "Leaderboard",
    publisher: str = "",
    licence: str = "",
    benchmarks: Iterable[Benchmark] = (),
) -> list[Path]:
    """Create the repository of a board.

    The folder may contain an empty git repository, but no other file. Publisher and licence are
    named on every page, and can be changed in ``site.toml``. The board gets a copy of each
    benchmark.

    Raises
    ------
    InputError
        If the folder has files, or the title, publisher or licence cannot be printed.
    """
    named = {"title": title, "publisher": publisher, "licence": licence}
    for name, value in named.items():
        if len(value) > _LONGEST_NAME or not value.isprintable() or (name == "title" and not value):
            remedy = f"use 1 to {_LONGEST_NAME} printable characters"
            raise wrong(name, "cannot be used", remedy, value=value)
    if os.path.lexists(folder) and (
        not folder.is_dir() or any(one.name != ".git" for one in folder.iterdir())
    ):
        raise input_error(folder, "is not empty", "choose a new folder")
    with named_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, template in _FILES.items():
            text = resource("data", "board", *template.split("/")).read_text(encoding="utf-8")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = _filled(text, named, quoted=name == SETTINGS)
            path.write_text(text, encoding="utf-8", newline="\n")
        copy_benchmarks({one.name: one for one in benchmarks}, folder / BENCHMARKS)
        for name in (ACCEPTED, SUBMITTED, BENCHMARKS):
            (folder / name).mkdir(exist_ok=True)
            # Git does not store an empty folder.
            (folder / name / ".gitkeep").touch()
    return sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    )


def _filled(template: str, named: Mapping[str, str], *, quoted: bool) -> str:
    """Fill a template with the names of a board, for TOML in quotation marks."""
    # A JSON text is a TOML text.
    given = {key: json.dumps(v, ensure_ascii=False) if quoted else v for key, v in named.items()}
    words = {"version": __version__, **given}
    return re.sub(r"\{(title|publisher|licence|version)\}", lambda m: words[m[1]], template)


def create_submission(
    answers: Paths, out: Path, facts: Mapping[str, Any], ask: Callable[[str], Any] | None = None
) -> list[str]:
    """Write a submission's folder: the answers, and a declaration to complete.

    `facts` are values of the declaration. Others are read from the answers if possible, or come
    from `ask`. The copied answers state the snapshot. The keys that are still empty are returned.

    Raises
    ------
    InputError
        If the answers have a problem or are of several models, or the folder exists. Then no file
        is written.
    """
    if os.path.lexists(out):
        raise input_error(out, "already exists", "choose another folder")
    refuse_name(out)
    frame = read_answers(answers)
    models = sorted(frame["model"].unique())
    if len(models) > 1:
        remedy = "create one submission per model"
        raise input_error("<answers>", f"are of {len(models)} models", remedy, value=models[1])
    values = declared_facts(frame)
    for key, value in facts.items():
        values[key] = values[key] | value if key in ("settings", "prompts") else value
    if ask is not None:
        for key in empty_keys(values):
            if key in KEYS and key != "files":
                values[key] = ask(key)
    if (snapshot := values.get("snapshot")) and snapshot != NOT_KNOWN:
        # A board judges by the snapshots of answers: one that selected the items has no rank.
        given = frame.get("snapshot", pd.Series(None, frame.index, dtype="str"))
        if given.nunique() < 2:
            frame = frame.assign(snapshot=given.fillna(snapshot))
    with unfinished_folder(out) as building, named_errors(building):
        building.mkdir(parents=True)
        paths = write_answer_sets(frame, building)
        if retrieved := retrieval_files(answers):
            lists = read_retrievals(retrieved)[list(RETRIEVAL_COLUMNS)]
            paths.append(write_retrievals(lists, building / f"used{RETRIEVALS_SUFFIX}"))
        values["files"] = {path.name: file_sha256(path) for path in paths}
        (building / SUBMISSION_FILE).write_text(declaration_text(values), encoding="utf-8")
        building.rename(out)
    return empty_keys(values)


def accept_submission(
    folder: Path,
    board: Path,
    *,
    by: str,
    overrule: str = "",
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> tuple[Path, SubmissionCheck]:
    """Check a submission, and move it to the accepted ones with a record of who accepted it.

    `overrule` is why it is accepted although screening blocks it. It is published, and so is
    who accepts it. `benchmarks` are those that are neither built in nor in the board's folder.

    Raises
    ------
    InputError
        If the submission has a problem. If screening blocks it and there is no reason to overrule
        that, or the other way round. If the board has answers of the same answer set, or a
        submission of this name. Then nothing is changed.
    """
    refuse_name(folder)
    if not (board / ACCEPTED).is_dir():
        remedy = "give a folder made by `fairstats site init`"
        raise input_error(board, f"has no folder {ACCEPTED}", remedy)
    for one in (board / ACCEPTED, board / SUBMITTED):
        if one.is_symlink():
            raise input_error(one, "is a link", "restore the folder")
    target = board / ACCEPTED / folder.name
    if _is_accepted(folder, target):
        raise input_error(folder, f"is accepted already, as {target}", "remove this folder")
    found = check_submission(folder, **board_arguments(board, benchmarks))
    submission = found.submission
    if found.problems or submission is None or found.preview is None:
        raise InputError(found.problems)
    _refuse_overruled(found, overrule)
    remedy = f"remove the older submission from {target.parent} if this one replaces it"
    refuse(
        Problem(str(folder), "has answers that the board already has", remedy, value=name)
        for name in found.preview.replaced
    )
    flags = found.screening["flag"].value_counts()
    record = acceptance_of(
        f"{parameter('by')} and {parameter('overrule')}",
        accepted_by=by,
        accepted_at=datetime.now(UTC).replace(microsecond=0),
        fairstats=__version__,
        submission_sha256=submission.source.sha256,
        look=int(flags.get("look", 0)),
        block=int(flags.get("block", 0)),
        overruled=overrule,
    )
    with unfinished_folder(board / folder.name) as building, named_errors(building), locked(board):
        building.mkdir()
        # The bytes that were checked, even if a file has changed since.
        for file in (submission.source, *submission.files):
            (building / file.path.name).write_bytes(file.content)
        (building / ACCEPTANCE_FILE).write_text(acceptance_text(record), encoding="utf-8")
        building.rename(target)
        # With the lock: another acceptance removes what it finds unfinished.
        if folder.resolve().parent == (board / SUBMITTED).resolve():
            # Renamed first, so that a process that is killed leaves no part of a submission.
            folder.rename(building)
            shutil.rmtree(building)
    return target, found


def _is_accepted(folder: Path, target: Path) -> bool:
    """Return whether a call that was stopped before the end has accepted this very submission."""
    files = [one / SUBMISSION_FILE for one in (folder, target)]
    if not (target / ACCEPTANCE_FILE).is_file() or not all(map(Path.is_file, files)):
        return False
    return file_sha256(files[0]) == file_sha256(files[1])


def _refuse_overruled(found: SubmissionCheck, overrule: str) -> None:
    """Require a reason exactly if screening blocks the submission."""
    blocked = found.screening[found.screening["flag"] == "block"]
    if len(blocked) and not overrule.strip():
        reason = keyword("overrule")
        remedy = f"ask the submitter; to accept it nevertheless, give the reason with {reason}"
        refuse(
            Problem(
                str(found.path),
                f"is blocked by screening: {row['note']}",
                remedy,
                column=row["check"],
            )
            for row in blocked.to_dict("records")
        )
    if overrule and blocked.empty:
        raise wrong("overrule", "screening does not block this submission", "leave it out")


def board_arguments(
    board: Path, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> dict[str, Any]:
    """Return the arguments of `check_submission` for a submission to a board."""
    return {
        "present": present_answers(board),
        "benchmarks": board_benchmarks(board, benchmarks),
        "accepted": [one.name for one in (board / ACCEPTED).glob("*")],
        "submitters": submitters_of(board),
        "retrievals": retrieval_files(board / ACCEPTED),
    }


def present_answers(board: Path) -> pd.DataFrame | None:
    """Return the accepted answers of a board; None if there are none."""
    accepted = board / ACCEPTED
    names = [one.name for one in accepted.rglob("*")]
    if not any(n.lower().endswith(SUFFIXES) and not n.endswith(NO_ANSWERS) for n in names):
        return None
    return read_answers(accepted)


def submitters_of(board: Path) -> dict[str, list[str]]:
    """Return who submitted each model of a board, as the accepted submissions declare."""
    found: dict[str, list[str]] = {}
    for path in sorted((board / ACCEPTED).glob(f"*/{SUBMISSION_FILE}")):
        declared = parse_declaration(read_toml(path), path)
        found.setdefault(declared.model, []).append(declared.submitter)
    return {model: sorted(set(names)) for model, names in found.items()}


def board_benchmarks(
    board: Path, more: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> dict[str, Benchmark]:
    """Return the benchmarks in a board's folder by name, and these."""
    own = [load_benchmark(path) for path in sorted((board / BENCHMARKS).glob("*.toml"))]
    return {one.name: one for one in own} | dict(by_name(more))
