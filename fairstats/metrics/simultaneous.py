"""Accuracy differences of all pairs of an attribute's groups, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Iterator

from fairstats._lib.result_objects import naming_effect
from fairstats.metrics.group_range import differences_of
from fairstats.metrics.metric import Groups, GroupsMetric, Row


def _rows(groups: Groups) -> Iterator[Row]:
    found = groups.once(differences_of)
    names = list(groups.attribute.groups)
    for (a, b), row in zip(
        found.pairs, found.estimate.to_estimates().to_dict("records"), strict=True
    ):
        method = naming_effect(row["ci_method"], groups.effects.get((a, b), 1.0))
        yield row | {
            "group_a": names[a],
            "group_b": names[b],
            "ci_level": 1 - groups.alpha,
            "ci_method": f"{method}, Bonferroni over {len(found.pairs)} pairs",
            "method_note": "all intervals of the attribute hold at once",
        }


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
