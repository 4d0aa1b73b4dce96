"""A submission is checked against a board, accepted with a record, and published with it."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pypandoc
import pytest
from typer.testing import CliRunner

from fairstats._lib.atomic_files import unfinished
from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import file_sha256
from fairstats.answers.files import read_answers, write_answers
from fairstats.cli import app
from fairstats.publishing.board_repository import (
    accept_submission,
    create_submission,
    present_answers,
)
from fairstats.publishing.feed import badge
from fairstats.publishing.inputs import blocked_sets
from fairstats.publishing.json_api import leaderboard_document
from fairstats.publishing.publish import publish
from fairstats.publishing.submission_check import check_submission
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from fairstats.report.audit.sentences import limitations
from fairstats.report.board.page import show_leaderboard
from fairstats.report.model.page import show_model
from fairstats.retrieval.retrievals_table import read_retrievals, retrieval_files, write_retrievals
from fairstats.screening.findings import flag_notes
from fairstats.submissions.folder import check_submissions, read_submission, submission_records
from tests.make_answers import make_answers
from tests.retrieval_tables import retrievals_of
from tests.screening.frauds import copied
from tests.submission_files import FACTS, benchmark_for_submissions, board_with, honest_sets, submit

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture(scope="module")
def benchmark(benchmark_file):
    return benchmark_for_submissions(benchmark_file)


@pytest.fixture(scope="module")
def honest(benchmark):
    return honest_sets(benchmark)


@pytest.fixture(scope="module")
def prepared(benchmark, honest, tmp_path_factory):
    """A board, an honest submission and a fraud, which tests copy."""
    folder = tmp_path_factory.mktemp("prepared")
    board_with(benchmark, folder, honest[1:])
    submit(honest[0], folder / "new")
    fraud = copied(1.0)(honest[0], honest[1], benchmark, np.random.default_rng(5))
    submit(fraud.assign(model="copy"), folder / "copy")
    return folder


@pytest.fixture
def board(prepared, tmp_path):
    return shutil.copytree(prepared / "board", tmp_path / "board")


@pytest.fixture
def submission(prepared, board):
    return shutil.copytree(prepared / "new", board / "submissions" / "new")


@pytest.fixture
def fraud(prepared, board):
    return shutil.copytree(prepared / "copy", board / "submissions" / "copy")


def checked(folder, board, benchmark):
    return check_submission(folder, present_answers(board), benchmarks=[benchmark])


# Check


def test_honest_submission_is_ok_with_a_preview_of_figures_and_ranks(
    submission, board, benchmark, honest
):
    found = checked(submission, board, benchmark)
    assert (found.result, found.problems) == ("ok", ())
    # The preview has the figures that the answers have by themselves.
    race = honest[0][honest[0]["attribute"] == "race"]
    right = (race["answer"] == race["answer_key"]).groupby(race["group"]).mean()
    row = found.preview.figures.set_index("attribute").loc["race"]
    assert row["difference"] == pytest.approx(right["white"] - right["black"], abs=1e-12)
    new = found.preview.ranks.set_index("model").loc[honest[0]["model"].iloc[0]]
    assert new["rank_before"] is None
    assert new["rank_after"] != ""


def test_preview_says_why_a_strategy_of_its_own_has_no_rank(honest, board, benchmark, tmp_path):
    own = honest[0].assign(strategy="my own way")
    submit(own, tmp_path / "own", prompts={"my own way": "0" * 64})
    found = checked(tmp_path / "own", board, benchmark)
    (rank,) = [text for text in found.lines if text.startswith("Rank of")]
    assert rank.endswith("“my own way” (1): none (no other model on this board); new.")


def test_preview_has_the_caution_about_votes_next_to_verdict_and_rank(
    honest, board, benchmark, tmp_path
):
    answers = honest[0].sort_values("item_id", kind="stable")
    first = answers.groupby("item_id")[["answer", "status"]].transform("first")
    submit(answers.assign(**first), tmp_path / "voted")
    found = checked(tmp_path / "voted", board, benchmark)
    note = "(no answer changes with the group, as in votes over the versions of an item"
    verdict, rank = (line for line in found.lines if note in line)
    assert f": equivalent {note}" in verdict
    assert rank.startswith("Rank of")
    assert found.to_markdown().count("no answer changes with the group") == 2


def test_preview_has_the_reason_of_an_open_verdict(honest, board, benchmark, tmp_path):
    # All versions of an item have one answer, but the answers to one of them are missing.
    answers = honest[0].sort_values("item_id", kind="stable")
    same = answers.groupby("item_id")[["answer", "status"]].transform("first")
    lost = answers["group"].eq("white") & answers["item_id"].isin(answers["item_id"].unique()[::2])
    same = same.assign(
        answer=same["answer"].mask(lost), status=same["status"].mask(lost, "unparsed")
    )
    answers = answers.assign(**same)
    submit(answers, tmp_path / "lost")
    found = checked(tmp_path / "lost", board, benchmark)
    row = found.preview.figures.set_index("attribute").loc["race"]
    assert row["verdict_reason"].startswith("missing answers could change the verdict")
    assert any(f": {row['verdict']} ({row['verdict_reason']})." in line for line in found.lines)


def test_preview_of_others_is_the_change_between_two_boards(submission, board, benchmark):
    found = checked(submission, board, benchmark).preview
    for before, after in zip(found.ranks["rank_before"], found.ranks["rank_after"], strict=True):
        assert before != after
    assert found.replaced == ()


def test_copied_answers_are_blocked(fraud, board, benchmark):
    assert checked(fraud, board, benchmark).result == "block"


def test_missing_rows_are_a_problem_and_nothing_is_screened(board, benchmark, honest):
    broken = submit(honest[0].iloc[:-1], board / "submissions" / "broken")
    found = checked(broken, board, benchmark)
    assert found.result == "invalid"
    assert len(found.screening) == 0
    assert found.preview is None
    assert any("no row" in str(problem) for problem in found.problems)


def test_name_that_looks_like_one_on_the_board_is_a_problem(board, benchmark, honest):
    assert honest[1]["model"].iloc[0] == "Model-B"
    lisu = "\ua4df\ua4f3\ua4d3\ua4f0\ua4e1-\ua4d0"
    folder = submit(honest[0].assign(model=lisu), board / "submissions" / "new")
    found = checked(folder, board, benchmark)
    assert found.result == "invalid"
    assert "look the same to a reader: 'Model-B' and" in found.problems[0].message


def test_declared_snapshot_of_another_model_is_looked_at(board, benchmark, honest):
    other = honest[1]["model"].iloc[0]
    folder = submit(honest[0], board / "submissions" / "new", snapshot=other)
    found = checked(folder, board, benchmark)
    (row,) = found.screening[found.screening["flag"] == "look"].to_dict("records")
    assert row["check"] == "shared_snapshot"
    assert row["note"].startswith(
        f"The snapshot “{other}” is also the snapshot or the name of “{other}”."
    )


def test_model_that_selected_items_by_its_declared_snapshot_has_no_rank(board, benchmark, honest):
    selecting = replace(benchmark, selected_on={"Selector-1": "it selected the items"})
    named = {"snapshot": "selector-1-2026-05-01"}
    folder = submit(honest[0], board / "submissions" / "new", **named)
    found = check_submission(folder, present_answers(board), benchmarks=[selecting])
    assert found.result == "ok"
    (rank,) = (
        text for text in found.lines if text.startswith(f"Rank of “{honest[0]['model'].iloc[0]}”")
    )
    assert "none (model took part in selecting the items)" in rank
    # Publishing knows only the answers' own snapshots.
    answers = folder / next(iter(found.submission.declaration.files))
    honest[0].to_parquet(answers)
    declared = folder / "submission.toml"
    text = re.sub(r'(parquet" = )"\w+"', rf'\1"{file_sha256(answers)}"', declared.read_text())
    declared.write_text(text)
    found = check_submission(folder, present_answers(board), benchmarks=[selecting])
    assert found.result == "invalid"
    assert "the answers do not state it" in found.problems[0].message


def test_answers_that_do_not_fit_those_on_the_board_are_a_problem(board, benchmark, honest):
    """Such answers would stop the board's publication, and must not stop the check of others."""
    own = submit(honest[0], board / "submissions" / "own")
    unlisted = replace(benchmark, keys_file=None, answer_keys={}, items_file=None)
    assert unlisted.items == ()
    part = honest[0][honest[0]["item_id"].isin([f"i{number}" for number in range(100)])]
    few = submit(part, board / "submissions" / "few")
    found = [
        check_submission(one, present_answers(board), benchmarks=[unlisted]) for one in (few, own)
    ]
    assert [one.result for one in found] == ["invalid", "ok"]
    assert "has no rows for 200 of the 300 items" in found[0].problems[0].message
    assert found[0].preview is None


