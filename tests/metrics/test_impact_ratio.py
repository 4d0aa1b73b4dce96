"""The impact ratio: cases without an estimate, and its interval."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.counts.patterns import apply_policy, complete_counts
from fairstats.inference.effect_sizes import risk_ratio
from fairstats.metrics.accuracy_ratio import accuracy_ratio
from fairstats.metrics.impact_ratio import IMPACT_RATIO
from tests.make_groups import make_groups, row_of, rows_of


def test_ratio_is_unknown_if_no_answer_is_right(three_groups):
    row = row_of(IMPACT_RATIO, make_groups(three_groups, {"BBB": 9}))
    assert np.isnan(row["estimate"])
    assert (row["ci_low"], row["ci_high"]) == (0, 1)


def test_ratio_is_0_if_one_group_is_never_right_and_1_if_they_are_equal(demo):
    groups = make_groups(demo, {"BA": 9}, {"AA": 10, "BB": 3})
    never, equal = rows_of(IMPACT_RATIO, groups)
    assert (never["estimate"], never["ci_low"]) == (0, 0)
    assert 0 < never["ci_high"] < 1
    assert (equal["estimate"], equal["ci_high"]) == (1, 1)
    assert 0.7 < equal["ci_low"] < 0.8


@pytest.mark.parametrize("text", ["AB", "BA"])
def test_ratio_of_two_groups_is_the_ratio_of_the_pair_or_its_inverse(text, demo):
    row = row_of(IMPACT_RATIO, make_groups(demo, {"AA": 60, text: 20, "BC": 5}))
    pair = risk_ratio(60, 0, 20, 5)
    assert row["estimate"] == pytest.approx(0.75)
    assert row["ci_low"] == pytest.approx(float(pair.ci_low))
    assert row["ci_high"] == pytest.approx(float(pair.ci_high))
    assert row["ci_method"] == "tang, inverted above 1"


def test_interval_of_several_groups_holds_for_all_pairs(three_groups):
    table = {"AAA": 50, "AAB": 20, "ABB": 5, "BAA": 3, "BBB": 10}
    row = row_of(IMPACT_RATIO, make_groups(three_groups, table))
    accuracies = [sum(n for text, n in table.items() if text[i] == "A") for i in range(3)]
    assert row["estimate"] == pytest.approx(min(accuracies) / max(accuracies))
    alone = risk_ratio(50, 25, 3, 10, alpha=0.05 / 3)
    assert row["ci_low"] == pytest.approx(float(1 / alone.ci_high))
    assert row["ci_method"].endswith("Bonferroni over 3 pairs")
    assert row["n"] == 88


@pytest.mark.parametrize(
    ("policy", "expected", "method"),
    [
        ("available", (60 / 85) / (90 / 95), "log, partly paired, inverted above 1"),
        ("complete", 60 / 80, "tang, inverted above 1"),
        ("incorrect", 60 / 90, "tang, inverted above 1"),
    ],
)
def test_missing_answers_follow_the_policy(policy, expected, method, demo):
    groups = make_groups(demo, {"AA": 60, "AB": 20, "A-": 10, "BB": 5}, missing=policy)
    row = row_of(IMPACT_RATIO, groups)
    assert row["estimate"] == pytest.approx(expected)
    assert row["ci_method"] == method


def test_pairs_ratio_uses_each_groups_own_answers(counts_of):
    found = accuracy_ratio(apply_policy(counts_of(n11=60, n10=20, n1x=10), "available"))
    assert float(found.estimate[0]) == pytest.approx(1 / (60 / 80))
    assert found.method.tolist() == ["log, partly paired"]
    assert accuracy_ratio(complete_counts(60, 20, 0, 0)).method == "tang"
