"""True coverage of the 95% intervals of agreement over crossed ratings, by simulation.

Items, raters and who rates what are drawn as in crossed_coverage.py, so that two raters of an item
both report it with the probability that two normal variables with the correlation

    σ_items² / (1 + σ_items² + σ_raters²)

both exceed a threshold: with the rate that gives the true coefficients. Compared are `crossed`,
the limits of `fairstats.rating_agreement`; `symmetric`, the coefficient ± t standard errors from
the same variance; `least_items`, with a variance that is the items' part at least, but may be below
the raters' or the cells'; and `items`, which takes the raters as given. Simulations without limits
(nothing reported, or by one rater alone; for all but `crossed` also where leaving one out changes
nothing) are counted apart and not as misses. Writes results/agreement_coverage.csv.

    python benchmarks/agreement_coverage.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from fairstats.inference.agreement import (
    COEFFICIENTS,
    Agreement,
    crossed_agreement,
    jackknife_parts,
)
from fairstats.inference.crossed_means import wilson_limits
from fairstats.inference.rating_counts import Coefficient, counts_of_kinds, leave_one_out

OUT = Path(__file__).resolve().parent / "results" / "agreement_coverage.csv"
# Items, ratings an item, raters.
DESIGNS = ((800, 3, 17), (200, 3, 5), (50, 3, 11), (200, 2, 8))
RATES = (0.05, 0.3)
# Standard deviations beside that of 1 of a single rating.
OF_ITEMS = (0.5, 1.5)
OF_RATERS = (0.0, 0.5, 1.0)
# Such a variance is none.
_ROUNDING = 1e-20
METHODS = ("crossed", "symmetric", "least_items", "items")


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate all designs and write their rows."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="CSV file to write")
    parser.add_argument("--simulations", type=int, default=400)
    given = parser.parse_args(arguments)
    rows = [
        row
        for number, design in enumerate(product(DESIGNS, RATES, OF_ITEMS, OF_RATERS))
        for row in coverage(number, design, given.simulations)
    ]
    pd.DataFrame(rows).to_csv(given.out, index=False, float_format="%.4f", lineterminator="\n")


def coverage(
    number: int, design: tuple[tuple[int, int, int], float, float, float], simulations: int
) -> Iterator[dict[str, object]]:
    """The rows of one design, a coefficient and method each."""
    (n_items, each, n_raters), rate, of_items, of_raters = design
    rng = np.random.default_rng([2025, number])
    items = np.repeat(np.arange(n_items), each)
    threshold = stats.norm.isf(rate) * np.sqrt(1 + of_items**2 + of_raters**2)
    found: dict[tuple[Coefficient, str], list[tuple[float, float]]] = {}
    for _ in range(simulations):
        raters = rng.permuted(np.tile(np.arange(n_raters), (n_items, 1)), axis=1)[:, :each].ravel()
        latent = rng.standard_normal(len(items))
        latent += of_items * rng.standard_normal(n_items)[items]
        latent += of_raters * rng.standard_normal(n_raters)[raters]
        for key, limits in intervals((latent > threshold).astype(np.int64), items, raters).items():
            found.setdefault(key, []).append(limits)
    truth = true_agreement(rate, of_items, of_raters)
    for (coefficient, method), pairs in found.items():
        low, high = np.array(pairs).T
        there = np.isfinite(low)
        inside = (low <= truth[coefficient]) & (truth[coefficient] <= high)
        yield {
            "items": n_items,
            "ratings_an_item": each,
            "raters": n_raters,
            "rate": rate,
            "of_items": of_items,
            "of_raters": of_raters,
            "coefficient": coefficient,
            "method": method,
            "true": truth[coefficient],
            "coverage": float(inside[there].mean()) if there.any() else float("nan"),
            "mean_width": float((high - low)[there].mean()) if there.any() else float("nan"),
            "without_limits": int((~there).sum()),
            "simulations": simulations,
        }


def true_agreement(rate: float, of_items: float, of_raters: float) -> dict[Coefficient, float]:
    """The coefficients of all items and raters."""
    correlation = of_items**2 / (1 + of_items**2 + of_raters**2)
    law = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    both = float(law.cdf(np.full(2, stats.norm.ppf(rate))))
    percent = 1 - 2 * rate + 2 * both
    chance = 2 * rate * (1 - rate)
    kappa = 1 - (1 - percent) / chance
    return {
        "percent": percent,
        "positive": both / rate,
        "randolph": 2 * percent - 1,
        "fleiss": kappa,
        "gwet_ac1": 1 - (1 - percent) / (1 - chance),
        "krippendorff": kappa,
    }


def intervals(
    values: npt.NDArray[np.int64], items: npt.NDArray[np.int64], raters: npt.NDArray[np.int64]
) -> dict[tuple[Coefficient, str], tuple[float, float]]:
    """The limits of every coefficient by every method, NaN where there are none."""
    n_items = int(items.max()) + 1
    counts = np.bincount(items * 2 + values, minlength=n_items * 2).reshape(n_items, 2)
    table = counts_of_kinds(("no", "yes"), counts)
    left = leave_one_out(table, values, items, items, raters)
    clusters = {"items": left.items, "raters": left.raters, "cells": left.cells}
    found: dict[tuple[Coefficient, str], tuple[float, float]] = {}
    for coefficient in COEFFICIENTS:
        none = float("nan"), float("nan")
        found |= {(coefficient, method): none for method in METHODS}
        observed, expected = (
            float(x) for x in table.disagreement(table.many, coefficient, "nominal")
        )
        if expected <= 0:
            continue
        estimate = 1 - observed / expected
        agreement = Agreement(
            coefficient, "nominal", estimate, *none, 0.95, "", table.n_items, len(values), ""
        )
        found[coefficient, "crossed"] = crossed_agreement(left, agreement, alpha=0.05)[:2]
        parts = jackknife_parts(left, clusters, coefficient, "nominal", estimate)
        (of_items, _), (of_raters, _), (of_cells, _) = parts.values()
        if np.isnan([of_items, of_raters, of_cells]).any() or of_items < _ROUNDING:
            continue
        least = 0.0 if coefficient in ("percent", "positive") else -1.0
        two_way = of_items + of_raters - of_cells
        variance = max(two_way, of_items, of_raters, of_cells)
        t = quantile(parts, variance, len(values))
        half = t * variance**0.5
        found[coefficient, "symmetric"] = max(estimate - half, least), min(estimate + half, 1.0)
        for method, smaller in (("least_items", max(two_way, of_items)), ("items", of_items)):
            used = parts if method == "least_items" else {"items": parts["items"]}
            limits = wilson_limits(
                (estimate - least) / (1 - least),
                smaller / (1 - least) ** 2,
                quantile(used, smaller, len(values)),
            )
            low, high = (least + (1 - least) * limit for limit in limits)
            found[coefficient, method] = low, high
    return found


def quantile(parts: Mapping[str, tuple[float, int]], variance: float, n: int) -> float:
    """Student's t for Satterthwaite's degrees of freedom."""
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts.values())
    fewest = min(degrees for _, degrees in parts.values())
    return float(stats.t.isf(0.025, max(min(freedom, n - 1.0), fewest)))


if __name__ == "__main__":
    main()
