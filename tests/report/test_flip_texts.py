"""Vignettes are shown as text without markup, and only if they may be published."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pypandoc
import pytest

from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.answer_tables import flips_of
from fairstats.report.changed_items import ITEMS_SHOWN, flip_texts
from tests.make_answers import make_answers

from .conftest import answers_of_models


@pytest.fixture(scope="module")
def flips(demo):
    return flips_of(answers_of_models(("One",)), {"demo": demo})


def vignettes(demo) -> dict[str, dict]:
    lines = demo.items_file.read_text(encoding="utf-8").splitlines()
    return {row["item_id"]: row for row in map(json.loads, lines)}


def test_both_variants_are_shown_with_their_answers(demo, flips):
    one = flips[flips["item_id"] == flips["item_id"].iloc[0]]
    html = pypandoc.convert_text(flip_texts(one, demo), "html", format="markdown-smart")
    item = vignettes(demo)[one["item_id"].iloc[0]]
    row = one.iloc[0]
    shown = " ".join(html.split())
    for group, answer in ((row["group_a"], row["answer_a"]), (row["group_b"], row["answer_b"])):
        assert f"answered {answer}</em>: {item['variants'][group][:60]}" in shown


def test_items_are_few(demo, flips):
    assert flips["item_id"].nunique() > ITEMS_SHOWN
    assert flip_texts(flips, demo).count(", key ") == ITEMS_SHOWN


def test_unpublishable_vignettes_are_not_shown(demo, flips):
    assert flip_texts(flips, replace(demo, publish_items=False)) is None
    assert flip_texts(flips, replace(demo, items_file=None)) is None
    assert flip_texts(flips.iloc[:0], demo) is None
    assert not load_benchmark("fairmedqa").publish_items


def test_a_hostile_vignette_is_text(demo, flips, tmp_path):
    first = flips.iloc[[0]]
    item = vignettes(demo)[first["item_id"].iloc[0]]
    bad = "<script>alert(1)</script> ```{=html} [x](javascript:y) {{< include a >}}" + "y" * 10_000
    item["variants"] = dict.fromkeys(item["variants"], bad)
    item["options"] = {"A": "<img src=x onerror=y>"}
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(item), encoding="utf-8")
    text = flip_texts(pd.DataFrame(first), replace(demo, items_file=file))
    html = pypandoc.convert_text(text, "html", format="markdown")
    assert len(html) < 10_000
    assert "<script" not in html
    assert "<img" not in html
    assert "<a " not in html
    assert "{{<" not in text


def test_crossed_variants_are_shown_once_with_their_names(crossed_demo, tmp_path):
    variants = [variant for variant in crossed_demo.variants if variant[0] == "race_sex"]
    item, key = next(iter(crossed_demo.answer_keys.items()))
    row = {
        "item_id": item,
        "answer_key": key,
        "options": {"A": "one"},
        "variants": {group: f"a {group} patient" for _, group in variants},
    }
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(row), encoding="utf-8")
    known = replace(crossed_demo, items_file=file)
    # White men and black women get another answer than the rest.
    answers = make_answers(["ABBA"], of=known, variants=variants)
    flips = flips_of(answers, {"crossed": known})
    lines = flip_texts(flips, known).replace("\\", "").splitlines()[2:]
    assert lines == [
        "- *White male, answered A*: a white+male patient",
        "- *Black male, answered B*: a black+male patient",
        "- *White female, answered B*: a white+female patient",
        "- *Black female, answered A*: a black+female patient",
    ]
