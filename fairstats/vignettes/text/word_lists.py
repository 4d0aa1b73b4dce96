"""Lists of words as they stand in the code, a line holding many."""

from __future__ import annotations


def word_list(text: str) -> tuple[str, ...]:
    """The words of a text that white space parts, in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words of a text that white space parts."""
    return frozenset(text.split())
