"""The table of a release on who sent in which answers, one row per answer set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.untrusted_files import FileBytes
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.files import read_answer_file
from fairstats.submissions.declaration import Setting
from fairstats.submissions.folder import Submission

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
_SETTINGS = TypeAdapter(dict[str, Setting])
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
                    _SETTINGS.validate_json(value)
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
