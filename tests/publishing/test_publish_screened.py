"""Blocked answers are published only if the publisher names their model, and pages show it."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.files import write_answers
from fairstats.publishing.inputs import blocked_sets
from fairstats.publishing.publish import publish
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from fairstats.report.audit.sentences import limitations
from fairstats.report.board.page import show_leaderboard
from fairstats.report.notes import (
    flag_notes,
    screening_of,
    screening_summary,
)
from fairstats.screening.screen import SCREENING_COLUMNS, screen

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture
def refusing(monkeypatch):
    """Other tests publish made-up answers, which screening may block."""
    monkeypatch.setattr("fairstats.publishing.inputs.blocked_sets", blocked_sets)


@pytest.fixture
def one_letter(demo, all_right, tmp_path):
    """The answers of a model that always gives the same letter, and of one that is right."""
    right = all_right(demo).assign(model="right")
    always = right.assign(model="always A", answer="A")
    return write_answers(pd.concat([right, always], ignore_index=True), tmp_path / "in.parquet")


def test_blocked_answers_are_refused_and_no_file_is_written(refusing, one_letter, tmp_path):
    with pytest.raises(InputError) as error:
        publish(one_letter, release="1", out=tmp_path / "site")
    text = str(error.value)
    assert "model = 'always A'" in text
    assert "letter_shares (A is 100%" in text
    assert "overrule=..." in text
    assert not (tmp_path / "site").exists()


def test_publisher_overrules_by_name_and_pages_show_it(refusing, one_letter, tmp_path, drawn_text):
    made = publish(one_letter, release="1", out=tmp_path / "site", overrule=blocked(one_letter))
    release = Release(made.path)
    (board,) = release.boards
    rows = screening_of(release, board, "always A")
    sentence = "the publisher overruled it"
    assert any(sentence in note for note in flag_notes(rows, release.overruled))
    assert any(sentence in text for text in limitations(release, "always A"))
    page = drawn_text(show_leaderboard, release)
    assert sentence in page
    # In the charts and the table.
    assert len(re.findall(r"( †)? ‡</a>", page)) > 3
    assert not any(found.problems for found in verify(tmp_path / "site", pages=False))


def test_blocked_answers_that_nobody_overruled_fail_verification(
    refusing, one_letter, tmp_path, monkeypatch
):
    with monkeypatch.context() as edited:
        edited.setattr("fairstats.publishing.publish.refuse_blocked", lambda *_: [])
        publish(one_letter, release="1", out=tmp_path / "site")
    (problem,) = problems_of(tmp_path / "site")
    assert problem.path == str(tmp_path / "site" / "v" / "1" / "manifest.json")
    assert problem.value == "always A"
    assert "letter_shares (A is 100%" in problem.message
    assert "did not overrule this" in problem.message
    assert "overrules this model" in problem.remedy


def test_overruled_model_without_blocked_answers_fails_verification(refusing, one_letter, tmp_path):
    made = publish(one_letter, release="1", out=tmp_path / "site", overrule=blocked(one_letter))
    path = made.path / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["overruled"] == ["always A"]
    path.write_text(json.dumps(manifest | {"overruled": ["always A", "right"]}))
    (problem,) = problems_of(made.path)
    assert (problem.column, problem.value) == ("overruled", "right")
    assert "has no blocked answers" in problem.message


def problems_of(path) -> list[Problem]:
    return [problem for found in verify(path, pages=False) for problem in found.problems]


def blocked(path) -> list[str]:
    table = screen(pd.read_parquet(path)).to_frame()
    return sorted(set(table.loc[table["flag"] == "block", "model"]))


def test_only_models_with_blocked_answers_can_be_named(refusing, one_letter, tmp_path):
    named = [*blocked(one_letter), "nobody"]
    with pytest.raises(InputError, match="model = 'nobody': has no blocked answers"):
        publish(one_letter, release="1", out=tmp_path / "site", overrule=named)
    assert not (tmp_path / "site").exists()


def rows_with(*flags: str, notes: dict[int, str] | None = None) -> pd.DataFrame:
    """Checks of one answer set with these flags."""
    rows = pd.DataFrame({"flag": flags, "note": "A note.", "model": "m"})
    return rows.assign(note=[(notes or {}).get(n, "A note.") for n in range(len(rows))])


def test_result_of_screening_in_words(snapshot):
    rows = {flags: rows_with(*flags) for flags in (("ok", "ok"), ("ok", "look"), ("look", "block"))}
    rows["unchecked"] = rows_with("ok", "look", notes={1: "Not checked: too few models."})
    assert {flags: screening_summary(own) for flags, own in rows.items()} == snapshot


def test_checks_that_were_not_possible_are_no_flags():
    rows = rows_with("look", notes={0: "Not checked: too few models."})
    assert flag_notes(rows, []) == []


def test_table_of_screening_is_that_of_the_function(demo, all_right, tmp_path):
    answers = all_right(demo)
    path = write_answers(answers, tmp_path / "a.parquet")
    release = Release(publish(path, release="1", out=tmp_path / "site").path)
    found, made = release.table("screening"), screen(answers).to_frame()
    assert tuple(found.columns) == SCREENING_COLUMNS
    pd.testing.assert_frame_equal(found, made, check_dtype=False)
