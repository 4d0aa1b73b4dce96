"""The counterfactual fairness rate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats import analyze
from fairstats.inference.intervals import wilson
from fairstats.metrics.cfr import cfr


def test_cfr_is_the_share_of_pairs_with_one_letter():
    result, interval = cfr([701, 0, 5], [801, 3, 5]), wilson([701, 0, 5], [801, 3, 5])
    np.testing.assert_array_equal(result.estimate, [701 / 801, 0, 1])
    np.testing.assert_array_equal(
        [result.ci_low, result.ci_high], [interval.ci_low, interval.ci_high]
    )


def test_without_pairs_cfr_is_nan_between_0_and_1():
    result = cfr(0, 0)
    assert np.isnan(result.estimate)
    assert (result.ci_low, result.ci_high, result.n) == (0, 1, 0)


def test_more_equal_pairs_than_pairs_are_refused():
    with pytest.raises(ValueError, match="exceed"):
        cfr(2, 1)


def test_many_samples_of_few_items_leave_room_for_items_that_the_group_changes(answers_of):
    once = answers_of(["AA"] * 58 + ["BB", "CC"])
    table = pd.concat([once.assign(sample=sample) for sample in range(8)], ignore_index=True)
    table.loc[0, "answer"] = "B"
    found = analyze(table, alpha=0.05).set_index("metric").loc["cfr"]
    # A share of items up to Wilson's limit for 0 of 60 could change.
    assert found["ci_low"] == pytest.approx(found["estimate"] * float(wilson(60, 60).ci_low))
    assert "room for rare" in found["ci_method"]
    single = analyze(once).set_index("metric").loc["cfr"]
    assert single["ci_low"] == pytest.approx(float(wilson(60, 60).ci_low))
    assert "room" not in single["ci_method"]


def test_room_for_rare_items_hardly_depends_on_unequal_numbers_of_samples(answers_of):
    once = answers_of(["AA"] * 58 + ["AB", "CA"])
    equal = pd.concat([once.assign(sample=sample) for sample in range(7)], ignore_index=True)
    # The least common multiple of the numbers is 420.
    least = {item: 3 + place % 5 for place, item in enumerate(once["item_id"].unique())}
    unequal = equal[equal["sample"] < equal["item_id"].map(least)]
    widths = [
        float(own["ci_high"] - own["ci_low"])
        for own in (analyze(table).set_index("metric").loc["cfr"] for table in (equal, unequal))
    ]
    assert widths[1] < 1.5 * widths[0]
