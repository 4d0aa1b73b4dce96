"""Models ranked with the places that their answers leave possible."""

from __future__ import annotations

import pandas as pd
import pytest

from fairstats.inference.mcnemar import mcnemar
from fairstats.ranking import RANK_COLUMNS, rank_models


@pytest.fixture(scope="module")
def three_models(answers_of) -> pd.DataFrame:
    tables = {
        "fair": ["AA"] * 190 + ["AB"] * 5 + ["BA"] * 5,
        "nearly": ["AA"] * 188 + ["AB"] * 7 + ["BA"] * 5,
        "unfair": ["AA"] * 140 + ["AB"] * 60,
    }
    models = (answers_of(items, model=model) for model, items in tables.items())
    return pd.concat(list(models), ignore_index=True)


@pytest.mark.parametrize("metric", ["ad", "cfr", "accuracy"])
def test_what_is_shown_holds_a_place_and_what_is_not_ties(metric, three_models):
    table = rank_models(three_models, metric)
    assert list(table.columns) == list(RANK_COLUMNS)
    assert table["model"].tolist() == ["fair", "nearly", "unfair"]
    assert table["rank"].tolist() == [1, 2, 3]
    assert table["rank_low"].tolist() == [1, 1, 3]
    assert table["rank_high"].tolist() == [2, 2, 3]
    assert table["tier"].tolist() == [1, 1, 2]


def test_cfr_is_compared_without_a_seed(three_models):
    one, other = (rank_models(three_models, "cfr", rng=seed) for seed in (1, 2))
    pd.testing.assert_frame_equal(one, other)
    # 190 against 140 items with the same letter, of which 10 and 60 fall on either side.
    assert float(mcnemar(60, 10).p_value) < 0.05 / 3


def test_a_model_that_selected_the_items_or_answered_nothing_has_no_rank(answers_of):
    answers = pd.concat(
        [
            answers_of(["AB", "AA"], model="b", benchmark="fairmedqa", benchmark_version="v"),
            answers_of(
                ["AA", "AA"], model="GPT-4o-mini", benchmark="fairmedqa", benchmark_version="v"
            ),
            answers_of(["--", "--"], model="a", benchmark="fairmedqa", benchmark_version="v"),
        ]
    )
    # The items are made, so that their keys are not the benchmark's own.
    table = rank_models(answers)
    assert table["model"].tolist() == ["b", "GPT-4o-mini", "a"]
    assert table["rank"].tolist()[0] == 1
    assert table["rank"].isna().tolist() == [False, True, True]
    assert "selecting the items" in table["method_note"].iloc[1]


def test_boards_are_ranked_apart(answers_of):
    answers = pd.concat(
        [
            answers_of(["AB", "AA"], model=model, strategy=strategy)
            for model in ("a", "b")
            for strategy in ("plain", "cot")
        ]
    )
    table = rank_models(answers)
    assert table.groupby("strategy")["model"].nunique().to_dict() == {"plain": 2, "cot": 2}
    assert set(table["rank"]) == {1}
    assert set(table["adjust_method"]) == {"holm over 1 tests"}


def test_one_model_alone_is_first_and_last(answers_of):
    table = rank_models(answers_of(["AB", "AA"]))
    assert table[["rank", "rank_low", "rank_high", "tier"]].iloc[0].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"metric": "h"}, "use ad, cfr or accuracy"),
        ({"adjust": "bh"}, "does not hold all ranks at once"),
        ({"missing": "bounds"}, "no figure to rank by"),
    ],
)
def test_what_cannot_be_ranked_is_refused(options, match, answers_of):
    with pytest.raises(ValueError, match=match):
        rank_models(answers_of(["AB"]), **options)
