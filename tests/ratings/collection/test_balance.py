"""Tasks are distributed evenly among raters."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.ratings.collection.balance import (
    balanced_loads,
    balanced_sides,
    balanced_tasks,
    concurrence,
)


def assigned(tasks, raters, replicates, seed=1):
    rng = Random(seed)
    loads = balanced_loads(tasks, [None] * raters, replicates=replicates)
    return loads, balanced_tasks(tasks, loads, replicates=replicates, rng=rng)


@given(
    tasks=st.integers(1, 30),
    raters=st.integers(1, 9),
    replicates=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_every_task_has_its_raters_and_every_rater_their_load(tasks, raters, replicates, seed):
    replicates = min(raters, replicates)
    loads, chosen = assigned(tasks, raters, replicates, seed)
    assert max(loads) - min(loads) <= 1
    assert [len(group) for group in chosen] == [replicates] * tasks
    counted = Counter(rater for group in chosen for rater in group)
    assert [counted[rater] for rater in range(raters)] == loads


@pytest.mark.parametrize(
    ("tasks", "raters", "replicates", "shared"),
    [
        # Designs known to exist: the planes of order 2 and 3, affine and projective.
        (7, 7, 3, 1),
        (12, 9, 3, 1),
        (13, 13, 4, 1),
        # All raters on all tasks.
        (5, 3, 3, 5),
    ],
)
def test_pairs_meet_equally_often_if_a_balanced_design_exists(tasks, raters, replicates, shared):
    _, chosen = assigned(tasks, raters, replicates)
    assert concurrence(chosen, raters) == (shared, shared)


def test_usual_study_is_balanced_up_to_rounding():
    # 1,000 tasks, 3 of 10 raters: 3,000 meetings of 45 pairs, 66 or 67 each.
    _, chosen = assigned(1000, 10, 3)
    assert concurrence(chosen, 10) == (66, 67)


def test_search_stops_once_pairs_meet_evenly():
    # 17 meetings of 3 pairs: 5 or 6 each without any exchange.
    class WithoutSearch(Random):
        def sample(self, *args, **kwargs):
            raise AssertionError("raters were exchanged")

    chosen = balanced_tasks(
        17, balanced_loads(17, [None] * 3, replicates=2), replicates=2, rng=WithoutSearch(1)
    )
    assert concurrence(chosen, 3) == (5, 6)


def test_limits_are_kept_and_the_others_share_the_rest():
    loads = balanced_loads(10, [2, None, None, None, 0], replicates=2)
    assert loads[0] == 2
    assert loads[4] == 0
    assert sum(loads) == 20
    assert max(loads[1:4]) - min(loads[1:4]) <= 1
    chosen = balanced_tasks(10, loads, replicates=2, rng=Random(1))
    counted = Counter(rater for group in chosen for rater in group)
    assert [counted[rater] for rater in range(5)] == loads


@pytest.mark.parametrize(
    ("tasks", "limits", "replicates"),
    [(3, [None], 2), (4, [1, 1, 1], 1), (4, [None, 1], 2), (2, [], 1)],
)
def test_too_little_room_is_refused(tasks, limits, replicates):
    with pytest.raises(ValueError, match="capacity for"):
        balanced_loads(tasks, limits, replicates=replicates)


@given(
    tasks=st.integers(1, 25),
    raters=st.integers(1, 8),
    replicates=st.integers(1, 8),
    seed=st.integers(0, 99),
)
def test_sides_are_swapped_for_half_of_each_task_and_of_each_rater(tasks, raters, replicates, seed):
    _, chosen = assigned(tasks, raters, min(raters, replicates), seed)
    swapped = balanced_sides(chosen, Random(seed))
    assert set(swapped) == {(task, rater) for task, group in enumerate(chosen) for rater in group}
    for part in (0, 1):
        excess = Counter()
        for pair, is_swapped in swapped.items():
            excess[pair[part]] += 1 if is_swapped else -1
        assert max(map(abs, excess.values())) <= 1


def test_chance_decides_which_sides_are_swapped():
    chosen = [{0}]
    assert {balanced_sides(chosen, Random(seed))[0, 0] for seed in range(20)} == {True, False}


def test_single_rater_meets_no_one():
    assert concurrence([{0}, {0}], 1) == (0, 0)
