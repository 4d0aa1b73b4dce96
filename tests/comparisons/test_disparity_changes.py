"""The simulated error rates of the test of a change of AD, and what docs say of them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.serving import benchmark_script

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "disparity_changes.json"
ROWS = pd.DataFrame(json.loads(RESULTS.read_text(encoding="utf-8"))["designs"])
EQUAL = ~ROWS["signs"].str.startswith("AD")


def test_level_holds_for_equal_models_with_any_signs():
    assert ROWS.loc[EQUAL, "level"].max() < 0.065
    # Swapping absolute differences is no test of opposite signs.
    assert 0.46 <= round(ROWS.loc[EQUAL, "plain"].max(), 2) < 0.47


def test_sums_add_power_and_no_false_differences():
    unequal, several = ROWS[~EQUAL & (ROWS["items"] == 801)], ROWS[EQUAL & (ROWS["pairs"] > 1)]
    assert (unequal["level"] > 3 * unequal["before"]).all()
    assert (unequal["strict"] > 5 * unequal["strict_before"]).all()
    assert (several["level"] <= several["before"] + 0.0005).all()


def test_a_single_pair_is_tested_as_before():
    one = ROWS[ROWS["pairs"] == 1]
    assert one["level"].tolist() == one["before"].tolist()


def test_the_simulation_is_that_of_the_script():
    script = benchmark_script("disparity_changes")
    for number, (design, change) in enumerate(script.designs()):
        if design["items"] == 200 and design["signs"] in ("mixed", "AD 0.0"):
            found = script.rates(number, change, 200, 100)
            assert design == ROWS.loc[number, list(design)].to_dict()
            for name in ("level", "before", "plain"):
                assert found[name] == pytest.approx(ROWS.loc[number, name], abs=0.15)
