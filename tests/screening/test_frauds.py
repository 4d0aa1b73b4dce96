"""Frauds are flagged, and honest sets are not: synthetic ones and released ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats import analyze, example_answers, load_benchmark, rank_models
from fairstats.answers.engine_frames import open_pairs
from fairstats.inference.verdict import EQUIVALENT
from fairstats.screening import copied_answers
from fairstats.screening.answer_sheets import Sheet
from fairstats.screening.panels import Panel
from fairstats.screening.screen import screen, screen_opened
from tests.screening.frauds import (
    BLOCKED,
    FRAUDS,
    GUESSES,
    copied,
    copied_items,
    copied_marks,
    forced,
    key_of_easiest,
    mosaic,
    swapped,
    unparsed_pairs,
    usual_answers,
)
from tests.screening.honest_models import (
    draw_items,
    draw_letters,
    flags_of,
    honest_panel,
    simulated_benchmark,
)

QWEN = [f"amqa/answers/AMQA_Benchmark_Answer_qwen_{name}.jsonl" for name in ("cot2", "no_cot")]


def screened_fraud(sets, benchmark, name):
    """Make a fraud from the first set, and screen it against the others.

    It copies from the second. The first is left out of the panel, because every other fraud is a
    copy of it too.
    """
    make, checks = FRAUDS[name]
    made = make(sets[0], sets[1], benchmark, np.random.default_rng(3)).assign(model="new")
    against = pd.concat(sets[1:], ignore_index=True)
    table = screen(made, against, benchmarks=[benchmark]).to_frame()
    return table.set_index("check")["flag"], checks


@pytest.mark.parametrize("name", FRAUDS)
def test_fraud_of_synthetic_set_is_flagged_by_its_check(name, honest, synthetic):
    flags, checks = screened_fraud(honest, synthetic, name)
    assert set(flags[list(checks)]) & {"look", "block"}, flags.to_dict()
    assert ("block" in set(flags)) == (name in BLOCKED), flags.to_dict()


@pytest.mark.parametrize("name", FRAUDS)
def test_fraud_of_released_set_is_flagged_by_its_check(name, released):
    sets = sorted(released, key=lambda one: one["model"].iloc[0] != "GPT-4-turbo")
    flags, checks = screened_fraud(sets, load_benchmark("fairmedqa"), name)
    assert set(flags[list(checks)]) & {"look", "block"}, flags.to_dict()
    assert ("block" in set(flags)) == (name in BLOCKED), flags.to_dict()


@pytest.mark.parametrize("name", GUESSES)
def test_guesses_are_not_asked_about_and_have_no_verdict(name, honest, synthetic, by_check):
    made = GUESSES[name](honest[0], honest[1], synthetic, np.random.default_rng(3))
    made = made.assign(model="new")
    every = pd.concat([made, *honest[1:]], ignore_index=True)
    rows = by_check(screen(made, every, benchmarks=[synthetic]), "new")
    assert rows.loc["item_difficulty", "flag"] == "not_checked"
    assert "guess" in rows.loc["item_difficulty", "note"]
    found = analyze(made, benchmarks=[synthetic])
    assert EQUIVALENT not in set(found["verdict"].dropna())
    ranks = rank_models(every, benchmarks=[synthetic]).set_index("model")
    assert pd.isna(ranks.loc["new", "rank"])


@pytest.mark.parametrize("options", [2, 4])
@pytest.mark.parametrize("known", [0, 0.1])
def test_models_with_little_skill_are_not_asked_about_difficulty(options, known):
    rng = np.random.default_rng(10 * options + round(10 * known))
    items = draw_items(simulated_benchmark(300, options, rng=rng), rng=rng)
    others = [
        Sheet(f"p{n}", "plain", 0, draw_letters(items, accuracy, rng=rng))
        for n, accuracy in enumerate(np.linspace(0.6, 0.9, 6))
    ]
    asked = 0
    for _ in range(10):
        # A taste for each item and letter, and some noise; it knows a few easy items.
        shape = (*items.sway.shape, options)
        taste = rng.normal(0, 1, (len(items.sway), 1, options)) + rng.gumbel(0, 0.7, shape)
        hard = items.difficulty.reshape(len(taste), -1)[:, :1] + rng.normal(0, 1, (len(taste), 1))
        right = hard < np.quantile(hard, known)
        letters = np.where(right, items.layout.key[:, None], taste.argmax(axis=2))
        own = Sheet("weak", "plain", 0, letters.astype(np.int8))
        flags = flags_of(own, Panel(items.layout, (own,), (*others, own)))
        asked += flags["item_difficulty"] == "look"
    assert asked == 0


@pytest.mark.parametrize(("options", "accuracy"), [(2, 0.6), (4, 0.35)])
def test_invented_answers_just_above_a_guess_are_asked_about(options, accuracy):
    rng = np.random.default_rng(options)
    items = draw_items(simulated_benchmark(800, options, rng=rng), rng=rng)
    others = [
        Sheet(f"p{n}", "plain", 0, draw_letters(items, own, rng=rng))
        for n, own in enumerate(np.linspace(0.6, 0.9, 6))
    ]
    shape, key = items.sway.shape, items.layout.key[:, None]
    wrong = (key + rng.integers(1, options, shape)) % options
    letters = np.where(rng.random(shape) < accuracy, key, wrong).astype(np.int8)
    own = Sheet("new", "plain", 0, letters)
    flags = flags_of(own, Panel(items.layout, (own,), (*others, own)))
    assert flags["item_difficulty"] == "look"


@pytest.mark.parametrize(("options", "accuracy"), [(2, 0.75), (3, 0.7)])
def test_invented_answers_that_lean_as_other_models_are_asked_about(options, accuracy):
    rng, asked = np.random.default_rng(options), 0
    for _ in range(4):
        benchmark = simulated_benchmark(800, options, rng=rng)
        others = rng.choice(list("BC"[: options - 1]), 800)
        keys = np.where(rng.random(800) < 0.6, "A", others).tolist()
        keyed = replace(benchmark, answer_keys=dict(zip(benchmark.answer_keys, keys, strict=True)))
        items, habit = draw_items(keyed, rng=rng), 0.5 * (np.arange(options) == 0)
        panel = [
            Sheet(f"p{n}", "plain", 0, draw_letters(items, own, habit=habit, rng=rng))
            for n, own in enumerate(np.linspace(0.6, 0.9, 6))
        ]
        # Wrong anywhere, but four times as often where the key is not A: then it says A.
        key, frequent = items.layout.key[:, None], (items.layout.key == 0)[:, None]
        error = (1 - accuracy) / (frequent.mean() + 4 * (1 - frequent.mean()))
        wrong = rng.random(items.sway.shape) < np.where(frequent, error, 4 * error)
        other = np.where(frequent, rng.integers(1, options, wrong.shape), 0)
        own = Sheet("new", "plain", 0, np.where(wrong, other, key).astype(np.int8))
        flags = flags_of(own, Panel(items.layout, (own,), (*panel, own)))
        asked += flags["item_difficulty"] == "look"
    assert asked >= 3


@pytest.mark.parametrize("right", [0, 0.05])
def test_set_that_misses_one_key_and_knows_all_others_is_asked_about(right):
    rng = np.random.default_rng(1)
    items = draw_items(simulated_benchmark(400, 4, rng=rng), rng=rng)
    panel = [
        Sheet(f"p{n}", "plain", 0, draw_letters(items, accuracy, rng=rng))
        for n, accuracy in enumerate(np.linspace(0.6, 0.9, 6))
    ]
    key = items.layout.key[:, None]
    missed = (key == 3) & (rng.random((400, 1)) >= right)
    letters = np.where(missed, rng.integers(0, 3, items.sway.shape), key).astype(np.int8)
    own = Sheet("new", "plain", 0, letters)
    flags = flags_of(own, Panel(items.layout, (own,), (*panel, own)))
    assert flags["item_difficulty"] == "look"


@pytest.mark.parametrize("options", [2, 4])
def test_honest_models_that_avoid_a_letter_are_not_asked_about_difficulty(options):
    rng, asked = np.random.default_rng(options), 0
    items = draw_items(simulated_benchmark(400, options, rng=rng), rng=rng)
    panel = [
        Sheet(f"p{n}", "plain", 0, draw_letters(items, accuracy, rng=rng))
        for n, accuracy in enumerate(np.linspace(0.6, 0.9, 6))
    ]
    for accuracy in (0.3, 0.5, 0.7, 0.9):
        avoids = -5 * (np.arange(options) == options - 1)
        letters = draw_letters(items, accuracy, habit=avoids, rng=rng)
        own = Sheet("new", "plain", 0, letters)
        flags = flags_of(own, Panel(items.layout, (own,), (*panel, own)))
        asked += flags["item_difficulty"] == "look"
    assert asked == 0


@pytest.mark.parametrize("options", [2, 4])
def test_honest_models_that_lean_unlike_others_are_not_asked_about_difficulty(options):
    rng, asked = np.random.default_rng(options), 0
    for _ in range(5):
        items = draw_items(simulated_benchmark(400, options, rng=rng), rng=rng)
        first, second = (np.eye(options)[place] for place in (0, 1))
        own = [draw_letters(items, a, habit=first, rng=rng) for a in (0.3, 0.55, 0.8)]
        sheets = [Sheet(f"m{n}", "plain", 0, letters) for n, letters in enumerate(own)]
        others = [
            Sheet(f"p{n}", "plain", 0, draw_letters(items, a, habit=second, rng=rng))
            for n, a in enumerate(np.linspace(0.6, 0.9, 6))
        ]
        for one in sheets:
            flags = flags_of(one, Panel(items.layout, (one,), (*others, one)))
            asked += flags["item_difficulty"] == "look"
    assert asked == 0


@pytest.mark.parametrize("renamed", [False, True])
def test_set_whose_unexpected_answers_were_replaced_is_asked_about(by_check, renamed):
    answers, asked = example_answers().query("strategy == 'plain'"), 0
    for number, model in enumerate(["Claude-4-Sonnet", "Qwen-3"]):
        own = answers[answers["model"] == model].reset_index(drop=True)
        against = answers[answers["model"] != model]
        make, rng = usual_answers(1, renamed=renamed), np.random.default_rng(number)
        made = make(own, against, load_benchmark("fairmedqa"), rng).assign(model="new")
        rows = by_check(screen(made, against), "new")
        flagged = rows.index[rows["flag"] == "look"]
        assert renamed or set(flagged) <= {"minority_answers"}
        asked += len(flagged) > 0
    assert asked == 2


def test_note_of_shared_answers_names_other_explanations_and_what_to_do(honest, synthetic):
    """A fine-tuned or quantised model gives much the same answers as the one it was made from."""
    made = copied(0.9)(honest[0], honest[1], synthetic, np.random.default_rng(3))
    against = pd.concat(honest[1:], ignore_index=True)
    table = screen(made.assign(model="tuned"), against, benchmarks=[synthetic]).to_frame()
    rows = table.set_index("check")
    for check in COPYING:
        note = rows.loc[check, "note"]
        words = ("fine-tuned", "quantised", "re-hosted", "two names", "declare", "wrong keys")
        assert rows.loc[check, "flag"] == "look"
        assert note.endswith("?")
        assert not [word for word in words if word not in note], note
    blamed = ("fraud", "copied", "cheat", "forged", "stolen")
    assert not [word for word in blamed if table["note"].str.contains(word).any()]
    cleared = screen(honest[0], against, benchmarks=[synthetic]).to_frame()
    assert not cleared["note"].str.contains("quantised").any()


def test_one_file_for_two_prompts_of_a_model_asks_about_the_prompts(honest, synthetic):
    again = honest[0].assign(strategy="cot")
    answers = pd.concat([again, *honest], ignore_index=True)
    table = screen(answers, benchmarks=[synthetic]).to_frame()
    rows = table[table["model"] == honest[0]["model"].iloc[0]].set_index("check")
    assert set(rows.loc["copied_answers", "flag"]) == {"look"}
    assert rows.loc["copied_answers", "note"].str.contains("two prompts the same effect").all()


def test_honest_synthetic_sets_are_ok_against_each_other(honest, synthetic):
    table = screen(pd.concat(honest, ignore_index=True), benchmarks=[synthetic]).to_frame()
    assert set(table["flag"]) <= {"ok", "not_checked"}, table[table["flag"] == "look"].to_string()


def test_honest_set_is_ok_whatever_the_draw(synthetic):
    for seed in range(3):
        sets = honest_panel(synthetic, 6, rng=np.random.default_rng(100 + seed))
        table = screen(pd.concat(sets, ignore_index=True), benchmarks=[synthetic]).to_frame()
        assert not table["flag"].isin(["look", "block"]).any(), table.to_string()


def test_no_released_set_is_flagged(all_released):
    table = screen(all_released).to_frame()
    flagged = table[table["flag"].isin(["look", "block"])]
    assert flagged.empty, flagged.to_string()


def test_released_qwen_sets_that_share_most_errors_are_ok(shared_data, all_released):
    given = {"model": "Qwen-2.5", "benchmark_version": "deepseek-agent"}
    paths = [shared_data(name) for name in QWEN]
    sets = [
        import_amqa([path], constants=given | {"strategy": strategy})
        for path, strategy in zip(paths, ("cot", "plain"), strict=True)
    ]
    others = all_released[all_released["benchmark_version"] == "deepseek-agent"]
    table = screen(pd.concat([*sets, others], ignore_index=True)).to_frame()
    rows = table[(table["model"] == "Qwen-2.5") & (table["check"] == "copied_answers")]
    assert rows["flag"].tolist() == ["ok", "ok"]


def test_strategies_of_one_model_that_share_nearly_all_errors_are_looked_at(honest, synthetic):
    first = honest[0]
    other = copied(0.97)(honest[1], first, synthetic, np.random.default_rng(4))
    near = other.assign(model=first["model"].iloc[0], strategy="cot")
    agree = (near["answer"].to_numpy() == first["answer"].to_numpy()).mean()
    assert 0.95 < agree < 1
    table = screen(pd.concat([near, *honest], ignore_index=True), benchmarks=[synthetic]).to_frame()
    rows = table[(table["model"] == first["model"].iloc[0]) & (table["check"] == "copied_answers")]
    assert rows["flag"].tolist() == ["look", "look"]


def test_copy_is_blocked_even_with_one_set_to_compare_with(honest, synthetic, by_check):
    made = copied(0.99)(honest[0], honest[1], synthetic, np.random.default_rng(5))
    found = screen(made.assign(model="new"), honest[1], benchmarks=[synthetic])
    assert by_check(found, "new").loc["copied_answers", "flag"] == "block"


def test_copy_with_other_sample_numbers_is_blocked(honest, synthetic, by_check):
    number = pd.factorize(honest[1]["item_id"])[0] % 50
    made = honest[1].assign(model="new", sample=number)
    found = screen(made, pd.concat(honest, ignore_index=True), benchmarks=[synthetic])
    assert by_check(found, "new").loc["copied_answers", "flag"] == "block"


def test_copy_of_an_accurate_set_is_blocked_on_few_items():
    """Only 10 to 25 of 60 items have an answer that others seldom give."""
    rng = np.random.default_rng(31)
    flags = []
    for _ in range(5):
        items = draw_items(simulated_benchmark(60, 4, rng=rng), rng=rng)
        sets = [draw_letters(items, rng.uniform(0.82, 0.92), rng=rng) for _ in range(12)]
        sheets = [Sheet(f"m{number}", "plain", 0, one) for number, one in enumerate(sets)]
        copy = Sheet("new", "plain", 0, sets[0].copy())
        flags.append(flags_of(copy, Panel(items.layout, (copy,), tuple(sheets)))["copied_answers"])
    assert set(flags) <= {"look", "block"}
    assert flags.count("block") >= 3


def test_copies_among_the_screened_sets_do_not_hide_each_other(honest, synthetic, by_check):
    """Copies that are submitted together make each other's answers popular."""
    rng = np.random.default_rng(6)
    copies = [
        copied(0.95)(one, honest[-1], synthetic, rng).assign(model=f"new-{number}")
        for number, one in enumerate(honest[:4])
    ]
    found = screen(pd.concat([*copies, *honest[4:]], ignore_index=True), benchmarks=[synthetic])
    for one in copies:
        rows = by_check(found, one["model"].iloc[0])
        assert "look" in set(rows.loc[["copied_answers", "copied_items"], "flag"])


