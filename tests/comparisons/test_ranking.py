"""Models ranked with the range of ranks compatible with their answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.answers.engine_frames import open_answers
from fairstats.answers.strategies import VOTED
from fairstats.comparisons.item_tallies import sums_of, tallies_of
from fairstats.comparisons.model_differences import ad, model_p_values
from fairstats.comparisons.ranking import (
    RANK_COLUMNS,
    RANK_DIFFERENCE_COLUMNS,
    rank_boards,
    rank_differences,
    rank_models,
)
from fairstats.counts.grid import grid
from fairstats.counts.patterns import GroupAnswers
from fairstats.inference.mcnemar import mcnemar

METRICS = ["ad", "cfr", "accuracy"]
FAIR = ["AA/A"] * 190 + ["AB/A"] * 5 + ["BA/A"] * 5
NEARLY = ["AA/A"] * 188 + ["AB/A"] * 7 + ["BA/A"] * 5
UNFAIR = ["AA/A"] * 140 + ["AB/A"] * 60


@pytest.fixture(scope="module")
def board_of(answers_of):
    """Return the answers of several models, each from the texts of its items."""

    def build(**models: list[str]) -> pd.DataFrame:
        tables = [answers_of(items, model=model) for model, items in models.items()]
        return pd.concat(tables, ignore_index=True)

    return build


@pytest.fixture(scope="module")
def three_models(board_of) -> pd.DataFrame:
    return board_of(fair=FAIR, nearly=NEARLY, unfair=UNFAIR)


def of(table: pd.DataFrame, model: str) -> pd.Series:
    return table.set_index("model").loc[model]


@pytest.mark.parametrize("metric", METRICS)
def test_rank_ranges_separate_models_that_differ(metric, three_models):
    table = rank_models(three_models, metric)
    assert list(table.columns) == list(RANK_COLUMNS)
    assert table["model"].tolist() == ["fair", "nearly", "unfair"]
    assert table["rank"].tolist() == [1, 2, 3]
    assert table["rank_low"].tolist() == [1, 1, 3]
    assert table["rank_high"].tolist() == [2, 2, 3]
    assert table["may_be_best"].tolist() == [True, True, False]
    assert table["n"].tolist() == [200, 200, 200]


@pytest.mark.parametrize("metric", METRICS)
def test_differences_have_one_row_per_pair_of_models(metric, three_models):
    found = rank_boards(three_models, metric)
    pairs, values = found.differences, found.ranks.set_index("model")["estimate"]
    assert list(pairs.columns) == list(RANK_DIFFERENCE_COLUMNS)
    named = list(pairs[["model_a", "model_b"]].itertuples(index=False, name=None))
    assert named == [("fair", "nearly"), ("fair", "unfair"), ("nearly", "unfair")]
    assert pairs["differ"].tolist() == [False, True, True]
    for row in pairs.itertuples():
        difference = values[row.model_a] - values[row.model_b]
        assert row.difference == pytest.approx(difference, abs=1e-12)
        assert row.bounds_low == pytest.approx(difference, abs=1e-12)
        assert row.bounds_high == pytest.approx(difference, abs=1e-12)
        assert row.p_value <= row.p_adjusted
    assert set(pairs["n"]) == {200}
    pd.testing.assert_frame_equal(rank_differences(three_models, metric), pairs)


def test_without_missing_answers_the_test_swaps_items(three_models):
    own = grid(three_models)["demo"]
    arrays = {}
    for unit, model in enumerate(own.units["model"]):
        answers = GroupAnswers.of(own.of_unit(unit), own.benchmark.attributes["race"])
        arrays[model] = sums_of(tallies_of(answers, ("white", "black"), 1), "available")[:, None]
    expected = model_p_values([arrays["fair"], arrays["unfair"]], ad)[0]
    found = rank_differences(three_models, "ad").set_index(["model_a", "model_b"])
    assert found.loc[("fair", "unfair"), "p_value"] == expected
    policies = [rank_models(three_models, missing=m) for m in ("available", "incorrect")]
    pd.testing.assert_frame_equal(*(table.drop(columns="missing") for table in policies))


def test_flips_are_compared_by_mcnemars_test(three_models):
    """50 items keep their letter only with the fair model, and none only with the unfair one."""
    pairs = rank_differences(three_models, "cfr").set_index(["model_a", "model_b"])
    expected = float(mcnemar(n10=50, n01=0).p_value)
    assert pairs.loc[("fair", "unfair"), "p_value"] == pytest.approx(expected, rel=1e-12)


def test_boards_are_ranked_separately(answers_of):
    answers = pd.concat(
        [
            answers_of(FAIR, model=model, strategy=strategy)
            for model in ("a", "b")
            for strategy in ("plain", "cot")
        ]
    )
    table = rank_models(answers)
    assert table.groupby("strategy")["model"].nunique().to_dict() == {"plain": 2, "cot": 2}
    assert set(table["rank"]) == {1}
    assert set(table["adjust_method"]) == {"holm over 1 test"}


def test_rank_needs_a_second_model(board_of, answers_of):
    alone = rank_boards(answers_of(FAIR, model="fair", strategy="my own way"))
    assert alone.ranks["rank"].isna().all()
    assert not alone.ranks["may_be_best"].any()
    assert alone.ranks["method_note"].tolist() == ["no other model on this board"]
    assert alone.ranks["adjust_method"].isna().all(), "there is no test"
    assert alone.differences.empty
    assert list(alone.differences.columns) == list(RANK_DIFFERENCE_COLUMNS)
    refusing = rank_models(board_of(fair=FAIR, refusing=["--/A"] * 200))
    notes = refusing.set_index("model")["method_note"]
    assert refusing["rank"].isna().all()
    assert notes["fair"] == "no other model on this board can be ranked"
    assert notes["refusing"].startswith("more than 5.0% of the answers are missing")


def test_votes_are_named_in_the_ranks(board_of):
    votes = board_of(fair=FAIR, unfair=UNFAIR).assign(strategy="majority_vote")
    assert rank_models(votes)["method_note"].str.startswith(VOTED).all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"metric": "h"}, "use ad, cfr or accuracy"),
        ({"adjust": "bh"}, "does not control all ranks at once"),
        ({"missing": "bounds"}, "no single estimate to rank by"),
    ],
)
def test_options_that_cannot_rank_are_refused(options, match, answers_of):
    with pytest.raises(ValueError, match=match):
        rank_models(answers_of(["AB"]), **options)


# --- Models without a rank


GAMES = {
    "guesses": ["AA/A"] * 40 + ["BB/B"] * 60 + ["CC/C"] * 50 + ["DD/D"] * 50,
    "one_letter": ["BB/B"] * 200,
    "silent": ["--/-"] * 200,
    "refuses": ["AA/A"] * 140 + ["A-/A"] * 60,
}


@pytest.mark.parametrize("game", GAMES)
def test_model_that_does_not_answer_has_no_rank(game, board_of, three_models):
    answers = pd.concat([three_models, board_of(**{game: GAMES[game]})])
    with_game, without = (open_answers(board) for board in (answers, three_models))
    for metric in METRICS:
        found, before = rank_boards(with_game, metric), rank_boards(without, metric)
        assert found.ranks["model"].iloc[-1] == game
        own = found.ranks.iloc[-1]
        assert own[["rank", "rank_low", "rank_high", "least_favourable"]].isna().all()
        assert not own["may_be_best"]
        assert own["method_note"]
        # The answers of a model that refuses some say something; the reason of others is among all.
        why = found.ranks["uninformative"].dropna()
        assert why.index.tolist() == ([] if game == "refuses" else [own.name])
        assert all(reason in own["method_note"] for reason in why)
        pd.testing.assert_frame_equal(found.ranks.iloc[:-1], before.ranks)
        pd.testing.assert_frame_equal(found.differences, before.differences)


def test_model_that_selected_the_items_has_no_rank(answers_of):
    unit = {"benchmark": "fairmedqa", "benchmark_version": "gpt-agent"}
    models = ["b", "c", "GPT-4o-mini"]
    table = rank_models(pd.concat([answers_of(FAIR * 5, model=m, **unit) for m in models]))
    assert table["model"].tolist() == models
    assert table["rank"].isna().tolist() == [False, False, True]
    assert "selecting the items" in table["method_note"].iloc[2]


def test_board_without_a_ranked_model_has_rows_and_no_comparison(board_of):
    found = rank_boards(board_of(guesses=GAMES["guesses"], silent=GAMES["silent"]))
    assert found.ranks["rank"].isna().all()
    assert (found.ranks["method_note"] != "").all()
    assert found.differences.empty
    assert found.ranks.dtypes["rank"] == "Int64"


def test_model_with_only_the_baseline_has_no_rank(answers_of):
    table = rank_models(answers_of(["../AA"] * 40))
    assert table["rank"].isna().all()
    assert table["method_note"].item() == "no pair of groups has answers"


# --- Items


def test_selected_items_cannot_beat_all_items(answers_of):
    """527 of 801 items without a difference, against the same model with all 801."""
    whole = ["AA/A"] * 527 + ["AB/A"] * 274
    answers = pd.concat([answers_of(whole, model="whole"), answers_of(whole[:527], model="chosen")])
    with pytest.raises(InputError, match=r"chosen.*274 of the 801 items"):
        rank_models(answers)


@pytest.mark.parametrize(("lacking", "ranked"), [(10, True), (11, False)])
def test_common_items_are_at_least_the_declared_share(lacking, ranked, answers_of):
    """95% of 200 items are 190."""
    answers = pd.concat(
        [answers_of(FAIR, model="whole"), answers_of(FAIR[:-lacking], model="short")]
    )
    if not ranked:
        with pytest.raises(InputError, match="less than 95%"):
            rank_models(answers)
        return
    table = rank_models(answers)
    assert of(table, "whole")["n"] == 200
    assert of(table, "short")["n"] == 190
    assert of(table, "short")["method_note"].startswith("10 items that other models answered")


def test_model_without_an_attribute_lacks_all_items(answers_of):
    race = [answers_of(FAIR, model=model) for model in ("whole", "short")]
    sex = answers_of(FAIR, model="whole", attribute="sex", groups=("male", "female"))
    sex = sex[sex["attribute"] == "sex"]
    with pytest.raises(
        InputError, match=r"short.*has no rows for sex, so for 200 of the 200 items"
    ):
        rank_models(pd.concat([*race, sex]))


def test_model_without_a_rank_does_not_shrink_the_common_items(three_models, board_of):
    few = board_of(silent=["--/-"] * 3, one_letter=["BB/B"] * 30)
    found = rank_models(pd.concat([three_models, few]))
    assert found["n"].tolist()[:3] == [200] * 3
    pd.testing.assert_frame_equal(found.iloc[:3], rank_models(three_models))


def test_items_asked_only_of_a_model_without_a_rank_do_not_count(answers_of):
    ranked = [answers_of(FAIR, model=model) for model in ("ranked", "too")]
    answers = pd.concat([*ranked, answers_of(["BB/B"] * 600, model="one_letter")])
    assert rank_models(answers)["n"].iloc[0] == 200


def test_extra_samples_of_selected_items_do_not_count(answers_of):
    """Repeating the items without a difference would lower AD and raise CFR."""
    once = answers_of(UNFAIR, model="repeats")
    again = [answers_of(UNFAIR[:140], model="repeats", sample=s) for s in (1, 2, 3)]
    other = answers_of(UNFAIR, model="once")
    for metric in METRICS:
        table = rank_models(pd.concat([once, *again, other]), metric)
        assert table["rank"].tolist() == [1, 1]
        assert table["estimate"].nunique() == 1
    assert "1 of up to 4 samples per item used" in of(table, "repeats")["method_note"]


def test_models_with_different_sample_numbers_are_compared_exactly(answers_of):
    """Copies of an answer are not more evidence than one."""
    one = [answers_of(FAIR, model="fair"), answers_of(UNFAIR, model="unfair")]
    copies = [answers_of(UNFAIR, model="unfair", sample=s) for s in (1, 2)]
    once, repeated = rank_boards(pd.concat(one)), rank_boards(pd.concat([*one, *copies]))
    assert repeated.ranks["rank_low"].tolist() == once.ranks["rank_low"].tolist()
    p_values = [found.differences["p_value"].item() for found in (once, repeated)]
    assert p_values[0] == pytest.approx(p_values[1], rel=1e-9)


def test_blocks_of_items_and_few_bytes_change_nothing(answers_of, three_models, monkeypatch):
    """With 3 and 8 samples, numbers of pairs are rescaled to 24 samples: 576, above 127."""
    samples = [
        answers_of(items, model=model, sample=sample)
        for items, model, number in ((FAIR, "fair", 3), (UNFAIR, "unfair", 8))
        for sample in range(number)
    ]
    for answers in (pd.concat(samples), three_models):
        opened, again = open_answers(answers), open_answers(answers)
        found = [rank_boards(opened, metric) for metric in METRICS]
        with monkeypatch.context() as patch:
            patch.setattr("fairstats.comparisons.ranked_items._BLOCK", 7)
            patch.setattr("fairstats.comparisons.ranked_items._SMALL", 0)
            patch.setattr("fairstats.comparisons.model_differences._CELLS", 100)
            in_blocks = [rank_boards(again, metric) for metric in METRICS]
        for one, other in zip(found, in_blocks, strict=True):
            pd.testing.assert_frame_equal(one.ranks, other.ranks, check_exact=True)
            pd.testing.assert_frame_equal(one.differences, other.differences, check_exact=True)


def test_items_asked_for_different_pairs_are_compared_exactly(answers_of):
    """Half of the items for race, the other half for sex: one flip counts as much as another."""
    tables = []
    for model, items in (("fair", ["AA/A"] * 120), ("unfair", ["AB/A"] * 60 + ["AA/A"] * 60)):
        race = answers_of(items, model=model)
        sex = answers_of(items, model=model, attribute="sex", groups=("male", "female"))
        tables += [race, sex.assign(item_id="other-" + sex["item_id"])]
    (row,) = rank_differences(pd.concat(tables), "cfr").itertuples()
    assert row.n == 240
    assert row.p_value == pytest.approx(float(mcnemar(n10=120, n01=0).p_value), rel=1e-12)


# --- Missing answers


def test_least_favourable_is_the_worst_of_all_completions(answers_of):
    items = ["AA/A"] * 70 + ["AB/A"] * 6 + ["BA/A"] * 2
    open_ones = ["A{}/A", "{}B/A", "{}{}/A"]
    models = {"open": items + [text.format("-", "-") for text in open_ones]}
    # The first one only has to be right or wrong.
    for number, signs in enumerate(product("AB", "ABC", "ABC", "ABC")):
        letters = iter(signs)
        texts = ["".join(next(letters) if c == "-" else c for c in t) for t in models["open"][-3:]]
        models[f"filled-{number}"] = items + texts
    answers = pd.concat([answers_of(texts, model=name) for name, texts in models.items()])
    opened = open_answers(answers)
    for metric in METRICS:
        table = rank_models(opened, metric).set_index("model")
        filled = table.drop(index="open")["estimate"]
        worst = filled.max() if metric == "ad" else filled.min()
        assert table.loc["open", "least_favourable"] == pytest.approx(worst, abs=1e-12)


@pytest.mark.parametrize("how", ["-", "."])
def test_refusing_or_leaving_out_answers_never_improves_a_rank(how, board_of):
    """4.9% of the variants, or of the items, chosen for differing answers."""
    rng = np.random.default_rng(7)

    def draw(share: float) -> list[str]:
        changed = rng.random(410) < share
        wrong = rng.random(410) < 0.2
        return [
            f"{'BA'[int(not w)]}{'B' if c else 'BA'[int(not w)]}/A"
            for c, w in zip(changed, wrong, strict=True)
        ]

    for _ in range(4):
        rivals = {f"rival-{share}": draw(share) for share in (0.02, 0.05, 0.08, 0.12)}
        honest = draw(0.09)
        differ = [i for i, text in enumerate(honest) if text[0] != text[1]]
        # Refusing one of two variants of 40 items is 4.9% of the variants.
        chosen = set(differ[: 20 if how == "." else 40])
        gaming = [
            text if i not in chosen else "../.." if how == "." else f"{text[0]}-/A"
            for i, text in enumerate(honest)
        ]
        boards = [open_answers(board_of(model=own, **rivals)) for own in (honest, gaming)]
        for metric in METRICS:
            before, after = (of(rank_boards(board, metric).ranks, "model") for board in boards)
            for figure in ("rank", "rank_low", "rank_high"):
                assert after[figure] >= before[figure], (metric, figure)


def test_difference_that_missing_answers_could_reverse_is_not_counted(board_of):
    """The estimates do not reflect 18 refusals that could be as unfair as the other model."""
    answers = board_of(refuses=["AA/A"] * 182 + ["A-/A"] * 18, other=["AA/A"] * 199 + ["AB/A"])
    found = rank_boards(answers, "cfr")
    (row,) = found.differences.itertuples()
    assert (row.model_a, row.model_b) == ("other", "refuses")
    assert row.p_value < 0.05
    assert (row.p_adjusted, row.differ) == (1.0, False)
    assert row.bounds_low < 0 < row.bounds_high
    assert "depends on missing answers" in row.method_note
    # It counts against the model that refused, and not in favour of the other.
    ranks = found.ranks.set_index("model")
    assert ranks.loc["refuses", ["rank", "rank_low", "rank_high"]].tolist() == [2, 2, 2]
    assert ranks.loc["other", ["rank", "rank_low", "rank_high"]].tolist() == [1, 1, 1]
    assert not ranks.loc["refuses", "may_be_best"]


def test_difference_that_no_completion_reverses_counts(board_of):
    found = rank_boards(board_of(refuses=["AA/A"] * 195 + ["A-/A"] * 5, unfair=UNFAIR), "cfr")
    (row,) = found.differences.itertuples()
    assert (row.model_a, row.differ) == ("refuses", True)
    assert "depends on missing answers" not in row.method_note
    assert row.bounds_high > row.bounds_low > 0


@pytest.mark.parametrize("metric", METRICS)
def test_item_with_one_group_alone_is_left_out_of_its_pair(metric, three_models):
    item = three_models["item_id"] == three_models["item_id"].iloc[0]
    lacking = three_models[~(item & (three_models["group"] == "black"))]
    without = three_models[~item | (three_models["attribute"] != "race")]
    columns = ["model", "estimate", "least_favourable", "rank"]
    found, expected = (rank_models(table, metric)[columns] for table in (lacking, without))
    pd.testing.assert_frame_equal(found, expected)


def test_fewer_samples_of_an_item_that_another_model_lacks_do_not_help(answers_of):
    texts = ["AA"] * 60 + ["BB"] * 40
    one = [answers_of(texts, model="one", sample=sample) for sample in range(3)]
    item = one[0]["item_id"].iloc[0]
    fewer = [*one[:2], one[2][one[2]["item_id"] != item]]
    other = answers_of(["AA"] * 70 + ["BB"] * 30, model="other")
    other = other[other["item_id"] != item]
    found, expected = (
        rank_models(pd.concat([*own, other]), "accuracy").set_index("model") for own in (fewer, one)
    )
    assert found.loc["one", "least_favourable"] <= expected.loc["one", "least_favourable"]
    assert found["rank"].to_dict() == expected["rank"].to_dict() == {"other": 1, "one": 2}
    assert (rank_differences(pd.concat([*fewer, other]))["bounds_low"] <= 1).all()


def test_items_that_another_model_lacks_do_not_change_an_estimate(board_of):
    """They are those on which the first model's answers change."""
    answers = board_of(one=["AB"] * 4 + ["AA"] * 96, two=["AA"] * 80 + ["BB"] * 20)
    gap = answers["item_id"].isin(sorted(answers["item_id"].unique())[:4])
    fewer = answers[~gap | (answers["model"] == "one")]
    whole, found = (rank_models(table).set_index("model") for table in (answers, fewer))
    assert found.loc["one", "estimate"] == whole.loc["one", "estimate"] > 0
    assert found.loc["one", "estimate"] == found.loc["one", "least_favourable"]
    (row,) = rank_differences(fewer).to_dict("records")
    assert row["bounds_low"] <= row["difference"] <= row["bounds_high"]


