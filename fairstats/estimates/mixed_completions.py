"""Completions of missing answers that favour group a in some units and group b in the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.counts.outcomes import EXTREMES, Outcomes, moved_to
from fairstats.counts.patterns import INCOMPLETE, PATTERNS, IntArray
from fairstats.metrics.accuracy import ACCURACY_DIFFERENCE
from fairstats.metrics.metric import design_effect_of

BoolArray = npt.NDArray[np.bool_]
_N11, _N10, _N01 = (PATTERNS.index(name) for name in ("n11", "n10", "n01"))
#: How many completions of a pair are compared: `EXTREMES`, two of `widest` and three of one unit.
MIXED = len(EXTREMES) + 5


@dataclass(frozen=True, eq=False)
class ClusteredPair:
    """The outcome patterns of a pair's independent units, and what they can be completed to.

    Attributes
    ----------
    cells : ndarray of int, shape (units, 11)
        The number of pairs with each of `PATTERNS`.
    many : ndarray of int
        The number of such units; 1 where answers are missing.
    copies : int
        The number of pairs that share an answer.
    few : float or None
        As in `design_effect_of`.
    """

    cells: IntArray
    many: IntArray
    copies: int
    few: float | None

    @classmethod
    def of(cls, whole: Outcomes, place: int, few: float | None) -> ClusteredPair:
        """Return the pair at a place; items that were not asked are among its missing ones."""
        cells, many = whole.clusters[place]
        row, many = _one_by_one(np.any(cells[:, INCOMPLETE], axis=1), many)
        return cls(cells[row], many, int(whole.copies[place]), few)

    @cached_property
    def changes(self) -> tuple[IntArray, IntArray]:
        """Return n10 − n01 of each unit if missing answers favour b, and if they favour a."""
        for_a, for_b = (
            self.cells @ (moved[:, _N10] - moved[:, _N01]) for moved in map(moved_to, EXTREMES[:2])
        )
        return for_b, for_a

    def completed(self, z: float) -> FloatArray:
        """Return n10, n01 and the design effect of the compared completions, (3, MIXED)."""
        tables = [self.cells @ moved_to(extreme) for extreme in EXTREMES]
        for_a, for_b, *_, same = tables
        low, high = (change.astype(np.float64) for change in self.changes)
        sizes = same.sum(axis=1).astype(np.float64)
        for mask in widest(low, high, sizes, self.many, z):
            tables.append(np.where(mask[:, None], for_a, for_b))
        # If hardly any pair differs, the effect is largest if a single unit does, and missing
        # answers make up for the differences of the others.
        unit, quiet = int(np.argmax(high - low)), np.zeros_like(same)
        back = np.clip(0, *self.changes) - (same[:, _N10] - same[:, _N01])
        quiet[:, _N10] = same[:, _N10] + np.maximum(back, 0)
        quiet[:, _N01] = same[:, _N01] + np.maximum(-back, 0)
        quiet[:, _N11] = same.sum(axis=1) - quiet.sum(axis=1)
        for row in (for_a[unit], for_b[unit], (for_a[unit] + for_b[unit]) // 2):
            alone = quiet.copy()
            alone[unit] = row
            alone[unit, _N11] += same[unit].sum() - row.sum()
            tables.append(alone)
        totals = np.array([self.many @ cells for cells in tables])
        effects = [
            design_effect_of(
                ACCURACY_DIFFERENCE, cells, self.many, self.copies, "complete", few=self.few
            )
            for cells in tables
        ]
        return np.stack([totals[:, _N10], totals[:, _N01], effects])


def widest(
    for_b: FloatArray, for_a: FloatArray, sizes: FloatArray, many: IntArray, z: float
) -> list[BoolArray]:
    """Return the units that favour a where mean − z SE is lowest, and where mean + z SE is highest.

    An interval is not widest where the difference is largest, but where the difference or its
    variance is. Either limit is a convex function of the units' differences, so it is outermost if
    each unit is at one of its two ends. For given values of the mean and its standard error, every
    unit takes the end that is farther from a common line. So only such completions are compared.

    `for_b` and `for_a` are the unit's part of the difference if its missing answers favour b or a,
    and `sizes` its part of the pairs. `many` is 1 where the ends differ, see `_one_by_one`.
    """
    total, square, units = float(many @ sizes), float(many @ sizes**2), int(many.sum())
    means = [float(many @ side) / total for side in (for_b, for_a)]
    free = np.flatnonzero(for_a != for_b)
    outermost, found = [np.inf, np.inf], [free[:0], free[:0]]
    for slope in (*means, sum(means) / 2):
        middle = (for_a + for_b)[free] / 2 - slope * sizes[free]
        order = free[np.argsort(-middle, kind="stable")]
        sums, squares, crossed = (
            float(many @ b) + np.append(0.0, np.cumsum((a - b)[order]))
            for b, a in (
                (for_b, for_a),
                (for_b**2, for_a**2),
                (for_b * sizes, for_a * sizes),
            )
        )
        mean = sums / total
        variance = np.maximum(squares - 2 * mean * crossed + mean**2 * square, 0)
        reach = z * np.sqrt(variance * units / max(units - 1, 1)) / total
        for side, limit in enumerate((mean - reach, -mean - reach)):
            best = int(np.argmin(limit))
            if limit[best] < outermost[side]:
                outermost[side], found[side] = float(limit[best]), order[:best]
    return [np.isin(np.arange(len(many)), places) for places in found]


def _one_by_one(differ: BoolArray, many: IntArray) -> tuple[IntArray, IntArray]:
    """Return rows in which each unit that can differ is alone, and the number of units of each."""
    times = np.where(differ, many, 1)
    return np.repeat(np.arange(len(many)), times), np.repeat(np.where(differ, 1, many), times)