def test_check_says_which_benchmark_the_board_does_not_have(board, benchmark, honest, demo):
    """A lead on an easier benchmark must not look like one on the board's."""
    own = make_answers(0.9, of=demo, models=[honest[0]["model"].iloc[0]])
    submit(pd.concat([honest[0], own]), board / "submissions" / "both")
    found = checked(board / "submissions" / "both", board, benchmark)
    assert "The board has no other answers to demo." in found.lines
    assert found.preview.new == ("demo",)
    listed = [line for line in found.lines if line.startswith(("demo: ", "submitted: "))]
    figures = [line for line in found.lines if ": gap " in line or "Rank of" in line]
    assert set(figures) <= set(listed)
    # What verdicts rest on.
    assert f"demo: {demo.basis()}." in found.lines
    bases = json.loads(found.to_json())["benchmarks"]
    assert bases == {"demo": demo.basis(), "submitted": benchmark.basis()}


def test_majority_votes_are_refused(board, benchmark, honest):
    votes = honest[0].assign(strategy="majority_vote")
    folder = submit(votes, board / "submissions" / "votes", prompts={"majority_vote": "0" * 64})
    assert "are majority votes" in str(checked(folder, board, benchmark).problems[0])


def test_first_submission_to_an_empty_board_is_not_asked_about(benchmark, honest, tmp_path):
    found = check_submission(submit(honest[0], tmp_path / "new"), benchmarks=[benchmark])
    assert found.result == "ok"
    assert "not_checked" in set(found.screening["flag"])
    assert "checks were not possible" in found.to_markdown()


