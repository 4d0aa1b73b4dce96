"""Rank the models of a benchmark, with the places that their answers leave possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks import Benchmark, MissingPolicy
from fairstats.folding import open_answers
from fairstats.inference._checks import check_alpha, check_choice, check_resampling
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.inference.ranks import rank_sets
from fairstats.item_counts import pooled_pairs
from fairstats.items import SUMS, item_sums, patterns_of
from fairstats.missing import CountingPolicy
from fairstats.model_differences import Figure, accuracy, ad, cfr, model_p_value

RankMetric = Literal["ad", "cfr", "accuracy"]
_FIGURES: dict[str, tuple[Figure, int]] = {
    "ad": (ad, -1),
    "cfr": (cfr, 1),
    "accuracy": (accuracy, 1),
}
_BOARD = ("benchmark", "benchmark_version", "strategy")
IntArray = npt.NDArray[np.int64]

#: The columns of the table that `rank_models` gives, in order.
RANK_COLUMNS = (
    *_BOARD,
    "model",
    "metric",
    "estimate",
    "rank",
    "rank_low",
    "rank_high",
    "tier",
    "ci_level",
    "adjust_method",
    "n",
    "missing",
    "method_note",
)


def rank_models(
    answers: Any,
    metric: RankMetric = "ad",
    *,
    missing: CountingPolicy | None = None,
    alpha: float = 0.05,
    adjust: AdjustMethod = "holm",
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Rank the models of each benchmark version and strategy, with confidence sets for the ranks.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers of all models.
    metric : {"ad", "cfr", "accuracy"}
        The figure that ranks, its mean over the declared demographic pairs: accuracy disparity
        (the smallest first), CFR or accuracy (the largest first).
    missing : {"available", "complete", "incorrect"}, optional
        The policy for missing answers; by default the benchmark's.
    alpha : float
        1 − the level at which all confidence sets of a board hold at once.
    adjust : {"holm", "hommel"}
        How the p-values of all comparisons of two models are adjusted over a board.
    n_resamples, rng
        For comparisons where an answer is missing, see `fairstats.model_differences`; at least
        100 resamples a comparison are drawn.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.

    Returns
    -------
    pandas.DataFrame
        One row a model of each board, best first, columns `RANK_COLUMNS`: ``rank``, the set from
        ``rank_low`` to ``rank_high`` of the places it can hold, and ``tier``, its tie group. A
        model that took part in selecting the items, or of which a figure is not known, has no
        rank; it stands last and is compared with none.

    Raises
    ------
    InputError
        As `count_outcomes`.
    ValueError
        For an unknown metric, the policy ``bounds``, or an `adjust` that does not control the
        probability of any false statement.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91:476-518.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            item_id="demo-01", attribute="race", answer_key="C")
    >>> table = pd.DataFrame([row | dict(model=m, group=g, answer=a)
    ...                       for m, letters in (("fair", "CC"), ("unfair", "CB"))
    ...                       for g, a in zip(("white", "black"), letters)])
    >>> ranks = rank_models(table)
    >>> ranks[["model", "rank", "rank_low", "rank_high", "tier"]].values.tolist()
    [['fair', 1, 1, 2, 1], ['unfair', 2, 1, 2, 1]]
    """
    check_choice("metric", metric, _FIGURES)
    check_resampling(n_resamples, rng)
    if adjust not in ("holm", "hommel"):
        raise ValueError(f"adjust={adjust!r} does not hold all ranks at once; use holm or hommel")
    alpha = check_alpha(alpha)
    frame, known = open_answers(answers, benchmarks)
    patterns = patterns_of(frame, known)
    boards = []
    for board, rows in patterns.groupby(list(_BOARD), sort=True):
        benchmark = known[str(board[0])]
        policy: MissingPolicy = missing or benchmark.missing
        if policy == "bounds":
            raise ValueError("missing='bounds' gives no figure to rank by; name another policy")
        arrays = _arrays(item_sums(rows, policy), benchmark)
        table = _ranked(arrays, benchmark, metric, alpha, adjust, n_resamples, rng)
        boards.append(
            table.assign(
                **dict(zip(_BOARD, board, strict=True)),
                metric=metric,
                ci_level=1 - alpha,
                missing=policy,
            )
        )
    return pd.concat(boards, ignore_index=True)[list(RANK_COLUMNS)]


def _arrays(sums: pd.DataFrame, benchmark: Benchmark) -> dict[str, IntArray]:
    """By model the sums of every item and pair, (items, pairs, 6), the items in one order."""
    pairs = [(attribute.name, a, b) for attribute, (a, b) in pooled_pairs(benchmark)]
    keys = pd.MultiIndex.from_frame(sums[["attribute", "group_a", "group_b"]])
    own = sums[keys.isin(pairs)]
    asked = [pair for pair in pairs if (keys == pair).any()]
    items = pd.Index(own["item_id"].unique()).sort_values()
    arrays = {}
    for model, rows in own.groupby("model", sort=True):
        array = np.zeros((len(items), len(asked), len(SUMS)), dtype=np.int64)
        of_rows = zip(rows["attribute"], rows["group_a"], rows["group_b"], strict=True)
        place = [asked.index(pair) for pair in of_rows]
        array[items.get_indexer(rows["item_id"]), place] = rows[list(SUMS)].to_numpy()
        arrays[str(model)] = array
    return arrays


def _ranked(
    arrays: Mapping[str, IntArray],
    benchmark: Benchmark,
    metric: str,
    alpha: float,
    adjust: AdjustMethod,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> pd.DataFrame:
    figure, sign = _FIGURES[metric]
    table = pd.DataFrame(
        {
            "model": list(arrays),
            "estimate": [float(figure(array.sum(axis=0))) for array in arrays.values()],
            "n": [int((array[..., 5].sum(axis=1) > 0).sum()) for array in arrays.values()],
        }
    )
    selected = table["model"].isin(list(benchmark.selected_on))
    table["method_note"] = np.where(selected, "model took part in selecting the items", "")
    ranked = ~selected & table["estimate"].notna()
    models = table.loc[ranked, "model"].tolist()
    k = len(models)
    pairs = list(combinations(range(k), 2))
    # What is random has to resolve the smallest p-value that the adjustment multiplies.
    resolved = max(n_resamples, 100 * len(pairs))
    p_values = [
        model_p_value(
            arrays[models[i]],
            arrays[models[j]],
            figure,
            sign_error=alpha / (100 * len(pairs)),
            n_resamples=resolved,
            rng=rng,
        )
        for i, j in pairs
    ]
    matrix = np.ones((k, k))
    for (i, j), p in zip(pairs, adjust_pvalues(p_values, method=adjust), strict=True):
        matrix[i, j] = matrix[j, i] = p
    found = rank_sets(sign * table.loc[ranked, "estimate"].to_numpy(), matrix, alpha=alpha)
    ranks = found.to_frame().set_axis(table.index[ranked]).astype("Int64")
    table = table.join(ranks)
    table["adjust_method"] = f"{adjust} over {len(pairs)} tests"
    # The best first; without a rank last.
    return table.sort_values(["rank", "model"], na_position="last", ignore_index=True)
