"""Judge the signatures of a site by the keys that its reader trusts.

The reader got these keys from somewhere else than the site: whoever can replace the site can
replace the keys in it too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Literal

from fairstats._lib.problems import InputError, Problem, first_of
from fairstats._lib.toml_files import Day, Table, must, parse, read_toml
from fairstats.publishing.keys import PublicKey, parse_public_key, read_public_key
from fairstats.publishing.signed_statements import (
    SignedStatement,
    entries_of,
    list_problems,
    read_statements,
)
from fairstats.publishing.statement_list import SIGNATURES, witnesses
from fairstats.publishing.statements import state_of

Role = Literal["publisher", "witness"]
_EXAMPLE = "docs/trust.md"


@dataclass(frozen=True)
class TrustedKey:
    """Hold a public key that the reader of a site trusts, or does not trust any more.

    Attributes
    ----------
    key : PublicKey
        The key.
    name : str
        Whose key it is.
    role : {"publisher", "witness"}
        A publisher may sign and attest; a witness may only attest.
    valid_from, valid_until : date or None
        The first and last day on which it may sign, by the date in the statement.
    revoked : date or None
        When it was revoked. From then on none of its signatures counts, whatever date they have:
        who has a stolen key can write any date.
    reason : str
        Why it was revoked.
    """

    key: PublicKey
    name: str
    role: Role = "publisher"
    valid_from: date | None = None
    valid_until: date | None = None
    revoked: date | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        """Return the name and the beginning of the id."""
        return f"{self.name} ({self.key.short})"

    def why_not(self, created: datetime) -> str | None:
        """Return why a statement of this date does not count; None if it does.

        Examples
        --------
        >>> from datetime import UTC
        >>> key = TrustedKey(PublicKey("0" * 64, ""), "Board", valid_until=date(2026, 12, 31))
        >>> key.why_not(datetime(2027, 1, 1, tzinfo=UTC))
        'on 2027-01-01, but this key was valid only until 2026-12-31'
        """
        on = created.date()
        if self.revoked is not None:
            why = f": {self.reason}" if self.reason else ""
            return f"but this key was revoked on {self.revoked}{why}"
        if self.valid_from is not None and on < self.valid_from:
            return f"on {on}, but this key is valid only from {self.valid_from}"
        if self.valid_until is not None and on > self.valid_until:
            return f"on {on}, but this key was valid only until {self.valid_until}"
        return None


@dataclass(frozen=True)
class Signers:
    """Hold who signed and who recomputed the present state of a site.

    Attributes
    ----------
    signed_by : tuple of str
        The ids of the trusted keys with a signature that counts.
    recomputed_by : tuple of str
        The ids of the keys with an attestation that counts; only trusted keys if there are any.
    problems, notes : tuple
        For the result of the verification.
    """

    signed_by: tuple[str, ...]
    recomputed_by: tuple[str, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def read_trusted(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> dict[str, TrustedKey]:
    """Read the keys that a reader trusts.

    Parameters
    ----------
    paths : path, or iterable of paths
        Public keys, or ``.toml`` files with names, periods and revocations of keys.

    Returns
    -------
    dict of str to TrustedKey
        By id.

    Raises
    ------
    InputError
        If a file is neither, or a key is in two of them.
    """
    found: dict[str, TrustedKey] = {}
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        file = Path(path)
        toml = file.suffix == ".toml"
        for one in _read_toml(file) if toml else [TrustedKey(read_public_key(file), file.stem)]:
            if one.key.id in found:
                message = f"contains key {one.key.short}, which was given before"
                # Of two entries, one may revoke the key and the other not.
                raise InputError([Problem(str(file), message, "give each key once")])
            found[one.key.id] = one
    return found


_Name = Annotated[
    str,
    must(
        lambda name: name.strip() and len(name) <= 100,
        "must have 1 to 100 characters",
        "name the holder of the key",
    ),
]


class _Key(Table):
    """A ``[[key]]``; see `TrustedKey`."""

    name: _Name
    public_key: str
    role: Role = "publisher"
    valid_from: Day | None = None
    valid_until: Day | None = None
    revoked: Day | None = None
    reason: str = ""


class _Keys(Table):
    key: Annotated[tuple[_Key, ...], must(bool, "lists no key", f"see {_EXAMPLE}")]


def _read_toml(path: Path) -> Iterator[TrustedKey]:
    for place, entry in enumerate(parse(_Keys, read_toml(path), path, example=_EXAMPLE).key):
        values = entry.model_dump(exclude={"public_key"})
        where = f"{path}: key[{place}].public_key"
        yield TrustedKey(parse_public_key(entry.public_key.encode(), where), **values)


def check_signers(site: Path, trusted: Mapping[str, TrustedKey]) -> Signers:
    """Check the signatures and attestations of a site with the keys that its reader trusts.

    Parameters
    ----------
    site : Path
        The site's folder, with releases that have readable manifests.
    trusted : mapping of str to TrustedKey
        The keys by id. Without any, the signatures are checked with the keys in the site, which
        shows only that the files match.

    Returns
    -------
    Signers
        With `trusted` keys it is a problem if none of them signed the present state.
    """
    keys = {keyid: one.key for keyid, one in trusted.items()}
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
        "publisher's: give theirs with --trust"
        for one in present
        if one in accepted or not trusted
    ]
    if trusted and not accepted:
        problems += _unsigned(site, signatures, present, trusted)
    counted, note = _witnesses(statements, state.root, trusted)
    return Signers(
        tuple(sorted({one.key.id for one in accepted})),
        tuple(counted),
        tuple(problems),
        (*notes, *note),
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
            f"releases up to {newest.statement.release}, but later ones are not signed"
        )
        return [Problem(str(site), message, "ask the publisher to sign the newest release")]
    problems = []
    for one in present:
        key = trusted.get(one.key.id)
        if key is None:
            message = f"is signed with key {one.key.short}, which is not trusted ({names})"
            remedy = "if the publisher announced this key elsewhere, give it with --trust"
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
        return found, [f"{note}list those that you know for --trust"] if found else []
    notes = []
    if known:
        labels = first_of([trusted[keyid].label for keyid in known], most=10)
        notes.append(f"recomputed by {len(known)}: {labels}")
    if unknown:
        keys = f"{len(unknown)} key{'s' if len(unknown) > 1 else ''}"
        notes.append(f"not counted: recomputations by {keys} that --trust does not list")
    return known, notes
