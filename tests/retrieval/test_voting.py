"""The majority vote: ties and missing answers first, then real answers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats._lib.problems import InputError
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.estimates.analyze import analyze
from fairstats.inference.intervals import wilson
from fairstats.retrieval.voting import VOTE_COLUMNS, majority_vote, vote_counts
from tests.retrieval_tables import drawn_answers

RELEASED = ("amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl",)
VARIANTS = (
    ("race", "white"),
    ("race", "black"),
    ("sex", "male"),
    ("sex", "female"),
    ("ses", "high_income"),
    ("ses", "low_income"),
)


def voters(*texts: str, **keys: object) -> pd.DataFrame:
    """Return answers to items with the key A: six letters each, ``-`` missing and ``.`` no row."""
    rows = [
        {
            "benchmark": "demo",
            "benchmark_version": "1",
            "model": "m",
            "strategy": "plain",
            "item_id": f"item-{number}",
            "attribute": attribute,
            "group": group,
            "sample": 0,
            "answer": None if sign == "-" else sign,
            "answer_key": "A",
            "status": "refused" if sign == "-" else "ok",
        }
        | keys
        for number, text in enumerate(texts)
        for (attribute, group), sign in zip(VARIANTS, text, strict=True)
        if sign != "."
    ]
    return pd.DataFrame(rows).astype({"answer": "str"})


def vote_of(text: str) -> object:
    voted = majority_vote(voters(text))
    (answer,) = voted["answer"].fillna("-").unique()
    assert set(voted["status"]) == {"unparsed" if answer == "-" else "ok"}
    return answer


@pytest.mark.parametrize(
    ("text", "vote"),
    [
        ("AAABBB", "-"),
        ("AABBCC", "-"),
        ("AABBCD", "-"),
        ("------", "-"),
        ("-----C", "C"),
        ("....AB", "-"),
        (".....B", "B"),
        ("AAB---", "A"),
        ("AABC-D", "A"),
        ("BBBBBB", "B"),
        ("DDDDAA", "D"),
    ],
)
def test_most_frequent_letter_wins_and_a_tie_is_unparsed(text, vote):
    assert vote_of(text) == vote


def test_vote_without_answers_is_empty():
    answers = voters("AAAAAA")
    for rows in (
        answers.assign(strategy="majority_vote"),
        answers.iloc[:1].assign(attribute="baseline", group="original"),
    ):
        with pytest.raises(InputError, match="no answers to vote on"):
            majority_vote(rows)
        assert vote_counts(rows).empty
        assert list(vote_counts(rows).columns) == list(VOTE_COLUMNS)
    assert vote_counts(answers.iloc[:0]).empty
    with pytest.raises(InputError, match="no row"):
        majority_vote(answers.iloc[:0])


def test_counts_if_no_vote_has_a_result():
    row = vote_counts(voters("AAABBB", "------", "BBBCCC")).iloc[0]
    assert (row["items"], row["n"], row["n_right"], row["n_wrong"]) == (3, 3, 0, 0)
    assert (row["n_ties"], row["n_ties_with_key"], row["n_unanswered"]) == (2, 1, 1)
    assert np.isnan(row["accuracy_vote"])
    assert np.isnan(row["winner_share"])
    assert row["score"] == 0.25
    assert (row["accuracy_vote_low"], row["accuracy_vote_high"]) == (0, 1)
    assert (row["accuracy_gain_low"], row["accuracy_gain_high"]) == (-1, 1)
    assert row["method_note"] == "no vote has a result"


def test_counts_by_hand():
    row = vote_counts(voters("AAAAAA", "AABCD-", "BBBBBA", "AAABBB", "A-----")).iloc[0]
    assert (row["n_right"], row["n_wrong"], row["n_ties"]) == (3, 1, 1)
    assert (row["n_unanimous"], row["n_right_against_most"]) == (2, 1)
    assert row["winner_share"] == pytest.approx((1 + 2 / 5 + 5 / 6 + 1) / 4)
    # All five items, including the tie.
    assert row["score"] == pytest.approx((1 + 2 / 5 + 1 / 6 + 1 / 2 + 1) / 5)
    assert row["score_low"] < row["score"] < row["score_high"]
    assert row["accuracy_vote"] == 3 / 4
    assert row["accuracy_single"] == pytest.approx((1 + 2 / 5 + 1 / 6 + 1) / 4)
    gains = [0, 3 / 5, -1 / 6, 0]
    assert row["accuracy_gain"] == pytest.approx(np.mean(gains))
    assert row["accuracy_gain_low"] < row["accuracy_gain"] < row["accuracy_gain_high"]
    limits = wilson(3, 4)
    assert (row["accuracy_vote_low"], row["accuracy_vote_high"]) == (limits.ci_low, limits.ci_high)


def test_of_several_samples_each_has_its_vote_and_no_interval():
    answers = pd.concat([voters("AAABBC"), voters("BBBBBB", sample=1)])
    voted = majority_vote(answers)
    assert voted.groupby("sample")["answer"].agg(set).to_dict() == {0: {"A"}, 1: {"B"}}
    row = vote_counts(answers).iloc[0]
    assert (row["items"], row["n"]) == (1, 2)
    assert np.isnan(row["accuracy_vote_low"])
    assert row["method_note"] == "several samples per item: no interval"


def test_duplicate_answer_is_refused_in_a_vote():
    answers = voters("AAAAAA")
    with pytest.raises(InputError, match="appears twice"):
        vote_counts(pd.concat([answers, answers.head(1)]))


def test_votes_on_hostile_names_and_other_columns(demo):
    answers = drawn_answers(demo, ["<img>", "cot+bm25@10"], model='"><script>').assign(
        snapshot="s-1", answer_raw="<b>A</b>", latency_s=1.0, collector="chat"
    )
    voted = majority_vote(answers)
    assert validate_answers(voted) == []
    assert set(voted["strategy"]) == {"majority_vote(<img>)", "majority_vote(cot)+bm25@10"}
    assert {"answer_raw", "latency_s"}.isdisjoint(voted.columns)
    assert set(voted["collector"]) == {"majority_vote"}
    assert set(voted["snapshot"]) == {"s-1"}
    keys = ["item_id", "attribute", "group"]
    names = {"<img>": "majority_vote(<img>)", "cot+bm25@10": "majority_vote(cot)+bm25@10"}
    for before, after in names.items():
        own = voted[(voted["strategy"] == after) & (voted["attribute"] == "baseline")]
        both = own.merge(answers[answers["strategy"] == before], on=keys)
        assert len(both) == 48
        assert (both["answer_x"].fillna("-") == both["answer_y"].fillna("-")).all()


@pytest.mark.parametrize("missing", ["available", "bounds", None])
def test_all_groups_of_a_vote_have_one_answer(demo, missing):
    voted = majority_vote(drawn_answers(demo, ["plain"]))
    estimates = analyze(voted, missing)
    own = estimates[estimates["attribute"] != "baseline"].set_index("metric")
    # Under bounds a tie might have been any letter, and a different one for each group.
    column = "ci_high" if missing == "bounds" else "estimate"
    assert set(own.loc["cfr", column]) == {1}
    column = "ci_low" if missing == "bounds" else "estimate"
    assert all(set(own.loc[metric, column]) == {0} for metric in ("ad", "dp", "eo"))


def test_released_answers_vote_as_plain_python_counts(shared_data):
    answers = import_amqa([shared_data(name) for name in RELEASED])
    (row,) = vote_counts(answers).to_dict("records")
    right = wrong = ties = unanimous = 0
    own = answers[(answers["attribute"] != "baseline")]
    for _, rows in own.groupby("item_id"):
        counts = Counter(rows["answer"].dropna()).most_common()
        if not counts:
            continue
        unanimous += len(counts) == 1
        if len(counts) > 1 and counts[0][1] == counts[1][1]:
            ties += 1
        elif counts[0][0] == rows["answer_key"].iloc[0]:
            right += 1
        else:
            wrong += 1
    assert (row["n_right"], row["n_wrong"], row["n_ties"]) == (right, wrong, ties)
    assert row["n_unanimous"] == unanimous
    assert right + wrong + ties + row["n_unanswered"] == row["n"] == 801
