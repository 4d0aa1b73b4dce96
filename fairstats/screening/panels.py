"""Panels: the sheets of one benchmark version, and how often other models give each letter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray, Memo
from fairstats._lib.safe_names import fold_name
from fairstats.answers.engine_frames import OpenAnswers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.comparisons.ranked_items import SEVERAL_MODELS
from fairstats.comparisons.successors import predecessors
from fairstats.counts.grid import MISSING, NOT_ASKED, Grid, item_grid
from fairstats.screening.answer_sheets import Bools, Layout, Shares, Sheet, take

#: The most items of a panel. More are screened in parts: the shares of all letters of an item, by
#: model, would fill the memory.
PART_ITEMS = 2**14


@dataclass(frozen=True, eq=False)
class Popularity:
    """The answers of some models to each variant, each model with the same weight.

    Attributes
    ----------
    layout : Layout
        The items and variants.
    models : int
        The number of models.
    counts : ndarray, shape (items, variants, options)
        The number of models that give each letter, in memory by letter. The sets of one model
        share its weight.
    """

    layout: Layout
    models: int
    counts: Shares

    @cached_property
    def shares(self) -> Shares:
        """Return the share of each letter, NaN if no model answered the variant."""
        answered = self.counts.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = self.counts / np.where(answered > 0, answered, np.nan)
        return np.asarray(shares, dtype=np.float32)

    @cached_property
    def accuracy(self) -> Shares:
        """Return the share of models that are correct on each variant."""
        return take(self.shares, self.layout.key_places)

    @cached_property
    def right(self) -> Shares:
        """Return the number of models that are correct on each variant."""
        return take(self.counts, self.layout.key_places)

    @cached_property
    def errors(self) -> float:
        """Return the mean number of models that are wrong on a variant."""
        return float((self.counts.sum() - self.right.sum()) / self.right.size)

    @cached_property
    def smoothed(self) -> Shares:
        """Return the share of each letter, smoothed so that none is 0.

        One answer is added that is spread over letters as in all variants of the item, and another
        that is spread evenly.
        """
        item = self.counts.sum(axis=1, keepdims=True)
        total = item.sum(axis=2, keepdims=True)
        item = np.where(total > 0, item / np.maximum(total, 1e-9), 1 / self.layout.options)
        weights = self.counts + item + 1 / self.layout.options
        return np.asarray(weights / weights.sum(axis=2, keepdims=True), dtype=np.float32)

    @cached_property
    def expected_right(self) -> FloatArray:
        """Return the smoothed share of models that are correct on each variant."""
        return take(self.smoothed, self.layout.key_places).astype(np.float64)

    @cached_property
    def odds(self) -> FloatArray:
        """Return the smoothed odds that a model is correct on each variant."""
        right = np.clip(self.expected_right, 0.005, 0.995)
        return np.asarray(right / (1 - right))


@dataclass(frozen=True, eq=False)
class Panel(Memo):
    """The sheets of one benchmark version, and the reference sheets summed by model.

    Attributes
    ----------
    layout : Layout
        Its items and variants.
    screened : tuple of Sheet
        The sheets to screen.
    reference : tuple of Sheet
        The sheets from which the usual answers are estimated.
    lines : mapping of str to str
        The first model of a line of declared successors, by the `Sheet.family` of the others.
    """

    layout: Layout
    screened: tuple[Sheet, ...]
    reference: tuple[Sheet, ...]
    lines: Mapping[str, str] = field(default_factory=dict)

    @property
    def everything(self) -> tuple[Sheet, ...]:
        """Return each sheet once."""
        return tuple(dict.fromkeys((*self.screened, *self.reference)))

    @cached_property
    def in_benchmark(self) -> Bools:
        """Return the cells that the benchmark has, as far as can be told.

        If of several models at most one was asked a variant of an item, but others of its variants,
        the item lacks it. That one could have made its rows up.
        """
        models: dict[str, Bools] = {}
        for sheet in self.everything:
            given = sheet.letters != NOT_ASKED
            models[sheet.family] = models.get(sheet.family, given) | given
        number = np.sum([*models.values()], axis=0)
        few = len(models) < SEVERAL_MODELS
        return np.asarray((number > 1) | ~number.any(axis=1, keepdims=True) | few)

    def line(self, sheet: Sheet) -> str:
        """Return the first model of the sheet's line of successors: itself if none is declared."""
        return self.lines.get(sheet.family, sheet.family)

    def of_other_models(
        self, sheet: Sheet, name: str, statistic: Callable[[Sheet], float | None]
    ) -> list[float]:
        """Return a statistic of each other model: the mean over its sheets, except None.

        `name` identifies the statistic, which is computed once per sheet.
        """

        def of_each() -> dict[str, float]:
            values: dict[str, list[float]] = {}
            for one in self.reference:
                value = statistic(one)
                if value is not None:
                    values.setdefault(one.family, []).append(value)
            return {family: float(np.mean(own)) for family, own in values.items()}

        found = self.once(name, of_each)
        return [value for family, value in found.items() if family != sheet.family]

    @cached_property
    def by_model(self) -> dict[str, Shares]:
        """Return the letters of each model: the mean over its sheets."""
        found: dict[str, list[Sheet]] = {}
        for sheet in self.reference:
            found.setdefault(sheet.family, []).append(sheet)
        letters = np.arange(self.layout.options)[:, None, None]
        return {
            family: np.asarray(np.mean([letters == s.letters.T for s in own], 0, np.float32)).T
            for family, own in found.items()
        }

    @cached_property
    def total(self) -> Shares:
        """Return the sum over all models."""
        shape = (*self.layout.key_places.shape, self.layout.options)
        return sum(self.by_model.values(), start=np.zeros(shape, dtype=np.float32, order="F"))

    def without(self, *families: str) -> Popularity:
        """Return the answers of all models but these."""
        out = set(families) & set(self.by_model)
        counts = self.total - sum(self.by_model[family] for family in out)
        # Subtraction leaves rounding errors.
        counts *= counts > 1e-4
        return Popularity(self.layout, len(self.by_model) - len(out), counts)

    def others(self, sheet: Sheet) -> Popularity:
        """Return the answers of all models but the sheet's, with whatever strategy.

        Only those of the last model are kept: those of all models would fill the memory.
        """
        family, found = self._made.get("others", ("", None))
        if found is None or family != sheet.family:
            found = self.without(sheet.family)
            self._made["others"] = (sheet.family, found)
        popularity: Popularity = found
        return popularity


