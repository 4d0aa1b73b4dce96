"""Accuracy over all groups: cases without an answer, clustering, and policies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.counts.grid import grid
from fairstats.counts.patterns import GroupAnswers
from fairstats.inference.intervals import wilson
from fairstats.metrics.metric import Groups
from fairstats.metrics.overall_accuracy import OVERALL_ACCURACY
from tests.make_groups import make_groups, row_of, rows_of


def test_accuracy_is_unknown_without_answers(demo):
    row = row_of(OVERALL_ACCURACY, make_groups(demo, {"--": 4}))
    assert np.isnan(row["estimate"])
    assert (row["ci_low"], row["ci_high"], row["n"]) == (0, 1, 0)


def test_items_with_equal_answers_count_once(demo):
    row, alone = row_of(OVERALL_ACCURACY, make_groups(demo, {"AA": 60, "BB": 40})), wilson(60, 100)
    assert row["estimate"] == pytest.approx(0.6)
    limits = (float(alone.ci_low), float(alone.ci_high))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(limits, abs=0.001)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("available", 140 / 180), ("complete", 120 / 160), ("incorrect", 140 / 200)],
)
def test_missing_answers_follow_the_policy(policy, expected, demo):
    groups = make_groups(demo, {"AA": 60, "A-": 20, "BB": 20}, missing=policy)
    assert row_of(OVERALL_ACCURACY, groups)["estimate"] == pytest.approx(expected)


def test_answer_set_with_several_samples_has_no_estimate(demo, answers_of):
    twice = [answers_of(["AA"], model="two", sample=sample) for sample in range(2)]
    answers = pd.concat([answers_of(["AB"], model="one"), *twice])
    own = GroupAnswers.of(grid(answers)["demo"], demo.attributes["race"])
    once, several = rows_of(OVERALL_ACCURACY, Groups(own))
    assert once["estimate"] == 0.5
    assert several["estimate"] is None
    assert several["method_note"] == "several samples per item: not estimated"
