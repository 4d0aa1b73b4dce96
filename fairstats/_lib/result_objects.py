"""Result objects of statistics."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

FloatArray = npt.NDArray[np.float64]


class Tabular:
    """A frozen result with fields that are arrays of one shape, or single values."""

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a frame, one row per array element."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        shape = np.broadcast_shapes(*(np.shape(value) for value in values.values()))
        columns: dict[str, Any] = {
            name: np.broadcast_to(np.asarray(value), shape).ravel()
            for name, value in values.items()
        }
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Interval(Tabular):
    """A confidence interval.

    Attributes
    ----------
    low, high : ndarray
        The limits, in the units of the estimate.
    level : float
        The confidence level, e.g. 0.95.
    method : str or ndarray of str
        The method used; an array if it differs between units.
    """

    low: FloatArray
    high: FloatArray
    level: float
    method: str | npt.NDArray[np.str_]


@dataclass(frozen=True)
class Estimate(Tabular):
    """An estimate with its interval.

    Attributes
    ----------
    estimate, ci_low, ci_high : ndarray
        The estimate (NaN if there is no answer to compute it from) and its limits.
    ci_level : float
        The confidence level.
    ci_method : str or ndarray of str
        The method of the interval; an array if it differs between units.
    n : ndarray
        The number of answers, or of pairs, used for the estimate.
    """

    estimate: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    ci_level: float
    ci_method: str | npt.NDArray[np.str_]
    n: npt.NDArray[np.int64]


def naming_effect(method: str, effect: float) -> str:
    """Return an interval's method, with the design effect if there is one."""
    return method if effect == 1 else f"{method}, design effect {effect:.3g}"
