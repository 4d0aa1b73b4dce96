"""Manage a site's folder: every release as published, and the files made from them.

    v/<release>/        a release; nothing in it changes
    latest/             pages that lead to those of the newest release
    api/latest/         the figures of the newest release as JSON
    releases.json       the releases, the oldest first, and by how many keys each was recomputed
    feed.xml            the releases as an Atom feed
    index.html          leads to the newest release
    signatures/, attestations/, keys/, attestations.json
                        see `fairstats.publishing.release_signatures`

Everything outside ``v/`` is made from ``v/`` and attestations.json, except for the signed files
themselves, and so can be made again and verified. attestations.json lists the signed files.
releases.json counts what is in the list, so that making it needs no cryptography; `fairstats
verify` compares the list with the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from fairstats._lib import atomic_files
from fairstats._lib.atomic_files import named_errors, unfinished_folder
from fairstats._lib.formatting import escape_html
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import json_text
from fairstats._lib.untrusted_files import checked, read_text, refuse_links
from fairstats.publishing.feed import FEED, atom_feed, release_entry
from fairstats.release.contents import MANIFEST, RELEASES, Release, is_release, releases_of
from fairstats.release.manifest import regular_files
from fairstats.report.site_settings import settings_of

LATEST, API = "latest", "api"
RELEASE_LIST = "releases.json"
_NO_JEKYLL = ".nojekyll"
#: Files for hosts of static sites, and the folder of the documentation. No release is in them.
_FOR_HOSTS = ("CNAME", "LICENSE", "README.md", "robots.txt")
_DOCS = "docs"
_OLD = ".old"
STATEMENT_LIST = "attestations.json"
SIGNATURES, ATTESTATIONS, KEYS = "signatures", "attestations", "keys"
#: Folders with signed files and public keys.
STATEMENT_FOLDERS = (SIGNATURES, ATTESTATIONS, KEYS)
_LARGEST_LIST = 8 << 20
_REMEDY = "remove it, and run `fairstats attestations` on the site"


def locked(site: Path) -> AbstractContextManager[None]:
    """Hold a site for one publication at a time; another on this machine waits for its end."""
    return atomic_files.locked(site, RELEASES, *STATEMENT_FOLDERS)


def assemble(site: Path) -> None:
    """Make all files of a site that follow from its releases, and remove any others.

    Notes
    -----
    Everything is first made in a temporary folder, which needs the space. Then ``latest/`` and
    ``api/`` replace the old ones by being renamed. If the disk is full, the site stays as it was.
    """
    if not check_site(site, intact=True).problems:
        return
    with unfinished_folder(site / "site") as building:
        for name, content in derived_files(site):
            path = building / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with named_errors(path):
                path.write_bytes(content)
        (building / _OLD).mkdir()
        for new in sorted(building.iterdir()):
            if new.name == _OLD:
                continue
            place = site / new.name
            if os.path.lexists(place) and (new.is_dir() or not place.is_file()):
                place.rename(building / _OLD / new.name)
            new.replace(place)


def derived_files(site: Path) -> Iterator[tuple[str, bytes]]:
    """Return every file made from the releases: its path below `site`, and its content."""
    releases = releases_of(site)
    if not releases:
        return
    newest = releases[-1]
    settings = settings_of(newest)
    pages = sorted((newest.path / "reports").rglob("*.html"))
    for path in [newest.path / "index.html", *pages]:
        page = path.relative_to(newest.path).as_posix()
        up = "../" * (page.count("/") + 1)
        yield f"{LATEST}/{page}", _redirect(settings.title, newest, page, up).encode()
    for path in filter(Path.is_file, sorted((newest.path / API).rglob("*"))):
        name = path.relative_to(newest.path / API).as_posix()
        yield f"{API}/{LATEST}/{name}", _for_api(path, name, newest)
    author = settings.publisher or settings.title
    entries = map(release_entry, releases)
    feed = atom_feed(entries, title=settings.title, author=author, rights=settings.licence)
    yield FEED, feed.encode()
    yield RELEASE_LIST, _release_list(site, releases).encode()
    yield "index.html", _redirect(settings.title, newest, "index.html", "").encode()
    # Stop GitHub Pages from running Jekyll.
    yield _NO_JEKYLL, b""


def _redirect(title: str, newest: Release, page: str, up: str) -> str:
    """Return a page that leads to a page of the newest release, from a folder `up` to the site."""
    address, name = escape_html(f"{up}{RELEASES}/{newest.name}/{page}"), escape_html(title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<link rel="canonical" href="{address}">
<meta http-equiv="refresh" content="0; url={address}">
</head>
<body><main>
<h1>{name}</h1>
<p>This page of the newest release is <a href="{address}">here</a>.</p>
</main></body>
</html>
"""


@dataclass(frozen=True)
class Verification:
    """Hold the result of verifying one release, or the files around the releases of a site.

    Attributes
    ----------
    path : Path
        The release, or the site around the releases.
    files : int
        The number of files that were hashed.
    rows : dict of str to int
        The number of recomputed rows of each table; empty for a site.
    problems : tuple of Problem
        Every file that differs from the manifest, and the first figure of each table that differs
        from the recomputed one. Also every file that the tables do not give or that could not be
        verified. Empty if the release is valid.
    notes : tuple of str
        The checks that were left out; for a site, also who signed and recomputed it.
    signed_by : tuple of str
        For a site, the ids of the keys in `trust` that signed its present state; for the PDF of a
        report, the sha256 of its signer's certificate if that is trusted.
    recomputed_by : tuple of str
        For a site, the ids of the keys that attest to have recomputed its present state. With
        `trust`, only those of trusted keys. Publishers of the site do not count.
    """

    path: Path
    files: int
    rows: dict[str, int]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    signed_by: tuple[str, ...] = ()
    recomputed_by: tuple[str, ...] = ()


