"""A figure with its limits: its place on the axis of a chart, and how it is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from fairstats._lib.formatting import decimal, p_figure, points
from fairstats.benchmarks.kinds import Kind
from fairstats.report.page_output import filled
from fairstats.report.words import scale_of

#: The four-fifths rule: a ratio of selection rates outside is a sign of adverse impact.
FOUR_FIFTHS = (0.8, 1.25)
#: Larger ratios are at the end of the axis.
MOST_RATIO = 3.0
NONE = "–"
# Figures with a sign, besides differences.
_SIGNED = ("beyond_control", "net_moved", "signed_error_a", "signed_error_b")
#: The decimals of figures that are neither shares nor in the unit of the answers.
_DECIMALS = {"selection_ratio": 2, "odds_ratio": 2, "cohens_h": 3, "weighted_kappa": 3}


def _share(value: float) -> str:
    return f"{value:.1f}"


def signed_points(value: float) -> str:
    """Return a difference in points, as on an axis, with its sign."""
    return points(value / 100)


@dataclass(frozen=True)
class Figure:
    """An estimate with its limits, as on a chart's axis; NaN if it is not known.

    Shares are in percent and their differences in points; levels and scores in their own unit.

    Attributes
    ----------
    estimate, low, high : float
        On the axis.
    form : callable
        How each of them is written.
    ranged : bool
        Whether the limits are the range over all possible missing answers.
    """

    estimate: float
    low: float
    high: float
    form: Callable[[float], str] = _share
    ranged: bool = False

    @property
    def known(self) -> bool:
        """Check whether there is an estimate; under ``bounds`` there may be a range only."""
        return not math.isnan(self.estimate)

    @property
    def all(self) -> tuple[float, float, float]:
        """Return the estimate and its limits."""
        return self.estimate, self.low, self.high

    @property
    def ends(self) -> tuple[float, float]:
        """Return the estimate twice, or the limits of its range."""
        return (self.estimate, self.estimate) if self.known else (self.low, self.high)

    @property
    def middle(self) -> float:
        """Return the estimate, or the middle of its range."""
        return sum(self.ends) / 2

    @property
    def text(self) -> str:
        """Return the estimate in writing; empty if it is not known."""
        return self.form(self.estimate) if self.known else ""

    @property
    def limits(self) -> str:
        """Return the limits in writing; empty if they are not known."""
        if math.isnan(self.low) or math.isnan(self.high):
            return ""
        # Shares are never negative, so a dash between them is no minus sign.
        return ("–" if self.form is _share else " to ").join(map(self.form, (self.low, self.high)))

    @property
    def label(self) -> str:
        """Return the estimate in writing; without one, what is known."""
        return self.text or ("range" if self.ranged else "not known")

    def written(self, unit: str = "") -> str:
        """Return the estimate with its unit and, in brackets, its limits, or what is known."""
        if not self.known:
            return f"{self.label} ({self.limits}){unit}" if self.limits else self.label
        return f"{self.text}{unit} ({self.limits})" if self.limits else f"{self.text}{unit}"

    def at_most(self, end: float) -> Figure:
        """Return the figure with what is beyond the end of an axis at that end."""
        estimate, low, high = (min(one, end) for one in self.all)
        return replace(self, estimate=estimate, low=low, high=high)

    def cell(self, *, strong: bool = False, broken: bool = False) -> Markup:
        """Return the cell of a table; `broken` into two lines, if columns are narrow."""
        return filled("figure", figure=self, strong=strong, broken=broken)


UNKNOWN = Figure(math.nan, math.nan, math.nan)


def number(value: Any) -> float:
    """Return a cell of a table as a number; NaN if it is missing."""
    return math.nan if pd.isna(value) else float(value)


def figure_of(kind: Kind, row: Mapping[str, Any] | None) -> Figure:
    """Return an estimate of the table of estimates."""
    if row is None:
        return UNKNOWN
    scale, form = _scale_and_form(kind, str(row["metric"]))
    estimate, low, high = (scale * number(row[n]) for n in ("estimate", "ci_low", "ci_high"))
    return Figure(estimate, low, high, form, ranged=row["ci_method"] == "bounds")


def _scale_and_form(kind: Kind, metric: str) -> tuple[float, Callable[[float], str]]:
    """Return what a metric is multiplied with on an axis, and how it is written there."""
    if metric in _DECIMALS:
        return 1.0, partial(decimal, places=_DECIMALS[metric])
    if metric == "standardized_difference":
        return 1.0, kind.signed
    scale = scale_of(kind, metric)
    if metric in _SIGNED or metric.endswith("_difference"):
        return scale, kind.signed if scale == 1 else signed_points
    return scale, partial(decimal, places=2) if scale == 1 else _share


def p_cell(p: float) -> str:
    r"""Return a p-value for a table.

    Examples
    --------
    >>> p_cell(1e-9), p_cell(0.0312), p_cell(1.0), p_cell(float("nan"))
    ('<\xa00.001', '0.031', '1', '–')
    """
    return p_figure(p) or NONE
