"""Verdicts on the changes of a model's metrics, from adjusted p-values."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import group_rows, text_array
from fairstats.estimates.extreme_completions import adjusted_within
from fairstats.inference.multiplicity import AdjustMethod

WIN_WIN = "win-win"
LOSE_LOSE = "lose-lose"
UNCLEAR = "unclear"

#: Direction in which a metric improves.
BETTER = {"delta_accuracy": 1, "delta_cfr": 1, "delta_ad": -1}
#: Columns that identify a pair of groups of one comparison.
COMPARED_PAIR = (
    "benchmark",
    "benchmark_version",
    "model_old",
    "model_new",
    "strategy",
    "attribute",
    "group_a",
    "group_b",
)
_PAIR = list(COMPARED_PAIR)


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
    keys = [table[name] for name in _PAIR]
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
