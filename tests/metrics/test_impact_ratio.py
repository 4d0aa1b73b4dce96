"""The impact ratio: cases without an estimate, its interval, and its bounds by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairstats.counts.missing_policies import apply_policy, complete_counts
from fairstats.counts.outcomes import PATTERNS
from fairstats.inference.effect_sizes import risk_ratio
from fairstats.metrics.accuracy_ratio import ACCURACY_RATIO, accuracy_ratio
from fairstats.metrics.impact_ratio import IMPACT_RATIO, impact_ratio_bounds
from fairstats.metrics.metric import Groups


def row_of(patterns: dict[str, int], **options) -> dict:
    """Return the metric's row for groups with these joint outcomes."""
    (row,) = IMPACT_RATIO.compute(Groups(outcomes(patterns), None, None, **options))
    return row


def outcomes(patterns: dict[str, int]) -> pd.DataFrame:
    return pd.DataFrame(
        {"outcomes": list(patterns), "n": list(patterns.values()), "answerable": "1"}
        | {"copies": 1, "neutral_copies": 1}
    )


def test_ratio_is_unknown_if_no_answer_is_right():
    row = row_of({"000": 9})
    assert np.isnan(row["estimate"])
    assert (row["ci_low"], row["ci_high"]) == (0, 1)


def test_ratio_is_0_if_one_group_is_never_right():
    row = row_of({"01": 9})
    assert (row["estimate"], row["ci_low"]) == (0, 0)
    assert 0 < row["ci_high"] < 1


def test_interval_of_equal_groups_is_below_1():
    row = row_of({"11": 10, "00": 3})
    assert (row["estimate"], row["ci_high"]) == (1, 1)
    assert 0.7 < row["ci_low"] < 0.8


@pytest.mark.parametrize("pattern", ["10", "01"])
def test_ratio_of_two_groups_is_the_ratio_of_the_pair_or_its_inverse(pattern):
    row = row_of({"11": 60, pattern: 20, "00": 5})
    pair = risk_ratio(60, 0, 20, 5)
    assert row["estimate"] == pytest.approx(0.75)
    assert row["ci_low"] == pytest.approx(float(pair.ci_low))
    assert row["ci_high"] == pytest.approx(float(pair.ci_high))
    assert row["ci_method"] == "tang, inverted above 1"


def test_interval_of_several_groups_holds_for_all_pairs():
    patterns = {"111": 50, "110": 20, "100": 5, "011": 3, "000": 10}
    row = row_of(patterns)
    accuracies = [
        sum(n for signs, n in patterns.items() if signs[group] == "1") for group in range(3)
    ]
    assert row["estimate"] == pytest.approx(min(accuracies) / max(accuracies))
    alone = risk_ratio(50, 25, 3, 10, alpha=0.05 / 3)
    assert row["ci_low"] == pytest.approx(float(1 / alone.ci_high))
    assert row["ci_method"].endswith("Bonferroni over 3 pairs")
    assert row["n"] == 88


def test_missing_answers_follow_the_policy():
    patterns = {"11": 60, "10": 20, "1x": 10, "00": 5}
    own = row_of(patterns)
    assert own["estimate"] == pytest.approx((60 / 85) / (90 / 95))
    assert own["ci_method"] == "log, partly paired, inverted above 1"
    assert row_of(patterns, missing="complete")["estimate"] == pytest.approx(60 / 80)
    assert row_of(patterns, missing="incorrect")["estimate"] == pytest.approx(60 / 90)


def test_bounds_are_those_of_all_fill_ins():
    patterns = ["11", "1x", "x0", "xx", "01"]
    filled = []
    for signs in product(*(product(*("01" if s == "x" else s for s in p)) for p in patterns)):
        a, b = (sum(one[group] == "1" for one in signs) for group in range(2))
        filled.append(min(a, b) / max(a, b))
    assert impact_ratio_bounds(outcomes(dict.fromkeys(patterns, 1))) == (min(filled), max(filled))


def test_bounds_of_the_pairs_ratio_are_those_of_all_fill_ins():
    counts = dict.fromkeys(PATTERNS, 0) | {"n11": 2, "n1x": 1, "nx0": 1, "nxx": 1, "n01": 1}
    c = {name: np.array([float(n)]) for name, n in counts.items()} | {"n": np.array([6.0])}
    low, high = ACCURACY_RATIO.bounds(c)
    assert (float(low[0]), float(high[0])) == pytest.approx((3 / 5, 5 / 3))
    none = {name: 0.0 * value for name, value in c.items()} | {"n": np.array([6.0])}
    low, high = ACCURACY_RATIO.bounds(none)
    assert (float(low[0]), float(high[0])) == (0, np.inf)


def test_pairs_ratio_uses_each_groups_own_answers():
    counts = pd.DataFrame([dict.fromkeys(PATTERNS, 0) | {"n11": 60, "n10": 20, "n1x": 10}])
    counts = counts.assign(attribute="race")
    found = accuracy_ratio(apply_policy(counts, "available"))
    assert float(found.estimate[0]) == pytest.approx(1 / (60 / 80))
    assert found.method.tolist() == ["log, partly paired"]
    assert accuracy_ratio(complete_counts(60, 20, 0, 0)).method == "tang"
