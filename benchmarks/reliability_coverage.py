"""Measure how often the limits of the intraclass correlation cover, by simulation.

Raters grade items 0, 1, 2, … A grade is the number of cuts below a normal variable: item + rater +
rest, with standard deviations σ_items, σ_raters and 1. The true ICC(C,1) is that of all items,
rated by the raters of a simulation: the mean covariance of two raters relative to their mean
variance. ``given`` is the share of samples that have limits, and ``coverage`` is of ICC(C,1) among
these. In the same samples, ``normal`` is the coverage of McGraw and Wong's limits, which assume
normal grades.

There are no limits of ICC(A,1). ``agreement`` shows why: it is how often limits from simulated
pivots, which know that few raters show little, cover the ICC(A,1) of all items and raters.

    python benchmarks/reliability_coverage.py    # writes results/reliability_coverage.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
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
ITEMS, RATERS = (20, 150, 1000), (2, 3, 6)
OF_ITEMS, OF_RATERS = (0.5, 2.0), (0.0, 0.5, 2.0)
_NORMAL = np.polynomial.hermite_e.hermegauss(61)
_PIVOTS = 1000


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


def agreement_of_all(shares: Sequence[float], of_items: float, of_raters: float) -> float:
    """Return the ICC(A,1) of all items and raters."""
    correlation = of_items**2 / (1 + of_items**2 + of_raters**2)
    law = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    both = sum(law.cdf(stats.norm.ppf([p, q])) for p in shares for q in shares)
    squares = sum(min(p, q) for p in shares for q in shares)
    return float((both - sum(shares) ** 2) / (squares - sum(shares) ** 2))


def consistency_of(
    cuts: npt.NDArray[np.float64], of_items: float, strictness: npt.NDArray[np.float64]
) -> float:
    """Return the ICC(C,1) of all items for these raters."""
    places, weights = _NORMAL[0], _NORMAL[1] / _NORMAL[1].sum()
    above = stats.norm.sf(cuts - of_items * places[:, None, None] - strictness[:, None])
    grades = above.sum(axis=-1)
    squares = above @ (2 * np.arange(len(cuts)) + 1)
    means = weights @ grades
    between = np.cov(grades.T, aweights=weights, ddof=0)
    k = len(strictness)
    together = (between.sum() - np.trace(between)) / (k * (k - 1))
    return float(together / (weights @ squares - means**2).mean())


def pivot_limits(
    whole: npt.NDArray[np.float64], rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Return limits of ICC(A,1) from the laws of the mean squares of normal grades."""
    n, k = whole.shape
    items, raters = whole.mean(axis=1), whole.mean(axis=0)
    rest = whole - items[:, None] - raters + whole.mean()
    sums = k * n * items.var(), k * n * raters.var(), (rest**2).sum()
    freedoms = n - 1, k - 1, (n - 1) * (k - 1)
    of_items, of_raters, of_rest = (
        one / rng.chisquare(freedom, _PIVOTS) for one, freedom in zip(sums, freedoms, strict=True)
    )
    between = np.maximum((of_items - of_rest) / k, 0)
    return np.quantile(
        between / (between + np.maximum((of_raters - of_rest) / n, 0) + of_rest), (0.025, 0.975)
    )


def coverage(
    number: int,
    shares: Sequence[float],
    items: int,
    raters: int,
    of_items: float,
    of_raters: float,
    simulations: int,
) -> dict[str, float | None]:
    """Return how often the limits of one design cover."""
    rng = np.random.default_rng([40, number])
    agreement = agreement_of_all(shares, of_items, of_raters)
    cuts = stats.norm.isf(shares) * np.sqrt(1 + of_items**2 + of_raters**2)
    found = []
    for _ in range(simulations):
        strictness = of_raters * rng.standard_normal(raters)
        latent = rng.standard_normal((items, raters)) + strictness
        latent += of_items * rng.standard_normal((items, 1))
        grades = (latent[..., None] > cuts).sum(axis=-1).astype(float)
        low, high, _ = interval(grades, "ICC(C,1)", 0.05)
        if not np.isnan(low):
            truth = consistency_of(cuts, of_items, strictness)
            normal, pivot = f_limits(grades, "ICC(C,1)", 0.05, items - 1), pivot_limits(grades, rng)
            found.append(
                (
                    low <= truth <= high,
                    normal[0] <= truth <= normal[1],
                    pivot[0] <= agreement <= pivot[1],
                )
            )
    share = len(found) / simulations
    # With few intervals, their coverage is not known.
    shown = [round(float(one), 3) for one in np.mean(found, axis=0)] if share > 0.1 else [None] * 3
    return {"given": round(share, 3)} | dict(
        zip(("coverage", "normal", "agreement"), shown, strict=True)
    )


if __name__ == "__main__":
    main()
