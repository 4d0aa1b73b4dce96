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
    assert table["reason"].str.fullmatch(r"no judgements .* round 1").all()
    assert set(table["times"]) == {1}


MINOR = FINE | {"fluency": "minor", "consistency": "minor"}


@pytest.mark.parametrize(
    ("judged", "decision", "reason"),
    [
        (lambda rater: FINE if rater == "P0" else None, "open", "only one judgement"),
        (lambda rater: FINE, "accepted", ""),
        (lambda rater: MINOR if rater == "P1" else FINE, "accepted", ""),
        (lambda rater: BAD, "rejected", "all .*: clinical consistency"),
    ],
    ids=["single reviewer", "no problem", "small problem", "unanimous fault"],
)
def test_decision_on_every_variant(study, judged, decision, reason):
    study.build()
    study.judge(study.assign(), lambda rater, variant: judged(rater))
    table = study.decided()
    assert set(table["decision"]) == {decision}
    assert table["reason"].str.match(reason).all()
    assert set(table["judgements"]) == {1 if decision == "open" else 4}
    if decision != "open":
        assert study.consensus().assigned is None


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
    reason = study.decided().loc[ONE, "reason"]
    assert reason.startswith("all ")
    assert reason.endswith(": clinical consistency")


@pytest.mark.parametrize(
    ("second", "decision"),
    [
        ({"P0": LEAKS}, "accepted"),
        ({"P0": LEAKS, "P1": LEAKS}, "rejected"),  # half
        ({"P0": LEAKS, "P1": BAD}, "accepted"),  # fewer than half of each dimension
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
    assert table.loc[ONE, "reason"].endswith(" round 2")
    assert (table["decision"] == "accepted").sum() == 17
