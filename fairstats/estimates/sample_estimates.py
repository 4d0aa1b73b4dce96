"""The estimates that several samples of an item allow: agreement of the same prompt."""

from __future__ import annotations

import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.counts.outcomes import PAIR_COLUMNS, Folds, answers_of_groups
from fairstats.metrics.same_prompt import same_prompt

_NOTES = {
    "same_prompt_agreement": "n counts the items with at least two answers for each group",
    "excess_disagreement": "same_prompt_agreement minus the CFR of these items, each item counted "
    "once; expected to be 0 if the group does not matter",
}


def same_prompt_table(
    folds: Folds, benchmark: Benchmark, missing: CountingPolicy, alpha: float
) -> pd.DataFrame:
    """Return the agreement of the same prompt of each declared pair, and the excess over it.

    Parameters
    ----------
    folds : Folds
        From `fairstats.counts.outcomes.fold_answers`.
    benchmark : Benchmark
        The benchmark of the pairs.
    missing : {"available", "complete", "incorrect"}
        The policy.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        Two rows per unit and pair, with some of the columns
        `fairstats.estimates.table.ESTIMATE_COLUMNS`. A pair without an item that has two answers
        for each group has no row.
    """
    rows = []
    for attribute in benchmark.attributes.values():
        kinds = folds.kinds[benchmark.name, attribute.name]
        several = kinds[kinds["samples"] > 1].reset_index(drop=True)
        for unit, own in several.groupby(list(UNIT_COLUMNS), sort=True):
            groups = dict(
                zip(attribute.groups, answers_of_groups(own, benchmark, attribute), strict=True)
            )
            for a, b in attribute.pairs:
                found = same_prompt(
                    groups[a].letters,
                    groups[b].letters,
                    own["items"],
                    samples=own["samples"],
                    missing=missing,
                    alpha=alpha,
                )
                if found.agreement.n == 0:
                    continue
                keys = dict(zip(PAIR_COLUMNS, (*unit, attribute.name, a, b), strict=True))
                for metric, estimate in zip(_NOTES, (found.agreement, found.excess), strict=True):
                    row = estimate.to_frame().iloc[0].to_dict()
                    rows.append(keys | row | {"metric": metric, "method_note": _NOTES[metric]})
    return pd.DataFrame(rows, columns=None if rows else [*PAIR_COLUMNS, "metric"])
