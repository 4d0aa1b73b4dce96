"""The names that are documented: those of `import fairstats`, and those of docs/api_names.toml."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path
from typing import Any

import fairstats

LISTED = Path(__file__).parents[1] / "docs" / "api_names.toml"


def documented_names() -> dict[str, Any]:
    """Return every documented function, class and value by its name."""
    found = {name: getattr(fairstats, name) for name in fairstats.__all__ if name != "__version__"}
    for name, module in tomllib.loads(LISTED.read_text(encoding="utf-8")).items():
        assert name not in found, f"{name} is listed twice"
        found[name] = getattr(importlib.import_module(module), name)
    return found
