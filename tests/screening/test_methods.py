"""The statistics behind the checks, compared with enumeration, simulation and closed formulas."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from scipy import special, stats

from fairstats.counts.grid import MISSING
from fairstats.screening.answer_sheets import Layout, Sheet
from fairstats.screening.copied_answers import overlap
from fairstats.screening.difficulty import _LOGITS, _ability, expected_correct
from fairstats.screening.expected_answers import (
    _letter_probabilities,
    _numbers,
    check_minority_answers,
    shift_accuracy,
)
from fairstats.screening.findings import Finding, p_above_zero, separation
from fairstats.screening.flips_and_labels import check_flip_level, check_pair_flips
from fairstats.screening.letters_and_keys import (
    _moments,
    _rotations,
    check_alignment,
    check_letters,
)
from fairstats.screening.panels import Panel, Popularity
from fairstats.screening.screen import checks_of
from tests.screening.honest_models import draw_items, draw_letters, simulated_benchmark

RNG = np.random.default_rng(11)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Draw the same numbers in each test, whichever tests ran before."""
    RNG.bit_generator.state = START


@pytest.fixture
def layout(demo) -> Layout:
    key = RNG.integers(0, 4, 12).astype(np.int8)
    return Layout(demo, "1", tuple(f"i{n}" for n in range(12)), key)


def sheet(layout: Layout, name: str, *, accuracy: float = 0.6) -> Sheet:
    shape = (len(layout.items), len(layout.benchmark.variants))
    right = RNG.random(shape) < accuracy
    letters = np.where(right, layout.key[:, None], RNG.integers(0, 4, shape))
    return Sheet(name, "plain", 0, letters.astype(np.int8))


def test_moments_of_agreement_equal_those_over_all_permutations():
    given = RNG.integers(0, 4, (6, 4)).astype(float)
    key = np.eye(4)[RNG.integers(0, 4, 6)]
    every = [(given * key[list(order)]).sum() for order in permutations(range(6))]
    mean, variance = _moments(given, key)
    assert mean == pytest.approx(np.mean(every))
    assert variance == pytest.approx(np.var(every))


def test_agreement_of_each_rotation_equals_the_direct_sum():
    given, key = RNG.random((7, 4)), np.eye(4)[RNG.integers(0, 4, 7)]
    direct = [(given * np.roll(key, -k, axis=0)).sum() for k in range(7)]
    assert _rotations(given, key) == pytest.approx(direct)


@pytest.mark.parametrize("shift", [-2, -1, 1, 2, 100])
def test_alignment_names_the_number_of_items(demo, shift):
    key = RNG.integers(0, 4, 300).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(300))), key)
    letters = np.repeat(np.roll(key, -shift)[:, None], 8, axis=1)
    moved = Sheet("m", "plain", 0, letters)
    others = tuple(sheet(layout, f"m{n}") for n in range(3))
    found = check_alignment(moved, Panel(layout, (moved,), others))
    where = "later" if shift > 0 else "earlier"
    assert (found.value, found.worst) == (1.0, "block")
    # If other models fit the moved key, too, the keys are moved.
    same = tuple(Sheet(f"m{n}", "plain", 0, letters) for n in range(3))
    assert check_alignment(moved, Panel(layout, (moved,), same)).worst == "look"
    assert f"the item {abs(shift)} {where}" in found.note


