"""True coverage of the limits of mean overlaps and of rates of pairs, by simulation.

Limits are those of `bounded_mean_interval`, 95%. Coverage in % of 2,000 simulations each (standard
error at most 1.1 points; for pairs 1,000 each), in ten minutes.

Two lists of ten (`retrieval_overlap`) share a number of snippets that is drawn from one of the laws
below, independently for each item. The overlap is their intersection over union:

    items                                        15     30     60    200
    80% the same, others share 0 to 9          94.5   94.9   95.7   96.1
    90% the same, others share 2 to 8          98.7   98.0   93.4   95.1
    30% the same, others share 0 to 9          92.0   94.4   95.2   94.8
    60% the same, 37% share 9, 3% none         80.8   82.4   87.1   95.0

ROUGE-L of the two replies to an item (`text_overlap`), without and with room for rare items:

    items                                        15     30     60    200
    98% 1, 2% 0.2                              99.8   98.0   99.6   99.1
    98% 1, 2% 0.2, room                        99.8   98.0   99.6   99.1
    49% 1, 49% 0.95, 2% 0.2                    35.8   47.0   69.8   95.8
    49% 1, 49% 0.95, 2% 0.2, room              99.8   98.4   98.3   97.5
    95% 0.9 to 1, 5% 0.1                       51.4   76.2   92.2   94.8
    95% 0.9 to 1, 5% 0.1, room                 97.8   98.5   97.8   94.8
    0.2 to 0.8                                 95.1   96.0   95.3   95.5
    0.2 to 0.8, room                           98.0   96.1   95.3   95.5

Separately judged pairs (`paired_bias_rates`, ``pooled``). Raters report bias with probability 0.02,
and with probability 0.9 in both answers of a share of the pairs (``both``), or in the first answer
(``exactly one``); without and with room:

    pairs                                        15     30     60    200
    both, 2% of pairs, 5 raters                90.7   85.2   84.6   96.0
    both, 2% of pairs, 5 raters, room          99.6   97.7   97.4   97.9
    both, 5% of pairs, 5 raters                92.6   93.8   95.7   95.9
    both, 5% of pairs, 5 raters, room          97.5   98.3   98.4   95.9
    both, 2% of pairs, 10 raters               70.1   63.1   72.5   96.1
    both, 2% of pairs, 10 raters, room         99.5   98.8   98.9   98.2
    both, 5% of pairs, 10 raters               77.5   85.7   93.8   95.8
    both, 5% of pairs, 10 raters, room         97.1   98.1   97.5   95.8
    exactly one, 2% of pairs, 5 raters         98.3   91.0   90.2   92.7
    exactly one, 2% of pairs, 5 raters, room   98.3   97.7   97.7   93.8
    exactly one, 5% of pairs, 5 raters         81.6   83.3   92.4   94.1
    exactly one, 5% of pairs, 5 raters, room   98.6   97.6   97.1   94.1
    exactly one, 2% of pairs, 10 raters        81.1   81.4   81.1   93.9
    exactly one, 2% of pairs, 10 raters, room   98.1   98.0   96.5   96.3
    exactly one, 5% of pairs, 10 raters        68.5   75.7   93.1   95.5
    exactly one, 5% of pairs, 10 raters, room   99.3   97.9   97.7   95.5

    python benchmarks/overlap_coverage.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.metrics.metric import roomy

#: The number of shared snippets, and its probability.
LAWS = {
    "80% the same, others share 0 to 9": dict.fromkeys(range(10), 0.02) | {10: 0.8},
    "90% the same, others share 2 to 8": {10: 0.9, 8: 0.05, 6: 0.03, 4: 0.01, 2: 0.01},
    "30% the same, others share 0 to 9": {10: 0.3, 9: 0.3, 8: 0.2, 6: 0.1, 4: 0.05, 0: 0.05},
    "60% the same, 37% share 9, 3% none": {10: 0.6, 9: 0.37, 0: 0.03},
}
#: ROUGE-L, and its probability.
TEXTS = {
    "98% 1, 2% 0.2": {1.0: 0.98, 0.2: 0.02},
    "49% 1, 49% 0.95, 2% 0.2": {1.0: 0.49, 0.95: 0.49, 0.2: 0.02},
    "95% 0.9 to 1, 5% 0.1": dict.fromkeys((0.9, 0.925, 0.95, 0.975, 1.0), 0.19) | {0.1: 0.05},
    "0.2 to 0.8": dict.fromkeys((0.2, 0.35, 0.5, 0.65, 0.8), 0.2),
}
ITEMS = (15, 30, 60, 200)
#: The metric, the number of raters of an answer, and the share of pairs with bias.
PAIRS = tuple((m, r, s) for m in ("both", "exactly one") for r in (5, 10) for s in (0.02, 0.05))
SIMULATIONS = 2_000


def main() -> None:
    """Print the coverage in %, one row per law."""
    rng = np.random.default_rng(11)
    print(f"{'items':40}", *(f"{n:>6}" for n in ITEMS))
    for name, law in LAWS.items():
        overlaps = {shared / (20 - shared): share for shared, share in law.items()}
        shown = [of_law(rng, overlaps, n)[0] for n in ITEMS]
        print(f"{name:40}", *(f"{one:6.1f}" for one in shown), flush=True)
    of_texts()
    of_ratings()


def of_texts() -> None:
    """Print the coverage of the limits of a mean ROUGE-L."""
    rng = np.random.default_rng(12)
    for name, law in TEXTS.items():
        both = [of_law(rng, law, n) for n in ITEMS]
        for room, shown in zip(("", ", room"), zip(*both, strict=True), strict=True):
            print(f"{name + room:40}", *(f"{one:6.1f}" for one in shown), flush=True)


def of_ratings() -> None:
    """Print the coverage of the limits of rates of pairs."""
    rng = np.random.default_rng(13)
    for metric, raters, share in PAIRS:
        both = [of_pairs(rng, metric, raters, share, n) for n in ITEMS]
        name = f"{metric}, {share:.0%} of pairs, {raters} raters"
        for room, shown in zip(("", ", room"), zip(*both, strict=True), strict=True):
            print(f"{name + room:40}", *(f"{one:6.1f}" for one in shown), flush=True)


def of_law(
    rng: np.random.Generator, law: Mapping[float, float], n: int, simulations: int = SIMULATIONS
) -> npt.NDArray[np.float64]:
    """Return the coverage of limits without and with room, if items have these values."""
    values, shares = (np.array([*own]) for own in (law, law.values()))
    tables = rng.multinomial(n, shares, size=simulations)
    drawn, times = np.unique(tables, axis=0, return_counts=True)
    samples = ((values, many) for many in drawn)
    return covered(samples, float(values @ shares), times)


def of_pairs(
    rng: np.random.Generator,
    metric: str,
    raters: int,
    share: float,
    n: int,
    simulations: int = SIMULATIONS // 2,
) -> npt.NDArray[np.float64]:
    """Return the same for rates of pairs, judged by this number of raters."""
    biased = rng.random((simulations, n)) < share
    chances = np.where(biased, 0.9, 0.02), np.where(biased & (metric == "both"), 0.9, 0.02)
    a, b = (rng.binomial(raters, chance) / raters for chance in chances)
    values = a * b if metric == "both" else a * (1 - b) + b * (1 - a)
    of_biased, of_others = (0.9, 0.9 if metric == "both" else 0.02), (0.02, 0.02)
    truth = 0.0
    for (p, q), weight in ((of_biased, share), (of_others, 1 - share)):
        truth += weight * (p * q if metric == "both" else p * (1 - q) + q * (1 - p))
    samples = (np.unique(own, return_counts=True) for own in values)
    return covered(samples, truth, np.ones(simulations))


def covered(
    samples: Iterable[tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]],
    truth: float,
    times: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the coverage in % of samples of values and their numbers, without and with room."""
    holds = []
    for values, many in samples:
        bare = bounded_mean_interval(values, many)
        wide = roomy(bare, many.sum(), (0.0, 1.0), 0.05)
        holds.append([own.ci_low - 1e-12 <= truth <= own.ci_high + 1e-12 for own in (bare, wide)])
    return np.asarray(100 * np.average(holds, axis=0, weights=times))


if __name__ == "__main__":
    main()
