"""The definition of a metric, and the data it is computed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats._lib.row_groups import row_keys, text_array
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.counts.missing_policies import (
    CountingPolicy,
    IntArray,
    PolicyCounts,
    apply_policy,
    copies_of,
    missing_per_group,
)
from fairstats.counts.outcomes import PAIR_COLUMNS, whatever_the_neutral_answer
from fairstats.counts.sample_weights import per_answer

Range = tuple[FloatArray, FloatArray]
Row = dict[str, Any]
#: Rows of the estimates table, by column: arrays of one length, or one value for all rows. Small
#: data frames would take most of an analysis.
Columns = Mapping[str, Any]
T = TypeVar("T")


class _Once:
    """Cache of values shared by several metrics."""

    def once(self, compute: Callable[[Self], T]) -> T:
        """Return ``compute(self)``, computed at the first call only."""
        known = self.__dict__.setdefault("_known", {})
        if compute not in known:
            known[compute] = compute(self)
        return known[compute]

    def keep(self, compute: Callable[[Self], T], value: T) -> None:
        """Store a value of ``compute(self)`` that was computed together with others."""
        self.__dict__.setdefault("_known", {})[compute] = value


@dataclass(frozen=True, eq=False)
class Pairs(_Once):
    """The pairs of groups of one benchmark, one element or row per unit and pair.

    Attributes
    ----------
    counts : pandas.DataFrame
        Their outcome counts, from `fairstats.counts.outcomes.pair_counts`.
    items : pandas.DataFrame
        The kinds of items of pairs with clustered answers, from
        `fairstats.counts.item_kinds.count_items`.
    letters : pandas.DataFrame
        Their letters, `fairstats.counts.outcomes.Folds.letters`.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers.
    alpha : float
        1 − confidence level.
    effects : mapping of str to ndarray
        The design effect of each metric with an `influence`.
    tests : ndarray of int
        The number of tests over which each pair's p-value is adjusted.
    """

    counts: pd.DataFrame
    items: pd.DataFrame
    letters: pd.DataFrame
    missing: CountingPolicy
    alpha: float
    effects: Mapping[str, FloatArray]
    tests: IntArray

    @cached_property
    def paired(self) -> PolicyCounts:
        """Return the counts used under the policy."""
        return apply_policy(self.counts, self.missing)

    @cached_property
    def clustered(self) -> npt.NDArray[np.bool_]:
        """Return whether the answers of each pair are clustered."""
        if self.items.empty:
            return np.zeros(len(self.counts), dtype=bool)
        several = set(row_keys(self.items, PAIR_COLUMNS))
        found = [key in several for key in row_keys(self.counts, PAIR_COLUMNS)]
        return np.array(found, dtype=bool)

    @cached_property
    def _keys(self) -> dict[str, Any]:
        copies = copies_of(self.counts)
        a, b = (per_answer(missing, copies) for missing in missing_per_group(self.counts))
        keys = {name: text_array(self.counts[name]) for name in PAIR_COLUMNS}
        return keys | {"n_missing_a": a, "n_missing_b": b}

    def rows(
        self, estimate: Estimate | None = None, paired: PolicyCounts | None = None
    ) -> dict[str, Any]:
        """Return a row of the estimates table per pair; `paired` gives its discordant counts."""
        columns = self._keys | (estimate.to_row() if estimate else {})
        return columns | ({"n10": paired.n10, "n01": paired.n01} if paired else {})


@dataclass(frozen=True, eq=False)
class Patterns:
    """One pair of each of the ten outcome patterns, and the number of each in a unit.

    Attributes
    ----------
    one : PolicyCounts
        The pair's contribution to the counts under the policy for missing answers.
    totals : ndarray of int
        The number of pairs with each pattern.
    """

    one: PolicyCounts
    totals: IntArray

    def share(self, part: npt.ArrayLike, whole: npt.ArrayLike) -> FloatArray:
        """Return the contribution of one pair of each pattern to part / whole, linearised."""
        part, whole = np.asarray(part), np.asarray(whole)
        size = float(self.totals @ whole)
        if size == 0:
            return np.zeros(len(self.totals))
        return (part - float(self.totals @ part) / size * whole) / size


@dataclass(frozen=True, eq=False)
class Samples(_Once):
    """The letters of items with several samples, for one unit and pair.

    The attributes are the parameters of `fairstats.metrics.same_prompt.same_prompt`.
    """

    letters_a: npt.ArrayLike
    letters_b: npt.ArrayLike
    items: npt.ArrayLike
    samples: npt.ArrayLike
    missing: CountingPolicy
    alpha: float


@dataclass(frozen=True, eq=False)
class Groups(_Once):
    """All groups of a demographic attribute, for one unit.

    Attributes
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns, `fairstats.counts.outcomes.Folds.outcomes`.
    attribute, benchmark
        The attribute, and the benchmark that declares it.
    missing, alpha
        As in `Pairs`.
    effects, answerable_effects, ratio_effects : mapping of (int, int) to float
        The design effects of the pairs of groups, by position: of differences over all items and
        over the answerable ones, and of ratios. Empty if each item was answered once.
    """

    outcomes: pd.DataFrame
    attribute: Attribute
    benchmark: Benchmark
    missing: CountingPolicy = "available"
    alpha: float = 0.05
    effects: Mapping[tuple[int, int], float] = field(default_factory=dict)
    answerable_effects: Mapping[tuple[int, int], float] = field(default_factory=dict)
    ratio_effects: Mapping[tuple[int, int], float] = field(default_factory=dict)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Return the patterns, ignoring the neutral answer."""
        return whatever_the_neutral_answer(self.outcomes)

    @cached_property
    def complete(self) -> tuple[IntArray, IntArray]:
        """Return right and wrong answers over all groups, for items with an answer for each."""
        signs = self.pairs["outcomes"]
        if self.missing == "incorrect":
            signs = signs.str.replace("x", "0")
        rows = self.pairs[~signs.str.contains("x")]
        states = [[int(sign) for sign in text] for text in signs[rows.index]]
        k = len(self.pairs["outcomes"].iloc[0])
        return (
            np.array(states, dtype=np.int64).reshape(len(rows), k),
            rows["n"].to_numpy(dtype=np.int64),
        )


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric in the estimates table. Those at the top level of files in this folder are known.

    Attributes
    ----------
    name : str
        Its name in the column ``metric``.
    label : str
        Its name on pages, with ``{a}`` and ``{b}`` for the groups.
    definition : str
        What it is, in one or two sentences.
    formula : str
        The definition in LaTeX; may be empty.
    interval : str
        The method of its interval; empty if it has no interval.
    order : int
        Its sort key in tables.
    lowest, highest : float, optional
        The range of the estimate; None if unbounded.
    ideal : float, optional
        The value for a model that is always right, for every group.
    """

    name: str
    label: str
    definition: str
    formula: str = ""
    interval: str = ""
    order: int
    lowest: float | None = None
    highest: float | None = None
    ideal: float | None = None

    def label_of(self, a: str = "group a", b: str = "group b") -> str:
        """Return the label with the groups' names."""
        return self.label.format(a=a, b=b)

    @property
    def range(self) -> str:
        """Return the range of the estimate in words."""
        if self.lowest is None or self.highest is None:
            return ""
        return f"{_number(self.lowest)} to {_number(self.highest)}"


