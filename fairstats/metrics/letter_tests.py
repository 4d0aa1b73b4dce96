"""Bowker's and Stuart and Maxwell's tests on the letters of complete pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import TestResult
from fairstats._lib.row_groups import row_keys
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.inference.letters import bowker, stuart_maxwell
from fairstats.metrics.metric import Columns, PairMetric, Pairs


def _contingency(pairs: Pairs) -> list[npt.NDArray[np.int64]]:
    letters = row_keys(pairs.letters, ("letter_a", "letter_b"))
    cells: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for key, sides, n in zip(
        row_keys(pairs.letters, PAIR_COLUMNS), letters, pairs.letters["n"], strict=True
    ):
        cells.setdefault(key, {})[sides] = n
    # The tests assume independent pairs, so clustered pairs have no test.
    single = pairs.counts[~pairs.clustered]
    return [_table(cells.get(key, {})) for key in row_keys(single, PAIR_COLUMNS)]


def _table(cells: dict[tuple[str, str], int]) -> npt.NDArray[np.int64]:
    """Count pairs by the letter of group a (rows) and of group b (columns)."""
    letters = sorted({letter for sides in cells for letter in sides})
    table = np.zeros((len(letters), len(letters)), dtype=np.int64)
    for (a, b), n in cells.items():
        table[letters.index(a), letters.index(b)] += n
    return table


def _letter_test(
    test: Callable[[npt.ArrayLike], TestResult], order: int, label: str, definition: str
) -> PairMetric:
    def rows(pairs: Pairs) -> Columns:
        tables = pairs.once(_contingency)
        results = [test(table) for table in tables]
        keys = pairs.rows()
        return {name: keys[name][~pairs.clustered] for name in PAIR_COLUMNS} | {
            "statistic": [float(result.statistic) for result in results],
            "p_value": [float(result.p_value) for result in results],
            "test": [f"{test.__name__}, {result.df} df" for result in results],
            "n": [int(table.sum()) for table in tables],
            "method_note": "on the letters, right or wrong; not adjusted",
        }

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
