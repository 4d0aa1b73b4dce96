"""The lists that mark tests name modules and tests that exist."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.marks import NEEDED, slow_tests

ROOT = Path(__file__).parents[1]
PLACES = sorted({place for places in NEEDED.values() for place in places})


@cache
def names_in(path: Path) -> frozenset[str]:
    """Return the names of a module's tests; doctests are named by what they document."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


@pytest.mark.parametrize("place", PLACES)
def test_marked_place_exists(place):
    module, _, name = place.partition("::")
    path = ROOT / "tests" / module
    assert path.exists()
    assert not name or any(known.startswith(name) for known in names_in(path))


def test_listed_slow_tests_exist():
    missing = []
    for listed in sorted(slow_tests()):
        module, *_, name = listed.split("::")
        path = ROOT / module
        if not path.is_file() or name.rpartition(".")[2] not in names_in(path):
            missing.append(listed)
    assert missing == []
