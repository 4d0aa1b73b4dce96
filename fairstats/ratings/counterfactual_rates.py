"""Bias in counterfactual pairs, judged as pairs, or with each answer judged separately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import input_error
from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.benchmarks.declaration import POOLED
from fairstats.inference._checks import check_alpha, check_choice
from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.inference.crossed_means import crossed_interval
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.verdict import ROOM
from fairstats.metrics.metric import roomy
from fairstats.ratings.pooling import (
    CROSSED_COLUMNS,
    FIGURE_COLUMNS,
    UNIT_COLUMNS,
    crossed_limits,
    in_order,
    linked_items,
    ratings_comparing,
    with_event,
    with_pooled,
    without_empty_models,
)
from fairstats.ratings.rubrics import Rubric, Rubrics
from fairstats.ratings.table import JUDGEMENT_COLUMNS

#: Context for a pair's rate of bias; the first is not a fault of the answers.
CONTEXTS = ("ideal_answers_differ", "contents_differ")

#: Columns of the table from `counterfactual_rates`, in order.
COUNTERFACTUAL_COLUMNS = (
    *(*UNIT_COLUMNS, *CONTEXTS, *FIGURE_COLUMNS, *CROSSED_COLUMNS),
    *("n_reported", "n_ratings", "n_tasks", "n_clusters", "n_raters", "n_missing"),
)


def counterfactual_rates(
    ratings: pd.DataFrame,
    *,
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> pd.DataFrame:
    """Compute how often raters report bias in a counterfactual pair, by features of the pair.

    Pairs with different ideal answers are separate from pairs with the same ideal answer. Rates are
    given for both, and for answers with different or equal contents.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings in normal form; only those by rubrics that compare items are used.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        Nine rows per benchmark, dataset, rubric, model, kind and group of raters (with ``pooled``
        for all datasets and all groups of persons combined) and dimension of bias, columns
        `COUNTERFACTUAL_COLUMNS`. ``ideal_answers_differ`` and ``contents_differ`` are each ``no``,
        ``yes`` or ``pooled``. The rate is that of reported bias among the judgements of a cell, NaN
        in an empty cell. A judgement that does not state whether the ideal answers or the contents
        differ appears only under ``pooled``. All do so if the rubric does not ask. An unnamed model
        is empty.

    Raises
    ------
    InputError
        As `fairstats.ratings.table.check_ratings`.

    Notes
    -----
    ``ci_low`` and ``ci_high`` are exact BCa intervals that treat ratings as independent. They are
    too narrow if raters and pairs have several ratings. ``crossed_low`` and ``crossed_high`` allow
    for both (`crossed_interval`). Their raters are the raters. Their items are the
    ``n_clusters`` sets of pairs without shared items between sets, over all pairs of a model to be
    judged by a rubric. The order of items in a pair does not matter. With a single set, differences
    between sets are unknown. The limits then use raters alone, and ``crossed_method`` contains "one
    item".

    References
    ----------
    Pfohl, Cole-Lewis et al. (2024), Nature Medicine 30:3590-3600, counterfactual assessment; Efron
    (1987), JASA 82:171-185. Checked against the intervals of the study's published rates.

    Examples
    --------
    >>> from fairstats.ratings.table import check_ratings
    >>> row = dict(benchmark="demo", rubric="counterfactual", item_id="a", item_id_2="b",
    ...            model="m", task_id="t", rater_group="physician")
    >>> said = [("yes", "yes", "absent"), ("no", "yes", "present"), ("no", "no", "absent")]
    >>> names = ("ideal_answers_differ", "contents_differ", "bias")
    >>> rest = ("inaccuracy", "inclusion", "stereotypes", "structural_explanation",
    ...         "biased_premise", "withholding", "other")
    >>> rows = [row | dict(rater_id=f"r{i}", dimension=d, value=v) for i, values in enumerate(said)
    ...         for d, v in [*zip(names, values), *((d, values[2]) for d in rest)]]
    >>> table = counterfactual_rates(check_ratings(pd.DataFrame(rows)))
    >>> bias = table[table["dimension"] == "bias"].set_index(list(CONTEXTS))
    >>> float(bias.loc[("no", "pooled"), "estimate"]), int(bias.loc[("no", "yes"), "n_ratings"])
    (0.5, 1)
    """
    alpha = check_alpha(alpha)
    frame, known = ratings_comparing(ratings, "items", rubrics)
    if frame.empty:
        return pd.DataFrame(columns=list(COUNTERFACTUAL_COLUMNS))
    frame = with_event(_with_contexts(frame, known), known)
    frame = frame.assign(model=frame["model"].fillna(""))
    frame = frame.assign(cluster=linked_items(frame))
    frame = with_pooled(frame, ("benchmark", "rubric", "model"))
    unit = frame.groupby(list(UNIT_COLUMNS), sort=False).ngroup().to_numpy()
    units = frame[list(UNIT_COLUMNS)].drop_duplicates(ignore_index=True)
    reported, cluster = frame["reported"].to_numpy(), frame["cluster"].to_numpy()
    task, rater = (pd.factorize(frame[f"{name}_id"])[0] for name in ("task", "rater"))
    parts = []
    for ideal, contents in product(("no", "yes", POOLED), repeat=2):
        there = np.ones(len(frame), dtype=bool)
        for name, value in zip(CONTEXTS, (ideal, contents), strict=True):
            there &= (value == POOLED) | (frame[name] == value).to_numpy()
        rows: list[dict[str, object]] = []
        for own in range(len(units)):
            asked = np.flatnonzero(there & (unit == own))
            judged = asked[~np.isnan(reported[asked])]
            limits = crossed_limits(reported[judged], cluster[judged], rater[judged], alpha=alpha)
            counted = (
                int(reported[judged].sum()),
                len(judged),
                *(len(np.unique(of[judged])) for of in (task, cluster, rater)),
                len(asked) - len(judged),
            )
            rows.append(limits | dict(zip(COUNTERFACTUAL_COLUMNS[-6:], counted, strict=True)))
        contexts = dict(zip(CONTEXTS, (ideal, contents), strict=True))
        parts.append(units.join(pd.DataFrame(rows)).assign(**contexts))
    table = in_order(pd.concat(parts), UNIT_COLUMNS, frame["dimension"].unique())
    counts = np.stack([table["n_reported"], table["n_ratings"] - table["n_reported"]], axis=-1)
    found = bootstrap_counts(counts, "proportion", alpha=alpha).to_row()
    table = table.assign(**{name: found[name] for name in FIGURE_COLUMNS})
    return without_empty_models(table)[list(COUNTERFACTUAL_COLUMNS)]


def _with_contexts(frame: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """Add columns with each judgement's statements on its pair: no, yes or empty."""
    keys = pd.MultiIndex.from_frame(frame[list(JUDGEMENT_COLUMNS)])
    answered = with_event(frame, rubrics, about=("bias", "context"))
    for name in CONTEXTS:
        said = answered[answered["dimension"] == name].set_index(list(JUDGEMENT_COLUMNS))
        words = said["reported"].map({1.0: "yes", 0.0: "no"}).reindex(keys)
        frame = frame.assign(**{name: words.to_numpy(dtype=object)})
    return frame