@pytest.mark.parametrize("accuracy", [0.6, 0.9, 1.0])
@pytest.mark.parametrize(
    ("statements", "most"), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 3)], ids=lambda n: str(n)
)
@pytest.mark.parametrize("items", [200, 600, 1600])
def test_model_that_ignores_negations_is_not_blocked(demo, statements, most, items, accuracy):
    """So many statements, once or up to `most` times, come before their negations."""
    for keys, varies in product(("random", "alternating"), (False, True)):
        key: list[int] = []
        negated: list[bool] = []
        while len(key) < items:
            own = RNG.integers(0, 2, statements)
            if keys == "alternating":
                own = (sum(negated) + np.arange(statements)) % 2
            times = RNG.integers(1, most + 1) if varies else most
            key += [*np.tile(own, times), *(1 - own)]
            negated += [*[False] * statements * times, *[True] * statements]
        n = len(key)
        two = replace(demo, options=("A", "B"))
        layout = Layout(two, "1", tuple(map(str, range(n))), np.array(key, dtype=np.int8))

        sheets = []
        for ignored in (1, 0.05, 0.05, 0.05):
            flipped = np.array(negated) & (RNG.random(n) < ignored)
            letters = layout.key[:, None] ^ flipped[:, None] ^ (RNG.random((n, 8)) >= accuracy)
            sheets.append(Sheet(f"m{len(sheets)}", "plain", 0, letters.astype(np.int8)))
        found = check_alignment(sheets[0], Panel(layout, (), tuple(sheets[1:])))
        assert found.worst == "look", (keys, varies)


def test_set_next_to_models_that_know_nothing_is_not_blocked_if_keys_are_moved(demo):
    """Constant and random letters do not show whose rows are moved."""
    items = draw_items(simulated_benchmark(200, 4, rng=RNG), rng=RNG)
    right = draw_letters(items, 0.9, rng=RNG)
    moved = replace(items.layout, key=np.roll(items.layout.key, 1))
    letters = (right, 0 * right, 0 * right + 2, RNG.integers(0, 4, right.shape))
    sheets = tuple(
        Sheet(f"m{number}", "plain", 0, one.astype(np.int8)) for number, one in enumerate(letters)
    )
    assert check_alignment(sheets[0], Panel(moved, sheets, sheets)).worst == "look"


@pytest.mark.parametrize(("items", "accuracy"), [(24, 1.0), (40, 0.9), (61, 0.9)])
def test_moved_rows_are_blocked_on_small_boards(demo, items, accuracy):
    key = RNG.integers(0, 4, items).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(items))), key)
    honest = [sheet(layout, f"m{n}", accuracy=accuracy) for n in range(4)]
    moved = replace(honest[0], letters=np.roll(honest[0].letters, -1, axis=0))
    found = check_alignment(moved, Panel(layout, (moved,), tuple(honest[1:])))
    assert found.flag(found.p_value) == "block"


def test_alignment_finds_letters_counted_from_another_start(demo):
    key = RNG.integers(0, 4, 300).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(300))), key)
    letters = np.repeat(((key + 1) % 4)[:, None], 8, axis=1).astype(np.int8)
    found = check_alignment(Sheet("m", "plain", 0, letters), Panel(layout, (), ()))
    assert found.p_value < 1e-50
    assert "letters moved by 1" in found.note
    # A severe rater of ordered options does this too.
    assert found.worst == "look"


def test_rater_who_is_often_severe_but_more_often_right_is_not_asked_about(demo):
    """Options may be in an order. Letters counted from another start fit the key less."""
    key = RNG.integers(1, 4, 400).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(400))), key)
    severe = np.where(RNG.random(400) < 0.45, key - 1, key)
    letters = np.repeat(severe[:, None], 8, axis=1).astype(np.int8)
    found = check_alignment(Sheet("m", "plain", 0, letters), Panel(layout, (), ()))
    assert found.p_value > 0.01, found.note


