"""Mean level or score of each group, and the difference of the two means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.unit_sums import UnitSums
from fairstats.inference.unit_means import unit_mean_differences, unit_means
from fairstats.metrics.metric import LEVELS, SCORES, NumberMetric, Numbers, roomy


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


def mean_differences(
    tables: Sequence[UnitSums], limits: tuple[float, float], alpha: float
) -> Estimate:
    """Return the difference of the two groups' means of each table; n is the number of pairs."""
    columns = [
        (s.sum_a, s.n_a.astype(np.int64), s.sum_b, s.n_b.astype(np.int64), s.many) for s in tables
    ]
    found = stacked(unit_mean_differences(columns, limits=limits, alpha=alpha), alpha)
    return replace(found, n=np.array([sums.n for sums in tables], dtype=np.int64))


def difference_of_means(numbers: Numbers, alpha: float) -> Estimate:
    """Return the difference of each pair, with an interval over the independent units."""
    limits, span = numbers.outcomes.benchmark.limits, numbers.outcomes.benchmark.span
    found = mean_differences(numbers.sums, limits, alpha)
    units = np.where(numbers.outcomes.lopsided, numbers.units, np.inf)
    return roomy(found, units, (-span, span), alpha)


def _of_group(side: str) -> Callable[[Numbers], Estimate]:
    def compute(numbers: Numbers) -> Estimate:
        sides = [
            (getattr(s, f"sum_{side}"), getattr(s, f"n_{side}").astype(np.int64), s.many)
            for s in numbers.sums
        ]
        limits = numbers.outcomes.benchmark.limits
        found = stacked(unit_means(sides, limits=limits, alpha=numbers.alpha), numbers.alpha)
        return replace(found, n=numbers.own_counts[f"n_{side}"])

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
    rests_on="one group",
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
    rests_on="both groups",
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
