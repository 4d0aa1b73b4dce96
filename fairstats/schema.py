"""The answers table: one pandera schema, and checking a frame by it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import pandas as pd

from fairstats.problems import InputError, Problem

if TYPE_CHECKING:
    import pandera.pandas as pandera

#: The columns that name one answer; a table never holds two rows with the same values in them.
KEY_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "model",
    "strategy",
    "item_id",
    "attribute",
    "group",
    "sample",
)
REQUIRED_COLUMNS = (*KEY_COLUMNS, "answer", "answer_key", "status")
STATUSES = ("ok", "unparsed", "refused", "error")

# Names end up in page titles, file names and table cells: a cap keeps a hostile file from
# flooding them, and control characters have no business in a name.
_NAME_LENGTH = 200
_RAW_LENGTH = 1_000_000
_NAME_PATTERN = rf"^[^\x00-\x1f\x7f]{{1,{_NAME_LENGTH}}}$"


@cache
def answers_schema() -> pandera.DataFrameSchema:
    """The pandera schema of the answers table, the single definition of its columns.

    Returns
    -------
    pandera.pandas.DataFrameSchema
        Required and optional columns with their types and checks, the rule that an answer is
        there exactly where ``status`` is ``ok``, and the uniqueness of `KEY_COLUMNS`.

    Examples
    --------
    >>> sorted(name for name, column in answers_schema().columns.items() if not column.required)[:3]
    ['answer_raw', 'collected_at', 'collector']
    """
    import pandera.pandas as pa

    def name() -> pa.Column:
        return pa.Column(
            str,
            pa.Check.str_matches(
                _NAME_PATTERN,
                error=f"must be 1 to {_NAME_LENGTH} characters without control characters",
            ),
        )

    def letter(*, nullable: bool) -> pa.Column:
        check = pa.Check.str_matches("^[A-Z]$", error="must be one capital letter, A to Z")
        return pa.Column(str, check, nullable=nullable)

    def optional(dtype: str | type, *checks: pa.Check) -> pa.Column:
        return pa.Column(dtype, list(checks), nullable=True, required=False)

    not_negative = pa.Check.ge(0, error="must not be negative")
    raw = pa.Check.str_length(max_value=_RAW_LENGTH, error="is longer than 1,000,000 characters")
    short = pa.Check.str_matches(_NAME_PATTERN, error="must be 1 to 200 printable characters")
    return pa.DataFrameSchema(
        {
            **{column: name() for column in KEY_COLUMNS if column != "sample"},
            "sample": pa.Column("int64", not_negative),
            "answer": letter(nullable=True),
            "answer_key": letter(nullable=False),
            "status": pa.Column(
                str, pa.Check.isin(STATUSES, error=f"must be one of {', '.join(STATUSES)}")
            ),
            "snapshot": optional(str, short),
            "answer_raw": optional(str, raw),
            "prompt_sha256": optional(
                str, pa.Check.str_matches("^[0-9a-f]{64}$", error="must be 64 hexadecimal digits")
            ),
            "temperature": optional("float64", not_negative),
            "max_tokens": optional("Int64", not_negative),
            "seed": optional("Int64"),
            "latency_s": optional("float64", not_negative),
            "prompt_tokens": optional("Int64", not_negative),
            "completion_tokens": optional("Int64", not_negative),
            "collected_at": optional(
                str,
                pa.Check.str_matches(
                    r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$",
                    error="must be an ISO 8601 time with its offset",
                ),
            ),
            "collector": optional(str, short),
        },
        checks=pa.Check(
            lambda frame: frame["answer"].notna() == (frame["status"] == "ok"),
            name="status",
            error="an answer must be there exactly where status is 'ok'",
        ),
        unique=list(KEY_COLUMNS),
        report_duplicates="exclude_first",
        strict=True,
        coerce=True,
    )


def check_answers(answers: pd.DataFrame, *, path: str = "<frame>") -> pd.DataFrame:
    """Check a frame against the answers schema and give its columns their types.

    Parameters
    ----------
    answers : pandas.DataFrame
        The rows to check; not changed.
    path : str
        What to call the frame's file in problems.

    Returns
    -------
    pandas.DataFrame
        The same rows with the schema's types.

    Raises
    ------
    InputError
        With one `Problem` for each fault.
    """
    from pandera.errors import SchemaErrors

    frame = answers.reset_index(drop=True)
    problems = _column_problems(frame, path)
    if problems:
        raise InputError(problems)
    if frame.empty:
        raise InputError([Problem(path, "the table has no row", "collect or import it again")])
    numbered, problems = _to_numbers(frame, path)
    try:
        checked = answers_schema().validate(numbered, lazy=True)
    except SchemaErrors as error:
        problems += _schema_problems(error.failure_cases, frame, path)
    if problems:
        raise InputError(sorted(problems, key=lambda p: (p.row or 0, p.column or "")))
    return checked


def duplicate_problems(frames: Sequence[pd.DataFrame]) -> list[Problem]:
    """Answers that stand in more than one of `frames`, each of which is free of duplicates."""
    if len(frames) < 2:
        return []
    keys = pd.concat(
        [frame[list(KEY_COLUMNS)].assign(_file=number) for number, frame in enumerate(frames)]
    )
    repeated = keys[keys.duplicated(list(KEY_COLUMNS))]
    return [
        Problem(
            "<several files>",
            f"{len(rows)} answers stand in more than one of the files, first: {_key_text(rows)}",
            "leave one of the files out, or give its answers another model, strategy or sample",
        )
        for _, rows in repeated.groupby(["benchmark", "benchmark_version", "model", "strategy"])
    ]


def _key_text(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    return ", ".join(f"{column}={first[column]}" for column in KEY_COLUMNS)


def _column_problems(frame: pd.DataFrame, path: str) -> list[Problem]:
    known = list(answers_schema().columns)
    if not set(REQUIRED_COLUMNS) & set(frame.columns):
        found = ", ".join(map(str, frame.columns[:8]))
        remedy = "see `fairstats import --help` and `fairstats schema`"
        return [Problem(path, f"is no answers table; its columns are {found}", remedy)]
    problems = [
        Problem(path, "required column is missing", "add it (see `fairstats schema`)", column=name)
        for name in REQUIRED_COLUMNS
        if name not in frame.columns
    ]
    problems += [
        Problem(path, "unknown column", f"drop or rename it; known: {', '.join(known)}", column=c)
        for c in map(str, frame.columns)
        if c not in known
    ]
    return problems


def _to_numbers(frame: pd.DataFrame, path: str) -> tuple[pd.DataFrame, list[Problem]]:
    """Give number columns their type; a cell that is no number becomes a problem.

    Done ahead of pandera, which cannot run its other checks on a column with such a cell. The
    cells found here are filled with values that pass, so that the remaining faults are found too.
    """
    problems: list[Problem] = []
    columns: dict[str, pd.Series] = {}
    for name, column in answers_schema().columns.items():
        whole = str(column.dtype).lower() == "int64"
        if name not in frame.columns or not (whole or str(column.dtype) == "float64"):
            continue
        given = frame[name]
        # The nullable backend keeps integers exact beside nulls: a seed may exceed 2**53.
        numbers = pd.to_numeric(given, errors="coerce", dtype_backend="numpy_nullable")
        wrong = given.notna() & (numbers.isna() | numbers.isin([float("inf"), float("-inf")]))
        if whole:
            wrong |= (numbers % 1 != 0).fillna(False)
        kind = "whole number" if whole else "number"
        problems += [
            Problem(
                path, f"is not a {kind}", f"write a {kind}", row + 1, name, str(given.iloc[row])
            )
            for row in wrong.to_numpy(dtype=bool).nonzero()[0].tolist()
        ]
        # Distinct fillers: equal samples would look like the same answer given twice.
        filler = pd.Series(range(10**12, 10**12 + len(frame)), index=frame.index, dtype="Int64")
        numbers = numbers.mask(wrong, filler)
        columns[name] = numbers.astype("Int64") if whole else numbers.astype("float64")
    return frame.assign(**columns), problems


def _schema_problems(cases: pd.DataFrame, frame: pd.DataFrame, path: str) -> list[Problem]:
    """Say pandera's failure cases as problems, one a cell."""
    found: dict[tuple[int | None, str | None], Problem] = {}
    # Column checks first: what they find says more than the checks across columns.
    for case in sorted(cases.to_dict("records"), key=lambda c: c["schema_context"] != "Column"):
        row = None if pd.isna(case["index"]) else int(case["index"])
        check, column = str(case["check"]), str(case["column"])
        message, remedy = _explain(check)
        value = str(case["failure_case"])
        if row is not None:
            if check == "multiple_fields_uniqueness":
                column, value = "key", _key_text(frame.iloc[[row]])
            elif case["schema_context"] == "DataFrameSchema":
                column = "status"
                value = f"{frame.at[row, 'status']} with answer {frame.at[row, 'answer']}"
            else:
                value = str(frame.at[row, column])
        number = None if row is None else row + 1
        found.setdefault((number, column), Problem(path, message, remedy, number, column, value))
    return list(found.values())


def _explain(check: str) -> tuple[str, str]:
    if check == "multiple_fields_uniqueness":
        return "the same answer stands here a second time", "drop one, or number the samples"
    if check == "not_nullable":
        return "must not be empty", "fill it in"
    if check.startswith(("coerce_dtype", "dtype(")):
        return "has another type than the schema's", "see `fairstats schema`"
    return check, "correct the value"
