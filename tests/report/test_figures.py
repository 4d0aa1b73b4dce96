"""How figures with their limits are written."""

from __future__ import annotations

import math

import pytest

from fairstats.benchmarks.kinds import KINDS
from fairstats.report.words import UNKNOWN, figure_of


def row(metric: str, estimate: float, low: float, high: float, method: str = "wald") -> dict:
    limits = {"ci_low": low, "ci_high": high, "ci_method": method}
    return {"metric": metric, "estimate": estimate, **limits}


@pytest.mark.parametrize(
    ("kind", "metric", "values", "text"),
    [
        ("choice", "accuracy_difference", (0.0312, -0.01, 0.0724), "+3.1 (−1.0 to +7.2)"),
        ("choice", "cfr", (0.919, 0.898, 0.936), "91.9 (89.8–93.6)"),
        ("level", "level_difference", (-0.142, -0.2, 0.001), "−0.14 (−0.20 to 0.00)"),
        ("level", "level_a", (2.547, 2.4, 2.7), "2.55 (2.40 to 2.70)"),
        ("level", "net_moved", (0.1, 0.05, 0.15), "+10.0 (+5.0 to +15.0)"),
        ("decision", "selection_ratio", (0.75, 0.5, math.inf), "0.75 (0.50 to ∞)"),
        ("score", "standardized_difference", (0.2, -0.1, 0.5), "+0.20 (−0.10 to +0.50)"),
    ],
)
def test_metrics_are_written_in_their_unit(kind, metric, values, text):
    assert figure_of(KINDS[kind], row(metric, *values)).written() == text


def test_limits_without_an_estimate_are_a_range_only_under_bounds():
    values = ("cfr", math.nan, 0.5, 0.75)
    assert figure_of(KINDS["choice"], row(*values, "bounds")).written("%") == "range (50.0–75.0)%"
    assert figure_of(KINDS["choice"], row(*values)).written() == "not known (50.0–75.0)"
    assert UNKNOWN.written() == "not known"
    assert figure_of(KINDS["choice"], None) is UNKNOWN


def test_unit_follows_the_estimate_and_a_cell_can_be_broken():
    figure = figure_of(KINDS["choice"], row("cfr", 0.9, 0.8, 0.95))
    assert figure.written("%") == "90.0% (80.0–95.0)"
    assert figure.cell() == "90.0 <small>(80.0–95.0)</small>"
    assert figure.cell(strong=True, broken=True).startswith("<strong>90.0</strong><br><small>")
