"""A submission's folder, the record of its acceptance, and the table of a release with both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fairstats._lib.model_names import snapshots_in
from fairstats._lib.problems import InputError, Problem, collected, input_error, refuse
from fairstats._lib.safe_names import is_portable, text_sha256
from fairstats._lib.toml_files import read_toml
from fairstats._lib.untrusted_files import FileBytes, read_once
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.files import NO_ANSWERS, RETRIEVALS_SUFFIX, SUFFIXES, read_answer_file
from fairstats.benchmarks.benchmark_files import toml_text
from fairstats.submissions.declaration import (
    NOT_KNOWN,
    SUBMISSION_FILE,
    Declaration,
    Line,
    Setting,
    Sha256,
    parse_declaration,
    printable_only,
)

ACCEPTANCE_FILE = "acceptance.toml"
#: Columns whose values must be the declared setting of this name; one of the seeds suffices.
_SETTINGS = ("temperature", "max_tokens", "seed")
_LONGEST_NAME = 60
_CREATE = "create the submission again with `fairstats submission init`"


class Acceptance(BaseModel):
    """The record of who accepted a submission, and what its screening found."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    accepted_by: Line
    accepted_at: datetime
    fairstats: Line
    #: The sha256 of the declaration, which has the hashes of the answers.
    submission_sha256: Sha256
    #: Numbers of checks with these flags.
    look: Annotated[int, Field(ge=0)]
    block: Annotated[int, Field(ge=0)]
    #: Why a submission that screening blocks was accepted; empty if it was not blocked.
    overruled: Annotated[str, Field(max_length=500), AfterValidator(printable_only)]


@dataclass(frozen=True)
class Submission:
    """Hold a submission whose files are the declared ones.

    Attributes
    ----------
    path : Path
        Its folder.
    declaration : Declaration
        What the submitter declares.
    source : FileBytes
        The declaration's file.
    files : tuple of FileBytes
        The declared files, each read once: answers, and retrievals if they were used.
    acceptance : Acceptance or None
        The record of its acceptance; None before.
    """

    path: Path
    declaration: Declaration
    source: FileBytes
    files: tuple[FileBytes, ...]
    acceptance: Acceptance | None = None

    @property
    def answer_files(self) -> tuple[FileBytes, ...]:
        """Return the files of answers."""
        return tuple(one for one in self.files if not str(one).endswith(RETRIEVALS_SUFFIX))

    @property
    def retrieval_files(self) -> tuple[FileBytes, ...]:
        """Return the files of retrievals."""
        return tuple(one for one in self.files if str(one).endswith(RETRIEVALS_SUFFIX))


def read_submission(path: Path) -> Submission:
    """Read a submission's folder and check its hashes.

    Raises
    ------
    InputError
        If the declaration is missing or invalid. If a file was changed, is missing, is not
        declared, or is a link. If a system could not store the names of the folder and its files.
        If the record of the acceptance is about another declaration.
    """
    if not path.is_dir() or path.is_symlink():
        remedy = f"give a folder with a file {SUBMISSION_FILE}"
        raise input_error(path, "is not the folder of a submission", remedy)
    folder = path.absolute()
    refuse_name(folder)
    inside = {one.name: one for one in sorted(path.iterdir())}
    problems = [
        Problem(str(one), f"differs from {other.name} only by case", "rename one of them")
        for one, others in ((folder, folder.parent), *((one, path) for one in inside.values()))
        for other in others.iterdir()
        if other.name != one.name and other.name.casefold() == one.name.casefold()
    ]
    for one in inside.values():
        if one.is_symlink() or not one.is_file():
            remedy = "remove it, or copy the file it points to"
            problems.append(Problem(str(one), "is not a regular file", remedy))
        if not is_portable(one.name):
            message = "has a name that not every system can store"
            remedy = "use letters, digits, dots, hyphens and underscores"
            problems.append(Problem(str(one), message, remedy))
    refuse(problems)
    source = read_once(path / SUBMISSION_FILE, 1 << 20)
    declaration = parse_declaration(read_toml(source), source.path)
    files = []
    for name, sha256 in declaration.files.items():
        other = name.endswith(NO_ANSWERS) and not name.endswith(RETRIEVALS_SUFFIX)
        if other or Path(name).suffix not in SUFFIXES:
            ends = ", ".join((*SUFFIXES, RETRIEVALS_SUFFIX))
            remedy = f"declare only answers and retrievals, which end in {ends}"
            problems.append(
                Problem(str(source), "is not a file of answers", remedy, column="files", value=name)
            )
        elif name not in inside:
            # The name is looked up, never opened: it may be a path to elsewhere.
            problems.append(
                Problem(
                    str(source), "no such file in this folder", _CREATE, column="files", value=name
                )
            )
        else:
            files.append(read_once(inside[name]))
            if files[-1].sha256 != sha256:
                message = f"differs from its sha256 in {SUBMISSION_FILE}"
                problems.append(Problem(str(inside[name]), message, _CREATE))
    extra = set(inside) - {SUBMISSION_FILE, ACCEPTANCE_FILE} - set(declaration.files)
    problems += [
        Problem(
            str(inside[name]), f"is not declared in {SUBMISSION_FILE}", f"remove it, or {_CREATE}"
        )
        for name in sorted(extra)
    ]
    if all(name.endswith(RETRIEVALS_SUFFIX) for name in declaration.files):
        message = "declares no file of answers"
        problems.append(Problem(str(source), message, _CREATE, column="files"))
    refuse(problems)
    acceptance = None
    if ACCEPTANCE_FILE in inside:
        acceptance = _read_acceptance(inside[ACCEPTANCE_FILE], source.sha256)
    return Submission(path, declaration, source, tuple(files), acceptance)


