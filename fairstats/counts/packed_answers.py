"""Count the answers to every item, in one pass over the table, in the engine that holds it.

The answers to all variants of an item are packed into a few whole numbers, with a field of bits per
variant and letter. Items with the same answers form one row, so only a small table leaves the
engine, and everything else is computed from that table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.row_groups import group_rows
from fairstats.answers.engine_frames import (
    TEXT_COLUMNS,
    UNIT_COLUMNS,
    OpenAnswers,
    refuse_repeated,
)
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.benchmarks.declaration import Benchmark

if TYPE_CHECKING:
    import narwhals as nw

IntArray = npt.NDArray[np.int64]
#: An attribute and one of its groups.
Variant = tuple[str, str]

# Fields use this many bits of a word. Its sum then fits into 64 bits even if an answer is in the
# table 2**22 times; such a table is refused, but only after summing.
_BITS = 40
# Numbers are unpacked for so many rows at a time.
_BLOCK = 2**18


@dataclass(frozen=True)
class Kinds:
    """Items counted by their answers to some variants.

    Attributes
    ----------
    unit, key : ndarray of int, shape (k,)
        The unit, a row of `ItemAnswers.units`, and the answer key, a place among the options.
    rows : ndarray of int, shape (k, variants)
        The number of answers to each variant, with missing ones.
    letters : ndarray of int, shape (k, variants, options)
        How often each letter was given.
    items : ndarray of int, shape (k,)
        The number of items.
    """

    unit: IntArray
    key: IntArray
    rows: IntArray
    letters: IntArray
    items: IntArray


@dataclass(frozen=True)
class ItemAnswers:
    """The items of a benchmark, counted by their answers to all variants.

    Attributes
    ----------
    units : pandas.DataFrame
        `UNIT_COLUMNS`, one row per unit.
    """

    units: pd.DataFrame
    _layout: _Layout
    _unit: IntArray
    _key: IntArray
    _words: list[IntArray]
    _items: IntArray

    def of(self, variants: Sequence[Variant]) -> Iterator[Kinds]:
        """Count the items by their answers to these declared variants alone, block by block."""
        words = [
            values & word.mask(variants)
            for word, values in zip(self._layout.words, self._words, strict=True)
        ]
        kind, first = group_rows([self._unit, self._key, *words])
        # Sums of whole numbers below 2**53 are exact.
        items = np.bincount(kind, weights=self._items, minlength=len(first)).astype(np.int64)
        for start in range(0, max(len(first), 1), _BLOCK):
            here = first[start : start + _BLOCK]
            found = self._layout.unpack([values[here] for values in words], variants)
            own = items[start : start + _BLOCK]
            yield Kinds(self._unit[here], self._key[here], found[..., -1], found[..., :-1], own)


@dataclass(frozen=True)
class _Word:
    """A whole number with a field of `width` bits for each of some variants and letters."""

    variants: Sequence[Variant]
    letters: Sequence[str | None]
    width: int

    @cached_property
    def fields(self) -> dict[tuple[Variant, str | None], int]:
        """Return the place of each field's lowest bit."""
        names = [(variant, letter) for variant in self.variants for letter in self.letters]
        return {name: self.width * place for place, name in enumerate(names)}

    @property
    def full(self) -> int:
        """Return the largest number in a field."""
        return 2**self.width - 1

    def mask(self, variants: Iterable[Variant]) -> int:
        """Return the bits of all fields of these variants."""
        own = set(variants)
        return sum(self.full << at for (variant, _), at in self.fields.items() if variant in own)


