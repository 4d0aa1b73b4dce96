"""Read cells of released sheets as text or as flags, and report unreadable ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairstats._lib.problems import Problem
from fairstats.ratings.collection.workbooks import Sheet

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


def flag(value: Any, name: str, cell: Cell, *, first_word: bool = False) -> bool | None:
    """Read a yes-or-no cell; return None if it is empty or neither."""
    text = cell_text(value)
    if text is None:
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
