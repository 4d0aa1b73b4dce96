"""Rank the models of one board, and compare every two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import lcm

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.comparisons.item_swaps import Figure, accuracy, ad, cfr
from fairstats.comparisons.paired_differences import model_p_value
from fairstats.comparisons.ranked_items import RankItems
from fairstats.counts.item_outcomes import SUMS
from fairstats.counts.missing_policies import CountingPolicy, of_each_pattern
from fairstats.counts.outcomes import MISSING, PATTERNS
from fairstats.estimates.extreme_completions import completed_sums
from fairstats.estimates.missing_answer_bounds import pair_bounds
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues, rank_sets

#: Each ranking metric, and 1 if its largest value is the best, -1 if its smallest is.
FIGURES: dict[str, tuple[Figure, int]] = {
    "ad": (ad, -1),
    "cfr": (cfr, 1),
    "accuracy": (accuracy, 1),
}
_INCOMPLETE = [i for i, pattern in enumerate(PATTERNS) if MISSING in pattern]
IntArray = npt.NDArray[np.int64]
# Concatenating an empty table loses these types.
_RANK_TYPES = {
    **dict.fromkeys(("model", "method_note"), "str"),
    **dict.fromkeys(("estimate", "least_favourable"), "float64"),
    **dict.fromkeys(("rank", "rank_low", "rank_high"), "Int64"),
    "may_be_best": "bool",
    "n": "int64",
}
_TEXTS = ("model_a", "model_b", "method_note")


@dataclass(frozen=True)
class Ranking:
    """The ranks of models, and the comparisons from which they follow.

    Attributes
    ----------
    ranks : pandas.DataFrame
        See `fairstats.rank_models`.
    differences : pandas.DataFrame
        See `fairstats.rank_differences`.
    """

    ranks: pd.DataFrame
    differences: pd.DataFrame


def rank_board(
    items: RankItems,
    metric: str,
    policy: CountingPolicy,
    alpha: float,
    adjust: AdjustMethod,
) -> Ranking:
    """Return the ranks of a board's models, and all comparisons, as in `fairstats.rank_models`."""
    figure, sign = FIGURES[metric]
    values = _sums_of_patterns(policy)
    estimates = {
        model: float(figure(array[items.common].sum(axis=0) @ values))
        for model, array in items.patterns.items()
    }
    models = [model for model, estimate in estimates.items() if not np.isnan(estimate)]
    completed = {
        model: completed_sums(items.patterns[model], metric, favourable=False) for model in models
    }
    least = np.array([float(figure(completed[model].sum(axis=0))) for model in models])
    pairs = list(combinations(range(len(models)), 2))
    method = f"{adjust} over {len(pairs)} tests"
    # After completion, all models have equally many answers to an item, so nothing is drawn at
    # random.
    p_values = [
        model_p_value(*_same_samples(completed[models[i]], completed[models[j]]), figure)
        for i, j in pairs
    ]
    adjusted = adjust_pvalues(p_values, method=adjust)
    bounds = [_bounds(items.patterns[model], metric) for model in models]
    compared = pd.DataFrame(pairs, columns=["i", "j"], dtype="int64").assign(
        p_value=p_values, p_adjusted=adjusted
    )
    open_ = [not _agrees(bounds[i], bounds[j]) for i, j in pairs]
    compared["certain"] = compared["p_adjusted"].mask(np.array(open_, dtype=bool), 1.0)
    # A model's missing answers count only against itself. A rival must not be able to widen a
    # model's range by leaving out answers.
    matrix = _matrix(compared, len(models))
    possible = rank_sets(sign * least, matrix, alpha=alpha)
    n = int(items.common.sum())
    ranks = pd.DataFrame(
        {
            "model": models,
            "estimate": [estimates[model] for model in models],
            "least_favourable": least,
            "rank": possible.rank,
            "rank_low": possible.rank_low,
            "rank_high": possible.rank_high,
            "may_be_best": possible.rank_low == 1,
            "n": n,
            "method_note": [
                "; ".join(filter(None, (items.notes[m], _missing_note(items.patterns[m]))))
                for m in models
            ],
        }
    )
    ranks = pd.concat([ranks, _without_rank(items, estimates, figure, values)], ignore_index=True)
    ranks = ranks.astype(_RANK_TYPES)
    ranks["adjust_method"] = method
    ranks = ranks.sort_values(["rank", "model"], na_position="last", ignore_index=True)
    found = _differences(compared, open_, models, ranks, bounds, alpha)
    return Ranking(ranks, found.assign(adjust_method=method, n=n))


