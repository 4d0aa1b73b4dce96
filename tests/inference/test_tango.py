"""Tango's limits: what Newton's method finds is what bisection finds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from fairstats.inference.tango import tango_limits


def bisected(n10: float, n01: float, n: float, target: float) -> float:
    """Solve Tango (1998), equation 3, by bisection, one table at a time."""
    estimate = (n10 - n01) / n
    left, right = (-1.0, estimate) if target > 0 else (estimate, 1.0)
    for _ in range(80):
        delta = (left + right) / 2
        b = -n10 - n01 + (2 * n - n10 + n01) * delta
        c = -n01 * delta * (1 - delta)
        p01 = (np.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
        variance = n * (2 * p01 + delta * (1 - delta))
        numerator = n10 - n01 - n * delta
        # Where both are 0, the data agree with the difference.
        above = target < 0 if numerator == 0 else numerator > target * np.sqrt(max(variance, 0))
        left, right = (delta, right) if above else (left, delta)
    return (left + right) / 2


SMALL = [(a, b, n) for n in (1, 2, 3, 9) for a, b in product(range(n + 1), repeat=2) if a + b <= n]
LARGE = [(0, 0, 801), (83, 10, 801), (1, 0, 10**6), (40_000, 39_000, 10**6), (7, 7, 10**9)]


@pytest.mark.parametrize("alpha", [0.05, 0.1, 1e-4])
@pytest.mark.parametrize("tables", [SMALL, LARGE], ids=["small", "large"])
def test_limits_are_those_of_bisection(tables, alpha):
    z = stats.norm.isf(alpha / 2)
    low, high = tango_limits(*np.array(tables).T, alpha=alpha)
    assert low == pytest.approx([bisected(*table, z) for table in tables], abs=1e-9)
    assert high == pytest.approx([bisected(*table, -z) for table in tables], abs=1e-9)


def test_limits_do_not_depend_on_the_other_tables():
    tables = [*SMALL, *LARGE]
    together = tango_limits(*np.array(tables).T, alpha=0.05)
    alone = [tango_limits(*table, alpha=0.05) for table in tables]
    assert np.stack(together, axis=1).tolist() == np.array(alone).tolist()
