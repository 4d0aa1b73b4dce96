"""The outcomes of all counterfactual pairs, counted from the grid of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar
from weakref import ref

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import Problem, refuse
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, open_pairs
from fairstats.benchmarks.declaration import BASELINE, POOLED, POOLED_GROUPS, Benchmark
from fairstats.counts.grid import NOT_ASKED, Grid, item_grid, joined_grid, with_unasked
from fairstats.counts.patterns import (
    INCOMPLETE,
    PATTERNS,
    GroupAnswers,
    IntArray,
    common_copies,
    is_lopsided,
    pooled_attributes,
    pooled_pairs,
    sums_by_unit,
)

Texts = npt.NDArray[np.object_]
# Joined rows are paired in blocks, to limit memory.
_BLOCK = 2**18
T = TypeVar("T")
#: The complete pattern of each incomplete one in the extreme completions: in favour of a, of b, of
#: both and of neither (with different answers), and with the same answers.
EXTREMES = (
    {"n1x": "n10", "n0x": "n00_different", "nx1": "n11", "nx0": "n10", "nxx": "n10"},
    {"n1x": "n11", "n0x": "n01", "nx1": "n01", "nx0": "n00_different", "nxx": "n01"},
    {"n1x": "n11", "n0x": "n01", "nx1": "n11", "nx0": "n10", "nxx": "n11"},
    {
        "n1x": "n10",
        "n0x": "n00_different",
        "nx1": "n01",
        "nx0": "n00_different",
        "nxx": "n00_different",
    },
    {"n1x": "n11", "n0x": "n00_same", "nx1": "n11", "nx0": "n00_same", "nxx": "n00_same"},
)


class Once:
    """Cache of values that several computations share."""

    def once(self, compute: Callable[[Self], T]) -> T:
        """Return ``compute(self)``, computed at the first call only."""
        known = self.__dict__.setdefault("_known", {})
        if compute not in known:
            known[compute] = compute(self)
        return known[compute]


@dataclass(frozen=True, eq=False)
class Outcomes(Once):
    """The outcomes of the answers to one benchmark, counted for every pair of groups.

    Arrays have one element or row per answer set and pair: the declared pairs of the attributes
    that it was asked, and the pooled ones.

    Attributes
    ----------
    grid : Grid
        The answers.
    groups : dict of str to GroupAnswers
        The answers of each attribute that has any.
    unit : ndarray of int
        The answer set, a row of `Grid.units`.
    attribute, group_a, group_b : ndarray of str
        The pair.
    patterns : ndarray of int, shape (pairs, 11)
        The number of pairs of answers with each of `PATTERNS`. With several samples of an item,
        every answer of one group is paired with every answer of the other, see `GroupAnswers`.
    copies : ndarray of int
        The number of pairs that share an answer, see `GroupAnswers.copies`.
    clusters : dict of int to (ndarray, ndarray)
        For the pairs with several pairs of answers to an independent unit (several samples, pooled
        attributes, a declared cluster): by place, the patterns of each unit, and the number of such
        units.
    by_item : callable
        Returns the answers with one row per item of an answer set.
    """

    grid: Grid
    groups: dict[str, GroupAnswers]
    unit: IntArray
    attribute: Texts
    group_a: Texts
    group_b: Texts
    patterns: IntArray
    copies: IntArray
    clusters: dict[int, tuple[IntArray, IntArray]]
    by_item: Callable[[], Grid]

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def benchmark(self) -> Benchmark:
        """Return the benchmark."""
        return self.grid.benchmark

    @cached_property
    def keys(self) -> dict[str, Texts]:
        """Return the columns that name each pair, `PAIR_COLUMNS`."""
        names = ("attribute", "group_a", "group_b")
        return unit_columns(self.grid, self.unit) | {name: getattr(self, name) for name in names}

    @property
    def pooled(self) -> npt.NDArray[np.bool_]:
        """Return whether each pair is the pooled one."""
        return np.asarray(self.attribute == POOLED)

    @cached_property
    def lopsided(self) -> npt.NDArray[np.bool_]:
        """Return whether each pair is the pooled one of `is_lopsided`, which has no test."""
        return self.pooled & is_lopsided(self.benchmark)

    @cached_property
    def untested(self) -> npt.NDArray[np.bool_]:
        """Return whether each pair is of the baseline or a control, or lopsided: not judged."""
        names = [BASELINE, *(attribute.name for attribute in self.benchmark.controls)]
        return np.isin(self.attribute.astype(str), names) | self.lopsided

    @cached_property
    def clustered(self) -> npt.NDArray[np.bool_]:
        """Return whether the answers of each pair are clustered."""
        return np.isin(np.arange(len(self)), list(self.clusters))

    @cached_property
    def fewer_samples(self) -> npt.NDArray[np.bool_]:
        """Return the pairs of attributes with fewer samples of items than another attribute.

        The samples could be the chosen ones of those that all attributes had. Those of few items,
        at most ``largest_missing``, do not count.
        """
        grid, found = self.grid, np.zeros(len(self), dtype=bool)
        asked = grid.answers != NOT_ASKED
        samples = {}
        for name in sorted(self.groups.keys() & self.benchmark.varied_names):
            source = self.groups[name].crossing or self.groups[name].attribute
            columns = [grid.columns[source.name, group] for group in source.groups]
            samples[name] = asked[:, columns].sum(axis=2).max(axis=1)
        for name, own in samples.items():
            fewer = (own > 0) & (own < np.maximum.reduce([*samples.values()]))
            number = np.column_stack([fewer, own > 0]) * grid.many[:, None]
            few, items = sums_by_unit(grid.unit, number, len(grid.units)).T
            over = few > self.benchmark.largest_missing * items
            found |= (self.attribute == name) & over[self.unit]
        return found

    @cached_property
    def letters(self) -> IntArray:
        """Count the letters of complete pairs of items answered once, (pairs, options, options)."""
        size = len(self.grid.options)
        found = np.zeros((len(self), size, size), dtype=np.int64)
        for name, own in self.groups.items():
            once = own.samples == 1
            grid = own.grid.rows(once)
            for a, b in own.attribute.pairs:
                one, other = (grid.answers[:, grid.columns[name, g]].max(axis=1) for g in (a, b))
                both = (one >= 0) & (other >= 0)
                table = np.zeros((len(grid.units), size, size), dtype=np.int64)
                np.add.at(table, (grid.unit[both], one[both], other[both]), grid.many[both])
                here = (self.attribute == name) & (self.group_a == a) & (self.group_b == b)
                found[here] = table[self.unit[here]]
        return found

    @cached_property
    def units_with_pairs(self) -> IntArray:
        """Count the independent units that have a pair with both answers."""
        complete = [name for name in range(len(PATTERNS)) if not INCOMPLETE[name]]
        found = self.patterns[:, complete].sum(axis=1) // np.maximum(self.copies, 1) ** 2
        for place, (cells, many) in self.clusters.items():
            found[place] = int(many[cells[:, complete].sum(axis=1) > 0].sum())
        return found

    def items_asked(self, attribute: str) -> IntArray:
        """Return the number of items that were asked for an attribute, by answer set."""
        return self.item_rows(attribute) // self.groups[attribute].per_item

    def item_rows(self, attribute: str) -> IntArray:
        """Return the number of rows, `GroupAnswers.per_item` of each item, by answer set."""
        own = self.groups[attribute].grid
        return sums_by_unit(own.unit, own.many, len(own.units))

    def rows_asked(self, attribute: str) -> IntArray:
        """Return the number of answers, missing ones included, (answer sets, groups)."""
        own = self.groups[attribute]
        table = own.asked * own.grid.many[:, None]
        return sums_by_unit(own.grid.unit, table, len(own.grid.units))

    @cached_property
    def unasked(self) -> tuple[IntArray, IntArray]:
        """Count the items that each pair was not asked, and those it should have been asked.

        For the pooled pairs, both are summed over the pairs of the attributes that were asked.
        """
        whole = len(self.benchmark.items)
        without, should = np.zeros((2, len(self)), dtype=np.int64)
        pooled = [attribute.name for attribute, _ in pooled_pairs(self.benchmark)]
        for name in self.groups:
            asked = self.items_asked(name)[self.unit]
            times = (self.attribute == name) + pooled.count(name) * self.pooled
            times = times * (asked > 0)
            without += times * np.maximum(whole - asked, 0)
            should += times * np.maximum(whole, asked)
        return without, should

    @property
    def with_unasked(self) -> Outcomes:
        """Return the outcomes with items that were not asked as missing for both groups.

        With several samples, an item has several pairs, whether or not it was asked.
        """
        # Outcomes that kept themselves would be freed late.
        return self.once(_with_unasked) if self.unasked[0].any() else self

    def completed(self, extreme: Mapping[str, str]) -> Outcomes:
        """Return the outcomes in an extreme completion, one of `EXTREMES`, items not asked too."""
        whole, moved = self.with_unasked, moved_to(extreme)
        clusters = {at: (cells @ moved, many) for at, (cells, many) in whole.clusters.items()}
        return replace(whole, patterns=whole.patterns @ moved, clusters=clusters)


def _with_unasked(outcomes: Outcomes) -> Outcomes:
    return count_grid(with_unasked(outcomes.grid))


def moved_to(extreme: Mapping[str, str]) -> IntArray:
    """Return the matrix by which counts of `PATTERNS` become those in an extreme completion."""
    to = [PATTERNS.index(extreme.get(name, name)) for name in PATTERNS]
    return np.eye(len(PATTERNS), dtype=np.int64)[to]


def unit_columns(grid: Grid, unit: IntArray) -> dict[str, Texts]:
    """Return `UNIT_COLUMNS` of these answer sets, as arrays of texts."""
    return {name: grid.units[name].to_numpy(dtype=object)[unit] for name in UNIT_COLUMNS}


def outcomes_of(opened: OpenAnswers) -> dict[str, Outcomes]:
    """Count the outcomes of each benchmark's answers, once per open table."""

    def count() -> dict[str, Outcomes]:
        own = open_pairs(opened)
        # The open table keeps its outcomes: if these kept it too, both would be freed late.
        still, again = ref(own), replace(own)
        return {
            name: count_grid(
                joined_grid(own, known),
                lambda known=known: item_grid(still() or again, known),  # type: ignore[misc]
            )
            for name, known in own.benchmarks.items()
        }

    return opened.once("outcomes", count)


