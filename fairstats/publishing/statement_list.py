"""The list of a site's signatures and attestations, ``attestations.json``, and its line on pages.

The list is made from the signed files in `signatures/` and `attestations/`. Pages show what is in
the list, so that drawing them needs no cryptography; `fairstats verify` compares it with the files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairstats._lib.problems import laid_out
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import json_text
from fairstats._lib.untrusted_files import read_text, refuse_links
from fairstats._lib.untrusted_json import parse_json
from fairstats.release.contents import MANIFEST, Release

STATEMENT_LIST = "attestations.json"
SIGNATURES, ATTESTATIONS, KEYS = "signatures", "attestations", "keys"
#: Folders with signed files and public keys.
STATEMENT_FOLDERS = (SIGNATURES, ATTESTATIONS, KEYS)
_LARGEST_LIST = 8 << 20
_REMEDY = "remove it, and run `fairstats attestations` on the site"
# The place of a page's head that names the release.
_HEAD = re.compile(rb'(<span class="latest">.*?)(</span>)', re.DOTALL)


def has_statements(site: Path) -> bool:
    """Check whether a site has signatures, attestations, keys or a list of them."""
    return any(os.path.lexists(site / name) for name in (*STATEMENT_FOLDERS, STATEMENT_LIST))


def list_text(entries: Sequence[dict[str, Any]]) -> str:
    """Return the list as JSON."""
    return json_text(list(entries))


def witnesses(entries: Sequence[dict[str, Any]], root: str) -> list[str]:
    """Return the ids of the keys that attest a recomputation of the chain with this root.

    Each key counts once. Keys that sign as publisher of the site do not count: they are not
    independent of it.

    Examples
    --------
    >>> one = {"kind": "attestation", "root": "r", "keyid": "a"}
    >>> older, by_publisher = one | {"root": "q", "keyid": "b"}, one | {"keyid": "p"}
    >>> witnesses([one, one, older, by_publisher, by_publisher | {"kind": "signature"}], "r")
    ['a']
    """
    publishers = {entry["keyid"] for entry in entries if entry["kind"] == "signature"}
    found = {
        entry["keyid"]
        for entry in entries
        if entry["kind"] == "attestation" and entry["root"] == root
    }
    return sorted(found - publishers)


def count_witnesses(site: Path, newest: Release) -> int:
    """Count the keys that attest the newest release, by the site's list.

    Raises
    ------
    InputError
        If the list cannot be read.
    """
    path = site / STATEMENT_LIST
    if not path.exists() and not path.is_symlink():
        return 0
    refuse_links([path])
    with laid_out(path, "is not a list of attestations", _REMEDY):
        entries = parse_json(read_text(path, _LARGEST_LIST))
        return len(witnesses(entries, file_sha256(newest.path / MANIFEST)))


def with_witnesses(page: bytes, number: int, *, root: str) -> bytes:
    """Return a page with the number of independent recomputations next to the release's name.

    Parameters
    ----------
    page : bytes
        The page, as HTML.
    number : int
        The number of keys; if 0, the page does not change.
    root : str
        The site's folder, relative to the page.

    Examples
    --------
    >>> page = with_witnesses(b'<span class="latest">Release 2</span>', 3, root="../")
    >>> page.startswith(b'<span class="latest">Release 2'), page.endswith(b"by 3</a></span>")
    (True, True)
    """
    if not number:
        return page
    title = "Signed statements, one per key. `fairstats verify --trust` checks whose keys they are."
    link = f'<a href="{root}{STATEMENT_LIST}" title="{title}">recomputed by {number}</a>'
    line = f"\\1 · {link}\\2"
    return _HEAD.sub(line.encode(), page, count=1)