@pytest.mark.parametrize(
    "key",
    [np.arange(240) % 4, np.arange(240) // 60, np.arange(240) // 5 % 3],
    ids=["periodic", "sorted", "in runs"],
)
def test_sorted_or_periodic_keys_are_no_sign_of_moved_answers(demo, key):
    layout = Layout(demo, "1", tuple(map(str, range(240))), key.astype(np.int8))
    for accuracy in (0.3, 0.6, 0.9, 1.0):
        found = check_alignment(sheet(layout, "m", accuracy=accuracy), Panel(layout, (), ()))
        assert found.p_value > 0.01, found.note


@pytest.mark.parametrize("options", [2, 4])
def test_items_of_one_case_next_to_each_other_are_no_sign_of_moved_answers(demo, options):
    """Twelve cases of 50 items each are twelve matchings, not 600."""
    flags = []
    for _ in range(40):
        case = np.repeat(np.arange(12), 50)
        key = RNG.integers(0, options, 12)
        wrong = (key + RNG.integers(1, options, 12)) % options
        given = np.where(RNG.random(12) < 0.4, key, wrong)
        own = replace(demo, options=tuple("ABCD"[:options]))
        layout = Layout(own, "1", tuple(map(str, range(600))), key[case].astype(np.int8))
        letters = np.repeat(given[case][:, None], 8, axis=1).astype(np.int8)
        others = tuple(sheet(layout, f"m{n}", accuracy=0.8) for n in range(3))
        found = check_alignment(Sheet("m", "plain", 0, letters), Panel(layout, (), others))
        flags.append(found.flag(found.p_value))
    assert set(flags) == {"ok"}


def test_p_value_of_alignment_is_not_too_small_for_unrelated_answers(demo):
    """The p-value is bounded by the number of rotations, so it may only be too large."""
    small = 0
    for _ in range(300):
        key, given = RNG.integers(0, 4, (2, 120)).astype(np.int8)
        layout = Layout(demo, "1", tuple(map(str, range(120))), key)
        one = Sheet("m", "plain", 0, np.repeat(given[:, None], 8, axis=1))
        small += check_alignment(one, Panel(layout, (), ())).p_value < 0.05
    assert stats.binomtest(small, 300, 0.05, alternative="greater").pvalue > 0.01


def test_shifted_probabilities_have_the_accuracy_of_the_set():
    right, correct = RNG.uniform(0.05, 0.95, (2, 400))
    answered = RNG.random(400) < 0.9
    shifted = shift_accuracy(right / (1 - right), correct < 0.7, answered)
    assert shifted[answered].mean() == pytest.approx((correct < 0.7)[answered].mean(), abs=0.005)
    assert (np.argsort(shifted) == np.argsort(right)).all()


def test_expected_repetitions_equal_enumeration(layout):
    """All answer patterns of three variants, each with its probability, as for the GBT index."""
    others = [sheet(layout, f"m{n}") for n in range(6)]
    one, source = sheet(layout, "one"), sheet(layout, "source")
    panel = Panel(layout, (one, source), tuple(others))
    usual = panel.without("one", "source")
    found, _ = _letter_probabilities(one, source, usual, np.ones(4))
    always = (Sheet("x", "plain", 0, np.full_like(one.letters, letter)) for letter in range(4))
    every = np.stack(
        [_letter_probabilities(one, each, usual, np.ones(4))[0] for each in always], axis=2
    )
    assert every.sum(axis=2) == pytest.approx(np.ones(one.letters.shape), abs=1e-5)
    cells = [(0, 0), (0, 1), (5, 2)]
    law = np.zeros(4)
    for letters in product(range(4), repeat=3):
        p = np.prod([every[i, v, x] for (i, v), x in zip(cells, letters, strict=True)])
        law[sum(x == source.letters[c] for c, x in zip(cells, letters, strict=True))] += p
    assert law @ np.arange(4) == pytest.approx(sum(found[c] for c in cells), abs=1e-5)


def test_expected_number_of_minority_answers_equals_that_of_drawn_sets(layout):
    """Sets are drawn from the probabilities that the expectation is the sum of."""
    others = [sheet(layout, f"m{n}") for n in range(6)]
    one = sheet(layout, "one", accuracy=0.7)
    panel = Panel(layout, (one,), tuple(others))
    usual = panel.others(one)
    always = (Sheet("x", "plain", 0, np.full_like(one.letters, letter)) for letter in range(4))
    every = np.stack(
        [_letter_probabilities(one, each, usual, np.ones(4))[0] for each in always], axis=2
    )
    found = []
    for number in range(40):
        letters = (RNG.random((*one.letters.shape, 1)) > every.cumsum(axis=2)).sum(axis=2)
        drawn = Sheet("one", "plain", number, np.minimum(letters, 3).astype(np.int8))
        given, expected = _numbers(drawn, Panel(layout, (drawn,), tuple(others)))
        found.append(given.sum() / expected.sum())
    assert np.mean(found) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(("items", "letter"), [(1, 0), (240, 0), (240, MISSING)])
def test_minority_answers_of_constant_and_empty_sets_are_counted_or_not_checked(
    demo, items, letter
):
    key = RNG.integers(0, 4, items).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(items))), key)
    others = tuple(sheet(layout, f"m{n}") for n in range(4))
    one = Sheet("one", "plain", 0, np.full((items, 8), letter, dtype=np.int8))
    found = check_minority_answers(one, Panel(layout, (one,), others))
    assert found is not None
    assert (found.worst == "not_checked") == (items == 1 or letter == MISSING)
    assert np.isnan(found.p_value) == (found.worst == "not_checked")


