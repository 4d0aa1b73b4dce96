"""The ratings that EquityMedQA's authors released: a workbook of three sheets, or three CSVs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.problems import Problem, refuse
from fairstats._lib.records import importable_files
from fairstats.ratings.collection.import_tables import COMMENT_COLUMNS, Imported, Sheet, read_sheets
from fairstats.ratings.table import check_ratings

_YES, _NO = ("true", "1", "yes", "1.0"), ("false", "0", "no", "0.0")


@dataclass
class Reading:
    """Collect the results and problems while sheets are read."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counted: Counter[tuple[str, ...]] = field(default_factory=Counter)


@dataclass(frozen=True)
class Cell:
    """Hold a row of a sheet and its position, for reporting problems in its cells."""

    sheet: Sheet
    number: int
    row: Mapping[str, Any]
    reading: Reading

    def wrong(self, column: str, value: str, remedy: str, message: str = "cannot be read") -> None:
        path, number = self.sheet.path, self.number
        name = self.sheet.columns.get(column, column)
        message = message if value else "must not be empty"
        self.reading.problems.append(
            Problem(path, message, remedy, row=number, column=name, value=value)
        )

    def text(self, column: str) -> str:
        return cell_text(self.row.get(column)) or ""


def word(said: bool | None, yes: str, no: str) -> str | None:
    """Return a flag as a value of the rubric."""
    return None if said is None else yes if said else no


def flag(cell: Cell, name: str, *, first_word: bool = False) -> bool | None:
    """Read a yes-or-no cell; return None if it is empty or neither."""
    text = cell.text(name)
    if not text:
        return None
    said = text.casefold()
    if first_word:
        said = re.split(r"[^a-z0-9.]", said)[0]
    if said in _YES or said in _NO:
        return said in _YES
    cell.wrong(name, text, "write true or false, or leave it empty")
    return None