def test_answers_that_are_on_the_board_already_would_be_replaced(board, benchmark, honest):
    folder = submit(honest[1], board / "submissions" / "again")
    found = checked(folder, board, benchmark)
    assert len(found.preview.replaced) == 1
    # A set is no copy of itself.
    assert found.result == "ok"


def test_other_answers_under_a_name_on_the_board_are_asked_about(
    run, submission, board, benchmark, honest, tmp_path
):
    """A run could be repeated until it looks fair, or another model's answers take its place."""
    accept_submission(submission, board, by="K. Keeper", benchmarks=[benchmark])
    name = honest[0]["model"].iloc[0]
    folder = submit(honest[1].assign(model=name), tmp_path / "again", submitter="E. Else")
    done = run("submission", "check", folder, "--board", board, "--json")
    (found,) = json.loads(done.stdout)
    asked = [row["check"] for row in found["screening"] if row["flag"] == "look"]
    assert "resubmitted" in asked
    (replaced,) = found["replaced"]
    assert f"submitted by {FACTS['submitter']}; these are from E. Else" in replaced


def test_strategy_for_a_model_of_another_submitter_is_named(
    run, submission, board, benchmark, honest, tmp_path
):
    def added(answers, name, **facts):
        folder = submit(answers, tmp_path / name, **facts)
        found = run("submission", "check", folder, "--board", board, "--json")
        (one,) = json.loads(found.stdout)
        assert one["result"] != "invalid", one["problems"]
        return one["added"]

    accept_submission(submission, board, by="K. Keeper", benchmarks=[benchmark])
    model, other = (own["model"].iloc[0] for own in honest[:2])
    known = honest[0].assign(strategy="cot"), honest[1].assign(strategy="cot")
    prompts = {"prompts": {"cot": "0" * 64}}
    (named,) = added(known[0], "same", **prompts)
    assert named.endswith(f"to “{model}” (the submitter has the same name)")
    (named,) = added(known[0], "other", submitter="E. Else", **prompts)
    assert named.startswith("“cot” on ")
    assert f"to “{model}” (submitted by {FACTS['submitter']}; these are from E. Else)" in named
    (named,) = added(known[1], "kept", **prompts)
    assert f"to “{other}” (without a submission; these are from" in named


def test_submitter_who_looks_like_another_is_a_problem(submission, board, benchmark, honest):
    own = {honest[1]["model"].iloc[0]: ["\N{GREEK CAPITAL LETTER ALPHA} submitter"]}
    found = check_submission(
        submission, present_answers(board), benchmarks=[benchmark], submitters=own
    )
    (problem,) = found.problems
    assert (problem.column, problem.value) == ("submitter", FACTS["submitter"])
    assert "looks like '\\u0391 submitter'" in problem.message