def test_copy_among_many_sets_is_found_as_by_comparing_all(synthetic, by_check, monkeypatch):
    monkeypatch.setattr(copied_answers, "MOST_COMPARED", 4)
    sets = honest_panel(synthetic, 9, rng=np.random.default_rng(11))
    own = [sets[0].assign(strategy=f"prompt-{number}") for number in range(6)]
    whole = copied_items(0.5)(sets[1], sets[7], synthetic, np.random.default_rng(12))
    answers = pd.concat([*own, whole, *sets[2:]], ignore_index=True)
    name, source = whole["model"].iloc[0], sets[7]["model"].iloc[0]

    def rows():
        table = screen(answers, benchmarks=[synthetic]).to_frame()
        own = table[(table["model"] == name) & table["check"].isin(COPYING[:2])]
        return own.drop(columns="p_adjusted").reset_index(drop=True)

    found = rows()
    assert set(found["flag"]) == {"look"}
    assert found["note"].str.contains(f"“{source}”", regex=False).all()
    monkeypatch.setattr(copied_answers, "MOST_COMPARED", len(answers))
    pd.testing.assert_frame_equal(found, rows())


def test_copy_with_other_wrong_letters_is_found_among_many_sets(synthetic, monkeypatch):
    sets = honest_panel(synthetic, 8, rng=np.random.default_rng(11))
    made = copied_marks(1)(sets[1], sets[5], synthetic, np.random.default_rng(12))
    monkeypatch.setattr(copied_answers, "MOST_COMPARED", 1)
    found = flags_with([sets[0], made, *sets[2:]], synthetic)
    for one, two in ((made, sets[5]), (sets[5], made)):
        row = found.loc[(one["model"].iloc[0], "copied_marks")]
        assert row["flag"] == "look"
        assert f"“{two['model'].iloc[0]}”" in row["note"]


