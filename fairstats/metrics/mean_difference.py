"""Mean level or score of each group, and the difference of the two means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.unit_sums import UnitSums
from fairstats.inference.unit_means import unit_mean, unit_mean_difference
from fairstats.metrics.metric import LEVELS, SCORES, NumberMetric, Numbers


def stacked(estimates: list[Estimate], alpha: float) -> Estimate:
    """Return estimates of single pairs as one of arrays."""

    def column(name: str) -> FloatArray:
        return np.array([float(getattr(one, name)) for one in estimates], dtype=np.float64)

    return Estimate(
        column("estimate"),
        column("ci_low"),
        column("ci_high"),
        1 - alpha,
        np.array([str(one.method) for one in estimates], dtype=object),
        np.array([int(one.n) for one in estimates], dtype=np.int64),
    )


def mean_difference_of(sums: UnitSums, limits: tuple[float, float], alpha: float) -> Estimate:
    """Return the difference of the two groups' means; n is the number of pairs."""
    found = unit_mean_difference(
        sums.sum_a,
        sums.n_a.astype(np.int64),
        sums.sum_b,
        sums.n_b.astype(np.int64),
        sums.many,
        limits=limits,
        alpha=alpha,
    )
    return replace(found, n=np.asarray(sums.n))


def difference_of_means(numbers: Numbers, alpha: float) -> Estimate:
    """Return the difference of each pair, with an interval over the independent units."""
    limits = numbers.outcomes.benchmark.limits
    return stacked([mean_difference_of(sums, limits, alpha) for sums in numbers.sums], alpha)


def _of_group(side: str) -> Callable[[Numbers], Estimate]:
    def compute(numbers: Numbers) -> Estimate:
        limits, found = numbers.outcomes.benchmark.limits, []
        for sums in numbers.sums:
            total, n = getattr(sums, f"sum_{side}"), getattr(sums, f"n_{side}")
            size = n.astype(np.int64)
            one = unit_mean(total, size, sums.many, limits=limits, alpha=numbers.alpha)
            found.append(replace(one, n=np.asarray(round(float(n @ sums.many)))))
        return stacked(found, numbers.alpha)

    return compute


_UNITS = "over the independent units"
LEVEL_A = NumberMetric(
    name="level_a",
    label="Mean level, {a}",
    definition="Mean of the levels of group a's answers: the options themselves if all are "
    "numbers, or else their places from 1.",
    formula=r"\bar y_a",
    interval=f"t {_UNITS}, CR2",
    order=10,
    kinds=LEVELS,
    compute=_of_group("a"),
    side="a",
)
LEVEL_B = replace(
    LEVEL_A,
    name="level_b",
    label="Mean level, {b}",
    definition="Mean of the levels of group b's answers.",
    formula=r"\bar y_b",
    order=20,
    compute=_of_group("b"),
    side="b",
)
LEVEL_DIFFERENCE = NumberMetric(
    name="level_difference",
    label="Level difference",
    definition="Mean level of group a minus that of group b. It decides the verdict.",
    formula=r"\bar y_a - \bar y_b",
    interval=f"t {_UNITS}, CR2, and Tango's for effective counts of units that differ",
    order=30,
    ideal=0,
    kinds=LEVELS,
    compute=lambda numbers: difference_of_means(numbers, numbers.alpha),
)
SCORE_A = replace(
    LEVEL_A,
    name="score_a",
    label="Mean score, {a}",
    definition="Mean of the scores of group a's answers.",
    kinds=SCORES,
)
SCORE_B = replace(
    LEVEL_B,
    name="score_b",
    label="Mean score, {b}",
    definition="Mean of the scores of group b's answers.",
    kinds=SCORES,
)
SCORE_DIFFERENCE = replace(
    LEVEL_DIFFERENCE,
    name="score_difference",
    label="Score difference",
    definition="Mean score of group a minus that of group b. It decides the verdict.",
    kinds=SCORES,
)
