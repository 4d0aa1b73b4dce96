"""The examples of docs/import.md work as written, one after the other."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats.answers.files import read_answers
from fairstats.cli import app
from fairstats.commands._options import layouts

LOGS = Path(__file__).parent / "logs"
DOC = Path(__file__).parents[2] / "docs" / "import.md"


def examples(kind: str) -> list[str]:
    return re.findall(rf"(?s)```{kind}\n(.*?)```", DOC.read_text(encoding="utf-8"))


def test_every_example_works(tmp_path, monkeypatch):
    shutil.copytree(LOGS, tmp_path, dirs_exist_ok=True)
    for name, content in zip(("replies.csv", "wide.csv"), examples("csv"), strict=True):
        (tmp_path / name).write_text(content)
    (tmp_path / "ours.toml").write_text(*examples("toml"))
    monkeypatch.chdir(tmp_path)
    skipped = []
    for example in examples("sh"):
        words = shlex.split(example.replace("\\\n", " "))
        done = CliRunner().invoke(app, words[1:])
        if "inspect_ai, cannot be imported" in done.output:
            skipped.append(words[2])
            continue
        assert done.exit_code == 0, (example, done.output)
        if words[2:4] == ["table", "replies.csv"]:
            answers = read_answers("answers")
            assert answers["answer"].dropna().tolist() == ["C", "A", "A"]
            assert answers["status"].tolist() == ["ok", "ok", "ok", "refused"]
            by_options = answers
        if words[2] == "ours.toml":
            mapped = read_answers("mapped")
            assert set(mapped["collector"]) == {"ours"}
            pd.testing.assert_frame_equal(mapped, by_options.assign(collector="ours"))
        if words[2:4] == ["table", "wide.csv"]:
            answers = read_answers("answers").query("model == 'GPT-4o'")
            assert "".join(answers["answer"].dropna()) == "CACCAA"
            assert answers["status"].tolist().count("ok") == 6
            assert len(answers) == 8
    assert {path.name for path in Path("reparsed").glob("*")} == {
        path.name for path in Path("answers").glob("*")
    }
    if skipped:
        pytest.skip("inspect_ai is not installed; the other examples work")


def test_every_importer_is_in_the_document():
    for name in layouts().split(", "):
        assert f"| `{name}` |" in DOC.read_text(encoding="utf-8")
