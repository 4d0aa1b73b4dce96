"""The smallest difference that the adjusted test of a pair can detect."""

from __future__ import annotations

import numpy as np

from fairstats.inference.intervals import proportion_interval
from fairstats.inference.power import minimum_detectable_difference
from fairstats.metrics.metric import SHARES, Columns, PairMetric, Pairs

#: The power for which the difference is computed.
POWER = 0.8


def _rows(pairs: Pairs) -> Columns:
    """Return one row per pair.

    Holm's procedure compares the smallest p-value of m tests with alpha / m. At this level, a pair
    is detected regardless of the other pairs in the family.
    """
    paired, alpha, tests = pairs.paired, pairs.alpha, pairs.tests
    effect = pairs.effects["accuracy_difference"]
    n = np.floor(paired.n / effect).astype(np.int64)
    discordant = proportion_interval(
        paired.n10 + paired.n01, paired.n, alpha=alpha, design_effect=effect
    ).ci_high
    smallest = np.empty(len(n))
    for size in np.unique(tests):
        own = tests == size
        smallest[own] = minimum_detectable_difference(
            n[own], discordant[own], power=POWER, alpha=alpha / int(size)
        )
    return pairs.rows(paired=paired) | {
        "estimate": smallest,
        "n": paired.n,
        "test": "mcnemar midp",
        "method_note": [
            f"detected with {POWER:.0%} power by a test at level {alpha:g}/{size}, as Holm's "
            "procedure requires for the smallest p-value of the family, at the upper limit of "
            "the share "
            "of discordant pairs"
            if size > 1
            else f"detected with {POWER:.0%} power by one test at level {alpha:g}, at the upper "
            "limit of the share of discordant pairs"
            for size in tests
        ],
    }


DETECTABLE_DIFFERENCE = PairMetric(
    name="minimum_detectable_difference",
    label="Detectable difference (80% power, adjusted test)",
    definition="Smallest difference that the mid-p test detects with 80% power. The share "
    "of discordant pairs is taken at its upper limit. The level is alpha / (tests in the family), "
    "as Holm's procedure requires of the smallest p-value.",
    order=110,
    lowest=0,
    highest=1,
    ideal=0,
    kinds=SHARES,
    compute=_rows,
)
