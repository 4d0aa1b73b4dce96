"""Simulate the coverage of `ppi_mean` for judges of all kinds, and of people's ratings alone.

    python benchmarks/ppi_coverage.py > benchmarks/results/ppi_coverage.csv

Of 500 units, people rate n. A judge reports bias in `hit` of the units where people do, and in
`false` of the others. Also shown are the coverage of Wilson's interval for people's ratings alone,
and of the usual estimate ± z √V.
"""

from __future__ import annotations

import itertools

import numpy as np

from fairstats.inference.intervals import wilson
from fairstats.inference.ppi import ppi_mean

RUNS, UNITS = 800, 500
JUDGES = {
    "agrees always": (1.0, 0.0),
    "good": (0.85, 0.1),
    "reports too much": (0.98, 0.4),
    "reports too little": (0.4, 0.0),
    "useless": (0.3, 0.3),
    "reversed": (0.2, 0.8),
    "constant": (1.0, 1.0),
}


def usual(people: np.ndarray, judge: np.ndarray) -> tuple[float, float]:
    """Return estimate ± z √V with estimated λ."""
    there = ~np.isnan(people)
    y, f, rest = people[there], judge[there], judge[~there]
    n, left = len(y), len(rest)
    covariance = np.cov(y, f)
    weight = np.clip(covariance[0, 1] / max(f.var() * (1 + n / left), 1e-12), 0, 1)
    half = 1.96 * np.sqrt((y - weight * f).var(ddof=1) / n + weight**2 * rest.var(ddof=1) / left)
    estimate = y.mean() + weight * (rest.mean() - f.mean())
    return estimate - half, estimate + half


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    print("n_people,rate,judge,ppi_mean,people_alone,usual,width,width_alone")
    for n, rate, (name, (hit, false)) in itertools.product(
        (10, 20, 50, 150), (0.03, 0.1, 0.3, 0.6), JUDGES.items()
    ):
        covered, widths = np.zeros(3), np.zeros(2)
        for _ in range(RUNS):
            truth = rng.random(UNITS) < rate
            judge = np.where(truth, rng.random(UNITS) < hit, rng.random(UNITS) < false) * 1.0
            people = np.where(np.arange(UNITS) < n, truth, np.nan)
            found = ppi_mean(people, judge)
            alone = wilson(int(truth[:n].sum()), n)
            limits = [
                (found.ci_low, found.ci_high),
                (float(alone.ci_low), float(alone.ci_high)),
                usual(people, judge),
            ]
            covered += [low - 1e-9 <= rate <= high + 1e-9 for low, high in limits]
            widths += [high - low for low, high in limits[:2]]
        shown = (*covered / RUNS, *widths / RUNS)
        print(n, rate, name, *(f"{x:.4f}" for x in shown), sep=",", flush=True)
