"""The definition of a metric, and the data it is computed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.counts.grid import Grid
from fairstats.counts.outcomes import Once, Outcomes, unit_columns
from fairstats.counts.patterns import (
    INCOMPLETE,
    PATTERNS,
    CountingPolicy,
    GroupAnswers,
    IntArray,
    PolicyCounts,
    apply_policy,
    missing_per_group,
    of_each_pattern,
    per_answer,
    sums_by_unit,
)
from fairstats.counts.unit_sums import UnitSums, unit_sums
from fairstats.inference.clustered_answers import design_effect, few_clusters_effect
from fairstats.inference.unit_means import effective_number
from fairstats.inference.verdict import ROOM, rare_share, widened, with_room

Range = tuple[FloatArray, FloatArray]
#: Rows of a grid that are multiplied at once.
_BLOCK = 100_000
#: Kinds of answers, see `fairstats.benchmarks.kinds`.
CHOICES, DECISIONS, LEVELS, SCORES = ("choice",), ("decision",), ("level",), ("score",)
SHARES, NUMERIC = (*CHOICES, *DECISIONS), (*LEVELS, *SCORES)
ANY = (*SHARES, *NUMERIC)
#: Rows of the estimates table, by column: arrays of one length, or one value for all rows. Small
#: data frames would take most of an analysis.
Columns = Mapping[str, Any]


def columns_of(rows: Sequence[dict[str, Any]]) -> Columns:
    """Return rows with different columns by column; a value that a row lacks is None."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


@dataclass(frozen=True, eq=False)
class Pairs(Once):
    """The pairs of groups of one benchmark under a policy for missing answers.

    Attributes
    ----------
    outcomes : Outcomes
        Their outcome counts.
    missing : {"available", "complete", "incorrect"}
        The policy.
    alpha : float
        1 − confidence level.
    effects : mapping of str to ndarray
        The design effect of each metric with an `influence`; 1 if the answers of a pair are not
        clustered.
    tests : ndarray of int
        The number of tests over which each pair's p-value is adjusted.
    room : bool
        Whether intervals leave room for rare units.
    """

    outcomes: Outcomes
    missing: CountingPolicy
    alpha: float
    effects: Mapping[str, FloatArray]
    tests: IntArray
    room: bool = True

    @cached_property
    def paired(self) -> PolicyCounts:
        """Return the counts used under the policy."""
        own = self.outcomes
        return apply_policy(own.patterns, self.missing, copies=own.copies, pooled=own.pooled)

    @property
    def clustered(self) -> npt.NDArray[np.bool_]:
        """Return whether the answers of each pair are clustered."""
        return self.outcomes.clustered

    @cached_property
    def units(self) -> FloatArray:
        """Return the number of units of each pair, if all had the same size; ∞ without room."""
        units = in_clusters(self.outcomes, ~INCOMPLETE)
        return units if self.room else np.full_like(units, np.inf)

    @cached_property
    def room_units(self) -> FloatArray:
        """Return the `units` for which published limits have room; ∞ for the others.

        Of few declared clusters, the room would be most of each interval. Lopsided pairs need it.
        """
        room = self.outcomes.lopsided | (self.outcomes.benchmark.cluster is None)
        return np.where(room, self.units, np.inf)

    @property
    def tested(self) -> FloatArray:
        """Return the tested difference, 0, that limits with room go on to exclude; NaN without."""
        return np.where(self.outcomes.lopsided, np.nan, 0.0)

    @cached_property
    def _keys(self) -> dict[str, Any]:
        return pair_keys(self.outcomes)

    def rows(
        self, estimate: Estimate | None = None, paired: PolicyCounts | None = None
    ) -> dict[str, Any]:
        """Return a row of the estimates table per pair; `paired` gives its discordant counts."""
        columns = self._keys | (estimate.to_row() if estimate else {})
        return columns | ({"n10": paired.n10, "n01": paired.n01} if paired else {})


