"""The grid of a benchmark's answers: items in rows, variants in columns, small integers as entries.

It is made once, in the engine that holds the answers. Everything else is an array expression over
the grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.model_names import named_in, snapshots_in
from fairstats._lib.processes import give_memory_back
from fairstats.answers.engine_frames import (
    TEXT_COLUMNS,
    UNIT_COLUMNS,
    OpenAnswers,
    batches,
    distinct,
    open_answers,
    refuse_repeated,
)
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.settings import settings_of

IntArray = npt.NDArray[np.int64]

#: Entries of a grid that are not the place of an option.
MISSING, NOT_ASKED = -1, -2


@dataclass(frozen=True, eq=False)
class Grid:
    """The answers to one benchmark.

    Attributes
    ----------
    benchmark : Benchmark
        Declares the variants (`Benchmark.variants`, the columns) and the kind of the answers.
    options : tuple of str
        What the answers are: the benchmark's options, or all different scores in order.
    units : pandas.DataFrame
        `UNIT_COLUMNS`, one row per answer set, sorted.
    unit : ndarray of int, shape (rows,)
        The answer set of each row, ascending.
    key : ndarray of int, shape (rows,)
        The place of the right option; −1 if the item has none.
    answers : ndarray of int, shape (rows, variants, samples)
        The place of the chosen option; `MISSING` for an answer that could not be parsed;
        `NOT_ASKED` if the variant of the item was asked fewer times. A variant's answers are in the
        order of their sample numbers.
    many : ndarray of int, shape (rows,)
        The number of items of each row; 1 unless rows that are alike were joined.
    item : ndarray of int, shape (rows,)
        The item of each row, a place in `item_names`, ascending within an answer set; empty if rows
        that are alike were joined.
    item_names : ndarray of str
        The name of each item, sorted.
    numbers : ndarray of int, shape (rows, variants, samples)
        The sample number of each answer.
    cluster : ndarray of int, shape (rows,)
        The independent unit of each row, if the benchmark declares a cluster; if not, empty: every
        row is one.
    cluster_names : ndarray of str
        The name of each unit in `cluster`.
    selecting : ndarray of bool
        Whether the model of each answer set took part in selecting the items, by its name or by a
        snapshot of its answers.
    settings : ndarray of `fairstats.counts.settings.Settings`
        How each answer set was made.
    """

    benchmark: Benchmark
    options: tuple[str, ...]
    units: pd.DataFrame
    unit: npt.NDArray[np.signedinteger[Any]]
    key: npt.NDArray[np.signedinteger[Any]]
    answers: npt.NDArray[np.signedinteger[Any]]
    many: IntArray
    item: npt.NDArray[np.signedinteger[Any]]
    item_names: npt.NDArray[np.object_]
    numbers: IntArray
    cluster: IntArray
    cluster_names: npt.NDArray[np.object_]
    selecting: npt.NDArray[np.bool_]
    settings: npt.NDArray[np.object_]

    @cached_property
    def columns(self) -> dict[tuple[str, str], int]:
        """Return the column of each variant, (attribute, group)."""
        return {variant: place for place, variant in enumerate(self.benchmark.variants)}

    @property
    def items(self) -> npt.NDArray[np.object_]:
        """Return the name of each row's item; empty if rows that are alike were joined."""
        return self.item_names[self.item]

    @property
    def unit_names(self) -> npt.NDArray[np.object_]:
        """Return the name of each row's independent unit: its item, or its cluster."""
        return self.cluster_names[self.cluster] if len(self.cluster) else self.items

    @property
    def unit_of_item(self) -> dict[str, str]:
        """Return the independent unit of each item: its cluster, or itself."""
        return dict(zip(self.items, self.unit_names, strict=True))

    @cached_property
    def hits(self) -> npt.NDArray[np.int8]:
        """Return 1 for each favourable decision or right answer, else 0; negative as in answers.

        Nothing is a hit if there is no key, or if close scores are the same: one of two such
        answers could be the key. Metrics of shares use the hits and whether two answers are the
        same; metrics of means use the `values`.
        """
        if self.benchmark.same_within:
            return self._marked(np.zeros(self.answers.shape, dtype=bool))
        if self.benchmark.kind.name == "decision":
            good = np.isin(np.array(self.options, dtype=object), self.benchmark.favourable)
            return self._marked(np.append(good, [False, False])[self.answers])
        return self.right

    @cached_property
    def right(self) -> npt.NDArray[np.int8]:
        """Return 1 for each answer that is the key, else 0; negative entries as in answers."""
        return self._marked(self.answers == self.key[:, None, None])

    def _marked(self, good: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
        return np.where(self.answers < 0, self.answers, good).astype(np.int8)

    @cached_property
    def values(self) -> npt.NDArray[np.float64]:
        """Return the number of each option of a level or score."""
        if self.benchmark.kind.name == "level":
            return np.array([self.benchmark.values[option] for option in self.options])
        return np.array([float(option) for option in self.options])

    @cached_property
    def alike(self) -> npt.NDArray[np.bool_]:
        """Return whether each two options count as the same answer."""
        if not self.benchmark.same_within:
            return np.eye(len(self.options), dtype=bool)
        # A difference of decimals may be slightly off.
        within = self.benchmark.same_within * (1 + 1e-12)
        return np.asarray(np.abs(self.values[:, None] - self.values) <= within)

    def rows(self, where: slice | npt.ArrayLike) -> Grid:
        """Return the rows at these places, or for which this holds."""
        there = where if isinstance(where, slice) else np.asarray(where)
        if not isinstance(there, slice) and there.dtype == bool and there.all():
            return self
        chosen = {name: getattr(self, name)[there] for name in ("unit", "key", "answers", "many")}
        numbers, shape = self.numbers, (len(chosen["unit"]), *self.numbers.shape[1:])
        # With one sample, all rows share one number.
        shared = len(numbers) and numbers.strides[0] == 0
        return replace(
            self,
            **chosen,
            numbers=np.broadcast_to(numbers[0], shape) if shared else numbers[there],
            item=self.item[there] if len(self.item) else self.item,
            cluster=self.cluster[there] if len(self.cluster) else self.cluster,
        )

    def blocks(self, size: int) -> Iterator[Grid]:
        """Yield the rows in blocks of so many, at least one, to limit memory."""
        for start in range(0, max(len(self.unit), 1), size):
            yield self.rows(slice(start, start + size))

    def joined(self, columns: npt.NDArray[np.int64]) -> Grid:
        """Join the rows of an answer set that have the same values in these columns, (rows, k).

        Other values of a joined row are those of one of its rows.
        """
        code, size = self.unit.astype(np.int64), len(self.units)
        for column in columns.T:
            lowest, many = int(column.min()), int(np.ptp(column)) + 1
            if size * many >= 2**62:
                code, found = pd.factorize(code)
                size = len(found)
            code, size = code * many + (column - lowest), size * many
        code, first = _numbered(code)
        # Sums of whole numbers below 2**53 are exact.
        items = np.bincount(code, weights=self.many).astype(np.int64)
        order = np.argsort(self.unit[first], kind="stable")
        return replace(self.rows(first[order]), many=items[order])

    def span(self, unit: int) -> slice:
        """Return the places of the rows of one answer set."""
        # Of the type of the rows: if not, all of them are converted.
        number = self.unit.dtype.type(unit)
        first, last = (np.searchsorted(self.unit, number, side) for side in ("left", "right"))
        return slice(int(first), int(last))

    def of_unit(self, unit: int) -> Grid:
        """Return the rows of one answer set."""
        return self.rows(self.span(unit))

    def of_units(self, chosen: npt.ArrayLike) -> Grid:
        """Return the rows of the answer sets for which this holds."""
        # Not by the number of each row: eight bytes of it would be needed.
        numbers = np.arange(len(self.units) + 1, dtype=self.unit.dtype)
        sizes = np.diff(np.searchsorted(self.unit, numbers))
        return self.rows(np.repeat(np.asarray(chosen, dtype=bool), sizes))


def grid(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> dict[str, Grid]:
    """Arrange answers in one grid per benchmark, with one row per item of an answer set.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            item_id="demo-01", attribute="race", answer_key="C")
    >>> table = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                       row | dict(group="black", answer=None)])
    >>> found = grid(table)["demo"]
    >>> found.hits[:, [found.columns["race", "white"], found.columns["race", "black"]], 0].tolist()
    [[1, -1]]
    """
    opened = open_answers(answers, benchmarks)
    return {name: item_grid(opened, known) for name, known in opened.benchmarks.items()}


def item_grid(opened: OpenAnswers, benchmark: Benchmark) -> Grid:
    """Return the grid of a benchmark with one row per item of an answer set, made once."""
    make = _in_memory if opened.in_memory else _in_engine
    return opened.once(("grid", benchmark.name), lambda: make(opened, benchmark))


def joined_grid(opened: OpenAnswers, benchmark: Benchmark) -> Grid:
    """Return the grid of a benchmark in which rows that are alike may be joined.

    Of choices, only these rows leave an engine, however many answers it holds. Agreement with a
    key, controls, crossed groups and clusters need each item.
    """
    named = benchmark.cluster or benchmark.controls
    crossed = any(one.crosses for one in benchmark.attributes.values())
    if opened.in_memory or named or crossed or not benchmark.kind.needs_key:
        return item_grid(opened, benchmark)
    key = ("joined grid", benchmark.name)
    return opened.once(key, lambda: _in_engine(opened, benchmark, join=True))


def with_unasked(grid: Grid) -> Grid:
    """Return the grid with missing answers where an answer set was not asked a listed item.

    A variant that it was asked of no item is left out, but not that of a crossing of which it was
    asked others: what differs for women does not follow from men. A cluster that is not known is
    one of all such items.
    """
    benchmark, units = grid.benchmark, len(grid.units)
    turns = (grid.answers != NOT_ASKED).sum(axis=2)
    most = np.zeros((units, turns.shape[1]), dtype=np.int64)
    np.maximum.at(most, grid.unit, turns)
    for crossing in (one for one in benchmark.varied if one.crosses):
        columns = [grid.columns[crossing.name, group] for group in crossing.groups]
        some = most[:, columns].any(axis=1, keepdims=True)
        most[:, columns] = np.maximum(most[:, columns], some)
    names, place = grid.item_names, grid.item
    many = len(benchmark.items) - np.bincount(grid.unit, grid.many, units).astype(np.int64)
    if len(grid.item):
        names = np.array(sorted({*names, *benchmark.items}), dtype=object)
        place = pd.Index(names).get_indexer(grid.item_names)[grid.item]
        lacking = np.tile(np.isin(names, [*benchmark.items]), (units, 1))
        lacking[grid.unit, place] = False
        # Answers to items that are not listed take the place of others.
        lacking &= lacking.cumsum(axis=1) <= many[:, None]
        unit, item = np.nonzero(lacking)
        many = np.ones(len(unit), dtype=np.int64)
    else:
        unit = np.flatnonzero(many > 0)
        item, many = place, many[unit]
    every = np.concatenate([grid.unit, unit])
    # As many samples as the item has in other variants, or else as other items have.
    samples = np.concatenate([turns.max(axis=1), most[unit].max(axis=1)])[:, None]
    shape = (len(every), *grid.answers.shape[1:])
    lacks = (most[every] > 0) & (np.concatenate([turns, np.zeros_like(most[unit])]) == 0)
    fill = lacks[:, :, None] & (np.arange(shape[2]) < samples[:, :, None])
    answers = np.full(shape, NOT_ASKED, dtype=grid.answers.dtype)
    answers[: len(grid.unit)] = grid.answers
    answers[fill] = MISSING
    cluster, clusters = grid.cluster, grid.cluster_names
    places = np.concatenate([place, item])
    if len(cluster):
        of_item = grid.unit_of_item | dict(benchmark.clusters)
        known = [of_item.get(name, "") for name in names[places].tolist()]
        cluster, clusters = pd.factorize(np.array(known, dtype=object), sort=True)
    order = np.lexsort([places, every]) if len(grid.item) else np.argsort(every, kind="stable")
    return replace(
        grid,
        unit=every[order],
        key=np.concatenate([grid.key, np.full(len(unit), -1)])[order],
        answers=answers[order],
        many=np.concatenate([grid.many, many])[order],
        item=places[order] if len(grid.item) else grid.item,
        item_names=names,
        numbers=np.zeros(shape, dtype=np.int64),
        cluster=cluster[order] if len(cluster) else cluster,
        cluster_names=clusters,
    )


def _in_memory(opened: OpenAnswers, benchmark: Benchmark) -> Grid:
    frame = opened.frame
    if len(opened.benchmarks) > 1:
        frame = frame.filter(nw.col("benchmark") == benchmark.name)
    table = frame.select(*TEXT_COLUMNS, "sample").collect().to_pandas()
    codes, names = {}, {}
    for name in table:
        found, names[name] = pd.factorize(table[name], sort=True)
        codes[name] = found.astype(np.min_scalar_type(-len(names[name]) - 1))
    number = np.zeros(len(table), dtype=np.int64)
    for name in UNIT_COLUMNS:
        number = number * len(names[name]) + codes[name]
    unit, first_of_unit = _numbered(number)
    row, first = _numbered(unit * len(names["item_id"]) + codes["item_id"])
    variant = np.full((len(names["attribute"]), len(names["group"])), -1)
    for place, (attribute, group) in enumerate(benchmark.variants):
        if attribute in names["attribute"] and group in names["group"]:
            variant[names["attribute"].get_loc(attribute), names["group"].get_loc(group)] = place
    options = pd.Index(_options(opened, benchmark))
    option = np.append(options.get_indexer(names["answer"]), MISSING)
    option = option.astype(np.int8 if len(options) < 128 else np.int32)
    column = variant[codes["attribute"], codes["group"]]
    sample = table["sample"].to_numpy(dtype=np.int64)
    cell = row * len(benchmark.variants) + column
    turn, repeated = _turns(cell, sample) if len(names["sample"]) > 1 else (0 * row, False)
    shape = (len(first), len(benchmark.variants), int(turn.max()) + 1)
    answers = np.full(shape, NOT_ASKED, dtype=option.dtype)
    answers[row, column, turn] = option[codes["answer"]]
    if repeated or np.count_nonzero(answers != NOT_ASKED) < len(table):
        _refuse_repeated(frame, benchmark)
    numbers = np.broadcast_to(sample[0], shape)
    if len(names["sample"]) > 1:
        numbers = np.zeros(shape, dtype=np.int64)
        numbers[row, column, turn] = sample
    item_names = np.asarray(names["item_id"], dtype=object)
    item = codes["item_id"][first]
    key = np.append(options.get_indexer(names["answer_key"]), -1)
    units = table[list(UNIT_COLUMNS)].take(first_of_unit).reset_index(drop=True)
    return Grid(
        benchmark,
        tuple(options),
        units,
        unit[first],
        key[codes["answer_key"][first]],
        answers,
        np.broadcast_to(np.int64(1), len(first)),
        item,
        item_names,
        numbers,
        *_clusters(opened, benchmark, item, item_names),
        _selecting(opened, benchmark, units),
        settings_of(opened, benchmark, units),
    )


def _options(opened: OpenAnswers, benchmark: Benchmark) -> tuple[str, ...]:
    """Return the options; of a score, all values that occur, with the ends of the scale."""
    if benchmark.kind.name != "score":
        return benchmark.options
    own = opened.cells[opened.cells["benchmark"] == benchmark.name]
    found = {*own["answer"].dropna(), *own["answer_key"].dropna()}
    return tuple(sorted(found | {f"{end:.15g}" for end in benchmark.limits}, key=float))


def _clusters(
    opened: OpenAnswers,
    benchmark: Benchmark,
    item: npt.NDArray[np.signedinteger[Any]],
    item_names: npt.NDArray[np.object_],
) -> tuple[IntArray, npt.NDArray[np.object_]]:
    """Return the number of each row's cluster, and their names; empty if none is declared."""
    if benchmark.cluster is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object)
    of_item: Mapping[str, str] = benchmark.clusters
    if not of_item:
        own = opened.frame.filter(nw.col("benchmark") == benchmark.name)
        known = distinct(own, ["item_id", "cluster"]).astype(str)
        of_item = dict(zip(known["item_id"], known["cluster"], strict=True))
    # An item that the benchmark's files do not list is a cluster by itself.
    names = [of_item.get(name, f"\0{name}") for name in item_names.tolist()]
    codes, found = pd.factorize(np.array(names, dtype=object), sort=True)
    return codes.astype(np.int64)[item], found


def _selecting(
    opened: OpenAnswers, benchmark: Benchmark, units: pd.DataFrame
) -> npt.NDArray[np.bool_]:
    """Return which answer sets are of a model that took part in selecting the items."""
    found = named_in(units["model"], benchmark.selected_on)
    if "snapshot" in opened.cells and benchmark.selected_on:
        names = opened.cells[[*UNIT_COLUMNS, "snapshot"]].dropna().drop_duplicates()
        each = (
            named_in(snapshots_in(one), benchmark.selected_on).any() for one in names["snapshot"]
        )
        # Without any snapshot, a list would be one of columns.
        named = names[np.fromiter(each, dtype=bool)]
        sets = pd.MultiIndex.from_frame(named[list(UNIT_COLUMNS)])
        found |= pd.MultiIndex.from_frame(units).isin(sets)
    return found


def _turns(cell: IntArray, sample: IntArray) -> tuple[IntArray, bool]:
    """Number the answers of each cell in the order of their samples; say if a sample is repeated.

    Numbers of samples may have gaps, so they are no places.
    """
    order = np.lexsort([sample, cell])
    cells, samples = cell[order], sample[order]
    new = np.diff(cells, prepend=-1) != 0
    start = np.maximum.accumulate(np.where(new, np.arange(len(cells)), 0))
    turn = np.empty(len(cells), dtype=np.int64)
    turn[order] = np.arange(len(cells)) - start
    return turn, bool((~new[1:] & (np.diff(samples) == 0)).any())


def _numbered(values: IntArray) -> tuple[IntArray, IntArray]:
    """Number values in their order; return each value's number, and a place of each number."""
    numbers, found = pd.factorize(values, sort=True)
    first = np.zeros(len(found), dtype=np.int64)
    first[numbers] = np.arange(len(values))
    return numbers.astype(np.int64), first


def _in_engine(opened: OpenAnswers, benchmark: Benchmark, *, join: bool = False) -> Grid:
    """Pivot by conditional aggregation; with `join`, count the rows that are alike."""
    frame = opened.frame.filter(nw.col("benchmark") == benchmark.name)
    samples = np.sort(distinct(frame, ["sample"])["sample"].to_numpy(dtype=np.int64))
    units = opened.cells.loc[opened.cells["benchmark"] == benchmark.name, list(UNIT_COLUMNS)]
    units = units.drop_duplicates().sort_values(list(UNIT_COLUMNS), ignore_index=True)
    number, of_unit = _unit_numbers(units)
    # 0 for a row of another variant, 1 for a missing answer, 2 for the first option.
    options = _options(opened, benchmark)
    small = len(options) < 126
    option = _replaced("answer", {name: i + 1 for i, name in enumerate(options)}) + 1
    variant = nw.lit(0)
    for name, attribute in benchmark.attributes.items():
        places = {group: benchmark.variants.index((name, group)) for group in attribute.groups}
        of_attribute = (nw.col("attribute") == name).cast(nw.Int64)
        variant = variant + of_attribute * _replaced("group", places)
    if len(samples) > 1:
        places = {sample: i for i, sample in enumerate(samples.tolist())}
        variant = variant * len(samples) + _replaced("sample", places)
    cells = [f"cell_{i}" for i in range(len(benchmark.variants) * len(samples))]
    # 0 for an item without a key.
    key = _replaced("answer_key", {name: i + 1 for i, name in enumerate(options)})
    cell_type = nw.Int8 if small else nw.Int32
    # An aggregate over a condition is wrong on some engines, so the columns are made first.
    pivot = (
        frame.select("item_id", unit=number, key=key, option=option, variant=variant)
        .select(
            "item_id",
            unit=nw.col("unit").cast(nw.Int32),
            key=nw.col("key").cast(cell_type),
            **{
                name: (nw.col("variant") == i).cast(cell_type) * nw.col("option").cast(cell_type)
                for i, name in enumerate(cells)
            },
        )
        .group_by("unit", "item_id")
        .agg(nw.col("key", *cells).max(), rows=nw.len())
    )
    if join:
        pivot = pivot.group_by("unit", "key", "rows", *cells).agg(many=nw.len())
    # In few bytes, and in parts: as texts, the names of all rows' items would be the largest part.
    small_type = np.int8 if small else np.int32
    names = np.zeros(0, dtype=object)
    if not join:
        names = np.sort(distinct(frame, ["item_id"])["item_id"].to_numpy(dtype=object))
    unit_type = np.min_scalar_type(-len(units) - 1)
    places, parts, repeated = pd.Index(names), [], False
    for table in batches(pivot):
        found = np.column_stack([table[name].to_numpy(dtype=small_type) for name in cells])
        repeated |= bool((np.count_nonzero(found, axis=1) < table["rows"].to_numpy()).any())
        own = {
            "unit": of_unit[table["unit"].to_numpy(dtype=np.int64)].astype(unit_type),
            "key": table["key"].to_numpy(dtype=small_type) - small_type(1),
            "answers": found - small_type(2),
        }
        if join:
            own["many"] = table["many"].to_numpy(dtype=np.int64)
        else:
            own["item"] = places.get_indexer(table["item_id"]).astype(np.int32)
        parts.append(own)
    if repeated:
        _refuse_repeated(frame, benchmark)
    del places
    give_memory_back()
    columns = {name: np.concatenate([own.pop(name) for own in parts]) for name in [*parts[0]]}
    order = np.lexsort([columns[name] for name in ("item", "unit") if name in columns])
    # In place, a column at a time: the rows are not in memory twice.
    for column in columns.values():
        for values in np.atleast_2d(column.T):
            values[:] = values[order]
    del order
    unit, item = columns["unit"], columns.get("item", np.zeros(0, dtype=np.int32))
    many = columns.get("many", np.broadcast_to(np.int64(1), unit.shape))
    answers = columns["answers"].reshape(-1, len(benchmark.variants), len(samples))
    numbers = np.broadcast_to(samples, answers.shape)
    if len(samples) > 1:
        # Move a variant's answers to the first places.
        turn = np.argsort(answers == NOT_ASKED, axis=2, kind="stable")
        most = int((answers != NOT_ASKED).sum(axis=2).max())
        answers, numbers = (
            np.take_along_axis(one, turn, axis=2)[:, :, :most] for one in (answers, numbers)
        )
    return Grid(
        benchmark,
        options,
        units,
        unit,
        columns["key"],
        answers,
        many,
        item,
        names,
        numbers,
        *_clusters(opened, benchmark, item, names),
        _selecting(opened, benchmark, units),
        settings_of(opened, benchmark, units),
    )


def _unit_numbers(units: pd.DataFrame) -> tuple[nw.Expr, IntArray]:
    """Return an expression that numbers all combinations of names, and the unit of each number."""
    expression, place, size = nw.lit(0), np.zeros(len(units), dtype=np.int64), 1
    for name in UNIT_COLUMNS:
        codes, names = pd.factorize(units[name])
        expression = expression + _replaced(name, {text: i * size for i, text in enumerate(names)})
        place, size = place + codes * size, size * len(names)
    of_unit = np.full(size, -1)
    of_unit[place] = np.arange(len(units))
    return expression, of_unit


def _replaced(column: str, numbers: Mapping[Any, int]) -> nw.Expr:
    """Replace names by numbers; null and other names by 0."""
    if len(numbers) > 100:
        # Nested too deeply otherwise.
        old, new = list(numbers), list(numbers.values())
        return nw.col(column).replace_strict(old, new, default=0, return_dtype=nw.Int64)
    # Cases are faster: the function looks each row up in a list and in a map.
    cases: Any = nw
    for name, number in numbers.items():
        cases = cases.when(nw.col(column) == name).then(nw.lit(number, nw.Int64))
    expression: nw.Expr = cases.otherwise(nw.lit(0, nw.Int64))
    return expression


def _refuse_repeated(frame: nw.LazyFrame[Any], benchmark: Benchmark) -> None:
    """Name an attribute with repeated answers."""
    found = (
        frame.group_by(*KEY_COLUMNS)
        .agg(repeated=nw.len())
        .filter(nw.col("repeated") > 1)
        .collect()
        .to_pandas()
    )
    items = found.drop_duplicates([*UNIT_COLUMNS, "attribute", "item_id"]).assign(items=1)
    for attribute in benchmark.attributes:
        refuse_repeated(items[items["attribute"] == attribute], attribute)