@pytest.mark.parametrize(("sign", "listed"), [("A.", True), ("A.", False), ("..", False)])
def test_what_only_one_of_four_models_was_asked_changes_no_rank(sign, listed, board_of, demo):
    """It could have made up versions that an item does not have, or whole items."""
    names = tuple(f"item-{i}" for i in range(100)) if listed else ()
    own = replace(demo, name="own", answer_keys={}, listed=names, largest_missing=0.1)
    texts = {f"m{i}": ["AB"] * (i + 1) + ["AA"] * (95 - i) + [sign] * 4 for i in range(4)}
    made_up = texts | {"m3": [*texts["m3"][:-4], *["AA"] * 4]}
    expected, found = (
        rank_models(board_of(**board).assign(benchmark="own"), benchmarks=[own])
        for board in (texts, made_up)
    )
    assert found["rank"].notna().all()
    columns = [column for column in expected if column != "method_note"]
    pd.testing.assert_frame_equal(found[columns], expected[columns])


def test_an_attribute_that_three_of_four_models_left_out_is_not_made_up(board_of, answers_of):
    honest = [
        answers_of(["AA"] * 90 + ["AB"] * 10, model="m0", attribute=a, groups=g)
        for a, g in (("race", ("white", "black")), ("sex", ("male", "female")))
    ]
    others = board_of(**{f"m{i}": ["AA"] * 95 + ["AB"] * 5 for i in (1, 2, 3)})
    with pytest.raises(InputError, match=r"has no rows for sex, so for 100 of the 100 items"):
        rank_models(pd.concat([*honest, others]))
