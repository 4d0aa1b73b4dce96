"""The difference between two groups in missing answers."""

from __future__ import annotations

import numpy as np

from fairstats.counts.patterns import PATTERNS, missing_flags
from fairstats.metrics.accuracy import accuracy_difference
from fairstats.metrics.mcnemar import flip_tests
from fairstats.metrics.metric import ANY, Columns, PairMetric, Pairs, in_clusters

#: Missing answers of group a minus those of group b, for one pair of each pattern.
_DIFFERENCES = np.array([(p[1] == "x") - int(p[2] == "x") for p in PATTERNS])


def _rows(pairs: Pairs) -> Columns:
    """Test whether one group has more missing answers (McNemar's test on missing flags)."""
    flags = missing_flags(pairs.outcomes.patterns)
    every = np.ones(len(PATTERNS), dtype=bool)
    several = (pairs.outcomes.copies > 1) | pairs.outcomes.lopsided
    difference = accuracy_difference(
        flags,
        alpha=pairs.alpha,
        design_effect=pairs.effects["missing_difference"],
        units=np.where(several, in_clusters(pairs.outcomes, every), np.inf),
        tested=pairs.tested,
    )
    tested = flip_tests(pairs, flags, "midp", _DIFFERENCES)
    note = "share of missing answers, a minus b; n10: only a missing"
    return pairs.rows(difference, flags) | tested | {"method_note": note}


MISSING_DIFFERENCE = PairMetric(
    name="missing_difference",
    label="Missing answers, difference",
    definition="Share of missing answers of group a minus that of group b, with McNemar's test on "
    "the missing flags.",
    interval="Tango; if an item has several answers, room as of the accuracy difference",
    order=180,
    lowest=-1,
    highest=1,
    ideal=0,
    kinds=ANY,
    compute=_rows,
    influence=lambda pair: pair.share(_DIFFERENCES, np.ones(len(PATTERNS))),
    bounds_rows=_rows,
)
