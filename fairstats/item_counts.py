"""Fold answers into the kinds of items there are: the outcome counts of all pairs of an item.

Where an item is answered more than once (several samples, all attributes pooled) its answers are
alike, and items are what is independent. Items with the same counts are one row here, so that this
table is small too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats.benchmarks import BASELINE, POOLED, POOLED_GROUPS, Attribute, Benchmark
from fairstats.counts import PAIR_COLUMNS, PATTERNS
from fairstats.folding import NO_LETTER, UNIT_COLUMNS, distinct, open_answers, side_by_side

if TYPE_CHECKING:
    import narwhals as nw

_SIGNS = {"1": 1, "0": 0, "x": 2}


def count_items(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Count the items of every unit by the outcome patterns of all their pairs.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`, how many pairs with each of the patterns of `fairstats.counts.PATTERNS` an
        item has, and ``items``, the number of items of that kind. The attribute ``pooled`` holds
        the declared pairs of all demographic attributes, where there are several; attributes
        that cross others are not part of it.

    Raises
    ------
    InputError
        As `count_outcomes`.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            item_id="demo-01", attribute="race", answer_key="C")
    >>> samples = [row | dict(sample=s, group=g, answer=a)
    ...            for s, a in enumerate("CB") for g in ("white", "black")]
    >>> items = count_items(pd.DataFrame(samples)).set_index("attribute")
    >>> items.loc["race", ["n11", "n00_same", "items"]].tolist()
    [1, 1, 1]
    """
    frame, known = open_answers(answers, benchmarks)
    return pd.concat([fold_items(frame, known), fold_pooled(frame, known)], ignore_index=True)


def fold_items(frame: nw.LazyFrame[Any], known: Mapping[str, Benchmark]) -> pd.DataFrame:
    """The rows of `count_items` of the declared pairs, of an answers table that is open."""
    tables = [
        _fold(frame, benchmark, [(attribute, pair)], attribute.name, pair)
        for benchmark in known.values()
        for attribute in benchmark.attributes.values()
        for pair in attribute.pairs
    ]
    return pd.concat(tables, ignore_index=True)


def fold_pooled(frame: nw.LazyFrame[Any], known: Mapping[str, Benchmark]) -> pd.DataFrame:
    """The rows of `count_items` that pool the attributes, of an answers table that is open."""
    tables = [_NO_ITEMS]
    for benchmark in known.values():
        pooled = pooled_pairs(benchmark)
        if len(pooled) > 1:
            table = _fold(frame, benchmark, pooled, POOLED, POOLED_GROUPS)
            tables.append(table.merge(_asked_of_several(frame, pooled)))
    return pd.concat(tables, ignore_index=True)


def _asked_of_several(
    frame: nw.LazyFrame[Any], pooled: Sequence[tuple[Attribute, tuple[str, str]]]
) -> pd.DataFrame:
    """The units that have more than one pair to pool."""
    asked = distinct(frame, [*UNIT_COLUMNS, "attribute"])
    pairs = pd.Series([attribute.name for attribute, _ in pooled]).value_counts()
    number = asked["attribute"].map(pairs).fillna(0)
    units = number.groupby([asked[column].astype("str") for column in UNIT_COLUMNS]).sum()
    return units[units > 1].index.to_frame(index=False)


def fold_all_pairs(
    frame: nw.LazyFrame[Any], benchmark: Benchmark, *, answerable_only: bool
) -> pd.DataFrame:
    """As `fold_items`, for every two groups of the demographic attributes, declared or not.

    With `answerable_only` over the answerable items alone.
    """
    tables = [
        _fold(frame, benchmark, [(attribute, pair)], attribute.name, pair, answerable_only)
        for attribute in benchmark.varied
        for pair in combinations(attribute.groups, 2)
    ]
    return pd.concat(tables, ignore_index=True)


_NO_ITEMS = pd.DataFrame(
    {
        **{name: pd.Series(dtype="str") for name in PAIR_COLUMNS},
        **{name: pd.Series(dtype="int64") for name in (*PATTERNS, "items")},
    }
)


def pooled_pairs(benchmark: Benchmark) -> list[tuple[Attribute, tuple[str, str]]]:
    """The declared pairs of all demographic attributes, but of those that cross others."""
    return [
        (attribute, pair)
        for attribute in benchmark.attributes.values()
        if attribute.name != BASELINE and not attribute.crosses
        for pair in attribute.pairs
    ]


def _fold(
    frame: nw.LazyFrame[Any],
    benchmark: Benchmark,
    pairs: Sequence[tuple[Attribute, tuple[str, str]]],
    name: str,
    groups: tuple[str, str],
    answerable_only: bool = False,
) -> pd.DataFrame:
    import narwhals as nw

    patterns = list(PATTERNS)
    answered = []
    for attribute, pair in pairs:
        rows = side_by_side(frame, benchmark, attribute)
        if answerable_only:
            rows = rows.filter(nw.col("answerable") == 1)
        answered.append(_patterns(rows, attribute, pair))
    table = (
        nw.concat(answered, how="vertical")
        .group_by(*UNIT_COLUMNS, "item_id")
        .agg(*(nw.col(pattern).sum() for pattern in patterns))
        .group_by(*UNIT_COLUMNS, *patterns)
        .agg(items=nw.len())
        .collect()
        .to_pandas()
    )
    table = table.astype(dict.fromkeys([*patterns, "items"], "int64"))
    table = table.astype(dict.fromkeys(UNIT_COLUMNS, "str"))
    table = table.assign(attribute=name, group_a=groups[0], group_b=groups[1])
    table = table[[*PAIR_COLUMNS, *patterns, "items"]]
    return table.sort_values([*PAIR_COLUMNS, *patterns], ignore_index=True)


def _patterns(
    items: nw.LazyFrame[Any], attribute: Attribute, pair: tuple[str, str]
) -> nw.LazyFrame[Any]:
    """One column a pattern: 1 where the item's pair has it, else 0."""
    import narwhals as nw

    order = list(attribute.groups)
    a, b = (nw.col(f"letter_{order.index(group)}") for group in pair)

    def sign(letter: nw.Expr) -> nw.Expr:
        right = (letter == nw.col("answer_key")).cast(nw.Int64)
        return nw.when(letter == NO_LETTER).then(nw.lit(_SIGNS["x"])).otherwise(right)

    marked = items.with_columns(a=sign(a), b=sign(b), same=(a == b).cast(nw.Int64))
    columns = {}
    for pattern in PATTERNS:
        signs, _, letters = pattern.removeprefix("n").partition("_")
        has = (nw.col("a") == _SIGNS[signs[0]]) & (nw.col("b") == _SIGNS[signs[1]])
        if letters:
            has = has & (nw.col("same") == (1 if letters == "same" else 0))
        columns[pattern] = has.cast(nw.Int64)
    return marked.with_columns(**columns).select(*UNIT_COLUMNS, "item_id", *PATTERNS)
