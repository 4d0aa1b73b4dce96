"""Result objects of statistics, and results that an object computes once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

FloatArray = npt.NDArray[np.float64]


# In a table of estimates, intervals and tests have separate methods.
_IN_ESTIMATES = {"method": "ci_method"}


class Tabular:
    """A frozen result with fields that are arrays of one shape, or single values.

    Arrays of no dimensions become numbers. In a notebook, a result is shown as a table.
    """

    def to_row(self) -> dict[str, Any]:
        """Return the fields by their names in the estimates table: ``method`` is ``ci_method``."""
        return {_IN_ESTIMATES.get(name, name): value for name, value in self._values().items()}

    def to_estimates(self) -> pd.DataFrame:
        """Return the frame with the column names of the estimates table, as `to_row`."""
        return self.to_frame().rename(columns=_IN_ESTIMATES)

    def __post_init__(self) -> None:
        """Turn arrays of no dimensions into numbers."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and value.ndim == 0:
                object.__setattr__(self, name, value[()])

    def __repr__(self) -> str:
        """Return the fields, with six significant digits."""
        shown = (f"{name}={_shown(value)}" for name, value in self._values().items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks: one row per element, or per field of a single result."""
        frame = self.to_frame()
        return str(frame.T.to_html(header=False) if self._is_single() else frame.to_html())

    def summary(self) -> str:
        """Return the result as text: one line per field, or one row per array element."""
        if not self._is_single():
            return self.to_frame().to_string(index=False, float_format="{:.6g}".format)
        values = self._values()
        width = max(map(len, values))
        return "\n".join(f"{name:<{width}}  {_shown(value)}" for name, value in values.items())

    def _values(self) -> dict[str, Any]:
        """Return the fields that have a value."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if value is not None}

    def _is_single(self) -> bool:
        return all(np.ndim(value) == 0 for value in self._values().values())

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a frame, one row per array element."""
        values = self._values()
        shape = np.broadcast_shapes(*(np.shape(value) for value in values.values()))
        columns: dict[str, Any] = {
            name: np.broadcast_to(np.asarray(value), shape).ravel()
            for name, value in values.items()
        }
        return pd.DataFrame(columns)


@dataclass(frozen=True, repr=False)
class Estimate(Tabular):
    """An estimate with its interval.

    Attributes
    ----------
    estimate, ci_low, ci_high : ndarray
        The estimate (NaN if there is no answer to compute it from) and its limits.
    ci_level : float
        The confidence level.
    method : str or ndarray of str
        The method of the interval; an array if it differs between units.
    n : ndarray
        The number of answers, or of pairs, used for the estimate.
    """

    estimate: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    ci_level: float
    method: str | npt.NDArray[np.str_]
    n: npt.NDArray[np.int64]

    @classmethod
    def single(
        cls,
        estimate: npt.ArrayLike,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        ci_level: float,
        method: str,
        n: int,
    ) -> Estimate:
        """Build an estimate of single numbers."""
        limits = np.asarray(low), np.asarray(high)
        return cls(np.asarray(estimate), *limits, ci_level, method, np.asarray(n))

    @property
    def ci(self) -> tuple[FloatArray, FloatArray]:
        """The two limits, to be unpacked."""
        return self.ci_low, self.ci_high


@dataclass(frozen=True, repr=False)
class TestResult(Tabular):
    """The result of a test; `statistic, p_value = result` unpacks it, as scipy's.

    Attributes
    ----------
    statistic, p_value : ndarray
        The test statistic, and the p-value.
    method : str
        The method used.
    df : ndarray, optional
        Degrees of freedom, if the distribution has any.
    n : ndarray, optional
        The number of items, if the test counts them.
    """

    __test__ = False  # For pytest: not a class of tests.

    statistic: FloatArray
    p_value: FloatArray
    method: str
    df: npt.NDArray[Any] | None = None
    n: npt.NDArray[np.int64] | None = None

    def __iter__(self) -> Iterator[FloatArray]:
        """Yield statistic and p_value."""
        yield self.statistic
        yield self.p_value


def _shown(value: Any) -> str:
    """Return a value as in a repr, without numpy's names of types."""
    if isinstance(value, np.ndarray):
        text = np.array2string(
            value, separator=", ", threshold=20, formatter={"all": _shown}, max_line_width=10**6
        )
        return text.replace("\n", "")
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def naming_effect(method: str, effect: float) -> str:
    """Return an interval's method, with the design effect if there is one."""
    shown = f"{effect:.3g}"
    return method if shown == "1" else f"{method}, design effect {shown}"


T = TypeVar("T")


class Memo:
    """Keeps results that are computed from an object, also a frozen one."""

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, computed once per key. Do not change it."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found
