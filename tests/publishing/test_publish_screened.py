"""Blocked answers are published only with a reason for their model, and pages state it."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import slug
from fairstats.answers.files import write_answers
from fairstats.exports.every_eval_ever import write_eee
from fairstats.exports.export import Options
from fairstats.exports.hugging_face import write_hf
from fairstats.publishing.feed import badge
from fairstats.publishing.inputs import blocked_sets
from fairstats.publishing.json_api import leaderboard_document, model_document
from fairstats.publishing.publish import publish
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from fairstats.release.manifest import reason_problem
from fairstats.report.audit.sentences import limitations
from fairstats.report.board.page import show_leaderboard
from fairstats.report.model.page import show_model
from fairstats.report.notes import screening_of, screening_summary
from fairstats.screening.findings import flag_notes, flags_of
from fairstats.screening.screen import SCREENING_COLUMNS, screen
from tests.publishing.edited_releases import change_manifest
from tests.screening.frauds import copied
from tests.submission_files import benchmark_for_submissions, honest_sets

REASON = "Rows of <another> run."

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture
def refusing(monkeypatch):
    """Other tests publish made-up answers, which screening may block."""
    monkeypatch.setattr("fairstats.publishing.inputs.blocked_sets", blocked_sets)


@pytest.fixture(scope="module")
def moved_rows(demo, all_right, tmp_path_factory):
    """The answers of three models, and of one with answers in the rows of the previous items."""
    right = all_right(demo)
    keys = pd.Series(demo.answer_keys)
    letters = right["item_id"].map(dict(zip(keys.index, np.roll(keys, -1), strict=True)))
    other = right.assign(model="other", answer=letters.astype("str"))
    sets = [*(right.assign(model=name) for name in ("right", "second", "third")), other]
    folder = tmp_path_factory.mktemp("moved")
    return write_answers(pd.concat(sets, ignore_index=True), folder / "in.parquet")


@pytest.fixture(scope="module")
def blocked(moved_rows) -> dict[str, str]:
    """The models whose answers screening blocks, each with the reason to publish them."""
    table = screen(pd.read_parquet(moved_rows)).to_frame()
    return dict.fromkeys(sorted(set(table.loc[table["flag"] == "block", "model"])), REASON)


@pytest.fixture(scope="module")
def overruled(moved_rows, blocked, tmp_path_factory, without_pages) -> Release:
    """The release of the blocked answers; tests must not change it."""
    site = tmp_path_factory.mktemp("overruled") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairstats.publishing.inputs.blocked_sets", blocked_sets)
        return Release(publish(moved_rows, release="1", out=site, overrule=blocked).path)


@pytest.fixture
def release(overruled, tmp_path) -> Path:
    """A copy to be changed."""
    return shutil.copytree(overruled.path, tmp_path / "1")


def test_blocked_answers_are_refused_and_no_file_is_written(refusing, moved_rows, tmp_path):
    with pytest.raises(InputError) as error:
        publish(moved_rows, release="1", out=tmp_path / "site")
    text = str(error.value)
    assert "model = 'other'" in text
    assert "item_alignment (" in text
    assert "overrule=..." in text
    assert not (tmp_path / "site").exists()


def test_publisher_overrules_with_a_reason_and_pages_state_it(
    refusing, moved_rows, blocked, overruled, drawn_text
):
    sentence = "The publisher states: “Rows of <another> run"
    assert any(sentence in text for text in limitations(overruled, "other"))
    page = drawn_text(show_leaderboard, overruled)
    assert sentence in page
    assert "blocks these answers" not in page
    # In the charts and the table.
    assert len(re.findall(r"( †)? ‡</a>", page)) > 3
    site = overruled.path.parents[1]
    assert problems_of(site) == []
    # The same release with another reason is another one.
    other = dict.fromkeys(blocked, "Another reason.")
    with pytest.raises(InputError, match="with different reasons of overruled models"):
        publish(moved_rows, release="1", out=site, overrule=other)
    assert not publish(moved_rows, release="1", out=site, overrule=blocked).new


def test_exports_have_the_questions_and_the_reason(overruled, tmp_path):
    reason = f"The publisher states: “{REASON[:-1]}”."
    datasets = Options(dataset=dict.fromkeys(overruled.benchmarks, "org/data"))
    write_hf(overruled, tmp_path / "hf", datasets)
    write_eee(overruled, tmp_path / "eee", Options())
    asked = set(flags_of(overruled.screening)["model"])
    for model in overruled.models:
        own = f"models/unknown/{slug(model)}/"
        texts = [
            path.read_text(encoding="utf-8")
            for path in (tmp_path / "hf").rglob("*.yaml")
            if own in path.as_posix()
        ]
        files = (tmp_path / "eee").rglob("*.json")
        records = [json.loads(path.read_text(encoding="utf-8")) for path in files]
        details = [
            one["source_metadata"]["additional_details"]
            for one in records
            if one["model_info"]["name"] == model
        ]
        assert texts
        assert details
        assert all(("screening: " in text) == (model in asked) for text in texts)
        assert all(("screening" in one) == (model in asked) for one in details)
        if model == "other":
            notes = [entry["notes"] for text in texts for entry in yaml.safe_load(text)]
            assert all(reason in note for note in notes)
            assert all(reason in one["screening"] for one in details)


def test_badge_and_documents_have_the_questions_and_the_reason(overruled):
    release = overruled
    (board,) = release.boards
    other = screening_of(release, board).query("model == 'other'")
    questions = flag_notes(other, release.overruled)
    rows = {row["model"]: row for row in leaderboard_document(release)["boards"][0]["rows"]}
    assert rows["other"]["notes"] == questions
    assert f"The publisher states: “{REASON[:-1]}”." in " ".join(questions)
    (own,) = model_document(release, "other")["answer_sets"]
    assert own["notes"] == questions
    assert own["declaration"] == board.benchmark.basis()
    assert re.search(r"; screening has \d+ questions?$", badge(release, "other")["message"])
    asked = set(flags_of(screening_of(release, board))["model"])
    for model in set(release.models) - asked:
        assert rows[model]["notes"] == []
        assert "screening" not in badge(release, model)["message"]


def test_page_of_the_model_states_questions_that_are_too_many_for_the_leaderboard(
    overruled, drawn_text, monkeypatch
):
    monkeypatch.setattr("fairstats.report.board.page._FEW_NOTES", 0)
    monkeypatch.setattr("fairstats.report.board.page._MOST_LISTED", 0)
    board = drawn_text(show_leaderboard, overruled)
    assert "The page of each model states why." in board
    assert "The publisher states" not in board
    page = html.unescape(drawn_text(show_model, overruled, "other"))
    assert "with the key of the item 1 later" in page
    assert "The publisher states: “Rows of <another> run" in page


def test_blocked_answers_that_nobody_overruled_fail_verification(
    refusing, moved_rows, tmp_path, monkeypatch
):
    with monkeypatch.context() as edited:
        edited.setattr("fairstats.publishing.publish.refuse_blocked", lambda *_: [])
        publish(moved_rows, release="1", out=tmp_path / "site")
    (problem,) = problems_of(tmp_path / "site")
    assert problem.path == str(tmp_path / "site" / "v" / "1" / "manifest.json")
    assert problem.value == "other"
    assert "item_alignment (" in problem.message
    assert "did not overrule this" in problem.message
    assert "overrules these" in problem.remedy


@pytest.mark.parametrize("reason", ["", " ", "a\nb", "a" * 501, "no\u202ereason"])
def test_reason_is_a_printable_sentence(reason):
    assert reason_problem(reason)
    assert not reason_problem(REASON)


def test_overruled_answers_without_a_readable_reason_fail_verification(
    refusing, overruled, release
):
    (own,) = overruled.manifest["overruled"]
    change_manifest(release, overruled=[own | {"reason": " "}])
    with pytest.raises(InputError, match="must be a reason"):
        verify(release, pages=False)


def test_overruled_model_without_blocked_answers_fails_verification(refusing, overruled, release):
    (own,) = overruled.manifest["overruled"]
    assert (own["model"], own["reason"]) == ("other", REASON)
    change_manifest(release, overruled=[own, own | {"model": "right"}])
    (problem,) = problems_of(release)
    assert (problem.column, problem.value) == ("overruled", "right")
    assert "are not blocked" in problem.message


def problems_of(path) -> list[Problem]:
    return [problem for found in verify(path, pages=False) for problem in found.problems]


def test_only_models_with_blocked_answers_can_be_named(refusing, moved_rows, blocked, tmp_path):
    named = blocked | {"nobody": REASON}
    with pytest.raises(InputError, match="model = 'nobody': has no blocked answers"):
        publish(moved_rows, release="1", out=tmp_path / "site", overrule=named)
    assert not (tmp_path / "site").exists()


def test_file_of_models_overrules_too(refusing, moved_rows, blocked, tmp_path):
    models = tmp_path / "models.toml"
    lines = (f"{name} = {json.dumps(reason)}\n" for name, reason in blocked.items())
    models.write_text(f"[overrule]\n{''.join(lines)}")
    made = publish(moved_rows, release="1", out=tmp_path / "site", models=models)
    overruled = Release(made.path).overruled
    assert {model: why for (*_, model, _), why in overruled.items()} == blocked
    models.write_text(f'{models.read_text()}right = "No block."\n')
    with pytest.raises(InputError, match=r"'right': has no blocked answers.*under \[overrule\]"):
        publish(moved_rows, release="2", out=tmp_path / "site", models=models)


def test_blocked_answers_are_not_published_for_an_empty_reason(
    refusing, moved_rows, blocked, tmp_path
):
    named = dict.fromkeys(blocked, " ")
    with pytest.raises(InputError, match="must be a reason of 1 to 500 printable characters"):
        publish(moved_rows, release="1", out=tmp_path / "site", overrule=named)
    assert not (tmp_path / "site").exists()


def test_page_of_a_declared_successor_notes_what_it_shares(
    refusing, benchmark_file, tmp_path, drawn_text
):
    benchmark = benchmark_for_submissions(benchmark_file)
    sets = honest_sets(benchmark)
    made = copied(0.9)(sets[0], sets[1], benchmark, np.random.default_rng(3)).assign(model="tuned")
    path = write_answers(pd.concat([made, *sets[1:4]], ignore_index=True), tmp_path / "in.parquet")
    models, older = tmp_path / "models.toml", sets[1]["model"].iloc[0]
    models.write_text(f'[models.tuned]\nsuccessor_of = "{older}"\n')
    pages = {}
    for name, declared in (("1", None), ("2", models)):
        made = publish(
            path,
            release=name,
            out=tmp_path / f"site-{name}",
            models=declared,
            benchmarks=[benchmark],
        )
        release = Release(made.path)
        pages[name] = [
            drawn_text(show_leaderboard, release),
            drawn_text(show_model, release, "tuned"),
            " ".join(limitations(release, "tuned")),
        ]
    assert problems_of(made.path) == []
    assert ["fine-tuned" in page for page in pages["1"]] == [True] * 3
    assert ["fine-tuned" in page for page in pages["2"]] == [False] * 3
    assert ["declared as related" in page for page in pages["2"]] == [False, True, True]
    assert "‡" not in pages["2"][0]


def rows_with(*flags: str) -> pd.DataFrame:
    """Checks of one answer set with these flags."""
    unit = {"benchmark": "b", "benchmark_version": "1", "model": "m", "strategy": "plain"}
    return pd.DataFrame({"flag": flags, "note": "A note.", **unit})


def test_result_of_screening_in_words(snapshot):
    rows = {flags: rows_with(*flags) for flags in (("ok", "ok"), ("ok", "look"), ("look", "block"))}
    rows["unchecked"] = rows_with("ok", "not_checked")
    assert {flags: screening_summary(own) for flags, own in rows.items()} == snapshot


def test_checks_that_were_not_possible_are_no_flags():
    assert flag_notes(rows_with("not_checked"), {}) == []


def test_table_of_screening_is_that_of_the_function(demo, all_right, tmp_path):
    answers = all_right(demo)
    path = write_answers(answers, tmp_path / "a.parquet")
    release = Release(publish(path, release="1", out=tmp_path / "site").path)
    found, made = release.table("screening"), screen(answers).to_frame()
    assert tuple(found.columns) == SCREENING_COLUMNS
    pd.testing.assert_frame_equal(found, made, check_dtype=False)
