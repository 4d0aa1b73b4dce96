"""Bootstrap and swap test of a change in a metric between two models, item by item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.inference.bootstrap import acceleration_of, interval_of_law
from fairstats.inference.clustered_answers import LARGEST_EXACT_SUM, sign_flip_test
from fairstats.inference.exact_sums import discrete_law
from fairstats.inference.intervals import tango
from fairstats.inference.item_bootstrap import (
    mean_interval,
    resample_clusters,
)

IntArray = npt.NDArray[np.int64]
#: A function of sums of shape (..., pairs, 6), in the order of
#: `fairstats.counts.item_outcomes.SUMS`, to values of shape (...).
Figure = Callable[[npt.NDArray[np.int64]], FloatArray]


def accuracy(sums: IntArray) -> FloatArray:
    """Return the mean of the two groups' accuracies, averaged over the pairs."""
    a, b = rates(sums)
    return np.asarray((a + b).mean(axis=-1) / 2)


def cfr(sums: IntArray) -> FloatArray:
    """Return the counterfactual fairness rate, averaged over the pairs."""
    return np.asarray(_quotient(sums[..., 4], sums[..., 5]).mean(axis=-1))


def ad(sums: IntArray) -> FloatArray:
    """Return the accuracy disparity, averaged over the pairs."""
    a, b = rates(sums)
    return np.asarray(np.abs(a - b).mean(axis=-1))


def signed(sums: IntArray) -> FloatArray:
    """Return the signed difference of the groups' accuracies, averaged over the pairs."""
    a, b = rates(sums)
    return np.asarray((a - b).mean(axis=-1))


