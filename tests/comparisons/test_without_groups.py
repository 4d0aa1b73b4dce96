"""Changes of correctness on questions without groups."""

from __future__ import annotations

import pandas as pd
import pytest

from fairstats import InputError, load_benchmark
from fairstats import compare as compared
from fairstats.comparisons.without_groups import without_groups
from fairstats.inference.intervals import tango
from fairstats.inference.mcnemar import mcnemar
from tests.make_answers import make_answers

BIOASQ = load_benchmark("mirage-bioasq")


def answers(signs: str, **unit: object) -> pd.DataFrame:
    """Return answers to the first questions of BioASQ: right, wrong or missing."""
    texts = [
        {"1": key, "0": "B" if key == "A" else "A", "-": "-"}[sign]
        for key, sign in zip(BIOASQ.answer_keys.values(), signs, strict=False)
    ]
    return make_answers(texts, of=BIOASQ, variants=[("question", "asked")], strategy="cot", **unit)


OLD, NEW = "1" * 50 + "0" * 20 + "1" * 5 + "-" * 3, "1" * 50 + "1" * 20 + "0" * 5 + "1-0"


@pytest.mark.parametrize(
    ("missing", "n", "old", "new", "gains"),
    [
        (None, 75, 55 / 75, 70 / 75, 20),
        ("complete", 75, 55 / 75, 70 / 75, 20),
        ("available", 75, 55 / 75, 71 / 77, 20),
        ("incorrect", 78, 55 / 78, 71 / 78, 21),
    ],
)
def test_each_policy_counts_its_questions(missing, n, old, new, gains):
    (row,) = compared(answers(OLD), answers(NEW), missing=missing).to_dict("records")
    assert (row["n"], row["gains"], row["losses"]) == (n, gains, 5)
    assert (row["old"], row["new"]) == pytest.approx((old, new))
    assert row["estimate"] == pytest.approx(new - old)
    assert row["p_value"] == pytest.approx(float(mcnemar(n10=gains, n01=5).p_value))
    if missing != "available":
        interval = tango(n - gains - 5, gains, 5, 0)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(
            (float(interval.ci_low), float(interval.ci_high))
        )


def test_questions_that_were_not_asked_are_in_the_bounds():
    (row,) = compared(answers(OLD), answers(NEW), missing="bounds").to_dict("records")
    whole = len(BIOASQ.answer_keys)
    unasked = whole - len(OLD)
    # 15 more right, and the missing answers of the new and the old side.
    assert row["lowest"] == pytest.approx((16 - 3 - unasked) / whole)
    assert row["highest"] == pytest.approx((16 + 1 + unasked) / whole)
    assert pd.isna(row["p_value"])


def test_other_questions_and_samples_are_refused():
    with pytest.raises(InputError, match="1 questions have answers of one side only"):
        compared(answers("111"), answers("1111"))
    twice = pd.concat([answers("111"), answers("111", sample=1)])
    with pytest.raises(InputError, match="a question has several answers"):
        compared(twice, answers("111"))
    with pytest.raises(InputError, match="each side must be one model"):
        compared(pd.concat([answers("1"), answers("1", model="n")]), answers("1"))
    with pytest.raises(InputError, match="only one side has answers to it"):
        compared(answers("1"), answers("1", benchmark="mirage-medqa"))


def test_benchmarks_with_and_without_groups_are_not_mixed():
    medqa, mmlu, demo = map(load_benchmark, ("mirage-medqa", "mirage-mmlu", "demo"))
    assert without_groups([medqa, mmlu])
    assert not without_groups([demo])
    with pytest.raises(InputError, match="some benchmarks have groups and others have none"):
        without_groups([demo, medqa])
