"""Follow a recipe of CONTRIBUTING.md in a copy of the checkout, and install the copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: "In `FILE`:" creates a file from the next block; "below" adds it after that line.
_STEP = re.compile(
    r"^In `([^`]+)`(?:, below `([^`]+)`)?:\n\n(`{3,})\w*\n(.*?\n)\3\n", re.DOTALL | re.MULTILINE
)

Run = Callable[..., str]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy all files that git tracks or would add."""
    return _copy(tmp_path / "checkout")


@pytest.fixture
def follow(checkout: Path, tmp_path: Path) -> Callable[..., Run]:
    """Follow recipes, and return a function that runs `fairstats` of the changed copy."""

    def follow(*recipes: str) -> Run:
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        for recipe in recipes:
            section = text.partition(f"\n## {recipe}\n")[2].partition("\n## ")[0]
            steps = _STEP.findall(section)
            assert 1 <= len({file for file, *_ in steps}) == len(steps) <= 3
            for file, anchor, _, code in steps:
                path = checkout / file
                assert path.exists() == bool(anchor), file
                path.write_text(_added(path, anchor, code) if anchor else code, encoding="utf-8")
            _tidy(checkout, [file for file, *_ in steps if file.endswith(".py")])
        return _installed(checkout, tmp_path / "installed")

    return follow


def _copy(target: Path) -> Path:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    return target


def _added(path: Path, anchor: str, code: str) -> str:
    before, found, after = path.read_text(encoding="utf-8").partition(anchor)
    assert found, f"{path.name} has no {anchor}"
    line, end, rest = after.partition("\n")
    return before + found + line + end + code + rest


def _tidy(checkout: Path, files: list[str]) -> None:
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, *files]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def _installed(checkout: Path, folder: Path) -> Run:
    """Unpack the wheel of the copy: its entry points take precedence over installed ones."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder)
    environment = {name: v for name, v in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = str(folder)

    def run(*words: str | Path) -> str:
        command = [sys.executable, "-m", "fairstats.cli", *map(str, words)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