def test_markdown_shows_texts_of_the_submission_literally(board, benchmark, honest):
    name = "<img src=x> **bold** @all `x` | [a](http://b)"
    rows = honest[0].assign(model=name)
    folder = submit(rows, board / "submissions" / "new", submitter="</details># Title | x")
    text = checked(folder, board, benchmark).to_markdown()
    page = pypandoc.convert_text(text, "html", format="gfm", extra_args=["--wrap=none"])
    assert not re.findall(r"<(img|a|code|strong>bold)\b", page)
    # A word joiner keeps GitHub from mentioning a person or an issue.
    shown = html.escape(name, quote=False).replace("@", "@\u2060")
    assert f"<td>“{shown}”, snapshot “model-2026-11-01”</td>" in page
    assert "<td>&lt;/details&gt;#\u2060 Title | x</td>" in page


def test_record_of_an_acceptance_by_the_submitter_is_a_problem(
    submission, board, benchmark, tmp_path
):
    copy = shutil.copytree(submission, tmp_path / "new")
    target, _ = accept_submission(submission, board, by="A keeper")
    shutil.copy(target / "acceptance.toml", copy)
    shutil.rmtree(target)
    found = checked(copy, board, benchmark)
    assert found.result == "invalid"
    assert "acceptance.toml: is written by the keeper" in str(found.problems[0])


# The command


@pytest.fixture
def run(monkeypatch):
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


def test_command_exits_with_1_only_for_problems_and_blocked_answers(run, submission, fraud, board):
    done = run("submission", "check", submission, "--board", board)
    assert done.exit_code == 0, done.output
    assert "ok: valid" in done.output
    done = run("submission", "check", submission, fraud, "--board", board)
    assert done.exit_code == 1
    assert "block: screening blocks these answers" in done.output


def test_submission_that_cannot_be_read_does_not_stop_the_check_of_others(
    run, submission, board, tmp_path
):
    paths = [submission.with_name(os.fsdecode(b"\xff")), submission.with_name("file-name")]
    paths += [submission.with_name("nan")]
    for path in paths:
        shutil.copytree(submission, path)
    (paths[1] / os.fsdecode(b"\xff.parquet")).touch()
    declared = (paths[2] / "submission.toml").read_text()
    declared = declared.replace("[prompts]", "[settings]\na = nan\n[prompts]")
    (paths[2] / "submission.toml").write_text(declared.replace("[settings]\n\n", ""))
    done = run("submission", "check", *paths, submission, "--board", board, "--out", tmp_path)
    assert done.exit_code == 1, done.exception
    found = json.loads((tmp_path / "submission.json").read_text(encoding="utf-8"))
    assert [one["result"] for one in found] == ["invalid", "invalid", "invalid", "ok"]
    assert found[0]["submission"] == r"\udcff"
    assert "a = 'nan'" in done.output
    assert "## Submission new: ok" in (tmp_path / "submission.md").read_text(encoding="utf-8")


def test_command_writes_json_and_markdown(run, submission, board, tmp_path):
    done = run("submission", "check", submission, "--board", board, "--json", "--out", tmp_path)
    (found,) = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "submission.json").read_text())[0]
    assert found["result"] == "ok"
    assert {row["check"] for row in found["screening"]} >= {"copied_answers", "pair_flips"}
    assert found["declaration"]["attempts"] == 1
    assert (tmp_path / "submission.md").read_text().startswith("## Submission new: ok")


def test_command_compares_with_a_release(run, submission, board, tmp_path, benchmark):
    made = publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])
    done = run("submission", "check", submission, "--against", made.path, "--json")
    assert json.loads(done.stdout) == json.loads(
        run("submission", "check", submission, "--board", board, "--json").stdout
    )


def test_init_asks_only_for_what_the_answers_do_not_have(monkeypatch, honest, tmp_path):
    path = tmp_path / "a.parquet"
    honest[0].assign(snapshot="s", temperature=0.0).to_parquet(path)
    asked = []
    values = {"attempts": 2, "started": FACTS["started"], "ended": FACTS["ended"]}
    empty = create_submission(
        path,
        tmp_path / "new",
        {"prompts": {"plain": "not known"}},
        lambda key: asked.append(key) or values.get(key, "text"),
    )
    assert asked == [
        "provider", "started", "ended", "attempts", "submitter", "conflicts", "training_data",
    ]  # fmt: skip
    assert empty == []
    with pytest.raises(InputError, match="chosen_by: is empty, but there were 2 runs"):
        read_submission(tmp_path / "new")


