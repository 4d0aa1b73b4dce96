"""Run the cells of a guide in the process of the tests, as `guide_cells` does in a kernel."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path
from typing import Any

import guide_cells
import pytest
from typer.testing import CliRunner

from fairstats.cli import app

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = DOCS / "guides"


def run(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], dict]:
    """Run a guide's cells; return what each shows, and the names that it defines."""
    guide_cells.copy_data(GUIDES, folder)
    monkeypatch.chdir(folder)
    shown: list[Any] = []
    names: dict[str, Any] = {}
    for language, code in guide_cells.cells(path.read_text(encoding="utf-8")):
        if language == "sh":
            shown.append("".join(map(command, code.replace("\\\n", "").splitlines())))
            continue
        *body, last = ast.parse(code).body
        exec(compile(ast.Module(body, []), path.name, "exec"), names)
        assert isinstance(last, ast.Expr), "the last line of a cell shows its result"
        shown.append(eval(compile(ast.Expression(last.value), path.name, "eval"), names))
    return shown, names


def command(line: str) -> str:
    program, *arguments = shlex.split(line)
    assert program == "fairstats"
    done = CliRunner().invoke(app, arguments)
    # A gate that does not pass exits with 1.
    assert done.exit_code == 0 or (arguments[0], done.exit_code) == ("gate", 1), done.output
    return done.output


def prose(name: str) -> str:
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())
