"""Read the signed statements of a site, and add new ones.

    signatures/<release>.<key>.json     the publisher's signatures
    attestations/<release>.<key>.json   recomputations by others
    keys/<key>.pub                      the public keys of both
    attestations.json                   the list of both

``<release>`` is the newest release that a statement covers, and ``<key>`` the first 16 digits of
the key's id. A key in ``keys/`` shows that its holder signed, but not who that is: see
`fairstats.publishing.trust`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.table_text import write_text
from fairstats._lib.untrusted_files import FileBytes, read_once
from fairstats.publishing.envelopes import (
    LARGEST_ENVELOPE,
    is_signed_by,
    key_id_of,
    read_envelope,
)
from fairstats.publishing.keys import PUBLIC, PublicKey, read_public_key
from fairstats.publishing.statement_list import (
    ATTESTATIONS,
    KEYS,
    SIGNATURES,
    STATEMENT_LIST,
    list_text,
)
from fairstats.publishing.statements import (
    Kind,
    State,
    Statement,
    read_statement,
    state_of,
    state_problems,
)

#: A board that is recomputed by ten others every week has as many after two years.
MOST_FILES = 1000
FOLDERS: dict[Kind, str] = {"signature": SIGNATURES, "attestation": ATTESTATIONS}
_NAMES = {
    SIGNATURES: re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,40}\.[0-9a-f]{16}\.json"),
    KEYS: re.compile(r"[0-9a-f]{16}\.pub"),
}
_NAMES[ATTESTATIONS] = _NAMES[SIGNATURES]
_REMOVE = "remove it"


@dataclass(frozen=True)
class SignedStatement:
    """Hold a statement with a correct signature, about releases that are in the site.

    Attributes
    ----------
    path : Path
        Its file.
    key : PublicKey
        The key that signed it.
    statement : Statement
        What is stated.
    """

    path: Path
    key: PublicKey
    statement: Statement

    @property
    def kind(self) -> Kind:
        """Return whether it is a publisher's signature or an attestation."""
        return self.statement.kind

    @property
    def root(self) -> str:
        """Return the sha256 of the newest manifest that it covers."""
        return self.statement.root

    @property
    def created(self) -> datetime:
        """Return when it was signed, as its signer states."""
        return self.statement.created

    @property
    def name(self) -> str:
        """Return its place in a site's folder."""
        folder, release = FOLDERS[self.kind], self.statement.release
        return f"{folder}/{release}.{self.key.short}.json"


def read_statements(
    site: Path, state: State, *, trusted: Mapping[str, PublicKey] | None = None
) -> tuple[list[SignedStatement], list[Problem]]:
    """Read every signed statement of a site and check its signature and its releases.

    Parameters
    ----------
    site : Path
        The site's folder.
    state : State
        Its present state, see `state_of`.
    trusted : mapping of str to PublicKey, optional
        Keys by id, in addition to those in the site.

    Returns
    -------
    list of SignedStatement
        Those without a problem, oldest first.
    list of Problem
        Files that are not such statements, have a wrong signature, or are about other releases.
    """
    keys, problems = _read_keys(site)
    keys |= trusted or {}
    found: list[SignedStatement] = []
    for kind, folder in FOLDERS.items():
        paths, others = _files(site, folder)
        problems += others
        for path in paths:
            try:
                one = read_signed(path, keys)
                if differences := _differences(one, state, site):
                    raise InputError(differences)
                _refuse_place(one, kind, path)
            except InputError as error:
                problems += error.problems
            else:
                found.append(one)
    return sorted(found, key=lambda one: (one.created, one.name)), problems


def read_signed(path: str | os.PathLike[str], keys: Mapping[str, PublicKey]) -> SignedStatement:
    """Read a signed statement, and check its signature with the key that it names.

    Raises
    ------
    InputError
        If it is not such a file, its key is not among `keys`, or the signature is wrong.
    """
    envelope = read_envelope(path)
    keyid = key_id_of(envelope)
    if keyid not in keys:
        message = f"names the key {keyid[:16]}, which is not in {KEYS}/"
        remedy = "get the public key from the same place as this file"
        raise InputError([Problem(str(path), message, remedy)])
    if not is_signed_by(envelope, keys[keyid]):
        message = f"was changed, or was not signed with the key {keyid[:16]} that it names"
        remedy = "get the file again from whoever signed it"
        raise InputError([Problem(str(path), message, remedy)])
    try:
        statement = read_statement(envelope.payload)
    except ValueError as error:
        message = f"is signed, but is not a statement about a site: {error}"
        raise InputError([Problem(str(path), message, _REMOVE)]) from None
    return SignedStatement(Path(path), keys[keyid], statement)


def _differences(one: SignedStatement, state: State, site: Path) -> list[Problem]:
    signer = f"key {one.key.short}"
    return list(state_problems(one.statement, state, site, path=one.path, signer=signer))


def _refuse_place(one: SignedStatement, kind: Kind, path: Path) -> None:
    """Refuse an attestation among the signatures, and a file under another name."""
    if one.kind != kind:
        message = f"is not one of the {FOLDERS[kind]}, but of the {FOLDERS[one.kind]}"
        raise InputError([Problem(str(path), message, f"move it to {one.name}")])
    if path.name != Path(one.name).name:
        message = f"is about release {one.statement.release}, signed with key {one.key.short}"
        raise InputError([Problem(str(path), message, f"rename it to {Path(one.name).name}")])