def test_set_put_together_from_many_others_is_flagged(honest, synthetic, by_check):
    """It shares few items with each of them, so comparing two sets at a time is not enough."""
    others = pd.concat(honest[1:], ignore_index=True)
    made = mosaic(1)(honest[0], others, synthetic, np.random.default_rng(9)).assign(model="new")
    rows = by_check(screen(made, others, benchmarks=[synthetic]), "new")
    assert rows.loc["mosaic", "flag"] == "look"


def test_frauds_of_one_attribute_are_flagged(released):
    """Altering only one pair of three is seen in that pair."""
    benchmark = load_benchmark("fairmedqa")
    sets = sorted(released, key=lambda one: one["model"].iloc[0] != "GPT-4-turbo")
    against = pd.concat(sets[1:], ignore_index=True)
    for fraud, check in ((forced(1), "pair_flips"), (swapped(1), "group_labels")):
        made = fraud(sets[0], sets[1], benchmark, np.random.default_rng(7))
        race = sets[0]["attribute"] == "race"
        mixed = sets[0].assign(
            answer=made["answer"].where(race, sets[0]["answer"]), model="new", status="ok"
        )
        table = screen(mixed, against).to_frame().set_index("check")
        assert table.loc[check, "flag"] == "look"
        assert "race" in table.loc[check, "note"]


