"""The signatures and attestations of a site: read, judged by trusted keys, and added.

    signatures/<release>.<key>.json     the publisher's signatures
    attestations/<release>.<key>.json   recomputations by others
    keys/<key>.pub                      the public keys of both
    attestations.json                   the list of both

``<release>`` is the newest release that a statement covers, and ``<key>`` the first 16 digits of
the key's id. A key in ``keys/`` shows that its holder signed, but not who that is. The reader gets
the keys to trust from somewhere else: whoever can replace the site can replace the keys in it too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import (
    InputError,
    Problem,
    collected,
    first_of,
    input_error,
    keyword,
    refuse,
)
from fairstats._lib.table_text import json_text, write_text
from fairstats._lib.untrusted_files import FileBytes, read_once
from fairstats.publishing.release_statements import (
    LARGEST_ENVELOPE,
    Kind,
    State,
    Statement,
    read_statement,
    signed_payload,
    state_of,
    state_problems,
)
from fairstats.publishing.signing_keys import (
    PUBLIC,
    PublicKey,
    TrustedKey,
    read_public_key,
)
from fairstats.publishing.site_folder import (
    ATTESTATIONS,
    KEYS,
    SIGNATURES,
    STATEMENT_LIST,
    Verification,
    witnesses,
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
class SignedStatement(Statement):
    """Hold a statement with a correct signature, about releases that are in the site."""

    path: Path
    key: PublicKey

    @property
    def name(self) -> str:
        """Return its place in a site's folder."""
        return f"{FOLDERS[self.kind]}/{self.release}.{self.key.short}.json"


def read_statements(
    site: Path, state: State, *, trusted: Mapping[str, PublicKey] | None = None
) -> tuple[list[SignedStatement], list[Problem]]:
    """Read every signed statement of a site and check its signature and its releases.

    `trusted` are keys by id, in addition to those in the site.

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
            with collected(problems):
                one = read_signed(path, keys)
                refuse(_differences(one, state, site))
                _refuse_place(one, kind, path)
                found.append(one)
    return sorted(found, key=lambda one: (one.created, one.name)), problems


def read_signed(path: AnyPath, keys: Mapping[str, PublicKey]) -> SignedStatement:
    """Read a signed statement, and check its signature with the key that it names."""
    key, payload = signed_payload(path, keys)
    return SignedStatement(**vars(read_statement(payload, path)), path=Path(path), key=key)


def _differences(one: SignedStatement, state: State, site: Path) -> list[Problem]:
    signer = f"key {one.key.short}"
    return list(state_problems(one, state, site, path=one.path, signer=signer))


def _refuse_place(one: SignedStatement, kind: Kind, path: Path) -> None:
    """Refuse an attestation among the signatures, and a file under another name."""
    if one.kind != kind:
        message = f"is not one of the {FOLDERS[kind]}, but of the {FOLDERS[one.kind]}"
        raise input_error(path, message, f"move it to {one.name}")
    if path.name != Path(one.name).name:
        message = f"is about release {one.release}, signed with key {one.key.short}"
        raise input_error(path, message, f"rename it to {Path(one.name).name}")


def _read_keys(site: Path) -> tuple[dict[str, PublicKey], list[Problem]]:
    """Read the public keys of a site, each of which must have its id as name."""
    paths, problems = _files(site, KEYS)
    keys = {}
    for path in paths:
        with collected(problems):
            key = read_public_key(path)
            if path.name != f"{key.short}{PUBLIC}":
                message = f"is not the key of this name, but key {key.short}"
                remedy = "get the key again from its holder, and compare the id with them"
                raise input_error(path, message, remedy)
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
            "release": one.release,
            "root": one.root,
            "keyid": one.key.id,
            "created": one.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "properties": list(one.properties),
            "versions": one.versions,
        }
        for one in statements
    ]


def list_problems(site: Path, statements: Iterable[SignedStatement]) -> list[Problem]:
    """Compare the site's list with its signed statements."""
    path, expected = site / STATEMENT_LIST, json_text(entries_of(statements)).encode()
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

    The caller holds the site's lock. `drafts` are the envelopes, and `keys` those in addition
    to the site's.

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
    refuse(problems)
    for path, content in files.items():
        with whole_file(path) as temporary:
            temporary.write_bytes(content)
    return added


def refuse_problems(site: Path, state: State) -> list[SignedStatement]:
    """Return the signed statements of a site; refuse one with a problem."""
    statements, problems = read_statements(site, state)
    refuse(problems)
    return statements