def _read_keys(site: Path) -> tuple[dict[str, PublicKey], list[Problem]]:
    """Read the public keys of a site, each of which must have its id as name."""
    paths, problems = _files(site, KEYS)
    keys = {}
    for path in paths:
        try:
            key = read_public_key(path)
        except InputError as error:
            problems += error.problems
            continue
        if path.name != f"{key.short}{PUBLIC}":
            message = f"is not the key of this name, but key {key.short}"
            remedy = "get the key again from its holder, and compare the id with them"
            problems.append(Problem(str(path), message, remedy))
            continue
        keys[key.id] = key
    return keys, problems


def _files(site: Path, folder: str) -> tuple[list[Path], list[Problem]]:
    """List the regular files of one of the folders, up to the limit."""
    place = site / folder
    if place.is_symlink():
        return [], [Problem(str(place), "is a link, which is not followed", _REMOVE)]
    if not place.is_dir():
        return [], []  # a file in its place is reported with the files of the site
    with os.scandir(place) as entries:
        listed = list(islice(entries, MOST_FILES + 1))
    if len(listed) > MOST_FILES:
        message = f"contains more than {MOST_FILES:,} files, and none of them was read"
        return [], [Problem(str(place), message, "remove those of older releases")]
    paths, problems = [], []
    for entry in sorted(listed, key=lambda entry: entry.name):
        path = place / entry.name
        if entry.is_symlink():
            problems.append(Problem(str(path), "is a link, which is not followed", _REMOVE))
        elif not entry.is_file(follow_symlinks=False) or not _NAMES[folder].fullmatch(entry.name):
            message = f"is not part of {folder}/"
            problems.append(Problem(str(path), message, _REMOVE))
        else:
            paths.append(path)
    return paths, problems


def entries_of(statements: Iterable[SignedStatement]) -> list[dict[str, Any]]:
    """Return the entries of the site's list, oldest first."""
    return [
        {
            "kind": one.kind,
            "path": one.name,
            "release": one.statement.release,
            "root": one.root,
            "keyid": one.key.id,
            "created": one.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "properties": list(one.statement.properties),
            "versions": one.statement.versions,
        }
        for one in statements
    ]


def list_problems(site: Path, statements: Iterable[SignedStatement]) -> list[Problem]:
    """Compare the site's list with its signed statements."""
    path, expected = site / STATEMENT_LIST, list_text(entries_of(statements)).encode()
    remedy = "run `fairstats attestations` on the site to write the list again"
    if not os.path.lexists(path):
        return [] if expected == b"[]\n" else [Problem(str(path), "is missing", remedy)]
    if path.is_symlink():
        return []  # reported with the files of the site
    try:
        if read_once(path, max(len(expected), LARGEST_ENVELOPE)).content == expected:
            return []
    except InputError as error:
        return list(error.problems)
    message = f"does not match the files in {SIGNATURES}/ and {ATTESTATIONS}/"
    return [Problem(str(path), message, remedy)]


def add_statements(
    site: Path, drafts: Iterable[FileBytes], keys: Iterable[PublicKey]
) -> list[SignedStatement]:
    """Write signed statements and their public keys into a site.

    Parameters
    ----------
    site : Path
        The site; the caller holds its lock.
    drafts : iterable of FileBytes
        The envelopes.
    keys : iterable of PublicKey
        Keys in addition to those in the site.

    Returns
    -------
    list of SignedStatement
        The new ones.

    Raises
    ------
    InputError
        If a statement is not correct, or is not about this site. Also if another statement of the
        site has a problem. Then no file is written.
    """
    state = state_of(site)
    refuse_problems(site, state)
    known = _read_keys(site)[0] | {key.id: key for key in keys}
    problems: list[Problem] = []
    files: dict[Path, bytes] = {}
    added = []
    for draft in drafts:
        one = read_signed(draft, known)
        problems += _differences(one, state, site)
        files[site / KEYS / f"{one.key.short}{PUBLIC}"] = one.key.pem.encode()
        files[site / one.name] = draft.content
        added.append(replace(one, path=site / one.name))
    if problems:
        raise InputError(problems)
    for path, content in files.items():
        with whole_file(path) as temporary:
            temporary.write_bytes(content)
    return added


def refuse_problems(site: Path, state: State) -> list[SignedStatement]:
    """Return the signed statements of a site; refuse one with a problem.

    Raises
    ------
    InputError
        For each problem.
    """
    statements, problems = read_statements(site, state)
    if problems:
        raise InputError(problems)
    return statements


def write_list(site: Path) -> list[SignedStatement]:
    """Write the list of a site's signed statements, and return them.

    Raises
    ------
    InputError
        If one of them has a problem. Then the list does not change.
    """
    statements = refuse_problems(site, state_of(site))
    with whole_file(site / STATEMENT_LIST) as temporary:
        write_text(list_text(entries_of(statements)), temporary)
    return statements