def test_key_for_most_items_with_an_error_is_asked_about(released):
    """Accuracy 0.76 becomes 0.89, and the accuracy disparity nearly 0."""
    benchmark = load_benchmark("fairmedqa")
    sets = sorted(released, key=lambda one: one["model"].iloc[0] != "GPT-4-turbo")
    against = pd.concat(sets[1:], ignore_index=True)
    made = key_of_easiest(0.75)(sets[0], against, benchmark, np.random.default_rng(7))
    table = screen(made.assign(model="new"), against).to_frame().set_index("check")
    assert table.loc["flip_level", "flag"] == "look"


def test_key_for_items_that_weak_models_find_doubtful_is_asked_about():
    """Next to weak models, many keys look doubtful, but few are wrong."""
    rng, flags = np.random.default_rng(17), []
    for _ in range(4):
        items = draw_items(simulated_benchmark(800, 2, rng=rng), rng=rng)
        sets = [draw_letters(items, rng.uniform(0.5, 0.6), rng=rng) for _ in range(7)]
        key = items.layout.key
        given = sum((one[:, :, None] == np.arange(2)).sum(axis=1) for one in sets[1:])
        by_key = given[np.arange(800), key]
        taken = (given.max(axis=1) > by_key) | (rng.random(800) < 0.8)
        # The key if any version has it, else the most frequent letter.
        mode = (sets[0][:, :, None] == np.arange(2)).sum(axis=1).argmax(axis=1)
        one = np.where((sets[0] == key[:, None]).any(axis=1), key, mode)
        made = np.where(taken[:, None], one[:, None], sets[0]).astype(np.int8)
        sheets = [Sheet(f"m{number}", "plain", 0, own) for number, own in enumerate(sets)]
        new = Sheet("new", "plain", 0, made)
        flags.append(flags_of(new, Panel(items.layout, (new,), tuple(sheets[1:])))["flip_level"])
    assert flags.count("look") >= 3


