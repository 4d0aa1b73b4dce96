"""Small ratings tables written as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fairstats_collectors.medperturb import import_medperturb

from fairstats.ratings.rubrics import load_rubric

SIGNS = {
    "triage": {"y": "yes", "n": "no"},
    "independent": {"s": "severe", "m": "minor", "n": "none"},
    "pairwise": {"1": "answer_1", "2": "answer_2", "=": "tie"},
    "counterfactual": {"y": "present", "n": "absent"},
}


@pytest.fixture(scope="session")
def ratings_of() -> Callable[..., pd.DataFrame]:
    """Read ratings from one short text per task, one sign per rater; ``-`` is missing, ``.`` no
    judgement.

    Raters of a group are named by it and their place. All dimensions of `triage` have the sign's
    value; of the other rubrics `bias` has it, and those that are asked then have none.
    """

    def build(
        tasks: Mapping[str, str], *, rubric: str = "triage", group: str = "physician", **unit: Any
    ) -> pd.DataFrame:
        asked = load_rubric(rubric)
        rows = []
        for task, text in tasks.items():
            for place, sign in enumerate(text):
                if sign == ".":
                    continue
                value = SIGNS[rubric].get(sign)
                for question in asked.questions:
                    rows.append(
                        {
                            "benchmark": "demo",
                            "dataset": "first",
                            "rubric": rubric,
                            "task_id": task,
                            "item_id": task,
                            "rater_id": f"{group}-{place}",
                            "rater_kind": "person",
                            "rater_group": group,
                            "repeat": 0,
                            "dimension": question.dimension,
                            "value": _value(question, value, asked),
                        }
                        | unit
                    )
        return pd.DataFrame(rows)

    return build


@pytest.fixture(scope="session")
def medperturb(shared_data: Callable[[str], Path]) -> pd.DataFrame:
    """Return MedPerturb's decisions, in one dataset in which each text is an item."""
    ratings = import_medperturb(shared_data("medperturb/dataset.csv"))
    return ratings.assign(dataset="medperturb", item_id=ratings["task_id"])


def _value(question: Any, value: str | None, rubric: Any) -> str | None:
    if question.dimension == "bias" or rubric.name == "triage":
        return value
    if question.about == "context":
        return "no"
    # Questions that follow a report of bias have no reports here.
    return question.otherwise if value is not None else None
