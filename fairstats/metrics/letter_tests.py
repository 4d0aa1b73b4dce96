"""Bowker's and Stuart and Maxwell's tests on the letters of complete pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import TestResult
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.inference.letter_symmetry import bowker, stuart_maxwell
from fairstats.metrics.metric import PairMetric, Pairs


def _contingency(pairs: Pairs) -> list[npt.NDArray[np.int64]]:
    keys = list(PAIR_COLUMNS)
    cells = dict(list(pairs.letters.groupby(keys, sort=False)))
    nothing = pairs.letters.iloc[:0]
    # The tests assume independent pairs, so clustered pairs have no test.
    single = pairs.counts.loc[~pairs.clustered, keys]
    return [_table(cells.get(key, nothing)) for key in single.itertuples(index=False, name=None)]


def _table(cells: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Count pairs by the letter of group a (rows) and of group b (columns)."""
    names = pd.Index(sorted(set(cells["letter_a"]) | set(cells["letter_b"])))
    table = np.zeros((len(names), len(names)), dtype=np.int64)
    a, b = (names.get_indexer(cells[side]) for side in ("letter_a", "letter_b"))
    np.add.at(table, (a, b), cells["n"].to_numpy(dtype=np.int64))
    return table


def _letter_test(
    test: Callable[[npt.ArrayLike], TestResult], order: int, label: str, definition: str
) -> PairMetric:
    def rows(pairs: Pairs) -> pd.DataFrame:
        tables = pairs.once(_contingency)
        results = [test(table) for table in tables]
        return pairs.counts.loc[~pairs.clustered, list(PAIR_COLUMNS)].assign(
            statistic=[float(result.statistic) for result in results],
            p_value=[float(result.p_value) for result in results],
            test=[f"{test.__name__}, {result.df} df" for result in results],
            n=[int(table.sum()) for table in tables],
            method_note="on the letters, right or wrong; not adjusted",
        )

    definition += " No test for clustered answers."
    return PairMetric(
        name=test.__name__,
        label=label,
        definition=definition,
        order=order,
        compute=rows,
        bounds_rows=rows,
    )


BOWKER = _letter_test(
    bowker,
    160,
    "Letters, symmetry",
    "Bowker's test on the letters, right or wrong: is a change from one letter to another as "
    "frequent as the change back?",
)
STUART_MAXWELL = _letter_test(
    stuart_maxwell,
    170,
    "Letters, equal margins",
    "Stuart and Maxwell's test on the letters, right or wrong: is each letter given equally "
    "often to both groups?",
)
