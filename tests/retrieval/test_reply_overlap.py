"""The similarity of replies: without words first, then compared with the library's scorer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats._lib.problems import InputError
from fairstats.answers.files import write_answers
from fairstats.cli import app
from fairstats.inference.intervals import wilson
from fairstats.retrieval.reply_overlap import TEXT_OVERLAP_COLUMNS, rouge_l, text_overlap
from fairstats.retrieval.retrievals_table import write_retrievals
from tests.retrieval_tables import drawn_answers, drawn_lists, retrievals_of


def said(*pairs: tuple[str | None, str | None], **keys: object) -> pd.DataFrame:
    """Return the replies to two groups, item after item."""
    rows = [
        {
            "benchmark": "demo",
            "benchmark_version": "1",
            "model": "m",
            "strategy": "plain",
            "item_id": f"item-{number}",
            "attribute": "race",
            "group": group,
            "sample": 0,
            "answer": "A",
            "answer_key": "A",
            "answer_raw": text,
        }
        | keys
        for number, pair in enumerate(pairs)
        for group, text in zip(("white", "black"), pair, strict=True)
    ]
    return pd.DataFrame(rows).astype({"answer_raw": "str"})


def test_pairs_without_a_reply_or_a_word_are_left_out_and_counted():
    table = text_overlap(said(("a b", None), (None, None), ("…", "!"), ("", "好"), ("", "a b")))
    row = table.iloc[0]
    assert (row["n"], row["n_pairs"], row["n_missing"], row["n_without_words"]) == (1, 1, 2, 2)
    assert (row["estimate"], row["n_identical"]) == (0, 0)
    nothing = text_overlap(said((None, "a"), (None, "b"))).iloc[0]
    assert np.isnan(nothing["estimate"])
    assert (nothing["ci_low"], nothing["ci_high"], nothing["n"]) == (0, 1, 0)
    assert nothing["ci_method"] == "none (no items)"


def test_replies_that_are_all_the_same():
    row = text_overlap(said(*[("Give <b>aspirin</b>.", "give aspirin, B b")] * 30)).iloc[0]
    assert row["estimate"] == pytest.approx(2 * 3 / 8)
    same = text_overlap(said(*[("Give <b>aspirin</b>.", "give B aspirin b")] * 30)).iloc[0]
    assert (same["estimate"], same["n_identical"]) == (1, 30)
    assert same["ci_low"] == pytest.approx(float(wilson(30, 30).ci_low))


def test_answers_without_replies_or_twice_are_refused(demo):
    with pytest.raises(InputError, match="no replies"):
        text_overlap(drawn_answers(demo, ["plain"]))
    answers = said(("a", "b"))
    with pytest.raises(InputError, match="more than once"):
        text_overlap(pd.concat([answers, answers]))


def test_unasked_group_leaves_all_values_missing():
    answers = said(("a", "b"), ("c", "d"))
    row = text_overlap(answers[answers["group"] == "white"]).iloc[0]
    assert (row["n"], row["n_missing"]) == (0, 2)


def test_every_score_is_the_librarys():
    # Takes a second to load, which only the worker with this test needs.
    from rouge_score.rouge_scorer import RougeScorer

    rng = np.random.default_rng(1)
    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    words = np.array(["the", "patient", "Aspirin", "is", "A", "12mg", "não", "…", "x-ray"])
    pairs = [
        tuple(" ".join(rng.choice(words, rng.integers(0, 40))) for _ in range(2))
        for _ in range(120)
    ]
    for a, b in pairs:
        row = text_overlap(said((a, b))).iloc[0]
        if row["n"]:
            expected = scorer.score(a, b)["rougeL"].fmeasure
            assert row["estimate"] == pytest.approx(expected, abs=1e-12)
    table = text_overlap(said(*pairs)).iloc[0]
    scores = [scorer.score(a, b)["rougeL"].fmeasure for a, b in pairs if a + b]
    assert table["estimate"] == pytest.approx(np.mean(scores), abs=0.02)
    assert table["ci_low"] < table["estimate"] < table["ci_high"]


def test_very_long_replies_take_no_time():
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 500, 20_000).tolist() for _ in range(2))
    assert 0.05 < rouge_l(a, b) < 0.5
    assert rouge_l(a, a) == 1
    assert rouge_l(a, a[::2]) == pytest.approx(2 / 3)


def test_samples_of_an_item_are_one_item():
    first, second = ("a b", "a b"), ("a b", "c d")
    answers = pd.concat([said(first, first), said(second, first, sample=1)])
    row = text_overlap(answers).iloc[0]
    assert (row["n"], row["n_pairs"], row["n_identical"]) == (2, 4, 3)
    assert row["estimate"] == pytest.approx((0.5 + 1) / 2)


def test_every_unit_and_pair_has_a_row(demo):
    answers = drawn_answers(demo, ["plain", "cot"], model="<b>m</b>")
    answers = answers.assign(answer_raw="The answer is " + answers["answer"])
    table = text_overlap(answers.sample(frac=1, random_state=3))
    assert tuple(table.columns) == TEXT_OVERLAP_COLUMNS
    assert table["attribute"].tolist() == ["race", "sex", "ses", "baseline"] * 2
    pd.testing.assert_frame_equal(table, text_overlap(answers))
    assert (table["n"] + table["n_missing"] == 24).all()


def test_the_command_compares_snippets_or_replies(demo, tmp_path):
    retrievals = write_retrievals(
        retrievals_of(drawn_lists(demo, depth=10)), tmp_path / "in" / "b.retrievals.parquet"
    )
    answers = drawn_answers(demo, ["plain"])
    answers = write_answers(answers.assign(answer_raw=answers["answer"]), tmp_path / "a.parquet")

    def run(*arguments: object):
        return CliRunner().invoke(app, ["overlap", *map(str, arguments)])

    for source in (retrievals, retrievals.parent):
        done = run(source, "--csv")
        assert done.exit_code == 0, done.output
        assert len(done.stdout.splitlines()) == 1 + 5 * 2
    items = run(retrievals, "--items", "--top-k", 3, "--top-k", 5, "--csv")
    assert len(items.stdout.splitlines()) == 1 + 2 * 5 * 24
    texts = run(answers, "--text", "--json")
    assert '"measure": "rouge_l"' in texts.stdout
    assert run(retrievals).exit_code == 0
    for wrong, words in (
        ((answers,), "contains no retrievals"),
        ((retrievals, "--top-k", 0), "must be at least 1"),
        ((retrievals, "--top-k", 11), "end at rank 10"),
        ((answers, "--text", "--items"), "is only for retrievals"),
        ((tmp_path / "x.retrievals.parquet",), "no such file"),
    ):
        done = run(*wrong)
        assert (done.exit_code, words in done.stderr) == (1, True), done.output
