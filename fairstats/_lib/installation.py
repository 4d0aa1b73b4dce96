"""What is installed: the version, the data and pages of the package, and its extras."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

__version__ = "0.1.0"

# Data and pages are next to the package in a checkout, and inside it in a wheel.
_PACKAGE = Path(__file__).resolve().parents[1]
#: Import names of libraries, if they differ from their names on the package index.
_IMPORTED_AS = {"quarto-cli": "quarto", "pyyaml": "yaml", "pypandoc-binary": "pypandoc"}
# Collections of other extras, and extras for development only.
_COLLECTIONS = ("all", "benchmarks", "dev")


def resource(*parts: str) -> Path:
    """Return the path of a file or folder that is shipped with the package."""
    # An installed package looks only inside itself: another package may have a folder `data`.
    installed = _PACKAGE / "_resources"
    path = (installed if installed.is_dir() else _PACKAGE.parent).joinpath(*parts)
    if path.exists():
        return path
    raise FileNotFoundError(f"{'/'.join(parts)} is not installed; reinstall fairstats")


def extra_of(module: str) -> str | None:
    """Name the extra that installs a module; None if no extra does.

    Examples
    --------
    >>> extra_of("bm25s"), extra_of("nltk.stem"), extra_of("json")
    ('retrieval', 'audit', None)
    """
    for name, extra in _requirements():
        if extra and name == module.partition(".")[0].lower():
            return extra
    return None


def _requirements() -> Iterator[tuple[str, str]]:
    """Yield the imported name of each requirement with its extra, which may be empty."""
    try:
        requirements = requires("fairstats") or []
    except PackageNotFoundError:
        return
    for requirement in requirements:
        found = re.match(r"([\w.-]+)[^;]*(?:; *extra *== *['\"](\w+)['\"])?$", requirement)
        if found is not None and found[2] not in _COLLECTIONS:
            name = _IMPORTED_AS.get(found[1].lower(), found[1].replace("-", "_"))
            yield name.lower(), found[2] or ""


def how_to_install(module: str) -> str | None:
    """Return how to install a missing module; None if fairstats does not require it.

    Examples
    --------
    >>> how_to_install("bm25s"), how_to_install("pypandoc"), how_to_install("json")
    ("install it: pip install 'fairstats[retrieval]'", 'install it: pip install fairstats', None)
    """
    if (extra := extra_of(module)) is not None:
        return f"install it: pip install 'fairstats[{extra}]'"
    required = {name for name, extra in _requirements() if not extra}
    known = module.partition(".")[0].lower() in required
    return "install it: pip install fairstats" if known else None
