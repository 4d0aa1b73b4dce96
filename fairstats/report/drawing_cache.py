"""Drawings that were made before: a plot is drawn again only when its data or code changed."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pandas as pd

#: The folder of stored drawings; empty to store none. By default in the user's cache.
CACHE_VARIABLE = "FAIRSTATS_CACHE"
_DRAWN_BY = ("matplotlib", "plotnine", "pandas", "numpy")


def drawn_once(parts: Iterable[pd.DataFrame | str], draw: Callable[[], str]) -> str:
    """Return the drawing of these parts: the stored one, or a new one that is then stored.

    Parameters
    ----------
    parts : iterable of DataFrame and str
        Everything that the drawing depends on, except this package's code and the drawing
        libraries, which are added here.
    draw : callable
        Returns the drawing, as SVG text.

    Notes
    -----
    A drawing is stored under the hash of its parts, as text, written whole or not at all. If the
    folder cannot be written, the drawing is made but not stored.
    """
    folder = _folder()
    if folder is None:
        return draw()
    digest = hashlib.sha256(_code().encode())
    for part in parts:
        text = part if isinstance(part, str) else part.to_csv(index=False)
        digest.update(f"{len(text)}:{text}".encode())
    path = folder / f"{digest.hexdigest()}.svg"
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8")
    drawing = draw()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        temporary.write_text(drawing, encoding="utf-8")
        temporary.replace(path)
    return drawing


def _folder() -> Path | None:
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    import pooch

    return Path(pooch.os_cache("fairstats")) / "drawings"


@cache
def _code() -> str:
    """Return a hash of the drawing code, and the versions of its libraries."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    return digest + "".join(importlib.metadata.version(name) for name in _DRAWN_BY)
