"""`fairstats ratings assign` and `import` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fairstats.cli import app
from fairstats.ratings.files import read_ratings
from tests.rating_files import export_of, item_rows, rater_rows, write_rows

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.usefixtures("declared_plugins")


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["ratings", *(str(argument) for argument in arguments)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[object, ...]:
    items = write_rows(tmp_path / "items.csv", item_rows(4))
    raters = write_rows(tmp_path / "raters.csv", rater_rows(physician=3, consumer=2))
    return ("--items", items, "--raters", raters, "--out", tmp_path / "study")


def test_tasks_can_be_assigned_and_ratings_imported(files, tmp_path):
    done = run(
        *("assign", *files, "--rubric", "independent", "--benchmark", "mine", "--json"),
        *("--replicates", "physician=2", "--replicates", "consumer=1"),
    )
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    assert [(row["rater_group"], row["replicates"], row["load_max"]) for row in table] == [
        ("physician", 2, 3), ("consumer", 1, 2),
    ]  # fmt: skip
    assert f"key.csv and tasks.jsonl in {tmp_path / 'study'}" in done.stderr
    exports = []
    for form in (tmp_path / "study" / "forms").iterdir():
        exports.append(tmp_path / f"{form.stem}.json")
        exports[-1].write_text(json.dumps(export_of(form, lambda i: {"bias": "none"})))
    done = run(
        *("import", *exports, "--assignment", tmp_path / "study", "--out", tmp_path / "ratings"),
        *("--name", "wave-1"),
    )
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("12 of 12 ")
    path = tmp_path / "ratings" / "wave-1.ratings.parquet"
    assert done.stdout == f"{path}\n"
    ratings = read_ratings(path)
    assert len(ratings) == 12 * 8
    assert set(ratings["benchmark"]) == {"mine"}


def test_model_can_rate_the_tasks_of_an_assignment(files, tmp_path):
    run("assign", *files, "--rubric", "independent", "--replicates", "2")
    model = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--out", tmp_path / "out")
    done = run("ask", *model, "--assignment", tmp_path / "study", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "4 requests" in done.stdout
    assert "> Question " in done.stdout
    items = ("--items", tmp_path / "items.csv", "--rubric", "independent", "--samples", "2")
    done = run("ask", *model, *items, "--dry-run")
    assert "8 requests" in done.stdout
    done = run("ask", *model)
    assert done.exit_code == 1
    assert "--items, --rubric: are not both" in done.stderr
    assert not (tmp_path / "out").exists()


def test_one_number_of_replicates_is_for_all_groups(files):
    done = run("assign", *files, "--rubric", "independent", "--replicates", "2", "--csv")
    assert done.exit_code == 0, done.output
    assert [line.split(",")[3] for line in done.stdout.splitlines()[1:]] == ["2", "2"]


@pytest.mark.parametrize(
    "replicates", [("two",), ("2", "3"), ("=2",), ("consumer=",), ("2", "consumer=2"), ("-1",)]
)
def test_replicates_that_are_unclear_are_refused(files, tmp_path, replicates):
    given = [part for text in replicates for part in ("--replicates", text)]
    done = run("assign", *files, "--rubric", "independent", *given)
    assert done.exit_code == 1
    assert "or GROUP=NUMBER" in done.stderr
    assert not (tmp_path / "study").exists()


def test_custom_rubric_is_given_by_its_file(files, tmp_path):
    rubric = tmp_path / "mine.toml"
    text = (ROOT / "data" / "rubrics" / "independent.toml").read_text(encoding="utf-8")
    rubric.write_text(text.replace('"independent"', '"mine"'))
    done = run("assign", *files, "--rubric", rubric, "--replicates", "1")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "study" / "rubric.toml").read_text() == rubric.read_text()


def test_a_terminal_shows_every_column_of_the_groups(files):
    done = run("assign", *files, "--rubric", "independent", "--replicates", "2")
    head, *rows = done.stdout.splitlines()
    for title in (
        "group",
        "raters",
        "tasks",
        "raters per task",
        "tasks per rater",
        "tasks shared by two raters",
    ):
        assert title in head
    assert [row.split() for row in rows] == [
        ["physician", "3", "4", "2", "2", "to", "3", "1", "to", "2"],
        ["consumer", "2", "4", "2", "4", "4"],
    ]


def test_notes_steer_no_terminal(files, tmp_path):
    run("assign", *files, "--rubric", "independent", "--replicates", "1")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a\x1b[2J.xlsx").write_text("x")
    form = next((tmp_path / "study" / "forms").iterdir())
    export = export_of(form, lambda i: {"bias": "none"})
    (folder / "p.json").write_text(json.dumps(export))
    done = run("import", folder, "--assignment", tmp_path / "study", "--out", tmp_path / "ratings")
    assert done.exit_code == 0, done.output
    assert "a\\x1b[2J.xlsx" in done.stderr


def test_problems_are_printed_one_per_line(tmp_path):
    path = tmp_path / "p.json"
    path.write_text("{}")
    done = run("import", path, "--assignment", tmp_path, "--out", tmp_path / "in")
    assert done.exit_code == 1
    assert "assignment.json: no such file" in done.stderr
    assert not (tmp_path / "in").exists()