@dataclass(frozen=True, eq=False)
class Numbers(Once):
    """The pairs of groups of one benchmark of levels or scores under a policy.

    Attributes
    ----------
    outcomes : Outcomes
        Their outcomes.
    missing : {"available", "complete", "incorrect"}
        The policy.
    alpha : float
        1 − confidence level.
    tests : ndarray of int
        The number of tests over which each pair's p-value is adjusted.
    fill : (float, float), optional
        What missing answers of each group count as, also those to items that were not asked,
        instead of the policy's.
    room : bool
        As of `Pairs`.
    """

    outcomes: Outcomes
    missing: CountingPolicy
    alpha: float
    tests: IntArray
    fill: tuple[float, float] | None = None
    room: bool = True

    @cached_property
    def sums(self) -> list[UnitSums]:
        """Return the sums of each pair by independent unit."""
        filled = self.fill is not None
        return [
            unit_sums(self.outcomes, place, self.missing, fill=self.fill, unasked=filled)
            for place in range(len(self.outcomes))
        ]

    @cached_property
    def units(self) -> FloatArray:
        """Return the number of units of each pair, if all had the same size; ∞ without room."""
        units = sizes_of(self.sums)
        return units if self.room else np.full_like(units, np.inf)

    @cached_property
    def moves(self) -> dict[str, IntArray]:
        """Return the pairs in which only group a is higher, and only group b."""
        return {"n10": self._total("up"), "n01": self._total("down")}

    @cached_property
    def own_counts(self) -> dict[str, IntArray]:
        """Return the number of each group's answers that count."""
        return {name: self._total(name) for name in ("n_a", "n_b")}

    def _total(self, name: str) -> IntArray:
        totals = (round(float(getattr(one, name) @ one.many)) for one in self.sums)
        return np.array([*totals], dtype=np.int64)

    def rows(self, estimate: Estimate | None = None) -> dict[str, Any]:
        """Return a row of the estimates table per pair."""
        units = np.array([one.units for one in self.sums], dtype=np.int64)
        columns = pair_keys(self.outcomes) | {"n_units": units}
        return columns | (estimate.to_row() if estimate else {})


def flipped(outcomes: Outcomes) -> str:
    """Return what a test flips: the independent units, in the benchmark's words."""
    words = outcomes.benchmark.words
    return f"{words.items if outcomes.benchmark.cluster is None else words.clusters} flipped"


