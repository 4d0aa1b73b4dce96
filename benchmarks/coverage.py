"""True coverage of the 95% intervals, by enumeration: writes data/coverage.csv.

An interval of counts is a function of a small table, so that its coverage needs no simulation: it
is the sum of the probabilities of the tables whose interval holds the truth. That is done here

- for one proportion p over all counts of successes;
- for the signed difference of two paired proportions, given P(only a right) = p10 and
  P(only b right) = p01, over all (n10, n01);
- for Newcombe's interval of that difference and for Cohen's h, which depend on both accuracies,
  over all four cells of the paired table, with p the mean of the two accuracies.

Nothing is drawn at random, and the only approximation is that tables of a total probability below
1e-12 are left out. The methods page of every release reads the result.

    python benchmarks/coverage.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from fairstats._lib.result_objects import Estimate
from fairstats.inference.differences import DifferenceMethod, difference_interval
from fairstats.inference.effect_sizes import cohens_h_interval
from fairstats.inference.intervals import ProportionMethod, proportion_interval

OUT = Path(__file__).resolve().parents[1] / "data" / "coverage.csv"

SIZES = (50, 100, 200, 400, 801)
PROPORTIONS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.998)
# P(only a right), P(only b right): from near-fair to strongly biased. The intervals are mirrored
# where the groups are swapped, so that p10 ≥ p01 is enough.
DISCORDANCES = (
    *((p, p) for p in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)),
    *(
        (0.01, 0.002),
        (0.02, 0.005),
        (0.05, 0.01),
        (0.1, 0.02),
        (0.1, 0.05),
        (0.2, 0.05),
        (0.3, 0.1),
    ),
)
# Means of the two accuracies; those near 1 leave room for little discordance only.
ACCURACIES = (0.5, 0.75, 0.95, 0.995)

PROPORTION_METHODS: tuple[ProportionMethod, ...] = ("wilson", "clopper_pearson", "jeffreys")
# What depends on n10, n01 and n alone, and what on all four cells.
DISCORDANT_METHODS: tuple[DifferenceMethod, ...] = ("tango", "bonett_price", "wald", "bootstrap")

# The limits of a window leave out less than _TAIL on either side, of at most three counts; the
# tables of a window below _LEAST, fewer than 10⁷, are left out too: below 1e-12 in all.
_TAIL = 1e-14
_LEAST = 5e-20
# Limits and truth are often the same fraction, computed differently.
_ROUNDING = 1e-12

Counts = npt.NDArray[np.int64]
Cells = tuple[Counts, Counts, Counts, Counts]
Probabilities = npt.NDArray[np.float64]
PairedEstimate = Callable[..., Estimate]


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute all rows and write them."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="CSV file to write")
    out = parser.parse_args(arguments).out
    rows = pd.DataFrame([*proportions(), *differences(), *of_four_cells()])
    # The cut-off leaves 12 decimals; with two fewer, every machine writes the same file.
    rows.to_csv(out, index=False, float_format=decimals, lineterminator="\n")


def decimals(x: float) -> str:
    """At most ten decimals."""
    return f"{x:.10f}".rstrip("0")


def proportions() -> Iterator[dict[str, object]]:
    """The intervals of one proportion, e.g. an accuracy or CFR."""
    for method, n, p in product(PROPORTION_METHODS, SIZES, PROPORTIONS):
        x = np.arange(n + 1)
        interval = proportion_interval(x, n, method=method)
        coverage, width = covered(interval, p, stats.binom.pmf(x, n, p))
        yield {
            "estimand": "proportion",
            "method": method,
            "n": n,
            "p": p,
            "p10": np.nan,
            "p01": np.nan,
            "coverage": coverage,
            "mean_width": width,
        }


def differences() -> Iterator[dict[str, object]]:
    """The intervals of the paired difference that depend on the discordant pairs alone."""
    methods: dict[str, PairedEstimate] = {
        name: partial(difference_interval, method=name) for name in DISCORDANT_METHODS
    }
    for n, (p10, p01) in product(SIZES, DISCORDANCES):
        # How the concordant pairs split is then of no account: all are taken to be right.
        cells = (1 - p10 - p01, p10, p01, 0.0)
        found = paired_coverage(n, cells, methods, dict.fromkeys(methods, p10 - p01))
        for method, (coverage, width) in found.items():
            yield {
                "estimand": "difference",
                "method": method,
                "n": n,
                "p": np.nan,
                "p10": p10,
                "p01": p01,
                "coverage": coverage,
                "mean_width": width,
            }


def of_four_cells() -> Iterator[dict[str, object]]:
    """Newcombe's interval of the paired difference, and Cohen's h."""
    methods: dict[str, PairedEstimate] = {
        "difference": partial(difference_interval, method="newcombe"),
        "cohens_h": cohens_h_interval,
    }
    for n, p, (p10, p01) in product(SIZES, ACCURACIES, DISCORDANCES):
        p_a, p_b = p + (p10 - p01) / 2, p - (p10 - p01) / 2
        p00 = round(1 - p_a - p01, 12)
        if p00 < 0:
            continue
        cells = (p_a - p10, p10, p01, p00)
        h = 2 * np.arcsin(np.sqrt(p_a)) - 2 * np.arcsin(np.sqrt(p_b))
        found = paired_coverage(n, cells, methods, {"difference": p10 - p01, "cohens_h": h})
        for estimand, (coverage, width) in found.items():
            yield {
                "estimand": estimand,
                "method": "newcombe" if estimand == "difference" else "arcsine",
                "n": n,
                "p": p,
                "p10": p10,
                "p01": p01,
                "coverage": coverage,
                "mean_width": width,
            }


def paired_coverage(
    n: int,
    p: tuple[float, float, float, float],
    intervals: Mapping[str, PairedEstimate],
    truths: Mapping[str, float],
) -> dict[str, tuple[float, float]]:
    """Coverage and mean width of intervals of n11, n10, n01, n00 ~ Multinomial(n, p)."""
    total = {name: np.zeros(2) for name in intervals}
    for cells, probability in paired_tables(n, p):
        for name, interval in intervals.items():
            total[name] += covered(interval(*cells), truths[name], probability)
    return {name: (float(coverage), float(width)) for name, (coverage, width) in total.items()}


def paired_tables(
    n: int, p: tuple[float, float, float, float]
) -> Iterator[tuple[Cells, Probabilities]]:
    """The tables of n pairs with their probabilities, those of one n10 at a time.

    What is computed at once then stays small: the exact bootstrap holds some 80 complex numbers
    a table.
    """
    for n10 in window(n, p[1]):
        n01, n00 = (x.ravel() for x in np.meshgrid(window(n, p[2]), window(n, p[3])))
        possible = n10 + n01 + n00 <= n
        n01, n00 = n01[possible], n00[possible]
        n11 = n - n10 - n01 - n00
        log = special.gammaln(n + 1) + sum(
            special.xlogy(count, share) - special.gammaln(count + 1)
            for count, share in zip((n11, n10, n01, n00), p, strict=True)
        )
        probability = np.exp(log)
        kept = probability > _LEAST
        n01 = n01[kept]
        yield (n11[kept], np.full_like(n01, n10), n01, n00[kept]), probability[kept]


def window(n: int, p: float) -> Counts:
    """The counts that Binomial(n, p) keeps to but for less than 1e-14 on either side."""
    law = stats.binom(n, p)
    return np.arange(int(law.ppf(_TAIL)), int(law.isf(_TAIL)) + 1)


def covered(interval: Estimate, truth: float, probability: Probabilities) -> tuple[float, float]:
    """The probability that an interval holds the truth, and its mean width."""
    holds = (interval.ci_low <= truth + _ROUNDING) & (interval.ci_high >= truth - _ROUNDING)
    return float(probability[holds].sum()), float(
        probability @ (interval.ci_high - interval.ci_low)
    )


if __name__ == "__main__":
    main()
