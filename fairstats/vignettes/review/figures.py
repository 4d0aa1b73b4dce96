"""Agreement of reviewers before and after consensus, and their working time."""

from __future__ import annotations

import pandas as pd

from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.agreement import AGREEMENT_COLUMNS, rating_agreement
from fairstats.ratings.workload import workload
from fairstats.vignettes.review.rounds import Review

BEFORE, AFTER = "before", "after"
#: Columns of the table of agreement. `stage` is before consensus (only the first round), or after
#: it (the last judgements of each variant).
STAGE_COLUMNS = ("stage", *AGREEMENT_COLUMNS)
#: Columns of the table of reviewers' work, one row per round and reviewer.
WORK_COLUMNS = ("round", "rater_id", "rater_group", "asked", "judged", "timed", "hours")


def agreement(review: Review, *, alpha: float = 0.05) -> pd.DataFrame:
    """Compute reviewers' agreement on whether a variant has an error, before and after consensus.

    Returns
    -------
    pandas.DataFrame
        `STAGE_COLUMNS`; the rows of `fairstats.rating_agreement`, in which the dataset is a
        variant's attribute and group, or ``pooled`` for all. Empty before the first judgement.
    """
    tables = []
    for stage, ratings in ((BEFORE, _first(review)), (AFTER, last_judgements(review))):
        if ratings is not None and not ratings.empty:
            rubric = review.rounds[0].handed_out.rubric
            table = rating_agreement(ratings, alpha=alpha, rubrics=[rubric])
            tables.append(table.assign(stage=stage)[list(STAGE_COLUMNS)])
    if not tables:
        return pd.DataFrame(columns=list(STAGE_COLUMNS))
    return pd.concat(tables, ignore_index=True)


def of_all(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows for all variants and all groups of reviewers combined."""
    for column in ("dataset", "rater_group"):
        if POOLED in set(table[column]):
            table = table[table[column] == POOLED]
    return table.reset_index(drop=True)


def last_judgements(review: Review) -> pd.DataFrame | None:
    """Return the ratings of each variant in the last round with a judgement of it."""
    tables = []
    for one in review.rounds:
        if one.ratings is not None:
            keys = [one.tasks[str(task_id)] for task_id in one.ratings["task_id"]]
            tables.append(one.ratings.assign(_key=keys, _round=one.number))
    if not tables:
        return None
    together = pd.concat(tables, ignore_index=True)
    last = together["_round"] == together.groupby("_key")["_round"].transform("max")
    return together[last].drop(columns=["_key", "_round"]).reset_index(drop=True)


def work(review: Review) -> pd.DataFrame:
    """Return each reviewer's assigned and completed work in each round.

    Returns
    -------
    pandas.DataFrame
        `WORK_COLUMNS`. ``hours`` are those of the ``timed`` judgements. A sheet records no time;
        without any timed judgement, ``hours`` is missing.
    """
    rows = []
    for one in review.rounds:
        asked = pd.Series([rater for _, rater in one.handed_out.key]).value_counts()
        groups = {r["rater_id"]: r["rater_group"] for r in one.handed_out.key.values()}
        done = {}
        if one.ratings is not None:
            table = workload(one.ratings, rubrics=[one.handed_out.rubric])
            done = table.set_index("rater_id").to_dict("index")
        for rater in sorted(groups):
            own = done.get(rater, {})
            rows.append(
                {
                    "round": one.number,
                    "rater_id": rater,
                    "rater_group": groups[rater],
                    "asked": int(asked[rater]),
                    "judged": own.get("n_judgements", 0),
                    "timed": own.get("n_timed", 0),
                    "hours": own.get("duration_s", float("nan")) / 3600,
                }
            )
    types = {"round": "int64", "asked": "int64", "judged": "int64", "timed": "int64"}
    table = pd.DataFrame(rows, columns=list(WORK_COLUMNS))
    return table.astype(types | {"hours": "float64", "rater_id": "str", "rater_group": "str"})


def _first(review: Review) -> pd.DataFrame | None:
    return review.rounds[0].ratings if review.rounds else None
