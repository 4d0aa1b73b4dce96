"""The numbers of levels and scores, added up by independent unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import POOLED, Benchmark
from fairstats.counts.outcomes import Outcomes
from fairstats.counts.patterns import (
    CountingPolicy,
    GroupAnswers,
    IntArray,
    pair_weights,
    pooled_pairs,
)

#: What a missing answer of group a and of group b counts as; None leaves it out.
FillIn = tuple[float | None, float | None]
#: The columns of `row_sums`, fields of `UnitSums`.
SUM_COLUMNS = (
    "sum_a",
    "n_a",
    "square_a",
    "sum_b",
    "n_b",
    "square_b",
    "difference",
    "pairs",
    "up",
    "down",
)


@dataclass(frozen=True, eq=False)
class UnitSums:
    """The answers of one answer set to a pair of groups, one element per independent unit.

    Attributes
    ----------
    sum_a, n_a, square_a, sum_b, n_b, square_b : ndarray
        The sum of the numbers of a group's answers that count, their number, and the sum of their
        squares.
    difference, pairs : ndarray
        The sum of a − b over the pairs with both answers, and their number. With several samples,
        every answer of one group is paired with every answer of the other.
    up, down : ndarray
        The pairs in which group a has the higher, and the lower, number.
    many : ndarray of int
        The number of such units.
    unit : ndarray of int
        The number of the declared cluster; without clusters, the place of the item's row in the
        grid.
    """

    sum_a: FloatArray
    n_a: FloatArray
    square_a: FloatArray
    sum_b: FloatArray
    n_b: FloatArray
    square_b: FloatArray
    difference: FloatArray
    pairs: FloatArray
    up: FloatArray
    down: FloatArray
    many: IntArray
    unit: IntArray

    @property
    def n(self) -> int:
        """Return the number of pairs with both answers."""
        return round(float(self.pairs @ self.many))

    @property
    def units(self) -> int:
        """Return the number of units with a pair."""
        return int(self.many[self.pairs > 0].sum())


def unit_sums(
    outcomes: Outcomes,
    place: int,
    missing: CountingPolicy = "available",
    *,
    fill: FillIn | None = None,
    unasked: bool = False,
) -> UnitSums:
    """Add up the answers of one pair of groups by independent unit.

    Parameters
    ----------
    outcomes : Outcomes
        The outcomes of the benchmark.
    place : int
        The place of the pair.
    missing : {"available", "complete", "incorrect"}
        ``available``: each group's own answers; ``complete``: only those of pairs with both;
        ``incorrect``: a missing answer is at the end of the scale that the benchmark calls worse.
    fill : (float or None, float or None), optional
        Numbers for the missing answers of each group, instead of the policy's.
    unasked : bool
        Whether items of the benchmark that were not asked count as missing for both groups.
    """
    if unasked and fill is not None:
        outcomes = outcomes.with_unasked
    benchmark, unit = outcomes.benchmark, int(outcomes.unit[place])
    if fill is None and missing == "incorrect":
        fill = worst_ends(benchmark)
    of_pairs = fill is None and (missing == "complete" or bool(outcomes.pooled[place]))
    tables, codes, many = [], [], []
    for own, pair in _parts(outcomes, place):
        span = own.grid.span(unit)
        tables.append(row_sums(own, pair, span, outcomes.copies[place], fill, of_pairs))
        codes.append(own.grid.cluster[span] if len(own.grid.cluster) else own.rows[span])
        many.append(own.grid.many[span])
    table, code, number = np.concatenate(tables), np.concatenate(codes), np.concatenate(many)
    if len(tables) > 1 or len(outcomes.grid.cluster) or len(tables[0]) > len(np.unique(code)):
        code, place_of = np.unique(code, return_inverse=True)
        found = np.zeros((len(code), table.shape[1]))
        np.add.at(found, place_of, table)
        table, number = found, np.ones(len(found), dtype=np.int64)
    columns: dict[str, Any] = dict(zip(SUM_COLUMNS, table.T, strict=True))
    return UnitSums(**columns, many=number, unit=code)


def mean_gap(sums: UnitSums) -> float:
    """Return the mean of group a's answers minus that of group b's; NaN without either."""
    n_a, n_b = float(sums.n_a @ sums.many), float(sums.n_b @ sums.many)
    if not n_a or not n_b:
        return float("nan")
    return float(sums.sum_a @ sums.many) / n_a - float(sums.sum_b @ sums.many) / n_b


def worst_ends(benchmark: Benchmark) -> FillIn:
    """Return what the policy ``incorrect`` takes for a missing answer of each group."""
    worst = benchmark.limits[benchmark.worse == "highest"]
    return worst, worst


def row_sums(
    own: GroupAnswers,
    pair: tuple[str, str],
    span: slice,
    copies: npt.ArrayLike,
    fill: FillIn | None = None,
    of_pairs: bool = False,
) -> FloatArray:
    """Return the sums of `UnitSums` of each row, (rows, 10); `copies` as in `pair_weights`."""
    places = [list(own.attribute.groups).index(group) for group in pair]
    a, b = (
        _numbers(own, span, place, end)
        for place, end in zip(places, fill or (None, None), strict=True)
    )
    weights = pair_weights(copies, own.samples[span])
    return _row_sums(a, b, weights, own.grid.benchmark.same_within, of_pairs)


def level_pairs(
    outcomes: Outcomes, place: int
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return the two numbers of each kind of pair, its independent unit, and how many there are."""
    found: list[tuple[FloatArray, FloatArray, IntArray, IntArray]] = []
    unit = int(outcomes.unit[place])
    for own, pair in _parts(outcomes, place):
        span, places = own.grid.span(unit), list(own.attribute.groups)
        a, b = (own.letters(places.index(group), span) for group in pair)
        table = a[:, :, None] * b[:, None, :]
        row, one, other = np.nonzero(table)
        weights = pair_weights(int(outcomes.copies[place]), own.samples[span])
        code = own.grid.cluster[span] if len(own.grid.cluster) else own.rows[span]
        values = own.grid.values
        number = table[row, one, other] * weights[row]
        found.append((values[one], values[other], code[row], number))
    columns: Any = zip(*found, strict=True)
    return tuple(np.concatenate(column) for column in columns)  # type: ignore[return-value]