def test_init_writes_no_file_if_the_answers_are_of_two_models(run, honest, tmp_path):
    path = tmp_path / "a.parquet"
    pd.concat(honest[:2]).to_parquet(path)
    done = run("submission", "init", path, "--out", tmp_path / "new")
    assert done.exit_code == 1
    assert "create one submission per model" in done.output
    assert [one.name for one in tmp_path.iterdir()] == ["a.parquet"]


def test_init_names_the_keys_to_fill_in(run, honest, tmp_path):
    path = tmp_path / "a.parquet"
    honest[0].to_parquet(path)
    done = run("submission", "init", path, "--out", tmp_path / "new", "--attempts", "3")
    assert done.exit_code == 0, done.output
    assert "snapshot, provider, started, ended, submitter" in done.output


def test_name_of_a_submission_has_at_most_60_characters(run, honest, tmp_path):
    path = tmp_path / "a.parquet"
    honest[0].to_parquet(path)
    assert run("submission", "init", path, "--out", tmp_path / ("n" * 60)).exit_code == 0
    done = run("submission", "init", path, "--out", tmp_path / ("n" * 61))
    assert done.exit_code == 1
    assert "use up to 60 letters" in " ".join(done.output.split())


# Accept


def test_accepted_submission_is_moved_with_a_record(submission, board):
    before = {path.name: path.read_bytes() for path in submission.iterdir()}
    left = unfinished(board / "killed")
    left.mkdir()
    target, _ = accept_submission(submission, board, by="A keeper")
    assert not left.exists()
    assert not submission.exists()
    after = {path.name: path.read_bytes() for path in target.iterdir()}
    record = after.pop("acceptance.toml").decode()
    assert after == before
    assert 'accepted_by = "A keeper"' in record
    assert read_submission(target).acceptance.block == 0


def test_acceptance_that_was_stopped_before_the_removal_says_what_to_remove(
    prepared, submission, board
):
    target, _ = accept_submission(submission, board, by="A keeper")
    before = sorted((path, path.stat().st_mtime_ns) for path in target.iterdir())
    shutil.copytree(prepared / "new", submission)
    with pytest.raises(InputError, match=r"is accepted already, as .*; remove this folder"):
        accept_submission(submission, board, by="Another keeper")
    assert sorted((path, path.stat().st_mtime_ns) for path in target.iterdir()) == before
    # Another submission of this name is not.
    declaration = submission / "submission.toml"
    declaration.write_text(declaration.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="has the name of an accepted submission"):
        accept_submission(submission, board, by="A keeper")


def test_removal_of_a_submission_leaves_no_part_of_it(submission, board, monkeypatch):
    def stopped(path, **options):
        if not options:
            raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", stopped)
    with pytest.raises(KeyboardInterrupt):
        accept_submission(submission, board, by="A keeper")
    assert not submission.exists()


def test_blocked_submission_is_accepted_only_with_a_reason(fraud, board):
    with pytest.raises(InputError, match="is blocked by screening: "):
        accept_submission(fraud, board, by="A keeper")
    assert fraud.exists()
    target, _ = accept_submission(fraud, board, by="A keeper", overrule="It is a fine-tuned copy")
    found = read_submission(target).acceptance
    assert found.block > 0
    assert found.overruled == "It is a fine-tuned copy"


def test_reason_without_a_block_is_refused(submission, board):
    with pytest.raises(InputError, match="screening does not block this submission"):
        accept_submission(submission, board, by="A keeper", overrule="A reason")
    assert submission.exists()


def test_answers_that_the_board_has_are_not_accepted_twice(board, honest):
    folder = submit(honest[1], board / "submissions" / "again")
    with pytest.raises(InputError, match="has answers that the board already has"):
        accept_submission(folder, board, by="A keeper")


def test_name_of_an_accepted_submission_is_taken_in_any_case(run, submission, board):
    (board / "accepted" / "NEW").mkdir()
    done = run("submission", "check", submission, "--board", board)
    assert done.exit_code == 1
    assert "has the name of an accepted submission" in done.output
    with pytest.raises(InputError, match="has the name of an accepted submission"):
        accept_submission(submission, board, by="A keeper")


