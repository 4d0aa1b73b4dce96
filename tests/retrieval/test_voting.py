"""Majority votes of letters and of replies: ties and missing answers first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa
from typer.testing import CliRunner

import fairstats.commands.rag
from fairstats._lib.problems import InputError
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.files import read_answers, write_answers
from fairstats.cli import app
from fairstats.estimates.analyze import analyze
from fairstats.inference.intervals import wilson
from fairstats.retrieval.voting import (
    VOTE_COLUMNS,
    largest_cluster,
    majority_answer,
    majority_vote,
    open_vote,
    vote_counts,
)
from tests.make_answers import make_answers

RELEASED = ("amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl",)
VARIANTS = (
    ("race", "white"),
    ("race", "black"),
    ("sex", "male"),
    ("sex", "female"),
    ("ses", "high_income"),
    ("ses", "low_income"),
)


def voters(*texts: str, **columns: object) -> pd.DataFrame:
    """Return answers to items with the key A: six signs each."""
    return make_answers(texts, variants=VARIANTS, **columns)


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


def test_score_has_room_for_rare_items_that_all_variants_get_wrong(demo):
    texts = ["AAAAAB", *["AAAAAA"] * 29]
    row = vote_counts(voters(*texts)).iloc[0]
    # Of 30 more items, one could be wrong throughout.
    assert row["score_low"] < 1 - 1 / 30
    assert "score: " in row["ci_method"]
    assert "with room for rare differences; accuracy: wilson" in row["ci_method"]
    wards = voters(*texts).assign(
        benchmark="wards", cluster=lambda own: "w" + own["item_id"].str[-1]
    )
    clustered = replace(demo, name="wards", cluster="ward")
    for answers in (wards, voters("A-----", "B-----", *["A-----"] * 28), voters("------")):
        row = vote_counts(answers, benchmarks=[clustered]).iloc[0]
        assert "room" not in row["ci_method"]


def test_of_several_samples_each_has_its_vote_and_no_interval():
    answers = pd.concat([voters("AAABBC"), voters("BBBBBB", sample=1)])
    voted = majority_vote(answers)
    assert voted.groupby("sample")["answer"].agg(set).to_dict() == {0: {"A"}, 1: {"B"}}
    row = vote_counts(answers).iloc[0]
    assert (row["items"], row["n"]) == (1, 2)
    assert np.isnan(row["accuracy_vote_low"])
    assert row["method_note"].endswith(": no interval")


def test_votes_of_blocks_of_items_are_those_of_all(monkeypatch):
    answers = pd.concat([voters("AAABBC", "AB----", "CCCCCC"), voters("BBBBBB", sample=7)])
    whole = vote_counts(answers), majority_vote(answers)
    monkeypatch.setattr("fairstats.retrieval.voting._BLOCK", 1)
    for one, other in zip(whole, (vote_counts(answers), majority_vote(answers)), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_duplicate_answer_is_refused_in_a_vote():
    answers = voters("AAAAAA")
    with pytest.raises(InputError, match="the same answer more than once"):
        vote_counts(pd.concat([answers, answers.head(1)]))


def test_votes_on_hostile_names_and_other_columns(demo):
    answers = make_answers(
        0.6, strategies=["<img>", "cot+bm25@10"], missing=0.05, models=['"><script>']
    ).assign(snapshot="s-1", answer_raw="<b>A</b>", latency_s=1.0, collector="chat")
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


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pyspark"])
def test_votes_are_the_same_in_every_engine(engine, in_engine):
    answers = pd.concat([voters("AAABBC", "-AAB--"), voters("BBBBBB", "CCC--C", sample=2)])
    found, expected = vote_counts(in_engine(answers, engine)), vote_counts(answers)
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("missing", ["available", "bounds", None])
def test_all_groups_of_a_vote_have_one_answer(demo, missing):
    voted = majority_vote(make_answers(0.6, missing=0.05))
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


@pytest.mark.parametrize(
    ("vectors", "place"),
    [
        ([], None),
        ([[2.0, 0]], 0),
        ([[1, 0], [0, 1]], None),
        ([[1, 0], [1, 0]], 0),
        ([[1, 0], [0, 1], [0, 3]], 1),
        ([[1, 0], [0, 1], [1, 0.01], [0.01, 1]], None),
        # The middle one represents the three.
        ([[1, 0.3], [1, 0], [1, -0.3], [0, 1]], 1),
        # All equal: the first one.
        (np.ones((5, 3)), 0),
        (-np.ones((5, 3)), 0),
    ],
)
@pytest.mark.parametrize("linkage", ["average", "complete"])
def test_the_medoid_of_the_largest_cluster(vectors, place, linkage):
    assert largest_cluster(vectors, linkage=linkage) == place


@pytest.mark.parametrize("wrong", [[[0, 0], [1, 0]], [[np.nan, 1], [1, 0]], [1.0, 2.0]])
def test_vector_without_direction_is_refused(wrong):
    with pytest.raises(ValueError, match="embedding"):
        largest_cluster(wrong)


@pytest.mark.parametrize("options", [{"linkage": "single"}, {"similarity": 2}, {"similarity": -1}])
def test_invalid_voting_options_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        largest_cluster([[1, 0]], **options)


def test_clusters_depend_on_the_similarity():
    # Cosines .98 between neighbours, .92 from end to end.
    vectors = [[1, 0.2], [1, 0], [1, -0.2], [-1, 0]]
    assert largest_cluster(vectors, similarity=0.9) == 1
    assert largest_cluster(vectors, similarity=0.999) is None
    assert largest_cluster(vectors, similarity=0.95, linkage="complete") in (0, 1)


WORDS = ("aspirin", "heparin", "surgery")


def embed(texts):
    """Return how often a text has each of three words, plus a small constant."""
    return [[0.01 + text.count(word) for word in WORDS] for text in texts]


@pytest.fixture
def replies(demo):
    answers = make_answers(0.6, missing=0.05)
    rng = np.random.default_rng(4)
    said = [f"Give {WORDS[number]} <b>now</b>." for number in rng.integers(0, 3, len(answers))]
    raw = np.where(rng.random(len(answers)) < 0.1, "", said)
    return answers.assign(answer_raw=pd.Series(raw).where(raw != "", None))


def test_every_item_has_the_reply_that_most_variants_got(replies):
    table = majority_answer(replies, embed).set_index("item_id")
    assert len(table) == 24
    for item, rows in replies[replies["attribute"] != "baseline"].groupby("item_id"):
        counts = rows["answer_raw"].value_counts()
        alone = len(counts) == 1 or counts.iloc[0] > counts.iloc[1]
        found = table.loc[item]
        assert found["texts"] == counts.sum()
        assert found["answer_raw"] == counts.index[0] if alone else pd.isna(found["answer_raw"])
    assert table["answer_raw"].isna().any()
    assert table["answer_raw"].notna().any()


def test_replies_give_their_letter_and_status_to_all_variants(replies):
    voted = open_vote(replies, embed)
    assert validate_answers(voted) == []
    assert set(voted["strategy"]) == {"majority_vote_open"}
    own = voted[voted["attribute"] != "baseline"]
    assert (own.groupby("item_id")["answer_raw"].nunique() <= 1).all()
    chosen = majority_answer(replies, embed).merge(
        replies, on=["item_id", "attribute", "group"], suffixes=("", "_single")
    )
    expected = chosen.set_index("item_id")["answer"].dropna().to_dict()
    found = own.dropna(subset="answer").groupby("item_id")["answer"].first().to_dict()
    assert found == expected
    assert set(own.loc[~own["item_id"].isin(found), "status"]) <= {"unparsed"}


def test_empty_replies_are_not_embedded(replies):
    def never(texts):
        raise AssertionError

    none = majority_answer(replies.assign(answer_raw=None), never)
    assert set(none["texts"]) == {0}
    assert none["answer_raw"].isna().all()
    with pytest.raises(InputError, match="no replies"):
        majority_answer(replies.drop(columns="answer_raw"), never)
    with pytest.raises(InputError, match="no answers to vote on"):
        open_vote(replies.assign(strategy="majority_vote"), never)
    with pytest.raises(ValueError, match="embed returned shape"):
        majority_answer(replies, lambda texts: [[1.0]])


def test_the_command_votes_on_letters(demo, tmp_path):
    source = write_answers(make_answers(0.6, missing=0.05), tmp_path / "a.parquet")
    done = CliRunner().invoke(
        app, ["rag", "vote", str(source), "--out", str(tmp_path / "v"), "--json"]
    )
    assert done.exit_code == 0, done.output
    assert '"n_ties":' in done.stdout
    (path,) = (tmp_path / "v").iterdir()
    assert set(read_answers(path)["strategy"]) == {"majority_vote"}


def test_vote_command_votes_or_names_the_missing_part(replies, tmp_path, monkeypatch):
    source = write_answers(replies, tmp_path / "a.parquet")
    command = ["rag", "vote", str(source), "--out", str(tmp_path / "v"), "--open"]
    absent = CliRunner().invoke(app, [*command, "--embedder", "nobodys"])
    assert absent.exit_code == 1
    assert "nobodys: is not one of" in absent.stderr
    assert not (tmp_path / "v").exists()
    wrong = CliRunner().invoke(app, [*command, "--similarity", "7"])
    assert wrong.exit_code == 1
    assert "--similarity" in wrong.stderr
    monkeypatch.setattr(fairstats.commands.rag, "plugin", lambda group, name: embed)
    assert CliRunner().invoke(app, command).exit_code == 0
    (path,) = (tmp_path / "v").iterdir()
    assert set(read_answers(path)["collector"]) == {"majority_vote_open"}
