"""Scores of items at the levels of a column, read from a table with one row per score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.formatting import listed
from fairstats._lib.problems import InputError, Problem
from fairstats.inference._checks import check_numbers

_TABLE = "<scores>"
_WORDS = {"true": 1, "false": 0}


@dataclass(frozen=True)
class ScoredItems:
    """Mean scores by item (and matched columns) and level.

    Attributes
    ----------
    levels : list of str
        The levels, in order.
    item : list of str
        The columns that identify an item.
    cells : pandas.DataFrame
        One row per item and value of the matched columns, one column per level; NaN if missing.
    least, most : pandas.DataFrame
        The same, with every missing score at its lowest, and at its highest possible value.
    limits : tuple of float, or None
        The lowest and the highest possible score, if known.
    is_binary : bool
        Whether every item has at most one score at a level, each 0 or 1.
    rows : pandas.DataFrame
        The table, with the levels that are compared.
    """

    levels: list[str]
    item: list[str]
    cells: pd.DataFrame
    least: pd.DataFrame
    most: pd.DataFrame
    limits: tuple[float, float] | None
    is_binary: bool
    rows: pd.DataFrame

    def items(self) -> pd.DataFrame:
        """Return the mean score of each item at each level."""
        return self._of_items(self.cells)

    def differences(self, a: str, b: str) -> pd.Series:
        """Return each item's mean difference over the cells that both levels have; NaN if none."""
        return self._of_items(self.cells[a] - self.cells[b])

    def bounds(self, a: str, b: str) -> tuple[float, float]:
        """Return the mean difference over all completions of the missing scores."""
        lowest = self._of_items(self.least[a] - self.most[b])
        highest = self._of_items(self.most[a] - self.least[b])
        if lowest.isna().any():
            return float("nan"), float("nan")
        return float(lowest.mean()), float(highest.mean())

    def _of_items(self, table: Any) -> Any:
        return table.groupby(level=self.item, sort=False).mean()


def scored_items(
    scores: Any,
    column: str,
    *,
    item: str | Sequence[str],
    score: str,
    match: str | Sequence[str],
    levels: Iterable[Any] | None,
    limits: tuple[float, float] | None,
) -> ScoredItems:
    """Read a table of scores; parameters and errors as `fairstats.compare_levels`."""
    import narwhals as nw

    try:
        frame = nw.from_native(scores, eager_only=True).to_pandas().reset_index(drop=True)
    except TypeError:
        raise ValueError(
            f"scores must be a pandas or Polars DataFrame, one row per score; got {type(scores)}"
        ) from None
    named = _names(item)
    matched = _names(match)
    if score == "correct" and score not in frame and {"answer", "answer_key"} <= set(frame):
        right = frame["answer"].eq(frame["answer_key"]).astype("float64")
        frame = frame.assign(correct=right.mask(frame["answer"].isna()))
    needed = [column, *named, *matched, score]
    for name in needed:
        if name not in frame:
            remedy = f"choose from: {', '.join(map(str, frame.columns)) or 'none'}"
            raise InputError([Problem(_TABLE, "there is no such column", remedy, column=str(name))])
        if needed.count(name) > 1:
            message = "is used for two things"
            remedy = "give different columns for the levels, item, match and score"
            raise InputError([Problem(_TABLE, message, remedy, column=str(name))])
    for name in needed[:-1]:
        empty = np.flatnonzero(frame[name].isna())
        if len(empty):
            message, remedy = "is empty", "fill it in, or remove the row"
            where = int(empty[0]) + 1
            raise InputError([Problem(_TABLE, message, remedy, row=where, column=name)])
    frame = frame.assign(**{column: frame[column].astype(str)})
    chosen = _levels(frame[column], column, levels)
    frame = frame[frame[column].isin(chosen)]
    values = _values(frame[score])
    known = bool(values.dropna().isin([0, 1]).all())
    if limits is not None:
        limits = _checked(limits, values)
    elif known:
        limits = (0.0, 1.0)
    keys = [*named, *matched]
    table = frame[[column, *keys]].assign(score=values)
    by = [*keys, column]
    cells = _wide(table, by, chosen)
    least = most = cells
    if table["score"].isna().any() or cells.isna().any(axis=None):
        ends = limits or (np.nan, np.nan)
        least, most = (
            _wide(table.assign(score=table["score"].fillna(end)), by, chosen).fillna(end)
            for end in ends
        )
        if limits is None:
            least = most = cells * np.nan
    alone = not matched and not table.duplicated(by).any()
    rows = frame.assign(**{score: values}).reset_index(drop=True)
    return ScoredItems(chosen, named, cells, least, most, limits, known and alone, rows)


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _levels(column: pd.Series, name: str, levels: Iterable[Any] | None) -> list[str]:
    present = column.unique().tolist()
    if levels is None:
        chosen = present
    else:
        chosen = [str(level) for level in ([levels] if isinstance(levels, str) else levels)]
        absent = [level for level in chosen if level not in present]
        if absent:
            remedy = f"choose from: {', '.join(present)}"
            message = "no row has this level"
            raise InputError([Problem(_TABLE, message, remedy, column=name, value=absent[0])])
    chosen = list(dict.fromkeys(chosen))
    if len(chosen) < 2:
        value = listed(chosen) or "none"
        remedy = "give scores at two levels or more, or choose another column"
        message = "has fewer than two levels"
        raise InputError([Problem(_TABLE, message, remedy, column=name, value=value)])
    return chosen


def _values(column: pd.Series) -> pd.Series:
    there = column[column.notna()].astype(object)
    # A CSV file has only text.
    words = there.map(
        lambda value: _WORDS.get(value.lower(), value) if isinstance(value, str) else value
    )
    numbers = pd.to_numeric(words, errors="coerce").astype("float64")
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        message = "is not a finite number, True or False"
        remedy = "give scores as numbers, and leave missing ones empty"
        raise InputError([_cell_problem(there[wrong], message, remedy)])
    return numbers.reindex(column.index)


def _checked(limits: tuple[float, float], values: pd.Series) -> tuple[float, float]:
    ends = check_numbers("limits", limits, example="(1, 5)")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"limits={limits!r} must be the lowest and highest score, e.g. (1, 5)")
    low, high = map(float, ends)
    beyond = values[(values < low) | (values > high)]
    if len(beyond):
        message = f"is outside the limits {low:g} to {high:g}"
        raise InputError([_cell_problem(beyond, message, "correct the score or the limits")])
    return low, high


def _cell_problem(wrong: pd.Series, message: str, remedy: str) -> Problem:
    """Return the problem of the first of these cells; their index is the place in the table."""
    row, value = int(wrong.index[0]) + 1, str(wrong.iloc[0])
    return Problem(_TABLE, message, remedy, row=row, column=str(wrong.name), value=value)


def _wide(table: pd.DataFrame, by: list[str], levels: list[str]) -> pd.DataFrame:
    means = table.groupby(by, sort=False)["score"].mean()
    return means.unstack(by[-1]).reindex(columns=levels)
