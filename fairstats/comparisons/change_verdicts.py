"""Verdicts on the changes of a model's metrics, and their bounds over missing answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import group_rows, text_array
from fairstats.benchmarks.declaration import Benchmark
from fairstats.comparisons.model_differences import DIRECTION, FIGURES, IntArray, model_p_value
from fairstats.counts.outcomes import MISSING, PATTERNS
from fairstats.estimates.extreme_completions import adjusted_within, completed_sums
from fairstats.estimates.missing_answer_bounds import pair_bounds
from fairstats.inference.multiplicity import AdjustMethod
from fairstats.metrics.metric import Range

WIN_WIN = "win-win"
LOSE_LOSE = "lose-lose"
UNCLEAR = "unclear"

#: Direction in which a metric improves.
BETTER = {f"delta_{name}": sign for name, sign in DIRECTION.items()}
PAIR = ("attribute", "group_a", "group_b")
#: Columns that identify a pair of groups of one comparison.
COMPARED_PAIR = (
    "benchmark",
    "benchmark_version",
    "model_old",
    "model_new",
    "strategy",
    *PAIR,
)
_INCOMPLETE = [place for place, pattern in enumerate(PATTERNS) if MISSING in pattern]
Row = dict[str, Any]


def judge_changes(
    table: pd.DataFrame, *, alpha: float = 0.05, adjust: AdjustMethod = "holm"
) -> pd.DataFrame:
    """Adjust the p-values of changes over their family, and give each pair its verdict.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows from `fairstats.comparisons.compare.changes`, with a column ``family`` that names the
        rows to adjust together.
    alpha : float
        The level of the verdicts.
    adjust : {"holm", "hommel", "bh", "by"}
        The procedure.

    Returns
    -------
    pandas.DataFrame
        The table with ``p_adjusted`` (over the rows of the family), ``p_pair`` and
        ``p_pair_adjusted`` (over its pairs), ``p_worst_adjusted``, ``adjust_method``, ``verdict``
        and ``verdict_reason``. The last gives the reason if a verdict is withheld, and is missing
        if it is not.

    Notes
    -----
    A win-win pair rejects the hypothesis that at least one of three metrics did not improve. The
    p-value is the largest of the three (intersection-union test), which holds its level without a
    correction for the three. Holm's procedure then holds the level over the family.

    References
    ----------
    Berger (1982), Technometrics 24:295-300.
    """
    keys = [table[name] for name in COMPARED_PAIR]
    judged = table.assign(p_pair=table["p_value"].groupby(keys).transform("max"))
    # If one metric of a pair cannot be tested, a change in all three is not shown.
    untested = judged["p_value"].isna().groupby(keys).transform("any")
    judged.loc[untested, "p_pair"] = np.nan
    judged["p_worst"] = judged["p_worst"].fillna(judged["p_pair"])
    family = text_array(judged["family"])
    judged["p_adjusted"] = adjusted_within(family, judged["p_value"].to_numpy(), adjust)
    # The p-values of a pair are in each of its rows.
    pair, first = group_rows(map(text_array, keys))
    for column in ("p_pair", "p_worst"):
        p_values = judged[column].to_numpy()[first]
        judged[f"{column}_adjusted"] = adjusted_within(family[first], p_values, adjust)[pair]
    tests = Counter(family[judged["p_value"].notna()])
    pairs = Counter(family[first][judged["p_pair"].notna().to_numpy()[first]])
    judged["adjust_method"] = [
        f"{adjust} over {tests[name]} tests, pairs over {pairs[name]}: {name}" for name in family
    ]
    return _with_verdicts(judged, keys, alpha)


def _with_verdicts(judged: pd.DataFrame, keys: list[pd.Series], alpha: float) -> pd.DataFrame:
    up = judged["metric"].map(BETTER) > 0

    def all_of(condition: pd.Series) -> pd.Series:
        return condition.groupby(keys).transform("all")

    def turned(low: str, high: str) -> tuple[pd.Series, pd.Series]:
        """Return limits reoriented so that higher is better."""
        return (
            judged[low].where(up, -judged[high]),
            judged[high].where(up, -judged[low]),
        )

    worst, best = turned("ci_low", "ci_high")
    # A bootstrap interval is too narrow if few items changed, so the test has to agree.
    tested = judged["p_pair_adjusted"] <= alpha
    won, lost = (tested & all_of(side) for side in (worst > 0, best < 0))
    worst, best = turned("lowest", "highest")
    survives = all_of(worst > 0).where(won, all_of(best < 0))
    survives &= judged["p_worst_adjusted"] <= alpha
    better = judged["guessing_new"].where(won, judged["guessing_old"])
    reason = judged["no_verdict"].mask(
        judged["no_verdict"].eq("") & (won | lost) & ~survives,
        "missing answers of either model could change the verdict",
    )
    reason = reason.mask(
        reason.eq("") & (won | lost) & better.ne(""),
        "the better model is no better than a guess: " + better,
    )
    verdict = pd.Series(
        np.where(won, WIN_WIN, np.where(lost, LOSE_LOSE, UNCLEAR)), index=judged.index
    ).where(reason.eq(""), UNCLEAR)
    given = judged["judged"].astype(bool)
    return judged.assign(
        verdict=verdict.where(given),
        verdict_reason=reason.where(given & reason.ne("")).astype("str"),
    )


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
        for name in FIGURES:
            # If a model was not asked the pair at all, all values are possible.
            lowest, highest = -1.0, 1.0
            if len(limits) == 2:
                (old_low, old_high), (new_low, new_high) = (figures[name] for figures in limits)
                lowest, highest = new_low - old_high, new_high - old_low
            facts = {"metric": f"delta_{name}", "lowest": lowest, "highest": highest}
            rows.append(pair_values(pair) | facts)
    return pd.DataFrame(rows, columns=[*PAIR, "metric", "lowest", "highest"])


def bounds_rows(old: pd.DataFrame, new: pd.DataFrame, benchmark: Benchmark) -> list[Row]:
    """Return the rows of `compare` under the policy "bounds"."""
    rows = []
    for pair in demographic_pairs(old, new, benchmark):
        counts = [rows_of_pair(table, pair) for table in (old, new)]
        if any(own.empty for own in counts):
            continue
        one, other = (_figure_ranges(pair_bounds(own)) for own in counts)
        for name in FIGURES:
            (old_low, old_high), (new_low, new_high) = one[name], other[name]
            old_value = old_low if old_low == old_high else np.nan
            new_value = new_low if new_low == new_high else np.nan
            rows.append(
                pair_values(pair)
                | {
                    "metric": f"delta_{name}",
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
        for name, figure in FIGURES.items():
            old, new = (
                completed_sums(side, name, favourable=favourable)
                for side, favourable in zip(cells, (wins, not wins), strict=True)
            )
            p_values.append(model_p_value(old, new, figure, n_resamples=n_resamples, rng=rng))
        found[rows.index] = max(p_values)
    return found


def _cells(
    crossed: Mapping[str, pd.DataFrame], pair: tuple[str, ...], benchmark: Benchmark
) -> list[IntArray]:
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
        "accuracy": ((a_low + b_low) / 2, (a_high + b_high) / 2),
        "cfr": limits("cfr"),
        "ad": limits("ad"),
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
