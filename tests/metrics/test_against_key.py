"""Figures against a key: which value is best, as exports state it."""

from __future__ import annotations

import pytest

from fairstats.metrics.registry import METRICS


@pytest.mark.parametrize(
    ("name", "lowest", "ideal"),
    [
        ("true_positive_rate_a", 0, 1),
        ("false_positive_rate_b", 0, 0),
        ("too_high_a", 0, 0),
        ("signed_error_a", None, 0),
        ("absolute_error_b", 0, 0),
        ("absolute_error_difference", None, 0),
        ("true_positive_rate_difference", -1, 0),
    ],
)
def test_best_and_lowest_value(name, lowest, ideal):
    assert (METRICS[name].lowest, METRICS[name].ideal) == (lowest, ideal)
