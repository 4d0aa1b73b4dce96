"""Limits on the figures of answers, and the checks that they give for a benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairstats._lib.formatting import uncapital
from fairstats._lib.problems import Problem, keyword, parameter, refuse
from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.metrics.accuracy import absolute_interval
from fairstats.metrics.interaction import INTERACTION
from fairstats.metrics.registry import METRICS

EQUIVALENCE = "equivalent"
# Ratios of group a to group b: which group is a does not matter.
_RATIOS = ("selection_ratio", "accuracy_ratio", "odds_ratio", "impact_ratio")
# Ranges over groups are differences, but never negative.
_RANGES = ("demographic_parity", "dp", "eo")


@dataclass(frozen=True)
class Limits:
    """The limits to check; at least one.

    Attributes
    ----------
    largest, smallest : mapping of str to float
        By metric of `fairstats.analyze`, what it must be below, or above, in every pair: e.g.
        ``{"ad": 0.05}`` and ``{"cfr": 0.9}``. Of a difference between groups, the absolute value
        must be below its limit; of a ratio, both the ratio and its inverse must be above.
    equivalent : bool
        Whether the absolute difference must be below the benchmark's equivalence margin in every
        pair.
    margin : float or None
        A margin that replaces the benchmark's.
    """

    largest: Mapping[str, float] = field(default_factory=dict)
    smallest: Mapping[str, float] = field(default_factory=dict)
    equivalent: bool = False
    margin: float | None = None

    def problems(self) -> list[Problem]:
        """Return what is wrong with the limits, whatever the benchmark is."""
        found = [
            Problem(f"{parameter(side)} {name}", f"{value} is not a finite number", "correct it")
            for side in ("largest", "smallest")
            for name, value in getattr(self, side).items()
            if not math.isfinite(value)
        ]
        equivalent = keyword("equivalent", True)
        if self.margin is not None and not self.equivalent:
            message, remedy = f"is used only by {equivalent}", f"add {equivalent}"
            found.append(Problem(parameter("margin"), message, remedy))
        if not self.largest and not self.smallest and not self.equivalent:
            remedy = f"give {parameter('largest')}, {equivalent} or {parameter('smallest')}"
            found.append(Problem("gate", "there is no limit to check", remedy))
        return found

    def checks(self, benchmark: Benchmark) -> list[Check]:
        """Return the checks of a benchmark's answers; refuse limits that cannot be kept."""
        found = [Check(f"max_{name}", name, True, x, benchmark) for name, x in self.largest.items()]
        if self.equivalent:
            margin = benchmark.equivalence_margin if self.margin is None else self.margin
            found.append(Check(EQUIVALENCE, benchmark.kind.difference, True, margin, benchmark))
        # The absolute difference has several names, but the same limit is one check.
        first: dict[tuple[bool | str, bool, float], Check] = {}
        for one in found:
            first.setdefault((one.judged or one.metric, one.is_largest, one.limit), one)
        found = [*first.values()]
        found += [
            Check(f"min_{name}", name, False, x, benchmark) for name, x in self.smallest.items()
        ]
        problems = [problem for check in found for problem in check.problems()]
        refuse(problems)
        return found


