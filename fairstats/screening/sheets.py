"""Answer sheets: the letters of one model, strategy and sample as an array of small integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.safe_names import fold_name
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import load_items

#: Codes of cells without a letter. Codes from 0 are positions in ``Benchmark.options``.
NO_ANSWER = -1
NO_ROW = -2

Codes = npt.NDArray[np.int8]
Bools = npt.NDArray[np.bool_]
_SET = ["model", "strategy"]


@dataclass(frozen=True, eq=False)
class Sheet:
    """The letters of one model, strategy and sample.

    Attributes
    ----------
    model, strategy, sample
        Its key in the answers table.
    letters : ndarray of int8, shape (items, variants)
        The position of each letter among the options, `NO_ANSWER` or `NO_ROW`.
    """

    model: str
    strategy: str
    sample: int
    letters: Codes

    @property
    def name(self) -> tuple[str, str]:
        """Return model and strategy."""
        return self.model, self.strategy

    @cached_property
    def family(self) -> str:
        """Return the model's name without regard to spelling."""
        return fold_name(self.model)

    @cached_property
    def asked(self) -> Bools:
        """Return which variants have a row for any item."""
        return np.asarray((self.letters != NO_ROW).any(axis=0))

    @cached_property
    def answered(self) -> Bools:
        """Return which cells have a letter."""
        return np.asarray(self.letters >= 0)


@dataclass(frozen=True, eq=False)
class Layout:
    """The items and variants of one benchmark version, which all of its sheets share.

    Attributes
    ----------
    benchmark : Benchmark
        The benchmark.
    version : str
        Its version.
    items : tuple of str
        The items in the benchmark's order.
    key : ndarray of int8, shape (items,)
        The key of each item.
    """

    benchmark: Benchmark
    version: str
    items: tuple[str, ...]
    key: Codes

    @property
    def options(self) -> int:
        """Return the number of options."""
        return len(self.benchmark.options)

    @cached_property
    def pairs(self) -> tuple[tuple[str, int, int], ...]:
        """Return each declared pair of a varied attribute: its name and its two variants."""
        places = {variant: place for place, variant in enumerate(self.benchmark.variants)}
        return tuple(
            (f"{attribute.name}: {a}/{b}", places[attribute.name, a], places[attribute.name, b])
            for attribute in self.benchmark.varied
            for a, b in attribute.pairs
        )

    @cached_property
    def crossed(self) -> tuple[tuple[int, int, int, int], ...]:
        """Return pairs with exchanged partners: two pairs, then the two variants of the new pair.

        The first group of a pair is combined with the second group of a pair of another attribute.
        If only one attribute is varied, each of its groups is combined with the variants that are
        in no declared pair with it, e.g. the neutralized one.
        """
        attribute = [name.partition(":")[0] for name, _, _ in self.pairs]
        found = []
        for one, two in combinations(range(len(self.pairs)), 2):
            if attribute[one] != attribute[two]:
                (_, a, b), (_, c, d) = self.pairs[one], self.pairs[two]
                found += [(one, two, a, d), (one, two, c, b)]
        if not found:
            paired = {v for _, a, b in self.pairs for v in (a, b)}
            others = [v for v in range(len(self.benchmark.variants)) if v not in paired]
            found = [
                (n, n, side, other)
                for n, (_, a, b) in enumerate(self.pairs)
                for side in (a, b)
                for other in others
            ]
        return tuple(found)

    @cached_property
    def option_texts(self) -> Mapping[str, Mapping[str, str]]:
        """Return the texts of each item's options; empty if the benchmark has no items file."""
        if self.benchmark.items_file is None:
            return {}
        return {item.item_id: item.options for item in load_items(self.benchmark)}

    def correct(self, sheet: Sheet) -> Bools:
        """Return which cells have the key's letter."""
        return np.asarray(sheet.letters == self.key[:, None])


@dataclass(frozen=True, eq=False)
class Sheets:
    """The sheets of one benchmark version.

    Attributes
    ----------
    layout : Layout
        Its items and variants.
    screened : tuple of Sheet
        The sheets to screen.
    reference : tuple of Sheet
        The sheets from which the usual answers are estimated.
    """

    layout: Layout
    screened: tuple[Sheet, ...]
    reference: tuple[Sheet, ...]

    @property
    def everything(self) -> tuple[Sheet, ...]:
        """Return each sheet once."""
        return tuple(dict.fromkeys((*self.screened, *self.reference)))


def read_sheets(
    answers: pd.DataFrame, against: pd.DataFrame | None, benchmarks: Mapping[str, Benchmark]
) -> Iterator[Sheets]:
    """Return the sheets of each benchmark version among `answers`, in order.

    Parameters
    ----------
    answers : pandas.DataFrame
        The checked answers to screen.
    against : pandas.DataFrame or None
        Checked answers from which to estimate the usual ones; by default `answers`.
    benchmarks : mapping of str to Benchmark
        The benchmarks of both.
    """
    for (name, version), rows in answers.groupby(["benchmark", "benchmark_version"], sort=True):
        benchmark = benchmarks[str(name)]
        own = None
        if against is not None:
            own = against[
                (against["benchmark"] == name) & (against["benchmark_version"] == version)
            ]
        keys = dict(benchmark.answer_keys)
        for frame in (rows, own):
            if frame is not None:
                given = frame[["item_id", "answer_key"]].drop_duplicates()
                keys = dict(given.itertuples(index=False, name=None)) | keys
        known = list(benchmark.answer_keys)
        items = (*known, *sorted(set(keys) - set(known)))
        options = {letter: place for place, letter in enumerate(benchmark.options)}
        key = np.array([options[keys[item]] for item in items], dtype=np.int8)
        layout = Layout(benchmark, str(version), items, key)
        screened = tuple(_sheets(rows, layout))
        reference = screened if own is None else tuple(_sheets(own, layout))
        yield Sheets(layout, screened, reference)


def _sheets(rows: pd.DataFrame, layout: Layout) -> Iterator[Sheet]:
    places = {item: place for place, item in enumerate(layout.items)}
    variants = pd.MultiIndex.from_tuples(layout.benchmark.variants)
    options = {letter: place for place, letter in enumerate(layout.benchmark.options)}
    item = rows["item_id"].map(places).to_numpy()
    variant = variants.get_indexer(pd.MultiIndex.from_frame(rows[["attribute", "group"]]))
    letter = rows["answer"].map(options).fillna(NO_ANSWER).to_numpy(dtype=np.int8)
    for key, own in rows.groupby([*_SET, "sample"], sort=True).indices.items():
        model, strategy, sample = key
        letters = np.full((len(places), len(variants)), NO_ROW, dtype=np.int8)
        letters[item[own], variant[own]] = letter[own]
        yield Sheet(str(model), str(strategy), int(sample), letters)
