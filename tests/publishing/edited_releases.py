"""Change a release or a site as an attacker would, and run a command on it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from fairstats.cli import app
from fairstats.publishing.site_folder import assemble


def run(command: str, *arguments: object, env: dict[str, str] | None = None) -> Result:
    """Run a command; it must not fail with a traceback."""
    done = CliRunner().invoke(app, [command, *map(str, arguments)], env=env)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert "Traceback" not in done.output
    return done


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def change_manifest(release: Path, **values: object) -> None:
    path = release / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def rehash(release: Path) -> None:
    """Give a manifest the hashes of the files that are there now."""
    files = {
        path.relative_to(release).as_posix(): sha256(path)
        for path in sorted(release.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }
    change_manifest(release, files=files)


def relink(site: Path) -> None:
    """Tie each release to the one before it, and make the files around them again."""
    folders = sorted((site / "v").iterdir(), key=lambda path: path.name)
    for before, folder in zip([None, *folders], folders, strict=False):
        link = before and {
            "release": before.name,
            "manifest_sha256": sha256(before / "manifest.json"),
        }
        change_manifest(folder, previous=link)
    assemble(site)
