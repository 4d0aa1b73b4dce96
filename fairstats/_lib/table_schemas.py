"""Schemas of tables: the rules of their columns, and the faults that pandera finds by them.

Pandera takes about 10 ms to find nothing wrong with a small table, and 200 ms to be imported.
Nearly every table is right. So the rules look at it first; pandera is called for the others, since
it converts columns and names each cell that is wrong.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.problems import Problem
from fairstats._lib.safe_names import SHA256, plain_letters

if TYPE_CHECKING:
    import pandera.pandas as pandera

#: Maximum length of a text in a problem, since there may be hundreds of them.
MOST_SHOWN = 300


@dataclass(frozen=True)
class Rule:
    """What is right in a column or a row, and the message if it is not.

    `valid` gets the values that are not empty, or the whole table if it is a rule for rows.
    """

    valid: Callable[..., pd.Series]
    message: str


def typed_rows(
    rows: Iterable[Mapping[str, object]], columns: Sequence[str], types: Mapping[str, str]
) -> pd.DataFrame:
    """Return rows as a table with these columns, as text unless `types` has another type."""
    table = pd.DataFrame(list(rows), columns=list(columns))
    return table.astype({column: types.get(column, "str") for column in columns})


def text_rule(valid: Callable[[str], object], message: str) -> Rule:
    """Return a rule that looks at each distinct text once, since a large column has few."""

    def rows(texts: pd.Series) -> pd.Series:
        wrong = [text for text in texts.unique() if not pd.isna(text) and not valid(text)]
        return ~texts.isin(wrong) if wrong else pd.Series(True, index=texts.index)

    return Rule(rows, message)


# Names are used in page titles, file names and table cells. The limit stops a hostile file from
# flooding them. Characters that control a terminal or change the text direction are not allowed in
# names. Allowed characters are those that Python calls printable.
def printable(most: int, without: re.Pattern[str] | None = None, what: str = "") -> Rule:
    """Return a rule for text that fits a page, a file name and a terminal.

    Nothing in it may match the pattern `without`, also with letters that only look like those of
    the pattern; the message says `what` that is.
    """

    def valid(text: str) -> bool:
        fits = 0 < len(text) <= most and text.isprintable()
        return fits and not (without and any(map(without.search, {text, plain_letters(text)})))

    also = f", {what}" if what else ""
    return text_rule(valid, f"must be 1 to {most:,} printable characters{also}")


NAME = printable(200)
#: Hexadecimal digits, as in `hashlib`.
SHA256_TEXT = text_rule(SHA256.fullmatch, "must be 64 hexadecimal digits")


@dataclass(frozen=True)
class Column:
    """A column of a table; its type is one of str, int64, Int64, float64 and boolean."""

    dtype: str
    rule: Rule | None = None
    nullable: bool = False
    required: bool = True


#: A column that may be left out, or have empty cells.
optional = partial(Column, nullable=True, required=False)


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table, which has no others, and what holds for its rows."""

    columns: Mapping[str, Column]
    #: Columns that identify a row, and the message and remedy for a row that is there twice.
    unique: tuple[str, ...] = ()
    twice: tuple[str, str] = ("the row is there twice", "delete one")
    rule: Rule | None = None

    def to_pandera(self) -> pandera.DataFrameSchema:
        """Return the same schema for pandera."""
        pa = _pandera()

        def check(rule: Rule | None) -> pandera.Check | None:
            return None if rule is None else pa.Check(rule.valid, error=rule.message)

        return pa.DataFrameSchema(
            {
                name: pa.Column(
                    str if column.dtype == "str" else column.dtype,
                    check(column.rule),
                    nullable=column.nullable,
                    required=column.required,
                )
                for name, column in self.columns.items()
            },
            checks=check(self.rule),
            unique=list(self.unique) or None,
            report_duplicates="exclude_first",
            strict=True,
            coerce=True,
        )

    def allows(self, frame: pd.DataFrame) -> bool:
        """Return whether a frame has the types of the schema and no fault."""
        if not frame.columns.isin(list(self.columns)).all() or frame.columns.has_duplicates:
            return False
        for name, column in self.columns.items():
            if name not in frame:
                if column.required:
                    return False
                continue
            values = frame[name]
            if str(values.dtype) != column.dtype:
                return False
            if values.hasnans:
                if not column.nullable:
                    return False
                values = values.dropna()
            if column.rule is not None and not column.rule.valid(values).all():
                return False
        if self.rule is not None and not self.rule.valid(frame).all():
            return False
        return not (self.unique and frame.duplicated(list(self.unique)).any())

    def check(
        self,
        frame: pd.DataFrame,
        path: str,
        *,
        of_row: Callable[[int], tuple[str, str]] | None = None,
        given: pd.DataFrame | None = None,
    ) -> tuple[pd.DataFrame, list[Problem]]:
        """Convert a frame's columns to the types of the schema, or return its problems.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table, with rows numbered from 0.
        path : str
            The file name used in problems.
        of_row : callable, optional
            Returns the column to name, and the value to show, for a row that is wrong as a whole.
            Needed if rows can be wrong.
        given : pandas.DataFrame, optional
            The same table with the values to show in problems.

        Returns
        -------
        pandas.DataFrame
            The table; with problems, as it was given.
        list of Problem
            One for each cell that is wrong.
        """
        empty = {
            name: pd.Series(index=frame.index, dtype=column.dtype)
            for name, column in self.columns.items()
            if column.nullable and name in frame and frame[name].isna().all()
        }
        frame = frame.assign(**empty)
        if self.allows(frame):
            return frame, []
        schema = self.to_pandera()
        from pandera.errors import SchemaErrors

        try:
            return schema.validate(frame, lazy=True), []
        except SchemaErrors as error:
            cells = frame if given is None else given
            return frame, self._problems(error.failure_cases, cells, path, of_row)

    def _problems(
        self,
        cases: pd.DataFrame,
        frame: pd.DataFrame,
        path: str,
        of_row: Callable[[int], tuple[str, str]] | None,
    ) -> list[Problem]:
        found: dict[tuple[int | None, str], Problem] = {}
        cells = {str(name): values.array for name, values in frame.items()}
        # Column checks first: they are more specific than checks across columns.
        for case in sorted(cases.to_dict("records"), key=lambda c: c["schema_context"] != "Column"):
            row = None if pd.isna(case["index"]) else int(case["index"])
            name, value = str(case["column"]), case["failure_case"]
            if (
                row is not None
                and of_row is not None
                and case["schema_context"] == "DataFrameSchema"
            ):
                name, value = of_row(row)
            elif row is not None:
                value = cells[name][row]
            number = None if row is None else row + 1
            # A check across columns has a failure case for each column.
            if (number, name) not in found:
                message, remedy = self._explain(str(case["check"]))
                shown = None if pd.isna(value) else str(value)[:MOST_SHOWN]
                found[number, name] = Problem(
                    path, message, remedy, row=number, column=name, value=shown
                )
        return list(found.values())

    def _explain(self, check: str) -> tuple[str, str]:
        if check == "multiple_fields_uniqueness":
            return self.twice
        if check == "not_nullable":
            return "must not be empty", "fill it in"
        if check.startswith(("coerce_dtype", "dtype(")):
            return "has the wrong type", "correct the column"
        return check, "correct the value"


def _pandera() -> ModuleType:
    """Import pandera without PySpark: that takes seconds, and PySpark warns about pandas 3."""
    hidden = "pyspark.pandas"
    hide = hidden not in sys.modules
    if hide:
        sys.modules[hidden] = None  # type: ignore[assignment]
    try:
        import pandera.backends.pandas.builtin_checks
        import pandera.pandas
    finally:
        if hide:
            del sys.modules[hidden]
    return pandera.pandas
