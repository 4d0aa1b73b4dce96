"""Verdicts on the changes of a model's metrics, and their bounds over missing answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.comparisons.model_differences import DIRECTION, FIGURES, model_p_values
from fairstats.counts.grid import Grid
from fairstats.counts.outcomes import item_patterns_of
from fairstats.counts.patterns import INCOMPLETE, PATTERNS, GroupAnswers, completed_sums
from fairstats.estimates.judgements import adjusted_within
from fairstats.estimates.tested_pairs import pair_bounds
from fairstats.inference.multiplicity import AdjustMethod

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
Row = dict[str, Any]
#: An attribute and two of its groups.
Pair = tuple[str, str, str]


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
    family = judged["family"].to_numpy(dtype=object)
    judged["p_adjusted"] = adjusted_within(family, judged["p_value"].to_numpy(), adjust)
    # The p-values of a pair are in each of its rows.
    pair = judged.groupby(keys, sort=False).ngroup().to_numpy()
    _, first = np.unique(pair, return_index=True)
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


@dataclass(frozen=True, eq=False)
class AnswerSet:
    """The answers of one model with one strategy: a grid, and its place among the answer sets."""

    grid: Grid
    place: int

    @property
    def unit(self) -> dict[str, str]:
        """Return `UNIT_COLUMNS` by name."""
        return {str(name): value for name, value in self.grid.units.iloc[self.place].items()}

    @cached_property
    def _patterns(self) -> dict[Pair, pd.DataFrame]:
        return {
            names: pd.DataFrame(cells, index=rows.items, columns=list(PATTERNS))
            for names, rows, cells in item_patterns_of(self.grid)
            if len(cells)
        }

    def patterns(self, pair: Pair) -> pd.DataFrame:
        """Return the outcome patterns of each item that was asked for a pair, by its name."""
        return self._patterns.get(pair, pd.DataFrame(columns=list(PATTERNS), dtype=np.int64))

    @cached_property
    def asked(self) -> set[tuple[str, str]]:
        """Return each attribute and item that was asked."""
        return {
            (attribute.name, item)
            for attribute in self.grid.benchmark.attributes.values()
            if attribute.pairs
            for item in GroupAnswers.of(self.grid, attribute).grid.items
        }


def demographic_pairs(old: AnswerSet, new: AnswerSet) -> list[Pair]:
    """Return the pairs that either model was asked, in the order of the benchmark."""
    declared = [
        (attribute.name, a, b)
        for attribute in old.grid.benchmark.varied
        for a, b in attribute.pairs
    ]
    return [pair for pair in declared if len(old.patterns(pair)) or len(new.patterns(pair))]


def pair_values(pair: Pair) -> Row:
    """Return the columns that name a pair of groups."""
    return dict(zip(PAIR, pair, strict=True))


def change_ranges(old: AnswerSet, new: AnswerSet, pairs: list[Pair]) -> pd.DataFrame:
    """Return the lowest and highest change of each metric over all completions of both models."""
    rows = []
    for pair in pairs:
        sides = [side.patterns(pair) for side in (old, new)]
        keys, asked = old.grid.benchmark.answer_keys, sides[0].index.union(sides[1].index)
        limits = []
        for own in sides:
            if len(own):
                totals = own.to_numpy().sum(axis=0).astype(float)
                more = (max(len(keys), len(asked)) - len(own)) * totals.sum() / len(own)
                totals[PATTERNS.index("nxx")] += more
                limits.append(_figure_ranges(totals))
        for name in FIGURES:
            # If a model was not asked the pair at all, all values are possible.
            lowest, highest = -1.0, 1.0
            if len(limits) == 2:
                (old_low, old_high), (new_low, new_high) = (figures[name] for figures in limits)
                lowest, highest = new_low - old_high, new_high - old_low
            facts = {"metric": f"delta_{name}", "lowest": lowest, "highest": highest}
            rows.append(pair_values(pair) | facts)
    return pd.DataFrame(rows, columns=[*PAIR, "metric", "lowest", "highest"])


def bounds_rows(old: AnswerSet, new: AnswerSet, pairs: list[Pair]) -> list[Row]:
    """Return the rows of `compare` under the policy "bounds"."""
    rows = []
    for pair in pairs:
        totals = [side.patterns(pair).to_numpy().sum(axis=0) for side in (old, new)]
        if not all(side.any() for side in totals):
            continue
        one, other = map(_figure_ranges, totals)
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
                    "n": int(totals[1].sum()),
                }
            )
    return rows


def worst_p_values(
    table: pd.DataFrame,
    old: AnswerSet,
    new: AnswerSet,
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
        cells = _cells(old, new, cast(Pair, pair))
        if not any(side[..., INCOMPLETE].any() for side in cells):
            continue
        p_values = []
        for name, figure in FIGURES.items():
            one, other = (
                completed_sums(side, name, favourable=favourable)
                for side, favourable in zip(cells, (wins, not wins), strict=True)
            )
            both = np.stack([one, other])
            p_values.append(model_p_values(both, figure, n_resamples=n_resamples, rng=rng)[0])
        found[rows.index] = max(p_values)
    return found


def _cells(old: AnswerSet, new: AnswerSet, pair: Pair) -> list[npt.NDArray[np.int64]]:
    """Return both models' outcome patterns of every item, (items, 1, 10); missing if not asked."""
    sides = [side.patterns(pair) for side in (old, new)]
    items = sides[0].index.union(sides[1].index)
    more = max(len(old.grid.benchmark.answer_keys) - len(items), 0)
    found = []
    for own in sides:
        array = own.reindex(items, fill_value=0).to_numpy(dtype=np.int64)
        array = np.vstack([array, np.zeros((more, len(PATTERNS)), dtype=np.int64)])
        array[array.sum(axis=1) == 0, PATTERNS.index("nxx")] = max(array.sum(axis=1).max(), 1)
        found.append(array[:, None])
    return found


def _figure_ranges(totals: npt.ArrayLike) -> dict[str, tuple[float, float]]:
    ranges = pair_bounds(totals)

    def limits(metric: str) -> tuple[float, float]:
        low, high = ranges[metric]
        return float(low), float(high)

    (a_low, a_high), (b_low, b_high) = limits("accuracy_a"), limits("accuracy_b")
    return {
        "accuracy": ((a_low + b_low) / 2, (a_high + b_high) / 2),
        "cfr": limits("cfr"),
        "ad": limits("ad"),
    }
