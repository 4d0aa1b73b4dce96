"""Fold answers into the counts of outcome patterns, where the answers lie.

Every statistic behind this module is a function of the small tables made here. A fold is two
joins and two group-bys through narwhals, so that it runs on pandas, Polars, DuckDB or PySpark;
what leaves it is a small pandas frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats.benchmarks import Attribute, Benchmark
from fairstats.folding import (
    NO_LETTER,
    UNIT_COLUMNS,
    letter_columns,
    open_answers,
    refuse_repeated,
    side_by_side,
)

if TYPE_CHECKING:
    import narwhals as nw

PAIR_COLUMNS = (*UNIT_COLUMNS, "attribute", "group_a", "group_b")

#: The outcome patterns of a counterfactual pair. The first sign is group a's, the second group
#: b's: 1 correct, 0 wrong, x missing. Two wrong answers can be the same letter or two letters.
PATTERNS = (
    "n11",
    "n10",
    "n01",
    "n00_same",
    "n00_different",
    "n1x",
    "n0x",
    "nx1",
    "nx0",
    "nxx",
)
MISSING = "x"


@dataclass(frozen=True)
class Folds:
    """What the answers of all units fold into.

    Attributes
    ----------
    outcomes : pandas.DataFrame
        `UNIT_COLUMNS`, ``attribute``, ``outcomes`` (one sign a group in declared order: 1, 0 or
        x for missing), ``same`` (one sign for each two groups, in the order of
        `itertools.combinations`: do the letters agree), ``answerable`` (1, 0 or x: was the
        neutralized variant of the item answered correctly) and ``n``, the number of items.
    letters : pandas.DataFrame
        `PAIR_COLUMNS` of the declared pairs, ``letter_a``, ``letter_b`` and ``n``, the number of
        pairs of which no answer is missing.
    benchmarks : dict of str to Benchmark
        The benchmarks of the answers by name.
    """

    outcomes: pd.DataFrame
    letters: pd.DataFrame
    benchmarks: dict[str, Benchmark]


def count_outcomes(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Count the outcome patterns of every counterfactual pair of every unit.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table; the counting runs in the engine that holds it.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.

    Returns
    -------
    pandas.DataFrame
        One row a unit: its keys, ``group_a`` (privileged), ``group_b``, and the number of pairs
        with each of the ten patterns of `PATTERNS`. A pair is one item and sample. A variant
        without a row counts as missing, as one whose answer could not be parsed.

    Raises
    ------
    InputError
        For an unknown benchmark, attribute or group, and for an answer that stands there twice.

    Examples
    --------
    >>> import pandas as pd
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            item_id="demo-01", attribute="race", sample=0, answer_key="C")
    >>> answers = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                         row | dict(group="black", answer="B")])
    >>> counts = count_outcomes(answers)
    >>> int(counts.loc[counts["attribute"] == "race", "n10"].item())
    1
    """
    folds = fold_answers(answers, benchmarks=benchmarks)
    return pair_counts(folds.outcomes, folds.benchmarks)