def refuse_name(path: Path) -> None:
    """Raise a problem unless this can be the folder of a submission on every system."""
    if not is_portable(path.name, _LONGEST_NAME):
        message = "is not a valid name of a submission"
        remedy = f"use up to {_LONGEST_NAME} letters, digits, dots, hyphens and underscores"
        raise input_error(path, message, remedy)


def _read_acceptance(path: Path, sha256: str) -> Acceptance:
    found = acceptance_of(str(path), **read_toml(path))
    if found.submission_sha256 != sha256:
        message = f"is about another {SUBMISSION_FILE}, which was changed after it was accepted"
        remedy = "restore the accepted file, or check and accept the submission again"
        raise input_error(path, message, remedy)
    return found


def acceptance_of(path: str, **values: Any) -> Acceptance:
    """Return a record with these values, or raise their problems, at `path`."""
    try:
        return Acceptance(**values)
    except ValidationError as error:
        remedy = "accept the submission again with `fairstats submission accept`"
        raise InputError(
            [
                Problem(path, one["msg"], remedy, column=".".join(map(str, one["loc"])))
                for one in error.errors()
            ]
        ) from None


def declared_facts(answers: pd.DataFrame) -> dict[str, Any]:
    """Return the values of a declaration that can be read from answers."""
    facts: dict[str, Any] = {"settings": {}, "prompts": prompts_of(answers)}
    if len(models := _values(answers, "model")) == 1:
        facts["model"] = str(models[0])
    # A provider can update a model during a run.
    if snapshots := _values(answers, "snapshot"):
        facts["snapshot"] = ", ".join(sorted(snapshots))
    days = _days(answers)
    if days is not None:
        facts |= {"started": days[0].date(), "ended": days[1].date()}
    for column in _SETTINGS:
        values = _values(answers, column)
        if len(values) == 1:
            facts["settings"][column] = values[0].item()
    return facts


def prompts_of(answers: pd.DataFrame) -> dict[str, str]:
    """Return the sha256 of the prompts of each strategy; empty texts if they are not recorded.

    It is the sha256 of the sorted lines "item, attribute, group and sha256 of the prompt".
    """
    found = {}
    for strategy, rows in answers.groupby("strategy", sort=True):
        hashes = rows.get("prompt_sha256")
        if hashes is None or hashes.isna().any():
            found[str(strategy)] = ""
            continue
        columns = ["item_id", "attribute", "group", "prompt_sha256"]
        lines = sorted(set(rows[columns].agg("\t".join, axis=1)))
        found[str(strategy)] = text_sha256("\n".join(lines))
    return found


