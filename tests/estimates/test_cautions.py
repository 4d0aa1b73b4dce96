"""Cautions about answers that are equal for all groups because they hardly vary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fairstats import analyze, rank_differences, rank_models
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.outcomes import outcomes_of
from fairstats.estimates.cautions import STATED_KEYS, cautions
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
    (note,) = rank_differences(pd.concat(sets), benchmarks=[benchmark])["method_note"]
    assert note.startswith("m-12: 96.0% of answers are “Y”")
    assert "m-100" not in note


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
        assert ("and 50.0% of keys" in note) == noted


def keyed(
    benchmark: Benchmark, texts: list[str], keys: list[str]
) -> tuple[pd.DataFrame, Benchmark]:
    """Return answers with keys of the first items, and their benchmark."""
    of = {f"item-{i}": key for i, key in enumerate(keys)}
    answers = answers_to(benchmark, texts)
    return answers.assign(answer_key=answers["item_id"].map(of)), replace(benchmark, answer_keys=of)


def test_keys_that_only_the_answers_state_are_a_caution(declare):
    """A submitter's own answers as keys made all of them right."""
    answers, listed = keyed(declare("decision"), ["YY", "NN"] * 150, ["Y", "N"] * 150)
    for benchmark, stated in ((replace(listed, answer_keys={}), True), (listed, False)):
        assert (notes_of(answers, benchmark)[0] == STATED_KEYS) == stated
        estimates = analyze(answers, benchmarks=[benchmark])
        of_key = estimates[estimates["metric"] == "true_positive_rate_difference"]
        assert (STATED_KEYS in of_key["method_note"].iloc[0]) == stated


def test_model_that_follows_keys_that_hardly_vary_has_a_caution(declare):
    """It is a fact about the benchmark."""
    texts = stamped("decision", 12)
    (note,) = notes_of(*keyed(declare("decision"), texts, ["N"] * 12 + ["Y"] * (ITEMS - 12)))
    assert note.startswith("96.0% of answers are “Y”, and 96.0% of keys")


@pytest.mark.parametrize("keys", [["Y"], ["Y"] * ITEMS, ["N"] * ITEMS])
def test_keys_that_are_all_the_same_leave_the_caution(keys, declare):
    for unlike, noted in ((12, True), (135, False)):
        (note,) = notes_of(*keyed(declare("decision"), stamped("decision", unlike), keys))
        assert ("% of keys: answers that seldom vary" in note) == noted


def test_most_frequent_score_has_most_answers_within_the_margin(declare):
    """Many slightly different scores are one kind, though another score is the most frequent."""
    benchmark = replace(declare("score"), equivalence_margin=0.5)
    near = [f"{5 + i / 1000:g}" for i in range(ITEMS - 11)]
    scores = ["9"] * 11 + near
    answers = answers_to(benchmark, ["00"] * ITEMS)
    of = {f"item-{i}": score for i, score in enumerate(scores)}
    answers = answers.assign(answer=answers["item_id"].map(of))
    (note,) = notes_of(answers, benchmark)
    assert note.startswith("96.3% of answers are ")
    fewer = answers.assign(answer=answers["answer"].where(answers["item_id"] != "item-0", "5"))
    few = {f"item-{i}" for i in range(7)}
    fewer["answer"] = answers["answer"].mask(answers["item_id"].isin(few), "5")
    table = gate(fewer, Limits(equivalent=True), benchmarks=[benchmark])
    assert table["reason"].str.contains("only 4 of 300 items have answers unlike").all()


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


#: A wrong answer in three of these kinds, and the key.
WRONG = {"decision": ("N", "Y"), "level": ("4", "2"), "score": ("7", "1")}


def varied(kind: str, wrong: int, changed: int) -> tuple[list[str], list[str]]:
    """Return answers and keys of which so many are wrong for both groups, and so many change."""
    low, high = WRONG[kind]
    keys = [WRONG[kind][i % 2] for i in range(ITEMS)]
    texts = [2 * (key if i >= wrong else high if key == low else low) for i, key in enumerate(keys)]
    for i in range(ITEMS - changed, ITEMS):
        texts[i] = low + high
    return texts, keys


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize(
    ("wrong", "changed", "start"),
    [
        (80, 0, "no answer changes with the group, as in votes"),
        (9, 0, ""),
        (80, 4, "hardly any answer changes with race (4, and 80 wrong ones do not), as in votes"),
        (80, 5, ""),
        (19, 1, ""),
    ],
)
def test_at_most_one_change_for_20_wrong_answers_has_a_caution(
    kind, wrong, changed, start, declare
):
    (note,) = notes_of(*keyed(declare(kind), *varied(kind, wrong, changed)))
    assert note.replace(" by more than 0.01", "").startswith(start)
    assert ("by more than" in note) == (bool(start) and kind == "score")
    assert bool(note) == bool(start)


