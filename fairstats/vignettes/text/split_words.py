"""Lists of words in the code, with many words per line."""

from __future__ import annotations


def word_list(text: str) -> tuple[str, ...]:
    """Return the words of a text, split at white space, in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """Return the set of words of a text, split at white space."""
    return frozenset(text.split())