def repeated(one: Sheet, two: Sheet, usual: Popularity) -> float:
    both = overlap(one, two, usual, (np.ones(4), np.ones(4)))
    return both.letters[0].sum() / both.letters[1].sum()


def test_overlap_is_one_for_the_same_answers_and_near_zero_for_independent_ones(layout):
    others = [sheet(layout, f"m{n}") for n in range(6)]
    one, two = sheet(layout, "one"), sheet(layout, "two")
    same = Sheet("two", "plain", 0, one.letters)
    usual = Panel(layout, (one, two), tuple(others)).without("one", "two")
    assert repeated(one, same, usual) == pytest.approx(1)
    both = overlap(one, same, usual, (np.ones(4), np.ones(4)))
    assert both.same_wrong == 1
    assert both.marks[0] == pytest.approx(both.marks[1])
    assert abs(repeated(one, two, usual)) < 0.25
    assert repeated(one, two, usual) == pytest.approx(repeated(two, one, usual))


def test_separation_has_the_variance_of_delong_if_items_have_one_cell():
    scores, marked = RNG.random((60, 1)).round(1), RNG.random((60, 1)) < 0.4
    area, p = separation(scores, marked, limit=0.5)
    high, low = scores[marked], scores[~marked]
    kernel = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    variance = np.var(kernel.mean(1), ddof=1) / len(high) + np.var(kernel.mean(0), ddof=1) / len(
        low
    )
    assert area == pytest.approx(kernel.mean())
    assert p == pytest.approx(stats.norm.sf((kernel.mean() - 0.5) / np.sqrt(variance)))


def test_separation_within_strata_compares_cells_of_one_stratum():
    scores, marked = RNG.random((60, 2)), RNG.random((60, 2)) < 0.4
    strata = np.repeat([0, 1, 2], [30, 29, 1])
    marked[-1] = True  # The last stratum has no other cell.
    higher = pairs = 0
    for stratum in range(3):
        own, is_marked = scores[strata == stratum], marked[strata == stratum]
        kernel = own[is_marked][:, None] > own[~is_marked]
        higher, pairs = higher + kernel.sum(), pairs + kernel.size
    # The scores of a whole stratum can be higher, and nothing changes.
    area, p = separation(scores + 5 * strata[:, None], marked, limit=0.5, strata=strata)
    assert area == pytest.approx(higher / pairs)
    assert separation(scores, marked, limit=0.5, strata=strata) == pytest.approx((area, p))
    assert separation(scores, marked, limit=0.5, strata=0 * strata) == separation(
        scores, marked, limit=0.5
    )


def test_separation_allows_for_cells_of_the_same_item():
    """Repeating every cell eight times adds no information."""
    scores, marked = RNG.random((80, 1)), RNG.random((80, 1)) < 0.4
    once = separation(scores, marked, limit=0.4)
    often = separation(scores.repeat(8, axis=1), marked.repeat(8, axis=1), limit=0.4)
    assert once == pytest.approx(often)


def test_p_value_is_that_of_the_t_test_and_small_only_above_zero():
    values = RNG.normal(0.2, 1, 50)
    expected = stats.ttest_1samp(values, 0, alternative="greater").pvalue
    assert p_above_zero(values) == pytest.approx(expected)
    assert p_above_zero(-values) == pytest.approx(1 - expected)
    assert p_above_zero(np.ones(20)) == pytest.approx(2.0**-20)
    assert p_above_zero(np.zeros(20)) >= 0.5


