"""Bias that raters report in counterfactual pairs judged as pairs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import POOLED
from fairstats.inference._checks import check_alpha
from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.ratings.pooling import (
    crossed_limits,
    in_order,
    linked_items,
    ratings_comparing,
    with_event,
    with_pooled,
    without_empty_models,
)
from fairstats.ratings.rubrics import Rubric, Rubrics
from fairstats.ratings.schema import JUDGEMENT_COLUMNS

#: Context for a pair's rate of bias; the first is not a fault of the answers.
CONTEXTS = ("ideal_answers_differ", "contents_differ")

#: Columns that identify an estimate for one dimension of bias.
UNIT_COLUMNS = ("benchmark", "dataset", "rubric", "model", "rater_kind", "rater_group", "dimension")
#: An estimate and its interval.
FIGURE_COLUMNS = ("estimate", "ci_low", "ci_high", "ci_level", "ci_method")
#: Columns of the table from `counterfactual_rates`, in order.
COUNTERFACTUAL_COLUMNS = (
    *UNIT_COLUMNS,
    *CONTEXTS,
    *FIGURE_COLUMNS,
    "crossed_low",
    "crossed_high",
    "crossed_method",
    "n_reported",
    "n_ratings",
    "n_tasks",
    "n_clusters",
    "n_raters",
    "n_missing",
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
        If a rubric is unknown, or a dataset or group of raters is called ``pooled``.

    Notes
    -----
    ``ci_low`` and ``ci_high`` are exact BCa intervals that treat ratings as independent. They are
    too narrow if raters and pairs have several ratings. ``crossed_low`` and ``crossed_high`` allow
    for both (`fairstats.crossed_interval`). Their raters are the raters. Their items are the
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
    found = bootstrap_counts(counts, "proportion", alpha=alpha)
    for name in FIGURE_COLUMNS:
        table[name] = found.to_row()[name]
    return without_empty_models(table)[list(COUNTERFACTUAL_COLUMNS)]


def _with_contexts(frame: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """Add columns with each judgement's statements on its pair: no, yes or empty."""
    keys = pd.MultiIndex.from_frame(frame[list(JUDGEMENT_COLUMNS)])
    for name in CONTEXTS:
        said = frame[frame["dimension"] == name].set_index(list(JUDGEMENT_COLUMNS))
        reported = {
            rubric.name: rubric.question(name).reported
            for rubric in rubrics.values()
            if name in rubric.dimensions
        }
        yes = [
            value in reported[rubric]
            for value, rubric in zip(
                said["value"], said.index.get_level_values("rubric"), strict=True
            )
        ]
        words = pd.Series(np.where(yes, "yes", "no"), index=said.index, dtype=object)
        words = words.where(said["value"].notna(), None)
        frame = frame.assign(**{name: words.reindex(keys).to_numpy()})
    return frame
