"""The conditional odds ratio of paired answers."""

from __future__ import annotations

import math

from fairstats.inference.effect_sizes import odds_ratio
from fairstats.metrics.metric import SHARES, Columns, PairMetric, Pairs


def _rows(pairs: Pairs) -> Columns:
    paired = pairs.paired
    return pairs.rows(odds_ratio(n10=paired.n10, n01=paired.n01, alpha=pairs.alpha), paired)


ODDS_RATIO = PairMetric(
    name="odds_ratio",
    label="Odds ratio, n10 / n01",
    definition="How many times as many discordant pairs are right, or favourable, only for group "
    "a as only for group b; infinite if n01 is 0 and n10 is not.",
    formula=r"n_{10} / n_{01}",
    interval="exact conditional (Clopper and Pearson); none for clustered answers",
    order=90,
    lowest=0,
    highest=math.inf,
    kinds=SHARES,
    compute=_rows,
)
