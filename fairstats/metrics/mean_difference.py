"""Figures of levels and scores: means, their difference, agreement, and shares moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.unit_sums import UnitSums, level_pairs
from fairstats.inference.clustered_answers import flip_test
from fairstats.inference.standardized_difference import standardized_difference
from fairstats.inference.unit_means import unit_mean_differences, unit_means
from fairstats.inference.weighted_kappa import weighted_kappa
from fairstats.metrics.metric import LEVELS, NUMERIC, SCORES, Columns, NumberMetric, Numbers


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
    return mean_differences(numbers.sums, numbers.outcomes.benchmark.limits, alpha)


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


def _standardized(numbers: Numbers) -> Estimate:
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
    compute=_standardized,
)


def _kappas(numbers: Numbers) -> Estimate:
    outcomes, found = numbers.outcomes, []
    for place, sums in enumerate(numbers.sums):
        pairs = level_pairs(outcomes, place)
        one = weighted_kappa(*pairs, limits=outcomes.benchmark.limits, alpha=numbers.alpha)
        found.append(replace(one, n=np.asarray(sums.n)))
    return stacked(found, numbers.alpha)


WEIGHTED_KAPPA = NumberMetric(
    name="weighted_kappa",
    label="Weighted kappa",
    definition="Agreement of the two groups' levels beyond chance, with quadratic weights; 1 if "
    "every pair has the same level.",
    formula=r"1 - D_o / D_e",
    interval="jackknife over the independent units",
    order=55,
    lowest=-1,
    highest=1,
    ideal=1,
    kinds=LEVELS,
    compute=_kappas,
)


def _moved(numbers: Numbers, sign: str) -> dict[str, Any]:
    limits = (-1.0 if sign == "net" else 0.0, 1.0)
    tables = [
        (s.up - s.down if sign == "net" else getattr(s, sign), s.pairs.astype(np.int64), s.many)
        for s in numbers.sums
    ]
    found = stacked(unit_means(tables, limits=limits, alpha=numbers.alpha), numbers.alpha)
    n = np.array([sums.n for sums in numbers.sums], dtype=np.int64)
    return numbers.rows(replace(found, n=n)) | numbers.moves


def _net_moved(numbers: Numbers) -> Columns:
    """Add the exact sign test; whole units are flipped."""
    tests = [flip_test(s.up - s.down, s.many, method="exact") for s in numbers.sums]
    return _moved(numbers, "net") | {
        "statistic": np.array([float(one.statistic) for one in tests]),
        "p_value": np.array([float(one.p_value) for one in tests]),
        "test": np.array(
            [f"sign test, units flipped ({one.method})" for one in tests], dtype=object
        ),
        "method_note": "n10: group a higher; n01: group b higher; not adjusted",
    }


MOVED_UP = NumberMetric(
    name="moved_up",
    label="{a} higher",
    definition="Share of the pairs in which group a has the higher level or score.",
    formula=r"P(y_a > y_b)",
    interval="t over the independent units, CR2",
    order=50.1,
    lowest=0,
    highest=1,
    kinds=NUMERIC,
    compute=lambda numbers: _moved(numbers, "up"),
)
MOVED_DOWN = replace(
    MOVED_UP,
    name="moved_down",
    label="{b} higher",
    definition="Share of the pairs in which group b has the higher level or score.",
    formula=r"P(y_a < y_b)",
    order=50.2,
    compute=lambda numbers: _moved(numbers, "down"),
)
NET_MOVED = replace(
    MOVED_UP,
    name="net_moved",
    label="Net share, {a} higher",
    definition="Share of the pairs with group a higher minus the share with group b higher, with "
    "an exact sign test that flips whole units.",
    formula=r"P(y_a > y_b) - P(y_a < y_b)",
    order=50.3,
    lowest=-1,
    ideal=0,
    compute=_net_moved,
)
