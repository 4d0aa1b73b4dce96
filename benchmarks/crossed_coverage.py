"""True coverage of the 95% intervals of a mean over crossed ratings, by simulation.

Each simulation draws items, raters and which raters rate which item anew. A rating is 1 where

    a + b + e > Φ⁻¹(1 − p) √(1 + σ_items² + σ_raters²)

with a, b and e normal, of standard deviations σ_items, σ_raters and 1, so that p is the mean over
all items and raters. Compared are, over ratings as if they were independent, `wilson` and `bca`;
`pigeonhole`, the percentile interval of Owen's bootstrap; Wilson's limits with the closed form of
that bootstrap's variance, by the normal quantile (`closed_normal`) and by Student's t with
min(items, raters) − 1 degrees of freedom (`closed_t`); the same t with the two-way cluster
variance (`two_way_t`); and `crossed_interval`. Writes results/crossed_coverage.csv.

    python benchmarks/crossed_coverage.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse, stats

from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.inference.crossed_means import (
    Crossing,
    crossed_interval,
    wilson_limits,
)
from fairstats.inference.exact_sums import discrete_law
from fairstats.inference.intervals import wilson

OUT = Path(__file__).resolve().parent / "results" / "crossed_coverage.csv"
# Items, ratings an item, raters.
DESIGNS = ((800, 3, 17), (200, 3, 5), (50, 3, 11))
RATES = (0.03, 0.15, 0.5)
# Standard deviations beside that of 1 of a single rating: none, small and large.
OF_ITEMS = (0.0, 0.5, 1.5)
OF_RATERS = (0.0, 0.3, 1.0)

Limits = tuple[float, float]
# Resamples are drawn in parts, so that their weights stay below some 100 MB.
PART = 5_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate all designs and write their rows."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="CSV file to write")
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--bootstraps", type=int, default=250, help="simulations that resample")
    parser.add_argument("--resamples", type=int, default=399)
    given = parser.parse_args(arguments)
    rows = [
        row
        for number, design in enumerate(product(DESIGNS, RATES, OF_ITEMS, OF_RATERS))
        for row in coverage(number, design, given.simulations, given.bootstraps, given.resamples)
    ]
    pd.DataFrame(rows).to_csv(given.out, index=False, float_format="%.4f", lineterminator="\n")


def coverage(
    number: int,
    design: tuple[tuple[int, int, int], float, float, float],
    simulations: int,
    bootstraps: int,
    resamples: int,
) -> Iterator[dict[str, object]]:
    """The rows of one design, a method each."""
    (n_items, each, n_raters), rate, of_items, of_raters = design
    rng = np.random.default_rng([2024, number])
    found: dict[str, list[Limits]] = {}
    items = np.repeat(np.arange(n_items), each)
    threshold = stats.norm.isf(rate) * np.sqrt(1 + of_items**2 + of_raters**2)
    for simulation in range(simulations):
        raters = rng.permuted(np.tile(np.arange(n_raters), (n_items, 1)), axis=1)[:, :each].ravel()
        latent = rng.standard_normal(len(items))
        latent += of_items * rng.standard_normal(n_items)[items]
        latent += of_raters * rng.standard_normal(n_raters)[raters]
        values = (latent > threshold).astype(np.float64)
        for method, limits in intervals(values, items, raters).items():
            found.setdefault(method, []).append(limits)
        if simulation < bootstraps:
            drawn = pigeonhole(values, items, raters, n_resamples=resamples, rng=rng)
            found.setdefault("pigeonhole", []).append(drawn)
    for method, pairs in found.items():
        low, high = np.array(pairs).T
        yield {
            "items": n_items,
            "ratings_an_item": each,
            "raters": n_raters,
            "rate": rate,
            "of_items": of_items,
            "of_raters": of_raters,
            "method": method,
            "coverage": float(((low <= rate) & (rate <= high)).mean()),
            "mean_width": float(np.nanmean(high - low)),
            "simulations": len(pairs),
        }


def pigeonhole(
    values: npt.ArrayLike,
    items: npt.ArrayLike,
    raters: npt.ArrayLike,
    *,
    n_resamples: int,
    rng: np.random.Generator,
    alpha: float = 0.05,
) -> Limits:
    """The percentile limits of Owen's pigeonhole bootstrap (Annals of Applied Statistics 1:386).

    A resample draws the items and the raters, each with replacement; a rating counts as often as
    its item was drawn times as often as its rater was, and a resample in which none counts is left
    out. Without variation there is no resampled law: the limits are NaN.
    """
    x = np.asarray(values, dtype=float)
    crossing = Crossing.of(items, raters, len(x))
    place, shape = (crossing.items, crossing.raters), (crossing.n_items, crossing.n_raters)
    total = sparse.csr_array((x, place), shape=shape)
    number = sparse.csr_array((np.ones(len(x)), place), shape=shape)
    parts = []
    step = max(1, PART // max(shape))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        drawn = [rng.multinomial(k, np.full(k, 1 / k), size=size).astype(float) for k in shape]
        sums, counts = (((drawn[0] @ matrix) * drawn[1]).sum(axis=1) for matrix in (total, number))
        parts.append(sums[counts > 0] / counts[counts > 0])
    means = np.concatenate(parts)
    if len(means) == 0 or np.ptp(means) == 0:
        return float("nan"), float("nan")
    low, high = discrete_law(means).quantiles([alpha / 2, 1 - alpha / 2]).tolist()
    return low, high


def intervals(
    values: npt.NDArray[np.float64], items: npt.NDArray[np.int64], raters: npt.NDArray[np.int64]
) -> dict[str, Limits]:
    """The limits by each method that needs no seed."""
    n, reported = len(values), int(values.sum())
    independent = wilson(reported, n)
    bca = bootstrap_counts([reported, n - reported], "proportion")
    chosen = crossed_interval(values, items, raters)
    own = (float(chosen.ci_low), float(chosen.ci_high))
    found = {
        "wilson": (float(independent.ci_low), float(independent.ci_high)),
        "bca": (float(bca.ci_low), float(bca.ci_high)),
        "crossed_interval": own,
    }
    if reported in (0, n):
        return found | dict.fromkeys(("closed_normal", "closed_t", "two_way_t"), own)
    rate, crossing = reported / n, Crossing.of(items, raters, n)
    totals = crossing.totals(values - rate)
    of_items, of_raters, of_cells = (
        len(total) / (len(total) - 1) * float(total @ total) / n**2 for total in totals
    )
    two_way = of_items + of_raters - of_cells
    t = float(stats.t.isf(0.025, min(crossing.n_items, crossing.n_raters) - 1))
    closed = closed_form(totals, n)
    return found | {
        "closed_normal": wilson_limits(rate, closed, float(stats.norm.isf(0.025))),
        "closed_t": wilson_limits(rate, closed, t),
        "two_way_t": wilson_limits(rate, two_way if two_way > 0 else of_cells, t),
    }


def closed_form(
    totals: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]], n: int
) -> float:
    """The exact variance of the pigeonhole bootstrap of the mean, linearized.

    With W and U the multinomial numbers of times that items and raters are drawn, E W_i² is
    2 − 1 / I and E W_i W_j is 1 − 1 / I, and so for raters; the deviations e sum to 0, so that
    Var(Σ W_i U_r e_ir) = (1 − 1/R) Σ_i e_i.² + (1 − 1/I) Σ_r e_.r² + Σ e_ir².
    """
    of_items, of_raters, of_cells = totals
    squares = (1 - 1 / len(of_raters)) * of_items @ of_items
    squares += (1 - 1 / len(of_items)) * of_raters @ of_raters
    return float(squares + of_cells @ of_cells) / n**2


if __name__ == "__main__":
    main()