def test_board_whose_folders_are_links_is_refused(submission, board, tmp_path):
    elsewhere = (board / "submissions").rename(tmp_path / "elsewhere")
    (board / "submissions").symlink_to(elsewhere)
    with pytest.raises(InputError, match="submissions: is a link"):
        accept_submission(board / "submissions" / "new", board, by="A keeper")
    assert (elsewhere / "new").is_dir()


def test_folder_that_is_not_a_board_is_refused(submission, tmp_path):
    with pytest.raises(InputError, match="has no folder accepted"):
        accept_submission(submission, tmp_path, by="A keeper")


@pytest.mark.parametrize("by", ["", " ", "a\nb"])
def test_keeper_must_have_a_printable_name(submission, board, by):
    with pytest.raises(InputError, match="accepted_by"):
        accept_submission(submission, board, by=by)
    assert submission.exists()
    assert [one.name for one in (board / "accepted").iterdir() if one.is_dir()] == ["first"]


# Publish


def test_release_has_the_record_and_pages_show_it(board, benchmark, honest, tmp_path, drawn_text):
    facts = {"attempts": 5, "chosen_by": "Smallest gap.", "conflicts": "We sell this model"}
    folder = submit(honest[0], board / "submissions" / "new", **facts)
    accept_submission(folder, board, by="A keeper")
    made = publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])
    release = Release(made.path)
    (row,) = release.submissions.to_dict("records")
    model = honest[0]["model"].iloc[0]
    assert (row["model"], row["attempts"], row["accepted_by"]) == (model, 5, "A keeper")
    page = drawn_text(show_leaderboard, release)
    note = f"§ “{model}”: one of 5 complete runs, chosen by the submitter (“Smallest gap”)."
    assert note in page
    rows = {one["model"]: one for one in leaderboard_document(release)["boards"][0]["rows"]}
    assert note.removeprefix("§ ") in " ".join(rows[model]["notes"])
    assert badge(release, model)["message"].endswith("; chosen among several runs")
    assert "Who sent these answers?" in page
    assert page.count("added by the publisher") == 4
    model_page = drawn_text(show_model, release, release.slugs[model])
    assert re.search(r"Sent by “A submitter”\..*“We sell this model”\.", model_page)
    limits = " ".join(limitations(release, model))
    assert "one of 5 complete runs" in limits
    assert "“We sell this model”." in limits
    assert not any(found.problems for found in verify(tmp_path / "site", pages=False))


def test_overruled_submission_is_published_without_naming_it_again(
    monkeypatch, fraud, board, benchmark, tmp_path
):
    # Other tests publish made-up answers, which screening may block.
    monkeypatch.setattr("fairstats.publishing.inputs.blocked_sets", blocked_sets)
    accept_submission(fraud, board, by="A keeper", overrule="A fine-tuned copy")
    options = {"release": "1", "out": tmp_path / "site", "benchmarks": [benchmark]}
    made = publish(board / "accepted", **options)
    # The set that it was copied from is judged without the copy.
    assert reasons_of(made) == {("copy", "plain"): "A fine-tuned copy"}
    caveats = " ".join(limitations(Release(made.path), "copy"))
    assert re.search(r"A keeper .* blocks: “A fine-tuned copy”\.", caveats)


def reasons_of(made) -> dict[tuple[str, str], str]:
    found = Release(made.path).overruled
    return {(model, strategy): reason for (*_, model, strategy), reason in found.items()}


def test_each_answer_set_has_the_reason_of_its_own_submission(
    monkeypatch, fraud, board, benchmark, tmp_path
):
    monkeypatch.setattr("fairstats.publishing.inputs.blocked_sets", blocked_sets)
    target, _ = accept_submission(fraud, board, by="A keeper", overrule="A fine-tuned copy")
    answers = read_answers(target).assign(strategy="cot")
    second = submit(answers, board / "submissions" / "cot", prompts={"cot": "0" * 64})
    accept_submission(second, board, by="A keeper", overrule="It ignores the prompt")
    made = publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])
    own = {("copy", "cot"): "It ignores the prompt", ("copy", "plain"): "A fine-tuned copy"}
    assert reasons_of(made) == own
    release = Release(made.path)
    for strategy, rows in release.screening.query("model == 'copy'").groupby("strategy"):
        notes = " ".join(flag_notes(rows, release.overruled))
        assert re.findall("The publisher states: “(.*?)”", notes) == [own["copy", strategy]]
    assert not any(found.problems for found in verify(made.path, pages=False))
    # A manifest that states only one of them does not cover the other.
    path = made.path / "manifest.json"
    manifest = json.loads(path.read_text())
    kept = [one for one in manifest["overruled"] if one["strategy"] == "plain"]
    path.write_text(json.dumps(manifest | {"overruled": kept}))
    # The API gives the reason, too.
    problem, *others = verify(made.path, pages=False)[0].problems
    assert {one.column for one in others} == {None}
    assert (problem.column, problem.value) == ("overruled", "copy")
    assert "strategy cot are blocked" in problem.message


