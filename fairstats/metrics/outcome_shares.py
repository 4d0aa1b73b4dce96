"""Shares of the four outcomes of a pair, and the difference in missing answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.patterns import PATTERNS, missing_flags
from fairstats.metrics.accuracy import accuracy_difference, share_of_pairs
from fairstats.metrics.metric import ANY, Columns, PairMetric, Pairs, Patterns, Range, in_clusters
from fairstats.metrics.pair_tests import flip_tests


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
        interval="Wilson; with several samples of an item, room for rare items",
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


#: Missing answers of group a minus those of group b, for one pair of each pattern.
_DIFFERENCES = np.array([(p[1] == "x") - int(p[2] == "x") for p in PATTERNS])


def _missing_rows(pairs: Pairs) -> Columns:
    """Test whether one group has more missing answers (McNemar's test on missing flags)."""
    flags = missing_flags(pairs.outcomes.patterns)
    every = np.ones(len(PATTERNS), dtype=bool)
    difference = accuracy_difference(
        flags,
        alpha=pairs.alpha,
        design_effect=pairs.effects["missing_difference"],
        units=np.where(pairs.outcomes.copies > 1, in_clusters(pairs.outcomes, every), np.inf),
    )
    tested = flip_tests(pairs, flags, "midp", _DIFFERENCES)
    note = "share of missing answers, a minus b; n10: only a missing"
    return pairs.rows(difference, flags) | tested | {"method_note": note}


MISSING_DIFFERENCE = PairMetric(
    name="missing_difference",
    label="Missing answers, difference",
    definition="Share of missing answers of group a minus that of group b, with McNemar's test on "
    "the missing flags.",
    interval="Tango; with several samples of an item, room as of the accuracy difference",
    order=180,
    lowest=-1,
    highest=1,
    ideal=0,
    kinds=ANY,
    compute=_missing_rows,
    influence=lambda pair: pair.share(_DIFFERENCES, np.ones(len(PATTERNS))),
    bounds_rows=_missing_rows,
)
