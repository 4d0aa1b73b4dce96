"""Rank the models of a benchmark, and test which of them differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, TypedDict, Unpack

import pandas as pd

from fairstats.answers.engine_frames import open_pairs
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.comparisons.board_ranks import FIGURES, Ranking, rank_board
from fairstats.comparisons.ranked_items import rank_items
from fairstats.counts.item_outcomes import asked_patterns
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.inference._checks import check_alpha, check_choice
from fairstats.inference.multiplicity import AdjustMethod

RankMetric = Literal["ad", "cfr", "accuracy"]
_BOARD = ("benchmark", "benchmark_version", "strategy")

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
    check_choice("metric", metric, FIGURES)
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
        found = rank_board(items, metric, policy, alpha, adjust)
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
