"""File names for names that come from outside, and hashes of files."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path


def slug(name: str) -> str:
    """A file name for a name: readable, and its own for every name but for case.

    A name that the readable part does not determine gets a piece of its hash, so that adding a
    model does not move another's page.

    Examples
    --------
    >>> slug("GPT-4.1"), slug("a/../b") != slug("a-b")
    ('gpt-4.1', True)
    """
    readable = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60]
    # Names of letters, digits, dots and single hyphens come out as themselves but for case.
    plain = re.fullmatch(r"[A-Za-z0-9]+([.-][A-Za-z0-9]+)*", name) and len(name) <= 60
    if plain:
        return readable
    return f"{readable or 'name'}-{digest(name)}"


def digest(name: str) -> str:
    """Eight hexadecimal digits that stand for a name."""
    return text_sha256(name)[:8]


def text_sha256(text: str) -> str:
    """The sha256 of a text as UTF-8, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """The sha256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unique_slugs(names: Iterable[str]) -> dict[str, str]:
    """A file name for each of these names; those that differ by case alone get their digests.

    Some file systems, and readers, do not tell such names apart.
    """
    slugs = {name: slug(name) for name in names}
    shared = {text for text, count in Counter(slugs.values()).items() if count > 1}
    return {n: f"{text}-{digest(n)}" if text in shared else text for n, text in slugs.items()}
