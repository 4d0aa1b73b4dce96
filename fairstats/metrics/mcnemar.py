"""McNemar's test, and its extremes over all fill-ins of missing answers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import group_rows, row_keys, stacked, text_array
from fairstats.counts.missing_policies import PolicyCounts, apply_policy
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.metrics.metric import Columns, PairMetric, Pairs, Range

_TESTS: tuple[Literal["midp", "exact"], ...] = ("midp", "exact")


def mcnemar_bounds(counts: pd.DataFrame, *, method: McNemarMethod = "midp") -> Range:
    """Return the lowest and highest p-value of McNemar's test over all fill-ins.

    The p-value falls as the discordant counts move apart. It is lowest if every open pair becomes
    discordant in the same direction, and highest if the counts come closest to balance.
    """
    n10, n01 = counts["n10"].to_numpy(np.int64), counts["n01"].to_numpy(np.int64)
    more10 = (counts["n1x"] + counts["nx0"] + counts["nxx"]).to_numpy(np.int64)
    more01 = (counts["n0x"] + counts["nx1"] + counts["nxx"]).to_numpy(np.int64)
    lowest = np.minimum(
        mcnemar(n10=n10 + more10, n01=n01, method=method).p_value,
        mcnemar(n10=n10, n01=n01 + more01, method=method).p_value,
    )
    to_balance = n10 - n01
    highest = mcnemar(
        n10=n10 + np.clip(-to_balance, 0, more10),
        n01=n01 + np.clip(to_balance, 0, more01),
        method=method,
    ).p_value
    return lowest, highest


def with_flips(
    table: Columns, items: pd.DataFrame, kinds: PolicyCounts, test: Literal["midp", "exact"]
) -> dict[str, Any]:
    """Replace the test by sign flips of items for pairs with clustered answers.

    `items` has one row per kind of item, `Pairs.items`; `kinds` are the counts of each kind.
    """
    if items.empty:
        return {**table, "test": np.full(len(table["p_value"]), table["test"], dtype=object)}
    columns = {name: np.array(table[name], dtype=np.float64) for name in ("statistic", "p_value")}
    places = {key: place for place, key in enumerate(row_keys(table, PAIR_COLUMNS))}
    tests = np.full(len(places), table["test"], dtype=object)
    differences, many = kinds.n10 - kinds.n01, items["items"].to_numpy()
    groups, first = group_rows(text_array(items[name]) for name in PAIR_COLUMNS)
    for group, key in enumerate(row_keys(items.take(first), PAIR_COLUMNS)):
        place, rows = places[key], groups == group
        result = sign_flip_test(differences[rows], many[rows], method=test)
        columns["statistic"][place], columns["p_value"][place] = result.statistic, result.p_value
        tests[place] = f"mcnemar {test}, items flipped"
        if result.method != test:
            tests[place] += f" ({result.method})"
    return {**table, **columns, "test": tests}


def _rows(pairs: Pairs) -> Columns:
    paired, kinds = pairs.paired, apply_policy(pairs.items, pairs.missing)
    tables = []
    for method in _TESTS:
        result = mcnemar(n10=paired.n10, n01=paired.n01, method=method)
        n = np.maximum(paired.n, 1)
        table = pairs.rows(paired=paired) | {
            "estimate": np.where(paired.n > 0, (paired.n10 - paired.n01) / n, np.nan),
            "n": paired.n,
            "statistic": result.statistic,
            "p_value": result.p_value,
            "test": f"mcnemar {method}",
        }
        tables.append(with_flips(table, pairs.items, kinds, method))
    return stacked(tables)


def _rows_of_bounds(pairs: Pairs) -> Columns:
    # The range of the p-value is for independent pairs; clustered pairs have none.
    single = ~pairs.clustered
    counts = pairs.counts[single]
    tables = []
    for method in _TESTS:
        lowest, highest = mcnemar_bounds(counts, method=method)
        notes = [f"highest p over all fill-ins; the lowest is {p:.4g}" for p in lowest]
        own = {
            "p_value": highest,
            "test": np.full(len(counts), f"mcnemar {method}", dtype=object),
            "n": counts[list(PATTERNS)].sum(axis=1),
            "n10": counts["n10"],
            "n01": counts["n01"],
            "method_note": np.array(notes, dtype=object),
        }
        tables.append({name: column[single] for name, column in pairs.rows().items()} | own)
    return stacked(tables)


MCNEMAR = PairMetric(
    name="mcnemar",
    label="McNemar",
    definition="McNemar's test of equal accuracy, in two rows: mid-p, which the verdict uses, "
    "and exact. With several answers per item, whole items are flipped. The estimate is the "
    "difference over the pairs.",
    formula=r"(n_{10} - n_{01}) / n",
    order=100,
    lowest=-1,
    highest=1,
    ideal=0,
    compute=_rows,
    bounds_rows=_rows_of_bounds,
)
