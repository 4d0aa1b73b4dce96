"""The difference of two groups' mean scores in standard deviations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairstats._lib.result_objects import Estimate
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