def _number(value: float) -> str:
    names = {math.pi: "π", -math.pi: "−π", math.inf: "infinity"}
    return names.get(value) or f"{value:g}".replace("-", "−")


@dataclass(frozen=True, kw_only=True)
class PairMetric(Metric):
    """A metric of a pair of groups.

    Attributes
    ----------
    compute : callable
        Maps `Pairs` to estimates. Or to rows of the estimates table, by column, for a test or if a
        pair can have no row or several.
    influence : callable, optional
        Maps `Patterns` to the contribution of one pair of each pattern to the estimate, linearised.
        The interval then has a design effect. If missing, clustered answers have no interval.
    bounds : callable, optional
        Takes the number of pairs of each outcome pattern by name, and the total ``n``. Returns the
        lowest and the highest value over all fill-ins of missing answers.
    bounds_rows : callable, optional
        Maps `Pairs` to the rows under the policy ``bounds``, if they are not a range.
    rests_on : {"pairs", "one group", "both groups"}
        Whether n counts pairs, the answers of one group, or a separate number for each group.
    """

    compute: Callable[[Pairs], Estimate | Columns]
    influence: Callable[[Patterns], FloatArray] | None = None
    bounds: Callable[[Mapping[str, FloatArray]], Range] | None = None
    bounds_rows: Callable[[Pairs], Columns] | None = None
    rests_on: Literal["pairs", "one group", "both groups"] = "pairs"


@dataclass(frozen=True, kw_only=True)
class SampleMetric(Metric):
    """A metric of a pair of groups that needs several samples of an item; `note` is its note."""

    compute: Callable[[Samples], Estimate]
    note: str


@dataclass(frozen=True, kw_only=True)
class GroupsMetric(Metric):
    """A metric of a whole attribute.

    Attributes
    ----------
    applies : callable
        Takes `Groups` and returns whether the metric applies.
    compute : callable
        Returns its rows of the estimates table.
    bounds : callable, optional
        Returns the lowest and the highest value over all fill-ins of missing answers.
    together : callable, optional
        Takes the `Groups` of many units and caches in each the values that `compute` needs.
    """

    applies: Callable[[Groups], bool]
    compute: Callable[[Groups], Iterable[Row]]
    bounds: Callable[[Groups], tuple[float, float]] | None = None
    together: Callable[[Sequence[Groups]], None] | None = None
