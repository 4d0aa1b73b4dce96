"""Accuracy over all groups: cases without an answer, clustering, and policies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.intervals import wilson
from fairstats.metrics.metric import Groups
from fairstats.metrics.overall_accuracy import OVERALL_ACCURACY


def groups(patterns: dict[str, int], **options) -> Groups:
    table = {"outcomes": list(patterns), "n": list(patterns.values()), "answerable": "1"}
    return Groups(pd.DataFrame(table | {"copies": 1, "neutral_copies": 1}), None, None, **options)


def row_of(patterns: dict[str, int], **options) -> dict:
    (row,) = OVERALL_ACCURACY.compute(groups(patterns, **options))
    return row


def test_accuracy_is_unknown_without_answers():
    row = row_of({"xx": 4})
    assert np.isnan(row["estimate"])
    assert (row["ci_low"], row["ci_high"], row["n"]) == (0, 1, 0)


def test_items_with_equal_answers_count_once():
    row = row_of({"11": 60, "00": 40})
    alone = wilson(60, 100)
    assert row["estimate"] == pytest.approx(0.6)
    limits = (float(alone.ci_low), float(alone.ci_high))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(limits, abs=0.001)


def test_missing_answers_follow_the_policy():
    patterns = {"11": 60, "1x": 20, "00": 20}
    assert row_of(patterns)["estimate"] == pytest.approx(140 / 180)
    assert row_of(patterns, missing="complete")["estimate"] == pytest.approx(120 / 160)
    assert row_of(patterns, missing="incorrect")["estimate"] == pytest.approx(140 / 200)
    assert OVERALL_ACCURACY.bounds(groups(patterns)) == pytest.approx((0.7, 0.8))
