"""Statistics of items, compared with the estimates, McNemar's test and variance components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable

import fairstats
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.item_statistics import (
    FEWEST_MODELS,
    HETEROGENEITY_COLUMNS,
    ITEM_FUNCTIONING_COLUMNS,
    gap_heterogeneity,
    item_functioning,
    released_items,
)
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.variance_components import gap_components
from tests.make_answers import make_answers

DEMO = load_benchmark("demo")
GROUPS = ["white", "black"]
KEYS = dict(list(DEMO.answer_keys.items())[:6])


def answers_of(letters, *, strategies=("plain",), samples=1):
    """Build answers to both variants of the first items; `letters(model, item, group)`."""
    models = [f"m-{n}" for n in range(1, 8)]
    frame = make_answers(["AA"] * len(KEYS), of=DEMO, models=models, strategies=strategies)
    frame = frame.loc[frame.index.repeat(samples)].reset_index(drop=True)
    frame["sample"] = frame.index % samples
    cells = zip(*(frame[name] for name in ("model", "item_id", "group")), strict=True)
    return frame.assign(answer=[letters(*cell) for cell in cells])


def random_letters(seed, missing=0.0):
    rng = np.random.default_rng(seed)
    return lambda *_: None if rng.random() < missing else str(rng.choice(list("AABCD")))


def test_equal_answers_have_no_gap_and_p_of_1():
    table = item_functioning(answers_of(lambda model, item, *_: KEYS[item]))
    assert (table["gap"] == 0).all()
    assert (table["contribution"] == 0).all()
    assert table["share"].isna().all()
    assert table["odds_ratio"].isna().all()
    assert (table[["p_value", "p_holm", "p_bh"]] == 1).all(axis=None)


def test_single_model_and_item_have_p_of_1():
    answers = answers_of(lambda model, item, group, *_: KEYS[item] if group == "white" else "E")
    answers = answers[(answers["model"] == "m-1") & (answers["item_id"] == next(iter(KEYS)))]
    row = item_functioning(answers.replace({"answer": {"E": None}}), missing="incorrect").iloc[0]
    assert (row["gap"], row["contribution"], row["share"]) == (1, 1, 1)
    assert (row["p_value"], row["least_p"], row["models"], row["n"]) == (1, 1, 1, 1)


def test_pair_without_any_answer_has_no_rows():
    table = item_functioning(answers_of(lambda *_: None), missing="available")
    assert list(table) == list(ITEM_FUNCTIONING_COLUMNS)
    assert table.empty


@pytest.mark.parametrize(("missing", "samples"), [("complete", 3), ("incorrect", 1)])
def test_contributions_add_up_to_the_mean_estimate_of_the_models(missing, samples):
    strategies = ("plain", "cot")
    answers = answers_of(random_letters(3, 0.1), strategies=strategies, samples=samples)
    # A model with one strategy has the same weight as the others.
    answers = answers[(answers["model"] != "m-2") | (answers["strategy"] == "plain")]
    table = item_functioning(answers, missing=missing)
    found = fairstats.analyze(answers, missing)
    found = found[(found["metric"] == "accuracy_difference") & found["test"].isna()]
    gap = found.groupby("model")["estimate"].mean().mean()
    assert table["contribution"].sum() == pytest.approx(gap)
    assert table["gap"].to_numpy() == pytest.approx(gap)
    assert table["share"].sum() == pytest.approx(1)
    assert table["contribution"].mul(np.sign(gap)).round(12).is_monotonic_decreasing


def pooled_odds_ratio(strata) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(StratifiedTable(np.moveaxis(np.array(strata), 0, -1)).oddsratio_pooled)


def test_one_answer_per_variant_gives_mcnemars_test_and_the_mantel_haenszel_odds_ratio():
    answers = answers_of(random_letters(5))
    table = item_functioning(answers).set_index("item_id")
    right = answers.assign(right=answers["answer"] == answers["answer_key"])
    for item, own in right.groupby("item_id"):
        wide = own.pivot_table("right", "model", "group", aggfunc="first").astype(int)
        strata = [[[a, 1 - a], [b, 1 - b]] for a, b in wide[GROUPS].to_numpy()]
        row, change = table.loc[item], wide["white"] - wide["black"]
        expected = mcnemar(n10=(change > 0).sum(), n01=(change < 0).sum(), method="exact")
        assert row["p_value"] == pytest.approx(float(expected.p_value))
        np.testing.assert_equal(row["odds_ratio"], pooled_odds_ratio(strata))
        assert row["estimate"] == pytest.approx((wide["white"] - wide["black"]).mean())


def test_odds_ratio_of_samples_is_that_of_answer_sets_as_strata():
    answers = answers_of(random_letters(6), samples=4)
    table = item_functioning(answers).set_index("item_id")
    right = answers.assign(right=answers["answer"] == answers["answer_key"])
    for item, own in right.groupby("item_id"):
        sums = own.pivot_table("right", "model", "group", aggfunc="sum")
        strata = [[[a, 4 - a], [b, 4 - b]] for a, b in sums[GROUPS].to_numpy()]
        assert table.loc[item, "odds_ratio"] == pytest.approx(pooled_odds_ratio(strata))


def test_answer_set_counts_once_whatever_its_samples():
    answers = answers_of(random_letters(6))
    one = answers[answers["model"] == "m-1"]
    often = pd.concat([answers, *(one.assign(sample=sample) for sample in range(1, 10))])
    pd.testing.assert_frame_equal(item_functioning(often), item_functioning(answers))


def test_answer_set_counts_with_its_share_of_pairs_of_samples():
    answers = answers_of(random_letters(6), samples=3)
    # One model has a single sample, and another one a missing answer.
    answers = answers[(answers["model"] != "m-1") | (answers["sample"] == 0)].reset_index(drop=True)
    answers.loc[answers.index[-1], ["answer", "status"]] = [None, "refused"]
    table = item_functioning(answers, missing="available").set_index("item_id")
    right = answers.assign(right=(answers["answer"] == answers["answer_key"]).astype(float))
    right = right[answers["answer"].notna()]
    for item, own in right.groupby("item_id"):
        a, b = own.pivot_table("right", "model", "group", aggfunc="mean")[GROUPS].to_numpy().T
        assert table.loc[item, "n10"] == pytest.approx((a * (1 - b)).sum())
        assert table.loc[item, "n01"] == pytest.approx((b * (1 - a)).sum())
        assert table.loc[item, "n"] == 7


def test_copies_of_a_model_do_not_count_as_models():
    def letters(model, item, group, *_):
        return KEYS[item] if group == "white" else "BCDA"["ABCD".index(KEYS[item])]

    once = item_functioning(answers_of(letters))
    often = item_functioning(answers_of(letters, strategies=("plain", "cot", "few"), samples=2))
    assert (once["p_value"] == 2 / 2**7).all()
    assert often["p_value"].to_numpy() == pytest.approx(once["p_value"].to_numpy())
    assert (often["least_p"] == once["least_p"]).all()
    assert (often["n"] == 21).all()
    assert (often["models"] == 7).all()


def test_midp_is_half_as_large_at_the_extreme():
    answers = answers_of(lambda m, item, group, *_: KEYS[item] if group == "white" else None)
    exact = item_functioning(answers, missing="incorrect")
    midp = item_functioning(answers, missing="incorrect", method="midp")
    assert (midp["p_value"] == exact["p_value"] / 2).all()
    assert (midp["p_value"] == midp["least_p"]).all()


def test_models_that_selected_items_are_left_out():
    selective = replace(DEMO, name="own", selected_on={"M-1": "drafted the items"})
    answers = answers_of(random_letters(7))
    without = item_functioning(answers[answers["model"] != "m-1"])
    found = item_functioning(answers.assign(benchmark="own"), benchmarks=[selective])
    pd.testing.assert_frame_equal(found, without.assign(benchmark="own"))


def test_bounds_are_refused():
    answers = answers_of(random_letters(8))
    with pytest.raises(ValueError, match="missing='bounds'"):
        item_functioning(answers, missing="bounds")
    bounded = replace(DEMO, name="own", missing="bounds")
    with pytest.raises(fairstats.InputError, match="choose another policy"):
        item_functioning(answers.assign(benchmark="own"), benchmarks=[bounded])


def test_release_lists_pairs_with_enough_models():
    answers = answers_of(random_letters(9))
    table = released_items(open_answers(answers), None)
    pd.testing.assert_frame_equal(table, item_functioning(answers))
    few = answers[answers["model"].isin([f"m-{n}" for n in range(1, FEWEST_MODELS)])]
    assert released_items(open_answers(few), None).empty
    bounded = released_items(open_answers(answers), "bounds")
    assert bounded.empty
    assert bounded.dtypes.equals(table.dtypes)


# The variation of gaps over models


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
