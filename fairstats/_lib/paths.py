"""Paths as callers give them: texts, or objects for paths."""

from __future__ import annotations

import os
from collections.abc import Iterable

AnyPath = str | os.PathLike[str]
Paths = AnyPath | Iterable[AnyPath]


def each_path(paths: Paths) -> list[AnyPath]:
    """Return one path or several as a list."""
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
