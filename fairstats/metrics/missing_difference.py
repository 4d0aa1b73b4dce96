"""The difference between two groups in missing answers."""

from __future__ import annotations

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.counts.missing_policies import missing_flags
from fairstats.counts.outcomes import MISSING, PATTERNS
from fairstats.inference.mcnemar import mcnemar
from fairstats.metrics.accuracy import accuracy_difference
from fairstats.metrics.mcnemar import with_flips
from fairstats.metrics.metric import Columns, PairMetric, Pairs, Patterns

#: Missing answers of group a minus those of group b, for one pair of each pattern.
_DIFFERENCES = np.array([(p[1] == MISSING) - float(p[2] == MISSING) for p in PATTERNS])


def _rows(pairs: Pairs) -> Columns:
    """Test whether one group has more missing answers (McNemar's test on missing flags)."""
    flags, kinds = missing_flags(pairs.counts), missing_flags(pairs.items)
    result = mcnemar(n10=flags.n10, n01=flags.n01)
    difference = accuracy_difference(
        flags, alpha=pairs.alpha, design_effect=pairs.effects["missing_difference"]
    )
    table = pairs.rows(difference, flags) | {
        "statistic": result.statistic,
        "p_value": result.p_value,
        "test": "mcnemar midp",
        "method_note": "share of missing answers, a minus b; n10: only a missing",
    }
    return with_flips(table, pairs.items, kinds, "midp")


def _influence(pair: Patterns) -> FloatArray:
    return pair.share(_DIFFERENCES, np.ones(len(PATTERNS)))


MISSING_DIFFERENCE = PairMetric(
    name="missing_difference",
    label="Missing answers, difference",
    definition="Share of missing answers of group a minus that of group b, with McNemar's test on "
    "the missing flags.",
    interval="Tango",
    order=180,
    lowest=-1,
    highest=1,
    ideal=0,
    compute=_rows,
    influence=_influence,
    bounds_rows=_rows,
)
