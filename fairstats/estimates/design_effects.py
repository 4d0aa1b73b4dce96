"""Design effects: how much clustering reduces the precision of estimates."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats._lib.row_groups import group_rows, row_keys, text_array
from fairstats.benchmarks.declaration import POOLED
from fairstats.counts.missing_policies import (
    CountingPolicy,
    copies_of,
    of_each_pattern,
    pooled_policy,
)
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.inference.clustered_answers import design_effect
from fairstats.metrics.metric import Patterns
from fairstats.metrics.registry import PAIR_METRICS

#: If metrics share an influence, its design effect is computed once.
_INFLUENCES = {m.influence: m.rests_on for m in PAIR_METRICS if m.influence}


def design_effects(
    counts: pd.DataFrame, items: pd.DataFrame, missing: CountingPolicy
) -> dict[str, FloatArray]:
    """Compute the design effect of each estimate of each pair.

    Parameters
    ----------
    counts : pandas.DataFrame
        The pairs' outcome counts, one row per unit and pair, and ``copies`` (1 if absent): the
        number of pairs that share an answer.
    items : pandas.DataFrame
        The kinds of items of the pairs with clustered answers, from
        `fairstats.counts.item_kinds.count_items`.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers.

    Returns
    -------
    dict of str to ndarray
        By metric with an `influence`, one element per row of `counts`; 1 if its answers are not
        clustered. It divides numbers of pairs, or numbers of answers for estimates of one group.

    Notes
    -----
    With s samples of an item there are s² pairs of answers, but only s answers of a group. So the
    effect for an estimate of pairs is never below ``copies``: pairs never count for more than one
    independent pair per answer.
    """
    effects = {influence: np.ones(len(counts)) for influence in _INFLUENCES}
    if items.empty:
        return {m.name: effects[m.influence] for m in PAIR_METRICS if m.influence}
    copies = copies_of(counts)
    group, first = group_rows(text_array(items[name]) for name in PAIR_COLUMNS)
    kinds = {key: i for i, key in enumerate(row_keys(items.take(first), PAIR_COLUMNS))}
    one = {policy: of_each_pattern(policy) for policy in {missing, pooled_policy(missing)}}
    for place, key in enumerate(row_keys(counts, PAIR_COLUMNS)):
        if key not in kinds:
            continue
        own = items.take(np.flatnonzero(group == kinds[key]))
        cells = own[list(PATTERNS)].to_numpy(dtype=np.int64)
        many = own["items"].to_numpy(dtype=np.int64)
        policy = pooled_policy(missing) if key[-3] == POOLED else missing
        patterns = Patterns(one[policy], many @ cells)
        for influence, rests_on in _INFLUENCES.items():
            effect = design_effect(cells, many, influence(patterns), copies=copies[place])
            effects[influence][place] = (
                effect if rests_on == "one group" else effect * copies[place]
            )
    return {m.name: effects[m.influence] for m in PAIR_METRICS if m.influence}
