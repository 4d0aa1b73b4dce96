"""Votes over open answers: degenerate clusters first, then replies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairstats.commands.voting
from fairstats._lib.problems import InputError
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.files import read_answers, write_answers
from fairstats.cli import app
from fairstats.retrieval.open_voting import largest_cluster, majority_answer, open_vote
from tests.retrieval_tables import drawn_answers


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
    answers = drawn_answers(demo, ["plain"])
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
    source = write_answers(drawn_answers(demo, ["plain"]), tmp_path / "a.parquet")
    done = CliRunner().invoke(app, ["vote", str(source), "--out", str(tmp_path / "v"), "--json"])
    assert done.exit_code == 0, done.output
    assert '"n_ties":' in done.stdout
    (path,) = (tmp_path / "v").iterdir()
    assert set(read_answers(path)["strategy"]) == {"majority_vote"}


def test_vote_command_votes_or_names_the_missing_part(replies, tmp_path, monkeypatch):
    source = write_answers(replies, tmp_path / "a.parquet")
    command = ["vote", str(source), "--out", str(tmp_path / "v"), "--open"]
    absent = CliRunner().invoke(app, [*command, "--embedder", "nobodys"])
    assert absent.exit_code == 1
    assert "nobodys: is not one of the installed embedders" in absent.stderr
    assert not (tmp_path / "v").exists()
    wrong = CliRunner().invoke(app, [*command, "--similarity", "7"])
    assert wrong.exit_code == 1
    assert "--similarity" in wrong.stderr
    monkeypatch.setattr(fairstats.commands.voting, "plugin", lambda group, name: embed)
    assert CliRunner().invoke(app, command).exit_code == 0
    (path,) = (tmp_path / "v").iterdir()
    assert set(read_answers(path)["collector"]) == {"majority_vote_open"}
