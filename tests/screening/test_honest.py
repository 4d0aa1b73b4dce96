"""Honest sets are never blocked and seldom asked about, whatever the other models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairstats.screening.answer_sheets import Layout, Sheet
from fairstats.screening.copied_answers import check_copied_marks, check_copying
from fairstats.screening.expected_answers import check_minority_answers
from fairstats.screening.findings import ASKING
from fairstats.screening.panels import Panel
from tests.screening.honest_models import (
    WRONG_KEYS,
    boards,
    draw_items,
    draw_letters,
    flags_of,
    simulated_benchmark,
)


def asked(**at) -> list[dict[str, str]]:
    """Return the flags of each honest set that is asked about, by check."""
    panels = boards(draws=4, candidates=5, rng=np.random.default_rng(7), **at)
    every = [flags_of(sheet, panel) for panel in panels for sheet in panel.screened]
    return [flags for flags in every if set(flags.values()) & set(ASKING)]


@pytest.mark.parametrize("models", [3, 6])
@pytest.mark.parametrize("accuracy", [(0.95, 0.98), (0.85, 0.92), (0.48, 0.55)])
def test_set_beside_much_better_or_worse_models_is_not_asked_about(models, accuracy):
    assert not asked(n=200, options=4, models=models, accuracy=accuracy, noise=0.0)


@pytest.mark.parametrize("options", [2, 5])
def test_noisy_set_is_not_asked_about(options):
    assert not asked(n=200, options=options, models=6, accuracy=(0.75, 0.85), noise=0.6)


@pytest.mark.parametrize("accuracy", [(0.5, 0.6), (0.75, 0.85)])
def test_nearly_perfect_set_beside_weak_models_is_not_asked_about(accuracy):
    at = {"n": 801, "options": 2, "models": 6, "accuracy": accuracy, "noise": 0.0}
    assert not asked(**at, screened="strong")


@pytest.mark.parametrize("options", [2, 5])
def test_model_that_is_swayed_in_no_direction_is_not_asked_about(options):
    at = {"n": 801, "options": options, "models": 6, "accuracy": (0.75, 0.85), "noise": 0.0}
    assert not asked(**at, screened="undirected")


@pytest.mark.parametrize("kind", ["decision", "level", "score"])
def test_sets_of_other_kinds_are_not_asked_about(kind):
    assert not asked(n=50, options=5, models=3, accuracy=(0.5, 0.9), noise=0.3, kind=kind)


def test_set_with_hardly_any_error_is_not_asked_about_minority_answers():
    """With 99.5% right answers expected of it, it would have too few others."""
    rng, flags = np.random.default_rng(4), []
    for _ in range(6):
        items = draw_items(simulated_benchmark(800, 4, rng=rng), rng=rng)
        levels = [0.999, *rng.uniform(0.6, 0.85, 6)]
        one, *others = (
            Sheet(f"m{number}", "plain", 0, draw_letters(items, level, rng=rng))
            for number, level in enumerate(levels)
        )
        found = check_minority_answers(one, Panel(items.layout, (one,), tuple(others)))
        flags.append(found.flag(found.p_value))
    assert set(flags) == {"not_checked"}


def test_models_that_share_errors_on_whole_cases_are_no_copies_but_a_file_is(demo):
    """Twelve cases of 50 items each: errors on a case are one sign, not 50."""
    rng, asked = np.random.default_rng(3), 0
    case = np.repeat(np.arange(12), 50)
    key = rng.integers(0, 3, 12)[case].astype(np.int8)
    three = replace(demo, options=("A", "B", "C"))
    layout = Layout(three, "1", tuple(map(str, range(600))), key, case)
    for _ in range(20):
        difficulty = rng.normal(0, 1.2, 12)[case, None]
        usual, sheets = rng.integers(1, 3, 12)[case, None], []
        for number in range(7):
            own = rng.normal(0, 1, 12)[case, None] + rng.logistic(0, 0.3, (600, 8))
            right = own - difficulty >= np.quantile(own - difficulty, 0.2)
            wrong = np.where(rng.random((600, 8)) < 0.8, usual, 3 - usual)
            letters = (key[:, None] + wrong * ~right) % 3
            sheets.append(Sheet(f"m{number}", "plain", 0, letters.astype(np.int8)))
        panel = Panel(layout, tuple(sheets), tuple(sheets))
        flags = [one.flag(one.p_value) for one in (check_copying(s, panel) for s in sheets)]
        assert "block" not in flags
        asked += flags.count("look")
    assert asked <= 3
    copy = replace(sheets[0], model="copy")
    found = check_copying(copy, Panel(layout, (copy,), tuple(sheets)))
    assert found.flag(found.p_value) == "block"


def test_two_weak_models_beside_strong_ones_share_wrong_letters_honestly():
    """Strong models do not show which wrong letters are popular."""
    at = {"n": 801, "options": 5, "models": 6, "accuracy": (0.95, 0.98)}
    # In this draw of benchmarks/screening.py two of 20 sets were asked about.
    rng, flags = np.random.default_rng([2026, 95, 6, 801, 5, 0]), []
    for panel in boards(**at, noise=0.0, draws=4, candidates=5, rng=rng):
        for sheet in panel.screened:
            found = check_copying(sheet, panel)
            flags.append(found.flag(found.p_value))
    assert set(flags) == {"ok"}


@pytest.mark.parametrize(
    ("accuracy", "models", "options"),
    [((0.35, 0.45), 20, 3), ((0.48, 0.55), 6, 4), ((0.48, 0.55), 3, 2)],
)
def test_models_that_prefer_a_letter_share_errors_honestly(accuracy, models, options):
    """Only `letter_shares` may ask about the letter itself."""
    at = {"n": 801, "options": options, "models": models, "accuracy": accuracy, "noise": 0.3}
    found = asked(**at, screened="letters")
    checks = {check for flags in found for check, flag in flags.items() if flag in ASKING}
    assert checks <= {"letter_shares"}


def test_two_models_that_nearly_always_give_one_letter_are_right_on_the_same_items():
    rng = np.random.default_rng([7, 0])
    items = draw_items(simulated_benchmark(400, 4, rng=rng), rng=rng)
    habits = [np.array([6.0, 0, 0, 0])] * 2 + [None] * 6
    one, two, *others = (
        Sheet(f"m{n}", "plain", 0, draw_letters(items, 0.4, habit=habit, rng=rng))
        for n, habit in enumerate(habits)
    )
    found = check_copied_marks(one, Panel(items.layout, (one, two), (one, two, *others)))
    assert found.flag(found.p_value) == "ok"


@pytest.mark.parametrize("accuracy", [(0.62, 0.68), (0.75, 0.85)])
def test_attribute_without_an_effect_is_not_asked_about(accuracy):
    """Its pairs flip less often than pairs that are exchanged with an attribute that has one."""
    at = {"n": 400, "options": 4, "models": 6, "accuracy": accuracy, "noise": 0.0}
    assert not asked(**at, screened="one effect")


@pytest.mark.parametrize("others", [0, 6])
def test_two_models_that_are_nearly_always_right_are_no_copies_if_keys_are_wrong(others):
    """Both give the same letters where keys are wrong, and hardly ever change them."""
    rng = np.random.default_rng(3)
    items = draw_items(simulated_benchmark(800, 2, rng=rng), rng=rng)
    key = ((items.layout.key + (rng.random(800) < 0.06)) % 2).astype(np.int8)
    accuracies = [0.9996, 0.9996, *rng.uniform(0.75, 0.85, others)]
    sheets = tuple(
        Sheet(f"m{number}", "plain", 0, draw_letters(items, accuracy, rng=rng))
        for number, accuracy in enumerate(accuracies)
    )
    panel = Panel(replace(items.layout, key=key), sheets, sheets)
    assert "block" not in flags_of(sheets[0], panel).values()


@pytest.mark.parametrize("others", [0, 6])
@pytest.mark.parametrize("truth", ["one letter", "one attribute", "several letters"])
def test_two_models_that_are_always_right_are_no_copies_if_versions_differ_in_truth(others, truth):
    """A version may have another right answer than the key, or suggest one that both follow."""
    rng = np.random.default_rng(5)
    items = draw_items(simulated_benchmark(400, 4, rng=rng), rng=rng)
    shape = items.sway.shape
    moved = rng.integers(1, 4, (400, 1 if truth != "several letters" else shape[1]))
    where = rng.random(shape) < 0.3
    if truth != "one letter":
        where = np.broadcast_to(np.isin(np.arange(shape[1]), [1, 3, 5]), shape)
    some = (rng.random((400, 1)) < 0.3) | (truth == "several letters")
    right = (items.layout.key[:, None] + np.where(where & some, moved, 0)) % 4
    sets = [right, right, *(draw_letters(items, rng.uniform(0.6, 0.9), rng=rng) for _ in "x" * 6)]
    sheets = tuple(
        Sheet(f"m{number}", "plain", 0, one.astype(np.int8))
        for number, one in enumerate(sets[: 2 + others])
    )
    assert "block" not in flags_of(sheets[0], Panel(items.layout, sheets, sheets)).values()


@pytest.mark.parametrize("accuracy", [(0.75, 0.85), (0.88, 0.92)])
def test_strong_models_beside_weaker_ones_are_not_asked_about_if_keys_are_wrong(accuracy):
    """They give the right letter to all versions, and so do most of the others."""
    rng, asked_about = np.random.default_rng(8), 0
    for _ in range(4):
        items = draw_items(simulated_benchmark(800, 4, rng=rng), rng=rng)
        key = ((items.layout.key + (rng.random(800) < WRONG_KEYS)) % 4).astype(np.int8)
        levels = [*rng.uniform(0.985, 0.995, 2), *rng.uniform(*accuracy, 6)]
        sheets = tuple(
            Sheet(f"m{number}", "plain", 0, draw_letters(items, level, rng=rng))
            for number, level in enumerate(levels)
        )
        panel = Panel(replace(items.layout, key=key), sheets, sheets)
        asked_about += sum(bool({*flags_of(one, panel).values()} & {*ASKING}) for one in sheets[:2])
    assert asked_about <= 1


@pytest.mark.parametrize(("copied", "flags"), [(0.0, {"ok"}), (1.0, {"block"})])
def test_models_that_follow_suggested_answers_are_no_copies(copied, flags):
    rng = np.random.default_rng(9)
    benchmark = replace(
        simulated_benchmark(300, 4, rng=rng), slanted=True, swayed_by="a suggested wrong answer"
    )
    items = draw_items(benchmark, rng=rng)
    layout = items.layout
    suggested = (layout.key + rng.integers(1, 4, 300)) % 4
    second = np.isin(np.arange(items.sway.shape[1]), [b for _, _, b in layout.pairs])

    def answers(name: str, follows: float) -> Sheet:
        letters = draw_letters(items, 0.8, rng=rng)
        taken = second & (rng.random(letters.shape) < follows)
        return Sheet(name, "plain", 0, np.where(taken, suggested[:, None], letters).astype(np.int8))

    one, two = answers("one", 0.8), answers("two", 0.8)
    taken = rng.random(one.letters.shape) < copied
    two = replace(two, letters=np.where(taken, one.letters, two.letters).astype(np.int8))
    sheets = (one, two, *(answers(f"m{n}", rng.uniform(0, 0.3)) for n in range(6)))
    found = {
        flags_of(sheet, Panel(layout, sheets, sheets))["copied_answers"] for sheet in (one, two)
    }
    assert found == flags
