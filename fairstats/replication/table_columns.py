"""Read a table of published figures: which column is which, and each row's figures."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import SPLIT, read_once
from fairstats._lib.untrusted_tables import csv_header, load_csv, repeated_columns
from fairstats.replication.printed_figures import METRICS, SHARES, Figure, read_figure

#: Limits of a table, since each row is a search.
MAX_ROWS, MAX_FILE_BYTES, MAX_PAIRS = 1_000, 2**20, 20_000
IGNORE, N = "ignore", "n"
#: Other names of columns, in lower case without punctuation.
_ALSO_CALLED = {
    "acc_a": "accuracy_a",
    "acc_b": "accuracy_b",
    "accuracy_disparity": "ad",
    "difference": "accuracy_difference",
    "acc_difference": "accuracy_difference",
    "h": "cohens_h",
    "cohen_h": "cohens_h",
    "p_value": "p",
    "mcnemar": "p",
    "mcnemar_p": "p",
    "or": "odds_ratio",
}
_PERCENT = ("_percent", "_pct")


@dataclass(frozen=True)
class PrintedRow:
    """A row of a published table.

    Attributes
    ----------
    row : int
        The row, from 1.
    cells : mapping of str to str
        Its cells in columns that are not figures.
    figures : mapping of str to Figure
        Its figures by metric.
    n : int
        The number of pairs.
    signed_h : bool
        Whether a cell of the table's column of h has a minus sign.
    """

    row: int
    cells: Mapping[str, str]
    figures: Mapping[str, Figure]
    n: int
    signed_h: bool = False


def read_rows(
    table: str | os.PathLike[str] | pd.DataFrame, *, n: int | None, columns: Mapping[str, str]
) -> list[PrintedRow]:
    """Read the rows of a published table, see `fairstats.check_table`.

    Raises
    ------
    InputError
        As `fairstats.check_table`.
    """
    name, frame = _loaded(table)
    metrics = _metrics(frame, columns, name)
    rows, problems = [], []
    for number, cells in enumerate(frame.to_dict("records"), start=1):
        row, wrong = _row(number, cells, metrics, n, name)
        rows.append(row)
        problems += wrong
    if problems:
        raise InputError(problems)
    # A column of h has one convention: if a cell has a minus sign, signs are part of the figures.
    if any("cohens_h" in row.figures and row.figures["cohens_h"].signed for row in rows):
        rows = [replace(row, signed_h=True) for row in rows]
    return rows


def _loaded(table: str | os.PathLike[str] | pd.DataFrame) -> tuple[str, pd.DataFrame]:
    if isinstance(table, pd.DataFrame):
        name, frame = "<frame>", table
        problems = repeated_columns(map(str, frame.columns), name)
    else:
        file = read_once(table, MAX_FILE_BYTES)
        # Spreadsheets begin UTF-8 files with a byte order mark.
        name, frame = str(file), load_csv(file, encoding="utf-8-sig")
        problems = repeated_columns(csv_header(file, "utf-8-sig", ","), name)
    if not problems and frame.empty:
        problems = [Problem(name, "has no rows", "write one row per pair of groups")]
    if len(frame) > MAX_ROWS:
        problems = [Problem(name, f"has more than {MAX_ROWS:,} rows", SPLIT)]
    if problems:
        raise InputError(problems)
    return name, frame


def _metrics(
    frame: pd.DataFrame, columns: Mapping[str, str], name: str
) -> dict[str, tuple[str, bool]]:
    """Return the metric of each column with figures or n, and whether it has percentages."""
    known = f"use one of: {', '.join((*METRICS, N, IGNORE))}"
    names = f"use one of: {', '.join(map(str, frame))}"
    metrics: dict[str, tuple[str, bool]] = {}
    problems = [
        Problem(name, "there is no such column", names, column=key)
        for key in columns
        if key not in frame
    ]
    for column in map(str, frame):
        found = _metric(columns.get(column, column))
        if column in columns and found is None:
            message = f"{columns[column]!r} is not a figure that can be checked"
            problems.append(Problem(name, message, known, column=column))
        elif found is not None and found[0] != IGNORE:
            twin = next((key for key, other in metrics.items() if other[0] == found[0]), None)
            if twin is not None:
                message = f"is {found[0]}, as the column {twin} is"
                remedy = (
                    f"add --column {column}={IGNORE}, in Python columns={{{column!r}: {IGNORE!r}}}"
                )
                problems.append(Problem(name, message, remedy, column=column))
            metrics[column] = found
    if not problems and not {metric for metric, _ in metrics.values()} - {N}:
        message = f"has no column of figures (its columns: {', '.join(map(str, frame))})"
        remedy = f"name columns {', '.join(METRICS)}, or add --column NAME=METRIC"
        problems.append(Problem(name, message, remedy))
    if problems:
        raise InputError(problems)
    return metrics


def _metric(name: str) -> tuple[str, bool] | None:
    """Return the metric of a column's name, and whether it has percentages.

    Examples
    --------
    >>> _metric("Cohen's h"), _metric("CFR (%)"), _metric("model")
    (('cohens_h', False), ('cfr', True), None)
    """
    plain = re.sub(r"['’]", "", name.casefold()).replace("%", " percent ")
    plain = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    ending = next((end for end in _PERCENT if plain.endswith(end)), "")
    plain = plain.removesuffix(ending)
    metric = _ALSO_CALLED.get(plain, plain)
    if metric not in (SHARES if ending else (*METRICS, N, IGNORE)):
        return None
    return metric, bool(ending)


def _row(
    number: int,
    cells: Mapping[Hashable, Any],
    metrics: Mapping[str, tuple[str, bool]],
    n: int | None,
    name: str,
) -> tuple[PrintedRow, list[Problem]]:
    figures: dict[str, Figure] = {}
    problems = []
    other = {}
    for column, cell in ((str(key), cell) for key, cell in cells.items()):
        metric, percent = metrics.get(column, (IGNORE, False))
        text = "" if pd.isna(cell) else str(cell).strip()
        if metric == IGNORE:
            other[column] = text
            continue
        try:
            if text and metric == N:
                n = _pairs(text)
            elif text and not isinstance(cell, str):
                raise ValueError(_NOT_TEXT)
            elif text:
                figures[metric] = read_figure(metric, text, percent=percent)
        except ValueError as error:
            message, _, remedy = str(error).partition("; ")
            problems.append(Problem(name, message, remedy, row=number, column=column, value=text))
    if not problems and not figures:
        remedy = "write at least one figure, or remove the row"
        problems.append(Problem(name, "has no figure", remedy, row=number))
    if not problems and n is None:
        remedy = "add --n, in Python n=, or a column n"
        problems.append(Problem(name, "has no number of pairs", remedy, row=number))
    return PrintedRow(number, other, figures, n or 0), problems


_NOT_TEXT = (
    "is a number, so its decimals are not known; give the column as text, e.g. "
    "pd.read_csv(..., dtype=str)"
)


def _pairs(text: str) -> int:
    """Return a number of pairs.

    Raises
    ------
    ValueError
        If it is not a whole number from 1 to `MAX_PAIRS`.
    """
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MAX_PAIRS:
        raise ValueError(
            f"is not a number of pairs; write a whole number from 1 to {MAX_PAIRS}, e.g. 801"
        )
    return int(text)
