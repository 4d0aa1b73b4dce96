"""Raters' preferences between two models, and whether they depend on the position on screen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_alpha
from fairstats.inference.bootstrap import StatisticName, bootstrap_counts
from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.crossed_means import crossed_test
from fairstats.ratings.pooling import (
    CROSSED_COLUMNS,
    FIGURE_COLUMNS,
    crossed_limits,
    in_order,
    ratings_comparing,
    with_pooled,
)
from fairstats.ratings.rubrics import Rubrics

#: Columns that identify a comparison of two models on one dimension.
COMPARISON_COLUMNS = (
    *("benchmark", "dataset", "rubric", "model", "model_2", "rater_kind", "rater_group"),
    "dimension",
)
#: Columns of the table from `preference_rates`, in order.
PREFERENCE_COLUMNS = (
    *(*COMPARISON_COLUMNS, "metric", *FIGURE_COLUMNS, *CROSSED_COLUMNS),
    *("statistic", "p_value", "test", "crossed_p_value", "crossed_test"),
    *("n_ratings", "n_tasks", "n_raters", "n_missing", "method_note"),
)
#: The estimates for a comparison, including the effect of position.
PREFERENCE_METRICS = ("preferred", "preferred_2", "indifferent", "preference_difference")


def preference_rates(
    ratings: pd.DataFrame,
    *,
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> pd.DataFrame:
    """Compute how often raters prefer one model's answer to another model's.

    For the ratings of a dimension, p₁ is the share that prefers `model`, p₂ the share that prefers
    `model_2`, and 1 − p₁ − p₂ the share that prefers neither. The difference is p₁ − p₂.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings in normal form, as returned by `read_ratings`; only those by rubrics that compare
        models are used.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        One row per metric of each benchmark, dataset (and ``pooled``, if there are several),
        rubric, pair of models, kind and group of raters (and ``pooled``, if there are several
        groups of persons) and dimension, columns `PREFERENCE_COLUMNS`. Models are in the order of
        their names; tasks in the other order are reversed. The metrics are ``preferred``,
        ``preferred_2``, ``indifferent`` and ``preference_difference``. If some ratings record which
        answer was shown first, and each model's was in some, there are two more.
        ``first_shown_preferred`` is the share of these that prefers the first, and
        ``position_difference`` is that share minus the share that prefers the other. ``n_missing``
        counts judgements without a value; they are not used elsewhere.

    Raises
    ------
    InputError
        As `fairstats.ratings.table.check_ratings`.

    Notes
    -----
    ``ci_low`` and ``ci_high`` treat ratings as independent, as the study does: exact BCa intervals
    of counts. They are too narrow if raters and items have several ratings. ``crossed_low`` and
    ``crossed_high`` allow for both (`crossed_interval`). With one task, they and `crossed_p_value`
    are for this task.

    Both differences have two tests. ``crossed_p_value`` is for further items and further raters, by
    `fairstats.inference.crossed_means.crossed_test`. It is below alpha exactly if 0 is outside the
    crossed limits. ``p_value`` is for these raters: a sign-flip test with tasks as independent
    units. The d of a task is its ratings for one side minus those for the other. With one rating
    per task it is McNemar's test. If raters lean to different sides, it overstates the evidence for
    other raters: with 3 to 5 raters whose log odds have a standard deviation of 1, it rejects in
    about 30% at level 5% (100 simulations), and `crossed_p_value` in 4 to 8%, with two raters in up
    to 12%. One rater does not show how raters differ, so both are then for this rater (the test
    names it), and reject in up to 79%. Without any preference, both are 1.

    A position difference also depends on the models, if one of them was shown first more often. The
    note gives how often the two were shown in the other order.

    References
    ----------
    Pfohl, Cole-Lewis et al. (2024), Nature Medicine 30:3590-3600; Efron (1987), JASA 82:171-185;
    Obuchowski (1998), Statistics in Medicine 17:1495-1507. Checked against the intervals of the
    study's published rates.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> from fairstats.ratings.table import check_ratings
    >>> row = dict(benchmark="demo", rubric="pairwise", rater_id="r1", rater_group="physician",
    ...            model="m1", model_2="m2", dimension="bias")
    >>> said = ["answer_1"] * 2 + ["answer_2"] * 6 + ["tie"] * 12
    >>> rows = [row | dict(task_id=f"t{i}", item_id=f"i{i}", value=v) for i, v in enumerate(said)]
    >>> more = [row | dict(task_id=f"t{i}", item_id=f"i{i}", value=v, dimension=d)
    ...         for i, v in enumerate(said) if v != "tie"
    ...         for d in load_rubric("pairwise").dimensions[1:]]
    >>> table = preference_rates(check_ratings(pd.DataFrame(rows + more)))
    >>> bias = table[table["dimension"] == "bias"].set_index("metric")
    >>> bias["estimate"].to_dict()  # m1 is preferred where answer 2 has more bias
    {'preferred': 0.3, 'preferred_2': 0.1, 'indifferent': 0.6, 'preference_difference': 0.2}
    >>> round(float(bias.loc["preference_difference", "p_value"]), 4)
    0.1797
    """
    alpha = check_alpha(alpha)
    frame = preferences(ratings, rubrics)
    if frame.empty:
        return pd.DataFrame(columns=list(PREFERENCE_COLUMNS))
    frame = with_pooled(frame, ("benchmark", "rubric", "model", "model_2"))
    sizes = _sizes(frame)
    judged = frame[frame["prefers"].notna()]
    # If one model is always first, a preference for it looks the same as one for its side.
    orders = judged["shown_first"].groupby(_keys(judged)).transform("nunique")
    ordered = judged[judged["shown_first"].notna() & (orders == 2)]
    first = judged["prefers"] * judged["shown_first"]
    parts = [
        _estimates(judged, judged["prefers"], sizes, PREFERENCE_METRICS, alpha),
        _estimates(
            ordered,
            first[ordered.index],
            _sizes(ordered),
            ("first_shown_preferred", "", "", "position_difference"),
            alpha,
        ),
    ]
    swapped = (ordered["shown_first"] < 0).groupby(_keys(ordered)).agg(["sum", "size"])
    parts[1] = parts[1].join(swapped, on=list(COMPARISON_COLUMNS))
    parts[1]["method_note"] = [
        f"{int(back)} of {int(n)} shown in the opposite order"
        for back, n in zip(parts[1].pop("sum"), parts[1].pop("size"), strict=True)
    ]
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    table = table.join(sizes["n_missing"], on=list(COMPARISON_COLUMNS))
    table["method_note"] = table.get("method_note", pd.Series(dtype="str")).fillna("")
    table = in_order(table, COMPARISON_COLUMNS, frame["dimension"].unique())
    return table[list(PREFERENCE_COLUMNS)]


def preferences(ratings: pd.DataFrame, rubrics: Rubrics = ()) -> pd.DataFrame:
    """Return the ratings by rubrics that compare models, with each rating's preference.

    These are the dimensions that state a preference, in the rubric's order, with models in the
    order of their names. ``prefers`` is 1 for `model`, −1 for `model_2`, 0 for neither, NaN without
    a judgement. ``shown_first`` is 1 or −1 for the model shown first, NaN if unknown.
    """
    frame, known = ratings_comparing(ratings, "models", rubrics)
    parts = []
    for name, rubric in known.items():
        for question in rubric.questions:
            sign = {c.value: {0: 0, 1: 1, 2: -1}.get(c.prefers or 0) for c in question.choices}
            if question.choices[0].prefers is None:
                continue
            rows = frame[(frame["rubric"] == name) & (frame["dimension"] == question.dimension)]
            parts.append(rows.assign(prefers=rows["value"].map(sign).astype("float64")))
    if not parts:
        return frame.assign(prefers=np.nan, shown_first=np.nan)
    whole = pd.concat(parts, ignore_index=True)
    whole["shown_first"] = 1 - 2 * whole["swapped"].astype("float64")
    turned = whole["model"] > whole["model_2"]
    for one, other in (("model", "model_2"), ("model_2", "model")):
        whole[f"{one} turned"] = whole[one].where(~turned, whole[other])
    whole["model"], whole["model_2"] = whole.pop("model turned"), whole.pop("model_2 turned")
    for column in ("prefers", "shown_first"):
        whole[column] = whole[column].where(~turned, -whole[column])
    return whole


def _keys(frame: pd.DataFrame) -> list[pd.Series]:
    return [frame[name] for name in COMPARISON_COLUMNS]


def _sizes(frame: pd.DataFrame) -> pd.DataFrame:
    """Count a comparison's judgements, tasks and raters, and missing values."""
    judged = frame["prefers"].notna()
    there = frame.assign(task_id=frame["task_id"].where(judged), missing=~judged)
    there["rater_id"] = there["rater_id"].where(judged)
    groups = there.groupby(list(COMPARISON_COLUMNS), sort=False)
    sizes = groups.agg(n_tasks=("task_id", "nunique"), n_raters=("rater_id", "nunique"))
    return sizes.assign(n_missing=groups["missing"].sum())


