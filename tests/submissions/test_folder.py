"""A submission's folder has exactly the declared files, and the answers agree with its values."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from fairstats._lib.problems import InputError
from fairstats._lib.untrusted_files import read_once
from fairstats.answers.files import read_answers
from fairstats.submissions.folder import (
    accepted_submissions,
    declared_facts,
    mismatches,
    prompts_of,
    read_submission,
)
from tests.submission_files import FACTS, submit


@pytest.fixture
def answers(demo, all_right):
    return all_right(demo).assign(model="m", snapshot=FACTS["snapshot"])


@pytest.fixture
def folder(answers, tmp_path):
    return submit(answers, tmp_path / "m")


def message_of(folder) -> str:
    with pytest.raises(InputError) as error:
        read_submission(folder)
    return str(error.value)


def test_created_submission_is_read_with_its_answers(folder, answers):
    found = read_submission(folder)
    assert found.declaration.model == "m"
    assert read_answers(found.answer_files[0].path).equals(read_answers(folder))
    assert mismatches(found, read_answers(folder)) == []


def replaced_by_link(file: Path) -> None:
    file.symlink_to(file.rename(file.parents[1] / "elsewhere.parquet"))


def declaring(name: str) -> Callable[[Path], None]:
    """Return a change that writes a file of this name and declares it."""

    def change(file: Path) -> None:
        (file.parent / name).write_bytes(b"secret")
        source = file.with_name("submission.toml")
        declared = source.read_text().replace("[files]", f'[files]\n"{name}" = "{"1" * 64}"')
        source.write_text(declared)

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda file: file.write_bytes(file.read_bytes() + b" "), "differs from its sha256"),
        (Path.unlink, "no such file"),
        (lambda file: (file.parent / "more.parquet").touch(), "more.parquet: is not declared"),
        (replaced_by_link, "is not a regular file"),
        (declaring("../secret.parquet"), "'../secret.parquet': no such file"),
        (declaring("run.py"), "'run.py': is not a file of answers"),
    ],
)
def test_file_that_is_not_as_declared_is_refused(folder, change, problem):
    (file,) = folder.glob("*.parquet")
    change(file)
    assert problem in message_of(folder)


def test_folder_with_retrievals_alone_is_refused(folder):
    (file,) = folder.glob("*.parquet")
    only = file.rename(file.with_name("m.retrievals.parquet"))
    source = file.with_name("submission.toml")
    source.write_text(source.read_text().replace(file.name, only.name))
    assert "declares no file of answers" in message_of(folder)


@pytest.mark.parametrize(
    "name",
    [
        *("CON", "nul.parquet", "com1.csv", "a.", "a b.csv", "a\\b.csv", "a:b", "é.csv", "-a"),
        *(".git", b"\xff.parquet", "a" * 201),
    ],
)
def test_name_that_other_systems_cannot_check_out_is_refused(folder, name):
    (folder / os.fsdecode(name)).touch()
    assert "has a name that not every system can store" in message_of(folder)
    renamed = folder.rename(folder.with_name(os.fsdecode(name)))
    assert "is not a valid name of a submission" in message_of(renamed)


def test_names_that_differ_only_by_case_are_refused(folder):
    (folder / "Submission.toml").touch()
    assert "Submission.toml: differs from submission.toml only by case" in message_of(folder)
    (folder / "Submission.toml").unlink()
    (folder.with_name("M")).mkdir()
    assert "differs from M only by case" in message_of(folder)


def test_folder_without_declaration_is_refused(tmp_path):
    assert "submission.toml: no such file" in message_of(tmp_path)
    assert "is not the folder" in message_of(tmp_path / "nothing")


def test_values_are_read_from_the_answers(answers):
    rows = answers.assign(
        snapshot="s",
        temperature=0.0,
        seed=1,
        prompt_sha256="1" * 64,
        collected_at=["2026-11-02T23:59:59Z", *["2026-11-04T01:00:00+02:00"] * (len(answers) - 1)],
    )
    facts = declared_facts(rows)
    assert facts["model"] == "m"
    assert facts["snapshot"] == "s"
    assert facts["settings"] == {"temperature": 0.0, "seed": 1}
    assert (facts["started"], facts["ended"]) == (date(2026, 11, 2), date(2026, 11, 3))
    assert len(facts["prompts"]["plain"]) == 64


def test_hash_of_prompts_depends_on_each_prompt_and_not_on_the_order(answers):
    rows = answers.assign(prompt_sha256="1" * 64)
    other = rows.assign(prompt_sha256=["2" * 64, *["1" * 64] * (len(rows) - 1)])
    assert prompts_of(rows) == prompts_of(rows.iloc[::-1])
    assert prompts_of(rows) != prompts_of(other)
    assert prompts_of(answers) == {"plain": ""}


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("model", "other", "model = 'm': but the answers have 'other'"),
        ("snapshot", "s2", "snapshot = 'model-2026-11-01': but the answers have 's2'"),
        ("temperature", 0.7, "settings.temperature = '0': but the answers have 0.7"),
        ("strategy", "cot", "prompts = 'plain': but the answers have the strategies cot"),
        ("prompt_sha256", "1" * 64, "prompts.plain = '000"),
        ("collected_at", "2026-11-09T00:00:00Z", "ended = '2026-11-03': but the answers have"),
        ("collected_at", "2026-10-09T00:00:00Z", "started = '2026-11-02': but the answers have"),
    ],
)
def test_declared_values_that_answers_contradict_are_reported(
    answers, tmp_path, column, value, expected
):
    found = read_submission(submit(answers, tmp_path / "m", settings={"temperature": 0}))
    problems = [str(one) for one in mismatches(found, answers.assign(**{column: value}))]
    assert len(problems) == 1
    assert expected in problems[0]


def test_snapshots_of_a_model_that_was_updated_during_the_run_can_be_declared(answers, tmp_path):
    """They could not, except by collecting all answers again. Failed requests state none."""
    rows = answers.assign(snapshot=["s-1", *["s-2"] * (len(answers) - 1)])
    rows.loc[rows.index[:1], ["answer", "status", "snapshot"]] = [None, "error", None]
    rows.loc[rows.index[1:3], "snapshot"] = "s-1"
    snapshots = declared_facts(rows)["snapshot"]
    assert snapshots == "s-1, s-2"
    folder = submit(rows, tmp_path / "m", snapshot=snapshots)
    submission = read_submission(folder)
    assert mismatches(submission, read_answers(submission.answer_files)) == []
    close = read_submission(submit(rows, tmp_path / "close", snapshot="s-1,s-2"))
    assert mismatches(close, rows) == []
    (problem,) = mismatches(submission, rows.assign(snapshot="s"))
    assert "but the answers have 's'" in str(problem)


def test_setting_of_a_part_of_the_answers_is_not_that_of_all(answers, tmp_path):
    found = read_submission(submit(answers, tmp_path / "m", settings={"temperature": 0, "seed": 1}))
    part = [0.0, *[1.0] * (len(answers) - 1)]
    (problem,) = mismatches(found, answers.assign(temperature=part))
    assert str(problem.column) == "settings.temperature"
    # Each sample may have another seed.
    assert mismatches(found, answers.assign(temperature=0.0, seed=range(1, len(answers) + 1))) == []


def test_time_zone_of_the_submitter_may_shift_the_days(answers, tmp_path):
    found = read_submission(submit(answers, tmp_path / "m"))
    for time in ("2026-11-01T20:00:00Z", "2026-11-04T03:00:00Z"):
        assert mismatches(found, answers.assign(collected_at=time)) == []


def test_submission_that_was_not_accepted_is_refused(folder):
    files = {path: read_once(path) for path in folder.glob("*.parquet")}
    with pytest.raises(InputError, match="was not accepted; check it, then run"):
        accepted_submissions(files)


def test_answers_without_declaration_belong_to_no_submission(answers, tmp_path):
    path = tmp_path / "a.parquet"
    answers.to_parquet(path)
    assert accepted_submissions({path: read_once(path)}) == []
