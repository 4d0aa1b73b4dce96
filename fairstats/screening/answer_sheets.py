"""Answer sheets: the letters of one model as an array of small integers, and what sheets share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fairstats._lib.safe_names import fold_name
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.vignette_items import load_items
from fairstats.counts.grid import NOT_ASKED

Codes = npt.NDArray[np.signedinteger[Any]]
Bools = npt.NDArray[np.bool_]
Shares = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
_Value = TypeVar("_Value", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Sheet:
    """The letters of one model, strategy and sample.

    Attributes
    ----------
    model, strategy, sample
        Its key in the answers table.
    letters : ndarray of int, shape (items, variants)
        The place of each answer among the options, or among all scores; `MISSING` or `NOT_ASKED`.
        In memory, the items of a variant are side by side: sums by item are then fast.
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
        return np.asarray((self.letters != NOT_ASKED).any(axis=0))

    @cached_property
    def answered(self) -> Bools:
        """Return which cells have a letter."""
        return np.asarray(self.letters >= 0)

    @cached_property
    def places(self) -> Places:
        """Return the place in memory of each cell's letter, among the shares of all letters."""
        return _places(self.letters)


def _places(letters: Codes) -> Places:
    cells = np.arange(letters.size).reshape(letters.shape, order="F")
    return np.asarray(cells + letters.size * np.maximum(letters, 0, dtype=np.int64))


def take(shares: npt.NDArray[_Value], places: Places) -> npt.NDArray[_Value]:
    """Return one share of each cell."""
    return shares.ravel(order="F").take(places.T).T


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
        The key of each item; −1 if it has none.
    units : ndarray of int, shape (items,), optional
        The cluster of each item, if the benchmark declares one.
    asked : frozenset of str
        If attributes are crossed, those with answers to variants of their own.
    """

    benchmark: Benchmark
    version: str
    items: tuple[str, ...]
    key: Codes
    units: npt.NDArray[np.int64] | None = None
    asked: frozenset[str] = frozenset()

    def part(self, places: slice) -> Layout:
        """Return the layout of some of the items."""
        units = None if self.units is None else self.units[places]
        return replace(self, items=self.items[places], key=self.key[places], units=units)

    @property
    def independent(self) -> npt.NDArray[np.int64]:
        """Return the independent unit of each item: itself, or its declared cluster."""
        return np.arange(len(self.items)) if self.units is None else self.units

    @property
    def has_letters(self) -> bool:
        """Return whether answers are unordered options, one of them right."""
        return self.benchmark.kind.needs_key

    @property
    def noun(self) -> str:
        """Return what an answer is called: a letter or an answer."""
        return "letter" if self.has_letters else "answer"

    @property
    def options(self) -> int:
        """Return the number of options."""
        return len(self.benchmark.options)

    @cached_property
    def pairs(self) -> tuple[tuple[str, int, int], ...]:
        """Return each declared pair of a varied attribute: its name and its two variants.

        If an attribute only has the variants of one that crosses it, a pair is there once for each
        group of the other crossed attribute, one after the other.
        """
        return self._pairs_of(self.benchmark.varied)

    @cached_property
    def other_pairs(self) -> tuple[tuple[str, int, int], ...]:
        """Return the pairs of the baseline and of controls, like `pairs`."""
        varied = self.benchmark.varied_names
        return self._pairs_of(a for a in self.benchmark.attributes.values() if a.name not in varied)

    def _pairs_of(self, attributes: Iterable[Attribute]) -> tuple[tuple[str, int, int], ...]:
        places = {variant: place for place, variant in enumerate(self.benchmark.variants)}
        sources = self.benchmark.variants_from(self.asked)
        return tuple(
            (f"{own.name}: {a}/{b}", places[source.name, layer[a]], places[source.name, layer[b]])
            for own in attributes
            for source in [sources.get(own.name, own)]
            for a, b in own.pairs
            for layer in source.layers(own).values()
        )

    @cached_property
    def exchanges(self) -> tuple[tuple[int, int, int, int], ...]:
        """Return pairs with exchanged partners: two pairs, then the two variants of the new pair.

        The first group of a pair is combined with the second group of a pair of another attribute,
        or of the same pair with another group of the attribute that crosses it.
        If only one attribute is varied, each of its groups is combined with the variants that are
        in no declared pair with it, e.g. the neutralized one.
        """
        variants = self.benchmark.variants
        found = []
        for one, two in combinations(range(len(self.pairs)), 2):
            (name, a, b), (other, c, d) = self.pairs[one], self.pairs[two]
            if variants[a][0] != variants[c][0] or name == other:
                found += [(one, two, a, d), (one, two, c, b)]
        if not found:
            paired = {v for _, a, b in self.pairs for v in (a, b)}
            others = [v for v in range(len(variants)) if v not in paired]
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

    @cached_property
    def key_places(self) -> Places:
        """Return the place of each cell's key, see `Sheet.places`; an item without one has any."""
        shape = (len(self.items), len(self.benchmark.variants))
        return _places(np.broadcast_to(self.key[:, None] % self.options, shape))

    def correct(self, sheet: Sheet) -> Bools:
        """Return which cells have the key's letter."""
        return np.asarray(sheet.letters == self.key[:, None])
