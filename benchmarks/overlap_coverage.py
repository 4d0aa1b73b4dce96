"""True coverage of the limits of a mean overlap of lists (`retrieval_overlap`), by simulation.

Two lists of ten share a number of snippets that is drawn from one of the laws below, independently
for each item. The overlap is their intersection over union, and the limits are those of
`bounded_mean_interval`, 95%. Coverage in % of 2,000 simulations each (standard error at most 1
point), in three minutes:

    items                                        15     30     60    200
    80% the same, others share 0 to 9          94.5   94.9   95.7   96.1
    90% the same, others share 2 to 8          98.7   98.0   93.4   95.1
    30% the same, others share 0 to 9          92.0   94.4   95.2   94.8
    60% the same, 37% share 9, 3% none         80.8   82.4   87.1   95.0

    python benchmarks/overlap_coverage.py
"""

from __future__ import annotations

import numpy as np

from fairstats.inference.item_bootstrap import bounded_mean_interval

#: The number of shared snippets, and its probability.
LAWS = {
    "80% the same, others share 0 to 9": dict.fromkeys(range(10), 0.02) | {10: 0.8},
    "90% the same, others share 2 to 8": {10: 0.9, 8: 0.05, 6: 0.03, 4: 0.01, 2: 0.01},
    "30% the same, others share 0 to 9": {10: 0.3, 9: 0.3, 8: 0.2, 6: 0.1, 4: 0.05, 0: 0.05},
    "60% the same, 37% share 9, 3% none": {10: 0.6, 9: 0.37, 0: 0.03},
}
ITEMS = (15, 30, 60, 200)
SIMULATIONS = 2_000


def main() -> None:
    """Print the coverage in %, one row per law."""
    rng = np.random.default_rng(11)
    print(f"{'items':40}", *(f"{n:>6}" for n in ITEMS))
    for name, law in LAWS.items():
        shared, shares = (np.array([*own]) for own in (law, law.values()))
        overlaps = shared / (20 - shared)
        shown = []
        for n in ITEMS:
            drawn, times = np.unique(
                rng.multinomial(n, shares, size=SIMULATIONS), axis=0, return_counts=True
            )
            found = [bounded_mean_interval(overlaps, many) for many in drawn]
            mean = overlaps @ shares
            holds = [own.ci_low - 1e-12 <= mean <= own.ci_high + 1e-12 for own in found]
            shown.append(100 * np.average(holds, weights=times))
        print(f"{name:40}", *(f"{one:6.1f}" for one in shown), flush=True)


if __name__ == "__main__":
    main()
