"""In which direction do levels or scores move between two groups?

With several samples, limits have room for rare items that move in all of them
(`fairstats.inference.verdict.with_room`), unless items have clusters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fairstats.inference.clustered_answers import flip_test
from fairstats.inference.unit_means import unit_means
from fairstats.metrics.mean_difference import stacked
from fairstats.metrics.metric import NUMERIC, Columns, NumberMetric, Numbers, flipped, roomy
from fairstats.metrics.sign_flip import values_of


def _share(numbers: Numbers, sign: str, tested: npt.ArrayLike = np.nan) -> dict[str, Any]:
    limits = (-1.0 if sign == "net" else 0.0, 1.0)
    tables = [
        (s.up - s.down if sign == "net" else getattr(s, sign), s.pairs.astype(np.int64), s.many)
        for s in numbers.sums
    ]
    found = stacked(unit_means(tables, limits=limits, alpha=numbers.alpha), numbers.alpha)
    # Small chance moves in several samples hide that rare items could move in all of them.
    several = numbers.outcomes.copies > 1
    room = several & (numbers.outcomes.benchmark.cluster is None) | numbers.outcomes.lopsided
    units = np.where(room, numbers.units, np.inf)
    found = roomy(found, units, limits, numbers.alpha, tested=tested)
    n = np.array([sums.n for sums in numbers.sums], dtype=np.int64)
    return numbers.rows(replace(found, n=n)) | numbers.moves


def _net(numbers: Numbers) -> Columns:
    """Add the exact sign test; whole units are flipped."""
    tests = [flip_test(s.up - s.down, s.many, method="exact") for s in numbers.sums]
    values = values_of(tests, numbers)
    tested = np.where(values["p_value"] <= numbers.alpha, 0.0, np.nan)
    return _share(numbers, "net", tested) | {
        **values,
        "test": np.array(
            [f"sign test, {flipped(numbers.outcomes)} ({one.method})" for one in tests],
            dtype=object,
        ),
        "method_note": "n10: group a higher; n01: group b higher; not adjusted",
    }


MOVED_UP = NumberMetric(
    name="moved_up",
    label="{a} higher",
    definition="Share of the pairs in which group a has the higher level or score.",
    formula=r"P(y_a > y_b)",
    interval="t over the independent units, CR2",
    order=50.1,
    lowest=0,
    highest=1,
    kinds=NUMERIC,
    compute=lambda numbers: _share(numbers, "up"),
)
MOVED_DOWN = replace(
    MOVED_UP,
    name="moved_down",
    label="{b} higher",
    definition="Share of the pairs in which group b has the higher level or score.",
    formula=r"P(y_a < y_b)",
    order=50.2,
    compute=lambda numbers: _share(numbers, "down"),
)
NET_MOVED = replace(
    MOVED_UP,
    name="net_moved",
    label="Net share, {a} higher",
    definition="Share of the pairs with group a higher minus the share with group b higher, with "
    "an exact sign test that flips whole units.",
    formula=r"P(y_a > y_b) - P(y_a < y_b)",
    order=50.3,
    lowest=-1,
    ideal=0,
    compute=_net,
)
