"""Agreement of samples of the same prompt, and the disagreement beyond it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.inference.intervals import wilson
from fairstats.metrics.same_prompt import same_prompt

NOISY, OTHER = [0.5, 0.3, 0.1, 0.1], [0.2, 0.6, 0.1, 0.1]
COUNTS = st.lists(st.integers(0, 3), min_size=3, max_size=3)


def test_answers_that_never_change_agree_and_have_no_excess():
    found = same_prompt([[3, 0]] * 50, [[3, 0]] * 50)
    assert (found.agreement.estimate, found.excess.estimate) == (1, 0)
    assert found.agreement.ci_low < 1 == found.agreement.ci_high
    assert found.excess.ci_low < 0 < found.excess.ci_high


def test_groups_with_one_fixed_letter_each_have_the_whole_excess():
    found = same_prompt([[3, 0]] * 50, [[0, 3]] * 50)
    assert (found.agreement.estimate, found.excess.estimate) == (1, 1)
    assert 0 < found.excess.ci_low <= found.excess.ci_high == 1


def test_without_an_item_of_two_answers_the_estimates_are_nan():
    found = same_prompt([[1, 0], [2, 0]], [[1, 0], [0, 1]])
    assert np.isnan(found.agreement.estimate)
    assert np.isnan(found.excess.estimate)
    assert (found.agreement.ci_low, found.agreement.ci_high) == (0, 1)
    assert (found.excess.ci_low, found.excess.ci_high) == (-1, 1)
    assert found.agreement.n == 0


@given(items=st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=6))
def test_estimates_are_means_over_all_pairs_of_samples(items):
    agreements, excesses = [], []
    for counts in items:
        letters = [np.repeat(range(3), own) for own in counts]
        if min(map(len, letters)) < 2:
            continue
        within = [np.mean([x == y for i, x in enumerate(own) for y in own[:i]]) for own in letters]
        across = np.mean([x == y for x in letters[0] for y in letters[1]])
        agreements.append(np.mean(within))
        excesses.append(np.mean(within) - across)
    found = same_prompt(*zip(*items, strict=True))
    assert found.agreement.n == len(agreements)
    if agreements:
        assert found.agreement.estimate == pytest.approx(np.mean(agreements))
        assert found.excess.estimate == pytest.approx(np.mean(excesses), abs=1e-12)
        assert found.excess.ci_low <= found.excess.estimate + 1e-9
        assert found.excess.estimate <= found.excess.ci_high + 1e-9


def test_missing_answers_never_agree_if_incorrect():
    found = same_prompt([[1, 0]], [[2, 0]], samples=[2], missing="incorrect")
    assert found.agreement.estimate == 0.5
    assert found.excess.estimate == 0
    with pytest.raises(ValueError, match="needs samples"):
        same_prompt([[1, 0]], [[2, 0]], missing="incorrect")


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5)])
def test_interval_covers_zero_for_noise_and_excludes_it_for_an_unfair_model(sizes):
    rng = np.random.default_rng(1)
    covered, cfr, found_unfair = 0, [], 0
    for _ in range(60):
        size = rng.integers(sizes[0], sizes[1] + 1, 200)
        a, again, b = (rng.multinomial(size, p) for p in (NOISY, NOISY, OTHER))
        fair, unfair = same_prompt(a, again), same_prompt(a, b)
        covered += fair.excess.ci_low <= 0 <= fair.excess.ci_high
        found_unfair += unfair.excess.ci_low > 0
        cfr.append(float(fair.agreement.estimate - fair.excess.estimate))
    assert covered >= 52
    assert found_unfair >= 55
    assert np.mean(cfr) < 0.5


@pytest.mark.parametrize("uneven", [0, 1])
def test_few_items_with_an_excess_leave_room_for_one_below_0(uneven):
    a = [[2, 0]] * 40
    b = [[1, 1]] * 3 + [[2, 0]] * 36 + [[2 + uneven, 0]]
    found = same_prompt(a, b).excess
    assert found.estimate == 0
    a = [[0, 2]] * 2 + [[2, 0]] * 38
    found = same_prompt(a, [[2, 0]] * 39 + [[2 + uneven, 0]]).excess
    assert found.ci_low < 0 < found.estimate < found.ci_high


def test_many_samples_that_vary_by_chance_do_not_hide_a_rare_excess():
    rng = np.random.default_rng(3)
    a, b = (rng.multinomial(20, [0.95, 0.05], 50) for _ in range(2))
    found = same_prompt(a, b).excess
    # Of further items, a share up to Wilson's limit for 0 of 50 could change in all samples.
    assert found.ci_high == pytest.approx(
        found.estimate + float(wilson(0, 50).ci_high) * (1 - found.estimate)
    )
    twice = same_prompt(np.repeat(a, 2, axis=0), np.repeat(b, 2, axis=0), units=np.arange(100) // 2)
    assert twice.excess.ci_high == pytest.approx(found.ci_high)


def test_agreement_has_room_for_items_that_are_less_steady():
    """Of 60 items, two are answered at random, and most samples have neither."""
    rng, covered = np.random.default_rng(5), 0
    steady, random = [0.99, 0.01, 0.0, 0.0], [0.25] * 4
    truth = 0.97 * float(np.square(steady).sum()) + 0.03 * 0.25
    for _ in range(100):
        chances = np.where(rng.random((60, 1)) < 0.03, random, steady)
        a, b = (np.array([rng.multinomial(20, own) for own in chances]) for _ in range(2))
        found = same_prompt(a, b).agreement
        covered += bool(found.ci_low <= truth <= found.ci_high)
    assert covered >= 93
