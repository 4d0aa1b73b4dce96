"""The difference of two groups' mean scores in standard deviations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.inference.standardized_difference import standardized_difference
from fairstats.metrics.mean_difference import stacked
from fairstats.metrics.metric import SCORES, NumberMetric, Numbers


def _differences(numbers: Numbers) -> Estimate:
    limits, found = numbers.outcomes.benchmark.limits, []
    for sums in numbers.sums:
        one = standardized_difference(
            sums.sum_a,
            sums.square_a,
            sums.n_a.astype(np.int64),
            sums.sum_b,
            sums.square_b,
            sums.n_b.astype(np.int64),
            sums.many,
            limits=limits,
            alpha=numbers.alpha,
        )
        found.append(replace(one, n=np.asarray(sums.n)))
    return stacked(found, numbers.alpha)


def standard_spans(numbers: Numbers) -> FloatArray:
    """Return the width of the scale of each pair in standard deviations within the groups."""
    found = []
    for one in numbers.sums:
        a, b = (one.sum_a, one.square_a, one.n_a), (one.sum_b, one.square_b, one.n_b)
        totals = [[float(part @ one.many) for part in own] for own in (a, b)]
        squares = sum(square - total**2 / n for total, square, n in totals if n)
        found.append(squares / max(sum(n for *_, n in totals) - 2, 1))
    with np.errstate(divide="ignore"):
        return numbers.outcomes.benchmark.span / np.sqrt(np.maximum(found, 0.0))


STANDARDIZED_DIFFERENCE = NumberMetric(
    name="standardized_difference",
    label="Standardized difference",
    definition="Score difference divided by the standard deviation of the answers within groups: "
    "Cohen's d of all answers.",
    formula=r"(\bar y_a - \bar y_b) / s",
    interval="that of the score difference, with the deviation's own uncertainty",
    order=80,
    ideal=0,
    kinds=SCORES,
    rests_on="both groups",
    compute=_differences,
)
