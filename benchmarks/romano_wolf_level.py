"""Simulate how often `romano_wolf` rejects anything if no level differs from another.

    python benchmarks/romano_wolf_level.py > benchmarks/results/romano_wolf_level.csv

All pairs of 3 or 6 levels are compared on 15, 40 or 150 items, at the level of 5%.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import get_args

import numpy as np
import numpy.typing as npt

from fairstats.inference.romano_wolf import Resampling, romano_wolf

FloatArray = npt.NDArray[np.float64]
RUNS, RESAMPLES = 600, 499


def draws(rng: np.random.Generator) -> dict[str, Callable[[int, int], FloatArray]]:
    """Return functions that draw scores of n items at k levels without a difference."""

    def one_of_all(n: int, k: int) -> FloatArray:
        return np.eye(k)[rng.integers(k, size=n)]

    def unequal_items(n: int, k: int) -> FloatArray:
        return (rng.random((n, k)) < rng.random((n, 1))).astype(float)

    return {
        "right in 50%": lambda n, k: (rng.random((n, k)) < 0.5).astype(float),
        "right in 5%": lambda n, k: (rng.random((n, k)) < 0.05).astype(float),
        "items of unequal difficulty": unequal_items,
        "one level right per item": one_of_all,
        "exponential": lambda n, k: rng.exponential(size=(n, k)),
        "log-normal": lambda n, k: np.exp(1.5 * rng.normal(size=(n, k))),
    }


def rows(rng: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield items, levels, scores and the share of runs with a rejection by each resampling."""
    for n, k, (name, draw) in itertools.product((15, 40, 150), (3, 6), draws(rng).items()):
        false = dict.fromkeys(get_args(Resampling), 0)
        for _ in range(RUNS):
            x = draw(n, k)
            d = np.column_stack([x[:, a] - x[:, b] for a, b in itertools.combinations(range(k), 2)])
            for way in false:
                found = romano_wolf(d, resampling=way, n_resamples=RESAMPLES, rng=rng)
                false[way] += int(found.p_adjusted.min() <= 0.05)
        yield n, k, name, *(round(count / RUNS, 4) for count in false.values())


if __name__ == "__main__":
    print("items", "levels", "scores", *get_args(Resampling), sep=",")
    for row in rows(np.random.default_rng(1)):
        print(*row, sep=",", flush=True)
