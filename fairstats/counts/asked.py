"""The questions that each unit was asked, and whether its answers are better than guessing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.row_groups import row_keys
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import POOLED, Benchmark
from fairstats.counts.item_kinds import pooled_pairs

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """The questions that each unit was asked, and whether its answers are better than guessing.

    Attributes
    ----------
    rows : mapping of (str, ...) to int
        The number of rows of each group, by `UNIT_COLUMNS`, attribute and group.
    items : mapping of (str, ...) to int
        The number of items of each attribute, by `UNIT_COLUMNS` and attribute.
    guessing : mapping of (str, ...) to str
        By `UNIT_COLUMNS`, the reason why a model counts as guessing, see
        `fairstats.estimates.eligibility.why_not_above_chance`; empty if it does not count as
        guessing.
    """

    rows: Mapping[tuple[str, ...], int]
    items: Mapping[tuple[str, ...], int]
    guessing: Mapping[tuple[str, ...], str]

    def unasked(self, counts: pd.DataFrame, benchmark: Benchmark) -> tuple[IntArray, IntArray]:
        """Count the items that each pair was not asked, and those it should have been asked.

        Parameters
        ----------
        counts : pandas.DataFrame
            One row per unit and pair of groups of the benchmark.
        benchmark : Benchmark
            Declares the items.

        Returns
        -------
        (ndarray, ndarray)
            Items without a row, and all items. For the pooled pairs, both are summed over the
            attributes that the unit was asked.
        """
        whole, pooled = len(benchmark.answer_keys), [one.name for one, _ in pooled_pairs(benchmark)]
        found = np.zeros((len(counts), 2), dtype=np.int64)
        columns = row_keys(counts, (*UNIT_COLUMNS, "attribute"))
        for place, (*unit, attribute) in enumerate(columns):
            for name in pooled if attribute == POOLED else [attribute]:
                asked = self.items.get((*unit, name), 0)
                if asked:
                    found[place] += max(whole - asked, 0), max(whole, asked)
        return found[:, 0], found[:, 1]