def read_panels(
    opened: OpenAnswers, against: OpenAnswers | None, successors: Mapping[str, str] | None = None
) -> Iterator[Iterator[Panel]]:
    """Yield the panels of each benchmark version among the answers, in order.

    A version has one panel, or one for every `PART_ITEMS` items, in the benchmark's order. The
    usual answers are estimated from those `against`, or by default from those to screen.
    `successors` names the older model of each newer one, as declared.
    """
    older = {fold_name(one): fold_name(before) for one, before in (successors or {}).items()}
    # The first model of each newer one's line; in a circle, as in a forged manifest, another one.
    lines = {
        newer: [newer, *(one for one in predecessors(older, newer) if one != newer)][-1]
        for newer in older
    }
    for name, benchmark in sorted(opened.benchmarks.items()):
        own, trusted = item_grid(opened, benchmark), None
        if against is not None and name in against.benchmarks:
            trusted = item_grid(against, benchmark)
        for version in own.units["benchmark_version"].unique():
            of_version = _of_version(own, version)
            usual = None if trusted is None else _of_version(trusted, version)
            yield _panels(benchmark, version, of_version, usual, lines, alone=against is None)


def _panels(
    benchmark: Benchmark,
    version: str,
    own: Grid,
    usual: Grid | None,
    lines: Mapping[str, str],
    *,
    alone: bool,
) -> Iterator[Panel]:
    """Yield the panels of one version; `alone` sets are compared with each other."""
    grids = [own] if usual is None else [usual, own]
    layout, options, places = _layout(benchmark, version, grids)
    for start in range(0, len(layout.items), PART_ITEMS):
        part = layout.part(slice(start, start + PART_ITEMS))
        *before, screened = (
            tuple(_sheets(grid, place, start, part, options))
            for grid, place in zip(grids, places, strict=True)
        )
        reference = screened if alone else tuple(sheet for one in before for sheet in one)
        if screened:
            yield Panel(part, screened, reference, lines)