def count_grid(grid: Grid, by_item: Callable[[], Grid] | None = None) -> Outcomes:
    """Count the outcomes of the answers in a grid; without `by_item`, it has one row per item."""
    groups = groups_of(grid)
    refuse(_mixed_problems(grid, groups))
    if not len(grid.item):
        groups = {name: own.joined() for name, own in groups.items()}
    everywhere = np.ones(len(grid.units), dtype=bool)
    empty, no_names = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object)
    parts = [(empty, *[no_names] * 3, np.zeros((0, len(PATTERNS)), dtype=np.int64), empty)]
    clusters, start = {}, 0
    for pair, rows, cells in item_patterns_of(grid, groups):
        pooled = pair[0] == POOLED
        # Those of a crossing have several rows per item.
        every = pooled or bool(len(rows.cluster)) or grid.benchmark.cluster is not None
        clustered = everywhere if every else groups[pair[0]].copies > 1
        # The answer sets that were asked, and their first rows.
        unit, first = np.unique(rows.unit, return_index=True)
        stops = np.append(first[1:], len(rows.unit))
        for place in np.flatnonzero(clustered[unit]):
            span = slice(first[place], stops[place])
            clusters[start + int(place)] = by_cluster(rows, span, cells[span])
        start += len(unit)
        names = [np.full(len(unit), name, dtype=object) for name in pair]
        patterns = sums_by_unit(rows.unit, cells * rows.many[:, None], len(grid.units))[unit]
        copies = _pooled_copies(grid, groups) if pooled else groups[pair[0]].copies
        parts.append((unit, *names, patterns, copies[unit]))
    found: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Outcomes(grid, groups, *found, *[clusters, by_item or (lambda: grid)])


