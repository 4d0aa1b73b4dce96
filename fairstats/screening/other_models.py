"""The other models: how often each letter is given to each variant of each item."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.screening.sheets import Layout, Sheet, Sheets

T = TypeVar("T")
Shares = npt.NDArray[np.float32]


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
        The number of models that give each letter. The sets of one model share its weight.
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
        return self.shares[np.arange(len(self.layout.key)), :, self.layout.key]

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
    def flips(self) -> FloatArray:
        """Return the share of declared pairs that differ, by item, over models and pairs.

        Letters of the two variants are taken from the same distribution of models, which is exact
        only on average over models; the order of items is what matters.
        """
        same = [
            (self.shares[:, a] * self.shares[:, b]).sum(axis=1) for _, a, b in self.layout.pairs
        ]
        return np.asarray(1 - np.nan_to_num(same, nan=1.0).mean(axis=0))


@dataclass(frozen=True, eq=False)
class Panel:
    """The reference sheets, summed by model.

    Attributes
    ----------
    sheets : Sheets
        All sheets of one benchmark version.
    """

    sheets: Sheets
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, computed once per key."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def of_other_models(
        self, sheet: Sheet, name: str, statistic: Callable[[Sheet], float | None]
    ) -> list[float]:
        """Return a statistic of each other model: the mean over its sheets, except None.

        `name` identifies the statistic, which is computed once per sheet.
        """
        values: dict[str, list[float]] = {}
        for other in self.sheets.reference:
            if other.family != sheet.family:
                value = self.once((name, id(other)), partial(statistic, other))
                if value is not None:
                    values.setdefault(other.family, []).append(value)
        return [float(np.mean(own)) for own in values.values()]

    @cached_property
    def by_model(self) -> dict[str, Shares]:
        """Return the letters of each model: the mean over its sheets."""
        found: dict[str, list[Sheet]] = {}
        for sheet in self.sheets.reference:
            found.setdefault(sheet.family, []).append(sheet)
        letters = np.arange(self.sheets.layout.options)
        return {
            family: np.mean(
                [s.letters[:, :, None] == letters for s in own], axis=0, dtype=np.float32
            )
            for family, own in found.items()
        }

    @cached_property
    def total(self) -> Shares:
        """Return the sum over all models."""
        layout = self.sheets.layout
        shape = (len(layout.items), len(layout.benchmark.variants), layout.options)
        return sum(self.by_model.values(), start=np.zeros(shape, dtype=np.float32))

    def without(self, *families: str) -> Popularity:
        """Return the answers of all models but these."""
        out = frozenset(families) & set(self.by_model)
        return self.once(out, lambda: self._without(out))

    def _without(self, families: frozenset[str]) -> Popularity:
        counts = self.total - sum(self.by_model[family] for family in families)
        # Subtraction leaves rounding errors.
        counts = np.where(counts > 1e-4, counts, 0).astype(np.float32)
        return Popularity(self.sheets.layout, len(self.by_model) - len(families), counts)

    def others(self, sheet: Sheet) -> Popularity:
        """Return the answers of all models but the sheet's, with whatever strategy."""
        return self.without(sheet.family)