def in_clusters(outcomes: Outcomes, counted: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the number of units of each pair, if all had as many of the counted patterns."""
    found = np.full(len(outcomes), np.inf)
    for place, (cells, many) in outcomes.clusters.items():
        found[place] = effective_number(cells[:, counted].sum(axis=1), many)
    return found


def sizes_of(tables: Sequence[UnitSums]) -> FloatArray:
    """Return the number of units of each table, if all had as many answers."""
    return np.array([effective_number(one.n_a + one.n_b, one.many) for one in tables], dtype=float)


def roomy(
    found: Estimate,
    units: npt.ArrayLike,
    ends: tuple[float, float],
    alpha: float,
    *,
    tested: npt.ArrayLike = np.nan,
) -> Estimate:
    """Return an estimate with limits `with_room` for rare units, and says so where it is wider.

    Limits that exclude `tested` stay there, as the test does; NaN without a test that rejects.
    """
    limits = found.ci_low, found.ci_high
    wide = with_room(found.estimate, *limits, units=units, ends=ends, alpha=alpha)
    return _with_limits(found, *widened(*limits, *wide, tested=tested))


def roomy_contrast(
    found: Estimate,
    shares: tuple[FloatArray, FloatArray],
    contrast: Callable[[FloatArray, FloatArray], npt.ArrayLike],
    *,
    units: npt.ArrayLike,
    alpha: float,
    tested: npt.ArrayLike,
) -> Estimate:
    """Return a contrast of two shares with room for rare units in which only one group has 1."""
    # Without room there are no other ends: those of the estimate itself could differ by rounding.
    rare = np.where(np.isfinite(units), rare_share(units, alpha), np.nan)
    a, b = ((1 - rare) * share for share in shares)
    ends = contrast(a, np.minimum(b + rare, 1)), contrast(np.minimum(a + rare, 1), b)
    return _with_limits(found, *widened(found.ci_low, found.ci_high, *ends, tested=tested))


def _with_limits(found: Estimate, low: FloatArray, high: FloatArray) -> Estimate:
    """Return an estimate with limits that have room, and says so where they are wider."""
    wider = (low < found.ci_low) | (high > found.ci_high)
    method = np.asarray(found.method, dtype=object)
    named = np.where(wider, method + ROOM, method) if wider.any() else found.method
    return replace(found, ci_low=low, ci_high=high, method=named)


def pair_keys(outcomes: Outcomes) -> dict[str, Any]:
    """Return the columns that name each pair, and its missing answers."""
    missing = missing_per_group(outcomes.patterns)
    a, b = (per_answer(number, outcomes.copies) for number in missing)
    keys = outcomes.keys | {"n_missing_a": a, "n_missing_b": b}
    if outcomes.benchmark.cluster is not None:
        keys["n_units"] = outcomes.units_with_pairs
    return keys


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
class Samples(Once):
    """The letters of items with several samples, for one unit and pair.

    The attributes are the parameters of `fairstats.metrics.same_prompt.same_prompt`.
    """

    letters_a: npt.ArrayLike
    letters_b: npt.ArrayLike
    items: npt.ArrayLike
    samples: npt.ArrayLike
    missing: CountingPolicy
    alpha: float
    units: npt.ArrayLike | None = None
    alike: npt.ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Groups(Once):
    """All groups of a demographic attribute, for the answer sets that were asked for it.

    Attributes
    ----------
    answers : GroupAnswers
        The answers.
    missing, alpha
        As in `Pairs`.
    controls : tuple of GroupAnswers
        The answers of the control attributes.
    """

    answers: GroupAnswers
    missing: CountingPolicy = "available"
    alpha: float = 0.05
    controls: tuple[GroupAnswers, ...] = ()

    @property
    def attribute(self) -> Attribute:
        """Return the attribute."""
        return self.answers.attribute

    @property
    def benchmark(self) -> Benchmark:
        """Return the benchmark that declares it."""
        return self.answers.grid.benchmark

    @cached_property
    def units(self) -> IntArray:
        """Return the answer sets that were asked, as rows of `Grid.units`."""
        return np.unique(self.answers.grid.unit)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Return every two groups, by their places; a declared pair in its order."""
        names = list(self.attribute.groups)
        every = combinations(range(len(names)), 2)
        declared = self.attribute.pairs
        return tuple((b, a) if (names[b], names[a]) in declared else (a, b) for a, b in every)

    def rows(self) -> dict[str, Any]:
        """Return the columns of the estimates table that name each answer set."""
        return unit_columns(self.answers.grid, self.units) | {"attribute": self.attribute.name}

    @property
    def several(self) -> npt.NDArray[np.bool_]:
        """Return whether each of `units` has several samples of an item."""
        return np.asarray(self.answers.copies[self.units] > 1)

    @property
    def clustered(self) -> npt.NDArray[np.bool_]:
        """Return whether each of `units` has several samples of an item, or clusters of items."""
        return self.several | bool(len(self.answers.grid.cluster))

    def by_unit(self, table: IntArray) -> IntArray:
        """Add the rows of a table up, weighted by their items, one row per answer set."""
        grid = self.answers.grid
        weighted = table * grid.many.reshape(-1, *[1] * (table.ndim - 1))
        return sums_by_unit(grid.unit, weighted, len(grid.units))[self.units]

    @cached_property
    def patterns(self) -> IntArray:
        """Count outcome patterns by neutral answer (right, wrong, missing), (units, pairs, 3, 11).

        Each pair of answers counts `GroupAnswers.neutral_copies` times, spread evenly over the
        neutralized answers of its item.
        """
        return self.patterns_where(np.ones(len(self.answers.rows), dtype=bool))

    def patterns_where(self, there: npt.NDArray[np.bool_]) -> IntArray:
        """Return `patterns` of some rows."""
        grid = self.answers.grid
        neutral = self.answers.neutral * (self.answers.neutral_weights * there * grid.many)[:, None]
        found = np.zeros((len(grid.units), len(self.pairs), 3, len(PATTERNS)), dtype=np.int64)
        for place, (a, b) in enumerate(self.pairs):
            cells = self.answers.cells(a, b)
            # In blocks: the products are several times as large as the answers.
            for start in range(0, len(cells), _BLOCK):
                own = slice(start, start + _BLOCK)
                products = neutral[own][:, :, None] * cells[own][:, None]
                found[:, place] += sums_by_unit(grid.unit[own], products, len(grid.units))
        return found[self.units]

    def why_clustered(self, unit: int) -> str:
        """Return why an answer set has no figure that needs independent rows; empty if it has."""
        if len(self.answers.grid.cluster):
            return "the rows of a cluster are not independent: "
        return "several samples per item: " if self.answers.copies[unit] > 1 else ""

    @property
    def items_asked(self) -> IntArray:
        """Return the number of items that were asked, by answer set."""
        return self.by_unit(np.ones(len(self.answers.rows), dtype=np.int64))

    @property
    def pairs_asked(self) -> IntArray:
        """Return the number of pairs of answers over every two groups, by answer set."""
        copies = self.answers.neutral_copies[self.units]
        return per_answer(self.patterns.sum(axis=(1, 2, 3)), copies)

    @cached_property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Return whether each row has an answer for every group; if missing is wrong, all have."""
        if self.missing == "incorrect":
            return np.ones(len(self.answers.rows), dtype=bool)
        return np.asarray((self.answers.missing == 0).all(axis=1))

    def complete(self, unit: int) -> tuple[IntArray, IntArray]:
        """Return right (1) and wrong (0) answers of an answer set to every group, and items."""
        grid = self.answers.grid
        span = grid.span(unit)
        whole = self.whole[span]
        return self.answers.right[span][whole], grid.many[span][whole]


def design_effect_of(
    metric: PairMetric,
    cells: IntArray,
    many: IntArray,
    copies: int,
    missing: CountingPolicy,
    *,
    pooled: bool = False,
    few: float | None = None,
) -> float:
    """Compute the factor by which clustering widens an estimate of one pair.

    It divides numbers of pairs, or numbers of answers for estimates of one group. With s samples of
    an item there are s² pairs of answers, but only s answers of a group. So the effect for an
    estimate of pairs is never below `copies`, the number of pairs that share an answer. `few` is
    the alpha of the intervals for clusters that can be few and of unequal size, see
    `few_clusters_effect`.
    """
    assert metric.influence is not None
    influence = metric.influence(Patterns(of_each_pattern(missing, pooled=pooled), many @ cells))
    if few is None:
        effect = design_effect(cells, many, influence, copies=copies)
    else:
        effect = few_clusters_effect(cells, many, influence, alpha=few, copies=copies)
    return effect if metric.rests_on == "one group" else effect * copies


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
    order : float
        Its sort key in tables.
    lowest, highest : float, optional
        The range of the estimate; None if unbounded.
    ideal : float, optional
        The value for a model that is always right, for every group.
    kinds : tuple of str
        The kinds of answers that have it.
    rests_on : {"pairs", "one group", "both groups"}
        Whether it is of pairs of answers, of the answers of one group, or of each group's answers.
    """

    name: str
    label: str
    definition: str
    formula: str = ""
    interval: str = ""
    order: float
    lowest: float | None = None
    highest: float | None = None
    ideal: float | None = None
    kinds: tuple[str, ...] = CHOICES
    rests_on: Literal["pairs", "one group", "both groups"] = "pairs"

    def label_of(self, a: str = "group a", b: str = "group b") -> str:
        """Return the label with the groups' names."""
        return self.label.format(a=a, b=b)

    @property
    def ends(self) -> tuple[float, float] | None:
        """Return the lowest and highest value; None if there is no such value."""
        if self.lowest is None or self.highest is None or math.isinf(self.highest):
            return None
        return self.lowest, self.highest

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
    """

    compute: Callable[[Pairs], Estimate | Columns]
    influence: Callable[[Patterns], FloatArray] | None = None
    bounds: Callable[[Mapping[str, FloatArray]], Range] | None = None
    bounds_rows: Callable[[Pairs], Columns] | None = None


@dataclass(frozen=True, kw_only=True)
class NumberMetric(Metric):
    """A metric of a pair of groups, of levels or scores.

    Attributes
    ----------
    compute : callable
        Maps `Numbers` to estimates, or to rows of the estimates table, by column.
    side : {"", "a", "b"}
        The group of which it is the mean, if it is one.
    """

    compute: Callable[[Numbers], Estimate | Columns]
    side: Literal["", "a", "b"] = ""


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
        Returns its rows of the estimates table, by column: one per answer set, or several with
        their own keys.
    bounds : callable, optional
        Returns the lowest and the highest value over all fill-ins of missing answers, per answer
        set.
    besides : {"", "neutralized", "controls"}
        The answers that it needs besides those for the attribute's groups.
    """

    applies: Callable[[Groups], bool]
    compute: Callable[[Groups], Columns]
    bounds: Callable[[Groups], Range] | None = None
    besides: Literal["", "neutralized", "controls"] = ""


@dataclass(frozen=True, kw_only=True)
class KeyMetric(Metric):
    """A metric that compares answers with the key, where the kind of answers has a key besides.

    It is another metric of answers that are derived from the given ones: e.g. the share of
    favourable decisions among the items whose key is favourable.

    Attributes
    ----------
    base : PairMetric or NumberMetric
        The metric of the derived answers.
    derive : callable
        Maps the grid of answers to the derived one.
    """

    base: PairMetric | NumberMetric
    derive: Callable[[Grid], Grid]
