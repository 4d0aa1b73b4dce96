"""Estimates of the pairs of groups that need several samples of an item."""

from __future__ import annotations

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.crossed_answers import answers_of_groups
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.counts.outcomes import PAIR_COLUMNS, Folds
from fairstats.estimates.table import columns_of
from fairstats.metrics.metric import Columns, Samples
from fairstats.metrics.registry import SAMPLE_METRICS


def sample_table(
    folds: Folds, benchmark: Benchmark, missing: CountingPolicy, alpha: float
) -> Columns:
    """Return the estimates of each declared pair that need several samples of an item.

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
    dict of str to list
        By column, one row per unit, pair and `SampleMetric`, with some of the columns
        `fairstats.estimates.table.ESTIMATE_COLUMNS`. A pair has no row if no item has two answers
        for each group.
    """
    rows = []
    for (name, attribute_name), kinds in folds.kinds.items():
        if name != benchmark.name or (kinds["samples"] <= 1).all():
            continue
        attribute = benchmark.attributes[attribute_name]
        several = kinds[kinds["samples"] > 1].reset_index(drop=True)
        for unit, own in several.groupby(list(UNIT_COLUMNS), sort=True):
            groups = dict(
                zip(attribute.groups, answers_of_groups(own, benchmark, attribute), strict=True)
            )
            for a, b in attribute.pairs:
                samples = Samples(
                    groups[a].letters,
                    groups[b].letters,
                    own["items"],
                    own["samples"],
                    missing,
                    alpha,
                )
                keys = dict(zip(PAIR_COLUMNS, (*unit, attribute.name, a, b), strict=True))
                for metric in SAMPLE_METRICS:
                    estimate = metric.compute(samples)
                    if estimate.n > 0:
                        named = {"metric": metric.name, "method_note": metric.note}
                        rows.append(keys | estimate.to_row() | named)
    return columns_of(rows)
