"""The outcome patterns of pairs of answers, and which pattern counts in which estimate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.comparisons.item_tallies import pattern_tallies, sums_of
from fairstats.comparisons.model_differences import SUMS
from fairstats.counts.grid import grid
from fairstats.counts.patterns import (
    PATTERNS,
    GroupAnswers,
    apply_policy,
    common_copies,
    missing_flags,
    missing_per_group,
    of_each_pattern,
    pair_weights,
    per_answer,
    sums_by_unit,
)
from tests.make_groups import make_groups

# One of each pattern would hide a mix-up: with powers of two, each sum identifies its parts.
EACH = {name: 2**position for position, name in enumerate(PATTERNS)}
FIELDS = ("n11", "n10", "n01", "n00", "same", "correct_a", "n_a", "correct_b", "n_b")
COMPLETE = st.fixed_dictionaries({name: st.integers(0, 50) for name in PATTERNS[:5]})


def total(*names: str) -> int:
    return sum(EACH[name] for name in names)


BOTH = ("n11", "n11_different", "n10", "n01", "n00_same", "n00_different")
EXPECTED = {
    "available": {
        "n10": total("n10"),
        "n01": total("n01"),
        "n00": total("n00_same", "n00_different"),
        "correct_a": total("n11", "n11_different", "n10", "n1x"),
        "n_a": total(*BOTH, "n1x", "n0x"),
        "correct_b": total("n11", "n11_different", "n01", "nx1"),
        "n_b": total(*BOTH, "nx1", "nx0"),
    },
    "complete": {
        "n10": total("n10"),
        "n01": total("n01"),
        "n00": total("n00_same", "n00_different"),
        "correct_a": total("n11", "n11_different", "n10"),
        "n_a": total(*BOTH),
        "correct_b": total("n11", "n11_different", "n01"),
        "n_b": total(*BOTH),
    },
    "incorrect": {
        "n10": total("n10", "n1x"),
        "n01": total("n01", "nx1"),
        "n00": total("n00_same", "n00_different", "n0x", "nx0", "nxx"),
        "correct_a": total("n11", "n11_different", "n10", "n1x"),
        "n_a": total(*PATTERNS),
        "correct_b": total("n11", "n11_different", "n01", "nx1"),
        "n_b": total(*PATTERNS),
    },
}


@pytest.mark.parametrize("policy", EXPECTED)
def test_patterns_count_as_the_policy_defines(policy, counts_of):
    paired = apply_policy(counts_of(**EACH), policy)
    expected = EXPECTED[policy] | {
        "n11": total("n11", "n11_different"),
        "same": total("n11", "n00_same"),
    }
    assert {name: int(getattr(paired, name)[0]) for name in FIELDS} == expected
    assert paired.n[0] == expected["n11"] + expected["n10"] + expected["n01"] + expected["n00"]
    (sums,) = sums_of(pattern_tallies(counts_of(**EACH)), policy)
    assert sums.tolist() == [int(getattr(paired, name)[0]) for name in SUMS]
    one = of_each_pattern(policy)
    for name in FIELDS:
        assert getattr(one, name) @ list(EACH.values()) == expected[name]


def test_pooled_accuracies_use_the_pairs_with_both_answers(counts_of):
    own = apply_policy(np.repeat(counts_of(**EACH), 2, axis=0), "available", pooled=[True, False])
    for place, policy in enumerate(("complete", "available")):
        found = {name: int(getattr(own, name)[place]) for name in EXPECTED[policy]}
        assert found == EXPECTED[policy]


def test_missing_answers_are_counted_per_group(counts_of):
    a, b = missing_per_group(counts_of(**EACH))
    assert (a[0], b[0]) == (total("nx1", "nx0", "nxx"), total("n1x", "n0x", "nxx"))
    flags = missing_flags(counts_of(**EACH))
    assert [int(cell[0]) for cell in flags.cells] == [
        total("nxx"),
        total("nx1", "nx0"),
        total("n1x", "n0x"),
        total(*BOTH),
    ]


@given(patterns=COMPLETE)
def test_policies_agree_without_missing_answers(counts_of, patterns):
    one, *others = (apply_policy(counts_of(**patterns), policy) for policy in EXPECTED)
    for other in others:
        assert all(getattr(one, name) == getattr(other, name) for name in FIELDS)


@given(patterns=st.fixed_dictionaries({name: st.integers(0, 50) for name in PATTERNS}))
def test_no_policy_counts_more_correct_answers_than_answers(counts_of, patterns):
    for policy in EXPECTED:
        paired = apply_policy(counts_of(**patterns), policy)
        assert paired.correct_a <= paired.n_a
        assert paired.correct_b <= paired.n_b
        assert paired.same <= paired.n


def test_pairs_are_kept_separate(counts_of):
    counts = np.concatenate([counts_of(**EACH), counts_of()])
    assert apply_policy(counts, "incorrect").n.tolist() == [total(*PATTERNS), 0]


def test_unknown_policy_is_refused_with_the_known_ones(counts_of):
    with pytest.raises(ValueError, match=r"'ignore'.*available, complete or incorrect"):
        apply_policy(counts_of(), "ignore")


def test_weights_make_every_answer_count_the_same():
    sizes, one = np.arange(1, 11), np.zeros(10, dtype=np.int64)
    copies = common_copies(one, sizes, 1)
    np.testing.assert_array_equal(pair_weights(copies, sizes) * sizes, np.repeat(copies, 10))
    many = np.arange(1, 60)
    largest = common_copies(np.zeros(59, dtype=np.int64), many, 1)
    rounded = pair_weights(largest, many) * many
    np.testing.assert_allclose(rounded, np.repeat(largest, 59), rtol=59 / 2 / 10**7)
    assert per_answer(rounded, largest).tolist() == [1] * len(many)
    # An answer set without answers has weight 1; each has its own multiple.
    assert common_copies(np.array([0, 0, 2]), np.array([4, 6, 3]), 3).tolist() == [12, 1, 3]


def test_sums_by_answer_set_keep_those_without_rows():
    unit, table = np.array([1, 1, 3]), np.array([[1, 2], [3, 4], [5, 6]])
    assert sums_by_unit(unit, table, 5).tolist() == [[0, 0], [4, 6], [0, 0], [5, 6], [0, 0]]
    assert sums_by_unit(unit[:0], table[:0], 2).tolist() == [[0, 0], [0, 0]]


def test_neutral_answers_make_an_item_answerable(demo, answers_of):
    # The second sign is the original's answer, which does not matter.
    items = ["AB/A", "AB/AB", "AB/B", "AB/BA", "AB/-", "AB/-A", "AB"]
    found = make_groups(demo, dict.fromkeys(items, 1)).answers
    assert found.neutral.tolist() == [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2 + [[0, 0, 1]] * 3
    # Three neutral answers of an item share the weight of one.
    samples = [["AB/A", "AA/B"], ["../B"], ["../-"]]
    answers = [answers_of(own, sample=sample) for sample, own in enumerate(samples)]
    own = GroupAnswers.of(grid(pd.concat(answers))["demo"], demo.attributes["race"])
    assert own.neutral.tolist() == [[1, 1, 1], [0, 1, 0]]
    assert own.neutral_copies.tolist() == [3]
    assert own.neutral_weights.tolist() == [1, 3]


def test_only_the_rows_that_were_asked_count(demo, answers_of):
    answers = pd.concat(
        [
            answers_of(["../A", "AB/A", ".A"]),
            answers_of(["AA"], groups=("male", "female"), attribute="sex"),
        ]
    )
    found = grid(answers)["demo"]
    race, sex = (GroupAnswers.of(found, demo.attributes[name]) for name in ("race", "sex"))
    assert (race.rows.tolist(), sex.rows.tolist()) == ([1, 2], [0])
    assert race.asked.tolist() == [[1, 1], [0, 1]]
    assert race.missing.tolist() == [[0, 0], [1, 0]]
    assert len(GroupAnswers.of(found, demo.attributes["ses"]).rows) == 0