def cell_text(value: Any) -> str | None:
    """Return a cell as text: a whole number without decimals, an empty cell as None."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split()) or None


BENCHMARK = "equitymedqa"
#: The columns of bias, by a part of their names: one sheet uses a plural, the others do not.
_DIMENSIONS = {
    "inaccuracy": "inaccuracy",
    "not_inclusive": "inclusion",
    "stereotyp": "stereotypes",
    "omits_systemic": "structural_explanation",
    "failure_to_challenge": "biased_premise",
    "disproportionate": "withholding",
    "other_bias": "other",
}
_GROUPS = {
    "physician": "physician",
    "health equity expert": "health_equity_expert",
    "equity expert": "health_equity_expert",
    "consumer": "consumer",
}
_MODELS = ("Med-PaLM", "Med-PaLM 2")
_MORE_BIAS = ("med_palm_answer_more_bias", "med_palm_2_answer_more_bias")
_MODEL_COLUMNS = ("model", "model_name", "answer_source", "source", "answer_model")
#: Parts of unknown names to search for: the dimension, and whether True means a difference.
_CONTEXT = {
    r"ideal.*(differ|dissimilar)": ("ideal_answers_differ", True),
    r"ideal.*(same|identical|equal)": ("ideal_answers_differ", False),
    r"content.*(differ|dissimilar)": ("contents_differ", True),
    r"content.*(same|identical|equal)": ("contents_differ", False),
}


def import_equitymedqa(paths: Sequence[Path]) -> Imported:
    """Read the released ratings.

    Parameters
    ----------
    paths : sequence of path
        ``equitymedqa_ratings.xlsx``, or the CSV files of its sheets. A table's sheet is recognised
        by its columns.

    Returns
    -------
    Imported
        A task is a question of a dataset (for counterfactual ratings two questions). If a rater
        judged it more than once, the repeats are numbered. The notes state the assumptions.

    Raises
    ------
    InputError
        If a file is not one of the three sheets, and for each unreadable cell: a missing rater, an
        unknown group, both answers with more bias, an invalid flag.
    """
    files = importable_files(paths, None, (".xlsx", ".csv"), 256 * 2**20)
    reading = Reading()
    for path in files:
        sheets = read_sheets(path)
        known = [(sheet, _kind(sheet)) for sheet in sheets]
        if not any(kind for _, kind in known):
            message = "has no sheet with the columns of EquityMedQA's ratings"
            remedy = "give equitymedqa_ratings.xlsx, or the CSV files of its three sheets"
            reading.problems.append(Problem(str(path), message, remedy))
        for sheet, kind in known:
            if kind is None:
                reading.notes.append(f"{sheet.path}: skipped, as it contains no ratings")
            else:
                _KINDS[kind](sheet, reading)
    refuse(reading.problems)
    frame = pd.DataFrame(reading.rows)
    _tell_groups_apart(frame, reading.notes)
    ratings = check_ratings(frame, path=", ".join(map(str, files)))
    return Imported(ratings, pd.DataFrame(columns=list(COMMENT_COLUMNS)), tuple(reading.notes))


def _kind(sheet: Sheet) -> str | None:
    if {"question_1_id", "question_2_id"} <= {*sheet.columns}:
        return "counterfactual"
    if "question_id" not in sheet.columns:
        return None
    if {*_MORE_BIAS} <= {*sheet.columns}:
        return "pairwise"
    return "independent" if "bias_presence" in sheet.columns else None


def _independent(sheet: Sheet, reading: Reading) -> None:
    column = next((name for name in _MODEL_COLUMNS if name in sheet.columns), None)
    if column is None:
        reading.notes.append(
            f"{sheet.path}: no column for the model, so it is left empty. Several ratings of a "
            "question by the same rater are numbered as repeats"
        )

    levels = {"no": "none", "none": "none", "minor": "minor", "severe": "severe"}
    for cell in _cells(sheet, reading, ("question_id",)):
        text = cell.text("bias_presence")
        bias = levels.get(text.casefold().split(" ")[0])
        if text and bias is None:
            cell.wrong("bias_presence", text, "write No bias, Minor bias or Severe bias")
        flags = _flags(cell, "present", "absent", asked=bias != "none")
        model = cell_text(cell.row[column]) if column else None
        _add(cell, "independent", [cell.text("question_id")], {"bias": bias} | flags, model=model)


def _pairwise(sheet: Sheet, reading: Reading) -> None:
    reading.notes.append(
        f"{sheet.path}: answer 1 is {_MODELS[0]}, answer 2 is {_MODELS[1]}. The side on which a "
        "rater saw them is unknown"
    )
    for cell in _cells(sheet, reading, ("question_id",)):
        more = [flag(cell, name) for name in _MORE_BIAS]
        if all(more):
            remedy = "mark at most one of the two answers as more biased"
            message = "is true for both answers"
            cell.wrong(_MORE_BIAS[0], str(cell.row[_MORE_BIAS[0]]), remedy, message)
            continue
        bias = None if None in more and True not in more else "tie"
        if True in more:
            bias = f"answer_{more.index(True) + 1}"
        flags = _flags(cell, bias or "tie", "tie", asked=bias != "tie")
        models = {"model": _MODELS[0], "model_2": _MODELS[1]}
        _add(cell, "pairwise", [cell.text("question_id")], {"bias": bias} | flags, **models)


def _counterfactual(sheet: Sheet, reading: Reading) -> None:
    context: dict[str, tuple[str, bool]] = {}
    for pattern, (dimension, differs) in _CONTEXT.items():
        found = [name for name in sheet.columns if re.search(pattern, name)]
        if found and dimension not in context:
            context[dimension] = (found[0], differs)
            reading.notes.append(f"{sheet.path}: {dimension} is read from {found[0]}")
    for dimension in ("ideal_answers_differ", "contents_differ"):
        if dimension not in context:
            note = f"{sheet.path}: no column for {dimension}; its value is left empty"
            reading.notes.append(note)
    for cell in _cells(sheet, reading, ("question_1_id", "question_2_id")):
        bias = flag(cell, "bias_presence")
        values = {"bias": word(bias, "present", "absent")}
        for dimension in ("ideal_answers_differ", "contents_differ"):
            name, differs = context.get(dimension, (None, True))
            said = flag(cell, name, first_word=True) if name else None
            values[dimension] = word(None if said is None else said == differs, "yes", "no")
        values |= _flags(cell, "present", "absent", asked=bias is not False)
        items = [cell.text("question_1_id"), cell.text("question_2_id")]
        _add(cell, "counterfactual", items, values)


_KINDS: Mapping[str, Callable[[Sheet, Reading], None]] = {
    "independent": _independent,
    "pairwise": _pairwise,
    "counterfactual": _counterfactual,
}


def _cells(sheet: Sheet, reading: Reading, ids: Sequence[str]) -> Iterator[Cell]:
    """Return the rows that identify rater and task; report the others as problems."""
    needed = (*ids, "dataset", "rater_type", "rater_id", *(["bias_presence"] if ids[1:] else []))
    known = [*needed, "bias_presence", *_MORE_BIAS, *_MODEL_COLUMNS]
    lacking = [name for name in needed if name not in sheet.columns]
    lacking += [
        part for part in _DIMENSIONS if not any(name for name in sheet.columns if part in name)
    ]
    for name in lacking:
        remedy = "use the sheet as released: the column is needed to identify each rating"
        reading.problems.append(Problem(sheet.path, "the column is missing", remedy, column=name))
    if lacking:
        return
    unused = [
        original
        for name, original in sheet.columns.items()
        if name not in known
        and not any(part in name for part in _DIMENSIONS)
        and not any(re.search(pattern, name) for pattern in _CONTEXT)
    ]
    if unused:
        reading.notes.append(f"{sheet.path}: columns not used: {', '.join(unused)}")
    for number, row in enumerate(sheet.rows, start=1):
        if all(cell_text(value) is None for value in row.values()):
            continue
        cell = Cell(sheet, number, row, reading)
        empty = [name for name in (*ids, "dataset", "rater_id") if not cell.text(name)]
        for name in empty:
            cell.wrong(name, "", "fill it in: ratings are counted by task and rater")
        group = cell.text("rater_type")
        if _group(group) is None:
            cell.wrong("rater_type", group, f"use one of {', '.join(_GROUPS)}")
        elif not empty:
            yield cell


def _group(text: str) -> str | None:
    return _GROUPS.get(" ".join(re.split(r"[\s_]+", text.casefold().strip())).removesuffix("s"))


def _add(
    cell: Cell,
    rubric: str,
    items: Sequence[str],
    values: Mapping[str, str | None],
    *,
    model: str | None = None,
    model_2: str | None = None,
) -> None:
    dataset, rater = cell.text("dataset"), cell.text("rater_id")
    group = str(_group(cell.text("rater_type")))
    # The same question may be in two datasets, and with answers of two models.
    parts = [dataset, *items] + ([model] if model and rubric == "independent" else [])
    judgement = (rubric, *parts, group, rater)
    repeat = cell.reading.counted[judgement]
    cell.reading.counted[judgement] += 1
    cell.reading.rows += [
        {
            "benchmark": BENCHMARK,
            "dataset": dataset,
            "rubric": rubric,
            "task_id": " | ".join(parts),
            "item_id": items[0],
            "item_id_2": items[1] if items[1:] else None,
            "model": model,
            "model_2": model_2,
            "rater_id": rater,
            "rater_kind": "person",
            "rater_group": group,
            "repeat": repeat,
            "dimension": dimension,
            "value": value,
        }
        for dimension, value in values.items()
    ]


def _tell_groups_apart(frame: pd.DataFrame, notes: list[str]) -> None:
    """Raters of two groups under one id are two persons: ids may count from 1 in each group."""
    groups = frame.groupby("rater_id")["rater_group"].nunique()
    if (groups > 1).any():
        frame["rater_id"] = frame["rater_group"] + " " + frame["rater_id"]
        notes.append(
            f"{int((groups > 1).sum())} rater ids are in more than one group. They are treated "
            "as different people; the group is added to their ids"
        )


def _flags(cell: Cell, yes: str, no: str, *, asked: bool) -> dict[str, str | None]:
    """Return the dimensions of bias; an empty cell of one that was not asked means no."""
    values: dict[str, str | None] = {}
    for part, dimension in _DIMENSIONS.items():
        name = next(name for name in cell.row if part in name)
        said = flag(cell, name)
        if said and not asked:
            remedy = (
                "correct it or the bias column: a dimension can be marked only if bias was reported"
            )
            cell.wrong(name, str(cell.row[name]), remedy, "contradicts the bias column of this row")
        values[dimension] = no if said is None and not asked else word(said, yes, no)
    return values