def fold_answers(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> Folds:
    """Fold answers into joint outcome patterns over all groups of each attribute, and letters.

    The sufficient tables of the package: the pairs' counts and the disparities over any number of
    groups follow from them.

    Raises
    ------
    InputError
        As `count_outcomes`.
    """
    return fold(*open_answers(answers, benchmarks))


def fold(frame: nw.LazyFrame[Any], known: dict[str, Benchmark]) -> Folds:
    """`fold_answers` of an answers table that is open, see `fairstats.folding.open_answers`."""
    folded = [
        (_fold_letters(frame, benchmark, attribute), attribute)
        for benchmark in known.values()
        for attribute in benchmark.attributes.values()
    ]
    return Folds(
        pd.concat([_outcomes(*table) for table in folded], ignore_index=True),
        pd.concat([_pair_letters(*table) for table in folded], ignore_index=True),
        known,
    )


def pair_counts(folded: pd.DataFrame, benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """The outcome counts of the declared pairs, from `fold_outcomes`."""
    frames = []
    for (name, attribute_name), rows in folded.groupby(["benchmark", "attribute"], sort=False):
        attribute = benchmarks[str(name)].attributes[str(attribute_name)]
        groups = list(attribute.groups)
        in_order = list(combinations(range(len(groups)), 2))
        declared = [(groups.index(a), groups.index(b)) for a, b in attribute.pairs]
        for a, b in declared:
            same = rows["same"].str[in_order.index((min(a, b), max(a, b)))]
            pattern = "n" + rows["outcomes"].str[a] + rows["outcomes"].str[b]
            both_wrong = pattern == "n00"
            pattern = pattern.mask(both_wrong & (same == "1"), "n00_same")
            pattern = pattern.mask(both_wrong & (same == "0"), "n00_different")
            frames.append(rows.assign(group_a=groups[a], group_b=groups[b], pattern=pattern))
    long = pd.concat(frames, ignore_index=True)
    wide = long.pivot_table(
        index=list(PAIR_COLUMNS),
        columns="pattern",
        values="n",
        aggfunc="sum",
        fill_value=0,
        sort=False,
    )
    return wide.reindex(columns=list(PATTERNS), fill_value=0).astype("int64").reset_index()


def _fold_letters(
    frame: nw.LazyFrame[Any], benchmark: Benchmark, attribute: Attribute
) -> pd.DataFrame:
    """How many items of each unit have each combination of letters, key and answerability."""
    import narwhals as nw

    columns = [*letter_columns(attribute), "answer_key", "answerable", "repeated"]
    table = (
        side_by_side(frame, benchmark, attribute)
        .group_by(*UNIT_COLUMNS, *columns)
        .agg(n=nw.len())
        .collect()
        .to_pandas()
    )
    refuse_repeated(table, attribute.name)
    text = dict.fromkeys([*UNIT_COLUMNS, *letter_columns(attribute), "answer_key"], "str")
    return table.astype(text).astype({"answerable": "int64", "n": "int64"})


def _outcomes(table: pd.DataFrame, attribute: Attribute) -> pd.DataFrame:
    letters = table[letter_columns(attribute)].to_numpy(dtype=str)
    there = letters != NO_LETTER
    right = letters == table["answer_key"].to_numpy(dtype=str)[:, None]
    columns = {
        "outcomes": np.where(there, np.where(right, "1", "0"), MISSING),
        "same": np.column_stack(
            [
                np.where(there[:, a] & there[:, b], (letters[:, a] == letters[:, b]) * 1, -1)
                for a, b in combinations(range(letters.shape[1]), 2)
            ]
        ),
        "answerable": table[["answerable"]].to_numpy(),
    }
    signs = {name: _joined(values) for name, values in columns.items()}
    frame = table[list(UNIT_COLUMNS)].assign(attribute=attribute.name, **signs, n=table["n"])
    keys = [*UNIT_COLUMNS, "attribute", *signs]
    return frame.groupby(keys, as_index=False, sort=True)["n"].sum()


def _joined(marks: np.ndarray) -> list[str]:
    """A row's marks as one text: 1, 0, and x where it is not known."""
    text = marks.astype(str)
    text[text == "-1"] = MISSING
    return ["".join(row) for row in text]


def _pair_letters(table: pd.DataFrame, attribute: Attribute) -> pd.DataFrame:
    groups = list(attribute.groups)
    frames = []
    for a, b in attribute.pairs:
        sides = (f"letter_{groups.index(a)}", f"letter_{groups.index(b)}")
        pair = table[list(UNIT_COLUMNS)].assign(
            attribute=attribute.name,
            group_a=a,
            group_b=b,
            letter_a=table[sides[0]],
            letter_b=table[sides[1]],
            n=table["n"],
        )
        frames.append(pair[(pair["letter_a"] != NO_LETTER) & (pair["letter_b"] != NO_LETTER)])
    keys = [*PAIR_COLUMNS, "letter_a", "letter_b"]
    joined = pd.concat(frames, ignore_index=True)
    return joined.groupby(keys, as_index=False, sort=True)["n"].sum()
