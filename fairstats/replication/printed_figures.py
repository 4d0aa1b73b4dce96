"""Published figures as text, and tables of them: which column is which, and each row's figures.

The decimals of a figure are counted in its text: ``0.840`` excludes more than ``0.84``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, keyword, refuse
from fairstats._lib.result_objects import FloatArray
from fairstats._lib.untrusted_files import SPLIT, read_once
from fairstats._lib.untrusted_tables import csv_header, encoding_of, load_csv, repeated_columns

Rounding: TypeAlias = Literal[
    "half_up", "half_even", "half_either", "truncated", "truncated_either"
]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: The figures that can be checked. Shares are fractions of whole counts.
SHARES = ("accuracy_a", "accuracy_b", "ad", "accuracy_difference", "cfr")
METRICS = (*SHARES, "cohens_h", "p", "odds_ratio")
#: Figures that may be negative: they are of group a minus group b.
SIGNED = ("accuracy_difference", "cohens_h")
#: The largest figure; π for h.
_LARGEST = dict.fromkeys((*SHARES, "p"), 1.0) | {"cohens_h": math.pi, "odds_ratio": math.inf}
#: More decimals would exceed 64-bit integers; more significant digits, a float.
MAX_DECIMALS, MAX_DIGITS = 9, 9

_NUMBER = re.compile(
    r"(?P<relation><=|>=|[<>≤≥=])?\s*(?P<sign>[-\N{MINUS SIGN}+])?"
    r"(?P<whole>[0-9]*)(?:\.(?P<decimals>[0-9]*))?(?:[eE](?P<exponent>[-+]?[0-9]{1,3}))?\s*(?P<percent>%)?"
)
_RELATIONS = {"≤": "<=", "≥": ">=", None: "="}
# Far above floating-point error, and far below the last decimal that is read.
_ROUNDING_ERROR = 1e-10


@dataclass(frozen=True)
class Range:
    """The values that a published figure may have been before rounding.

    Attributes
    ----------
    low, high : Fraction or None
        The limits; None if there is none.
    low_in, high_in : bool
        Whether a limit belongs to the range.
    """

    low: Fraction | None
    high: Fraction | None
    low_in: bool = True
    high_in: bool = True

    def has_share(self, part: npt.ArrayLike, whole: npt.ArrayLike) -> Flags:
        """Return, without rounding error, where part / whole is in the range."""
        part, whole = np.asarray(part, np.int64), np.asarray(whole, np.int64)
        inside = np.ones(np.broadcast_shapes(part.shape, whole.shape), np.bool_)
        for limit, included, above in self._limits():
            left, right = part * limit.denominator, limit.numerator * whole
            beyond = left > right if above else left < right
            inside &= beyond | ((left == right) & included)
        return inside

    def has(self, value: FloatArray) -> Flags:
        """Return where a computed value is in the range; near a limit it counts as the limit."""
        inside = np.ones(value.shape, np.bool_)
        for limit, included, above in self._limits():
            difference = (value - float(limit)) * (1 if above else -1)
            at_limit = np.abs(difference) <= _ROUNDING_ERROR * np.abs(value)
            inside &= np.where(at_limit, included, difference > 0)
        return inside

    def counts(self, whole: int) -> tuple[int, int]:
        """Return the lowest and highest count from 0 to `whole` whose share is in the range."""
        low, high = 0, whole
        if self.low is not None:
            scaled = self.low * whole
            low = max(low, math.ceil(scaled) if self.low_in else math.floor(scaled) + 1)
        if self.high is not None:
            scaled = self.high * whole
            high = min(high, math.floor(scaled) if self.high_in else math.ceil(scaled) - 1)
        return low, high

    def halves(self) -> tuple[Range, Range]:
        """Return the ranges that have only the lower, and only the upper limit."""
        return replace(self, high=None), replace(self, low=None)

    def _limits(self) -> Iterator[tuple[Fraction, bool, bool]]:
        if self.low is not None:
            yield self.low, self.low_in, True
        if self.high is not None:
            yield self.high, self.high_in, False


@dataclass(frozen=True)
class Figure:
    """A published figure.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    text : str
        Its cell.
    units : int
        The figure in units of its last decimal.
    exponent : int
        The power of ten of its last decimal: −4 for ``0.0911``, and −3 for ``84.2%``.
    percent : bool
        Whether the cell has a percentage.
    relation : {"=", "<", "<=", ">", ">="}
        Whether it is a figure or a bound.
    signed : bool
        Whether its sign is part of the figure.
    """

    metric: str
    text: str
    units: int
    exponent: int
    percent: bool = False
    relation: str = "="
    signed: bool = False

    @property
    def unit(self) -> Fraction:
        """Return one unit of the last decimal."""
        return Fraction(10) ** self.exponent

    @property
    def value(self) -> Fraction:
        """Return the figure; a percentage as a share."""
        return self.units * self.unit

    def range(self, rounding: Rounding, *, change: int = 0) -> Range:
        """Return the values that are published as this figure.

        Parameters
        ----------
        rounding : {"half_up", "half_even", "half_either", "truncated", "truncated_either"}
            How the figure was rounded. Signs are ignored: half up and truncation of −0.25 give −0.3
            and −0.2.
        change : int
            Include the figures up to this many units below and above. Bounds do not change.
        """
        if self.relation != "=":
            below, included = self.relation.startswith("<"), self.relation.endswith("=")
            none, limit = None, self.value
            return Range(none, limit, high_in=included) if below else Range(limit, none, included)
        low, low_in = _limit(self.units - change, rounding, upper=False)
        high, high_in = _limit(self.units + change, rounding, upper=True)
        return Range(low * self.unit, high * self.unit, low_in, high_in)

    def changed(self, units: int) -> str:
        """Return the text of the figure after a change by some units of its last decimal."""
        exponent = self.exponent + (2 if self.percent else 0)
        number = Decimal(self.units + units).scaleb(exponent)
        text = f"{number:f}" if exponent >= -MAX_DECIMALS else str(number)
        return f"{text}%" if self.text.endswith("%") else text


def _limit(units: int, rounding: Rounding, *, upper: bool) -> tuple[Fraction, bool]:
    """Return an end of what is rounded to a number of units, and whether the end is included."""
    outward = (units >= 0) if upper else (units <= 0)
    side = 1 if upper else -1
    if rounding in ("truncated", "truncated_either"):
        # Away from zero everything up to the next unit is cut off; towards zero nothing is. Binary
        # numbers can be too small: 0.74 - 0.54 is below 0.2, and may be cut to 0.1.
        next_in = rounding == "truncated_either"
        return (Fraction(units + side), next_in) if outward else (Fraction(units), True)
    included = {"half_up": not outward, "half_even": units % 2 == 0, "half_either": True}[rounding]
    return units + Fraction(side, 2), included


def read_figure(metric: str, text: str, *, percent: bool = False) -> Figure:
    """Read a published figure.

    The cell is e.g. ``"0.0911"``, ``"84.2%"`` or ``"<0.0001"``. `percent` is whether the column has
    percentages; a cell with ``%`` is one in any case.

    Raises
    ------
    ValueError
        The problem and its remedy, separated by a semicolon.

    Examples
    --------
    >>> read_figure("cfr", "87.5%").range("half_even")
    Range(low=Fraction(1749, 2000), high=Fraction(1751, 2000), low_in=False, high_in=False)
    """
    found = _NUMBER.fullmatch(text.strip())
    digits = "" if found is None else found["whole"] + (found["decimals"] or "")
    if found is None or not digits:
        raise ValueError("is not a number; write one such as 0.0911, or leave the cell empty")
    percent = percent or found["percent"] is not None
    if percent and metric not in SHARES:
        raise ValueError("is not a percentage by its nature; write it without the % sign")
    exponent = int(found["exponent"] or 0) - len(found["decimals"] or "")
    shift = exponent - 2 if percent else exponent
    too_fine = -shift > MAX_DECIMALS and metric != "p"
    if too_fine or len(digits.lstrip("0")) > MAX_DIGITS or len(digits) > 30 or abs(shift) > 300:
        raise ValueError(f"has more than {MAX_DECIMALS} digits; write what the paper printed")
    relation = _RELATIONS.get(found["relation"], found["relation"])
    negative = found["sign"] in ("-", "\N{MINUS SIGN}")
    units = -int(digits) if negative else int(digits)
    figure = Figure(metric, text.strip(), units, shift, percent, relation, negative)
    _check_limits(figure)
    return figure


def _check_limits(figure: Figure) -> None:
    largest = _LARGEST[figure.metric]
    if figure.signed and figure.metric not in SIGNED:
        remedy = "remove the minus sign"
        if figure.metric == "ad":
            remedy = "name the column accuracy_difference if it is group a minus group b"
        raise ValueError(f"is negative; {remedy}")
    # Rounding can lift a figure above the largest value, such as 3.142 for π.
    if abs(figure.value) - figure.unit / 2 > largest:
        remedy = "correct it"
        if figure.metric in SHARES and not figure.percent:
            remedy = f"write 84.2% as 0.842 or as 84.2%, or add _percent to {figure.metric}"
        most = "π" if figure.metric == "cohens_h" else "100%" if figure.percent else "1"
        raise ValueError(f"is larger than {most}; {remedy}")


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
_PERCENT = (
    *("_percent_points", "_percentage_points", "_points", "_in_pp", "_pp", "_p_p"),
    *("_percent", "_pct"),
)
#: Figures that are differences of shares: authors write them in points.
_IN_POINTS = ("ad", "accuracy_difference")


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
    table: AnyPath | pd.DataFrame, *, n: int | None, columns: Mapping[str, str]
) -> list[PrintedRow]:
    """Read the rows of a published table, see `fairstats.check_table`."""
    name, frame = _loaded(table)
    metrics = _metrics(frame, columns, name)
    rows, problems = [], []
    for number, cells in enumerate(frame.to_dict("records"), start=1):
        row, wrong = _row(number, cells, metrics, n, name)
        wrong = wrong or _unclear(row, metrics, columns, name)
        rows.append(row)
        problems += wrong
    refuse(problems)
    # A column of h has one convention: if a cell has a minus sign, signs are part of the figures.
    if any("cohens_h" in row.figures and row.figures["cohens_h"].signed for row in rows):
        rows = [replace(row, signed_h=True) for row in rows]
    return rows


def _loaded(table: AnyPath | pd.DataFrame) -> tuple[str, pd.DataFrame]:
    if isinstance(table, pd.DataFrame):
        name, frame = "<frame>", table
        problems = repeated_columns(map(str, frame.columns), name)
    else:
        file = read_once(table, MAX_FILE_BYTES)
        # Spreadsheets begin UTF-8 files with a byte order mark.
        name, frame = str(file), load_csv(file)
        problems = repeated_columns(csv_header(file, encoding_of(file), ","), name)
    if not problems and frame.empty:
        problems = [Problem(name, "has no rows", "write one row per pair of groups")]
    if len(frame) > MAX_ROWS:
        problems = [Problem(name, f"has more than {MAX_ROWS:,} rows", SPLIT)]
    refuse(problems)
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
                remedy = f"add {keyword('columns', {column: IGNORE})}"
                problems.append(Problem(name, message, remedy, column=column))
            metrics[column] = found
    if not problems and not {metric for metric, _ in metrics.values()} - {N}:
        message = f"has no column of figures (its columns: {', '.join(map(str, frame))})"
        meant = keyword("columns", {"NAME": "METRIC"})
        remedy = f"name columns {', '.join(METRICS)}, or add {meant}"
        problems.append(Problem(name, message, remedy))
    refuse(problems)
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
        remedy = f"add {keyword('n')}, or a column n"
        problems.append(Problem(name, "has no number of pairs", remedy, row=number))
    return PrintedRow(number, other, figures, n or 0), problems


def _unclear(
    row: PrintedRow,
    metrics: Mapping[str, tuple[str, bool]],
    columns: Mapping[str, str],
    name: str,
) -> list[Problem]:
    """Return the differences that may be shares or points, as other figures are percentages."""
    if not any(figure.percent for figure in row.figures.values()):
        return []
    message = "does not say if it is a share or in points, and other figures are percentages"
    problems = []
    for column, (metric, _) in metrics.items():
        figure = row.figures.get(metric)
        if figure is None or metric not in _IN_POINTS or column in columns:
            continue
        # 0 is the same in any unit.
        if not figure.percent and figure.units:
            remedy = (
                f"write {figure.text}%, or name the column {metric}_percent; if it is a share, "
            )
            remedy += f"add {keyword('columns', {column: metric})}"
            problems.append(
                Problem(name, message, remedy, row=row.row, column=column, value=figure.text)
            )
    return problems


_NOT_TEXT = (
    "is a number, so its decimals are not known; give the column as text, e.g. "
    "pd.read_csv(..., dtype=str)"
)


def _pairs(text: str) -> int:
    """Return a number of pairs, a whole number from 1 to `MAX_PAIRS`."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MAX_PAIRS:
        raise ValueError(
            f"is not a number of pairs; write a whole number from 1 to {MAX_PAIRS}, e.g. 801"
        )
    return int(text)
