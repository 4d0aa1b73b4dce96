"""Sign a site as its publisher, attest that it was recomputed, and add attestations of others."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fairstats._lib.installation import __version__
from fairstats._lib.paths import AnyPath, Paths
from fairstats._lib.problems import input_error, refuse
from fairstats._lib.untrusted_files import FileBytes, read_once
from fairstats.publishing.publish import library_versions
from fairstats.publishing.release_signatures import SignedStatement, add_statements, write_list
from fairstats.publishing.release_statements import (
    LARGEST_ENVELOPE,
    PAGES_PROPERTY,
    Kind,
    State,
    sign_payload,
    state_of,
    statement_payload,
)
from fairstats.publishing.signing_keys import (
    PUBLIC,
    public_part,
    read_private_key,
    read_public_key,
)
from fairstats.publishing.site_folder import Verification, assemble, locked
from fairstats.publishing.verify import hash_problems, site_releases, verify

# Libraries of extras that can read the answers or sign.
_OPTIONAL_LIBRARIES = ("cryptography", "duckdb", "securesystemslib")


@dataclass(frozen=True)
class Attested:
    """Hold the result of a verification, and the attestation if it succeeded."""

    found: list[Verification]
    path: Path | None


def sign(site: AnyPath, key: AnyPath, *, passphrase: bytes | None = None) -> Path:
    """Sign the present state of a site as its publisher.

    Returns
    -------
    Path
        The signature, ``signatures/<release>.<key>.json``. It is a DSSE envelope with an in-toto
        statement about the manifest of every release. The public key is added to ``keys/``.

    Raises
    ------
    InputError
        If a file of the site differs from its hash, or the chain of manifests has a gap. If the key
        cannot be used, or another signature or attestation has a problem. Then no file is written.

    Notes
    -----
    Signing the same releases again replaces the signature, with a new date. The figures are not
    recomputed: `fairstats verify` does that before, and `verify_and_attest` states it.
    """
    signer = read_private_key(key, passphrase=passphrase)
    folder = Path(site)
    refuse(hash_problems(folder))
    return _add(folder, "signature", state_of(folder), signer)


def verify_and_attest(
    site: AnyPath,
    key: AnyPath,
    *,
    passphrase: bytes | None = None,
    expect: str | None = None,
    after: str | None = None,
    trust: Paths = (),
    pages: bool = True,
) -> Attested:
    """Verify a site, and sign a statement that all of its figures were recomputed.

    The arguments are those of `sign` and `fairstats.verify`. Without `pages`, the statement does
    not cover pages and PDF. A site must not change while it is verified.

    Returns
    -------
    Attested
        The attestation is ``attestations/<release>.<key>.json``. It states the versions of the
        software that recomputed the figures. There is none if the verification has a problem.
    """
    signer = read_private_key(key, passphrase=passphrase)
    folder = Path(site)
    site_releases(folder)
    before = state_of(folder)
    found = verify(folder, expect=expect, after=after, trust=trust, pages=pages)
    if any(one.problems for one in found):
        return Attested(found, None)
    if state_of(folder) != before:
        raise input_error(folder, "changed while it was verified", "verify it again")
    more = (PAGES_PROPERTY,) if pages else ()
    return Attested(found, _add(folder, "attestation", before, signer, more))


def add_attestations(
    site: AnyPath, files: Iterable[str | os.PathLike[str]] = ()
) -> list[SignedStatement]:
    """Add signed statements of others to a site, and list all that it has.

    `files` are attestations (``.json``) and public keys (``.pub``) that are not yet in the site.

    Returns
    -------
    list of SignedStatement
        All signatures and attestations of the site, the oldest first. ``attestations.json`` and
        ``releases.json`` are made again.

    Raises
    ------
    InputError
        If a file is not a statement about this site with a correct signature, or one in the site
        has a problem. Then no file is written.
    """
    folder = Path(site)
    site_releases(folder)
    paths = [Path(path) for path in files]
    keys = [read_public_key(path) for path in paths if path.suffix == PUBLIC]
    drafts = [read_once(path, LARGEST_ENVELOPE) for path in paths if path.suffix != PUBLIC]
    with locked(folder):
        add_statements(folder, drafts, keys)
        return _list(folder)


def _add(
    site: Path, kind: Kind, state: State, signer: Ed25519PrivateKey, more: tuple[str, ...] = ()
) -> Path:
    """Sign a statement about this state, and add it to the site."""
    payload = statement_payload(state, kind, versions=_versions(), more=more)
    content = sign_payload(payload, signer).encode()
    with locked(site):
        (one,) = add_statements(
            site, [FileBytes(Path("<statement>"), content)], [public_part(signer.public_key())]
        )
        _list(site)
    return one.path


def _list(site: Path) -> list[SignedStatement]:
    """Write the list of a site's statements, and the pages that show their number."""
    statements = write_list(site)
    assemble(site)
    return statements


def _versions() -> dict[str, str]:
    """Return the versions of the software that recomputes a release."""
    versions = {"fairstats": __version__, "python": platform.python_version()}
    versions |= library_versions()
    for name in _OPTIONAL_LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
