"""Accuracy differences of all pairs of an attribute's groups, with simultaneous intervals."""

from __future__ import annotations

import numpy as np

from fairstats._lib.result_objects import naming_effect
from fairstats.metrics.group_range import differences_of
from fairstats.metrics.metric import Columns, Groups, GroupsMetric


def _rows(groups: Groups) -> Columns:
    found, many = groups.once(differences_of), len(groups.pairs)
    names = np.array(list(groups.attribute.groups), dtype=object)
    a, b = np.tile(np.array(groups.pairs).T, len(groups.units))
    keys = {
        name: np.repeat(np.broadcast_to(column, len(groups.units)), many)
        for name, column in groups.rows().items()
    }
    estimate = {name: np.ravel(value) for name, value in found.estimate.to_row().items()}
    methods = np.broadcast_to(found.estimate.method, found.effects.shape).ravel()
    return (
        keys
        | estimate
        | {
            "group_a": names[a],
            "group_b": names[b],
            "ci_level": 1 - groups.alpha,
            "ci_method": [
                f"{naming_effect(method, effect)}, Bonferroni over {many} pairs"
                for method, effect in zip(methods, found.effects.ravel(), strict=True)
            ],
            "method_note": "all intervals of the attribute hold at once",
        }
    )


SIMULTANEOUS = GroupsMetric(
    name="accuracy_difference_simultaneous",
    label="Accuracy difference, simultaneous",
    definition="Accuracy difference between every two groups, for attributes with more than two. "
    "All intervals of an attribute hold simultaneously.",
    formula=r"\mathrm{Acc}_g - \mathrm{Acc}_h",
    interval="as of the accuracy difference, by Bonferroni",
    order=190,
    lowest=-1,
    highest=1,
    ideal=0,
    applies=lambda groups: len(groups.attribute.groups) > 2,
    compute=_rows,
)
