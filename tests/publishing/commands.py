"""Run a command of fairstats in a test."""

from __future__ import annotations

from click.testing import Result
from typer.testing import CliRunner

from fairstats.cli import app


def run(command: str, *arguments: object, env: dict[str, str] | None = None) -> Result:
    """Run a command; it must not fail with a traceback."""
    done = CliRunner().invoke(app, [command, *map(str, arguments)], env=env)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert "Traceback" not in done.output
    return done