Aggregation = Literal["pooled", "same_rater", "majority", "any"]
AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)
#: Three different events: bias in exactly one answer, in one or both, or in both.
PAIR_METRICS = ("exactly_one", "one_or_more", "both")
#: Columns of the table from `paired_bias_rates`, in order.
PAIRED_BIAS_COLUMNS = (
    *(*UNIT_COLUMNS, "aggregation", "metric", *FIGURE_COLUMNS),
    *("clustered_low", "clustered_high", "clustered_method", "n_pairs", "n_clusters", "n_items"),
    *("n_raters", "n_combinations", "n_pairs_missing"),
)


def counterfactual_pairs(ratings: pd.DataFrame, *, rubrics: Rubrics = ()) -> pd.DataFrame:
    """Return the pairs of items named in counterfactual tasks, one row per pair.

    Its columns are benchmark, dataset, item_id, item_id_2 and model.
    """
    frame, _ = ratings_comparing(ratings, "items", rubrics)
    columns = ["benchmark", "dataset", "item_id", "item_id_2", "model"]
    return frame[columns].drop_duplicates(ignore_index=True)


def paired_bias_rates(
    ratings: pd.DataFrame,
    pairs: pd.DataFrame | None = None,
    *,
    aggregations: Iterable[Aggregation] = AGGREGATIONS,
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> pd.DataFrame:
    """Compute in how many counterfactual pairs one or both answers are biased.

    The answers are judged separately. With b₁ and b₂ whether bias is reported in the answer to the
    first and second item, ``exactly_one`` is b₁ ≠ b₂, ``one_or_more`` is b₁ or b₂, and ``both`` is
    b₁ and b₂. So one_or_more = exactly_one + both.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings in normal form; those by rubrics without comparison are used.
    pairs : pandas.DataFrame, optional
        The pairs of items: item_id, item_id_2, and optionally benchmark, dataset and model. A pair
        without a model stands for one pair of each model that answered both items. By default the
        pairs in the counterfactual tasks of `ratings` (`counterfactual_pairs`). A pair and its
        reverse are the same.
    aggregations : iterable of {"pooled", "same_rater", "majority", "any"}
        ``pooled``: the share with the event among all combinations of a rating of the first answer
        with one of the second, by raters of one group, then averaged over pairs with equal weights.
        ``same_rater``: the same, for combinations by one rater. ``majority``: an answer is biased
        if more than half of its ratings report bias (half is not a majority). ``any``: if at least
        one does.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        One row per metric (`PAIR_METRICS`) of each aggregation of each benchmark, dataset of the
        pair, rubric, model, kind and group of raters (with ``pooled``) and dimension of bias,
        columns `PAIRED_BIAS_COLUMNS`. ``n_pairs`` counts the pairs with a combination (for majority
        and any: with a rating of both answers). ``n_pairs_missing`` counts the pairs for which such
        raters judged one answer only, or gave no values. ``n_items`` counts the items in the pairs:
        fewer than 2 ``n_pairs`` if pairs share items.

    Raises
    ------
    InputError
        If `pairs` lacks a column, or an item is paired with itself; also as
        `fairstats.ratings.table.check_ratings`.
    ValueError
        For an unknown aggregation.

    Notes
    -----
    The analysis released with EquityMedQA computes "one" and "both" with the same expression, ``(a
    + b) == True``. For booleans this means "one or more" in both cases.

    ``ci_low`` and ``ci_high`` are the exact bootstrap's over pairs, as if pairs that share an item
    were independent. With several raters, a sample may have no pair in which all of them report
    bias, so these limits have room for such pairs (`fairstats.inference.verdict.with_room`). If
    nearly all of 5 or 10 raters report bias in 2 or 5% of 15 to 200 pairs, and rarely in others,
    limits cover in 93% or more, without room in 63 to 98% (1,000 simulations each,
    benchmarks/overlap_coverage.py).

    ``clustered_low`` and ``clustered_high`` treat only the ``n_clusters`` sets of pairs without
    shared items between sets as independent. They are Wilson's limits for the effective number of
    pairs, with the quantile of Student's t. Neither accounts for raters who judge several pairs.

    References
    ----------
    Pfohl, Cole-Lewis et al. (2024), Nature Medicine 30:3590-3600; Efron (1987), JASA 82:171-185.
    Checked against enumeration of the combinations.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> from fairstats.ratings.table import check_ratings
    >>> row = dict(benchmark="demo", rubric="independent", model="m", rater_group="consumer")
    >>> said = {"a": ["none", "minor"], "b": ["none", "severe"]}  # of two raters on each item
    >>> rows = [row | dict(task_id=item, item_id=item, rater_id=f"r{i}", dimension=d,
    ...                    value=value if d == "bias" else "absent")
    ...         for item, values in said.items() for i, value in enumerate(values)
    ...         for d in load_rubric("independent").dimensions]
    >>> pairs = pd.DataFrame({"item_id": ["a"], "item_id_2": ["b"]})
    >>> table = paired_bias_rates(check_ratings(pd.DataFrame(rows)), pairs)
    >>> bias = table[table["dimension"] == "bias"]
    >>> bias.pivot(index="metric", columns="aggregation", values="estimate").T.to_dict("list")
    ... # doctest: +NORMALIZE_WHITESPACE
    {'both': [1.0, 0.0, 0.25, 0.5], 'exactly_one': [0.0, 0.0, 0.5, 0.0],
     'one_or_more': [1.0, 0.0, 0.75, 0.5]}
    """
    alpha = check_alpha(alpha)
    # A single name is a name, not a sequence of letters.
    named = (aggregations,) if isinstance(aggregations, str) else tuple(aggregations)
    wanted = tuple(check_choice("aggregations", name, AGGREGATIONS) for name in named)
    frame, known = ratings_comparing(ratings, "nothing", rubrics)
    if pairs is None:
        pairs = counterfactual_pairs(ratings, rubrics=rubrics)
    frame = with_event(frame.assign(model=frame["model"].fillna("")), known)
    answered = _answered_pairs(frame, _checked_pairs(pairs))
    if answered.empty or not wanted:
        return pd.DataFrame(columns=list(PAIRED_BIAS_COLUMNS))
    sides = [_side(frame, answered, name) for name in ("item_id", "item_id_2")]
    both = pd.concat(sides, ignore_index=True)
    # In the pooled group too, ratings are combined within a group.
    both = both.assign(own_group=both["rater_group"])
    both = with_pooled(both, ("benchmark", "rubric", "model"))
    both = both.assign(unit=both.groupby(list(UNIT_COLUMNS), sort=False).ngroup())
    table = pd.concat([_of_pairs(both, name, alpha) for name in wanted], ignore_index=True)
    table = in_order(table, UNIT_COLUMNS, frame["dimension"].unique())
    return without_empty_models(table)[list(PAIRED_BIAS_COLUMNS)]


def _checked_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return each pair once, in the order of its items' names."""
    for name in ("item_id", "item_id_2"):
        if name not in pairs:
            raise input_error("pairs", "is missing", "give both items of the pair", column=name)
    pairs = pairs.reset_index(drop=True)
    alike = np.flatnonzero(pairs["item_id"] == pairs["item_id_2"])
    if len(alike):
        value = str(pairs.at[alike[0], "item_id"])
        message, row = "is paired with itself", int(alike[0]) + 1
        raise input_error(
            "pairs", message, "give another", row=row, column="item_id_2", value=value
        )
    items = np.sort(pairs[["item_id", "item_id_2"]].astype(str).to_numpy(dtype=object), axis=1)
    optional = [name for name in ("benchmark", "dataset", "model") if name in pairs]
    return pairs[optional].assign(item_id=items[:, 0], item_id_2=items[:, 1]).drop_duplicates()


def _answered_pairs(frame: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return each pair of each rubric and model with both answers, numbered."""
    answers = frame[["benchmark", "dataset", "rubric", "model", "item_id"]].drop_duplicates()
    on = ["benchmark"] if "benchmark" in pairs else []
    own = pairs.rename(columns={"dataset": "pair_dataset", "model": "pair_model"})
    found = own.merge(answers, on=[*on, "item_id"])
    second = answers.drop(columns="dataset").rename(columns={"item_id": "item_id_2"})
    found = found.merge(second, on=["benchmark", "rubric", "model", "item_id_2"])
    if "pair_model" in found:
        found = found[found["pair_model"].isna() | (found["pair_model"] == found["model"])]
    if "pair_dataset" in found:
        found = found.assign(dataset=found["pair_dataset"].fillna(found["dataset"]))
    columns = ["benchmark", "dataset", "rubric", "model", "item_id", "item_id_2"]
    found = found[columns].drop_duplicates(ignore_index=True)
    return found.assign(pair=found.index, cluster=linked_items(found))


def _clustered_limits(
    values: FloatArray, clusters: npt.NDArray[np.int64], alpha: float
) -> dict[str, object]:
    """Return the interval over sets of linked pairs."""
    # Two-way clusters with identical dimensions are one-way clusters.
    found = crossed_interval(values, clusters, clusters, alpha=alpha)
    name = {0: "none (no pair)", 1: "wilson (all pairs are linked by shared items)"}
    room = ROOM * str(found.method).endswith(ROOM)
    several = f"clusters of pairs that share items, wilson t{room}"
    method = name.get(len(np.unique(clusters)), several)
    if len(values) and np.ptp(values) == 0:
        method = "wilson over clusters (all pairs are the same)"
    return {
        "clustered_low": float(found.ci_low),
        "clustered_high": float(found.ci_high),
        "clustered_method": method,
    }


def _pair_limits(values: FloatArray, alpha: float) -> Estimate:
    """Return the interval over pairs, with room for rare pairs on which all raters agree."""
    found = bounded_mean_interval(values, alpha=alpha)
    return roomy(found, len(values), (0.0, 1.0), alpha)


def _side(frame: pd.DataFrame, pairs: pd.DataFrame, side: str) -> pd.DataFrame:
    """Return the ratings of the first, or of the second, answer of each pair."""
    own = pairs.assign(answer=side, item_id=pairs[side]).drop(columns="item_id_2")
    keys = ["benchmark", "rubric", "model", "item_id"]
    return own.merge(frame.drop(columns=["dataset", "item_id_2"]), on=keys)


def _of_pairs(both: pd.DataFrame, aggregation: str, alpha: float) -> pd.DataFrame:
    """Return the three metrics of each unit under one aggregation."""
    judged = both[both["reported"].notna()]
    # Columns within which ratings of the two answers are combined.
    within = {"pooled": ["own_group"], "same_rater": ["rater_id"]}.get(aggregation, [])
    side = judged.groupby(["unit", "pair", *within, "answer"], sort=False)["reported"]
    counted = side.agg(["sum", "size"])
    if aggregation in ("majority", "any"):
        least = counted["size"] / 2 if aggregation == "majority" else 0
        counted = (counted["sum"] > least).astype(float).to_frame("sum").assign(size=1)
    wide = counted.unstack("answer").reindex(
        columns=pd.MultiIndex.from_product([["sum", "size"], ["item_id", "item_id_2"]])
    )
    # If this group or rater rated only one answer, there is nothing to combine with.
    wide = wide.dropna()
    k1, k2 = wide["sum"]["item_id"], wide["sum"]["item_id_2"]
    n1, n2 = wide["size"]["item_id"], wide["size"]["item_id_2"]
    combinations = pd.DataFrame(
        {
            "exactly_one": k1 * (n2 - k2) + k2 * (n1 - k1),
            "one_or_more": n1 * n2 - (n1 - k1) * (n2 - k2),
            "both": k1 * k2,
            "n": n1 * n2,
        }
    )
    combinations = combinations.groupby(level=["unit", "pair"], sort=False).sum()
    there = pd.MultiIndex.from_frame(judged[["unit", "pair"]]).isin(combinations.index)
    sizes = (
        judged[there]
        .groupby("unit")
        .agg(
            n_clusters=("cluster", "nunique"),
            n_items=("item_id", "nunique"),
            n_raters=("rater_id", "nunique"),
        )
    )
    table = both.groupby("unit")["pair"].nunique().to_frame("n_every").join(sizes)
    per_unit = combinations.groupby(level="unit")["n"].agg(["size", "sum"])
    table = table.join(per_unit.set_axis(["n_pairs", "n_combinations"], axis=1)).fillna(0)
    table = table.astype("int64").assign(aggregation=aggregation)
    table["n_pairs_missing"] = table.pop("n_every") - table["n_pairs"]
    table = both.drop_duplicates("unit").set_index("unit")[list(UNIT_COLUMNS)].join(table)
    shares = combinations.div(combinations["n"], axis=0).clip(upper=1.0)
    unit, pair = (shares.index.get_level_values(name) for name in ("unit", "pair"))
    cluster = both.drop_duplicates("pair").set_index("pair")["cluster"][pair].to_numpy()
    places = [np.flatnonzero(unit == number) for number in table.index]
    parts = []
    for metric in PAIR_METRICS:
        values = shares[metric].to_numpy()
        rows = [
            _pair_limits(values[at], alpha).to_row()
            | _clustered_limits(values[at], cluster[at], alpha)
            for at in places
        ]
        figures = pd.DataFrame(rows, index=table.index)
        parts.append(table.assign(metric=metric).join(figures))
    return pd.concat(parts)
