"""Cautions about answers that are equal for all groups because they hardly vary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fairstats import analyze, rank_models
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.outcomes import outcomes_of
from fairstats.estimates.cautions import cautions
from fairstats.estimates.gate import gate
from fairstats.estimates.limits import Limits
from tests.make_answers import make_answers
from tests.make_kinds import ONE_PAIR, answers_to, declared

ITEMS = 300
#: What answers say that hardly vary, and what others say.
USUAL = {"decision": "Y", "level": "3", "score": "8"}
OTHERS = {"decision": "MN", "level": "15", "score": "02"}


@pytest.fixture
def declare(benchmark_file: Callable[..., Path]) -> Callable[[str], Benchmark]:
    def make(kind: str) -> Benchmark:
        names = tuple(f"item-{i}" for i in range(ITEMS))
        return replace(declared(benchmark_file, kind, race=ONE_PAIR), listed=names)

    return make


def stamped(kind: str, unlike: int) -> list[str]:
    """Return answers of one kind, but to so many items."""
    return [2 * (OTHERS[kind][i % 2] if i < unlike else USUAL[kind]) for i in range(ITEMS)]


def notes_of(answers: pd.DataFrame, benchmark: Benchmark) -> list[str]:
    counted = outcomes_of(open_answers(answers, [benchmark]))[benchmark.name]
    return list(cautions(counted))


@pytest.mark.parametrize("kind", USUAL)
def test_answers_that_hardly_vary_pass_with_a_caution(kind, declare):
    benchmark = declare(kind)
    answers = answers_to(benchmark, stamped(kind, 12))
    table = gate(answers, Limits(equivalent=True), benchmarks=[benchmark])
    assert set(table["result"]) == {"pass"}
    assert table["reason"].str.startswith("96.0% of answers are ").all()
    found = analyze(answers, benchmarks=[benchmark])
    judged = found[found["verdict"].notna()]
    assert set(judged["verdict"]) == {"equivalent"}
    assert judged["verdict_reason"].str.startswith("96.0% of answers are ").all()


def test_rank_of_answers_that_hardly_vary_has_a_caution(declare):
    benchmark = declare("decision")
    sets = [
        answers_to(benchmark, stamped("decision", unlike), model=f"m-{unlike}")
        for unlike in (12, 100)
    ]
    ranks = rank_models(pd.concat(sets), benchmarks=[benchmark])
    noted = ranks.set_index("model")["method_note"].str.contains("answers are “Y”")
    assert noted.to_dict() == {"m-12": True, "m-100": False}


@pytest.mark.parametrize("kind", USUAL)
@pytest.mark.parametrize(("unlike", "noted"), [(29, True), (30, False), (150, False)])
def test_without_a_key_a_tenth_of_the_answers_must_be_of_another_kind(kind, unlike, noted, declare):
    benchmark = declare(kind)
    (note,) = notes_of(answers_to(benchmark, stamped(kind, unlike)), benchmark)
    assert bool(note) == noted


@pytest.mark.parametrize(("unlike", "noted"), [(12, True), (74, True), (75, False)])
def test_with_a_key_half_as_many_answers_as_keys_must_be_of_another_kind(unlike, noted, declare):
    """Half of the keys are Y; keys of a part of the items count as all."""
    for keyed in (ITEMS, 24):
        keys = {f"item-{i}": "YN"[i % 2] for i in range(keyed)}
        benchmark = replace(declare("decision"), answer_keys=keys)
        answers = answers_to(benchmark, stamped("decision", unlike))
        answers["answer_key"] = answers["item_id"].map(keys)
        (note,) = notes_of(answers, benchmark)
        assert bool(note) == noted
        assert ("and 50.0% of keys" in note) == noted


def test_model_that_follows_a_key_of_one_kind_gets_no_caution(declare):
    keys = {f"item-{i}": "N" if i < 12 else "Y" for i in range(ITEMS)}
    benchmark = replace(declare("decision"), answer_keys=keys)
    answers = answers_to(benchmark, stamped("decision", 12))
    assert notes_of(answers.assign(answer_key=answers["item_id"].map(keys)), benchmark) == [""]


def test_one_letter_for_nearly_all_choices_has_a_caution(demo):
    """It knows one item in ten, and answers A to the others."""
    keys = {f"item-{i}": "ABCD"[i % 4] for i in range(ITEMS)}
    benchmark = replace(demo, name="own", answer_keys=keys, items_file=None)
    texts = [2 * (keys[f"item-{i}"] if i % 10 < 1 else "A") for i in range(ITEMS)]
    answers = make_answers([f"{t}/{t[0]}" for t in texts], benchmark="own")
    answers["answer_key"] = answers["item_id"].map(keys)
    (note,) = notes_of(answers, benchmark)
    assert "are “A”, and 25.0% of keys" in note
    right = answers.assign(answer=answers["answer_key"])
    assert notes_of(right, benchmark) == [""]


def test_nothing_answered_has_no_caution(declare):
    benchmark = declare("level")
    assert notes_of(answers_to(benchmark, ["--"] * ITEMS), benchmark) == [""]