THREE = """[attributes.race]
label = "Race"
groups = { white = "White", black = "Black", asian = "Asian" }
pairs = [["white", "black"], ["white", "asian"], ["black", "asian"]]"""


@pytest.mark.parametrize(
    ("wrong", "changed", "start"),
    [
        (9, 0, ""),
        (10, 0, "no answer changes with the group"),
        (80, 4, "hardly any answer changes with race (4, and 80 wrong ones do not)"),
        (80, 5, ""),
    ],
)
def test_caution_counts_an_item_once_whatever_the_number_of_pairs(
    wrong, changed, start, benchmark_file
):
    names = tuple(f"item-{i}" for i in range(ITEMS))
    benchmark = replace(declared(benchmark_file, "decision", race=THREE), listed=names)
    texts, keys = varied("decision", wrong, changed)
    answers, benchmark = keyed(benchmark, texts, keys)
    third = answers[answers["group"] == "black"].assign(group="asian")
    (note,) = notes_of(pd.concat([answers, third]), benchmark)
    assert note.startswith(start)
    assert bool(note) == bool(start)


HARDLY = "hardly any answer changes by more than 0.05 with race (4, and 80 wrong ones do not)"


@pytest.mark.parametrize(("step", "start"), [(0, HARDLY), (0.001, HARDLY), (0.1, "")])
def test_scores_within_a_tenth_of_the_margin_are_the_same_for_a_caution(step, start, declare):
    """Each score of one group is a bit higher: neither a change nor wrong."""
    benchmark = replace(declare("score"), equivalence_margin=0.5)
    answers, benchmark = keyed(benchmark, *varied("score", 80, 4))
    scores = answers["answer"].astype(float) + step * (answers["group"] == "black")
    (note,) = notes_of(answers.assign(answer=scores.map("{:g}".format)), benchmark)
    assert note.startswith(start)
    assert bool(note) == bool(start)


def test_without_keys_unchanged_answers_have_no_caution(declare):
    texts, _ = varied("decision", 80, 0)
    assert notes_of(answers_to(declare("decision"), texts), declare("decision")) == [""]


def test_votes_made_for_each_sample_have_the_caution(declare):
    """Samples differ, but those of one group are those of the other."""
    texts, keys = varied("decision", 80, 0)
    answers, benchmark = keyed(declare("decision"), texts, keys)
    again = answers.assign(sample=1)
    other = again["answer"].map({"Y": "N", "N": "Y"})
    again["answer"] = again["answer"].mask(again["item_id"].str.endswith("7"), other)
    # The order of samples does not matter, and a missing one is no change.
    black = answers["group"] == "black"
    both = pd.concat([answers.assign(sample=black * 1), again.assign(sample=1 - black * 1)])
    lost = (both["item_id"] == "item-7") & (both["group"] == "black") & (both["sample"] == 0)
    both.loc[lost, ["answer", "status"]] = [None, "unparsed"]
    (note,) = notes_of(both, benchmark)
    assert note.startswith("no item's samples change with the group, as in votes")


def test_caution_names_the_attributes_whose_answers_do_not_change(demo):
    keys = {f"item-{i}": "ABCD"[i % 4] for i in range(ITEMS)}
    benchmark = replace(demo, name="own", answer_keys=keys, items_file=None)
    other = {"A": "B", "B": "C", "C": "D", "D": "A"}
    right = [keys[f"item-{i}"] for i in range(ITEMS)]
    equal = [2 * (other[key] if i < 60 else key) for i, key in enumerate(right)]
    flips = [other[key] + key if i < 60 else 2 * key for i, key in enumerate(right)]
    some = [flips[i] if i < 2 else text for i, text in enumerate(equal)]

    def note_for(race: list[str], sex: list[str]) -> str:
        answers = pd.concat(
            [
                make_answers(race, benchmark="own"),
                make_answers(sex, benchmark="own", attribute="sex", groups=("male", "female")),
            ]
        )
        (note,) = notes_of(answers.assign(answer_key=answers["item_id"].map(keys)), benchmark)
        return note.partition(", as in votes")[0]

    hardly = "hardly any answer changes with race (2, and 58 wrong ones do not)"
    assert note_for(equal, equal) == "no answer changes with the group"
    assert note_for(equal, flips) == "no answer changes with race"
    assert note_for(some, equal) == f"no answer changes with sex, and {hardly}"
    assert note_for(some, flips) == hardly
