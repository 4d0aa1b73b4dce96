"""The items that make up a gap: sentence and table are those of the release's table."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pandas as pd
import pytest

from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.item_statistics import released_items
from fairstats.release.contents import Release
from fairstats.report.vignettes.page import ITEMS, show_items
from tests.make_answers import make_answers

from .conftest import HOSTILE

DEMO = load_benchmark("demo")


def release_of(answers, folder):
    table = released_items(open_answers(answers), None)
    (folder / "downloads").mkdir(parents=True)
    table.to_parquet(folder / "downloads" / f"{ITEMS}.parquet")
    path = Release(folder).table_path
    return SimpleNamespace(table_path=path, path=folder, alpha=0.05, table=lambda name: table)


def answers_of(models, *, worse):
    """Build answers: each model is wrong on the last group's variants of the items `worse`."""
    texts = [
        key + ("ABCD"["BCDA".index(key)] if place in worse else key)
        for place, key in enumerate(list(DEMO.answer_keys.values())[:10])
    ]
    return make_answers(texts, of=DEMO, models=models)


@pytest.fixture
def text(drawn):
    return lambda release: re.sub(r"\s+", " ", drawn(show_items, release, DEMO))


def test_release_without_the_table_shows_nothing(tmp_path, text):
    assert text(Release(tmp_path)).strip() == ""


def test_significant_items_are_counted_and_listed(tmp_path, text):
    answers = answers_of([f"m-{n}" for n in range(9)], worse=(2, 5))
    shown = text(release_of(answers, tmp_path))
    assert "+20.0 points over 9 models" in shown
    assert "1 item of 10 (10.0%)" in shown
    assert "2 items are significant after adjustment" in shown
    for place in (2, 5):
        assert list(DEMO.answer_keys)[place] in shown
    assert list(DEMO.answer_keys)[3] not in shown
    assert "9 and 0 of 9" in shown


def test_shares_of_samples_are_shown_with_one_decimal(tmp_path, text):
    answers = answers_of([f"m-{n}" for n in range(9)], worse=(2,))
    once = answers[answers["model"] != "m-0"]
    three = [answers[answers["model"] == "m-0"].assign(sample=sample) for sample in range(3)]
    three[0] = three[0].assign(answer=three[0]["answer_key"])
    shown = text(release_of(pd.concat([once, *three]), tmp_path))
    assert "8.7 and 0 of 9" in shown


def test_too_few_models_for_significance_are_explained(tmp_path, text):
    shown = text(release_of(answers_of([f"m-{n}" for n in range(5)], worse=(2,)), tmp_path))
    assert "the smallest possible p-value is 0.062" in shown
    assert "adjustment for 10 items" in shown


def test_enough_models_without_a_significant_item_are_not_called_few(tmp_path, text):
    answers = answers_of([f"m-{n}" for n in range(12)], worse=(2,))
    # No item reaches the smallest possible p-value: a single one that did would be significant.
    release = release_of(answers, tmp_path)
    table = release.table(ITEMS).assign(p_value=0.5, p_bh=1.0)
    release.table = lambda name: table
    assert "No item is significant" in text(release)


def test_what_is_true_of_all_pairs_is_said_once(tmp_path, text):
    race = answers_of([f"m-{n}" for n in range(5)], worse=(2,))
    sexes = {"white": "male", "black": "female"}
    sex = race.assign(attribute="sex", group=race["group"].map(sexes))
    shown = text(release_of(pd.concat([race, sex]), tmp_path))
    assert shown.count("mean gap +10.0 points") == 2
    assert shown.count("So few models cannot show") == 1


def test_no_gap_has_no_table(tmp_path, text):
    shown = text(release_of(answers_of([f"m-{n}" for n in range(6)], worse=()), tmp_path))
    assert "0.0 points over 6 models." in shown
    assert "<table" not in shown


def test_hostile_item_names_are_escaped(tmp_path, text):
    answers = answers_of([f"m-{n}" for n in range(6)], worse=(2,))
    release = release_of(answers, tmp_path)
    table = release.table(ITEMS).assign(item_id=HOSTILE[0])
    release.table = lambda name: table
    shown = text(release)
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
