"""The variation of gaps over models, from answers."""

from __future__ import annotations

import pandas as pd
import pytest

from fairstats.estimates.gap_heterogeneity import HETEROGENEITY_COLUMNS, gap_heterogeneity
from fairstats.estimates.item_functioning import item_functioning
from fairstats.inference.variance_components import gap_components
from tests.estimates.test_item_functioning import answers_of, random_letters


def test_rows_are_the_components_of_the_matrix_of_differences():
    answers = answers_of(random_letters(2))
    table = gap_heterogeneity(answers, alpha=0.1)
    assert list(table) == list(HETEROGENEITY_COLUMNS)
    right = answers.assign(right=(answers["answer"] == answers["answer_key"]).astype(int))
    wide = right.pivot_table("right", ["item_id", "group"], "model").unstack("group")
    matrix = wide.xs("white", axis=1, level=1) - wide.xs("black", axis=1, level=1)
    expected = gap_components(matrix, alpha=0.1)
    row = table.iloc[0]
    for name in ("estimate", "ci_low", "ci_high", "model_variance", "new_items_high", "n_models"):
        assert row[name] == pytest.approx(getattr(expected, name)), name


def test_estimate_is_the_gap_of_the_item_contributions():
    answers = answers_of(random_letters(4), strategies=("plain", "cot"), samples=2)
    items = item_functioning(answers)
    table = gap_heterogeneity(answers)
    assert table["estimate"].item() == pytest.approx(items["gap"].iloc[0])
    assert (table["n_items"].item(), table["n_models"].item()) == (6, 7)


def test_no_pairs_give_no_rows():
    table = gap_heterogeneity(answers_of(lambda *_: None), missing="complete")
    assert list(table) == list(HETEROGENEITY_COLUMNS)
    assert table.empty
    assert isinstance(table, pd.DataFrame)


def test_single_model_tells_nothing_about_others():
    answers = answers_of(random_letters(5))
    row = gap_heterogeneity(answers[answers["model"] == "m-1"]).iloc[0]
    assert (row["same_items_low"], row["same_items_high"]) == (-1, 1)