def test_flag_needs_both_a_small_p_value_and_a_value_beyond_the_limit():
    def flag(p, worst):
        return Finding("c", 1.0, 0.5, p, worst, "").flag(p)

    assert [flag(p, "block") for p in (1e-10, 0.005, 0.02)] == ["block", "look", "ok"]
    assert [flag(p, "look") for p in (1e-9, 0.02)] == ["look", "ok"]
    assert Finding("c", 0.1, 0.0, np.nan, "look", "").flag(np.nan) == "look"


def test_item_without_answers_changes_nothing(layout):
    key = np.append(layout.key, 0).astype(np.int8)
    longer = Layout(layout.benchmark, "1", (*layout.items, "i12"), key)
    one = sheet(layout, "one")
    letters = np.pad(one.letters, ((0, 1), (0, 0)), constant_values=MISSING)
    found = check_letters(Sheet("one", "plain", 0, letters), Panel(longer, (), ()))
    assert found == check_letters(one, Panel(layout, (), ()))


def test_letter_shares_are_1_for_one_letter_and_0_for_the_key(layout):
    shape = (len(layout.items), len(layout.benchmark.variants))
    for letters, value in ((2, 1), (layout.key[:, None], 0)):
        given = Sheet("m", "plain", 0, np.broadcast_to(letters, shape).astype(np.int8))
        assert check_letters(given, Panel(layout, (), ())).value == pytest.approx(value)


def test_constant_answers_are_asked_about_only_if_flips_were_to_be_expected(demo):
    """Few errors lead to few flips: a set without flips needs many items to be unusual."""
    flagged = []
    for items in (20, 400):
        key = RNG.integers(0, 4, items).astype(np.int8)
        layout = Layout(demo, "1", tuple(map(str, range(items))), key)
        others = tuple(sheet(layout, f"m{n}", accuracy=0.97) for n in range(6))
        same = np.where(RNG.random((items, 1)) < 0.97, key[:, None], (key[:, None] + 1) % 4)
        one = Sheet("m", "plain", 0, np.repeat(same, 8, axis=1).astype(np.int8))
        found = check_flip_level(one, Panel(layout, (one,), others))
        flagged.append(found.flag(found.p_value))
    assert flagged == ["not_checked", "look"]
    assert found.value == 0


def test_expected_accuracy_is_that_of_the_set_and_follows_the_others(demo):
    key = RNG.integers(0, 4, 500).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(500))), key)
    others = tuple(sheet(layout, f"m{n}", accuracy=0.7) for n in range(5))
    one = sheet(layout, "one", accuracy=0.85)
    found = expected_correct(one, Panel(layout, (one,), others))
    assert found.mean() == pytest.approx(layout.correct(one).mean(), abs=1e-4)
    # All variants are equally difficult here, so the others show nothing about a variant.
    assert np.ptp(found) < 0.2


def test_what_an_ability_is_computed_from_is_freed_at_once():
    weights, times = np.full((4, len(_LOGITS)), 1 / len(_LOGITS)), np.arange(1, 5)
    freed = weakref.ref(weights)
    gc.disable()
    try:
        _ability(weights, times, 6, 0.95, 0, 0.0)
        del weights
        assert freed() is None
    finally:
        gc.enable()


def test_expected_accuracy_recovers_the_rasch_model(demo):
    """Probabilities of the simulated model, by how many of five others are correct."""
    items, variants = 4000, 8
    key = RNG.integers(0, 4, items).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(items))), key)
    difficulty = RNG.normal(0, 1.5, (items, variants))

    def draw(name: str, ability: float) -> Sheet:
        right = RNG.random(difficulty.shape) < special.expit(ability - difficulty)
        letters = np.where(right, key[:, None], (key[:, None] + 1) % 4)
        return Sheet(name, "plain", 0, letters.astype(np.int8))

    others = tuple(draw(f"m{n}", 1.0) for n in range(5))
    one = draw("one", 2.5)
    panel = Panel(layout, (one,), others)
    usual = panel.others(one)
    found, truth = expected_correct(one, panel), special.expit(2.5 - difficulty)
    right = np.rint(usual.accuracy * 5)
    for count in range(6):
        cells = right == count
        assert found[cells].mean() == pytest.approx(truth[cells].mean(), abs=0.015)


