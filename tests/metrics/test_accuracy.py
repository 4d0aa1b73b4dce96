"""Accuracy and the signed difference of two accuracies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats import analyze
from fairstats.counts.patterns import apply_policy, complete_counts
from fairstats.inference.effect_sizes import arcsine
from fairstats.inference.intervals import tango, wilson
from fairstats.inference.verdict import rare_share, with_room
from fairstats.metrics.accuracy import accuracy, accuracy_difference, proportion


def test_proportion_of_no_answers_is_nan():
    np.testing.assert_array_equal(proportion([0, 0, 3], [0, 4, 4]), [np.nan, 0, 0.75])


def test_accuracy_is_the_share_with_wilsons_interval():
    result, interval = accuracy([7, 0], [10, 0]), wilson([7, 0], [10, 0])
    np.testing.assert_array_equal(result.estimate, [0.7, np.nan])
    np.testing.assert_array_equal(
        [result.ci_low, result.ci_high], [interval.ci_low, interval.ci_high]
    )
    assert (result.ci_low[1], result.ci_high[1]) == (0, 1)
    assert (result.method, result.ci_level, result.n.tolist()) == ("wilson", 0.95, [10, 0])


def test_more_correct_answers_than_answers_are_refused():
    with pytest.raises(ValueError, match="exceed"):
        accuracy(5, 4)


def test_the_difference_is_signed_and_has_tangos_interval():
    result, interval = accuracy_difference(complete_counts(600, 10, 83, 108)), tango(708, 10, 83, 0)
    assert float(result.estimate) == pytest.approx(-73 / 801)
    assert (result.ci_low, result.ci_high) == (interval.ci_low, interval.ci_high)
    assert result.method == "tango"


def test_without_pairs_the_difference_is_nan_on_the_whole_scale():
    result = accuracy_difference(complete_counts(0, 0, 0, 0))
    assert np.isnan(result.estimate)
    assert (result.ci_low, result.ci_high) == (-1, 1)


def test_answers_without_a_pair_count_in_the_estimate_and_in_its_interval(counts_of):
    counts = counts_of(n11=500, n10=40, n01=20, n00_same=41, n1x=60, n0x=40, nx1=30, nx0=70)
    pairs = accuracy_difference(apply_policy(counts, "complete"))
    own = accuracy_difference(apply_policy(counts, "available"))
    assert pairs.method.tolist() == ["tango"]
    assert own.method.tolist() == ["newcombe, partly paired"]
    assert own.estimate[0] == pytest.approx(600 / 701 - 550 / 701)
    assert own.ci_low[0] < own.estimate[0] < own.ci_high[0]


def test_design_effect_widens_only_the_interval():
    counts = complete_counts(600, 83, 10, 108)
    one, wide = accuracy_difference(counts), accuracy_difference(counts, design_effect=2)
    assert one.estimate == wide.estimate
    assert wide.ci_low < one.ci_low
    assert one.ci_high < wide.ci_high


@pytest.mark.parametrize("favoured", [0, 3, 30])
def test_many_samples_of_few_items_leave_room_for_rare_items_unless_the_test_decides(
    answers_of, favoured
):
    once = answers_of(["AB"] * favoured + ["AA"] * (40 - favoured) + ["BB"] * 20)
    table = pd.concat([once.assign(sample=sample) for sample in range(8)], ignore_index=True)
    table.loc[0, "answer"] = "C"
    found = analyze(table).set_index("metric")
    own, d = found.loc["accuracy_difference"], found.loc["accuracy_difference", "estimate"]
    # A share of items up to Wilson's limit for 0 of 60 could differ as far as possible.
    low, high = with_room(d, np.inf, -np.inf, units=60, ends=(-1, 1))
    rejected = found.loc[["mcnemar"], "p_value"].min() < 0.05
    assert rejected == (favoured == 30)
    assert own["ci_low"] > 0 if rejected else own["ci_low"] <= low
    assert own["ci_high"] >= high
    assert found.loc["ad", "ci_high"] == max(-own["ci_low"], own["ci_high"])


@pytest.mark.parametrize("favoured", [0, 3, 30])
def test_with_samples_all_contrasts_of_two_groups_have_the_room_of_the_difference(
    answers_of, three_groups, favoured
):
    once = answers_of(
        ["ABB"] * favoured + ["AAA"] * (40 - favoured) + ["BBB"] * 20,
        groups=("white", "black", "asian"),
        benchmark="three",
    )
    table = pd.concat([once.assign(sample=sample) for sample in range(8)], ignore_index=True)
    found = analyze(table, benchmarks=[three_groups]).set_index(["metric", "group_a", "group_b"])
    own = found.xs(("white", "black"), level=("group_a", "group_b"))
    low, high = own["ci_low"], own["ci_high"]
    same = {"accuracy_difference": 0, "accuracy_difference_simultaneous": 0, "cohens_h": 0}
    for name, equal in (same | {"accuracy_ratio": 1}).items():
        assert (not low[name] <= equal <= high[name]) == (favoured == 30)
    # Further items could all favour one group, as far as Wilson's limit for 0 of 60 allows.
    share = rare_share(60, 0.05)
    a, b = ((1 - share) * own["estimate"][f"accuracy_{side}"] for side in "ab")
    assert high["cohens_h"] >= arcsine(a + share) - arcsine(b) - 1e-9
    assert high["accuracy_ratio"] >= (a + share) / b - 1e-9
    assert high["accuracy_difference_simultaneous"] >= high["accuracy_difference"]
    assert low["accuracy_difference_simultaneous"] <= low["accuracy_difference"]


def test_with_samples_the_range_over_two_groups_is_ad(answers_of):
    once = answers_of(["AB"] + ["AA"] * 39 + ["BB"] * 20)
    table = pd.concat([once.assign(sample=sample) for sample in range(8)], ignore_index=True)
    # Chance changes a few answers, of any item.
    table.loc[::7, "answer"] = "C"
    found = analyze(table).set_index("metric")[["estimate", "ci_low", "ci_high"]]
    assert found.loc["dp"].equals(found.loc["ad"])


def test_group_that_is_not_answered_on_a_few_items_leaves_room_for_others(answers_of):
    once = answers_of(["A-"] + ["AA"] * 59)
    table = pd.concat([once.assign(sample=sample) for sample in range(8)], ignore_index=True)
    table.loc[::37, ["answer", "status"]] = None, "unparsed"
    own = analyze(table).set_index("metric").loc["missing_difference"]
    low, _ = with_room(own["estimate"], np.inf, -np.inf, units=60, ends=(-1, 1))
    assert own["ci_low"] <= low < 0 < own["ci_high"]
