"""Interaction of two attributes: does the gap of one depend on the other?"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.item_bootstrap import signed_mean_interval
from fairstats.metrics.metric import SHARES, Columns, Groups, GroupsMetric, columns_of


def _rows(groups: Groups) -> Columns:
    attribute, keys = groups.attribute, groups.rows()
    place = {attribute.levels[group]: i for i, group in enumerate(attribute.groups)}
    first, second = (groups.benchmark.attributes[name] for name in attribute.crosses)
    rows = []
    for number, unit in enumerate(groups.units):
        unit_keys = {name: values[number] for name, values in keys.items() if np.ndim(values)}
        for (a, b), (c, d) in product(first.pairs, second.pairs):
            cells = [(a, c), (b, c), (a, d), (b, d)]
            if any(cell not in place for cell in cells):
                continue
            row: dict[str, Any] = unit_keys | {
                "attribute": attribute.name,
                "group_a": f"{a} - {b} | {c}",
                "group_b": f"{a} - {b} | {d}",
            }
            if why := groups.why_clustered(unit):
                rows.append(row | {"method_note": f"{why}not estimated"})
                continue
            states, weights = groups.complete(unit)
            values = states[:, [place[cell] for cell in cells]] @ np.array([1, -1, -1, 1])
            interval = signed_mean_interval(values, weights, largest=2, alpha=groups.alpha)
            test = sign_flip_test(values, weights)
            rows.append(
                row
                | {
                    "n": int(weights.sum()),
                    "method_note": "difference of two differences, over the items with all four "
                    "answers; not adjusted",
                    "estimate": float(interval.estimate),
                    "ci_low": float(interval.ci_low),
                    "ci_high": float(interval.ci_high),
                    "ci_level": 1 - groups.alpha,
                    "ci_method": str(interval.method),
                    "statistic": test.statistic,
                    "p_value": test.p_value,
                    "test": f"sign flips of items, {test.method}",
                }
            )
    return columns_of(rows)


INTERACTION = GroupsMetric(
    name="interaction",
    label="Interaction",
    definition="For an attribute that crosses two others, such as race and sex: how far the gap "
    "of one differs between the groups of the other.",
    formula=r"(\mathrm{Acc}_{ac} - \mathrm{Acc}_{bc}) - (\mathrm{Acc}_{ad} - \mathrm{Acc}_{bd})",
    interval="exact bootstrap over items, at least score limits if few differ",
    order=210,
    lowest=-2,
    highest=2,
    ideal=0,
    applies=lambda groups: bool(groups.attribute.crosses),
    kinds=SHARES,
    compute=_rows,
)
