"""Demographic parity disparity, the range of accuracy over groups."""

from __future__ import annotations

from fairstats.metrics.group_range import differences_of, disparity, disparity_row, range_of
from fairstats.metrics.group_range_bounds import disparity_bounds
from fairstats.metrics.metric import Groups, GroupsMetric, Row

demographic_parity = disparity(
    None,
    "Demographic parity disparity: max − min over groups of P(correct); AD for two groups.",
)


def _row(groups: Groups) -> Row:
    found = range_of(groups.once(differences_of), groups.effects)
    return disparity_row(found, groups)


DP = GroupsMetric(
    name="dp",
    label="DP, demographic parity",
    definition="Demographic parity disparity: range of accuracy over an attribute's groups. With "
    "two groups it equals AD, so pages show AD alone.",
    formula=r"\max_g P(\text{right} \mid g) - \min_g P(\text{right} \mid g)",
    interval="largest of the limits of the pairs' differences, simultaneous by Bonferroni",
    order=220,
    lowest=0,
    highest=1,
    ideal=0,
    applies=lambda groups: True,
    compute=lambda groups: [_row(groups)],
    bounds=lambda groups: disparity_bounds(groups.outcomes, answerable_only=False),
    together=differences_of.together,
)
