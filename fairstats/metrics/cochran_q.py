"""Cochran's Q: do any of an attribute's groups differ?"""

from __future__ import annotations

from fairstats.inference.mcnemar import cochran_q
from fairstats.metrics.metric import Groups, GroupsMetric, Row


def _row(groups: Groups) -> Row:
    if groups.effects:
        return {"method_note": "several samples per item: no test"}
    states, weights = groups.complete
    result = cochran_q(states, weights)
    return {
        "n": int(weights.sum()),
        "statistic": result.statistic,
        "p_value": result.p_value,
        "test": f"cochran_q, {result.df} df",
        "method_note": "over the items with an answer for every group; not adjusted",
    }


COCHRAN_Q = GroupsMetric(
    name="cochran_q",
    label="Cochran's Q",
    definition="Test of equal accuracy of more than two groups; not adjusted.",
    order=200,
    applies=lambda groups: len(groups.attribute.groups) > 2,
    compute=lambda groups: [_row(groups)],
)
