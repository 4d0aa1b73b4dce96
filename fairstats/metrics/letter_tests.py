"""Bowker's and Stuart and Maxwell's tests on the letters of complete pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import TestResult
from fairstats.inference.letters import bowker, stuart_maxwell
from fairstats.metrics.metric import SHARES, Columns, PairMetric, Pairs


def _letter_test(
    test: Callable[[npt.ArrayLike], TestResult], order: int, label: str, definition: str
) -> PairMetric:
    def rows(pairs: Pairs) -> Columns:
        # The tests assume independent pairs, so clustered pairs have no test.
        single = ~pairs.clustered
        tables = pairs.outcomes.letters[single]
        result = test(tables)
        return {name: column[single] for name, column in pairs.outcomes.keys.items()} | {
            "statistic": result.statistic,
            "p_value": result.p_value,
            "test": [f"{test.__name__}, {df} df" for df in np.ravel(np.asarray(result.df))],
            "n": tables.sum(axis=(1, 2)),
            "method_note": "on the letters, right or wrong; not adjusted",
        }

    definition += " No test for clustered answers."
    return PairMetric(
        name=test.__name__,
        label=label,
        definition=definition,
        order=order,
        kinds=SHARES,
        compute=rows,
        bounds_rows=rows,
    )


BOWKER = _letter_test(
    bowker,
    160,
    "Letters, symmetry",
    "Bowker's test on the options, right or wrong: is a change from one option to another as "
    "frequent as the change back?",
)
STUART_MAXWELL = _letter_test(
    stuart_maxwell,
    170,
    "Letters, equal margins",
    "Stuart and Maxwell's test on the options, right or wrong: is each option given equally "
    "often to both groups?",
)
