"""Rank the models of a benchmark, and test which of them differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import lcm
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.answers.engine_frames import open_pairs
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import MissingPolicy
from fairstats.comparisons.item_swaps import Figure, accuracy, ad, cfr
from fairstats.comparisons.paired_differences import model_p_value
from fairstats.comparisons.ranked_items import RankItems, rank_items
from fairstats.counts.by_item import SUMS, asked_patterns
from fairstats.counts.missing_policies import CountingPolicy, of_each_pattern
from fairstats.counts.outcomes import MISSING, PATTERNS
from fairstats.estimates.extreme_completions import completed_sums
from fairstats.estimates.missing_answer_bounds import pair_bounds
from fairstats.inference._checks import check_alpha, check_choice
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.inference.ranks import rank_sets

RankMetric = Literal["ad", "cfr", "accuracy"]
_FIGURES: dict[str, tuple[Figure, int]] = {
    "ad": (ad, -1),
    "cfr": (cfr, 1),
    "accuracy": (accuracy, 1),
}
_BOARD = ("benchmark", "benchmark_version", "strategy")
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

#: Columns of the table from `rank_models`, in order.
RANK_COLUMNS = (
    *_BOARD,
    "model",
    "metric",
    "estimate",
    "least_favourable",
    "rank",
    "rank_low",
    "rank_high",
    "may_be_best",
    "ci_level",
    "adjust_method",
    "n",
    "missing",
    "method_note",
)

#: Columns of the table from `rank_differences`, in order.
RANK_DIFFERENCE_COLUMNS = (
    *_BOARD,
    "metric",
    "model_a",
    "model_b",
    "difference",
    "bounds_low",
    "bounds_high",
    "p_value",
    "p_adjusted",
    "differ",
    "ci_level",
    "adjust_method",
    "n",
    "missing",
    "method_note",
)


@dataclass(frozen=True)
class Ranking:
    """The ranks of models, and the comparisons from which they follow.

    Attributes
    ----------
    ranks : pandas.DataFrame
        See `rank_models`.
    differences : pandas.DataFrame
        See `rank_differences`.
    """

    ranks: pd.DataFrame
    differences: pd.DataFrame


class RankOptions(TypedDict, total=False):
    """The options of `rank_boards`, shared by all functions of this module."""

    missing: CountingPolicy | None
    alpha: float
    adjust: AdjustMethod
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark]


def rank_models(
    answers: Any, metric: RankMetric = "ad", **options: Unpack[RankOptions]
) -> pd.DataFrame:
    r"""Rank the models of each benchmark version and strategy, with confidence sets for the ranks.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers of all models.
    metric : {"ad", "cfr", "accuracy"}
        The ranking metric, averaged over the declared demographic pairs: accuracy disparity
        (smallest first), CFR or accuracy (largest first).
    **options
        The keyword options that follow.
    missing : {"available", "complete", "incorrect"}, optional
        The policy used for ``estimate``; by default the benchmark's. Ranks and tests do not depend
        on it.
    alpha : float
        1 − the simultaneous confidence level of all confidence sets of a board.
    adjust : {"holm", "hommel"}
        How the p-values of all comparisons of two models are adjusted over a board.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        One row per model of each board, best first, with columns `RANK_COLUMNS`. ``estimate`` is
        the metric under the policy for missing answers. ``rank`` follows ``least_favourable``, the
        metric with every missing answer completed against the model. The model can have the ranks
        from ``rank_low`` to ``rank_high``; it ``may_be_best`` if that includes the first. ``n`` is
        the number of items that all ranked models were asked. A model that may not be ranked is
        last, without a rank, and `method_note` gives the reason.

    Raises
    ------
    InputError
        As `count_outcomes`; and if the ranked models of a board were asked too few items in
        common, see `fairstats.comparisons.ranked_items.rank_items`.
    ValueError
        For an unknown metric, the policy ``bounds``, or an `adjust` that does not control the
        probability of any false statement.

    Notes
    -----
    Let :math:`\theta_i` be the metric of model i over the items that any ranked model was asked,
    with every missing answer completed to the model's disadvantage: wrong and different for
    accuracy and CFR; for AD the completion of each pair with the largest :math:`|Acc_a - Acc_b|`.
    An item that a model was not asked counts as not answered. Models are ranked and tested by these
    values, so a model cannot gain by refusing answers or leaving out items. If no answer is missing
    they are the estimates.

    The best rank of a model is 1 + the number of models shown to be better. Its worst rank is the
    number of models minus those shown to be worse. A model's missing answers count against it for
    its best rank. For its worst rank, and for ``differ``, a comparison counts only if every
    completion of both models' missing answers agrees on which is better. If they do not agree, its
    adjusted p-value is 1.

    Every two models are tested by swapping their answers item by item, see
    `fairstats.comparisons.paired_differences.model_difference`. The distribution over all swaps is
    computed; nothing is drawn at random.

    The benchmark declares which models are ranked, see
    `fairstats.estimates.eligibility.why_unranked`. A model without a rank is not compared with
    other models. A board with one ranked model has no comparison.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91:476-518.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", answer_key="A")
    >>> table = pd.DataFrame([row | dict(model=m, item_id=f"i{i}", group=g, answer=a)
    ...                       for m, changed in (("fair", 1), ("unfair", 12)) for i in range(40)
    ...                       for g, a in (("white", "A"), ("black", "AB"[i < changed]))])
    >>> ranks = rank_models(table)
    >>> ranks[["model", "rank", "rank_low", "rank_high", "may_be_best"]].values.tolist()
    [['fair', 1, 1, 1, True], ['unfair', 2, 2, 2, False]]
    """
    return rank_boards(answers, metric, **options).ranks


def rank_differences(
    answers: Any, metric: RankMetric = "ad", **options: Unpack[RankOptions]
) -> pd.DataFrame:
    """Compare every two ranked models of each benchmark version and strategy.

    Parameters
    ----------
    answers, metric, **options
        As in `rank_models`.

    Returns
    -------
    pandas.DataFrame
        One row per pair of ranked models of a board, with columns `RANK_DIFFERENCE_COLUMNS`.
        ``model_a`` is the one with the better rank. ``difference`` is its estimate minus that of
        ``model_b``. ``bounds_low`` and ``bounds_high`` are the lowest and highest difference over
        all completions of the missing answers. The models ``differ`` if ``p_adjusted`` is at most 1
        − ``ci_level``.

    Raises
    ------
    InputError, ValueError
        As `rank_models`.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91:476-518.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", answer_key="A")
    >>> table = pd.DataFrame([row | dict(model=m, item_id=f"i{i}", group=g, answer=a)
    ...                       for m, changed in (("fair", 1), ("unfair", 12)) for i in range(40)
    ...                       for g, a in (("white", "A"), ("black", "AB"[i < changed]))])
    >>> pairs = rank_differences(table, "cfr")
    >>> pairs[["model_a", "model_b", "difference", "differ"]].round(3).values.tolist()
    [['fair', 'unfair', 0.275, True]]
    """
    return rank_boards(answers, metric, **options).differences


def rank_boards(
    answers: Any,
    metric: RankMetric = "ad",
    *,
    missing: CountingPolicy | None = None,
    alpha: float = 0.05,
    adjust: AdjustMethod = "holm",
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> Ranking:
    """Compare the models of each benchmark version and strategy in pairs, and rank them.

    Parameters
    ----------
    answers, metric, missing, alpha, adjust, benchmarks
        As in `rank_models`.

    Returns
    -------
    Ranking
        The tables of `rank_models` and `rank_differences`.

    Raises
    ------
    InputError, ValueError
        As `rank_models`.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91:476-518.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", answer_key="A", answer="A", model="m")
    >>> ranking = rank_boards(pd.DataFrame([row | dict(item_id=f"i{i}", group=g)
    ...                                     for i in range(40) for g in ("white", "black")]))
    >>> len(ranking.ranks), len(ranking.differences)
    (1, 0)
    """
    check_choice("metric", metric, _FIGURES)
    if adjust not in ("holm", "hommel"):
        raise ValueError(
            f"adjust={adjust!r} does not control all ranks at once; use holm or hommel"
        )
    alpha = check_alpha(alpha)
    opened = open_pairs(answers, benchmarks)
    known = opened.benchmarks
    boards: list[Ranking] = []
    patterns = asked_patterns(opened)
    for board, rows in patterns.groupby(list(_BOARD), sort=True):
        benchmark = known[str(board[0])]
        policy: MissingPolicy = missing or benchmark.missing
        if policy == "bounds":
            raise ValueError(
                "missing='bounds' gives no single estimate to rank by; choose another policy"
            )
        of_board = partial(rank_items, rows, benchmark, alpha=alpha)
        items = opened.once(("rank items", board, alpha), of_board)
        found = _ranked(items, metric, policy, alpha, adjust)
        facts = dict(zip(_BOARD, map(str, board), strict=True))
        facts |= {"metric": metric, "missing": policy}
        boards.append(
            Ranking(
                found.ranks.assign(**facts, ci_level=1 - alpha),
                found.differences.assign(**facts, ci_level=1 - alpha),
            )
        )
    return Ranking(
        pd.concat([one.ranks for one in boards], ignore_index=True)[list(RANK_COLUMNS)],
        _joined([one.differences for one in boards]),
    )


def no_ranking() -> Ranking:
    """Return the tables of a ranking without a board."""
    return Ranking(
        pd.DataFrame(columns=list(RANK_COLUMNS)),
        pd.DataFrame(columns=list(RANK_DIFFERENCE_COLUMNS)),
    )


def _joined(tables: list[pd.DataFrame]) -> pd.DataFrame:
    # An empty table has no types, and would remove those of the others.
    filled = [table for table in tables if len(table)]
    if not filled:
        return no_ranking().differences
    return pd.concat(filled, ignore_index=True)[list(RANK_DIFFERENCE_COLUMNS)]


def _ranked(
    items: RankItems,
    metric: str,
    policy: CountingPolicy,
    alpha: float,
    adjust: AdjustMethod,
) -> Ranking:
    figure, sign = _FIGURES[metric]
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
    matrix = _matrix(compared, "p_adjusted", len(models))
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


def _matrix(compared: pd.DataFrame, name: str, models: int) -> npt.NDArray[np.float64]:
    matrix = np.ones((models, models))
    for i, j, p in zip(compared["i"], compared["j"], compared[name], strict=True):
        matrix[i, j] = matrix[j, i] = p
    return matrix