@pytest.mark.filterwarnings("error")
def test_one_option_gives_no_warning_and_no_question(demo):
    one = replace(demo, options=("A",))
    layout = Layout(one, "1", tuple(map(str, range(30))), np.zeros(30, dtype=np.int8))
    letters = np.zeros((30, 8), dtype=np.int8)
    sheets = tuple(Sheet(f"m{n}", "plain", 0, letters) for n in range(5))
    panel = Panel(layout, sheets, sheets)
    found = [check(sheets[0], panel) for check in checks_of(layout)]
    flags = {f.flag(f.p_value) for f in found if f is not None}
    assert flags <= {"ok", "not_checked"}


def test_habit_that_depends_on_the_key_is_no_sign_of_moved_answers(demo):
    """Keys ABAB..., and a model that takes the other of the two in 70% of cases."""
    key = (np.arange(200) % 2).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(200))), key)
    right = RNG.random((200, 8)) < 0.3
    letters = np.where(right, key[:, None], 1 - key[:, None]).astype(np.int8)
    others = tuple(sheet(layout, f"m{n}") for n in range(3))
    found = check_alignment(Sheet("m", "plain", 0, letters), Panel(layout, (), others))
    assert found.flag(found.p_value) == "look" or found.p_value > 0.01
    assert found.worst == "look"


def test_letters_are_not_over_given_if_one_letter_is_nearly_always_the_key(demo):
    for share in (1.0, 0.9):
        key = np.where(np.arange(60) < 60 * share, 0, 1).astype(np.int8)
        layout = Layout(demo, "1", tuple(map(str, range(60))), key)
        wrong = RNG.random((60, 8)) < 0.1
        letters = np.where(wrong, (key[:, None] + 1) % 4, key[:, None]).astype(np.int8)
        found = check_letters(Sheet("m", "plain", 0, letters), Panel(layout, (), ()))
        assert 0 <= found.value <= 0.2
        assert found.flag(found.p_value) == "ok"


def test_one_constant_set_among_others_does_not_switch_off_the_check_of_flips(demo):
    key = RNG.integers(0, 4, 400).astype(np.int8)
    layout = Layout(demo, "1", tuple(map(str, range(400))), key)
    others = tuple(sheet(layout, f"m{n}", accuracy=0.8) for n in range(5))
    constant = Sheet("constant", "plain", 0, np.zeros((400, 8), dtype=np.int8))
    same = np.where(RNG.random((400, 1)) < 0.8, key[:, None], (key[:, None] + 1) % 4)
    one = Sheet("m", "plain", 0, np.repeat(same, 8, axis=1).astype(np.int8))
    found = check_flip_level(one, Panel(layout, (one,), (*others, constant)))
    assert found.flag(found.p_value) == "look"


def test_pairs_that_flip_as_often_as_others_are_no_sign_of_forced_answers(demo):
    """If single versions differ, both counts are the same for each item, so t is huge."""
    variants = list(demo.variants)
    first, second = (
        [variants.index((name, group)) for name, group in groups]
        for groups in (
            [("race", "white"), ("sex", "male"), ("ses", "high_income")],
            [("race", "black"), ("sex", "female"), ("ses", "low_income")],
        )
    )
    layout = Layout(demo, "1", tuple(map(str, range(60))), np.zeros(60, np.int8))
    single = np.zeros((60, len(variants)), np.int8)
    single[np.arange(30), [(first + second)[item % 6] for item in range(30)]] = 1
    others = single.copy()
    # In these items, pairs flip more often than versions of two attributes.
    for item in range(30, 35):
        others[item, [first[0], second[1]]] = 1
    given = tuple(Sheet(f"m{n}", "plain", 0, others) for n in range(4))
    found = check_pair_flips(Sheet("m", "plain", 0, single), Panel(layout, (), given))
    assert found.value == 1
    assert "median of other models is 1." in found.note
    assert found.p_value > 0.01, found.note
