"""Group answers into kinds of items: the outcome counts of all pairs of an item.

If an item is answered more than once (several samples, or all attributes pooled), its answers are
correlated, and only items are independent. Items with the same counts form one row, so this table
is small too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import group_sums, row_keys, stacked
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, open_answers
from fairstats.benchmarks.declaration import BASELINE, POOLED, POOLED_GROUPS, Attribute, Benchmark
from fairstats.counts.crossed_answers import GroupAnswers, answers_of_groups, crossed, crossed_kinds
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS, Folds, fold_answers
from fairstats.counts.packed_answers import Kinds, item_answers
from fairstats.counts.sample_weights import common_copies, pair_weights


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
    tables = [{name: column.to_numpy() for name, column in _NO_ITEMS.items()}]
    for (name, attribute_name), kinds in folds.kinds.items():
        benchmark = folds.benchmarks[name]
        attribute = benchmark.attributes[attribute_name]
        if all_groups and attribute_name == BASELINE:
            continue
        groups = answers_of_groups(kinds, benchmark, attribute)
        places = {group: place for place, group in enumerate(attribute.groups)}
        pairs = combinations(attribute.groups, 2) if all_groups else attribute.pairs
        column = {name: column.to_numpy() for name, column in kinds.items()}
        units = {name: column[name] for name in UNIT_COLUMNS}
        copies, weights = column["copies"], np.ones(len(kinds), dtype=np.int64)
        if answerable:
            copies = copies * column["neutral_copies"]
            weights = pair_weights(column["neutral_copies"], column["neutral"])
            weights *= column["neutral_right"]
        counted = column["neutral_right"] > 0 if answerable else weights > 0
        for a, b in pairs:
            cells = crossed_kinds(kinds, groups[places[a]], groups[places[b]])
            keys = units | {name: cell * weights for name, cell in cells.items()}
            keys = {name: own[counted] for name, own in (keys | {"copies": copies}).items()}
            table = group_sums(keys, {"items": column["items"][counted]}, sort=True)
            texts = {"attribute": attribute_name, "group_a": a, "group_b": b}
            size = len(table["items"])
            tables.append(table | {name: np.full(size, text) for name, text in texts.items()})
    return pd.DataFrame(stacked(tables)).astype(_NO_ITEMS.dtypes)


def fold_pooled(opened: OpenAnswers) -> pd.DataFrame:
    """Return the pooled rows of `count_items`, given an open answers table."""
    asked = set(row_keys(opened.cells, (*UNIT_COLUMNS, "attribute")))
    tables = [_NO_ITEMS]
    for name, benchmark in opened.benchmarks.items():
        pooled = pooled_pairs(benchmark)
        number = Counter(attribute.name for attribute, _ in pooled)
        pairs: Counter[tuple[str, ...]] = Counter()
        for *unit, attribute in asked:
            if unit[0] == name:
                pairs[tuple(unit)] += number[attribute]
        units = {unit for unit, many in pairs.items() if many > 1}
        if units:
            tables.append(_fold_pooled(opened, benchmark, pooled, units))
    return pd.concat(tables, ignore_index=True)


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
    units: Collection[tuple[str, ...]],
) -> pd.DataFrame:
    """Return the pooled rows of these units of a benchmark."""
    folds = fold_answers(opened)
    samples: dict[tuple[str, ...], set[int]] = {}
    names = {attribute.name for attribute, _ in pairs}
    for (of_benchmark, name), kinds in folds.kinds.items():
        if of_benchmark != benchmark.name or name not in names:
            continue
        for unit, size in zip(row_keys(kinds, UNIT_COLUMNS), kinds["samples"], strict=True):
            samples.setdefault(unit, set()).add(size)
    # Use one scale for all units first, and each unit's scale afterwards.
    scale = common_copies(set().union(*samples.values()))
    columns = _pooled_patterns(opened, benchmark, pairs, scale)
    every = item_answers(opened, benchmark).units
    # 0 for units that are not pooled.
    own = [
        common_copies(samples[unit]) if unit in units else 0
        for unit in row_keys(every, UNIT_COLUMNS)
    ]
    copies = np.array(own, dtype=np.int64)[columns["unit"]]
    columns = {name: column[copies > 0] for name, column in columns.items()}
    copies = copies[copies > 0]
    # A rounded scale cannot be reduced.
    copies = np.where(scale % copies == 0, copies, scale)
    columns |= {name: columns[name] // (scale // copies) for name in PATTERNS}
    a, b = POOLED_GROUPS
    table = every.take(columns.pop("unit")).assign(**columns, copies=copies)
    table = table.assign(attribute=POOLED, group_a=a, group_b=b)
    return table[list(_NO_ITEMS)].sort_values([*UNIT_COLUMNS, *PATTERNS], ignore_index=True)


def _pooled_patterns(
    opened: OpenAnswers,
    benchmark: Benchmark,
    pairs: Sequence[tuple[Attribute, tuple[str, str]]],
    scale: int,
) -> dict[str, np.ndarray]:
    """Count the items by the outcome patterns of all their pairs, each pair weighted."""
    answers = item_answers(opened, benchmark)
    every = [(attribute.name, group) for attribute, _ in pairs for group in attribute.groups]
    place = {variant: i for i, variant in enumerate(dict.fromkeys(every))}
    parts = [_patterns_of_pairs(part, place, pairs, scale) for part in answers.of(list(place))]
    columns = stacked(parts)
    return group_sums(columns, {"items": columns.pop("items")})


def _patterns_of_pairs(
    part: Kinds,
    place: Mapping[tuple[str, str], int],
    pairs: Sequence[tuple[Attribute, tuple[str, str]]],
    scale: int,
) -> dict[str, np.ndarray]:
    """Add up the outcome patterns of an item's pairs; `place` finds a variant's answers."""
    right = np.take_along_axis(part.letters, part.key[:, None, None], axis=2)[:, :, 0]
    wrong = part.letters.sum(axis=2) - right
    totals = {name: np.zeros(len(part.key), dtype=np.int64) for name in PATTERNS}
    asked = np.zeros(len(part.key), dtype=bool)
    for attribute, pair in pairs:
        of_attribute = [place[attribute.name, group] for group in attribute.groups]
        samples = part.rows[:, of_attribute].max(axis=1)
        asked |= samples > 0
        a, b = (
            GroupAnswers(
                right[:, i], wrong[:, i], samples - right[:, i] - wrong[:, i], part.letters[:, i]
            )
            for i in (place[attribute.name, group] for group in pair)
        )
        weights = pair_weights(scale, samples)
        for name, cell in crossed(a, b, (a.letters * b.letters).sum(axis=1)).items():
            totals[name] += cell * weights
    columns = {"unit": part.unit, **totals, "items": part.items}
    columns = {name: column[asked] for name, column in columns.items()}
    return group_sums(columns, {"items": columns.pop("items")})