def _without_rank(
    items: RankItems, estimates: Mapping[str, float], figure: Figure, values: IntArray
) -> pd.DataFrame:
    """Return the models listed last, each with its metric on its items and the reason."""
    reasons = dict(items.reasons)
    arrays = dict(items.unranked)
    for model, estimate in estimates.items():
        if np.isnan(estimate):
            reasons[model] = "there are no answers for a group"
            arrays[model] = items.patterns[model][items.common]
    rows = [
        {
            "model": model,
            # Without a pair there is no estimate.
            "estimate": float(figure(array.sum(axis=0) @ values)) if array.shape[1] else np.nan,
            "least_favourable": np.nan,
            "may_be_best": False,
            "n": int(((array @ values)[..., 5].sum(axis=1) > 0).sum()),
            "method_note": reasons[model],
        }
        for model, array in arrays.items()
    ]
    columns = ["model", "estimate", "least_favourable", "may_be_best", "n", "method_note"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(rank=pd.NA, rank_low=pd.NA, rank_high=pd.NA)


def _differences(
    compared: pd.DataFrame,
    open_: list[bool],
    models: list[str],
    ranks: pd.DataFrame,
    bounds: list[tuple[float, float]],
    alpha: float,
) -> pd.DataFrame:
    """Return one row per pair, with the better-ranked model first."""
    place = {model: number for number, model in enumerate(ranks["model"])}
    own = ranks.set_index("model")
    rows = []
    for row, is_open in zip(compared.itertuples(index=False), open_, strict=True):
        a, b = sorted((int(row.i), int(row.j)), key=lambda i: place[models[i]])
        first, second = own.loc[models[a]], own.loc[models[b]]
        note = "which of the two is better depends on missing answers" if is_open else ""
        differ = row.certain <= alpha and first["least_favourable"] != second["least_favourable"]
        rows.append(
            {
                "model_a": models[a],
                "model_b": models[b],
                "difference": first["estimate"] - second["estimate"],
                "bounds_low": bounds[a][0] - bounds[b][1],
                "bounds_high": bounds[a][1] - bounds[b][0],
                "p_value": row.p_value,
                "p_adjusted": row.certain,
                "differ": bool(differ),
                "method_note": note,
                "order": (place[models[a]], place[models[b]]),
            }
        )
    table = pd.DataFrame(sorted(rows, key=lambda row: row["order"]))
    if table.empty:
        return table
    return table.drop(columns="order").astype(dict.fromkeys(_TEXTS, "str"))


def _sums_of_patterns(policy: CountingPolicy) -> IntArray:
    """Return the contribution of one answer of each pattern to `SUMS`, (10, 6)."""
    one = of_each_pattern(policy)
    return np.column_stack([getattr(one, name) for name in SUMS]).astype(np.int64)


def _bounds(patterns: IntArray, metric: str) -> tuple[float, float]:
    """Return the lowest and highest metric over all completions of the missing answers."""
    ranges = pair_bounds(pd.DataFrame(patterns.sum(axis=0), columns=list(PATTERNS)))
    names = ("accuracy_a", "accuracy_b") if metric == "accuracy" else (metric,)
    low, high = (np.mean([ranges[name][side] for name in names]) for side in (0, 1))
    return float(low), float(high)


def _agrees(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether every completion gives the same order of two models."""
    if one[0] == one[1] and other[0] == other[1]:
        return True
    return one[1] < other[0] or other[1] < one[0]


def _same_samples(one: IntArray, other: IntArray) -> tuple[IntArray, IntArray]:
    """Rescale the sums of two models to equal numbers of samples, with unchanged metrics."""
    samples = [int(array[..., 5].max(initial=1)) for array in (one, other)]
    whole = lcm(*samples)
    return one * (whole // samples[0]), other * (whole // samples[1])


def _missing_note(patterns: IntArray) -> str:
    if not patterns[..., _INCOMPLETE].any():
        return ""
    return "missing answers count against the model"


def _matrix(compared: pd.DataFrame, models: int) -> npt.NDArray[np.float64]:
    matrix = np.ones((models, models))
    for i, j, p in zip(compared["i"], compared["j"], compared["p_adjusted"], strict=True):
        matrix[i, j] = matrix[j, i] = p
    return matrix
