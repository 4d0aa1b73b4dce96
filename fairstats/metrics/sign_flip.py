"""Test of equal levels or scores: the signs of whole units are flipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats._lib.result_objects import FloatArray, TestResult
from fairstats.inference.clustered_answers import flip_test
from fairstats.metrics.mcnemar import FLIPPING, Flippable, stacked_rows
from fairstats.metrics.metric import NUMERIC, Columns, NumberMetric, Numbers, flipped


def values_of(results: Sequence[TestResult], numbers: Numbers) -> dict[str, FloatArray]:
    """Return the statistic and p-value of each pair's test; NaN for lopsided pairs."""
    return {
        name: np.where(
            numbers.outcomes.lopsided, np.nan, [float(getattr(one, name)) for one in results]
        )
        for name in ("statistic", "p_value")
    }


def flip_tests_of(numbers: Numbers) -> dict[Flippable, dict[str, Any]]:
    """Return both tests of every pair, for ``numbers.once``."""
    found: dict[Flippable, dict[str, Any]] = {}
    for method in FLIPPING:
        results = [flip_test(s.difference, s.many, method=method) for s in numbers.sums]
        text = f"sign flip {method}, {flipped(numbers.outcomes)}"
        found[method] = {
            **values_of(results, numbers),
            "test": np.array(
                [text if one.method == method else f"{text} ({one.method})" for one in results],
                dtype=object,
            ),
        }
    return found


def _rows(numbers: Numbers) -> Columns:
    n = np.array([sums.n for sums in numbers.sums], dtype=np.int64)
    total = np.array([float(sums.difference @ sums.many) for sums in numbers.sums])
    estimate = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    rows = numbers.rows() | numbers.moves | {"estimate": estimate, "n": n}
    return stacked_rows([rows | own for own in numbers.once(flip_tests_of).values()])


SIGN_FLIP = NumberMetric(
    name="sign_flip",
    label="Sign-flip test",
    definition="Test of no difference between the groups, in two rows: mid-p, which the verdict "
    "uses, and exact. Each independent unit's difference could as well have the other sign. The "
    "estimate is the mean difference over the pairs.",
    formula=r"\sum_k \pm d_k",
    order=100,
    ideal=0,
    kinds=NUMERIC,
    compute=_rows,
)
