"""Newcombe's square-and-add: limits of a difference of correlated proportions from Wilson's.

Newcombe (1998), Statistics in Medicine 17:2635-2650; Zou & Donner (2008), Statistics in Medicine
27:1693-1702.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_parts, check_shapes
from fairstats.inference.intervals import proportion_interval

IntArray = npt.NDArray[np.int64]


def check_own_answers(
    n: IntArray,
    correct_of_pairs_a: IntArray,
    correct_of_pairs_b: IntArray,
    *,
    correct_a: IntArray,
    n_a: IntArray,
    correct_b: IntArray,
    n_b: IntArray,
) -> None:
    """Refuse group counts that do not include the answers of the pairs.

    Raises
    ------
    ValueError
        Names the count that is too small, or the correct answers that are too many.
    """
    check_shapes(pairs=n, own=n_a)
    for group, of_pairs, correct, own in (
        ("a", correct_of_pairs_a, correct_a, n_a),
        ("b", correct_of_pairs_b, correct_b, n_b),
    ):
        check_parts(f"correct_{group}", correct, f"n_{group}", own)
        for name, least, most, meaning in (
            (f"n_{group}", n, own, "answers"),
            (f"correct_{group}", of_pairs, correct, "correct answers"),
            (f"n_{group} - correct_{group}", n - of_pairs, own - correct, "wrong answers"),
        ):
            few, there = np.broadcast_arrays(most, least)
            if np.any(few < there):
                raise ValueError(
                    f"{name}={few[few < there][0]} must count the {meaning} of the pairs too, "
                    f"{there[few < there][0]}"
                )


def corrected_phi(
    n11: IntArray, n10: IntArray, n01: IntArray, n00: IntArray, copies: npt.ArrayLike = 1.0
) -> FloatArray:
    """Return φ of the paired table, with Newcombe's continuity correction if φ is positive.

    Without the correction, φ is 1 if no pair is discordant, and the interval would be almost a
    point. φ is 0 if a margin is empty. With `copies` pairs per answer, the correction is that of n
    / copies pairs.
    """
    both, only_a, only_b, neither = (cell.astype(np.float64) for cell in (n11, n10, n01, n00))
    n = both + only_a + only_b + neither
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    product = both * neither - only_a * only_b
    corrected = np.where(
        product > 0, np.maximum(product - n * np.asarray(copies) / 2, 0.0), product
    )
    return np.where(margins > 0, corrected / np.sqrt(np.where(margins > 0, margins, 1.0)), 0.0)


def overlap(n: IntArray, n_a: IntArray, n_b: IntArray) -> FloatArray:
    """Return n / √(n_a n_b), which converts the pairs' correlation to that of the estimates."""
    return np.asarray(n / np.sqrt(np.maximum(n_a, 1.0) * np.maximum(n_b, 1.0)))


def estimates_correlation(
    cells: Sequence[IntArray],
    *,
    correct_a: IntArray,
    n_a: IntArray,
    correct_b: IntArray,
    n_b: IntArray,
    copies: npt.ArrayLike = 1.0,
) -> FloatArray:
    """Return the correlation of two accuracies that share only the pairs with these cells.

    Raises
    ------
    ValueError
        As `check_own_answers`.
    """
    n11, n10, n01, n00 = cells
    n = n11 + n10 + n01 + n00
    check_own_answers(
        n, n11 + n10, n11 + n01, correct_a=correct_a, n_a=n_a, correct_b=correct_b, n_b=n_b
    )
    return corrected_phi(n11, n10, n01, n00, copies) * overlap(n, n_a, n_b)


def square_and_add(
    correct_a: IntArray,
    n_a: IntArray,
    correct_b: IntArray,
    n_b: IntArray,
    correlation: FloatArray,
    *,
    alpha: float,
    design_effect: npt.ArrayLike = 1.0,
    scale: Callable[[npt.ArrayLike], FloatArray] = np.asarray,
    furthest: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Return limits of the difference of two correlated proportions, from Wilson's limits of each.

    The distances between limits and estimates are added as lengths at an angle given by the
    correlation of the estimates. Everything is on a `scale` on which differences are within
    ±`furthest`. These are the limits if a group has no answers.
    """
    sides = []
    for correct, n in ((correct_a, n_a), (correct_b, n_b)):
        limits = proportion_interval(correct, n, alpha=alpha, design_effect=design_effect)
        sides.append([scale(p) for p in (correct / np.maximum(n, 1), *limits.ci)])
    (a, a_low, a_high), (b, b_low, b_high) = sides

    def length(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(x**2 - 2 * correlation * x * y + y**2, 0.0))

    difference, known = a - b, (n_a > 0) & (n_b > 0)
    low = np.maximum(difference - length(a - a_low, b_high - b), -furthest)
    high = np.minimum(difference + length(a_high - a, b - b_low), furthest)
    return np.where(known, low, -furthest), np.where(known, high, furthest)
