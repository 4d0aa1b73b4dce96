"""Comparison of the levels of any column by the mean scores of the same items."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd

from fairstats._lib.formatting import counted
from fairstats._lib.problems import InputError, Problem
from fairstats.comparisons.level_results import LEVEL_COLUMNS, LEVEL_PAIR_COLUMNS, LevelComparison
from fairstats.comparisons.scored_items import ScoredItems, scored_items
from fairstats.inference._checks import check_alpha, check_choice
from fairstats.inference.differences import difference_interval, mean_difference
from fairstats.inference.intervals import wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues


def compare_levels(
    scores: Any,
    column: str,
    *,
    item: str | Sequence[str] = "item_id",
    score: str = "correct",
    match: str | Sequence[str] = (),
    levels: Iterable[Any] | None = None,
    baseline: Any = None,
    limits: tuple[float, float] | None = None,
    adjust: AdjustMethod = "holm",
    simultaneous: bool = False,
    alpha: float = 0.05,
) -> LevelComparison:
    """Compare the levels of any column by their mean scores on the same items.

    With x_ia the mean of item i's scores at level a, the estimand for a pair of levels is the mean
    of x_ia − x_ib over the items. No benchmark needs to be declared.

    Parameters
    ----------
    scores : pandas or Polars DataFrame
        One row per score. Several rows of an item at a level (samples, groups) are averaged.
    column : str
        The column whose levels are compared, e.g. ``"prompt"``, ``"model"`` or ``"temperature"``.
    item : str or sequence of str
        The columns that identify an item. Items are independent; scores of one item are not.
    score : str
        The column of scores: right or wrong (True, False, 1, 0), grades, or any numbers. An answers
        table needs no ``correct``: it is computed from ``answer`` and ``answer_key``.
    match : str or sequence of str
        Columns in which two scores must agree to be compared, e.g. ``["attribute", "group"]`` if
        some levels were not asked all groups of an item.
    levels : iterable, optional
        The levels to compare, in order (default: all, in the order of the table).
    baseline : optional
        Compare all levels only with this one: level − baseline.
    limits : (float, float), optional
        The lowest and highest possible score, e.g. (1, 5). Known for right and wrong.
    adjust : {"holm", "hommel", "bh", "by"}
        How p-values are adjusted over the pairs; see `adjust_pvalues`.
    simultaneous : bool
        Whether all intervals of pairs hold at once: each then has level 1 − alpha / pairs.
    alpha : float
        1 − confidence level.

    Returns
    -------
    LevelComparison
        ``pairs`` and ``levels`` are data frames, ``summary()`` draws their intervals, and
        ``disagreements()`` lists the items whose scores differ. In ``pairs``, ``n`` is the number
        of items with a score at both levels; ``n10`` and ``n01`` are the items that only a, and
        only b, got right. ``lowest`` and ``highest`` bound the difference over all completions of
        missing scores; NaN if scores are missing and the limits unknown.

    Raises
    ------
    InputError
        For a column that does not exist, an empty level or item, a score that is not a number or
        outside the limits, an unknown level, fewer than two levels, or levels without a common
        item.
    ValueError
        For scores that are not a data frame, limits that are not two increasing numbers, or an
        invalid option.

    Notes
    -----
    If every item has one score of 0 or 1 at each level, intervals of pairs are Tango's and p-values
    are McNemar's (mid-p). In all other cases both are Student's t of the items' differences (see
    `mean_difference` for items that all have one difference). Means have Wilson's interval, the
    exact bootstrap of `bounded_mean_interval` if the limits are known, or Student's t.

    A missing score leaves its item out of the pair. If an answer can be missing because it was
    refused, this may flatter a level. Read ``lowest`` and ``highest``, or score such answers.

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908; Fagerland, Lydersen & Laake (2013), BMC Medical
    Research Methodology 13:91. Checked against evalstats 0.3.3 (tests/evalstats).

    Examples
    --------
    >>> scores = pd.DataFrame({"prompt": ["plain"] * 6 + ["cot"] * 6, "q": [*range(6)] * 2,
    ...                        "grade": [3, 2, 4, 1, 3, 2, 4, 4, 4, 3, 3, 4]})
    >>> found = compare_levels(scores, "prompt", item="q", score="grade", limits=(1, 5))
    >>> found.pairs[["level_a", "estimate", "ci_low", "ci_high"]].round(2).values.tolist()
    [['plain', -1.17, -2.2, -0.13]]
    >>> found.disagreements("plain", "cot", top=2)[["q", "plain", "cot"]].values.tolist()
    [[1.0, 2.0, 4.0], [3.0, 1.0, 3.0]]
    """
    alpha = check_alpha(alpha)
    check_choice("adjust", adjust, get_args(AdjustMethod))
    scored = scored_items(
        scores, column, item=item, score=score, match=match, levels=levels, limits=limits
    )
    if baseline is None:
        pairs = list(itertools.combinations(scored.levels, 2))
    else:
        baseline = str(baseline)
        check_choice("baseline", baseline, scored.levels)
        pairs = [(level, baseline) for level in scored.levels if level != baseline]
    differences = pd.DataFrame({pair: scored.differences(*pair) for pair in pairs})
    if differences.isna().all(axis=None):
        message = "the levels have no item in common"
        remedy = "give item=, the column of what all levels were scored on"
        raise InputError([Problem("<scores>", message, remedy, column=scored.item[0])])
    at = alpha / len(pairs) if simultaneous else alpha
    rows = [_pair_row(scored, pair, differences[pair], at) for pair in pairs]
    table = pd.DataFrame(rows)
    table["p_adjusted"] = adjust_pvalues(table["p_value"], method=adjust)
    table["adjust_method"] = f"{adjust} over {counted(len(pairs), 'pair')}"
    table = table.astype({"n10": "Int64", "n01": "Int64"})
    return LevelComparison(
        table[list(LEVEL_PAIR_COLUMNS)], _level_table(scored, alpha), column, score, scored
    )


def _pair_row(
    scored: ScoredItems, pair: tuple[str, str], differences: pd.Series, alpha: float
) -> dict[str, Any]:
    d = differences.dropna().to_numpy()
    lowest, highest = scored.bounds(*pair)
    row = {
        "level_a": pair[0],
        "level_b": pair[1],
        "ci_level": 1 - alpha,
        "lowest": lowest,
        "highest": highest,
        "n": len(d),
    }
    if scored.is_binary:
        n10, n01 = int((d > 0).sum()), int((d < 0).sum())
        # Tango's interval depends only on the discordant counts and n.
        limits = difference_interval(0, n10, n01, len(d) - n10 - n01, alpha=alpha)
        return row | {
            "estimate": (n10 - n01) / len(d) if len(d) else np.nan,
            "ci_low": float(limits.ci_low),
            "ci_high": float(limits.ci_high),
            "p_value": float(mcnemar(n10=n10, n01=n01).p_value),
            "n10": n10,
            "n01": n01,
            "method": "tango",
            "test": "mcnemar midp",
        }
    largest = np.inf if scored.limits is None else scored.limits[1] - scored.limits[0]
    found = mean_difference(d, largest=largest, alpha=alpha)
    return row | {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "p_value": found.p_value,
        "n10": None,
        "n01": None,
        "method": found.method,
        "test": found.test,
    }


def _level_table(scored: ScoredItems, alpha: float) -> pd.DataFrame:
    items, rows = scored.items(), []
    for level in scored.levels:
        values = items[level].dropna().to_numpy()
        row = {"level": level, "ci_level": 1 - alpha, "n": len(values)}
        row["n_missing"] = len(items) - len(values)
        if scored.limits is None:
            found: Any = mean_difference(values, alpha=alpha)
            low, high, method = found.ci_low, found.ci_high, found.method
        else:
            low, high, method = _bounded(values, scored, alpha)
        mean = float(values.mean()) if len(values) else np.nan
        rows.append(row | {"estimate": mean, "ci_low": low, "ci_high": high, "method": method})
    return pd.DataFrame(rows)[list(LEVEL_COLUMNS)]


def _bounded(values: Any, scored: ScoredItems, alpha: float) -> tuple[float, float, str]:
    assert scored.limits is not None
    least, most = scored.limits
    if scored.is_binary:
        limits = wilson(int(values.sum()), len(values), alpha=alpha)
        return float(limits.ci_low), float(limits.ci_high), "wilson"
    span = most - least
    found = bounded_mean_interval(np.clip((values - least) / span, 0, 1), alpha=alpha)
    low, high = float(found.ci_low), float(found.ci_high)
    return least + span * low, least + span * high, str(found.method)
