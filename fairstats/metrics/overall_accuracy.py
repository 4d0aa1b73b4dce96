"""Accuracy over all groups of an attribute."""

from __future__ import annotations

import numpy as np

from fairstats._lib.result_objects import naming_effect
from fairstats.counts.outcomes import MISSING
from fairstats.inference.clustered_answers import design_effect
from fairstats.metrics.accuracy import accuracy
from fairstats.metrics.metric import Groups, GroupsMetric, Row


def _row(groups: Groups) -> Row:
    if groups.effects:
        return {"method_note": "several samples per item: not estimated"}
    signs = [str(text) for text in groups.pairs["outcomes"]]
    items = groups.pairs["n"].to_numpy(dtype=np.int64)
    if groups.missing == "complete":
        there = np.array([MISSING not in text for text in signs], dtype=bool)
        signs, items = [text for text in signs if MISSING not in text], items[there]
    wrong = "0" if groups.missing != "incorrect" else f"0{MISSING}"
    # An item's answers are a cluster, with these numbers of right and wrong ones.
    counted = [[sum(map(text.count, kind)) for text in signs] for kind in ("1", wrong)]
    clusters = np.array(counted, dtype=np.int64).T
    right, false = (int(number) for number in items @ clusters)
    n = right + false
    share = right / n if n else 0.0
    effect = design_effect(clusters, items, [1 - share, -share]) if n else 1.0
    found = accuracy(right, n, alpha=groups.alpha, design_effect=effect)
    row = {name: np.asarray(value).item() for name, value in found.to_row().items()}
    note = "items are the independent units"
    return row | {"ci_method": naming_effect(row["ci_method"], effect), "method_note": note}


def _bounds(groups: Groups) -> tuple[float, float]:
    signs, items = groups.pairs["outcomes"], groups.pairs["n"].to_numpy(dtype=np.float64)
    right, open_ = (float(items @ signs.str.count(sign)) for sign in ("1", MISSING))
    n = float(items @ signs.str.count(f"[10{MISSING}]"))
    return right / n, (right + open_) / n


OVERALL_ACCURACY = GroupsMetric(
    name="overall_accuracy",
    label="Accuracy, all groups",
    definition="Share of the answers for all of an attribute's groups that are right.",
    formula=r"\text{right answers} / \text{answers}",
    interval="Wilson, with items as clusters",
    order=185,
    lowest=0,
    highest=1,
    ideal=1,
    applies=lambda groups: True,
    compute=lambda groups: [_row(groups)],
    bounds=_bounds,
)
