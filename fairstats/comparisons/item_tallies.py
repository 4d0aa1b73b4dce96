"""What each item adds to the figures by which models are compared, missing answers included.

A level or score counts as a share of its scale, in whole steps: the third of five levels is 2 of 4.
So all kinds of answers have one arithmetic, that of shares, and figures of numbers are multiplied
by the scale's span at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import Benchmark
from fairstats.comparisons.model_differences import Figure, ad
from fairstats.counts.grid import Grid
from fairstats.counts.patterns import (
    PATTERNS,
    CountingPolicy,
    GroupAnswers,
    IntArray,
    apply_policy,
    missing_per_group,
    pair_weights,
)
from fairstats.metrics.accuracy import absolute_interval

#: What is added up for each item and pair of groups, over its pairs of answers: right or favourable
#: answers of group a (or their steps on the scale), missing ones of a, the same of b, all pairs,
#: those with the same answer; and the answers of a and b in pairs with both, and these pairs.
TALLIES = ("sum_a", "missing_a", "sum_b", "missing_b", "n", "same", "both_a", "both_b", "both")
Range = tuple[FloatArray, FloatArray]
# On a finer scale, scores are rounded to its steps.
_MOST_STEPS = 10**6


def steps_of(grids: Iterable[Grid]) -> int:
    """Return the number of steps of the scale on which all answers lie; 1 for shares.

    It is at most 1,000,000: numbers between its steps are then rounded.
    """
    every = list(grids)
    benchmark = every[0].benchmark
    if not benchmark.kind.numeric:
        return 1
    low, steps = benchmark.limits[0], 1
    for value in np.unique(np.concatenate([grid.values for grid in every])).tolist():
        share = Fraction((value - low) / benchmark.span).limit_denominator(_MOST_STEPS)
        steps = math.lcm(steps, share.denominator)
        if steps > _MOST_STEPS:
            return _MOST_STEPS
    return steps


def tallies_of(
    own: GroupAnswers, pair: tuple[str, str], steps: int, copies: IntArray | None = None
) -> IntArray:
    """Return the `TALLIES` of each row for a pair of groups, (rows, 9).

    `copies` is that of `GroupAnswers.cells`.
    """
    benchmark = own.grid.benchmark
    if not benchmark.kind.numeric:
        return pattern_tallies(own.pair(pair, copies))
    on_scale = (own.grid.values - benchmark.limits[0]) / benchmark.span * steps
    scale = np.append(np.rint(on_scale).astype(np.int64), 0)
    places = [list(own.attribute.groups).index(group) for group in pair]
    answers = [own.answers_of(place) for place in places]
    (n_a, sum_a), (n_b, sum_b) = (
        ((one >= 0).sum(axis=1), scale[np.maximum(one, -1)].sum(axis=1)) for one in answers
    )
    size = own.samples
    table = [
        sum_a * size,
        (size - n_a) * size * steps,
        sum_b * size,
        (size - n_b) * size * steps,
        size**2 * steps,
        own.same(*places) * steps,
        sum_a * n_b,
        sum_b * n_a,
        n_a * n_b * steps,
    ]
    weights = pair_weights((own.copies if copies is None else copies)[own.grid.unit], size)
    return np.stack(table, axis=1) * weights[:, None]


def pattern_tallies(patterns: npt.ArrayLike) -> IntArray:
    """Return the `TALLIES` of numbers of the outcome patterns, (..., 9)."""
    cells = np.asarray(patterns, dtype=np.int64)
    own, both = apply_policy(cells, "available"), apply_policy(cells, "complete")
    missing = missing_per_group(cells)
    n = cells.sum(axis=-1)
    table = [own.correct_a, missing[0], own.correct_b, missing[1], n, own.same]
    return np.stack([*table, both.correct_a, both.correct_b, both.n], axis=-1)


def each_pattern() -> IntArray:
    """Return the `TALLIES` of one pair with each of the outcome patterns, (11, 9)."""
    return pattern_tallies(np.eye(len(PATTERNS), dtype=np.int64))


def _named(tallies: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    return dict(zip(TALLIES, np.moveaxis(np.asarray(tallies), -1, 0), strict=True))


def lacking_pairs(tallies: IntArray) -> IntArray:
    """Return the pairs that lack an answer, in steps."""
    t = _named(tallies)
    return t["n"] - t["both"]


def all_missing(n: npt.ArrayLike) -> IntArray:
    """Return the `TALLIES` of so many pairs without any answer, in steps."""
    number = np.asarray(n, dtype=np.int64)
    found = np.zeros((*number.shape, len(TALLIES)), dtype=np.int64)
    for name in ("missing_a", "missing_b", "n"):
        found[..., TALLIES.index(name)] = number
    return found


def sums_of(
    tallies: IntArray, missing: CountingPolicy, benchmark: Benchmark | None = None
) -> IntArray:
    """Return the sums of `Figure` under a policy, (..., 6); a benchmark says which end is worse."""
    t = _named(tallies)
    if missing == "complete":
        columns = [t["both_a"], t["both"], t["both_b"], t["both"], t["same"], t["both"]]
    elif missing == "available":
        n_a, n_b = t["n"] - t["missing_a"], t["n"] - t["missing_b"]
        columns = [t["sum_a"], n_a, t["sum_b"], n_b, t["same"], t["both"]]
    else:
        numeric = benchmark is not None and benchmark.kind.numeric
        end = int(numeric and benchmark is not None and benchmark.worse == "highest")
        a, b = t["sum_a"] + end * t["missing_a"], t["sum_b"] + end * t["missing_b"]
        columns = [a, t["n"], b, t["n"], t["same"], t["n"]]
    return np.stack(columns, axis=-1)


def completed_sums(tallies: IntArray, figure: Figure, *, favourable: bool) -> IntArray:
    """Complete a model's missing answers in its favour, or against it.

    Given the `TALLIES`, (items, pairs, 9), return the sums of `Figure`, (items, pairs, 6). A high
    accuracy or CFR is good, and so is a low AD. For AD, every missing answer moves the signed
    difference in the same direction, towards 0 if favourable. If the difference would pass 0, the
    smallest AD is 0, at an intermediate completion.
    """
    t = _named(tallies)
    sum_a, sum_b, same = t["sum_a"], t["sum_b"], t["same"]
    if figure is ad:
        totals = [
            (sum_a + t["missing_a"]).sum(axis=0) - sum_b.sum(axis=0),
            sum_a.sum(axis=0) - (sum_b + t["missing_b"]).sum(axis=0),
        ]
        larger = np.abs(totals[0]) >= np.abs(totals[1])
        to_a = larger != favourable
        sum_a = sum_a + np.where(to_a, t["missing_a"], 0)
        sum_b = sum_b + np.where(to_a, 0, t["missing_b"])
    elif favourable:
        sum_a, sum_b = sum_a + t["missing_a"], sum_b + t["missing_b"]
        same = same + t["n"] - t["both"]
    return np.stack([sum_a, t["n"], sum_b, t["n"], same, t["n"]], axis=-1)


def ranges_of(totals: npt.NDArray[Any]) -> dict[str, Range]:
    """Return the ranges over all completions: of each group's rate, the difference, AD and CFR.

    `totals` are the `TALLIES` of at least one pair, on the last axis.
    """
    t = _named(totals)
    n = t["n"]
    a, b = ((t[f"sum_{g}"] / n, t[f"sum_{g}"] / n + t[f"missing_{g}"] / n) for g in "ab")
    low, high = a[0] - b[1], a[1] - b[0]
    same = t["same"] / n
    return {
        "rate_a": a,
        "rate_b": b,
        "signed": (low, high),
        "ad": absolute_interval(low, high),
        "cfr": (same, same + (n - t["both"]) / n),
    }


def by_unit(table: npt.NDArray[np.int64], units: npt.ArrayLike) -> IntArray:
    """Add up the rows of items by independent unit, in the order of the units' names."""
    _, place = np.unique(np.asarray(units, dtype=str), return_inverse=True)
    found = np.zeros((int(place.max(initial=-1)) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(found, place, table)
    return found
