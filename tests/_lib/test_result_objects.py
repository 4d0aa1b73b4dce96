"""Results: their text, table and unpacking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from fairstats._lib.result_objects import Tabular
from fairstats.inference.differences import difference_interval
from fairstats.inference.intervals import tango
from fairstats.inference.letters import bowker
from fairstats.inference.mcnemar import mcnemar


@dataclass(frozen=True, repr=False)
class Named(Tabular):
    label: str
    value: float


def test_single_result_is_shown_as_numbers():
    assert repr(mcnemar(1, 1, 7, 12)) == (
        "TestResult(statistic=1, p_value=0.0390625, method='midp')"
    )
    assert mcnemar(1, 1, 7, 12).summary().splitlines() == [
        "statistic  1",
        "p_value    0.0390625",
        "method     'midp'",
    ]


def test_several_results_are_shown_as_lists_and_rows():
    found = tango([1, 2], 1, 7, 12)
    shown = repr(found)
    assert shown.startswith("Estimate(estimate=[-0.285714, -0.272727], ci_low=[")
    assert "array" not in shown
    head, *rows = found.summary().splitlines()
    assert head.split() == ["estimate", "ci_low", "ci_high", "ci_level", "method", "n"]
    assert [row.split()[-1] for row in rows] == ["21", "22"]


def test_many_results_are_shortened():
    shown = repr(tango(np.arange(1000), 1, 7, 12))
    assert "..." in shown
    assert len(shown) < 600


def test_limits_and_tests_are_unpacked():
    low, high = difference_interval(1, 1, 7, 12).ci
    assert low < high
    statistic, p_value = mcnemar(n10=1, n01=7)
    assert (statistic, p_value) == (1, 0.0390625)
    assert bowker([[1, 2], [3, 4]]).df == 1


def test_missing_degrees_of_freedom_are_not_shown():
    assert list(mcnemar(1, 1, 7, 12).to_frame()) == ["statistic", "p_value", "method"]
    assert list(bowker([[1, 2], [3, 4]]).to_frame()) == ["statistic", "p_value", "method", "df"]


@pytest.mark.parametrize("found", [tango(1, 1, 7, 12), tango([1, 2], 1, 7, 12)])
def test_notebooks_show_a_table(found):
    shown = found._repr_html_()
    assert shown.count("<table") == 1
    assert "ci_low" in shown
    assert "-0.5172" in shown


def test_text_in_a_notebook_is_escaped():
    assert "<script>" not in Named("<script>alert(1)</script>", 1.0)._repr_html_()


def test_estimates_table_has_the_name_of_an_intervals_method():
    found = tango(1, 1, 7, 12)
    assert "ci_method" in found.to_row()
    assert "ci_method" in found.to_estimates()
