"""Published figures as text: their value, their last decimal, and what they may have been before.

The decimals of a figure are counted in its text: ``0.840`` excludes more than ``0.84``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray

Rounding: TypeAlias = Literal["half_up", "half_even", "half_either", "truncated"]
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
        rounding : {"half_up", "half_even", "half_either", "truncated"}
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
    if rounding == "truncated":
        # Away from zero everything up to the next unit is cut off; towards zero nothing is.
        return (Fraction(units + side), False) if outward else (Fraction(units), True)
    included = {"half_up": not outward, "half_even": units % 2 == 0, "half_either": True}[rounding]
    return units + Fraction(side, 2), included


def read_figure(metric: str, text: str, *, percent: bool = False) -> Figure:
    """Read a published figure.

    Parameters
    ----------
    metric : str
        One of `METRICS`.
    text : str
        The cell, such as ``"0.0911"``, ``"84.2%"`` or ``"<0.0001"``.
    percent : bool
        Whether the column has percentages; a cell with ``%`` is one in any case.

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
