"""Groups of rows with the same values, computed from arrays.

A group-by of a data frame takes milliseconds however small it is, and an analysis makes dozens of
them. The functions here find the same groups in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

IntArray = npt.NDArray[np.int64]

# Products of codes stay below this.
_LARGEST = 2**62
# Whole numbers below this are their own codes.
_SMALL = 2**20


def group_rows(columns: Iterable[Any], *, sort: bool = False) -> tuple[IntArray, IntArray]:
    """Number the groups of rows that have the same values in every column.

    Parameters
    ----------
    columns : iterable of array, each of shape (n,)
        The key columns, at least one. Missing values form a group, before all others.
    sort : bool
        Number the groups in the order of their values, the first column first; by default in the
        order of their first rows.

    Returns
    -------
    (ndarray of int, shape (n,); ndarray of int, shape (groups,))
        The group of each row, and the first row of each group.

    Examples
    --------
    >>> groups, first = group_rows([np.array(["b", "a", "b"], dtype=object)], sort=True)
    >>> groups.tolist(), first.tolist()
    ([1, 0, 1], [1, 0])
    """
    groups: IntArray | None = None
    size = 1
    for column in columns:
        codes, many = _codes(column, sort)
        if groups is None:
            groups, size = codes, many
            continue
        if size * many >= _LARGEST:
            groups, kinds = pd.factorize(groups, sort=sort)
            size = len(kinds)
        groups, size = groups * many + codes, size * many
    if groups is None:
        raise ValueError("columns must have at least one array")
    found, kinds = pd.factorize(groups, sort=sort)
    first = np.zeros(len(kinds), dtype=np.int64)
    # Of several assignments to one place, the last one remains.
    first[found[::-1]] = np.arange(len(found) - 1, -1, -1)
    return found.astype(np.int64), first


def _codes(column: Any, sort: bool) -> tuple[IntArray, int]:
    if column.dtype.kind in "iu" and len(column):
        most = int(column.max())
        if most < _SMALL and column.min() >= 0:
            return np.asarray(column, dtype=np.int64), most + 1
    codes, names = pd.factorize(column, sort=sort)
    return codes.astype(np.int64) + 1, len(names) + 1


def group_sums(
    keys: Mapping[str, Any], counts: Mapping[str, Any], *, sort: bool = False
) -> dict[str, npt.NDArray[Any]]:
    """Add counts up over the rows with the same keys.

    Parameters
    ----------
    keys, counts : mapping of str to array, each of shape (n,)
        The key columns, and columns of whole numbers, by name.
    sort : bool
        As in `group_rows`.

    Returns
    -------
    dict of str to ndarray
        The keys of each group and its sums.

    Examples
    --------
    >>> sums = group_sums({"item": np.array([7, 5, 7])}, {"n": np.array([1, 2, 3])})
    >>> sums["item"].tolist(), sums["n"].tolist()
    ([7, 5], [4, 2])
    """
    groups, first = group_rows(keys.values(), sort=sort)
    found = {name: np.asarray(column)[first] for name, column in keys.items()}
    for name, column in counts.items():
        sums = np.zeros(len(first), dtype=np.int64)
        np.add.at(sums, groups, np.asarray(column, dtype=np.int64))
        found[name] = sums
    return found


def stacked(tables: Sequence[Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
    """Join tables with the columns of the first one.

    Examples
    --------
    >>> stacked([{"n": np.array([1, 2])}, {"n": np.array([3])}])["n"].tolist()
    [1, 2, 3]
    """
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def row_keys(table: pd.DataFrame, columns: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return the values of each row in these columns, to look them up in a dict.

    Examples
    --------
    >>> row_keys(pd.DataFrame({"model": ["m", "n"], "sample": [0, 1]}), ["model", "sample"])
    [('m', 0), ('n', 1)]
    """
    return list(zip(*(text_array(table[name]) for name in columns), strict=True))


def text_array(column: Any) -> npt.NDArray[np.object_]:
    """Return a column as an array of Python texts, which small operations handle fastest."""
    # An array of a series is converted several times faster than the series.
    return np.asarray(getattr(column, "array", column), dtype=object)