class _Layout:
    """The fields of a benchmark's answers: for each variant, its letters and (None) its rows.

    Each field can hold the number of samples of an item.
    """

    def __init__(self, benchmark: Benchmark, samples: int) -> None:
        self.variants = [
            (attribute.name, group)
            for attribute in benchmark.attributes.values()
            for group in attribute.groups
        ]
        self.options = list(benchmark.options)
        width = samples.bit_length()
        letters = [*self.options, None]
        wide = min(len(letters), _BITS // width)
        deep = _BITS // (width * wide)
        self.words = [
            _Word(self.variants[v : v + deep], letters[i : i + wide], width)
            for v in range(0, len(self.variants), deep)
            for i in range(0, len(letters), wide)
        ]

    def unpack(self, words: Sequence[IntArray], variants: Sequence[Variant]) -> IntArray:
        """Return the numbers in the fields of some variants: rows x variants x letters."""
        letters: list[str | None] = [*self.options, None]
        found = np.zeros((len(words[0]), len(variants), len(letters)), dtype=np.int64)
        for word, values in zip(self.words, words, strict=True):
            for place, variant in enumerate(variants):
                for letter in word.letters if variant in word.variants else ():
                    number = values >> word.fields[variant, letter] & word.full
                    found[:, place, letters.index(letter)] = number
        return found


def item_answers(opened: OpenAnswers, benchmark: Benchmark) -> ItemAnswers:
    """Count the items of a benchmark by their answers, once per table.

    Raises
    ------
    InputError
        If an answer is in the table more than once.
    """
    count = _in_memory if opened.in_memory else _in_engine
    return opened.once(("item answers", benchmark.name), lambda: count(opened, benchmark))


def _in_engine(opened: OpenAnswers, benchmark: Benchmark) -> ItemAnswers:
    import narwhals as nw

    frame = opened.frame.filter(nw.col("benchmark") == benchmark.name)
    numbers = frame.select(nw.col("sample").n_unique()).collect().to_pandas()
    samples = int(numbers["sample"].item())
    units = _units(opened.cells, benchmark)
    number, of_unit = _unit_numbers(units)
    once = _Layout(benchmark, 1)
    found = _counted(frame, number, once, ["item_id"] if samples == 1 else ["item_id", "sample"])
    if (_bits(found, once) != found["terms"]).any():
        _refuse_repeated(frame, benchmark)
    layout = once
    if samples > 1:
        layout = _Layout(benchmark, samples)
        found = _counted(frame, number, layout, ["item_id"])
    words = [found[f"word_{i}"] for i in range(len(layout.words))]
    return ItemAnswers(units, layout, of_unit[found["unit"]], found["key"], words, found["items"])


def _units(cells: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    own = cells.loc[cells["benchmark"] == benchmark.name, list(UNIT_COLUMNS)]
    return own.drop_duplicates().sort_values(list(UNIT_COLUMNS), ignore_index=True)


def _unit_numbers(units: pd.DataFrame) -> tuple[nw.Expr, IntArray]:
    """Return an expression that numbers all combinations of names, and the unit of each number."""
    import narwhals as nw

    expression, place, size = nw.lit(0), np.zeros(len(units), dtype=np.int64), 1
    for name in UNIT_COLUMNS:
        codes, names = pd.factorize(units[name])
        expression = expression + _replaced(name, {text: i * size for i, text in enumerate(names)})
        place, size = place + codes * size, size * len(names)
    of_unit = np.full(size, -1)
    of_unit[place] = np.arange(len(units))
    return expression, of_unit


def _replaced(column: str, numbers: Mapping[str, int]) -> nw.Expr:
    """Replace names by numbers; null and other names by 0."""
    import narwhals as nw

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


def _counted(
    frame: nw.LazyFrame[Any], unit: nw.Expr, layout: _Layout, keys: Sequence[str]
) -> dict[str, IntArray]:
    """Sum the words of each unit and these keys, and count those with the same sums.

    `terms` is the number of fields to which 1 was added.
    """
    import narwhals as nw

    words = {f"word_{i}": _packed(word) for i, word in enumerate(layout.words)}
    answered = nw.lit(1) - nw.col("answer").is_null().cast(nw.Int64)
    key = _replaced("answer_key", {name: i for i, name in enumerate(layout.options)})
    found = (
        frame.select(*keys, unit=unit, key=key, terms=answered + 1, **words)
        .group_by("unit", *keys)
        .agg(nw.col("key").max(), nw.col("terms", *words).sum().cast(nw.Int64))
        .group_by("unit", "key", "terms", *words)
        .agg(items=nw.len())
        .collect()
        .to_pandas()
    )
    return {name: found[name].to_numpy(dtype=np.int64) for name in found}


def _packed(word: _Word) -> nw.Expr:
    """Return the bits of each row's variant and letter."""
    import narwhals as nw

    # The bits of a letter, moved to its variant.
    moved = nw.lit(0)
    for attribute in dict.fromkeys(name for name, _ in word.variants):
        places = {
            group: 2 ** word.fields[(name, group), word.letters[0]]
            for name, group in word.variants
            if name == attribute
        }
        of_attribute = (nw.col("attribute") == attribute).cast(nw.Int64)
        moved = moved + of_attribute * _replaced("group", places)
    bits = {letter: 2 ** (word.width * place) for place, letter in enumerate(word.letters)}
    row = bits.pop(None, 0)
    letters = {letter: bit for letter, bit in bits.items() if letter is not None}
    return moved * (_replaced("answer", letters) + row if letters else nw.lit(row))


def _bits(found: Mapping[str, IntArray], layout: _Layout) -> IntArray:
    """Return the number of bits in all words: fewer than terms if two were added to one field."""
    words = np.stack([found[f"word_{i}"] for i in range(len(layout.words))])
    return np.bitwise_count(words).sum(axis=0, dtype=np.int64)


def _refuse_repeated(frame: nw.LazyFrame[Any], benchmark: Benchmark) -> None:
    """Name an attribute with repeated answers."""
    import narwhals as nw

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


def _in_memory(opened: OpenAnswers, benchmark: Benchmark) -> ItemAnswers:
    """Count with arrays: data frames take longer for small tables."""
    import narwhals as nw

    frame = opened.frame
    if len(opened.benchmarks) > 1:
        frame = frame.filter(nw.col("benchmark") == benchmark.name)
    table = frame.select(*TEXT_COLUMNS, "sample").collect().to_pandas()
    rows = {name: pd.factorize(table[name]) for name in (*TEXT_COLUMNS, "sample")}
    unit, first_of_unit = group_rows(rows[name][0] for name in UNIT_COLUMNS)
    item, first = group_rows([unit, rows["item_id"][0]])
    variant, variants = group_rows(rows[name][0] for name in ("attribute", "group"))
    if len(group_rows([item, variant, rows["sample"][0]])[1]) < len(item):
        _refuse_repeated(frame, benchmark)
    layout = _Layout(benchmark, len(rows["sample"][1]))
    names = [(table["attribute"].iat[row], table["group"].iat[row]) for row in variants]
    letter, options = rows["answer"]
    words = []
    for word in layout.words:
        # The fields of every variant and letter that occurs; the last column is of missing answers.
        added = np.zeros((len(names), len(options) + 1), dtype=np.int64)
        for (name, option), at in word.fields.items():
            if name in names:
                of_variant = added[names.index(name)]
                if option is None:
                    of_variant += 1 << at
                elif option in options:
                    of_variant[options.get_loc(option)] += 1 << at
        # Sums of whole numbers below 2**53 are exact.
        words.append(np.bincount(item, weights=added[variant, letter]).astype(np.int64))
    key = pd.Index(layout.options).get_indexer(table["answer_key"].take(first))
    kind, one = group_rows([unit[first], key, *words])
    return ItemAnswers(
        table[list(UNIT_COLUMNS)].take(first_of_unit).reset_index(drop=True),
        layout,
        unit[first][one],
        key[one],
        [word[one] for word in words],
        np.bincount(kind, minlength=len(one)),
    )
