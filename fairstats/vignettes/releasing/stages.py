"""The outcome of every source item: how many each stage left, and why the others were left out."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from fairstats._lib.problems import first_of
from fairstats.vignettes.building.built_benchmark import Built

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

    Parameters
    ----------
    built : Built
        The built benchmark.
    decisions : pandas.DataFrame or None
        The reviewers' decisions; None without a review.

    Returns
    -------
    pandas.DataFrame
        `LEFT_OUT_COLUMNS`, one row per item, and from the stage *generate* on one per failed
        variant. Released items have no rows.
    """
    at_fault: dict[str, list[tuple[str, str, str]]] = {}
    if decisions is not None:
        wrong = decisions[~decisions["decision"].isin(["accepted", "edited"])]
        for row in wrong.to_dict("records"):
            reason = f"{row['decision']}: {row['reason']}"
            own = at_fault.setdefault(row["item_id"], [])
            own.append((row["attribute"], row["group"], reason))
    rows: list[tuple[str, str, str, str, str]] = []
    filtered = {str(one["item_id"]): one for one in built.filtered}
    for item_id in dict.fromkeys([*filtered, *built.items]):
        decision = filtered.get(item_id)
        if decision is not None and not decision["kept"]:
            by = f" ({decision['decided_by']})" if decision["decided_by"] else ""
            rows.append((item_id, "filter", "", "", f"{decision['reason']}{by}"))
        elif item_id not in built.items:
            rows.append(
                (item_id, "neutralize", "", "", built.not_neutral.get(item_id, "no neutral text"))
            )
        elif lacking := _without_text(built, item_id):
            rows += [(item_id, "generate", *one) for one in lacking]
        elif faulty := _not_kept(built, item_id):
            rows += [(item_id, "validate", *one) for one in faulty]
        else:
            rows += [(item_id, REVIEW_STAGE, *one) for one in at_fault.get(item_id, [])]
    return pd.DataFrame(rows, columns=list(LEFT_OUT_COLUMNS), dtype="str")


def stage_counts(built: Built, without: pd.DataFrame, *, reviewed: bool) -> pd.DataFrame:
    """Count the items that passed each stage, and those it left out.

    Returns
    -------
    pandas.DataFrame
        `STAGE_COLUMNS`, one row per stage; without a review, it has no row.
    """
    stages = [stage for stage in STAGES if reviewed or stage != REVIEW_STAGE]
    lost = without.drop_duplicates("item_id")["stage"].value_counts()
    items = len({str(one["item_id"]) for one in built.filtered} | {*built.items})
    rows = []
    for stage in stages:
        gone = int(lost.get(stage, 0))
        items -= gone
        rows.append((stage, items, gone, STAGES[stage]))
    return pd.DataFrame(rows, columns=list(STAGE_COLUMNS))


def _without_text(built: Built, item_id: str) -> list[tuple[str, str, str]]:
    lacking = []
    for key in built.keys(item_id):
        variant = built.variants.get(key)
        if variant is None or not variant.text:
            said = "no variant" if variant is None else _why(variant.outcome, variant.problems)
            lacking.append((key[1], key[2], said))
    return lacking


def _not_kept(built: Built, item_id: str) -> list[tuple[str, str, str]]:
    return [
        (key[1], key[2], _why(built.variants[key].outcome, built.variants[key].problems))
        for key in built.keys(item_id)
        if not built.kept(key)
    ]


def _why(outcome: str, problems: tuple[str, ...]) -> str:
    return f"{outcome}: {first_of(problems)}" if problems else outcome
