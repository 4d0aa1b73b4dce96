"""Measure the coverage and error of `shrink_intersections`, by simulation.

Intersections of race (3 groups), sex (2) and income (2) share all items. ``lowest`` is the accuracy
that the additive effects start from: 90% leads to cells of 90 to 99%. ``coverage`` is the
mean share of 95% intervals that contain the true value, ``worst`` that of the intersection covered
least. ``error`` is the root mean squared error of the shrunken estimates, relative to that of the
observed ones; ``error_of_entries`` is that with every single entry of the sample's covariance.
``zero`` is the share of samples in which the standard deviation is estimated as 0.

    python benchmarks/intersections.py    # writes benchmarks/results/intersections.csv
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from fairstats.inference.intersections import shrink_intersections

RESULTS = Path(__file__).parent / "results" / "intersections.csv"
REPEATS = 300
CELLS = pd.DataFrame(product("abc", "fm", ["low", "high"]), columns=["race", "sex", "income"])


def measured(rng, items, true_sd, lowest=0.7):
    """Return coverage and error in one design."""
    additive = lowest + 0.05 * (CELLS["race"] == "a") + 0.04 * (CELLS["sex"] == "m")
    covered, shrunken, observed, entries, zero = [], [], [], [], []
    for _ in range(REPEATS):
        true = np.clip(
            additive.to_numpy() + rng.normal(0, true_sd, len(CELLS)), 0.05, max(0.95, lowest + 0.09)
        )
        # One number per item decides many of its answers: answers to an item are correlated.
        shared = rng.random((items, 1)) < 0.7
        u = np.where(shared, rng.random((items, 1)), rng.random((items, len(CELLS))))
        right = (u < true).astype(float)
        found = shrink_intersections(right, CELLS)
        covered.append((found.ci_low <= true) & (true <= found.ci_high))
        shrunken.append((found.estimate - true) ** 2)
        observed.append((found.observed - true) ** 2)
        zero.append(found.between_sd == 0)
        # The same with every entry of the sample's covariance.
        covariance = np.cov(right.T) / items
        other = shrink_intersections(right.mean(axis=0), CELLS, covariance=covariance)
        entries.append((other.estimate - true) ** 2)
    by_cell = np.mean(covered, axis=0)
    return {
        "items": items,
        "lowest": lowest,
        "true_sd": true_sd,
        "coverage": round(float(by_cell.mean()), 4),
        "worst": round(float(by_cell.min()), 4),
        "error": round(float(np.sqrt(np.mean(shrunken) / np.mean(observed))), 3),
        "error_of_entries": round(float(np.sqrt(np.mean(entries) / np.mean(observed))), 3),
        "zero": round(float(np.mean(zero)), 3),
    }


if __name__ == "__main__":
    rng = np.random.default_rng(8)
    rows = [measured(rng, items, sd) for items in (100, 400) for sd in (0.0, 0.01, 0.03, 0.06)]
    # Strong models: nearly all answers of the best intersections are right.
    rows += [measured(rng, items, 0.0, lowest=0.9) for items in (100, 400)]
    pd.DataFrame(rows).to_csv(RESULTS, index=False)
    print(pd.DataFrame(rows).to_string(index=False))
