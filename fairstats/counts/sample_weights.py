"""Weights that make a group's answers count equally if every answer is paired with every other.

An item with s samples per group has s² pairs of answers, and each answer is in s of them. So a pair
gets the weight L / s, with L the least common multiple of the items' numbers of samples. Each
answer then counts L times, whatever its item. If all items have the same number of samples, every
weight is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

#: Above it, weights are rounded: their relative error is then at most s / 2 divided by this number.
_LARGEST = 10**9


def common_copies(samples: Iterable[int]) -> int:
    """Return how often each answer counts: the least common multiple of the numbers of samples.

    Examples
    --------
    >>> common_copies([1]), common_copies([3]), common_copies([1, 2, 3])
    (1, 3, 6)
    """
    return min(math.lcm(*(max(int(size), 1) for size in samples)), _LARGEST)


def pair_weights(copies: npt.ArrayLike, samples: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the weight of each pair of answers, for items with these numbers of samples.

    Examples
    --------
    >>> pair_weights(6, [1, 2, 3])
    array([6, 3, 2])
    """
    sizes = np.maximum(np.asarray(samples, dtype=np.int64), 1)
    return np.rint(np.asarray(copies, dtype=np.int64) / sizes).astype(np.int64)


def per_answer(counted: npt.ArrayLike, copies: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Convert numbers of pairs to numbers of answers, if each answer is in `copies` pairs.

    Examples
    --------
    >>> per_answer([12, 0], 6)
    array([2, 0])
    """
    return np.rint(np.asarray(counted) / np.asarray(copies)).astype(np.int64)