def test_dropping_both_answers_of_changed_pairs_buys_nothing(released):
    """It looks like answers that are missing on hard items, so no check asks about it."""
    benchmark = load_benchmark("fairmedqa")
    (first,) = (one for one in released if one["model"].iloc[0] == "GPT-4-turbo")
    made = unparsed_pairs(first, first, benchmark, np.random.default_rng(8))
    found = analyze(made)
    found = found[found["metric"] == "accuracy_difference"]
    assert found["estimate"].abs().max() < 0.002
    assert set(found["verdict"].dropna()) == {"inconclusive"}
    assert rank_models(made)["rank"].isna().all()


# Declared successors


def flags_with(sets, benchmark, **successors):
    """Return the flags and notes of sets that are screened together, with declared successors."""
    opened = open_pairs(pd.concat(sets, ignore_index=True), {benchmark.name: benchmark})
    table = screen_opened(opened, successors=successors).to_frame()
    return table.set_index(["model", "check"])[["flag", "note"]]


COPYING = ["copied_answers", "copied_items", "copied_marks", "mosaic"]


def test_agreement_of_declared_successors_is_noted_and_not_asked_about(honest, synthetic):
    base = honest[1]["model"].iloc[0]
    tuned, second = (
        copied(0.9)(own, honest[1], synthetic, np.random.default_rng(3)).assign(model=name)
        for name, own in (("tuned", honest[0]), ("second", honest[2]))
    )
    sets = [tuned, second, *honest[1:]]
    asked = flags_with(sets, synthetic)
    assert set(asked.loc["tuned"].loc[COPYING, "flag"]) == {"look"}
    # The second is of the same line, by whichever of them it follows.
    for second_of in (base, "tuned"):
        found = flags_with(sets, synthetic, tuned=base, second=second_of)
        rows = found[found.index.get_level_values("check").isin(COPYING)]
        for model in ("tuned", "second", base):
            assert rows.loc[model, "flag"].tolist() == [*["declared"] * 3, "ok"]
            assert not rows.loc[model, "note"].str.contains("?", regex=False).any()
        assert f"with “{base}”" in rows.loc[("tuned", "copied_answers"), "note"]
        # Nothing else changes; mosaics of all models are then without their relatives.
        others = asked.drop(index=["tuned", "second", base]).drop(index="mosaic", level="check")
        pd.testing.assert_frame_equal(found.loc[others.index], others)
        assert set(found.drop(index=["tuned", "second", base])["flag"]) == {"ok"}
        rest = [("tuned", check) for check in asked.loc["tuned"].index if check not in COPYING]
        pd.testing.assert_frame_equal(found.loc[rest], asked.loc[rest])