def write_list(site: Path) -> list[SignedStatement]:
    """Write the list of a site's signed statements, and return them, unless one has a problem."""
    statements = refuse_problems(site, state_of(site))
    with whole_file(site / STATEMENT_LIST) as temporary:
        write_text(json_text(entries_of(statements)), temporary)
    return statements


def check_signers(checked: Verification, trusted: Mapping[str, TrustedKey]) -> Verification:
    """Check the signatures and attestations of a site, too, with the keys that its reader trusts.

    With `trusted` keys it is a problem if none of them signed the present state. Without any, the
    signatures are checked with the keys in the site, which shows only that the files match.
    """
    site, keys = checked.path, {keyid: one.key for keyid, one in trusted.items()}
    state = state_of(site)
    statements, problems = read_statements(site, state, trusted=keys)
    problems += list_problems(site, statements)
    signatures = [one for one in statements if one.kind == "signature"]
    present = [one for one in signatures if one.root == state.root]
    accepted = [one for one in present if _accepted(one, trusted)]
    notes = [
        f"signed by {trusted[one.key.id].label} on {one.created.date()}"
        if one in accepted
        else f"signed with key {one.key.short} on {one.created.date()}; compare this key with the "
        f"publisher's: give theirs with {keyword('trust')}"
        for one in present
        if one in accepted or not trusted
    ]
    if trusted and not accepted:
        problems += _unsigned(site, signatures, present, trusted)
    counted, note = _witnesses(statements, state.root, trusted)
    return replace(
        checked,
        problems=(*checked.problems, *problems),
        notes=(*checked.notes, *notes, *note),
        signed_by=tuple(sorted({one.key.id for one in accepted})),
        recomputed_by=tuple(counted),
    )


def _accepted(one: SignedStatement, trusted: Mapping[str, TrustedKey]) -> bool:
    """Check whether a publisher whom the reader trusts made this signature."""
    key = trusted.get(one.key.id)
    return key is not None and key.role == "publisher" and key.why_not(one.created) is None


def _unsigned(
    site: Path,
    signatures: list[SignedStatement],
    present: list[SignedStatement],
    trusted: Mapping[str, TrustedKey],
) -> list[Problem]:
    """Report why a site does not count as signed."""
    names = first_of([one.label for one in trusted.values()])
    ask = "get the signed site from its publisher"
    if not signatures:
        what = "has no valid signature" if any((site / SIGNATURES).glob("*")) else "is not signed"
        return [Problem(str(site), f"{what} (trusted: {names})", ask)]
    if not present:
        newest = signatures[-1]
        message = (
            f"was changed since it was signed: the last signature ({newest.path.name}) covers the "
            f"releases up to {newest.release}, but later ones are not signed"
        )
        return [Problem(str(site), message, "ask the publisher to sign the newest release")]
    problems = []
    for one in present:
        key = trusted.get(one.key.id)
        if key is None:
            message = f"is signed with key {one.key.short}, which is not trusted ({names})"
            remedy = "if the publisher announced this key elsewhere, give it with "
            remedy += keyword("trust")
        elif why := key.why_not(one.created):
            message = f"is signed by {key.label}, {why}"
            remedy = "ask the publisher to sign the site with a valid key"
        else:
            message = f"is signed by {key.label}, a witness, who cannot sign for the publisher"
            remedy = ask
        problems.append(Problem(str(one.path), message, remedy))
    return problems


def _witnesses(
    statements: list[SignedStatement], root: str, trusted: Mapping[str, TrustedKey]
) -> tuple[list[str], list[str]]:
    """Return the keys that recomputed the present state, and a note about them."""
    attested = [one for one in statements if one.kind == "attestation"]
    revoked = {
        one.path
        for one in attested
        if one.key.id in trusted and trusted[one.key.id].why_not(one.created) is not None
    }
    kept = [one for one in statements if one.path not in revoked]
    found = witnesses(entries_of(kept), root)
    known = [keyid for keyid in found if keyid in trusted]
    unknown = [keyid[:16] for keyid in found if keyid not in trusted]
    if not trusted:
        note = f"recomputed by {len(found)}: {first_of(unknown)}; anyone can make a key, so "
        return found, [f"{note}give those that you know with {keyword('trust')}"] if found else []
    notes = []
    if known:
        labels = first_of([trusted[keyid].label for keyid in known], most=10)
        notes.append(f"recomputed by {len(known)}: {labels}")
    if unknown:
        keys = f"{len(unknown)} key{'s' if len(unknown) > 1 else ''}"
        notes.append(f"not counted: recomputations by {keys} not given with {keyword('trust')}")
    return known, notes
