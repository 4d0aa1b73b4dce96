"""Differences in accuracy where both variants ask the question, and where one does not."""

from __future__ import annotations

import pandas as pd
import pytest

from fairstats.vignettes.items.differences_by_question import (
    BOTH_ASK,
    MEASURE,
    NOT_BOTH,
    differences_by_question,
)


@pytest.fixture
def measures() -> pd.DataFrame:
    """Both variants of the first two items ask; of the last one only that for white patients."""
    return pd.DataFrame(
        [
            {"item_id": f"item-{item}", "attribute": "race", "group": group, "value": value}
            for item in range(3)
            for group, value in (("white", 1.0), ("black", float(item < 2)))
        ]
    ).assign(measure=MEASURE, benchmark_version="")


def found(answers, measures, demo, *versions):
    return differences_by_question(
        answers, measures, demo, versions=versions, missing=None, alpha=0.05
    )


def test_items_are_divided_by_whether_both_variants_ask(answers_of, measures, demo):
    table = found(answers_of(["AB", "AA", "BA"]), measures, demo, "1").set_index("quantity")
    assert table["estimate"].to_dict() == {BOTH_ASK: 0.5, NOT_BOTH: -1}
    assert table["note"].to_dict() == {BOTH_ASK: "2 of 3 items", NOT_BOTH: "1 of 3 items"}


def test_answers_to_other_versions_give_no_findings(answers_of, measures, demo):
    assert found(answers_of(["AB", "AA", "BA"]), measures, demo).empty