def check_site(site: Path, *, intact: bool) -> Verification:
    """Compare the files around the releases with those that the releases give.

    If the releases are not `intact`, no files are made from them.
    """
    files, problems, foreign = _around(site)
    notes = [f"not checked: {', '.join(foreign)}"] if foreign else []
    for path in sorted((site / RELEASES).iterdir()):
        if path.name.startswith(".") or not is_release(path):
            problems.append(Problem(str(path), "is not part of the site", "remove it"))
    if not intact:
        notes.append("not checked: files outside the releases")
        return Verification(site, 0, {}, tuple(problems), tuple(notes))
    named = {problem.path for problem in problems}
    made = set()
    remedy = "publish again to rebuild it from the releases"
    try:
        count_witnesses(site, releases_of(site))
    except InputError as error:
        return Verification(site, 0, {}, (*problems, *error.problems), tuple(notes))
    for name, content in derived_files(site):
        made.add(name)
        if (file := files.get(name)) is not None:
            # It can have any size, so it is read only if it has that of the content.
            if file.stat().st_size != len(content) or file.read_bytes() != content:
                problems.append(Problem(str(site / name), "does not match the releases", remedy))
        elif str(site / name) not in named:
            problems.append(Problem(str(site / name), "is missing", remedy))
    for name in sorted(set(files) - made):
        problems.append(Problem(str(site / name), "is not part of the site", "remove it"))
    return Verification(site, len(made), {}, tuple(problems), tuple(notes))


def _around(site: Path) -> tuple[dict[str, Path], list[Problem], list[str]]:
    """List the regular files around the releases, other entries, and files for the host."""
    files: dict[str, Path] = {}
    problems, foreign = [], []
    for path in sorted(site.iterdir()):
        if path.name == RELEASES:
            continue
        hidden = path.name.startswith(".") and path.name != _NO_JEKYLL
        # A folder of this name would be a page, if it has an index.html.
        if hidden or path.name == _DOCS or (path.name in _FOR_HOSTS and not path.is_dir()):
            foreign.append(path.name)
        elif path.name in (LATEST, API) and path.is_dir() and not path.is_symlink():
            inside, others = regular_files(path)
            files |= {f"{path.name}/{name}": file for name, file in inside.items()}
            problems += others
        elif path.name in STATEMENT_FOLDERS and path.is_dir() and not path.is_symlink():
            continue  # read by `fairstats.publishing.release_signatures`
        elif path.is_file() and not path.is_symlink():
            if path.name != STATEMENT_LIST:
                files[path.name] = path
        else:
            problems.append(Problem(str(path), "is not part of the site", "remove it"))
    return files, problems, foreign


def _for_api(path: Path, name: str, release: Release) -> bytes:
    """Return a release's document as it is under ``api/``; the models' pages are in the release."""
    up = "../" * (name.count("/") + 1)
    here, there = f'"page": "{up}reports/', f'"page": "{up}../{RELEASES}/{release.name}/reports/'
    return path.read_bytes().replace(here.encode(), there.encode())


def _release_list(site: Path, releases: list[Release]) -> str:
    witnessed = count_witnesses(site, releases)
    entries = [
        {
            "release": release.name,
            "created_at": release.manifest["created_at"],
            "fairstats": release.manifest["fairstats"],
            "models": len(release.models),
            "path": f"{RELEASES}/{release.name}/index.html",
            "recomputed_by": witnessed[release.name],
        }
        for release in releases
    ]
    return json_text(entries)


def listed_releases(site: Path) -> list[str]:
    """Return the names of the releases that the site lists; none if the list cannot be read."""
    try:
        refuse_links([site / RELEASE_LIST])
        entries = json.loads(read_text(site / RELEASE_LIST, _LARGEST_LIST))
        return [str(entry["release"]) for entry in entries]
    except (InputError, OSError, ValueError, TypeError, KeyError, RecursionError):
        return []


def has_statements(site: Path) -> bool:
    """Check whether a site has signatures, attestations, keys or a list of them."""
    return any(os.path.lexists(site / name) for name in (*STATEMENT_FOLDERS, STATEMENT_LIST))


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


class _ListEntry(BaseModel):
    kind: str
    root: str
    keyid: str


_ENTRIES = TypeAdapter(list[_ListEntry])


def count_witnesses(site: Path, releases: Iterable[Release]) -> dict[str, int]:
    """Count the keys that attest each release as the newest of its time, by the site's list."""
    path = site / STATEMENT_LIST
    if not os.path.lexists(path):
        return {release.name: 0 for release in releases}
    refuse_links([path])
    text = read_text(path, _LARGEST_LIST)
    found = checked(_ENTRIES, text, path, "is not a list of attestations", _REMEDY)
    entries = [entry.model_dump() for entry in found]
    return {
        release.name: len(witnesses(entries, file_sha256(release.path / MANIFEST)))
        for release in releases
    }
