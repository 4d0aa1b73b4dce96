"""Count every answer of one group against every answer of another, for each kind of item.

The kinds of items are those of `fairstats.counts.outcomes.Folds.kinds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.counts.sample_weights import pair_weights

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class GroupAnswers:
    """The answers of one group to each kind of item: right, wrong, missing, and by letter."""

    right: Any
    wrong: Any
    missing: Any
    letters: Any


def answers_of_groups(
    kinds: pd.DataFrame, benchmark: Benchmark, attribute: Attribute
) -> list[GroupAnswers]:
    """Return the answers of each group of an attribute to each kind of item."""
    key = pd.Index(list(benchmark.options)).get_indexer(kinds["answer_key"])
    samples = kinds["samples"].to_numpy()
    found = []
    for names in letter_columns(attribute, benchmark):
        letters = np.column_stack([kinds[name].to_numpy(dtype=np.int64) for name in names])
        right = letters[np.arange(len(kinds)), key] if len(kinds) else np.zeros(0, np.int64)
        answered = letters.sum(axis=1)
        found.append(GroupAnswers(right, answered - right, samples - answered, letters))
    return found


def crossed(a: GroupAnswers, b: GroupAnswers, same: Any) -> dict[str, Any]:
    """Count the outcome patterns of every answer of a against every answer of b.

    `same` is the number of these pairs with the same letter. The parts may be arrays or narwhals
    expressions; the result is one of them per pattern, in the order of
    `fairstats.counts.outcomes.PATTERNS`.
    """
    n11 = a.right * b.right
    return {
        "n11": n11,
        "n10": a.right * b.wrong,
        "n01": a.wrong * b.right,
        "n00_same": same - n11,
        "n00_different": a.wrong * b.wrong - (same - n11),
        "n1x": a.right * b.missing,
        "n0x": a.wrong * b.missing,
        "nx1": a.missing * b.right,
        "nx0": a.missing * b.wrong,
        "nxx": a.missing * b.missing,
    }


def crossed_kinds(kinds: pd.DataFrame, a: GroupAnswers, b: GroupAnswers) -> Columns:
    """Count the outcome patterns of a pair of groups for each kind of item, weighted."""
    same = (a.letters * b.letters).sum(axis=1)
    weights = pair_weights(kinds["copies"], kinds["samples"])
    return {name: cell * weights for name, cell in crossed(a, b, same).items()}


def letter_columns(attribute: Attribute, benchmark: Benchmark) -> list[list[str]]:
    """Return the columns of a table of kinds that count letters, one list per group."""
    return [
        [f"letter_{i}_{letter}" for letter in benchmark.options]
        for i in range(len(attribute.groups))
    ]
