"""The answers item by item, for what cannot be told from counts: models compared on their items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks import Benchmark
from fairstats.counts import PAIR_COLUMNS, PATTERNS
from fairstats.folding import (
    NO_LETTER,
    UNIT_COLUMNS,
    letter_columns,
    open_answers,
    refuse_repeated,
    side_by_side,
)
from fairstats.missing import CountingPolicy, of_each_pattern

if TYPE_CHECKING:
    import narwhals as nw

#: The sums of an item's answers to a pair that figures are quotients of.
SUMS = ("correct_a", "n_a", "correct_b", "n_b", "same", "n")


def item_patterns(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """The outcome pattern of every counterfactual pair.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`, ``item_id``, ``sample``, ``letter_a``, ``letter_b`` (empty where missing),
        ``answer_key`` and ``pattern``, one of `fairstats.counts.PATTERNS`. As long as the answers:
        for large ones `count_outcomes` is enough.

    Raises
    ------
    InputError
        As `count_outcomes`.
    """
    return patterns_of(*open_answers(answers, benchmarks))


def patterns_of(frame: nw.LazyFrame[Any], known: Mapping[str, Benchmark]) -> pd.DataFrame:
    """`item_patterns` of an answers table that is open, see `fairstats.folding.open_answers`."""
    tables = []
    for benchmark in known.values():
        for attribute in benchmark.attributes.values():
            items = side_by_side(frame, benchmark, attribute).collect().to_pandas()
            refuse_repeated(items.assign(n=1), attribute.name)
            names = [*UNIT_COLUMNS, "item_id", "answer_key", *letter_columns(attribute)]
            items = items.astype(dict.fromkeys(names, "str"))
            groups = list(attribute.groups)
            for a, b in attribute.pairs:
                pair = items[[*UNIT_COLUMNS, "item_id", "sample", "answer_key"]].assign(
                    attribute=attribute.name,
                    group_a=a,
                    group_b=b,
                    letter_a=items[f"letter_{groups.index(a)}"],
                    letter_b=items[f"letter_{groups.index(b)}"],
                )
                tables.append(pair.assign(pattern=_pattern(pair)))
    columns = [*PAIR_COLUMNS, "item_id", "sample", "letter_a", "letter_b", "answer_key", "pattern"]
    return pd.concat(tables, ignore_index=True)[columns]


def _pattern(pair: pd.DataFrame) -> npt.NDArray[np.str_]:
    key, a, b = (pair[name].to_numpy(dtype=str) for name in ("answer_key", "letter_a", "letter_b"))
    sign_a, sign_b = (
        np.where(letter == NO_LETTER, "x", np.where(letter == key, "1", "0")) for letter in (a, b)
    )
    pattern = np.char.add(np.char.add("n", sign_a), sign_b)
    return np.where(
        pattern == "n00", np.where(a == b, "n00_same", "n00_different"), pattern
    ).astype(str)


def item_sums(patterns: pd.DataFrame, missing: CountingPolicy) -> pd.DataFrame:
    """What each item adds to the figures of each pair, under a policy for missing answers.

    Parameters
    ----------
    patterns : pandas.DataFrame
        From `item_patterns`.
    missing : {"available", "complete", "incorrect"}
        The policy.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`, ``item_id``, `SUMS` (of all samples of the item) and ``difference``,
        n10 − n01.
    """
    one = of_each_pattern(missing)
    place = pd.Index(PATTERNS).get_indexer(patterns["pattern"])
    values = {name: getattr(one, name)[place] for name in SUMS}
    table = patterns[[*PAIR_COLUMNS, "item_id"]].assign(
        **values, difference=(one.n10 - one.n01)[place]
    )
    keys = [*PAIR_COLUMNS, "item_id"]
    return table.groupby(keys, as_index=False, sort=True)[[*SUMS, "difference"]].sum()
