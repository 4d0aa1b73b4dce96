"""Cochran's Q: do any of an attribute's groups differ?"""

from __future__ import annotations

from typing import Any

from fairstats.inference.mcnemar import cochran_q
from fairstats.metrics.metric import SHARES, Columns, Groups, GroupsMetric, columns_of


def _rows(groups: Groups) -> Columns:
    rows: list[dict[str, Any]] = []
    for unit in groups.units:
        if why := groups.why_clustered(unit):
            rows.append({"method_note": f"{why}no test"})
            continue
        states, weights = groups.complete(unit)
        result = cochran_q(states, weights)
        rows.append(
            {
                "n": int(weights.sum()),
                "statistic": result.statistic,
                "p_value": result.p_value,
                "test": f"cochran_q, {result.df} df",
                "method_note": "over the items with an answer for every group; not adjusted",
            }
        )
    return {**groups.rows(), **columns_of(rows)}


COCHRAN_Q = GroupsMetric(
    name="cochran_q",
    label="Cochran's Q",
    definition="Test of equal accuracy, or selection rates, of more than two groups; not adjusted.",
    order=200,
    applies=lambda groups: len(groups.attribute.groups) > 2,
    kinds=SHARES,
    compute=_rows,
)