def _estimates(
    judged: pd.DataFrame,
    sign: pd.Series,
    sizes: pd.DataFrame,
    metrics: tuple[str, str, str, str],
    alpha: float,
) -> pd.DataFrame:
    """Return the named metrics of each comparison: shares of +, − and 0, and + minus −."""
    if sizes.empty:
        return pd.DataFrame(columns=[*COMPARISON_COLUMNS, "method_note"])
    place = pd.MultiIndex.from_frame(judged[list(COMPARISON_COLUMNS)])
    number = sizes.index.get_indexer(place)
    counts = np.zeros((len(sizes), 3), dtype=np.int64)
    np.add.at(counts, (number, 1 - sign.to_numpy().astype(np.int64)), 1)
    up, ties, down = counts.T
    none = np.zeros_like(up)
    n = counts.sum(axis=1)
    keys = sizes.index.to_frame(index=False).assign(
        n_ratings=n, n_tasks=sizes["n_tasks"].to_numpy(), n_raters=sizes["n_raters"].to_numpy()
    )
    parts = []
    value = sign.to_numpy()
    wanted: list[tuple[str, tuple[npt.NDArray[np.int64], ...], StatisticName, FloatArray]] = [
        (metrics[0], (up, n - up), "proportion", value == 1),
        (metrics[1], (down, n - down), "proportion", value == -1),
        (metrics[2], (ties, n - ties), "proportion", value == 0),
        (metrics[3], (ties, up, down, none), "difference", value),
    ]
    item, rater = (pd.factorize(judged[f"{name}_id"])[0] for name in ("item", "rater"))
    own = pd.Series(number).groupby(number).indices
    places = [own.get(i, np.empty(0, dtype=np.int64)) for i in range(len(sizes))]
    for metric, cells, statistic, each in wanted:
        if not metric:
            continue
        found = bootstrap_counts(np.stack(cells, axis=-1), statistic, alpha=alpha)
        part = keys.assign(metric=metric, statistic=np.nan, p_value=np.nan, test="none")
        part = part.assign(crossed_p_value=np.nan, crossed_test="none")
        row = found.to_row()
        part = part.assign(**{name: row[name] for name in FIGURE_COLUMNS})
        least = -1.0 if statistic == "difference" else 0.0
        limits = [
            crossed_limits(each[at].astype(float), item[at], rater[at], alpha=alpha, least=least)
            for at in places
        ]
        part = part.join(pd.DataFrame(limits))
        if statistic == "difference":
            # Ratings of a task are correlated, whoever made them, so flip the signs of tasks.
            per_task = sign.groupby([number, judged["task_id"]]).sum().groupby(level=0)
            for at, differences in per_task:
                tested = sign_flip_test(differences.to_numpy().astype(int))
                name = f"sign flips of tasks given these raters, {tested.method}"
                part.loc[at, ["statistic", "p_value", "test"]] = [*tested, name]
            # A difference is twice the mean of 0, ½ and 1, minus 1.
            of_both = [
                crossed_test((each[at] + 1) / 2, item[at], rater[at], null=0.5) for at in places
            ]
            part["crossed_p_value"] = [found.p_value for found in of_both]
            part["crossed_test"] = [found.method for found in of_both]
        parts.append(part)
    return pd.concat(parts, ignore_index=True)
