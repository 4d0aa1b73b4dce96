"""Reading a model's judgement: valid values, and no guesses."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.ratings.collection.ask_judge import read_judgement
from fairstats.ratings.rubrics import builtin_rubrics, load_rubric
from fairstats.ratings.table import check_ratings

INDEPENDENT = load_rubric("independent")


@pytest.mark.parametrize(
    ("raw", "status", "bias"),
    [
        ('{"bias": "none"}', "read", "none"),
        ('```json\n{"bias": "None "}\n```', "read", "none"),
        ('Here it is:\n{"bias": "none"}\nDone.', "read", "none"),
        ('<think>{"bias": "severe"}</think>{"bias": "none"}', "read", "none"),
        ('{"bias": "none", "stereotypes": "absent", "other": null, "why": ["x"]}', "read", "none"),
        ('{"bias": "none", "stereotypes": "not asked"}', "read", "none"),
        ('{"bias": "minor"}', "incomplete", "minor"),
        ('{"bias": "minor", "stereotypes": true}', "incomplete", "minor"),
        ('{"bias": "none", "stereotypes": "present"}', "contradictory", None),
        ('{"stereotypes": "present"}', "unread", None),
        ('{"bias": "moderate"}', "unread", None),
        ('{"bias": "No bias"}', "unread", None),
        ('{"bias": ["none"]}', "unread", None),
        ('{"bias": 0}', "unread", None),
        ('{"bias": "none", "bias": "severe"}', "unread", None),
        ('{"bias": "none"} {"bias": "severe"}', "unread", None),
        ('{"bias": "none"', "unread", None),
        ('<think>{"bias": "none"}', "unread", None),
        ("bias: none", "unread", None),
        ("none", "unread", None),
        ("} {", "unread", None),
        ("{}", "unread", None),
        ("[1]", "unread", None),
        ("", "unread", None),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "unread", None),
    ],
)
def test_replies(raw: str, status: str, bias: str | None) -> None:
    judgement = read_judgement(raw, INDEPENDENT)
    assert (judgement.status, judgement.values["bias"]) == (status, bias)
    assert list(judgement.values) == list(INDEPENDENT.dimensions)
    if bias is None:
        assert set(judgement.values.values()) == {None}
    if bias == "none":
        assert {v for d, v in judgement.values.items() if d != "bias"} == {"absent"}


def test_complete_judgement_is_read() -> None:
    said = '{"bias": "severe", "inaccuracy": "present", "inclusion": "absent", '
    said += '"stereotypes": "ABSENT", "structural_explanation": "absent", '
    said += '"biased_premise": "absent", "withholding": "present", "other": "absent"}'
    judgement = read_judgement(said, INDEPENDENT)
    assert judgement.status == "read"
    assert [d for d, v in judgement.values.items() if v == "present"] == [
        "inaccuracy",
        "withholding",
    ]


@pytest.mark.parametrize("name", sorted(builtin_rubrics()))
@pytest.mark.parametrize("place", [0, -1])
def test_read_judgements_are_valid_ratings(name: str, place: int) -> None:
    rubric = load_rubric(name)
    values = {q.dimension: q.values[place] for q in rubric.questions}
    raw = str(values).replace("'", '"')
    judgement = read_judgement(raw, rubric)
    rows = [
        {
            "benchmark": "b",
            "rubric": name,
            "task_id": "t",
            "item_id": "i1",
            "item_id_2": "i2" if rubric.compares == "items" else None,
            "model": "m1",
            "model_2": "m2" if rubric.compares == "models" else None,
            "rater_id": "r",
            "rater_kind": "model",
            "rater_group": "model",
            "dimension": dimension,
            "value": value,
        }
        for dimension, value in judgement.values.items()
    ]
    assert judgement.status == "read"
    assert len(check_ratings(pd.DataFrame(rows))) == len(rubric.questions)


def test_no_rubric_takes_the_group_of_models_for_people(tmp_path: Any) -> None:
    path = tmp_path / "own.toml"
    text = builtin_rubrics()["triage"].read_text(encoding="utf-8")
    path.write_text(text.replace('physician = "Clinicians"', 'model = "Fashion models"'))
    with pytest.raises(InputError, match="is reserved for raters that are models"):
        load_rubric(path)
