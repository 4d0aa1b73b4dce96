"""The table of smallest margins, and that no margin will do for a model that guesses."""

from __future__ import annotations

import pandas as pd
import pytest

from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.specifications import (
    MARGIN,
    MARGIN_COLUMNS,
    SMALLEST,
    sensitivity_of,
    smallest_margins,
)

MODELS = {
    "fair": ["AA/A"] * 300 + ["AB/A"] * 4 + ["BA/A"] * 3,
    "unanswered": ["AA/A"] * 300 + ["A-/A"] * 6 + ["BA/A"] * 3,
    "unfair": ["AA/A"] * 200 + ["AB/A"] * 90,
    "guessing": ["BB/B"] * 200 + ["AA/A"] * 50,
}


@pytest.fixture(scope="module")
def answers(answers_of) -> pd.DataFrame:
    return pd.concat([answers_of(items, model=model) for model, items in MODELS.items()])


@pytest.fixture(scope="module")
def margins(answers) -> pd.Series:
    found = smallest_margins(answers)
    assert tuple(found) == MARGIN_COLUMNS
    assert set(found["attribute"]) == {"race"}
    return found.set_index("model")


def test_missing_answers_widen_the_margin(margins):
    fair, unanswered = margins.loc["fair"], margins.loc["unanswered"]
    assert fair["smallest_margin"] == pytest.approx(fair[["ci_low", "ci_high"]].abs().max())
    assert unanswered["smallest_margin"] > unanswered[["ci_low", "ci_high"]].abs().max()


def test_no_margin_makes_a_guessing_model_equivalent(margins):
    assert pd.isna(margins.loc["guessing", "smallest_margin"])


def test_margins_are_those_of_the_sensitivity_table(answers, margins):
    known = {"fairmedqa": load_benchmark("fairmedqa")}
    table = sensitivity_of(answers, None, 0.05, known)
    smallest = table[
        (table["aspect"] == MARGIN) & (table["choice"] == SMALLEST) & (table["attribute"] == "race")
    ].set_index("model")["estimate"]
    pd.testing.assert_series_equal(smallest, margins["smallest_margin"], check_names=False)