def texts_asked(
    table: pd.DataFrame, counted: Iterable[Outcomes]
) -> dict[str, npt.NDArray[np.bool_]]:
    """Return for both sides of a table's rows whether a text of the baseline has answers.

    A missing answer is one. It is true for all other attributes: a group that was not asked is
    missing there, but no other figure needs the baseline's texts.
    """
    asked: set[tuple[str, ...]] = set()
    for outcomes in (one for one in counted if BASELINE in one.groups):
        groups = outcomes.benchmark.attributes[BASELINE].groups
        units = outcomes.grid.units.itertuples(index=False, name=None)
        for unit, rows in zip(units, outcomes.rows_asked(BASELINE), strict=True):
            asked |= {(*unit, group) for group, n in zip(groups, rows, strict=True) if n}
    baseline = (table["attribute"] == BASELINE).to_numpy()
    rows, found = table[baseline], {}
    for side in "ab":
        names = zip(*(rows[name] for name in (*UNIT_COLUMNS, f"group_{side}")), strict=True)
        found[side] = ~baseline
        found[side][baseline] = [name in asked for name in names]
    return found


def by_cluster(rows: Grid, span: slice, table: IntArray) -> tuple[IntArray, IntArray]:
    """Add up the rows of one answer set by independent unit; return them and how many each is."""
    if not len(rows.cluster):
        return table, rows.many[span]
    # The rows of a cluster are as many: those of one item, or of items that are not joined.
    _, first, place = np.unique(rows.cluster[span], return_index=True, return_inverse=True)
    found = np.zeros((len(first), *table.shape[1:]), dtype=table.dtype)
    np.add.at(found, place, table)
    return found, rows.many[span][first]