def mismatches(submission: Submission, answers: pd.DataFrame) -> list[Problem]:
    """Report declared values that the answers contradict."""
    declared, path = submission.declaration, str(submission.path / SUBMISSION_FILE)
    problems = []

    def differs(key: str, value: object, there: object) -> None:
        message = f"but the answers have {there}"
        problems.append(Problem(path, message, "correct one of them", column=key, value=str(value)))

    names = {"model": [declared.model], "snapshot": [declared.snapshot]}
    names["snapshot"] += snapshots_in(declared.snapshot)
    for key, known in names.items():
        for value in _values(answers, key):
            if value not in known:
                differs(key, known[0], repr(value))
    answered = answers[answers["answer"].notna()]
    stated = answered["snapshot"].notna().all() if "snapshot" in answered else False
    if declared.snapshot != NOT_KNOWN and not stated:
        message, remedy = "but the answers do not state it", f"{_CREATE} and --snapshot"
        problems.append(Problem(path, message, remedy, column="snapshot", value=declared.snapshot))
    for key in _SETTINGS:
        told, values = declared.settings.get(key), _values(answers, key)
        others = [value for value in values if value != told]
        # Each sample may have another seed.
        if told is not None and others and not (key == "seed" and told in values):
            differs(f"settings.{key}", told, others[0])
    prompts = prompts_of(answers)
    if set(prompts) != set(declared.prompts):
        differs("prompts", ", ".join(declared.prompts), f"the strategies {', '.join(prompts)}")
    for strategy, sha256 in prompts.items():
        told = declared.prompts.get(strategy)
        if sha256 and told is not None and told != sha256:
            differs(f"prompts.{strategy}", told, sha256)
    days = _days(answers)
    if days is not None:
        for key, outside in (("started", days[0]), ("ended", days[1])):
            day = getattr(declared, key)
            # In any time zone, the day is at most one away.
            if (outside.date() - day).days * (1 if key == "ended" else -1) > 1:
                differs(key, day, f"answers of {outside.date()}")
    return problems


def is_submission(folder: Path) -> bool:
    """Return whether a folder has a declaration or a record of acceptance, in any capitals."""
    names = {path.name.casefold() for path in folder.iterdir()}
    return bool(names & {SUBMISSION_FILE, ACCEPTANCE_FILE})


def accepted_submissions(files: Mapping[Path, FileBytes]) -> list[Submission]:
    """Return the submissions that files of answers belong to.

    Files in a folder without a declaration and a record of acceptance belong to none.

    Raises
    ------
    InputError
        As `read_submission`. If a submission was not accepted, or one of its files is left out or
        was changed since it was read.
    """
    folders = sorted({path.parent for path in files if is_submission(path.parent)})
    found: list[Submission] = []
    problems: list[Problem] = []
    read = {(path.parent, path.name): file.sha256 for path, file in files.items()}
    for folder in folders:
        with collected(problems):
            # Some systems would open a file with other capitals.
            if SUBMISSION_FILE not in {path.name for path in folder.iterdir()}:
                raise input_error(
                    folder, f"has no {SUBMISSION_FILE}", "restore the accepted folder"
                )
            submission = read_submission(folder)
            if submission.acceptance is None:
                remedy = "check it, then run `fairstats submission accept`"
                problems.append(Problem(str(folder), "was not accepted", remedy))
            for name, sha256 in submission.declaration.files.items():
                if read.get((folder, name)) != sha256:
                    message = "is part of the submission, but is left out or was changed"
                    remedy = "publish the whole folder"
                    problems.append(Problem(str(folder / name), message, remedy))
            found.append(submission)
    refuse(problems)
    return found


def acceptance_text(acceptance: Acceptance) -> str:
    """Return the content of the record of an acceptance."""
    about = "# Written by `fairstats submission accept`. It holds for this submission.toml only."
    return f"{about}\n\n{toml_text(acceptance.model_dump())}"


def _values(answers: pd.DataFrame, column: str) -> list[Any]:
    return list(answers[column].dropna().unique()) if column in answers else []


def _days(answers: pd.DataFrame) -> tuple[pd.Timestamp, pd.Timestamp] | None:
    """Return the times of the first and last answer, in UTC."""
    times = pd.to_datetime(_values(answers, "collected_at"), utc=True, format="ISO8601")
    return (times.min(), times.max()) if len(times) else None


