"""The tables of a release: items at each stage, reviewers' agreement, and their working time."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from fairstats._lib.problems import first_of
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.agreement import AGREEMENT_COLUMNS, rating_agreement
from fairstats.ratings.table import JUDGEMENT_COLUMNS
from fairstats.vignettes.building.folder import KEY, Built, Variant
from fairstats.vignettes.review.rounds import ACCEPTED, EDITED, Review

#: The stages in order, and the property of an item that passed each.
STAGES: Mapping[str, str] = {
    "source": "in the source",
    "filter": "filtered in",
    "neutralize": "with a neutral text",
    "generate": "with a text for every variant",
    "validate": "with every variant kept by the build",
    "review": "with every variant accepted by reviewers",
}
REVIEW_STAGE = "review"
STAGE_COLUMNS = ("stage", "items", "left_out", "what")
LEFT_OUT_COLUMNS = ("item_id", "stage", "attribute", "group", "reason")


def left_out(built: Built, decisions: pd.DataFrame | None) -> pd.DataFrame:
    """Return why each unreleased item was left out: the first stage that it did not pass.

    Without a review there are no `decisions`.

    Returns
    -------
    pandas.DataFrame
        `LEFT_OUT_COLUMNS`, one row per item, and from the stage *generate* on one per failed
        variant. Released items have no rows.
    """
    at_fault: dict[str, list[tuple[str, str, str]]] = {}
    if decisions is not None:
        wrong = decisions[~decisions["decision"].isin([ACCEPTED, EDITED])]
        for item_id, attribute, group, decision, reason in wrong[
            [*KEY, "decision", "reason"]
        ].itertuples(index=False, name=None):
            own = at_fault.setdefault(item_id, [])
            own.append((attribute, group, f"{decision}: {reason}"))
    rows: list[tuple[str, str, str, str, str]] = []
    for item_id in built.source_items:
        filtered = built.filtered.get(item_id)
        variants = {key: built.variants.get(key) for key in built.keys(item_id)}
        if filtered is not None and not filtered.kept:
            by = f" ({filtered.decided_by})" if filtered.decided_by else ""
            rows.append((item_id, "filter", "", "", f"{filtered.reason or ''}{by}"))
        elif item_id not in built.items:
            reason = built.not_neutral.get(item_id, "no neutral text")
            rows.append((item_id, "neutralize", "", "", reason))
        elif lacking := [key for key, one in variants.items() if one is None or not one.text]:
            rows += [(item_id, "generate", *key[1:], _why(variants[key])) for key in lacking]
        elif faulty := [key for key in variants if not built.kept(key)]:
            rows += [(item_id, "validate", *key[1:], _why(variants[key])) for key in faulty]
        else:
            rows += [(item_id, REVIEW_STAGE, *one) for one in at_fault.get(item_id, [])]
    return pd.DataFrame(rows, columns=list(LEFT_OUT_COLUMNS), dtype="str")


def _why(variant: Variant | None) -> str:
    if variant is None:
        return "no variant"
    problems = variant.problems
    return f"{variant.outcome}: {first_of(problems)}" if problems else variant.outcome


def stage_counts(built: Built, without: pd.DataFrame, *, reviewed: bool) -> pd.DataFrame:
    """Count the items that passed each stage, and those it left out.

    Returns
    -------
    pandas.DataFrame
        `STAGE_COLUMNS`, one row per stage; without a review, it has no row.
    """
    stages = [stage for stage in STAGES if reviewed or stage != REVIEW_STAGE]
    lost = without.drop_duplicates("item_id")["stage"].value_counts()
    items = len(built.source_items)
    rows = []
    for stage in stages:
        gone = int(lost.get(stage, 0))
        items -= gone
        rows.append((stage, items, gone, STAGES[stage]))
    return pd.DataFrame(rows, columns=list(STAGE_COLUMNS))


BEFORE, AFTER = "before", "after"
#: Columns of the table of agreement. `stage` is before consensus (only the first round), or after
#: it (the last judgements of each variant).
_AGREEMENT = ("stage", *AGREEMENT_COLUMNS)
#: Columns of the table of reviewers' work, one row per round and reviewer.
WORK_COLUMNS = ("round", "rater_id", "rater_group", "asked", "judged", "timed", "hours")


def agreement(review: Review) -> pd.DataFrame:
    """Compute reviewers' agreement on whether a variant has an error, before and after consensus.

    Returns
    -------
    pandas.DataFrame
        ``stage``, and the rows of `fairstats.rating_agreement`, in which the dataset is a variant's
        attribute and group, or ``pooled`` for all. Empty before the first judgement.
    """
    first = review.rounds[0].ratings if review.rounds else None
    tables = [
        rating_agreement(ratings, rubrics=[review.rounds[0].handed_out.rubric]).assign(stage=stage)
        for stage, ratings in ((BEFORE, first), (AFTER, _last_judgements(review)))
        if ratings is not None and not ratings.empty
    ]
    if not tables:
        return pd.DataFrame(columns=list(_AGREEMENT))
    return pd.concat(tables, ignore_index=True)[list(_AGREEMENT)]


def of_all(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows for all variants and all groups of reviewers combined."""
    for column in ("dataset", "rater_group"):
        if POOLED in set(table[column]):
            table = table[table[column] == POOLED]
    return table.reset_index(drop=True)


def _last_judgements(review: Review) -> pd.DataFrame | None:
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
            judged = one.ratings.drop_duplicates(list(JUDGEMENT_COLUMNS)).groupby("rater_id")
            table = judged["duration_s"].agg(judged="size", timed="count")
            table["seconds"] = judged["duration_s"].sum(min_count=1)
            done = table.to_dict("index")
        for rater, group in sorted(groups.items()):
            own = done.get(rater, {})
            counts = (own.get("judged", 0), own.get("timed", 0))
            hours = own.get("seconds", float("nan")) / 3600
            rows.append((one.number, rater, group, int(asked[rater]), *counts, hours))
    types = dict.fromkeys(WORK_COLUMNS, "int64") | {"hours": "float64"}
    types |= {"rater_id": "str", "rater_group": "str"}
    return pd.DataFrame(rows, columns=list(WORK_COLUMNS)).astype(types)
