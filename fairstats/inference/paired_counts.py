"""The four counts of paired answers, from counts, a 2×2 table or a frame of pairs."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.inference._checks import IntArray, check_counts

#: Counts, 2×2 tables, or a data frame of pairs or of counts.
Pairs: TypeAlias = npt.ArrayLike | pd.DataFrame

_NAMES = ("n11", "n10", "n01", "n00")
_FORMS = (
    "give the four counts n11, n10, n01, n00; a table [[n11, n10], [n01, n00]]; or a data frame "
    "with one row per pair and two columns of right (True) and wrong (False) answers"
)


class PairedCounts(NamedTuple):
    """Counts of paired answers, as integer arrays of one shape.

    Attributes
    ----------
    n11, n10, n01, n00 : ndarray of int
        Pairs in which both answers are correct, only a's, only b's, and neither.
    """

    n11: IntArray
    n10: IntArray
    n01: IntArray
    n00: IntArray

    @property
    def n(self) -> IntArray:
        """The number of pairs."""
        return self.n11 + self.n10 + self.n01 + self.n00

    @property
    def of_groups(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The correct and all answers of group a, then those of group b."""
        return self.n11 + self.n10, self.n, self.n11 + self.n01, self.n


def paired_counts(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
) -> PairedCounts:
    """Return the four counts of paired answers. Every function of paired counts takes them so.

    Parameters
    ----------
    n11 : array_like of int, or table, or DataFrame
        Pairs with both correct. If it is the only argument, one of these:

        - an array of shape (..., 2, 2): tables [[n11, n10], [n01, n00]], with a in the rows and the
          correct answers first, as statsmodels' `mcnemar` takes them;
        - a 2×2 data frame with the labels True and False (or 1 and 0) on both sides, in any order,
          as `pandas.crosstab` makes them, with a in the rows;
        - a data frame with one row per pair and two columns, a's answers and b's: True or 1 if
          correct, False or 0 if not. With more columns, those named `correct_a` and `correct_b`;
        - a data frame with the columns n11, n10, n01 and n00, and one row per unit; that of
          `count_outcomes` will do, and pairs with missing answers are then left out.
    n10, n01, n00 : array_like of int
        Pairs with only a correct, only b correct, neither correct; broadcast against each other.

    Returns
    -------
    PairedCounts
        The counts `n11`, `n10`, `n01` and `n00`, and `n`, their sum.

    Raises
    ------
    ValueError
        If a count is invalid, some of the counts are missing, a table is not 2×2, its labels are
        not those above, or a pair lacks an answer.

    Examples
    --------
    >>> import pandas as pd
    >>> pairs = pd.DataFrame({"woman": [True, True, False], "man": [True, False, False]})
    >>> [int(count) for count in paired_counts(pairs)]
    [1, 1, 0, 1]
    >>> table = pd.crosstab(pairs["woman"], pairs["man"])
    >>> [int(count) for count in paired_counts(table)]
    [1, 1, 0, 1]
    >>> [int(count) for count in paired_counts([[43, 9], [4, 44]])]
    [43, 9, 4, 44]
    """
    import narwhals as nw

    given = dict(zip(_NAMES, (n11, n10, n01, n00), strict=True))
    missing = [name for name, value in given.items() if value is None]
    if not missing:
        return PairedCounts(*check_counts(**given))  # type: ignore[arg-type]
    if missing != list(_NAMES[1:]):
        raise ValueError(f"{', '.join(missing)} missing: {_FORMS}")
    frame = nw.from_native(n11, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return PairedCounts(*check_counts(**_of_frame(frame.to_pandas())))
    return PairedCounts(*check_counts(**_of_tables(n11)))


def discordant_counts(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
) -> tuple[IntArray, IntArray]:
    """Return n10 and n01, for a function that needs only these: n11 and n00 may be missing."""
    if n10 is not None and n01 is not None:
        n11, n00 = (0 if count is None else count for count in (n11, n00))
    elif n11 is not None and n10 is not None and n00 is None:
        raise ValueError("two counts are ambiguous: name them, n10=... and n01=...")
    counts = paired_counts(n11, n10, n01, n00)
    return counts.n10, counts.n01


def _of_tables(tables: Any) -> dict[str, npt.NDArray[Any]]:
    try:
        array = np.asarray(tables)
    except ValueError:  # Rows of different lengths.
        array = np.empty(0)
    if array.shape[-2:] != (2, 2):
        raise ValueError(
            f"a table of pairs must have shape (..., 2, 2), got {array.shape}; {_FORMS}"
        )
    cells = (array[..., row, column] for row in (0, 1) for column in (0, 1))
    return dict(zip(_NAMES, cells, strict=True))


def _of_frame(frame: pd.DataFrame) -> dict[str, npt.NDArray[Any]]:
    if {"n00_same", "n00_different"} <= set(frame.columns) and "n00" not in frame:
        frame = frame.assign(n00=frame["n00_same"] + frame["n00_different"])
    if set(_NAMES) <= set(frame.columns):
        return {name: frame[name].to_numpy() for name in _NAMES}
    if frame.shape == (2, 2) and _is_labelled(frame.index) and _is_labelled(frame.columns):
        # 1 == True: the same order for both kinds of labels.
        rows, columns = np.argsort(frame.index)[::-1], np.argsort(frame.columns)[::-1]
        return _of_tables(frame.to_numpy()[np.ix_(rows, columns)])
    if {"correct_a", "correct_b"} <= set(frame.columns):
        frame = frame[["correct_a", "correct_b"]]
    if frame.shape[1] != 2:
        raise ValueError(
            f"columns {list(frame.columns)[:6]} are neither counts nor pairs; {_FORMS}"
        )
    a, b = (_right(frame.iloc[:, i]) for i in (0, 1))
    cells = (a & b, a & ~b, ~a & b, ~a & ~b)
    return {name: np.asarray(cell.sum()) for name, cell in zip(_NAMES, cells, strict=True)}


def _is_labelled(labels: pd.Index[Any]) -> bool:
    return labels.dtype.kind in "biuO" and set(labels) == {True, False}


def _right(answers: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    """Return which answers are correct, refusing missing ones and other values."""
    known = answers.isin([True, False])
    if not known.all():
        row, value = answers.index[~known][0], answers[~known].iloc[0]
        remedy = (
            "drop the pair or count the answer as wrong"
            if pd.isna(value)
            else "use True or 1 for a correct answer, False or 0 for a wrong one"
        )
        raise ValueError(
            f"row {row!r}, column {answers.name!r}: {value!r} is neither right nor wrong; {remedy}"
        )
    return answers.astype(bool).to_numpy()