_DECLARED = (
    "snapshot",
    "provider",
    "started",
    "ended",
    "attempts",
    "chosen_by",
    "submitter",
    "conflicts",
    "training_data",
    "settings",
    "prompt_sha256",
)
_ACCEPTED = ("accepted_by", "accepted_at", "overruled", "submission_sha256")
#: Columns of the table, in order. Texts are as declared; ``settings`` is JSON.
SUBMISSION_COLUMNS = (*UNIT_COLUMNS, *_DECLARED, *_ACCEPTED)
_DTYPES = dict.fromkeys(SUBMISSION_COLUMNS, "str") | {"attempts": "int64"}
_SETTING_VALUES = TypeAdapter(dict[str, Setting])
_LONGEST = 10_000
_TAKE_AGAIN = "download the release again from where it was published"


def no_submissions() -> pd.DataFrame:
    """Return the table without rows."""
    return pd.DataFrame(columns=list(SUBMISSION_COLUMNS)).astype(_DTYPES)


def submission_records(submissions: Iterable[Submission]) -> pd.DataFrame:
    """Return one row per answer set of accepted submissions, with `SUBMISSION_COLUMNS`."""
    rows = [row for one in submissions for row in _rows(one)]
    if not rows:
        return no_submissions()
    table = pd.DataFrame(rows, columns=list(SUBMISSION_COLUMNS)).astype(_DTYPES)
    return table.sort_values(list(UNIT_COLUMNS), ignore_index=True)


def _rows(submission: Submission) -> Iterable[Mapping[str, object]]:
    declared, accepted = submission.declaration, submission.acceptance
    if accepted is None:
        raise ValueError(f"{submission.path} was not accepted")
    facts = declared.model_dump(exclude={"model", "prompts", "files"}) | {
        "started": declared.started.isoformat(),
        "ended": declared.ended.isoformat(),
        "settings": json.dumps(
            declared.settings, ensure_ascii=False, sort_keys=True, allow_nan=False
        ),
        "accepted_by": accepted.accepted_by,
        "accepted_at": accepted.accepted_at.isoformat(),
        "overruled": accepted.overruled,
        "submission_sha256": submission.source.sha256,
    }
    for key in _answer_sets(submission.answer_files):
        unit = dict(zip(UNIT_COLUMNS, key, strict=True))
        yield unit | facts | {"prompt_sha256": declared.prompts[unit["strategy"]]}


def _answer_sets(files: Iterable[FileBytes]) -> list[tuple[str, ...]]:
    units = [read_answer_file(file)[list(UNIT_COLUMNS)].drop_duplicates() for file in files]
    return sorted(set(pd.concat(units).itertuples(index=False, name=None)))


def check_submissions(table: pd.DataFrame, answers: pd.DataFrame, *, path: str) -> pd.DataFrame:
    """Return the table of a release with its types, or raise its problems.

    Raises
    ------
    InputError
        For other columns, a text that is too long or cannot be printed, a number of attempts below
        1, an answer set that is not in the release or is listed twice, or invalid settings.
    """
    if list(table.columns) != list(SUBMISSION_COLUMNS):
        raise input_error(path, "does not have the columns of a table of submissions", _TAKE_AGAIN)
    problems = []

    def wrong(row: int, column: str, message: str) -> None:
        problems.append(Problem(path, message, _TAKE_AGAIN, row=row + 1, column=column))

    for column in SUBMISSION_COLUMNS:
        for row, value in enumerate(table[column]):
            if column == "attempts":
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    wrong(row, column, "is not a number of runs")
            elif not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
                wrong(row, column, "is not a printable text")
            elif column == "settings":
                try:
                    _SETTING_VALUES.validate_json(value)
                except ValidationError:
                    wrong(row, column, "is not a JSON object of texts and numbers")
    units = table[list(UNIT_COLUMNS)]
    known = set(answers[list(UNIT_COLUMNS)].drop_duplicates().itertuples(index=False, name=None))
    for row, key in enumerate(units.itertuples(index=False, name=None)):
        if key not in known:
            wrong(row, "model", "is not an answer set of this release")
    problems += [
        Problem(path, "is listed twice", _TAKE_AGAIN, row=int(row) + 1, column="model")
        for row in units.index[units.duplicated()]
    ]
    refuse(problems)
    return table.astype(_DTYPES)