def _parts(outcomes: Outcomes, place: int) -> Sequence[tuple[GroupAnswers, tuple[str, str]]]:
    """Return the answers that a pair is made of; the pooled pair has several attributes."""
    name = outcomes.attribute[place]
    if name != POOLED:
        return [(outcomes.groups[name], (outcomes.group_a[place], outcomes.group_b[place]))]
    return [
        (outcomes.groups[attribute.name], pair)
        for attribute, pair in pooled_pairs(outcomes.benchmark)
        if attribute.name in outcomes.groups
    ]


def _numbers(
    own: GroupAnswers, span: slice, group: int, fill: float | None
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return the numbers of a group's answers and which of them count, (rows, samples)."""
    answers = own.answers_of(group)[span]
    there = answers >= 0
    values = np.append(own.grid.values, np.nan)[np.maximum(answers, -1)]
    if fill is not None:
        # A variant's answers are in its first places, so those after them are missing.
        missing = ~there & (np.arange(answers.shape[1]) < own.samples[span][:, None])
        values, there = np.where(missing, fill, values), there | missing
    return np.where(there, values, 0.0), there


def _row_sums(
    a: tuple[FloatArray, npt.NDArray[np.bool_]],
    b: tuple[FloatArray, npt.NDArray[np.bool_]],
    weights: IntArray,
    same_within: float,
    of_pairs: bool,
) -> FloatArray:
    """Return the sums of `UnitSums` of each row."""
    (value_a, there_a), (value_b, there_b) = a, b
    own = [
        [(value * t).sum(axis=1), t.sum(axis=1), (value**2 * t).sum(axis=1)]
        for value, t in ((value_a, there_a), (value_b, there_b))
    ]
    n_a, n_b = own[0][1], own[1][1]
    both = (there_a[:, :, None] & there_b[:, None, :]) * weights[:, None, None]
    apart = value_a[:, :, None] - value_b[:, None, :]
    least = same_within * (1 + 1e-12)
    paired = [
        weights * (n_b * own[0][0] - n_a * own[1][0]),
        both.sum(axis=(1, 2)),
        ((apart > least) * both).sum(axis=(1, 2)),
        ((apart < -least) * both).sum(axis=(1, 2)),
    ]
    if of_pairs:
        own = [[s * n_b * weights for s in own[0]], [s * n_a * weights for s in own[1]]]
    return np.stack([*own[0], *own[1], *paired], axis=1).astype(np.float64)