def _of_version(grid: Grid, version: str) -> Grid:
    return grid.of_units(grid.units["benchmark_version"] == version)


def _layout(
    benchmark: Benchmark, version: str, grids: list[Grid]
) -> tuple[Layout, dict[str, int], list[npt.NDArray[np.int32]]]:
    """Return the layout, the place of each option or score, and that of each row's item."""
    given = {option for grid in grids for option in grid.options}
    every = benchmark.options or sorted(given, key=float)
    options = {name: place for place, name in enumerate(every)}
    index = pd.Index(benchmark.items, dtype=object)
    others: set[str] = set()
    for grid in grids:
        unlisted = index.get_indexer(grid.item_names) < 0
        # Numbers that look values up take eight bytes each: those of all rows fill the memory.
        for block in grid.blocks(PART_ITEMS) if unlisted.any() else ():
            others |= {*grid.item_names[block.item[unlisted[block.item]]]}
    if others:
        index = index.append(pd.Index(sorted(others), dtype=object))
    items = tuple(index)
    key = np.full(len(items), -1, dtype=np.int32)
    clusters: dict[str, str] = {}
    places = [np.empty(len(grid.item), dtype=np.int32) for grid in grids]
    for grid, place in zip(grids, places, strict=True):
        of_option = np.array([*(options[name] for name in grid.options), -1], dtype=np.int32)
        of_item = index.get_indexer(grid.item_names).astype(np.int32)
        for start in range(0, len(place), PART_ITEMS):
            rows = slice(start, start + PART_ITEMS)
            place[rows] = of_item[grid.item[rows]]
            key[place[rows]] = of_option[grid.key[rows]]
        if benchmark.cluster is not None:
            clusters |= grid.unit_of_item
    declared = [options[key] for key in benchmark.answer_keys.values()]
    key[index.get_indexer(list(benchmark.answer_keys))] = declared
    units = None
    if benchmark.cluster is not None:
        clusters = {**clusters, **benchmark.clusters}
        # An item without a cluster is a unit by itself.
        names = [clusters.get(item, f"\0{item}") for item in items]
        units = np.asarray(pd.factorize(np.array(names, dtype=object))[0], dtype=np.int64)
    layout = Layout(benchmark, version, items, key, units, _asked(benchmark, grids))
    return layout, options, places


def _asked(benchmark: Benchmark, grids: list[Grid]) -> frozenset[str]:
    """Return the attributes with answers to variants of their own, if any are crossed."""
    if not any(one.crosses for one in benchmark.varied):
        return frozenset()
    asked = np.any([(own.answers != NOT_ASKED).any(axis=(0, 2)) for own in grids], axis=0)
    return frozenset(benchmark.variants[place][0] for place in np.flatnonzero(asked))


def _sheets(
    grid: Grid,
    place: npt.NDArray[np.int32],
    start: int,
    layout: Layout,
    options: Mapping[str, int],
) -> Iterator[Sheet]:
    """Yield a sheet for each sample of each answer set, of the items from this place on."""
    here = (place >= start) & (place < start + len(layout.items))
    grid, place = grid.rows(here), place[here] - start
    code = np.int8 if len(options) < 127 else np.int32
    # Without an answer, and not asked, count from the end.
    letters_of = np.array([*(options[name] for name in grid.options), NOT_ASKED, MISSING], code)
    shape = (len(layout.items), len(layout.benchmark.variants))
    for unit in np.unique(grid.unit).tolist():
        own, at = grid.of_unit(unit), place[grid.span(unit)]
        model, strategy = own.units.loc[unit, ["model", "strategy"]]
        # In turn, not by number: numbers that differ between items would tear a set to pieces.
        for turn in range(own.answers.shape[2]):
            row, variant = np.nonzero(own.answers[:, :, turn] != NOT_ASKED)
            if len(row):
                letters = np.full(shape, NOT_ASKED, dtype=code, order="F")
                letters[at[row], variant] = letters_of[own.answers[row, variant, turn]]
                sample = int(own.numbers[row, variant, turn].min())
                yield Sheet(str(model), str(strategy), sample, letters)
