"""Group answers into kinds of items: the outcome counts of all pairs of an item.

If an item is answered more than once (several samples, or all attributes pooled), its answers are
correlated, and only items are independent. Items with the same counts form one row, so this table
is small too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import group_rows
from fairstats.answers.engine_frames import (
    UNIT_COLUMNS,
    OpenAnswers,
    answers_by_item,
    distinct,
    items_in_memory,
    letter_columns,
    open_answers,
)
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.terms import BASELINE, POOLED, POOLED_GROUPS
from fairstats.counts.outcomes import (
    PAIR_COLUMNS,
    PATTERNS,
    Folds,
    GroupAnswers,
    answers_of_groups,
    crossed,
    crossed_kinds,
    fold_answers,
)
from fairstats.counts.sample_weights import common_copies, pair_weights

if TYPE_CHECKING:
    import narwhals as nw


def count_items(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Count the items of every unit by the outcome patterns of all their pairs.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`; an item's number of pairs with each pattern of
        `fairstats.counts.outcomes.PATTERNS` (every answer of one group with every answer of the
        other, weighted, see `count_outcomes`); ``copies``, the number of pairs that share an
        answer; and ``items``, the number of items of that kind. The attribute ``pooled`` has the
        declared pairs of all demographic attributes, if there are several. It excludes attributes
        that cross others.

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
    >>> items.loc["race", ["n11", "n10", "n01", "n00_same", "copies"]].tolist()
    [1, 1, 1, 1, 2]
    """
    opened = open_answers(answers, benchmarks)
    return pd.concat([pair_items(fold_answers(opened)), fold_pooled(opened)], ignore_index=True)


def pair_items(folds: Folds, *, all_groups: bool = False, answerable: bool = False) -> pd.DataFrame:
    """Return the kinds of items of pairs of groups, from folded answers.

    Parameters
    ----------
    folds : Folds
        From `fairstats.counts.outcomes.fold_answers`.
    all_groups : bool
        Use every two groups of the demographic attributes; by default the declared pairs of all
        attributes.
    answerable : bool
        Count each pair of answers once per right answer to the item's neutralized variant.

    Returns
    -------
    pandas.DataFrame
        The rows of `count_items`, without the pooled ones.
    """
    tables = [_NO_ITEMS]
    for (name, attribute_name), kinds in folds.kinds.items():
        benchmark = folds.benchmarks[name]
        attribute = benchmark.attributes[attribute_name]
        if all_groups and attribute_name == BASELINE:
            continue
        groups = answers_of_groups(kinds, benchmark, attribute)
        places = {group: place for place, group in enumerate(attribute.groups)}
        pairs = combinations(attribute.groups, 2) if all_groups else attribute.pairs
        for a, b in pairs:
            cells = crossed_kinds(kinds, groups[places[a]], groups[places[b]])
            copies = kinds["copies"]
            if answerable:
                weights = pair_weights(kinds["neutral_copies"], kinds["neutral"])
                cells = cells.mul(weights * kinds["neutral_right"], axis=0)
                copies = copies * kinds["neutral_copies"]
            table = pd.concat([kinds[[*UNIT_COLUMNS, "items"]], cells], axis=1)
            table = table.assign(attribute=attribute_name, group_a=a, group_b=b, copies=copies)
            if answerable:
                table = table[kinds["neutral_right"] > 0]
            keys = [*PAIR_COLUMNS, *PATTERNS, "copies"]
            tables.append(table.groupby(keys, as_index=False, sort=True)["items"].sum())
    return pd.concat(tables, ignore_index=True)[list(_NO_ITEMS)]


def fold_pooled(opened: OpenAnswers) -> pd.DataFrame:
    """Return the pooled rows of `count_items`, given an open answers table."""
    tables = [_NO_ITEMS]
    for benchmark in opened.benchmarks.values():
        pooled = pooled_pairs(benchmark)
        if len(pooled) > 1:
            table = _fold_pooled(opened, benchmark, pooled)
            tables.append(table.merge(_asked_of_several(opened.frame, pooled)))
    return pd.concat(tables, ignore_index=True)


def _asked_of_several(
    frame: nw.LazyFrame[Any], pooled: Sequence[tuple[Attribute, tuple[str, str]]]
) -> pd.DataFrame:
    """Return the units with more than one pair to pool."""
    asked = distinct(frame, [*UNIT_COLUMNS, "attribute"])
    pairs = pd.Series([attribute.name for attribute, _ in pooled]).value_counts()
    number = asked["attribute"].map(pairs).fillna(0)
    units = number.groupby([asked[column].astype("str") for column in UNIT_COLUMNS]).sum()
    return units[units > 1].index.to_frame(index=False)


_NO_ITEMS = pd.DataFrame(
    {
        **{name: pd.Series(dtype="str") for name in PAIR_COLUMNS},
        **{name: pd.Series(dtype="int64") for name in (*PATTERNS, "copies", "items")},
    }
)


def pooled_pairs(benchmark: Benchmark) -> list[tuple[Attribute, tuple[str, str]]]:
    """Return the declared pairs of all demographic attributes, except crossed ones."""
    return [
        (attribute, pair)
        for attribute in benchmark.attributes.values()
        if attribute.name != BASELINE and not attribute.crosses
        for pair in attribute.pairs
    ]


