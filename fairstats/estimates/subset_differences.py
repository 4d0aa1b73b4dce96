"""The accuracy differences of `fairstats.analyze`, for any subset of items."""

from __future__ import annotations

import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import MissingPolicy
from fairstats.counts.item_outcomes import crossed_patterns
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.pair_estimates import DECISIVE, bounds_tables, counted_tables, pairs_of
from fairstats.estimates.table import is_primary_test

_NO_LETTERS = pd.DataFrame(columns=[*PAIR_COLUMNS, "letter_a", "letter_b", "n"])


def differences_of(patterns: pd.DataFrame, missing: MissingPolicy, alpha: float) -> pd.DataFrame:
    """Return Acc_a − Acc_b of each unit and pair, with interval and test as in `analyze`.

    Parameters
    ----------
    patterns : pandas.DataFrame
        From `fairstats.counts.item_outcomes.item_patterns`: the items to include.
    missing : {"available", "complete", "incorrect", "bounds"}
        The policy.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        By `PAIR_COLUMNS`: ``estimate``, ``ci_low``, ``ci_high``, ``ci_method``, ``n`` of the
        difference, ``p_value`` and ``test`` of McNemar's mid-p, unadjusted, and ``method_note``.
    """
    keys = list(PAIR_COLUMNS)
    columns = ["estimate", "ci_low", "ci_high", "ci_method", "n", "method_note"]
    if patterns.empty:
        return patterns[keys].reindex(columns=[*keys, *columns, "p_value", "test"]).set_index(keys)
    items = crossed_patterns(patterns)
    counts = items.groupby([*keys, "copies"], as_index=False)[list(PATTERNS)].sum()
    # As in `analyze`: only units that were asked for several samples have clustered answers.
    samples = patterns.groupby([*keys, "item_id"]).size().groupby(list(UNIT_COLUMNS)).max()
    several = samples[samples > 1].index
    clustered = pd.MultiIndex.from_frame(items[list(UNIT_COLUMNS)]).isin(several)
    kinds = items[clustered].groupby([*keys, *PATTERNS], as_index=False).size()
    kinds = kinds.rename(columns={"size": "items"})
    policy = "complete" if missing == "bounds" else missing
    pairs = pairs_of(counts, kinds, _NO_LETTERS, policy, alpha)
    tables = (bounds_tables if missing == "bounds" else counted_tables)(pairs, DECISIVE)
    found = pd.concat(map(pd.DataFrame, tables), ignore_index=True)
    difference = found[found["metric"] == "accuracy_difference"].set_index(keys)[columns]
    return difference.join(found[is_primary_test(found)].set_index(keys)[["p_value", "test"]])
