"""Rank the models of a benchmark, and test which of them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from fairstats._lib.formatting import over_tests
from fairstats._lib.problems import ArgumentError
from fairstats._lib.result_objects import FloatArray
from fairstats.answers.engine_frames import open_pairs
from fairstats.answers.strategies import VOTED, votes_among
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.comparisons.item_tallies import (
    TALLIES,
    by_unit,
    lacking_pairs,
    ranges_of,
    sums_of,
)
from fairstats.comparisons.model_differences import (
    DIRECTION,
    Figure,
    IntArray,
    accuracy,
    cfr,
    figures_of,
    model_p_values,
)
from fairstats.comparisons.ranked_items import RankItems, completed_items, rank_items
from fairstats.counts.grid import item_grid
from fairstats.counts.outcomes import outcomes_of
from fairstats.counts.patterns import CountingPolicy
from fairstats.estimates.eligibility import ALONE
from fairstats.inference._checks import check_alpha, check_choice
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues, rank_sets

_BOARD = ("benchmark", "benchmark_version", "strategy")
_N = TALLIES.index("n")
# Concatenating an empty table loses these types.
_RANK_TYPES = {
    **dict.fromkeys(("model", "adjust_method", "uninformative", "method_note"), "str"),
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
    "uninformative",
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
    answers: Any, metric: str | None = None, **options: Unpack[RankOptions]
) -> pd.DataFrame:
    r"""Rank the models of each benchmark version and strategy, with confidence sets for the ranks.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers of all models.
    metric : str, optional
        The ranking metric, averaged over the declared demographic pairs. The default is the
        absolute difference between groups, smallest first: ``"ad"`` (accuracy disparity) for
        choices, ``"selection_disparity"``, ``"level_disparity"`` or ``"score_disparity"`` for other
        kinds of answers. ``"cfr"`` and, for choices, ``"accuracy"`` have the largest first.
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
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        One row per model of each board, best first, with columns `RANK_COLUMNS`. ``estimate`` is
        the metric under the policy for missing answers. ``rank`` follows ``least_favourable``, the
        metric with every missing answer completed against the model. The model can have the ranks
        from ``rank_low`` to ``rank_high``; it ``may_be_best`` if that includes the first. ``n`` is
        the number of items that it was asked. A model that may not be ranked is
        last, without a rank, and `method_note` gives the reason. That of a ranked model has the
        cautions of `fairstats.estimates.cautions`. ``uninformative`` is why the answers say nothing
        about fairness, see `fairstats.estimates.eligibility.why_uninformative`.

    Raises
    ------
    InputError
        As `count_outcomes`; and if the ranked models of a board were asked too few items in
        common, see `fairstats.comparisons.ranking.rank_items`.
    ValueError
        For a metric that the kind of answers does not have, the policy ``bounds``, or an `adjust`
        that does not control the probability of any false statement.

    Notes
    -----
    Let :math:`\theta_i` be the metric of model i over the items that any ranked model was asked,
    with every missing answer completed to the model's disadvantage: wrong and different for
    accuracy and CFR; for AD the completion of each pair with the largest :math:`|Acc_a - Acc_b|`.
    Levels and scores are completed to the ends of their scale.
    An item that a model was not asked counts as not answered. Models are ranked and tested by these
    values, so a model cannot gain by refusing answers or leaving out items. If no answer is missing
    they are the estimates. Of several samples, the first ones are used, as many as every item has;
    whether they were chosen among others does not show.

    The best rank of a model is 1 + the number of models shown to be better. Its worst rank is the
    number of models minus those shown to be worse. A model's missing answers count against it
    alone, also where this shows another model to be better. For ``differ``, a comparison counts
    only if every completion of both models' missing answers agrees on which is better. If they do
    not agree, its adjusted p-value is 1.

    Every two models are tested by swapping their answers item by item, or cluster by cluster if the
    benchmark declares clusters, see `fairstats.comparisons.model_differences.model_difference`. The
    distribution over all swaps is computed; nothing is drawn at random.

    The ranges of many models are wide because all of them hold at once. A step-down adjustment over
    the joint distribution of all comparisons would hardly narrow them: by 3% with 200 models
    (benchmarks/rank_ranges.py).

    The benchmark declares which models are ranked, see
    `fairstats.estimates.eligibility.why_unranked`. A model without a rank is not compared with
    other models. A rank needs at least two models that may be ranked: a single one, e.g. under a
    strategy's name that nobody else uses, has none.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91:476-518.

    Examples
    --------
    >>> from fairstats import example_answers
    >>> models = ["Claude-4-Sonnet", "Gemini-2.5-Flash", "GPT-5-Mini"]
    >>> answers = example_answers().query("attribute == 'race' and strategy == 'plain'")
    >>> ranks = rank_models(answers[answers["model"].isin(models)])
    >>> ranks[["model", "estimate", "rank", "rank_low", "rank_high", "may_be_best"]].round(3)
                  model  estimate  rank  rank_low  rank_high  may_be_best
    0        GPT-5-Mini     0.054     1         1          1         True
    1   Claude-4-Sonnet     0.104     2         2          3        False
    2  Gemini-2.5-Flash     0.134     3         2          3        False
    """
    return rank_boards(answers, metric, **options).ranks


def rank_differences(
    answers: Any, metric: str | None = None, **options: Unpack[RankOptions]
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
        − ``ci_level``. ``method_note`` has the notes on either's rank, see `rank_models`.

    Raises
    ------
    InputError, ValueError
        As `rank_models`.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91:476-518.

    Examples
    --------
    >>> from fairstats import example_answers
    >>> models = ["Claude-4-Sonnet", "Gemini-2.5-Flash", "GPT-5-Mini"]
    >>> answers = example_answers().query("attribute == 'race' and strategy == 'plain'")
    >>> pairs = rank_differences(answers[answers["model"].isin(models)])
    >>> pairs[["model_a", "model_b", "difference", "p_adjusted", "differ"]].round(3)
               model_a           model_b  difference  p_adjusted  differ
    0       GPT-5-Mini   Claude-4-Sonnet       -0.05       0.000    True
    1       GPT-5-Mini  Gemini-2.5-Flash       -0.08       0.000    True
    2  Claude-4-Sonnet  Gemini-2.5-Flash       -0.03       0.056   False
    """
    return rank_boards(answers, metric, **options).differences


