"""Screening where race and sex only have the variants of an attribute that crosses them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.screening.screen import screen
from tests.crossed_groups import CELLS, crossed_groups
from tests.screening.frauds import laundered
from tests.screening.honest_models import honest_panel


@pytest.fixture(scope="module")
def crossed(synthetic):
    return crossed_groups(synthetic)


@pytest.fixture(scope="module")
def sets(crossed):
    rng = np.random.default_rng(2)
    drawn = honest_panel(crossed, 7, rng=rng)
    return [one[one["attribute"] == "race_sex"].reset_index(drop=True) for one in drawn]


def first_of_others(answers, level):
    """Give the answer to the first group of this attribute, whatever the group is."""
    other = answers["group"].map(lambda cell: CELLS[cell][1 - level])
    return answers.assign(answer=answers.groupby(["item_id", other])["answer"].transform("first"))


def labels_exchanged(answers):
    """Exchange the labels of race."""
    races = {"white": "black", "black": "white"}
    names = {cell: f"{races[race]}+{sex}" for cell, (race, sex) in CELLS.items()}
    return answers.assign(group=answers["group"].map(names))


def refused_for_black(answers):
    """Drop wrong answers for one race."""
    lost = answers["group"].str.startswith("black") & (answers["answer"] != answers["answer_key"])
    missing = answers["answer"].where(~lost)
    return answers.assign(answer=missing, status=np.where(lost, "refused", "ok"))


FRAUDS = {
    "flip_level": lambda own, of: laundered(own, None, of, None),
    "pair_flips": lambda own, _: first_of_others(own, 0),
    "group_labels": lambda own, _: labels_exchanged(own),
    "missing_by_group": lambda own, _: refused_for_black(own),
}


@pytest.mark.parametrize("check", FRAUDS)
def test_fraud_on_a_crossed_board_is_asked_about(check, sets, crossed):
    made = FRAUDS[check](sets[0], crossed).assign(model="new")
    table = screen(pd.concat([made, *sets[1:]]), benchmarks=[crossed]).to_frame()
    assert set(table.loc[table["model"] == "new"].set_index("check")["flag"][[check]]) == {"look"}


def test_honest_sets_of_a_crossed_board_are_checked_and_not_asked_about(sets, crossed):
    table = screen(pd.concat(sets), benchmarks=[crossed]).to_frame()
    assert {*FRAUDS} <= set(table["check"])
    assert set(table.loc[table["check"].isin([*FRAUDS]), "flag"]) == {"ok"}
    assert not set(table["flag"]) & {"look", "block"}


def test_pair_that_nobody_was_asked_is_not_checked(synthetic):
    answers = honest_panel(synthetic, 4, rng=np.random.default_rng(3))
    only = [one[one["group"] == "original"] for one in answers]
    table = screen(pd.concat(only), benchmarks=[synthetic]).to_frame()
    found = table[table["check"].isin(["missing_by_group", "flip_level"])]
    assert set(found["flag"]) == {"not_checked"}
    assert not found["note"].str.contains("other models").any()