def _mixed_problems(grid: Grid, groups: Mapping[str, GroupAnswers]) -> Iterator[Problem]:
    """Report answer sets with crossed groups only, next to others with own variants of these.

    Attributes have one kind of variants; the figures of these sets would be left out.
    """
    for crossing in (own for own in groups.values() if own.attribute.crosses):
        for name in crossing.attribute.crosses:
            own, attribute = groups.get(name), grid.benchmark.attributes[name]
            if own is None or own.crossing or not crossing.attribute.layers(attribute):
                continue
            without = np.setdiff1d(crossing.grid.unit, own.grid.unit)
            for unit in grid.units.iloc[without[:10]].itertuples(index=False):
                message = (
                    f"was asked {crossing.attribute.name} in version {unit.benchmark_version}, "
                    f"{unit.strategy}, without {name}, which other answers have variants of"
                )
                remedy = "give all answer sets the same variants, or declare two benchmarks"
                yield Problem("<answers>", message, remedy, column="model", value=unit.model)


def own_groups(grid: Grid) -> dict[str, GroupAnswers]:
    """Return the answers to the variants of each attribute that has some of its own."""
    attributes, without = grid.benchmark.attributes, grid.benchmark.only_crossed
    asked = {a.name: GroupAnswers.of(grid, a) for a in attributes.values() if a.name not in without}
    return {name: own for name, own in asked.items() if len(own.rows)}


def groups_of(grid: Grid) -> dict[str, GroupAnswers]:
    """Return the answers for the groups of each attribute that has answers."""
    attributes, found = grid.benchmark.attributes, own_groups(grid)
    for name, source in grid.benchmark.variants_from(found).items():
        # An attribute without variants of its own has those of one that crosses it.
        if name not in found:
            found[name] = GroupAnswers.marginal(grid, attributes[name], source)
    return {name: found[name] for name in attributes if name in found and len(found[name].rows)}


def _joined_patterns(rows: Grid, cells: IntArray) -> tuple[Grid, IntArray]:
    """Join the rows of an answer set with the same patterns."""
    places = np.arange(len(cells))
    joined = replace(rows, key=places).joined(cells)
    return joined, cells[joined.key]


def _pairs_asked(grid: Grid, groups: Mapping[str, GroupAnswers]) -> IntArray:
    """Return the number of pooled pairs that each answer set was asked."""
    number = np.zeros(len(grid.units), dtype=np.int64)
    for attribute, _ in pooled_pairs(grid.benchmark):
        if attribute.name in groups:
            number[np.unique(groups[attribute.name].grid.unit)] += 1
    return number