def test_reason_of_a_submission_is_for_its_own_answer_sets(
    monkeypatch, fraud, board, benchmark, tmp_path
):
    """Another copy of the model, which nobody accepted, needs a reason of its own."""
    monkeypatch.setattr("fairstats.publishing.inputs.blocked_sets", blocked_sets)
    accept_submission(fraud, board, by="A keeper", overrule="A fine-tuned copy")
    answers = read_answers(board / "accepted")
    second = answers[answers["model"] == "copy"].assign(strategy="cot")
    write_answers(second, board / "accepted" / "second" / "a.parquet")
    options = {"release": "1", "out": tmp_path / "site", "benchmarks": [benchmark]}
    with pytest.raises(InputError, match="strategy cot are blocked") as error:
        publish(board / "accepted", **options)
    assert "strategy plain" not in str(error.value)
    why = "Both are copies. It passed"
    made = publish(board / "accepted", overrule={"copy": why}, **options)
    assert reasons_of(made) == {("copy", "cot"): why, ("copy", "plain"): why}
    release = Release(made.path)
    notes = " ".join(flag_notes(release.screening, release.overruled))
    assert "The publisher states: “Both are copies. It passed”." in notes


def test_board_without_submissions_shows_no_list_of_them(board, benchmark, tmp_path, drawn_text):
    made = publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])
    page = drawn_text(show_leaderboard, Release(made.path))
    assert "Who sent these answers?" not in page
    assert "§" not in page


def test_record_of_another_declaration_is_refused(submission, board, benchmark, tmp_path):
    target, _ = accept_submission(submission, board, by="A keeper")
    path = target / "submission.toml"
    path.write_text(path.read_text().replace("attempts = 1", "attempts = 2"))
    path.write_text(path.read_text().replace('chosen_by = ""', 'chosen_by = "x"'))
    with pytest.raises(InputError, match="changed after it was accepted"):
        publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("name", [None, "Submission.toml"])
def test_record_without_its_declaration_is_refused(name, submission, board, benchmark, tmp_path):
    target, _ = accept_submission(submission, board, by="A keeper")
    path = target / "submission.toml"
    path.rename(target / name) if name else path.unlink()
    with pytest.raises(InputError, match=r"has no submission\.toml"):
        publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])


def test_submission_that_was_not_accepted_is_not_published(submission, board, benchmark, tmp_path):
    shutil.move(submission, board / "accepted" / "new")
    with pytest.raises(InputError, match="was not accepted"):
        publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])


def test_part_of_a_submission_is_not_published(board, benchmark, honest, tmp_path):
    both = pd.concat([honest[0], honest[0].assign(strategy="cot")], ignore_index=True)
    prompts = {"plain": "0" * 64, "cot": "1" * 64}
    folder = submit(both, board / "submissions" / "new", prompts=prompts)
    target, _ = accept_submission(folder, board, by="A keeper")
    assert len(read_answers(target)) == len(both)
    (part,) = target.glob("*plain.parquet")
    with pytest.raises(InputError, match="is part of the submission, but is left out"):
        publish(part, release="1", out=tmp_path / "site", benchmarks=[benchmark])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_settings_that_are_not_json_are_not_written(submission, board, value):
    target, _ = accept_submission(submission, board, by="A keeper")
    accepted = read_submission(target)
    declared = accepted.declaration.model_copy(update={"settings": {"a": value}})
    with pytest.raises(ValueError, match="not JSON compliant"):
        submission_records([replace(accepted, declaration=declared)])


