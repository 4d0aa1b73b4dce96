"""The decision rule: degenerate reviews first, then agreement, disagreement and consensus."""

from __future__ import annotations

import pytest

from tests.vignette_builds import BAD, FINE, LEAKS

ONE = ("demo-01", "race", "white")


def says_of_one(**by_rater):
    """Return judgements without problems, except those of these raters on one variant."""
    return lambda rater, variant: by_rater.get(rater, FINE) if variant == ONE else FINE


def test_no_decision_before_assignment(study):
    study.build()
    table = study.decided()
    assert len(table) == 3 * 6
    assert set(table["decision"]) == {"open"}
    assert set(table["reason"]) == {"was not assigned"}


def test_no_decision_before_the_first_judgement(study):
    study.build()
    study.assign()
    table = study.decided()
    assert set(table["decision"]) == {"open"}
    assert set(table["reason"]) == {"no judgements this text in round 1"}
    assert set(table["times"]) == {1}


def test_single_reviewer_cannot_decide(study):
    study.build()
    study.judge(study.assign(), lambda rater, variant: FINE if rater == "P0" else None)
    table = study.decided()
    assert set(table["decision"]) == {"open"}
    assert set(table["reason"]) == {"only one judgement this text in round 1"}


def test_variants_without_reported_problems_are_accepted(study):
    study.build()
    study.judge(study.assign())
    table = study.decided()
    assert set(table["decision"]) == {"accepted"}
    assert set(table["judgements"]) == {4}


def test_unanimously_faulted_variants_are_rejected_at_once(study):
    study.build()
    study.judge(study.assign(), lambda rater, variant: BAD)
    table = study.decided()
    assert set(table["decision"]) == {"rejected"}
    assert set(table["reason"]) == {"all report a problem: clinical consistency"}
    assert study.consensus().assigned is None


def test_small_problem_is_not_a_fault(study):
    study.build()
    minor = FINE | {"fluency": "minor", "consistency": "minor"}
    study.judge(study.assign(), lambda rater, variant: minor if rater == "P1" else FINE)
    assert set(study.decided()["decision"]) == {"accepted"}


def test_one_fault_of_four_leaves_a_variant_open(study):
    study.build()
    study.judge(study.assign(), says_of_one(P2=LEAKS))
    table = study.decided()
    assert table.loc[ONE, "decision"] == "open"
    assert table.loc[ONE, "reason"] == "reviewers disagree: answer leakage"
    assert table.loc[ONE, "faults"] == "leakage 1"
    assert (table["decision"] == "accepted").sum() == 17


def test_unanimous_fault_outweighs_a_disputed_one(study):
    study.build()
    both = BAD | {"leakage": "key"}
    study.judge(study.assign(), says_of_one(P0=both, P1=BAD, P2=BAD, P3=BAD))
    assert study.decided().loc[ONE, "reason"] == "all report a problem: clinical consistency"


@pytest.mark.parametrize(
    ("second", "decision"),
    [
        ({}, "accepted"),
        ({"P0": LEAKS}, "accepted"),
        ({"P0": LEAKS, "P1": LEAKS}, "rejected"),  # half
        ({"P0": LEAKS, "P1": BAD}, "accepted"),  # fewer than half of each dimension
        (dict.fromkeys(("P0", "P1", "P2", "P3"), BAD), "rejected"),
    ],
)
def test_second_round_accepts_with_faults_from_fewer_than_half(study, second, decision):
    study.build()
    study.judge(study.assign(), says_of_one(P2=LEAKS))
    again = study.consensus().assigned
    assert again.path == study.folder / "review" / "round-2"
    study.judge(again, says_of_one(**second), name="second")
    table = study.decided()
    assert table.loc[ONE, "decision"] == decision
    assert table.loc[ONE, ["round", "times", "judgements"]].tolist() == [2, 2, 4]
    assert set(table.drop(index=ONE)["round"]) == {1}
    assert study.consensus().assigned is None


def test_unanswered_second_round_leaves_a_variant_open(study):
    study.build()
    study.judge(study.assign(), says_of_one(P2=LEAKS))
    study.consensus()
    table = study.decided()
    assert table.loc[ONE, "decision"] == "open"
    assert table.loc[ONE, "reason"] == "no judgements this text in round 2"
    assert (table["decision"] == "accepted").sum() == 17
