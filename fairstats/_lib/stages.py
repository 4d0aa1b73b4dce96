"""The stages of a long task, told to whoever watches it."""

from __future__ import annotations

from collections.abc import Callable

#: Called with a stage's name, the number of its parts that are done, and of all (0 if unknown).
Watch = Callable[[str, int, int], None]


def unwatched(stage: str, done: int = 0, parts: int = 0) -> None:
    """Take no notice of a stage."""
