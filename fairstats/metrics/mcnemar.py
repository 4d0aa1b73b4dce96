"""McNemar's test, and its extremes over all fill-ins of missing answers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from fairstats.counts.patterns import PATTERNS, IntArray, PolicyCounts, apply_policy
from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.metrics.metric import SHARES, Columns, PairMetric, Pairs, Range, flipped

Flippable = Literal["midp", "exact"]
#: The tests that exist for clustered answers, by flipping whole units.
FLIPPING: tuple[Flippable, ...] = ("midp", "exact")


def mcnemar_bounds(patterns: IntArray, *, method: McNemarMethod = "midp") -> Range:
    """Return the lowest and highest p-value of McNemar's test over all fill-ins.

    The p-value falls as the discordant counts move apart. It is lowest if every open pair becomes
    discordant in the same direction, and highest if the counts come closest to balance.
    """
    c = dict(zip(PATTERNS, np.moveaxis(patterns, -1, 0), strict=True))
    n10, n01 = c["n10"], c["n01"]
    more10, more01 = c["n1x"] + c["nx0"] + c["nxx"], c["n0x"] + c["nx1"] + c["nxx"]
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


def flip_tests(
    pairs: Pairs, paired: PolicyCounts, method: Flippable, differences: IntArray | None = None
) -> dict[str, Any]:
    """Test every pair by McNemar's test; pairs with clustered answers by sign flips of units.

    `differences` are of one pair of each pattern; by default n10 − n01 under the policy.
    """
    result = mcnemar(n10=paired.n10, n01=paired.n01, method=method)
    statistic, p_value = (
        np.array(column, dtype=np.float64) for column in (result.statistic, result.p_value)
    )
    tests = np.full(len(p_value), f"mcnemar {method}", dtype=object)
    for place, (cells, many) in pairs.outcomes.clusters.items():
        if pairs.outcomes.lopsided[place]:
            statistic[place] = p_value[place] = np.nan
            continue
        if differences is None:
            pooled = bool(pairs.outcomes.pooled[place])
            own = apply_policy(cells, pairs.missing, pooled=pooled)
            change = own.n10 - own.n01
        else:
            change = cells @ differences
        found = sign_flip_test(change, many, method=method)
        statistic[place], p_value[place] = found.statistic, found.p_value
        tests[place] = f"mcnemar {method}, {flipped(pairs.outcomes)}"
        if found.method != method:
            tests[place] += f" ({found.method})"
    return {"statistic": statistic, "p_value": p_value, "test": tests}


def mcnemar_of(pairs: Pairs) -> dict[Flippable, dict[str, Any]]:
    """Return both tests of every pair, for ``pairs.once``."""
    return {method: flip_tests(pairs, pairs.paired, method) for method in FLIPPING}


def _rows(pairs: Pairs) -> Columns:
    paired = pairs.paired
    estimate = np.where(paired.n > 0, (paired.n10 - paired.n01) / np.maximum(paired.n, 1), np.nan)
    rows = pairs.rows(paired=paired) | {"estimate": estimate, "n": paired.n}
    return stacked_rows([rows | own for own in pairs.once(mcnemar_of).values()])


def _rows_of_bounds(pairs: Pairs) -> Columns:
    # The range of the p-value is for independent pairs; clustered pairs have none.
    single = ~pairs.clustered
    patterns = pairs.outcomes.patterns[single]
    tables = []
    for method in FLIPPING:
        lowest, highest = mcnemar_bounds(patterns, method=method)
        notes = [f"highest p over all fill-ins; the lowest is {p:.4g}" for p in lowest]
        own = {
            "p_value": highest,
            "test": np.full(len(patterns), f"mcnemar {method}", dtype=object),
            "n": patterns.sum(axis=1),
            "n10": patterns[:, PATTERNS.index("n10")],
            "n01": patterns[:, PATTERNS.index("n01")],
            "method_note": np.array(notes, dtype=object),
        }
        tables.append({name: column[single] for name, column in pairs.rows().items()} | own)
    return stacked_rows(tables)


def stacked_rows(tables: list[dict[str, Any]]) -> Columns:
    """Return the rows of all tables, one table after the other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


MCNEMAR = PairMetric(
    name="mcnemar",
    label="McNemar",
    definition="McNemar's test of equal accuracy or selection, in two rows: mid-p, which the "
    "verdict uses, and exact. With several answers per item or cluster, whole items or clusters "
    "are flipped. The "
    "estimate is the difference over the pairs.",
    formula=r"(n_{10} - n_{01}) / n",
    order=100,
    lowest=-1,
    highest=1,
    ideal=0,
    kinds=SHARES,
    compute=_rows,
    bounds_rows=_rows_of_bounds,
)
