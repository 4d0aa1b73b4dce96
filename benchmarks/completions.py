"""Compare the widest stated limits with those of all completions of missing answers, by drawing.

Sets of 6 to 40 clusters have pairs that differ in few or many clusters, and missing answers in one
to four. Clusters have up to eight items; those of unequal size have 1 to 15. For shares, all fill-
ins of up to twelve pairs are enumerated; for levels of 1 to 5, all ways to put each cluster's
missing answers at one of the two ends. ``missed`` is how much farther the widest limit is from the
estimate than the stated one, as a share of the former; ``two`` is that of the two extreme
completions alone.

    python benchmarks/completions.py    # 2 min; writes benchmarks/results/completions.json
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np

from fairstats.counts.patterns import PATTERNS
from fairstats.counts.unit_sums import SUM_COLUMNS, UnitSums
from fairstats.estimates.mixed_completions import ClusteredPair
from fairstats.inference.intervals import tango_limits
from fairstats.inference.unit_means import effective_number
from fairstats.metrics.accuracy import ACCURACY_DIFFERENCE
from fairstats.metrics.mean_difference import mean_differences
from fairstats.metrics.metric import design_effect_of, roomy

RESULTS = Path(__file__).parent / "results" / "completions.json"
ALPHA, Z, LIMITS = 0.1, 1.6448536269514722, (1.0, 5.0)
PLACE = {name: place for place, name in enumerate(PATTERNS)}


def drawn_sizes(rng, unequal):
    """Return the sizes of the clusters and those in which answers are missing."""
    k = int(rng.choice([6, 8, 12, 20, 30, 40]))
    if unequal:
        return rng.choice([1, 1, 2, 3, 8, 15], k), rng.choice(k, rng.integers(1, 5), replace=False)
    sizes = rng.integers(1, 9, k) if rng.random() < 0.5 else np.full(k, int(rng.choice([2, 5])))
    return sizes, rng.choice(k, int(rng.integers(1, 5)), replace=False)


def missed_of_shares(rng, few, unequal=False):
    """Return by how much the widest limit is missed by two completions and by those compared."""
    sizes, free = drawn_sizes(rng, unequal)
    cells, share = np.zeros((len(sizes), len(PATTERNS)), dtype=np.int64), rng.choice([0, 0.03, 0.3])
    for k, size in enumerate(sizes):
        kinds = [[0.1, 0.9, 0], [0.4, 0.3, 0.3], [0.2, 0, 0.8]] if rng.random() < share else None
        split = rng.multinomial(size, rng.choice(kinds)) if kinds else [size, 0, 0]
        cells[k, [PLACE["n11"], PLACE["n10"], PLACE["n01"]]] = split
    for k in free:
        gone = min(cells[k, PLACE["n11"]], int(rng.integers(1, 4)))
        cells[k, PLACE["n11"]] -= gone
        cells[k, PLACE[str(rng.choice(["nxx", "n1x", "nx1"]))]] += gone
    many = np.ones(len(sizes), dtype=np.int64)
    pair = ClusteredPair(cells, many, 1, 0.05 if few else None)
    *counts, effects = pair.completed(Z)
    low, high = tango_limits(*np.array(counts), cells.sum(), alpha=ALPHA, design_effect=effects)
    every = list(fill_ins(cells, free))
    totals = np.array([table.sum(axis=0) for table in every])
    effect = [
        design_effect_of(ACCURACY_DIFFERENCE, table, many, 1, "complete", few=pair.few)
        for table in every
    ]
    n10, n01 = totals[:, PLACE["n10"]], totals[:, PLACE["n01"]]
    lows, highs = tango_limits(n10, n01, cells.sum(), alpha=ALPHA, design_effect=np.array(effect))
    center = float(np.mean([low.max(), high.min()]))
    return [
        missed(low[:use].min(), high[:use].max(), lows.min(), highs.max(), center)
        for use in (2, len(low))
    ]


def fill_ins(cells, free):
    """Yield the patterns of all fill-ins: how many open pairs of a cluster favour a, and b."""
    options = []
    for k in free:
        open_a, open_b, both = (int(cells[k, PLACE[name]]) for name in ("n1x", "nx1", "nxx"))
        options.append(
            [
                (k, a, b)
                for a in range(open_a + both + 1)
                for b in range(open_b + both + 1)
                if max(a - open_a, 0) + max(b - open_b, 0) <= both
            ]
        )
    for chosen in product(*options):
        table = cells.copy()
        for k, a, b in chosen:
            left = int(table[k, [PLACE[name] for name in ("n1x", "nx1", "nxx")]].sum()) - a - b
            table[k, [PLACE["n10"], PLACE["n01"], PLACE["n11"]]] += [a, b, left]
            table[k, [PLACE[name] for name in ("n1x", "nx1", "nxx")]] = 0
        yield table


def missed_of_levels(rng, unequal=False):
    """Return by how much the widest limit is missed by the two completions."""
    sizes, free = drawn_sizes(rng, unequal)
    differ, alike = rng.choice([0, 0.02, 0.1, 0.5]), rng.choice([0, 0.9])
    a = [np.where(rng.random(n) < alike, 1, rng.integers(1, 6, n)) for n in sizes]
    moves = [rng.choice([-1, 1], n) * (rng.random(n) < differ) for n in sizes]
    b = [np.clip(one + move, 1, 5) for one, move in zip(a, moves, strict=True)]
    gone = {k: (int(min(sizes[k], rng.integers(1, 4))), rng.choice(["a", "b", "ab"])) for k in free}

    def completed(favours_a):
        sides = [[one.astype(float) for one in side] for side in (a, b)]
        for (k, (many, where)), up in zip(gone.items(), favours_a, strict=True):
            for side, name, end in zip(sides, "ab", (up, not up), strict=True):
                side[k][: many * (name in where)] = LIMITS[end]
        sums = [np.array([one.sum() for one in side]) for side in sides]
        columns = dict.fromkeys(SUM_COLUMNS, np.zeros(len(sizes)))
        columns |= {"sum_a": sums[0], "sum_b": sums[1], "difference": sums[0] - sums[1]}
        columns |= dict.fromkeys(("n_a", "n_b", "pairs"), sizes.astype(float))
        many = np.ones(len(sizes), dtype=np.int64)
        return UnitSums(**columns, many=many, unit=np.arange(len(sizes)))

    tables = [completed(way) for way in product([False, True], repeat=len(gone))]
    found, span = mean_differences(tables, LIMITS, ALPHA), LIMITS[1] - LIMITS[0]
    units = effective_number(sizes)
    wide = roomy(found, units, (-span, span), ALPHA)
    low, high = wide.ci_low, wide.ci_high
    own = min(low[0], low[-1]), max(high[0], high[-1])
    return missed(*own, low.min(), high.max(), float(np.mean([low.max(), high.min()])))


def missed(low, high, lowest, highest, center):
    """Return the larger share of the distance from the center that is missed."""
    return max((low - lowest) / (center - lowest), (highest - high) / (highest - center), 0.0)


def summary(values):
    """Return the largest missed share, and how often it is above 1% and 5%."""
    values = np.array(values)
    shares = {f"above_{p}_percent": round(float((values > p / 100).mean()), 4) for p in (1, 5)}
    return {"sets": len(values), "largest": round(float(values.max()), 4)} | shares


def main():
    """Run the simulation and write the results."""
    found = {}
    for name, *kind in (
        ("declared clusters", True),
        ("declared clusters of unequal size", True, True),
        ("samples of an item", False),
    ):
        rng = np.random.default_rng(1)
        two, compared = zip(*(missed_of_shares(rng, *kind) for _ in range(500)), strict=True)
        found[name] = {"two": summary(two), "compared": summary(compared)}
    for name, unequal in (("levels", False), ("levels in clusters of unequal size", True)):
        rng = np.random.default_rng(1)
        found[name] = {"two": summary([missed_of_levels(rng, unequal) for _ in range(1000)])}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
