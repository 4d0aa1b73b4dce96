"""Disparity on answerable items (EO).

An item is answerable for a model that answers its neutralized variant correctly. This conditions on
the model's own answer, not on the true label, so it is not the equal opportunity of Hardt, Price
and Srebro (2016).
"""

from __future__ import annotations

import numpy as np

from fairstats.benchmarks.declaration import BASELINE
from fairstats.metrics.group_range import compare_groups, range_bounds, range_rows
from fairstats.metrics.metric import Columns, Groups, GroupsMetric


def _rows(groups: Groups) -> Columns:
    rows = range_rows(groups, compare_groups(groups, answerable=True))
    note = rows["method_note"]
    note += "; P(correct | the model's neutral answer is correct), not Hardt's equal opportunity"
    several = groups.answers.neutral_copies[groups.units] > 1
    counts = f"{note}; n counts each pair of answers once per right neutral answer"
    return rows | {"method_note": np.where(several, counts, note)}


EO = GroupsMetric(
    name="eo",
    label="EO, gap on answerable items",
    definition="As DP, over the items whose neutralized variant the model answers correctly; only "
    "if the benchmark has a baseline. Not the equal opportunity of Hardt et al., which conditions "
    "on the true label.",
    formula=r"\max_g P(\text{right} \mid g, \text{answerable}) "
    r"- \min_g P(\text{right} \mid g, \text{answerable})",
    interval="as of DP",
    order=230,
    lowest=0,
    highest=1,
    ideal=0,
    besides="neutralized",
    applies=lambda groups: BASELINE in groups.benchmark.attributes,
    compute=_rows,
    bounds=lambda groups: range_bounds(groups, answerable=True),
)
