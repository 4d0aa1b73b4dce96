"""What the tests of the variants share: the command line with this checkout's own commands."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fairstats.cli import app

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


@pytest.fixture
def run(monkeypatch):
    """Run `fairstats vignettes ...` by the entry points that pyproject.toml declares."""
    declared = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]

    def entry_points(*, group):
        return [EntryPoint(name, value, group) for name, value in declared[group].items()]

    monkeypatch.setattr("fairstats.commands._shared.entry_points", entry_points)
    return lambda *words: CliRunner().invoke(app, ["vignettes", *map(str, words)])
