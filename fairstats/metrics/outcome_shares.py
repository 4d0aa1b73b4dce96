"""Shares of the four outcomes of a pair."""

from __future__ import annotations

from collections.abc import Mapping

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.metrics.accuracy import share_of_pairs
from fairstats.metrics.metric import PairMetric, Pairs, Patterns, Range


def _share(
    name: str, cell: str, order: int, label: str, answers: str, known: list[str], fill_in: list[str]
) -> PairMetric:
    """Build a share; `known` patterns have the outcome, and `fill_in` patterns can have it."""

    def compute(pairs: Pairs) -> Estimate:
        return share_of_pairs(pairs, getattr(pairs.paired, cell), pairs.effects[name])

    def influence(pair: Patterns) -> FloatArray:
        return pair.share(getattr(pair.one, cell), pair.one.n)

    def bounds(c: Mapping[str, FloatArray]) -> Range:
        low = sum(c[pattern] for pattern in known)
        return low / c["n"], (low + sum(c[pattern] for pattern in fill_in)) / c["n"]

    return PairMetric(
        name=name,
        label=label,
        definition=f"Share of the pairs with {answers} right.",
        formula=f"n_{{{cell[1:]}}} / n",
        interval="Wilson; if an item has several answers, room for rare items",
        order=order,
        lowest=0,
        highest=1,
        compute=compute,
        influence=influence,
        bounds=bounds,
    )


BOTH = _share(
    "both_correct",
    "n11",
    120,
    "Both right",
    "both answers",
    ["n11", "n11_different"],
    ["n1x", "nx1", "nxx"],
)
ONLY_A = _share(
    "only_a_correct",
    "n10",
    130,
    "Only {a} right",
    "only the answer of group a",
    ["n10"],
    ["n1x", "nx0", "nxx"],
)
ONLY_B = _share(
    "only_b_correct",
    "n01",
    140,
    "Only {b} right",
    "only the answer of group b",
    ["n01"],
    ["n0x", "nx1", "nxx"],
)
NEITHER = _share(
    "neither_correct",
    "n00",
    150,
    "Both wrong",
    "neither answer",
    ["n00_same", "n00_different"],
    ["n0x", "nx0", "nxx"],
)