def rates(sums: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the accuracy of each group."""
    return _quotient(sums[..., 0], sums[..., 1]), _quotient(sums[..., 2], sums[..., 3])


def _quotient(part: IntArray, whole: IntArray) -> FloatArray:
    return np.asarray(np.where(whole > 0, part / np.maximum(whole, 1), np.nan))


@dataclass(frozen=True)
class Resampling:
    """The number of resamples, or of random swaps, and their generator."""

    n: int
    rng: np.random.Generator | int


def item_interval(
    cells: IntArray, many: IntArray, figure: Figure, alpha: float, resampling: Resampling
) -> tuple[float, float, str]:
    """Return a BCa bootstrap of items: exact if no answers are missing, resampled if some are."""
    exact = _per_item(cells, figure)
    if exact is not None:
        change, scale, largest = exact
        found = mean_interval(change, many, largest=largest, alpha=alpha)
        return float(found.ci_low) / scale, float(found.ci_high) / scale, str(found.method)
    flat, statistic = cells.reshape(len(cells), -1), _statistic(cells, figure)
    estimate = float(statistic((many @ flat)[None])[0])
    resampled = resample_clusters(flat, many, statistic, resampling.n, resampling.rng)
    if np.isnan(resampled).any():
        return -1.0, 1.0, "none (a resample has no answers for a group)"
    if np.ptp(resampled) == 0:
        half = float(tango(int(many.sum()), 0, 0, 0, alpha=alpha).ci_high)
        return estimate - half, estimate + half, "tango (the resamples do not vary)"
    acceleration = acceleration_of(flat, many, statistic)
    law = discrete_law(resampled)
    low, high, method = interval_of_law(law, estimate, acceleration, "bca", alpha)
    return low, high, f"bootstrap {method}, {resampling.n} resamples"


def _per_item(cells: IntArray, figure: Figure) -> tuple[IntArray, int, int] | None:
    """Return an item's change, its scale and largest value; None if answers are missing."""
    answers, size = np.unique(cells[..., [1, 3, 5]]), cells.shape[2]
    if len(answers) > 1:
        return None
    values = _values(cells, figure)
    change = (values[:, 1] - values[:, 0]).sum(axis=-1)
    scale = int(answers[0]) * size * (2 if figure is accuracy else 1)
    return change, scale, scale * (2 if figure is signed else 1)


def _values(cells: IntArray, figure: Figure) -> IntArray:
    """Return each kind's contribution to a metric's numerator, (kinds, old and new, pairs)."""
    if figure is cfr:
        return cells[..., 4]
    if figure is accuracy:
        return cells[..., 0] + cells[..., 2]
    return cells[..., 0] - cells[..., 2]


def _statistic(cells: IntArray, figure: Figure) -> Callable[[IntArray], FloatArray]:
    """Return the difference of the models as a function of summed cells, flattened."""

    def compute(totals: IntArray) -> FloatArray:
        sums = totals.reshape(*totals.shape[:-1], *cells.shape[1:])
        return figure(sums[..., 1, :, :]) - figure(sums[..., 0, :, :])

    return compute


def swap_test(
    cells: IntArray, many: IntArray, figure: Figure, resampling: Resampling
) -> tuple[float, str]:
    """Swap the models' answers per item: all swaps if denominators stay fixed, else random ones."""
    exact = swap_values(cells, many, figure)
    if exact is not None:
        test = sign_flip_test((exact[:, 1] - exact[:, 0]).sum(axis=-1), many)
        return float(test.p_value), f"models swapped item by item, {test.method}"
    used = cells.copy()
    # Cells that the metric does not use would only split kinds of items.
    used[..., slice(0, 4) if figure is cfr else slice(4, 6)] = 0
    sums = swapped_sums(used, many, resampling)
    return beyond(figure(sums[:, 1]) - figure(sums[:, 0]))


def swap_values(cells: IntArray, many: IntArray, figure: Figure) -> IntArray | None:
    """Return `_values` times the pairs' weights; None if a swap would change a denominator."""
    answers = cells[..., [5] if figure is cfr else [1, 3]]
    if (answers != answers[:, :1, :, :1]).any():
        return None
    values = _values(cells, figure)
    factor = max(int(np.gcd.reduce(values, axis=None)), 1)
    values = values // factor
    # If AD's signs are reversed, a swap can move the sum of both; if not, only their difference.
    moved = np.abs(values) if figure is signed else np.diff(values, axis=1)
    size = int(many @ np.abs(moved).sum(axis=(1, 2)))
    return values * _whole_weights(many @ answers[:, 0, :, 0], size)


def _whole_weights(answers: IntArray, size: int) -> IntArray:
    """Return whole numbers that are approximately proportional to 1 / answers.

    `size` is the total that swaps can move; its distribution is computed up to `LARGEST_EXACT_SUM`.
    """
    share = answers.min() / answers
    most = LARGEST_EXACT_SUM // max(size, 1)
    # If even coarse weights make the sum too large, fine ones cost nothing.
    largest = np.arange(1, 1001 if most < 100 else min(most, 1000) + 1)
    exact = largest[:, None] * share
    error = np.abs(np.rint(exact) / exact - 1).max(axis=1)
    best = int((error < error.min() + 1e-12).argmax())
    return np.maximum(np.rint(exact[best]), 1).astype(np.int64)


def swapped_sums(cells: IntArray, many: IntArray, resampling: Resampling) -> IntArray:
    """Return the sums of both models after random swaps, (1 + n, old and new, pairs, columns).

    The first row is without any swap.
    """
    change = (cells[:, 1] - cells[:, 0]).reshape(len(cells), -1)
    # Items with the same effect of a swap are drawn together. Items without an effect are not
    # drawn.
    rows, kind = np.unique(change, axis=0, return_inverse=True)
    count = np.bincount(kind.ravel(), weights=many, minlength=len(rows)).astype(np.int64)
    moves = rows.any(axis=1)
    rng = np.random.default_rng(resampling.rng)
    drawn = rng.binomial(count[moves], 0.5, (resampling.n, int(moves.sum())))
    swapped = np.vstack([np.zeros_like(count[moves]), drawn])
    # Floating point makes the products fast and is exact for these whole numbers.
    moved = (swapped.astype(np.float64) @ rows[moves]).astype(np.int64)
    moved = moved.reshape(-1, *cells.shape[2:])
    old, new = np.einsum("k,k...->...", many, cells)
    return np.stack([old + moved, new - moved], axis=1)


def beyond(changes: FloatArray) -> tuple[float, str]:
    """Return the share of swaps with a change at least as large as the first, observed one."""
    # A swap that leaves a group without answers counts as extreme (conservative).
    far = (np.abs(changes) >= abs(changes[0]) - 1e-12) | np.isnan(changes)
    name = f"models swapped item by item, {len(changes) - 1} swaps"
    if far.sum() == 1:
        name += f" (p ≤ 1/{len(changes)}, their floor)"
    return float(far.mean()), name
