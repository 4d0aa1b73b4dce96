"""Reviewers' decisions on each variant, by one rule.

Reviewers first judge a text independently. If they disagree, they judge it once more, with all
first judgements shown. It is accepted

- in the first round, if no reviewer reports a problem;
- in the second round, if for each dimension fewer than half report a problem;

and rejected in all other cases, except after disagreement in the first round: it then stays open.
If all report a problem in a dimension, it is rejected at once. Fewer than two judgements decide
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fairstats.ratings.rubrics import Rubric
from fairstats.vignettes.building.built_benchmark import Key
from fairstats.vignettes.review.rounds import Review, Round

ACCEPTED, EDITED, REJECTED, OPEN = "accepted", "edited", "rejected", "open"
#: Possible decisions on a variant. `EDITED` means accepted after a reviewer's rewrite.
DECISIONS = (ACCEPTED, EDITED, REJECTED, OPEN)
#: Columns of a table of decisions, in order. `round` is the deciding round, 0 if there is none;
#: `times` is how often this text was judged; `faults` is the number of reported problems, out of
#: the number of judgements.
DECISION_COLUMNS = (
    "item_id",
    "attribute",
    "group",
    "decision",
    "reason",
    "round",
    "times",
    "judgements",
    "faults",
)
#: Minimum number of judgements for a decision: a single reviewer cannot disagree.
FEWEST = 2


def decisions(review: Review) -> pd.DataFrame:
    """Return the decision on each variant under review.

    Returns
    -------
    pandas.DataFrame
        `DECISION_COLUMNS`, one row per variant.
    """
    found = [faults_of(one) for one in review.rounds]
    rows = [
        dict(zip(("item_id", "attribute", "group"), key, strict=True))
        | _decided(review, key, found)
        for key in review.keys
    ]
    types = dict.fromkeys(DECISION_COLUMNS, "str")
    types |= dict.fromkeys(("round", "times", "judgements"), "int64")
    return pd.DataFrame(rows, columns=list(DECISION_COLUMNS)).astype(types)


def faults_of(one: Round) -> dict[Key, tuple[int, dict[str, int]]]:
    """Return each variant's number of judgements in a round, and reported problems by dimension."""
    if one.ratings is None:
        return {}
    rubric = one.handed_out.rubric
    faulty = {(q.dimension, value) for q in rubric.questions for value in q.reported}
    given = one.ratings[one.ratings["value"].notna()]
    pairs = zip(given["dimension"], given["value"], strict=True)
    given = given.assign(fault=[pair in faulty for pair in pairs])
    found = {}
    for task_id, rows in given.groupby("task_id", sort=False):
        counts = rows.groupby("dimension")["fault"].sum()
        found[one.tasks[str(task_id)]] = (
            rows["rater_id"].nunique(),
            {name: int(counts.get(name, 0)) for name in rubric.dimensions},
        )
    return found


def disagreeing(judged: int, faults: Mapping[str, int]) -> list[str]:
    """Return the dimensions in which some, but not all, report a problem."""
    return [name for name, count in faults.items() if 0 < count < judged]


def _decided(
    review: Review, key: Key, found: list[dict[Key, tuple[int, dict[str, int]]]]
) -> dict[str, Any]:
    text, edited = review.text(key), key in review.edited
    seen = [one for one in review.rounds if one.texts.get(key) == text]
    if not seen:
        message = "the edited text has no judgements" if edited else "was not assigned"
        return _row(OPEN, message)
    last = seen[-1]
    judged, faults = found[last.number - 1].get(key, (0, {}))
    facts = {"round": last.number, "times": len(seen), "judgements": judged,
             "faults": ", ".join(f"{name} {n}" for name, n in faults.items() if n)}  # fmt: skip
    if judged < FEWEST:
        said = "no judgements" if judged == 0 else "only one judgement"
        return _row(OPEN, f"{said} this text in round {last.number}") | facts
    rubric = last.handed_out.rubric
    all_find = [name for name, count in faults.items() if count == judged]
    split = disagreeing(judged, faults)
    if len(seen) > 1:
        half = [name for name, count in faults.items() if 2 * count >= judged]
        if half:
            return (
                _row(REJECTED, f"at least half report a problem: {_labels(half, rubric)}") | facts
            )
    elif all_find:
        return _row(REJECTED, f"all report a problem: {_labels(all_find, rubric)}") | facts
    elif split:
        return _row(OPEN, f"reviewers disagree: {_labels(split, rubric)}") | facts
    said = "no reviewer reports a problem" if not split else "fewer than half report a problem"
    return _row(EDITED if edited else ACCEPTED, said) | facts


def _labels(dimensions: list[str], rubric: Rubric) -> str:
    return ", ".join(rubric.question(name).label.lower() for name in dimensions)


def _row(decision: str, reason: str) -> dict[str, Any]:
    empty = {"round": 0, "times": 0, "judgements": 0, "faults": ""}
    return {"decision": decision, "reason": reason} | empty
