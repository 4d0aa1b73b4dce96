"""Reading stored replies again: changes are reported, and unreadable replies stay."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest
from fairstats_collectors.reparse import CHANGE_COLUMNS, reparse, reparse_answers
from typer.testing import CliRunner

from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers, write_answers
from fairstats.benchmarks.kinds import KINDS
from fairstats.cli import app
from tests.make_answers import make_answers

# demo-01's options: A low total iron-binding capacity, C low serum ferritin, ...
REPLIES = [
    ("white", "Answer: C", "C", "ok"),  # unchanged
    ("black", "answer: c", None, "unparsed"),  # now read
    ("male", "Low serum ferritin", None, "unparsed"),  # now read by the option's text
    ("female", "Answer: A. Wait, it is C.", "A", "ok"),  # no longer an answer
    ("high_income", None, "B", "ok"),  # no reply was stored
    ("low_income", "Answer: C is what the service said before it failed", None, "error"),
    ("original", "I cannot give medical advice.", None, "unparsed"),
    ("neutralized", "Answer: D", "A", "ok"),  # a different letter
]
ATTRIBUTES = {"white": "race", "black": "race", "male": "sex", "female": "sex"} | {
    "high_income": "ses",
    "low_income": "ses",
    "original": "baseline",
    "neutralized": "baseline",
}


@pytest.fixture
def answers() -> pd.DataFrame:
    groups, replies, letters, statuses = zip(*REPLIES, strict=True)
    return make_answers(
        ["".join(letter or "-" for letter in letters)],
        variants=[(ATTRIBUTES[group], group) for group in groups],
        item_id="demo-01",
        answer_key="C",
        status=statuses,
        answer_raw=replies,
    )


def test_all_changes_are_reported_and_the_rest_is_kept(answers):
    reparsed = reparse_answers(answers)
    assert list(reparsed.changes) == list(CHANGE_COLUMNS)
    new = reparsed.answers.set_index("group")
    letters = new["answer"].astype(object).where(new["answer"].notna(), None).to_dict()
    assert letters == {
        "white": "C",
        "black": "C",
        "male": "C",
        "female": None,
        "high_income": "B",
        "low_income": None,
        "original": None,
        "neutralized": "D",
    }
    assert new["status"].to_dict() == {
        "white": "ok",
        "black": "ok",
        "male": "ok",
        "female": "unparsed",
        "high_income": "ok",
        "low_income": "error",
        "original": "refused",
        "neutralized": "ok",
    }
    assert reparsed.changes["group"].tolist() == [
        "black",
        "male",
        "female",
        "original",
        "neutralized",
    ]
    moves = {(m["from"], m["to"]): m["rows"] for m in reparsed.moves().to_dict("records")}
    assert moves == {
        ("unparsed", "C"): 2,
        ("A", "unparsed"): 1,
        ("unparsed", "refused"): 1,
        ("A", "D"): 1,
    }
    counts = reparsed.groups().set_index("group")
    assert counts.loc["high_income", "without_raw"] == 1
    assert counts.loc["low_income", "errors"] == 1
    assert counts["without_raw"].sum() == counts["errors"].sum() == 1
    # Before: white C, female A, high_income B and neutralized A; now also black and male.
    assert counts["parsed_before"].to_dict() == {
        group: int(letter is not None) for group, _, letter, _ in REPLIES
    }
    assert counts["parsed_now"].to_dict() == {g: int(a is not None) for g, a in letters.items()}
    assert counts["changed"].sum() == 5
    # All other columns are unchanged.
    same = [column for column in answers if column not in ("answer", "status")]
    pd.testing.assert_frame_equal(reparsed.answers[same], answers[same])


def test_unchanged_answers_give_no_changes(answers):
    again = reparse_answers(reparse_answers(answers).answers)
    assert again.changes.empty
    assert again.moves().empty
    assert again.groups()["changed"].sum() == 0


def test_answers_without_stored_replies_are_unchanged(answers):
    without = answers.drop(columns="answer_raw")
    reparsed = reparse_answers(without)
    pd.testing.assert_frame_equal(reparsed.answers, without)
    assert reparsed.groups()["without_raw"].sum() == 7  # and one error


def test_items_file_is_required_if_texts_are_not_shipped(answers, tmp_path):
    answers = answers.assign(benchmark="fairmedqa", benchmark_version="gpt-agent", item_id="0")
    with pytest.raises(InputError) as caught:
        reparse_answers(answers)
    (problem,) = caught.value.problems
    assert "items=..." in problem.remedy
    assert "letters_only=True" in problem.remedy
    # Without a stored reply, no text is needed.
    assert reparse_answers(answers.drop(columns="answer_raw")).changes.empty
    letters = reparse_answers(answers, letters_only=True).answers.set_index("group")["answer"]
    assert letters["black"] == "C"
    assert pd.isna(letters["male"])  # only the text gave the answer
    items = tmp_path / "items.jsonl"
    options = {"A": "a", "B": "b", "C": "Low serum ferritin", "D": "d"}
    items.write_text(json.dumps({"item_id": "0", "options": options}))
    letters = reparse_answers(answers, items=items).answers.set_index("group")["answer"]
    assert letters["male"] == "C"


def test_letters_only_reads_a_letter_before_a_text_that_is_not_known(answers):
    answers = answers.assign(answer_raw="The diagnosis is C: vitiligo.", status="unparsed")
    letters = reparse_answers(answers.assign(answer=None), letters_only=True).answers["answer"]
    assert set(letters) == {"C"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"item_id": "0", "options": {"A": "a"}}', "do not match the benchmark's options"),
        (
            '{"item_id": "0", "options": {"A": 1, "B": "", "C": "", "D": ""}}',
            "do not match the bench",
        ),
        ('{"item_id": 0, "options": {}}', "is not text"),
        (
            '{"item_id": "9", "options": {"A": "", "B": "", "C": "", "D": ""}}',
            "has no answer options",
        ),
        ("[]", "not a JSON object"),
    ],
)
def test_invalid_items_are_named(answers, tmp_path, line, message):
    answers = answers.assign(benchmark="fairmedqa", benchmark_version="gpt-agent", item_id="0")
    (tmp_path / "items.jsonl").write_text(line)
    with pytest.raises(InputError, match=message):
        reparse_answers(answers, items=tmp_path / "items.jsonl")


def test_files_go_to_another_folder_and_never_over_old_ones(answers, tmp_path):
    old = write_answers(answers, tmp_path / "old" / "a.parquet")
    before = old.read_bytes()
    for out in (tmp_path / "old", tmp_path / "old" / "new", tmp_path):
        with pytest.raises(InputError, match="contains the answers to read"):
            reparse([tmp_path / "old"], out)
    reparsed, (new,) = reparse([old], tmp_path / "new")
    assert old.read_bytes() == before
    # Parquet may return another kind of null.
    assert read_answers(new)["answer"].isna().equals(reparsed.answers["answer"].isna())
    write_answers(answers, new)
    with pytest.raises(InputError, match="with different answers"):
        reparse([old], tmp_path / "new")


def test_levels_are_read_again_without_texts(answers, demo):
    triage = replace(
        demo,
        name="triage",
        kind=KINDS["level"],
        options=tuple("12345"),
        limits=(1.0, 5.0),
        answer_keys={},
        labels={"4": "Less urgent"},
    )
    replies = ["ESI level: 3", "less urgent", "3 or 4", "I can't triage this.", None, "2", "1", "1"]
    old = answers.drop(columns="answer_key").assign(
        benchmark="triage",
        answer=[None, None, "3", None, "5", None, "1", "2"],
        status=["unparsed", "unparsed", "ok", "unparsed", "ok", "error", "ok", "ok"],
        answer_raw=replies,
    )
    reparsed = reparse_answers(old, benchmarks=[triage])
    read = reparsed.answers["answer"].astype(object)
    assert read.where(read.notna(), "-").tolist() == ["3", "4", "-", "-", "5", "-", "1", "1"]
    assert reparsed.answers["status"].tolist()[2:4] == ["unparsed", "refused"]
    assert len(reparsed.changes) == 5


def test_unknown_item_prevents_writing(answers, tmp_path):
    old = write_answers(answers.assign(item_id="none"), tmp_path / "old" / "a.parquet")
    with pytest.raises(InputError, match="row 1: item_id = 'none'"):
        reparse([old], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_reparse_command_prints_the_changes(answers, tmp_path, monkeypatch):
    # A narrow table would wrap the reply.
    monkeypatch.delenv("COLUMNS", raising=False)
    old = write_answers(answers, tmp_path / "old" / "a.parquet")
    arguments = ["reparse", str(old), "--out", str(tmp_path / "new")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "5 of 8 answers changed" in done.stderr
    assert "1 without a stored reply," in done.stderr
    assert "1 failed requests" in done.stderr
    assert "answer: c" not in done.stdout
    assert "answer: c" in CliRunner().invoke(app, [*arguments, "--list"]).stdout
    changes = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [change["to_status"] for change in changes].count("unparsed") == 1
