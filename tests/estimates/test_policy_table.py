"""The four policies side by side."""

from __future__ import annotations

import pytest

from fairstats.estimates.specifications import compare_policies


def test_policies_agree_without_missing_answers(answers_of):
    table = compare_policies(answers_of(["AB/AA"] * 20 + ["AA/AB"] * 50 + ["BA/BB"] * 10))
    known = table.dropna(subset=["estimate_available"])
    assert len(known) >= 13
    for column in ("estimate_complete", "estimate_incorrect", "lowest", "highest"):
        shown = known.dropna(subset=[column])
        assert (shown[column] - shown["estimate_available"]).abs().max() < 1e-12, column
    assert (table["n_available"] == table["n_incorrect"]).all()


def test_missing_answer_affects_each_policy_differently(answers_of):
    table = compare_policies(answers_of(["AA"] * 6 + ["A-"] * 2 + ["AB"] * 2)).set_index("metric")
    row = table.loc["accuracy_b"]
    assert row["estimate_available"] == row["estimate_complete"] == pytest.approx(6 / 8)
    assert row["estimate_incorrect"] == pytest.approx(6 / 10)
    assert (row["lowest"], row["highest"]) == pytest.approx((6 / 10, 8 / 10))
    assert (row["n_missing_a"], row["n_missing_b"]) == (0, 2)
    assert (row["n_available"], row["n_incorrect"]) == (8, 10)
    assert table.loc["cfr", "highest"] == pytest.approx(8 / 10)
