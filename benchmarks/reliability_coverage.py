"""Measure how often the limits of the intraclass correlation cover, by simulation.

Raters grade items 0, 1, 2, … A grade is the number of cuts below a normal variable: item + rater +
rest, with standard deviations σ_items, σ_raters and 1. The true ICC(A,1) follows from the bivariate
normal distribution. ``coverage`` is of ICC(A,1) among the samples with limits, ``given`` the share
of samples that have limits, and ``normal`` the coverage of McGraw and Wong's limits, which assume
normal grades, in the same samples.

    python benchmarks/reliability_coverage.py    # writes results/reliability_coverage.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

from fairstats.inference.reliability import f_limits, interval

OUT = Path(__file__).resolve().parent / "results" / "reliability_coverage.json"
# The share of grades that are at least 1, 2, ...
GRADES = {
    "even": (0.9, 0.7, 0.3, 0.1),
    "50% are 0, two grades": (0.5,),
    "60% are 0": (0.4, 0.15),
    "60% are 0, two grades": (0.4,),
    "70% are 0": (0.3, 0.1),
    "85% are 0": (0.15, 0.05),
}
ITEMS, RATERS = (20, 60, 150), (2, 3, 5)
OF_ITEMS, OF_RATERS = (0.5, 1.0, 2.0), (0.0, 0.5)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate all designs and write their rows."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file to write")
    parser.add_argument("--simulations", type=int, default=1000)
    given = parser.parse_args(arguments)
    rows = [
        {"grades": grades, "items": items, "raters": raters}
        | {"of_items": of_items, "of_raters": of_raters}
        | coverage(number, GRADES[grades], items, raters, of_items, of_raters, given.simulations)
        for number, (grades, items, raters, of_items, of_raters) in enumerate(
            product(GRADES, ITEMS, RATERS, OF_ITEMS, OF_RATERS)
        )
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    text = f'{{"simulations": {given.simulations}, "designs": [\n{lines}\n]}}\n'
    given.out.write_text(text, encoding="utf-8")


def true_correlation(shares: Sequence[float], of_items: float, of_raters: float) -> float:
    """Return the ICC(A,1) of all items and raters."""
    correlation = of_items**2 / (1 + of_items**2 + of_raters**2)
    law = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    both = sum(law.cdf(stats.norm.ppf([p, q])) for p in shares for q in shares)
    squares = sum(min(p, q) for p in shares for q in shares)
    return float((both - sum(shares) ** 2) / (squares - sum(shares) ** 2))


def coverage(
    number: int,
    shares: Sequence[float],
    items: int,
    raters: int,
    of_items: float,
    of_raters: float,
    simulations: int,
) -> dict[str, float]:
    """Return how often the limits of one design cover."""
    rng = np.random.default_rng([40, number])
    truth = true_correlation(shares, of_items, of_raters)
    cuts = stats.norm.isf(shares) * np.sqrt(1 + of_items**2 + of_raters**2)
    found = []
    for _ in range(simulations):
        latent = rng.standard_normal((items, raters))
        latent += of_items * rng.standard_normal((items, 1))
        latent += of_raters * rng.standard_normal(raters)
        grades = (latent[..., None] > cuts).sum(axis=-1).astype(float)
        low, high, _ = interval(grades, "ICC(A,1)", 0.05)
        if not np.isnan(low):
            normal = f_limits(grades, "ICC(A,1)", 0.05, items - 1)
            found.append((low <= truth <= high, normal[0] <= truth <= normal[1]))
    share = len(found) / simulations
    own, normal = np.mean(found, axis=0) if found else (np.nan, np.nan)
    return {
        "true": round(truth, 3),
        "given": round(share, 3),
        # With few intervals, their coverage is not known.
        "coverage": round(float(own), 3) if share > 0.1 else None,
        "normal": round(float(normal), 3) if share > 0.1 else None,
    }


if __name__ == "__main__":
    main()