def rank_boards(
    answers: Any,
    metric: str | None = None,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    adjust: AdjustMethod = "holm",
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> Ranking:
    """Compare the models of each benchmark version and strategy in pairs, and rank them.

    The tables are those of `rank_models` and `rank_differences`.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", answer_key="A", answer="A", model="m")
    >>> ranking = rank_boards(pd.DataFrame([row | dict(item_id=f"i{i}", group=g)
    ...                                     for i in range(40) for g in ("white", "black")]))
    >>> len(ranking.ranks), len(ranking.differences)
    (1, 0)
    """
    if adjust not in ("holm", "hommel"):
        said = f"={adjust!r} does not control all ranks at once; use holm or hommel"
        raise ArgumentError("adjust", said)
    alpha = check_alpha(alpha)
    opened = open_pairs(answers, benchmarks)
    boards: list[Ranking] = []
    for _, outcomes in sorted(outcomes_of(opened).items()):
        kind = outcomes.benchmark.kind
        figure = kind.disparity if metric is None else metric
        ranked_by = [name for name in reversed(figures_of(kind)) if name in DIRECTION]
        check_choice("metric", figure, ranked_by)
        policy: MissingPolicy = missing or outcomes.benchmark.missing
        if policy == "bounds":
            said = "='bounds' gives no single estimate to rank by; choose another policy"
            raise ArgumentError("missing", said)
        own = outcomes.grid.units
        for board, units in sorted(own.groupby(list(_BOARD)).indices.items()):
            of_board = partial(
                rank_items, item_grid(opened, outcomes.benchmark), outcomes, units, alpha=alpha
            )
            items = opened.once(("rank items", board, alpha), of_board)
            boards.append(_ranked(items, board, figure, policy, alpha, adjust))
    return Ranking(
        pd.concat([one.ranks for one in boards], ignore_index=True)[list(RANK_COLUMNS)],
        _joined([one.differences for one in boards]),
    )


def _ranked(
    items: RankItems,
    board: tuple[str, ...],
    metric: str,
    policy: CountingPolicy,
    alpha: float,
    adjust: AdjustMethod,
) -> Ranking:
    """Rank the models of a board, and name the board in the tables."""
    found = rank_board(items, metric, policy, alpha, adjust)
    facts = dict(zip(_BOARD, board, strict=True))
    facts |= {"metric": metric, "missing": policy}
    ranks = found.ranks
    if votes_among([facts["strategy"]]):
        notes = [f"{VOTED}; {note}" if note else VOTED for note in ranks["method_note"]]
        ranks = ranks.assign(method_note=notes)
    return Ranking(
        ranks.assign(**facts, ci_level=1 - alpha),
        found.differences.assign(**facts, ci_level=1 - alpha),
    )


def rank_ranges(ranks: pd.DataFrame) -> list[str]:
    """Return each model's range of ranks, e.g. ``"2–3"``; empty without a rank."""
    return [
        "" if pd.isna(low) else f"{low}" if low == high else f"{low}–{high}"
        for low, high in ranks[["rank_low", "rank_high"]].astype("Int64").itertuples(index=False)
    ]


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
    figure = figures_of(items.benchmark.kind)[metric]
    unit = 1.0 if figure is cfr else items.benchmark.span

    def estimate_of(tallies: IntArray) -> float:
        return unit * float(figure(sums_of(tallies.sum(axis=0), policy, items.benchmark)))

    estimates, totals, notes, samples = {}, {}, {}, {}
    for model in items.models:
        # Those of all models would fill the memory.
        tallies = items.tallies(model)
        samples[model] = int(tallies[..., _N].max(initial=1))
        estimates[model] = estimate_of(tallies[items.asked[model]])
        totals[model] = tallies.sum(axis=0)
        lacking = "missing answers count against the model" * bool(lacking_pairs(tallies).any())
        notes[model] = "; ".join(filter(None, (items.notes[model], lacking)))
        del tallies
    models = [model for model, estimate in estimates.items() if not np.isnan(estimate)]
    # A single model is the first of one, whatever its answers are.
    models = models if len(models) > 1 else []
    pairs = len(totals[models[0]]) if models else 0
    completed = completed_items(items, pairs, {model: samples[model] for model in models}, figure)
    least = np.array([float(figure(sums.sum(axis=0))) for sums in completed])
    first, second = np.triu_indices(len(models), 1)
    if len(items.clusters):
        completed = np.array([by_unit(sums, items.clusters) for sums in completed])
    # After completion, all models have equally many answers to an item, so nothing is drawn at
    # random.
    p_values = model_p_values(completed, figure, few_units=items.benchmark.few_units)
    adjusted = adjust_pvalues(p_values, method=adjust)
    # A model's missing answers count only against itself. A rival must not be able to widen a
    # model's range by leaving out answers.
    matrix = np.ones((len(models), len(models)))
    matrix[first, second] = matrix[second, first] = adjusted
    possible = rank_sets(DIRECTION[metric] * least, matrix, alpha=alpha)
    facts = {"adjust_method": over_tests(adjust, len(p_values)) if len(p_values) else None}
    n = {model: int(asked.sum()) for model, asked in items.asked.items()}
    common = int(np.all([*items.asked.values()], axis=0).sum()) if models else 0
    ranks = pd.DataFrame(
        {
            "model": models,
            "estimate": [estimates[model] for model in models],
            "least_favourable": unit * least,
            "rank": possible.rank,
            "rank_low": possible.rank_low,
            "rank_high": possible.rank_high,
            "may_be_best": possible.rank_low == 1,
            "n": [n[model] for model in models],
            "method_note": [notes[model] for model in models],
        }
    )
    unranked = _without_rank(items, estimates, estimate_of, policy)
    ranks = pd.concat([ranks, unranked], ignore_index=True)
    uninformative = ranks["model"].map(items.uninformative)
    ranks = ranks.assign(**facts, uninformative=uninformative).astype(_RANK_TYPES)
    ranks = ranks.sort_values(["rank", "model"], na_position="last", ignore_index=True)

    place = pd.Index(ranks["model"]).get_indexer(models)
    turned = place[first] > place[second]
    a, b = np.where(turned, second, first), np.where(turned, first, second)
    low, high = _bounds([totals[model] for model in models], figure)
    fixed = low == high
    # Every completion gives the same order of the two models.
    certain = (fixed[a] & fixed[b]) | (high[a] < low[b]) | (high[b] < low[a])
    names, own = np.array(models, dtype=object), np.array([estimates[model] for model in models])
    open_order = np.where(certain, "", "which of the two is better depends on missing answers")
    noted = [f"{m}: {items.notes[m]}" if items.notes[m] else "" for m in models]
    differences = pd.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "difference": own[a] - own[b],
            "bounds_low": unit * (low[a] - high[b]),
            "bounds_high": unit * (high[a] - low[b]),
            "p_value": p_values,
            "p_adjusted": np.where(certain, adjusted, 1.0),
            "method_note": [
                "; ".join(filter(None, (note, noted[one], noted[other])))
                for note, one, other in zip(open_order, a, b, strict=True)
            ],
            "n": common,
        }
    ).astype(dict.fromkeys(_TEXTS, "str"))
    differences["differ"] = differences["p_adjusted"].le(alpha) & (least[a] != least[b])
    order = np.lexsort((place[b], place[a]))
    return Ranking(ranks, differences.iloc[order].assign(**facts))


