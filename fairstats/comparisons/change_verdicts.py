"""Verdicts on the changes of a model's metrics, and their bounds over missing answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.formatting import over_tests
from fairstats._lib.problems import InputError, Problem
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.comparisons.item_tallies import (
    TALLIES,
    all_missing,
    by_unit,
    completed_sums,
    lacking_pairs,
    ranges_of,
    tallies_of,
)
from fairstats.comparisons.model_differences import (
    DIRECTION,
    Figure,
    accuracy,
    ad,
    cfr,
    figures_of,
    model_p_values,
    signed,
)
from fairstats.counts.grid import Grid
from fairstats.counts.outcomes import groups_of
from fairstats.counts.patterns import GroupAnswers
from fairstats.counts.settings import Settings
from fairstats.estimates.judgements import adjusted_within
from fairstats.inference.multiplicity import AdjustMethod

WIN_WIN = "win-win"
LOSE_LOSE = "lose-lose"
UNCLEAR = "unclear"

#: Direction in which a metric improves; other metrics are in no verdict.
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
_N = TALLIES.index("n")
Row = dict[str, Any]
#: An attribute and two of its groups.
Pair = tuple[str, str, str]


def judge_changes(
    table: pd.DataFrame, *, alpha: float = 0.05, adjust: AdjustMethod = "holm"
) -> pd.DataFrame:
    """Adjust the p-values of changes over their family, and give each pair its verdict.

    The rows of the table are those of `fairstats.comparisons.compare.changes_of`, with a column
    ``family`` that names those to adjust together.

    Returns
    -------
    pandas.DataFrame
        The table with ``p_adjusted`` (over the rows of the family), ``p_pair`` and
        ``p_pair_adjusted`` (over its pairs), ``p_worst_adjusted``, ``adjust_method``, ``verdict``
        and ``verdict_reason``. The last gives the reason if a verdict is withheld, and is missing
        if not.

    Notes
    -----
    A win-win pair rejects the hypothesis that at least one of its metrics did not improve: accuracy
    (of choices), CFR and the difference between the groups. The p-value is the largest of theirs
    (intersection-union test), which holds its level without a correction for their number. Holm's
    procedure then holds the level over the family.

    References
    ----------
    Berger (1982), Technometrics 24:295-300.
    """
    keys = [table[name] for name in COMPARED_PAIR]
    directed = table["metric"].isin(BETTER)
    p_values = table["p_value"].where(directed)
    judged = table.assign(p_pair=p_values.groupby(keys).transform("max"))
    # If one metric of a pair cannot be tested, a change in all of them is not shown.
    untested = (p_values.isna() & directed).groupby(keys).transform("any")
    judged.loc[untested, "p_pair"] = np.nan
    # Completed against a small change, the answers can show the opposite one with a smaller p.
    judged["p_change"] = judged[["p_value", "p_worst"]].max(axis=1)
    p_worst = judged["p_change"].where(directed).groupby(keys).transform("max")
    judged["p_worst"] = p_worst.mask(untested)
    family = judged["family"].to_numpy(dtype=object)
    for name, column in (("p_adjusted", "p_value"), ("p_change_adjusted", "p_change")):
        judged[name] = adjusted_within(family, judged[column].to_numpy(), adjust)
    # The p-values of a pair are in each of its rows.
    pair = judged.groupby(keys, sort=False).ngroup().to_numpy()
    _, first = np.unique(pair, return_index=True)
    for column in ("p_pair", "p_worst"):
        p_values = judged[column].to_numpy()[first]
        judged[f"{column}_adjusted"] = adjusted_within(family[first], p_values, adjust)[pair]
    tests = Counter(family[judged["p_value"].notna()])
    pairs = Counter(family[first][judged["p_pair"].notna().to_numpy()[first]])
    judged["adjust_method"] = [
        f"{over_tests(adjust, tests[name])}, pairs over {pairs[name]}: {name}" for name in family
    ]
    return _with_verdicts(judged, keys, alpha)


def _with_verdicts(judged: pd.DataFrame, keys: list[pd.Series], alpha: float) -> pd.DataFrame:
    up, directed = judged["metric"].map(BETTER) > 0, judged["metric"].isin(BETTER)

    def all_of(condition: pd.Series) -> pd.Series:
        return (condition | ~directed).groupby(keys).transform("all")

    def turned(low: str, high: str) -> pd.Series:
        """Return a limit reoriented so that higher is better."""
        return judged[low].where(up, -judged[high])

    # Tests decide, not intervals: those leave signs open that a completion can settle.
    tested, change = judged["p_pair_adjusted"] <= alpha, turned("estimate", "estimate")
    won, lost = (tested & all_of(side) for side in (change > 0, change < 0))
    # A figure that changes alone must survive too.
    moved = directed & (judged["p_adjusted"] <= alpha)
    rises, falls = moved & (change > 0), moved & (change <= 0)
    worst, best = turned("lowest", "highest"), turned("highest", "lowest")
    survives = all_of(worst > 0).where(won, all_of(best < 0))
    survives &= judged["p_worst_adjusted"] <= alpha
    kept = (worst > 0).where(rises, best < 0) & (judged["p_change_adjusted"] <= alpha)
    survives = survives.where(won | lost, all_of(~moved | kept))
    guesses = pd.Series("", index=judged.index)
    for side, wins in (("old", falls | lost), ("new", rises | won)):
        why = judged[f"guessing_{side}"]
        there = wins.groupby(keys).transform("any") & why.ne("")
        guesses = guesses.mask(there, f"{side} answers: " + why)
    reason = judged["no_verdict"].mask(
        judged["no_verdict"].eq("") & ~survives,
        "missing answers of either model could change the verdict",
    )
    reason = reason.mask(reason.eq(""), guesses)
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

    @property
    def benchmark(self) -> Benchmark:
        """Return the benchmark."""
        return self.grid.benchmark

    @property
    def settings(self) -> Settings:
        """Return how the answers were made."""
        found: Settings = self.grid.settings[self.place]
        return found

    @cached_property
    def groups(self) -> dict[str, GroupAnswers]:
        """Return the answers of each attribute that was asked."""
        return groups_of(self.grid)

    def tallies(self, pair: Pair, steps: int) -> pd.DataFrame:
        """Return the `TALLIES` of each item that was asked for a pair, by its name."""
        found, per_item = self._rows(pair, steps)
        if per_item == 1:
            return found
        # The groups of a crossed attribute give an item several rows. Those not asked are missing.
        whole = per_item * found["n"].max()
        found = found.groupby(level=0).sum()
        return found + all_missing(whole - found["n"].to_numpy())

    def answered(self, pair: Pair) -> pd.Index:
        """Return the items with an answer to every variant of a pair, in at least one sample."""
        found, per_item = self._rows(pair, 1)
        answered = (found["both"] > 0).groupby(level=0).sum()
        return answered.index[answered == per_item]

    def _rows(self, pair: Pair, steps: int) -> tuple[pd.DataFrame, int]:
        """Return the `TALLIES` of each row, and the number of rows of a whole item."""
        attribute, *groups = pair
        own = self.groups.get(attribute)
        if own is None:
            return pd.DataFrame(columns=list(TALLIES), dtype=np.int64), 1
        table = tallies_of(own, (groups[0], groups[1]), steps)
        return pd.DataFrame(table, index=own.grid.items, columns=list(TALLIES)), own.per_item

    @cached_property
    def units(self) -> dict[str, str]:
        """Return the independent unit of each item: its cluster, or itself."""
        return self.grid.unit_of_item

    @cached_property
    def asked(self) -> set[tuple[str, str]]:
        """Return each attribute and item that was asked."""
        return {
            (name, item)
            for name, own in self.groups.items()
            if own.attribute.pairs
            for item in own.grid.items
        }


def answer_set(by_benchmark: Mapping[str, Grid], side: str) -> AnswerSet:
    """Return the only answer set of a table; refuse several."""
    grids = list(by_benchmark.values())
    units = pd.concat([own.units for own in grids], ignore_index=True)
    if len(units) > 1:
        message = "each side must be one model, strategy, benchmark and version"
        one = "give the answers to one of them only, such as one folder or file"
        raise InputError(
            [
                Problem(
                    f"<{side}>",
                    message,
                    one if column == "benchmark" else "filter the answers, or choose one version",
                    column=column,
                    value=", ".join(units[column].drop_duplicates().sort_values()[:5]),
                )
                for column in UNIT_COLUMNS
                if units[column].nunique() > 1
            ]
        )
    return AnswerSet(grids[0], 0)


@dataclass(frozen=True, eq=False)
class Compared:
    """Two answer sets to the same benchmark.

    `steps` are those of the scale on which all answers lie.
    """

    old: AnswerSet
    new: AnswerSet
    steps: int

    @property
    def benchmark(self) -> Benchmark:
        """Return the benchmark."""
        return self.old.benchmark

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Return the figures that are compared, by the names of their changes."""
        return {f"delta_{name}": one for name, one in figures_of(self.benchmark.kind).items()}

    def shown(self, figure: Figure, share: float) -> float:
        """Return a figure in its unit, from the share of the scale that it is."""
        low = self.benchmark.limits[0] if figure is accuracy and self.benchmark.kind.numeric else 0
        return low + self.span_of(figure) * share

    def span_of(self, figure: Figure) -> float:
        """Return the unit of a figure's changes: CFR is a share for all kinds of answers."""
        return 1.0 if figure is cfr else self.benchmark.span

    @cached_property
    def sides(self) -> dict[Pair, tuple[pd.DataFrame, pd.DataFrame]]:
        """Return both models' tallies of each pair that either was asked, by equal weights."""
        found = {}
        for attribute in self.benchmark.varied:
            for groups in attribute.pairs:
                pair = (attribute.name, *groups)
                old, new = (one.tallies(pair, self.steps) for one in (self.old, self.new))
                # An item with more samples has more pairs of answers. Its swap would move other
                # weights into each model, and the test would lose power.
                n, n_new = (int(own["n"].max()) if len(own) else 1 for own in (old, new))
                whole = math.lcm(n, n_new)
                if len(old) or len(new):
                    found[pair] = (old * (whole // n), new * (whole // n_new))
        return found

    def units_of(self, items: pd.Index) -> npt.NDArray[np.str_]:
        """Return the independent unit of each item."""
        known = {**self.benchmark.clusters, **self.new.units, **self.old.units}
        return np.array([known.get(item, item) for item in items], dtype=str)


def pair_values(pair: Pair) -> Row:
    """Return the columns that name a pair of groups."""
    return dict(zip(PAIR, pair, strict=True))


def change_ranges(compared: Compared) -> pd.DataFrame:
    """Return the lowest and highest change of each metric over all completions of both models."""
    rows = []
    for pair, sides in compared.sides.items():
        listed, asked = compared.benchmark.items, sides[0].index.union(sides[1].index)
        limits = []
        for own in sides:
            if len(own):
                totals = own.to_numpy().sum(axis=0).astype(float)
                more = (max(len(listed), len(asked)) - len(own)) * totals[_N] / len(own)
                limits.append(_figure_ranges(totals + more * all_missing(1)))
        for name, figure in compared.figures.items():
            # If a model was not asked the pair at all, all values are possible.
            lowest, highest = (-2.0, 2.0) if figure is signed else (-1.0, 1.0)
            if len(limits) == 2:
                (old_low, old_high), (new_low, new_high) = (own[figure] for own in limits)
                lowest, highest = new_low - old_high, new_high - old_low
            span = compared.span_of(figure)
            facts = {"metric": name, "lowest": span * lowest, "highest": span * highest}
            rows.append(pair_values(pair) | facts)
    return pd.DataFrame(rows, columns=[*PAIR, "metric", "lowest", "highest"])


def bounds_rows(compared: Compared) -> list[Row]:
    """Return the rows of `compare` under the policy "bounds"."""
    rows = []
    for pair, sides in compared.sides.items():
        totals = [side.to_numpy().sum(axis=0) for side in sides]
        if not all(side.any() for side in totals):
            continue
        one, other = map(_figure_ranges, totals)
        for name, figure in compared.figures.items():
            (old_low, old_high), (new_low, new_high) = (
                [compared.shown(figure, share) for share in side[figure]] for side in (one, other)
            )
            old_value = old_low if old_low == old_high else np.nan
            new_value = new_low if new_low == new_high else np.nan
            rows.append(
                pair_values(pair)
                | {
                    "metric": name,
                    "old": old_value,
                    "new": new_value,
                    "estimate": new_value - old_value,
                    "ci_low": new_low - old_high,
                    "ci_high": new_high - old_low,
                    "ci_method": "bounds",
                    "p_value": np.nan,
                    "test": None,
                    "n": len(sides[1]),
                }
            )
    return rows


def worst_p_values(
    table: pd.DataFrame, compared: Compared, n_resamples: int, rng: np.random.Generator | int
) -> pd.Series:
    """Return the p-value of each change with missing answers completed against it.

    The truth is one of the completions. If a change is not significant under the least favourable
    one, it may owe its significance to missing answers. NaN if no answer is missing, or if nothing
    changes.
    """
    found = pd.Series(np.nan, index=table.index)
    directed = table[table["metric"].isin(BETTER)]
    for pair, rows in directed.groupby(list(PAIR), sort=False):
        turned = rows["estimate"] * rows["metric"].map(BETTER)
        sides, units = _whole(compared, cast(Pair, pair))
        if not any(lacking_pairs(side).any() for side in sides):
            continue
        for row, change in turned[turned != 0].dropna().items():
            figure, wins = compared.figures[str(rows.loc[row, "metric"])], change > 0
            completed = [
                by_unit(completed_sums(side, figure, favourable=favourable), units)
                for side, favourable in zip(sides, (wins, not wins), strict=True)
            ]
            p = model_p_values(
                np.stack(completed),
                figure,
                n_resamples=n_resamples,
                rng=rng,
                few_units=compared.benchmark.few_units,
            )
            found[row] = p[0]
    return found


def _whole(
    compared: Compared, pair: Pair
) -> tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.str_]]:
    """Return both models' tallies of every item, (items, 1, 9), and the items' units.

    An item that was not asked has missing answers only.
    """
    sides, listed = compared.sides[pair], compared.benchmark.items
    asked = sides[0].index.union(sides[1].index)
    unasked = [item for item in listed if item not in asked][: max(len(listed) - len(asked), 0)]
    items, found = asked.append(pd.Index(unasked, dtype=object)), []
    for own in sides:
        array = own.reindex(items, fill_value=0).to_numpy(dtype=np.int64, copy=True)
        array[array[:, _N] == 0] = all_missing(max(array[:, _N].max(initial=0), compared.steps))
        found.append(array[:, None])
    return found, compared.units_of(items)


def _figure_ranges(totals: npt.NDArray[Any]) -> dict[Figure, tuple[float, float]]:
    ranges = {name: (float(low), float(high)) for name, (low, high) in ranges_of(totals).items()}
    (a_low, a_high), (b_low, b_high) = ranges["rate_a"], ranges["rate_b"]
    return {
        accuracy: ((a_low + b_low) / 2, (a_high + b_high) / 2),
        cfr: ranges["cfr"],
        ad: ranges["ad"],
        signed: ranges["signed"],
    }
