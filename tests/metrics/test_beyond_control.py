"""Which control pairs the test of changes beyond controls exchanges."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.metrics.beyond_control import compare_changes, of_all_pairs, without_shared


def test_pairs_that_share_a_group_are_not_exchanged():
    assert without_shared([("a", "b"), ("a", "c"), ("c", "d"), ("b", "d")]) == [1, 0, 1, 0]
    found = compare_changes(np.array([[1.0, 0, 0]] * 5), np.arange(5), [True, False], 1.0, 0.05)
    assert found["p_value"] == pytest.approx(2 * 0.5**5 / 2)


def test_items_without_a_pair_to_exchange_are_no_evidence():
    changed = np.array([[1.0, np.nan, 0]] * 5)
    found = compare_changes(changed, np.arange(5), [True, False], 1.0, 0.05)
    assert found["p_value"] == 1
    assert found["test"] == "none (these items have no control pair to exchange)"
    changed[:2, 1] = 0
    found = compare_changes(changed, np.arange(5), [True, False], 1.0, 0.05)
    assert found["p_value"] == pytest.approx(2 * 0.5**2 / 2)
    assert found["method_note"].endswith("the test uses 2 of 5 units")


def test_no_answers_have_a_reason():
    found = compare_changes(np.full((3, 2), np.nan), np.arange(3), [True], 1.0, 0.05)
    assert (found["p_value"], found["test"]) == (1, "none (no answers)")


def test_all_pairs_are_tested_by_bonferroni():
    assert of_all_pairs([0.01, 0.4, 1.0])["p_value"] == pytest.approx(0.03)
    assert of_all_pairs([0.6, 1.0])["p_value"] == 1