@pytest.mark.parametrize("share", [1.0, 0.997])
def test_one_file_of_declared_successors_is_blocked(honest, synthetic, share):
    base = honest[1]["model"].iloc[0]
    made = copied(share)(honest[0], honest[1], synthetic, np.random.default_rng(3))
    found = flags_with([made.assign(model="tuned"), *honest[1:]], synthetic, tuned=base)
    for model in ("tuned", base):
        assert found.loc[(model, "copied_answers"), "flag"] == "block"
        assert found.loc[(model, "copied_items"), "flag"] == "look"


def test_declared_successor_does_not_hide_copies_from_others(honest, synthetic):
    base, other = (one["model"].iloc[0] for one in honest[1:3])
    rng = np.random.default_rng(3)
    made = copied(0.45)(
        copied(0.8)(honest[0], honest[1], synthetic, rng), honest[2], synthetic, rng
    )
    found = flags_with([made.assign(model="tuned"), *honest[1:]], synthetic, tuned=base)
    for model, named in (("tuned", other), (other, "tuned")):
        row = found.loc[(model, "copied_answers")]
        assert row["flag"] == "look"
        assert f"“{named}”" in row["note"]
    assert found.loc[(base, "copied_answers"), "flag"] == "declared"


def test_many_declared_relatives_do_not_hide_copies_from_others(honest, synthetic, monkeypatch):
    """Only the sets most like each other are compared."""
    monkeypatch.setattr(copied_answers, "MOST_COMPARED", 1)
    base, other = (one["model"].iloc[0] for one in honest[1:3])
    rng = np.random.default_rng(3)
    made = copied(0.45)(
        copied(0.9)(honest[0], honest[1], synthetic, rng), honest[2], synthetic, rng
    )
    again = copied(0.9)(honest[3], made, synthetic, rng).assign(model="again")
    sets = [made.assign(model="tuned"), again, *honest[1:]]
    found = flags_with(sets, synthetic, tuned=base, again="tuned")
    assert found.loc[("tuned", "copied_answers"), "flag"] == "look"
    assert f"“{other}”" in found.loc[("tuned", "copied_answers"), "note"]


def test_declared_successor_put_together_from_others_is_flagged(honest, synthetic):
    others = pd.concat(honest[1:], ignore_index=True)
    made = mosaic(1)(honest[0], others, synthetic, np.random.default_rng(9)).assign(model="new")
    found = flags_with([made, *honest[1:]], synthetic, new=honest[1]["model"].iloc[0])
    assert found.loc[("new", "mosaic"), "flag"] == "look"


def test_declared_successor_with_the_same_snapshot_is_asked_about(honest, synthetic):
    snapshot = "gpt-4.1-2025-04-14"
    sets = [one.assign(snapshot=snapshot) for one in honest[:2]]
    newer, older = (one["model"].iloc[0] for one in sets)
    found = flags_with([*sets, *honest[2:]], synthetic, **{newer: older})
    assert found.loc[(newer, "shared_snapshot"), "flag"] == "look"


def test_declared_circle_ends(honest, synthetic):
    """A manifest is not to be trusted."""
    first, second = (one["model"].iloc[0] for one in honest[:2])
    found = flags_with(honest[:4], synthetic, **{first: second, second: first})
    assert set(found["flag"]) <= {"ok", "not_checked"}
