"""`fairstats ratings assign` and `import` as they are typed."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fairstats.cli import app
from fairstats.commands import ratings as commands
from fairstats.ratings.files import read_ratings
from tests.rating_files import export_of, item_rows, rater_rows, write_rows

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the project declares it, whichever version of it is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    def declared(group: str, name: str) -> Any:
        return EntryPoint(name, project["entry-points"][group][name], group).load()

    monkeypatch.setattr(commands, "plugin", declared)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["ratings", *(str(argument) for argument in arguments)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[object, ...]:
    items = write_rows(tmp_path / "items.csv", item_rows(4))
    raters = write_rows(tmp_path / "raters.csv", rater_rows(physician=3, consumer=2))
    return ("--items", items, "--raters", raters, "--out", tmp_path / "study")


def test_ratings_go_out_and_come_back(files, tmp_path):
    done = run(
        *("assign", *files, "--rubric", "independent", "--benchmark", "mine", "--json"),
        *("--replicates", "physician=2", "--replicates", "consumer=1"),
    )
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    assert [(row["rater_group"], row["replicates"], row["load_max"]) for row in table] == [
        ("physician", 2, 3), ("consumer", 1, 2),
    ]  # fmt: skip
    assert f"keep {tmp_path / 'study' / 'key.csv'} from the raters" in done.stderr
    exports = []
    for form in (tmp_path / "study" / "forms").iterdir():
        exports.append(tmp_path / f"{form.stem}.json")
        exports[-1].write_text(json.dumps(export_of(form, lambda i: {"bias": "none"})))
    done = run(
        *("import", *exports, "--assignment", tmp_path / "study", "--out", tmp_path / "ratings"),
        *("--name", "wave-1"),
    )
    assert done.exit_code == 0, done.output
    assert done.stderr == "12 of 12 judgements, 0 missing\n"
    path = tmp_path / "ratings" / "wave-1.ratings.parquet"
    assert done.stdout == f"{path}\n"
    ratings = read_ratings(path)
    assert len(ratings) == 12 * 8
    assert set(ratings["benchmark"]) == {"mine"}


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
    assert "is unclear; write a number, or GROUP=NUMBER" in done.stderr
    assert not (tmp_path / "study").exists()


def test_a_rubric_is_named_once(files):
    for options in ((), ("--rubric", "independent", "--rubric-file", "a.toml")):
        done = run("assign", *files, *options)
        assert done.exit_code == 1
        assert "name no rubric, or two" in done.stderr


def test_problems_are_said_one_a_line(tmp_path):
    path = tmp_path / "p.json"
    path.write_text("{}")
    done = run("import", path, "--assignment", tmp_path, "--out", tmp_path / "in")
    assert done.exit_code == 1
    assert "assignment.json: no such file" in done.stderr
    assert not (tmp_path / "in").exists()