def test_settings_that_are_not_json_fail_verification(submission, board):
    target, _ = accept_submission(submission, board, by="A keeper")
    table, answers = submission_records([read_submission(target)]), read_answers(target)
    for settings in ('{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}'):
        with pytest.raises(InputError, match="is not a JSON object of texts and numbers"):
            check_submissions(table.assign(settings=settings), answers, path="a.parquet")


def test_changed_record_in_a_release_fails_verification(submission, board, benchmark, tmp_path):
    accept_submission(submission, board, by="A keeper")
    made = publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])
    path = Release(made.path).table_path("submissions")
    pd.read_parquet(path).assign(attempts=2).to_parquet(path, index=False)
    (problem, *_) = verify(made.path, pages=False)[0].problems
    assert str(path) in str(problem)


# What publishing would refuse


def test_copies_of_answers_in_csv_are_found_too(fraud, board, benchmark):
    (given,) = (board / "accepted").rglob("*.parquet")
    read_answers(given).to_csv(given.with_suffix(".csv"), index=False)
    given.unlink()
    assert checked(fraud, board, benchmark).result == "block"


@pytest.mark.parametrize("name", ["a.ratings.parquet", "a.measures.parquet", "a.comments.csv"])
def test_answers_under_the_name_of_another_kind_of_file_are_refused(
    name, submission, board, benchmark
):
    (given,) = submission.glob("*.parquet")
    declared = submission / "submission.toml"
    declared.write_text(declared.read_text().replace(given.name, name))
    given.rename(submission / name)
    (problem,) = checked(submission, board, benchmark).problems
    assert (problem.message, problem.value) == ("is not a file of answers", name)


def test_strategy_with_snippets_needs_their_retrievals(board, benchmark, honest, tmp_path):
    asked = honest[0].assign(strategy="plain+bm25@2")
    prompts = {"plain+bm25@2": "0" * 64}
    submit(asked, board / "submissions" / "none", prompts=prompts)
    assert checked(board / "submissions" / "none", board, benchmark).problems == ()
    found = check_submission(board / "submissions" / "none", benchmarks=[benchmark], retrievals=())
    assert [problem.value for problem in found.problems] == ["plain+bm25@2"]
    with pytest.raises(InputError, match="the retrievals file is missing"):
        accept_submission(board / "submissions" / "none", board, by="A. Keeper")
    lists = retrievals_of(
        {
            (item, *variant): ["s1", "s2"]
            for item in benchmark.items
            for variant in benchmark.variants
        },
        benchmark=benchmark.name,
    )
    write_retrievals(
        lists.assign(text="not for the board"), tmp_path / "in" / "a.retrievals.parquet"
    )
    (tmp_path / "unused").mkdir()
    write_answers(honest[0], tmp_path / "unused" / "a.parquet")
    shutil.copy(tmp_path / "in" / "a.retrievals.parquet", tmp_path / "unused")
    create_submission(tmp_path / "unused", board / "submissions" / "unused", FACTS)
    found = check_submission(board / "submissions" / "unused", benchmarks=[benchmark])
    assert [(one.column, one.value) for one in found.problems] == [("retriever", "bm25")]
    write_answers(asked, tmp_path / "in" / "a.parquet")
    folder = board / "submissions" / "both"
    assert create_submission(tmp_path / "in", folder, FACTS | {"prompts": prompts}) == []
    accept_submission(folder, board, by="A. Keeper")
    assert not {"text", "title"} & set(read_retrievals(retrieval_files(board)).columns)
    again = honest[1].assign(model="Another", strategy="plain+bm25@2", snapshot="another-1")
    for name in ("without", "with"):
        (tmp_path / name).mkdir()
        write_answers(again.assign(model=name), tmp_path / name / "a.parquet")
    shutil.copy(tmp_path / "in" / "a.retrievals.parquet", tmp_path / "with")
    facts = FACTS | {"prompts": prompts, "snapshot": "another-1"}
    # The lists of one submission are those of others, too.
    for name in ("without", "with"):
        create_submission(tmp_path / name, board / "submissions" / name, facts)
        found = check_submission(
            board / "submissions" / name,
            present_answers(board),
            benchmarks=[benchmark],
            retrievals=retrieval_files(board / "accepted"),
        )
        assert found.problems == ()
    why = "Made from Model-B."
    accept_submission(board / "submissions" / "with", board, by="A. Keeper", overrule=why)
    publish(board / "accepted", release="1", out=tmp_path / "site", benchmarks=[benchmark])
