"""Sheets: the plain alternative to the form, a CSV file with one row per task."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from fairstats._lib.json_csv_records import encoding_of, importable_files, separator_of
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.table_text import table_csv
from fairstats._lib.untrusted_tables import not_csv, repeated_columns
from fairstats.ratings.collection.assignment_folder import HandedOut
from fairstats.ratings.collection.judgements import Entry, Judgement, checked_judgements
from fairstats.ratings.collection.texts import RESERVED, Shown, text_columns
from fairstats.ratings.files import SHEET_COLUMNS
from fairstats.ratings.rubrics import Question, Rubric

#: The file that lists the allowed values of a sheet.
VALUES = "values.csv"
_MAX_BYTES = 64 * 2**20
# This mark tells spreadsheets that the text is UTF-8.
_MARK = "\ufeff"


def sheet_text(rubric: Rubric, rater_id: str, assignment: str, handed: Mapping[str, Shown]) -> str:
    """Return a rater's sheet: the texts, one empty column per dimension, and one for a comment."""
    empty = dict.fromkeys((*rubric.dimensions, "comment"))
    rows = [
        {
            "assignment": assignment,
            "rater_id": rater_id,
            "task_id": task_id,
            **texts.columns(),
            **empty,
        }
        for task_id, texts in handed.items()
    ]
    return _MARK + table_csv(pd.DataFrame(rows))


def values_text(rubric: Rubric) -> str:
    """Return the allowed values of a sheet's columns, for raters to read."""
    rows = [
        {
            "dimension": question.dimension,
            "value": choice.value,
            "meaning": choice.label,
            "question": question.question,
            "asked": _asked(question),
        }
        for question in rubric.questions
        for choice in question.choices
    ]
    return _MARK + table_csv(pd.DataFrame(rows))


def _asked(question: Question) -> str:
    if question.asked_if is None:
        return "always"
    other, values = question.asked_if
    return f"only if {other} is {' or '.join(values)}; if not, leave it empty"


def read_sheet(path: Path, handed_out: HandedOut) -> list[Judgement]:
    """Return the judgements of a filled sheet; rows without values are left out.

    Raises
    ------
    InputError
        With a problem for each row that belongs to another assignment or rater, is partly filled,
        or has a value unknown to the rubric.
    """
    (path,) = importable_files(path, None, (".csv",), _MAX_BYTES)
    header, rows = _rows(path)
    dimensions = handed_out.rubric.dimensions
    if not {*SHEET_COLUMNS} & {*header}:
        message = f"is not a sheet: it needs the columns {', '.join(SHEET_COLUMNS)}"
        raise InputError([Problem(str(path), message, "remove it")])
    problems = [
        Problem(str(path), "the column is missing", "use the sheet of the assignment", column=name)
        for name in (*SHEET_COLUMNS, *dimensions, "comment")
        if name not in header
    ] + [
        Problem(str(path), "unknown column", "delete it, or use the comment column", column=name)
        for name in header
        if name not in (*RESERVED, *text_columns(handed_out.rubric), *dimensions)
    ]
    if problems:
        raise InputError(problems)
    entries = (
        Entry(
            number,
            row["assignment"],
            row["rater_id"],
            row["task_id"],
            given={dimension: row[dimension] for dimension in dimensions},
            comment=row["comment"],
        )
        for number, row in rows
        if any(row.values())
    )
    return checked_judgements(handed_out, path, entries)


def _rows(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the header and the numbered rows; in many countries, spreadsheets write semicolons."""
    try:
        with path.open(encoding=encoding_of(path), newline="") as file:
            lines = list(csv.reader(file, delimiter=separator_of(file), strict=True))
    except (UnicodeError, csv.Error) as error:
        raise InputError([not_csv(path, error)]) from None
    if not lines:
        raise InputError([Problem(str(path), "the file is empty", "remove it")])
    header = [name.strip().lstrip("\ufeff") for name in lines[0]]
    while header and not header[-1]:
        header.pop()
    problems = repeated_columns(header, str(path)) + [
        Problem(
            str(path),
            "has more cells than the header",
            "use the sheet with its original columns",
            row=number,
        )
        for number, cells in enumerate(lines[1:], start=1)
        if any(cell.strip() for cell in cells[len(header) :])
    ]
    if problems:
        raise InputError(problems)
    rows = []
    for number, cells in enumerate(lines[1:], start=1):
        filled = [cell.strip() for cell in cells] + [""] * (len(header) - len(cells))
        rows.append((number, dict(zip(header, filled, strict=False))))
    return header, rows