@dataclass(frozen=True)
class Check:
    """A limit of one metric.

    Attributes
    ----------
    name : str
        Its name in the table: ``"max_ad"``, ``"equivalent"``.
    metric : str
        The metric.
    is_largest : bool
        Whether the metric must be below the limit; if not, above it.
    limit : float
        The limit.
    benchmark : Benchmark
        What the answers are to.
    """

    name: str
    metric: str
    is_largest: bool
    limit: float
    benchmark: Benchmark

    @property
    def judged(self) -> bool:
        """Return whether it limits the absolute difference that decides verdicts."""
        kind = self.benchmark.kind
        return self.metric in (kind.difference, kind.disparity)

    @property
    def is_absolute(self) -> bool:
        """Return whether it limits the absolute value: which group is a does not matter."""
        return self.is_largest and _is_difference(self.metric)

    @property
    def span(self) -> float:
        """Return the largest possible absolute value; infinite if there is none."""
        if self.judged:
            return self.benchmark.span
        known = METRICS[self.metric]
        ends = (known.lowest, known.highest)
        return max(math.inf if end is None else abs(end) for end in ends)

    def problems(self) -> Iterator[Problem]:
        """Return why it cannot be checked."""
        side = parameter("largest" if self.is_largest else "smallest")
        where = parameter("margin") if self.name == EQUIVALENCE else f"{side} {self.metric}"
        known, kind = METRICS.get(self.metric), self.benchmark.kind
        if not self.judged and (known is None or not known.interval):
            remedy = f"use one of `analyze` that has an interval, e.g. {kind.difference} or cfr"
            yield Problem(where, "is no such figure", remedy)
        elif not self.is_largest and (
            self.judged or _is_difference(self.metric) or METRICS[self.metric].ideal == 0
        ):
            remedy = f"limit its absolute value with {parameter('largest')}"
            yield Problem(where, "is best at 0", remedy)
        elif self.is_largest and self.metric in _RATIOS:
            # Of two groups in the other order, the ratio is the inverse.
            least = min(self.limit, 1 / self.limit) if self.limit > 0 else 0.8
            limited = keyword("smallest", {self.metric: round(least, 2)})
            yield Problem(where, "is a ratio of two groups", f"limit it and its inverse: {limited}")
        elif self.metric == INTERACTION.name:
            remedy = "declare pairs of the crossed groups, and limit their differences"
            yield Problem(where, "is of two attributes, not of a pair of groups", remedy)
        elif not self._least < self.limit < self.span:
            said = f"{self.limit:g} is not between {self._least:g} and {self.span:g}"
            remedy = "write 5 points as 0.05" if self.span == 1 else "give it in its own unit"
            yield Problem(where, said, remedy)

    @property
    def _least(self) -> float:
        """Return the lowest possible value of what is limited."""
        if self.judged or self.is_absolute or METRICS[self.metric].lowest == 0:
            return 0.0
        return -self.span

    def turned(self, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the range of what is limited: absolute values, or the smaller of two ratios."""
        if self.is_absolute or self.judged:
            return absolute_interval(low, high)
        if self.metric in _RATIOS:
            with np.errstate(divide="ignore"):
                ends = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
                lowest = np.minimum(ends[0], 1 / ends[1])
                highest = np.minimum(1 / ends[0], ends[1])
                inside = (ends[0] <= 1) & (ends[1] >= 1)
            return lowest, np.where(inside, 1.0, highest)
        return np.asarray(low, dtype=float), np.asarray(high, dtype=float)

    def shown(self, value: float, *, unit: bool = False) -> str:
        """Return a value as it is printed, with its unit if asked."""
        kind, known = self.benchmark.kind, METRICS.get(self.metric)
        if self.judged and kind.numeric:
            text, name = f"{value:.2f}", f" {kind.unit}"
        elif self.judged or (known and known.highest == 1 and self.metric not in _RATIOS):
            is_gap = self.judged or _is_difference(self.metric) or self.metric in _RANGES
            text, name = f"{100 * value:.1f}", " points" if is_gap else "%"
        else:
            text, name = f"{value:.2f}", ""
        return text + name * unit

    def label(self, a: str | None, b: str | None) -> str:
        """Return the metric's name in a line."""
        kind = self.benchmark.kind
        if self.judged:
            return "AD" if kind is CHOICE else f"absolute {METRICS[kind.difference].label.lower()}"
        label = uncapital(METRICS[self.metric].label)
        if label[:2].isupper():
            label = label.partition(",")[0]  # "CFR, counterfactual fairness rate"
        label = label.format(a=a or "group a", b=b or "group b")
        return f"absolute {label}" if self.is_absolute else label


def _is_difference(metric: str) -> bool:
    """Return whether a metric only changes its sign if the groups change places."""
    name = metric.removesuffix("_simultaneous")
    return name.endswith("difference") or name in ("cohens_h", "net_moved")