def item_patterns_of(
    grid: Grid, groups: Mapping[str, GroupAnswers]
) -> Iterator[tuple[tuple[str, str, str], Grid, IntArray]]:
    """Yield each pair, (attribute, group_a, group_b), with its rows and their outcome patterns.

    The declared pairs come first. The pooled ones add up the patterns of all demographic pairs of
    an item, except crossed ones, for the answer sets that were asked several pairs. Without names
    of items, rows that are alike are joined.
    """
    for name, own in groups.items():
        for pair in own.attribute.pairs:
            yield (name, *pair), own.grid, own.pair(pair)
    copies, number = _pooled_copies(grid, groups), _pairs_asked(grid, groups)
    if len(grid.item):
        rows, cells = _pooled_patterns(grid, groups, copies, number)
        if len(cells):
            yield (POOLED, *POOLED_GROUPS), rows, cells
        return
    parts: list[tuple[Grid, IntArray]] = []
    for block in grid.blocks(_BLOCK):
        rows, cells = _pooled_patterns(block, groups_of(block), copies, number)
        if len(cells):
            parts.append(_joined_patterns(rows, cells))
    if parts:
        names = ("unit", "key", "answers", "many", "numbers", "cluster")
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(rows, name) for rows, _ in parts]) for name in names
        }
        cells = np.concatenate([own for _, own in parts])
        yield (POOLED, *POOLED_GROUPS), *_joined_patterns(replace(parts[0][0], **columns), cells)


def _pooled_patterns(
    grid: Grid, groups: Mapping[str, GroupAnswers], copies: IntArray, number: IntArray
) -> tuple[Grid, IntArray]:
    """Add up the patterns of an item's pairs, for answer sets asked more than one pair."""
    where = np.zeros(len(grid.unit), dtype=bool)
    cells = np.zeros((len(grid.unit), len(PATTERNS)), dtype=np.int64)
    for attribute, pair in pooled_pairs(grid.benchmark):
        if attribute.name in groups:
            own = groups[attribute.name]
            np.add.at(cells, own.rows, own.pair(pair, copies))
            where[own.rows] = True
    where &= number[grid.unit] > 1
    return grid.rows(where), cells[where]


def _pooled_copies(grid: Grid, groups: Mapping[str, GroupAnswers]) -> IntArray:
    """Return the number of pairs that share an answer, if all demographic pairs are pooled."""
    own = [groups[name] for name in pooled_attributes(grid.benchmark) & set(groups)]
    if not own:
        return np.ones(len(grid.units), dtype=np.int64)
    unit, samples = (
        np.concatenate(parts)
        for parts in zip(*((one.grid.unit, one.samples) for one in own), strict=True)
    )
    return common_copies(unit, samples, len(grid.units))


def count_outcomes(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Count the outcome patterns of every counterfactual pair of every unit.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table; counting runs in the engine that holds it.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        One row per unit and declared pair: its keys, ``group_a``, ``group_b``, and the number of
        pairs of answers with each of the ten patterns of `PATTERNS`. The pairs of an item combine
        all of its answers for one group with all of those for the other. So the numbering of
        samples does not matter. Each answer is in ``copies`` of the pairs. If every item has the
        same number of samples, ``copies`` is that number. If the numbers differ, it is their least
        common multiple, and pairs are weighted (`fairstats.counts.patterns.GroupAnswers`). A
        variant without a row counts as missing, like one with an answer that could not be parsed.

    Raises
    ------
    InputError
        For an unknown benchmark, attribute or group, or a duplicate answer.

    Examples
    --------
    >>> from fairstats import example_answers
    >>> answers = example_answers().query("attribute == 'race' and model == 'GPT-4.1'")
    >>> count_outcomes(answers)[["n11", "n10", "n01", "n00_same", "n00_different"]].values.tolist()
    [[608, 131, 12, 36, 14]]
    """
    tables = []
    for outcomes in outcomes_of(open_pairs(answers, benchmarks)).values():
        patterns = dict(zip(PATTERNS, outcomes.patterns.T, strict=True))
        table = pd.DataFrame(outcomes.keys | patterns | {"copies": outcomes.copies})
        table = table.astype(dict.fromkeys(outcomes.keys, "str"))
        order = np.argsort(outcomes.unit, kind="stable")
        tables.append(table.take(order[~outcomes.pooled[order]]))
    return pd.concat(tables, ignore_index=True)
