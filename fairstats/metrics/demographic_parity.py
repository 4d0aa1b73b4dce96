"""Demographic parity disparity, the range of accuracy over groups."""

from __future__ import annotations

from fairstats.metrics.group_range import differences_of, range_bounds, range_rows
from fairstats.metrics.metric import GroupsMetric

DP = GroupsMetric(
    name="dp",
    label="DP, demographic parity",
    definition="Range of accuracy over an attribute's groups, which some studies call demographic "
    "parity. With two groups it equals AD, so pages show AD alone.",
    formula=r"\max_g P(\text{right} \mid g) - \min_g P(\text{right} \mid g)",
    interval="largest of the limits of the pairs' differences, simultaneous by Bonferroni",
    order=220,
    lowest=0,
    highest=1,
    ideal=0,
    applies=lambda groups: True,
    compute=lambda groups: range_rows(groups, groups.once(differences_of)),
    bounds=lambda groups: range_bounds(groups, answerable=False),
)
