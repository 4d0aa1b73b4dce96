"""The subpackages: the allowed imports between them, as shown in CONTRIBUTING."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def check_imports(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter over the packages in a folder, with the contracts in our pyproject.toml."""
    command = [
        Path(sys.executable).with_name("lint-imports"),
        "--no-cache",
        "--no-logo",
        f"--config={ROOT / 'pyproject.toml'}",
    ]
    paths = os.pathsep.join([str(root), str(root / "collectors")])
    return subprocess.run(
        command, cwd=root, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
    )


def test_each_room_imports_only_from_those_below_it():
    done = check_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_upward_import_and_cycle_are_detected(tmp_path):
    for folder in ("fairstats", "collectors"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.pyc"))
    for module, wrong in (
        ("counts/outcomes.py", "import fairstats.estimates.judgements"),
        ("inference/intervals.py", "import fairstats.inference.differences"),
    ):
        path = tmp_path / "fairstats" / module
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}\n\n{wrong}\n", encoding="utf-8")
    done = check_imports(tmp_path)
    assert done.returncode == 1
    assert "fairstats.counts.outcomes -> fairstats.estimates.judgements" in done.stdout
    assert "No cycles are allowed in fairstats.inference" in done.stdout


def test_package_has_only_subpackages():
    found = {p.name for p in (ROOT / "fairstats").iterdir() if p.name != "__pycache__"}
    files = {name for name in found if "." in name}
    assert files == {"__init__.py", "__init__.pyi", "cli.py", "py.typed"}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers, *_ = declared["tool"]["importlinter"]["contracts"]
    assert found - files == set(layers["layers"]) - {"cli"}


def test_contributing_shows_the_rooms_in_their_order():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = text.split("    fairstats/\n")[1].split("\n    collectors/")[0]
    shown = re.findall(r"^      (\w+)(?:/|\.py)", picture, flags=re.MULTILINE)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers, *_ = declared["tool"]["importlinter"]["contracts"]
    assert shown[::-1] == layers["layers"]
