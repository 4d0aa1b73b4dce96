"""Changes of a model's metrics over all completions of the missing answers of both versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.comparisons.change_verdicts import BETTER
from fairstats.comparisons.item_swaps import Figure, accuracy, ad, cfr
from fairstats.comparisons.paired_differences import model_p_value
from fairstats.counts.outcomes import MISSING, PATTERNS
from fairstats.estimates.extreme_completions import completed_sums
from fairstats.estimates.missing_answer_bounds import pair_bounds
from fairstats.metrics.metric import Range

#: The compared metrics, each as a function of the sums of a model's items.
FIGURES: dict[str, Figure] = {"delta_accuracy": accuracy, "delta_cfr": cfr, "delta_ad": ad}
PAIR = ("attribute", "group_a", "group_b")
_INCOMPLETE = [place for place, pattern in enumerate(PATTERNS) if MISSING in pattern]
Row = dict[str, Any]


def change_ranges(
    counts: Mapping[str, pd.DataFrame],
    patterns: Mapping[str, pd.DataFrame],
    benchmark: Benchmark,
) -> pd.DataFrame:
    """Return the lowest and highest change of each metric over all completions of both models."""
    rows = []
    for pair in demographic_pairs(counts["old"], counts["new"], benchmark):
        asked = {
            side: rows_of_pair(table, pair)["item_id"].unique() for side, table in patterns.items()
        }
        whole = max(len(benchmark.answer_keys), len(np.union1d(asked["old"], asked["new"])))
        limits = []
        for side in ("old", "new"):
            own, items = rows_of_pair(counts[side], pair), len(asked[side])
            if items == 0:
                break
            more = (whole - items) * own[list(PATTERNS)].sum(axis=1) / items
            limits.append(_figure_ranges(pair_bounds(own.assign(nxx=own["nxx"] + more))))
        for metric in FIGURES:
            # If a model was not asked the pair at all, all values are possible.
            lowest, highest = -1.0, 1.0
            if len(limits) == 2:
                (old_low, old_high), (new_low, new_high) = (figures[metric] for figures in limits)
                lowest, highest = new_low - old_high, new_high - old_low
            rows.append(
                pair_values(pair) | {"metric": metric, "lowest": lowest, "highest": highest}
            )
    return pd.DataFrame(rows, columns=[*PAIR, "metric", "lowest", "highest"])


def bounds_rows(old: pd.DataFrame, new: pd.DataFrame, benchmark: Benchmark) -> list[Row]:
    """Return the rows of `compare` under the policy "bounds"."""
    rows = []
    for pair in demographic_pairs(old, new, benchmark):
        counts = [rows_of_pair(table, pair) for table in (old, new)]
        if any(own.empty for own in counts):
            continue
        one, other = (_figure_ranges(pair_bounds(own)) for own in counts)
        for metric in FIGURES:
            (old_low, old_high), (new_low, new_high) = one[metric], other[metric]
            old_value = old_low if old_low == old_high else np.nan
            new_value = new_low if new_low == new_high else np.nan
            rows.append(
                pair_values(pair)
                | {
                    "metric": metric,
                    "old": old_value,
                    "new": new_value,
                    "estimate": new_value - old_value,
                    "ci_low": new_low - old_high,
                    "ci_high": new_high - old_low,
                    "ci_method": "bounds",
                    "p_value": np.nan,
                    "test": None,
                    "n": int(counts[1][list(PATTERNS)].to_numpy().sum()),
                }
            )
    return rows


def worst_p_values(
    table: pd.DataFrame,
    crossed: Mapping[str, pd.DataFrame],
    benchmark: Benchmark,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> pd.Series:
    """Return the largest p-value of each pair's changes, with missing answers against them.

    The truth is one of the completions. If a change is not significant under the least favourable
    one, it may owe its significance to missing answers. NaN if no answer is missing, or if the
    pair's three metrics do not change in one direction.
    """
    found = pd.Series(np.nan, index=table.index)
    for pair, rows in table.groupby(list(PAIR), sort=False):
        turned = rows["estimate"] * rows["metric"].map(BETTER)
        if not ((turned > 0).all() or (turned < 0).all()):
            continue
        wins = bool((turned > 0).all())
        cells = _cells(crossed, pair, benchmark)
        if not any(side[..., _INCOMPLETE].any() for side in cells):
            continue
        p_values = []
        for metric, figure in FIGURES.items():
            name = metric.removeprefix("delta_")
            old, new = (
                completed_sums(side, name, favourable=favourable)
                for side, favourable in zip(cells, (wins, not wins), strict=True)
            )
            p_values.append(model_p_value(old, new, figure, n_resamples=n_resamples, rng=rng))
        found[rows.index] = max(p_values)
    return found


def _cells(
    crossed: Mapping[str, pd.DataFrame], pair: tuple[str, ...], benchmark: Benchmark
) -> list[npt.NDArray[np.int64]]:
    """Return both models' outcome patterns of every item, (items, 1, 10); missing if not asked."""
    sides = []
    for side in ("old", "new"):
        own = rows_of_pair(crossed[side], (pair[0], pair[1], pair[2]))
        sides.append(own.set_index("item_id")[list(PATTERNS)].astype("int64"))
    items = sides[0].index.union(sides[1].index)
    more = max(len(benchmark.answer_keys) - len(items), 0)
    found = []
    for own in sides:
        array = own.reindex(items, fill_value=0).to_numpy()
        array = np.vstack([array, np.zeros((more, len(PATTERNS)), dtype=np.int64)])
        array[array.sum(axis=1) == 0, PATTERNS.index("nxx")] = max(array.sum(axis=1).max(), 1)
        found.append(array[:, None])
    return found


def _figure_ranges(ranges: Mapping[str, Range]) -> dict[str, tuple[float, float]]:
    def limits(metric: str) -> tuple[float, float]:
        low, high = ranges[metric]
        return float(low[0]), float(high[0])

    (a_low, a_high), (b_low, b_high) = limits("accuracy_a"), limits("accuracy_b")
    return {
        "delta_accuracy": ((a_low + b_low) / 2, (a_high + b_high) / 2),
        "delta_cfr": limits("cfr"),
        "delta_ad": limits("ad"),
    }


def demographic_pairs(
    old: pd.DataFrame, new: pd.DataFrame, benchmark: Benchmark
) -> list[tuple[str, str, str]]:
    """Return the pairs that either model was asked, in the order of the benchmark."""
    there = {
        pair
        for table in (old, new)
        for pair in table[list(PAIR)].drop_duplicates().itertuples(index=False, name=None)
    }
    declared = [
        (attribute.name, a, b) for attribute in benchmark.varied for a, b in attribute.pairs
    ]
    return [pair for pair in declared if pair in there]


def rows_of_pair(table: pd.DataFrame, pair: tuple[str, str, str]) -> pd.DataFrame:
    """Return the rows of one pair of groups."""
    attribute, a, b = (table[name] == value for name, value in zip(PAIR, pair, strict=True))
    return table[attribute & a & b]


def pair_values(pair: tuple[str, str, str]) -> Row:
    """Return the columns that name a pair of groups."""
    return dict(zip(PAIR, pair, strict=True))
