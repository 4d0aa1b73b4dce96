"""The policies for missing answers: which pattern counts in which estimate."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.counts.missing_policies import apply_policy, missing_per_group
from fairstats.counts.outcomes import PATTERNS

# One of each pattern would hide a mix-up: with powers of two, each sum identifies its parts.
EACH = {name: 2**position for position, name in enumerate(PATTERNS)}
FIELDS = ("n11", "n10", "n01", "n00", "same", "correct_a", "n_a", "correct_b", "n_b")
COMPLETE = st.fixed_dictionaries({name: st.integers(0, 50) for name in PATTERNS[:5]})


def total(*names: str) -> int:
    return sum(EACH[name] for name in names)


BOTH = ("n11", "n10", "n01", "n00_same", "n00_different")
EXPECTED = {
    "available": {
        "n10": total("n10"),
        "n01": total("n01"),
        "n00": total("n00_same", "n00_different"),
        "correct_a": total("n11", "n10", "n1x"),
        "n_a": total(*BOTH, "n1x", "n0x"),
        "correct_b": total("n11", "n01", "nx1"),
        "n_b": total(*BOTH, "nx1", "nx0"),
    },
    "complete": {
        "n10": total("n10"),
        "n01": total("n01"),
        "n00": total("n00_same", "n00_different"),
        "correct_a": total("n11", "n10"),
        "n_a": total(*BOTH),
        "correct_b": total("n11", "n01"),
        "n_b": total(*BOTH),
    },
    "incorrect": {
        "n10": total("n10", "n1x"),
        "n01": total("n01", "nx1"),
        "n00": total("n00_same", "n00_different", "n0x", "nx0", "nxx"),
        "correct_a": total("n11", "n10", "n1x"),
        "n_a": total(*PATTERNS),
        "correct_b": total("n11", "n01", "nx1"),
        "n_b": total(*PATTERNS),
    },
}


@pytest.mark.parametrize("policy", EXPECTED)
def test_patterns_count_as_the_policy_defines(policy, counts_of):
    paired = apply_policy(counts_of(**EACH), policy)
    expected = EXPECTED[policy] | {"n11": EACH["n11"], "same": total("n11", "n00_same")}
    assert {name: int(getattr(paired, name)[0]) for name in FIELDS} == expected
    assert paired.n[0] == expected["n11"] + expected["n10"] + expected["n01"] + expected["n00"]


def test_missing_answers_are_counted_per_group(counts_of):
    a, b = missing_per_group(counts_of(**EACH))
    assert (a[0], b[0]) == (total("nx1", "nx0", "nxx"), total("n1x", "n0x", "nxx"))


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


def test_units_are_kept_separate():
    counts = pd.DataFrame([EACH, dict.fromkeys(PATTERNS, 0)])
    assert apply_policy(counts, "incorrect").n.tolist() == [total(*PATTERNS), 0]


def test_unknown_policy_is_refused_with_the_known_ones(counts_of):
    with pytest.raises(ValueError, match=r"'ignore'.*available, complete or incorrect"):
        apply_policy(counts_of(), "ignore")
