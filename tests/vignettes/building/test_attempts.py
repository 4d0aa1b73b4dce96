"""The number of variants with the intended answer, counted by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from fairstats.vignettes.building.attempts import (
    ROUND_COLUMNS,
    TRIGGERED_COLUMNS,
    rounds_frame,
    triggered_by_round,
)


def frame(*attempts):
    names = ("item_id", "group", "round", "outcome", "neutral_answer", "variant_answer")
    fixed: dict[str, Any] = {
        "attribute": "race",
        "direction": "neutral",
        "stage": "validate",
        "problems": "",
        "tokens": 0,
    }
    rows = [fixed | dict(zip(names, attempt, strict=True)) for attempt in attempts]
    return pd.DataFrame(rows, columns=list(ROUND_COLUMNS))


def counts(found):
    return {
        (group, number, quantity): (count, n)
        for group, number, quantity, count, n in zip(
            found["group"],
            found["round"],
            found["quantity"],
            found["count"],
            found["n"],
            strict=True,
        )
    }


def test_no_variants_give_an_empty_table():
    found = triggered_by_round(rounds_frame([]))
    assert list(found.columns) == list(TRIGGERED_COLUMNS)
    assert found.empty


def test_answers_are_not_reported_without_a_validation_model():
    found = triggered_by_round(
        frame(
            ("one", "white", 1, "not asked", None, None),
            ("one", "black", 1, "faulty", None, None),
        )
    )
    assert list(found.columns) == list(TRIGGERED_COLUMNS)
    assert found.empty


def test_a_variant_counts_as_its_last_attempt_so_far():
    found = triggered_by_round(
        frame(
            ("one", "white", 1, "as intended", "A", "A"),
            ("one", "black", 1, "faulty", None, None),
            ("two", "white", 1, "as intended", "A", "A"),
            ("two", "black", 1, "not as intended", "A", "A"),
            ("one", "black", 2, "as intended", "A", "B"),
            ("two", "black", 2, "faulty", None, None),
        )
    )
    assert counts(found) == {
        ("white", 1, "as intended"): (2, 2),
        ("white", 1, "answer changed"): (0, 2),
        ("white", 2, "as intended"): (2, 2),
        ("white", 2, "answer changed"): (0, 2),
        ("black", 1, "as intended"): (0, 2),
        ("black", 1, "answer changed"): (0, 2),
        ("black", 2, "as intended"): (1, 2),
        ("black", 2, "answer changed"): (1, 2),
        ("every group", 1, "as intended"): (0, 2),
        ("every group", 2, "as intended"): (1, 2),
    }


def test_the_intervals_are_wilsons():
    rows = [(str(n), "white", 1, "faulty", None, None) for n in range(10)]
    found = triggered_by_round(frame(*rows)).iloc[0]
    # By hand: z**2 / (n + z**2) with z = 1.959964.
    assert (found["estimate"], found["ci_low"]) == (0.0, 0.0)
    assert found["ci_high"] == pytest.approx(3.841459 / 13.841459, abs=1e-6)
    assert (found["ci_level"], found["ci_method"]) == (0.95, "wilson")


def test_an_answer_that_is_missing_has_not_changed():
    found = triggered_by_round(frame(("one", "white", 1, "unread", None, "B")))
    assert counts(found)["white", 1, "answer changed"] == (0, 1)