def _without_rank(
    items: RankItems,
    estimates: Mapping[str, float],
    estimate_of: Callable[[IntArray], float],
    policy: CountingPolicy,
) -> pd.DataFrame:
    """Return the models listed last, each with its metric on its items and the reason."""
    reasons = dict(items.reasons)
    arrays = dict(items.unranked)
    figures = [model for model, estimate in estimates.items() if not np.isnan(estimate)]
    alone = ALONE if len(estimates) + len(arrays) == 1 else f"{ALONE} can be ranked"
    for model in estimates:
        if model not in figures or len(figures) == 1:
            reasons[model] = alone if model in figures else "there are no answers for a group"
            arrays[model] = items.tallies(model)[items.asked[model]]
    rows = [
        {
            "model": model,
            # Without a pair there is no estimate.
            "estimate": estimate_of(array) if array.shape[1] else np.nan,
            "least_favourable": np.nan,
            "may_be_best": False,
            "n": int((sums_of(array, policy)[..., 5].sum(axis=1) > 0).sum()),
            "method_note": reasons[model],
        }
        for model, array in arrays.items()
    ]
    columns = ["model", "estimate", "least_favourable", "may_be_best", "n", "method_note"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(rank=pd.NA, rank_low=pd.NA, rank_high=pd.NA)


def _bounds(totals: Sequence[IntArray], figure: Figure) -> tuple[FloatArray, FloatArray]:
    """Return each model's lowest and highest figure over all completions of missing answers."""
    if not totals:
        return np.zeros(0), np.zeros(0)
    ranges = ranges_of(np.stack(totals))
    names = ("rate_a", "rate_b") if figure is accuracy else ("cfr" if figure is cfr else "ad",)
    low, high = (
        np.concatenate([ranges[name][side] for name in names], axis=1).mean(axis=1)
        for side in (0, 1)
    )
    return low, high
