"""Accuracy over all groups of an attribute."""

from __future__ import annotations

import numpy as np

from fairstats._lib.result_objects import naming_effect
from fairstats.counts.outcomes import by_cluster
from fairstats.inference.clustered_answers import design_effect, few_clusters_effect
from fairstats.inference.unit_means import effective_number
from fairstats.metrics.accuracy import accuracy
from fairstats.metrics.group_range import right_bounds
from fairstats.metrics.metric import Columns, Groups, GroupsMetric, Range, columns_of, roomy


def _rows(groups: Groups) -> Columns:
    answers, grid = groups.answers, groups.answers.grid
    wrong = answers.wrong + answers.missing * (groups.missing == "incorrect")
    # An item's answers are a cluster, with these numbers of right and wrong ones.
    clusters = np.stack([answers.right.sum(axis=1), wrong.sum(axis=1)], axis=1)
    kept = groups.whole if groups.missing == "complete" else np.ones(len(grid.unit), dtype=bool)
    rows = []
    for unit, several in zip(groups.units, groups.several, strict=True):
        if several and not len(grid.cluster):
            rows.append({"method_note": "several samples per item: not estimated"})
            continue
        span = grid.span(unit)
        there = grid.rows(span).rows(kept[span])
        own, items = by_cluster(there, slice(None), clusters[span][kept[span]])
        right, false = (int(number) for number in items @ own)
        n = right + false
        share = right / n if n else 0.0
        influence, effect = [1 - share, -share], 1.0
        if n and groups.benchmark.few_units:
            effect = few_clusters_effect(own, items, influence, alpha=groups.alpha)
        elif n:
            effect = design_effect(own, items, influence)
        found = accuracy(right, n, alpha=groups.alpha, design_effect=effect)
        if not len(grid.cluster):
            number = effective_number(own.sum(axis=1), items)
            found = roomy(found, number, (0.0, 1.0), groups.alpha)
        row = {name: np.asarray(value).item() for name, value in found.to_row().items()}
        row |= {"ci_method": naming_effect(row["ci_method"], effect)}
        note = "items are the independent units" * (groups.benchmark.cluster is None)
        rows.append(row | {"method_note": note})
    return {**groups.rows(), **columns_of(rows)}


def _bounds(groups: Groups) -> Range:
    """Return the lowest and highest share; over all pairs of groups, every group counts alike."""
    (low_a, high_a), (low_b, high_b) = right_bounds(groups)
    low, high = (low_a + low_b).sum(axis=1), (high_a + high_b).sum(axis=1)
    n = 2 * groups.patterns.sum(axis=(1, 2, 3))
    return low / n, high / n


OVERALL_ACCURACY = GroupsMetric(
    name="overall_accuracy",
    label="Accuracy, all groups",
    definition="Share of the answers for all of an attribute's groups that are right.",
    formula=r"\text{right answers} / \text{answers}",
    interval="Wilson, with items as clusters and room for rare ones, or with declared clusters",
    order=185,
    lowest=0,
    highest=1,
    ideal=1,
    applies=lambda groups: True,
    compute=_rows,
    bounds=_bounds,
)
