"""Items with two variants that leak to the most similar extent."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.vignettes.leakage.leakage_by_variant import leakage_of_variants
from fairstats.vignettes.measures import DISTRACTOR, KEY

# Smaller differences are rounding error.
_ROUNDING = 1e-12


def balanced_items(
    measures: pd.DataFrame,
    benchmark: Benchmark,
    *,
    measure: str = "leakage_overlap",
    share: float = 1 / 3,
) -> dict[tuple[str, str, str], pd.Index]:
    """Return the most balanced items of each declared pair, by attribute and the pair's groups.

    Parameters
    ----------
    measures : pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`.
    benchmark : Benchmark
        Declares the pairs.
    measure : str
        The measure of leakage.
    share : float
        The share of items that count as balanced.
    """
    own = leakage_of_variants(measures, [benchmark.name])
    own = own[own["measure"] == measure].set_index(["attribute", "group", "item_id"]).sort_index()
    leaks = {
        key: side.droplevel(["attribute", "group"])[[KEY, DISTRACTOR]]
        for key, side in own.groupby(level=["attribute", "group"])
    }
    # A group that was not measured has no items.
    nothing = own.iloc[:0].droplevel(["attribute", "group"])[[KEY, DISTRACTOR]]
    found = {}
    for attribute in benchmark.varied:
        for a, b in attribute.pairs:
            sides = [leaks.get((attribute.name, group), nothing) for group in (a, b)]
            found[attribute.name, a, b] = most_balanced((sides[0] - sides[1]).dropna(), share)[0]
    return found


def most_balanced(change: pd.DataFrame, share: float) -> tuple[pd.Index, str]:
    """Return the items with the most similar leakage in both variants, and a note on them."""
    if change.empty:
        return change.index, "no item has this measure for both groups"
    imbalance = change.abs().max(axis=1)
    limit = float(np.quantile(imbalance, share, method="inverted_cdf"))
    items = change.index[imbalance <= limit + _ROUNDING]
    note = f"{len(items)} of {len(change)} items, with an imbalance of at most {limit:.3g}"
    return items, note