def _fold_pooled(
    opened: OpenAnswers,
    benchmark: Benchmark,
    pairs: Sequence[tuple[Attribute, tuple[str, str]]],
) -> pd.DataFrame:
    import narwhals as nw

    attributes = {attribute.name for attribute, _ in pairs}
    folds = fold_answers(opened)
    kinds = pd.concat([folds.kinds[benchmark.name, name] for name in sorted(attributes)])
    if kinds.empty:
        return _NO_ITEMS
    # Use one scale for all units in the engine, and each unit's scale afterwards.
    sizes = sorted({int(size) for size in kinds["samples"]})
    scale = common_copies(sizes)
    units = [kinds[name] for name in UNIT_COLUMNS]
    own = kinds["samples"].groupby(units).agg(common_copies).rename("copies").reset_index()
    patterns = list(PATTERNS)
    if opened.in_memory:
        table = _pooled_in_memory(opened, benchmark, pairs, scale)
    else:
        table = (
            _crossed(opened, benchmark, pairs, sizes)
            .group_by(*UNIT_COLUMNS, *patterns)
            .agg(items=nw.len())
            .collect()
            .to_pandas()
        )
    table = table.astype(dict.fromkeys([*patterns, "items"], "int64"))
    table = table.astype(dict.fromkeys(UNIT_COLUMNS, "str")).merge(own, on=list(UNIT_COLUMNS))
    # A rounded scale cannot be reduced.
    exact = scale % table["copies"] == 0
    table["copies"] = table["copies"].where(exact, scale).astype("int64")
    table[patterns] = table[patterns].floordiv(scale // table["copies"], axis=0)
    a, b = POOLED_GROUPS
    table = table.assign(attribute=POOLED, group_a=a, group_b=b)
    return table[list(_NO_ITEMS)].sort_values([*PAIR_COLUMNS, *patterns], ignore_index=True)


def _pooled_in_memory(
    opened: OpenAnswers,
    benchmark: Benchmark,
    pairs: Sequence[tuple[Attribute, tuple[str, str]]],
    scale: int,
) -> pd.DataFrame:
    """Count the kinds of items, over the pairs of several attributes."""
    found = []
    for attribute, pair in pairs:
        items = items_in_memory(opened, benchmark, attribute)
        groups = dict(
            zip(attribute.groups, answers_of_groups(items, benchmark, attribute), strict=True)
        )
        a, b = (groups[group] for group in pair)
        cells = crossed(a, b, (a.letters * b.letters).sum(axis=1))
        weights = pair_weights(scale, items["samples"])
        found.append((items, np.column_stack(list(cells.values())) * weights[:, None]))
    items = pd.concat([items for items, _ in found], ignore_index=True)
    number, first = group_rows([items["item"].to_numpy()])
    totals = np.zeros((len(first), len(PATTERNS)), dtype=np.int64)
    np.add.at(totals, number, np.concatenate([of_pair for _, of_pair in found]))
    kind, one = group_rows([items["unit"].to_numpy()[first], *totals.T])
    table = items[list(UNIT_COLUMNS)].iloc[first[one]].reset_index(drop=True)
    table[list(PATTERNS)] = totals[one]
    return table.assign(items=np.bincount(kind, minlength=len(one)))


def _crossed(
    opened: OpenAnswers,
    benchmark: Benchmark,
    pairs: Sequence[tuple[Attribute, tuple[str, str]]],
    sizes: Sequence[int],
) -> nw.LazyFrame[Any]:
    """Count each item's pairs of answers by outcome pattern, weighted, in the engine."""
    import narwhals as nw

    attributes = list({attribute.name: attribute for attribute, _ in pairs}.values())
    items = answers_by_item(opened, benchmark, attributes)
    scale = common_copies(sizes)
    found, weighted = [], []
    for number, (attribute, pair) in enumerate(pairs):
        place = attributes.index(attribute)
        columns, order = letter_columns(attribute, benchmark), list(attribute.groups)
        sides = [[f"{place}_{name}" for name in columns[order.index(group)]] for group in pair]
        samples = nw.col(f"{place}_samples")
        for side, names in zip("ab", sides, strict=True):
            right = sum_horizontal(
                nw.col(name) * (nw.col("answer_key") == letter).cast(nw.Int64)
                for name, letter in zip(names, benchmark.options, strict=True)
            )
            answered = sum_horizontal(nw.col(name) for name in names)
            found.append(right.alias(f"right_{side}_{number}"))
            found.append(answered.alias(f"answered_{side}_{number}"))
        same = sum_horizontal(nw.col(x) * nw.col(y) for x, y in zip(*sides, strict=True))
        weight = sum_horizontal(
            (samples == size).cast(nw.Int64) * int(pair_weights(scale, size)) for size in sizes
        )
        found += [same.alias(f"same_{number}"), weight.alias(f"weight_{number}")]

        def answers(side: str, number: int = number, samples: Any = samples) -> GroupAnswers:
            right, answered = (nw.col(f"{x}_{side}_{number}") for x in ("right", "answered"))
            return GroupAnswers(right, answered - right, samples - answered, None)

        cells = crossed(answers("a"), answers("b"), nw.col(f"same_{number}"))
        weighted.append([cell * nw.col(f"weight_{number}") for cell in cells.values()])
    patterns = zip(PATTERNS, map(sum_horizontal, zip(*weighted, strict=True)), strict=True)
    return items.with_columns(*found).select(
        *UNIT_COLUMNS, *(cell.alias(name) for name, cell in patterns)
    )


def sum_horizontal(terms: Iterable[Any]) -> Any:
    """Add expressions up."""
    return reduce(add, terms)
