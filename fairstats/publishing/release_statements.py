"""What is signed about the releases of a site: in-toto statements in DSSE envelopes.

A statement (in-toto, simple verification result) lists the manifest of every release, the oldest
first, with its sha256. The last one is the chain's root: it contains the hash of the manifest
before it, and so on, and each manifest contains the hash of every file of its release.

References: in-toto Statement v1 (https://github.com/in-toto/attestation, spec/v1/statement.md),
simple verification result (spec/predicates/svr.md), the field `verifier.version` of SLSA's
verification summary (https://slsa.dev/spec/v1.1/verification_summary), and DSSE 1.0
(https://github.com/secure-systems-lab/dsse).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, TypeAdapter
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import (  # type: ignore[attr-defined]
    CryptoSigner,
    Signature,
    SSlibKey,
)

from fairstats._lib.installation import __version__
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error
from fairstats._lib.safe_names import SHA256, canonical_json, file_sha256
from fairstats._lib.table_text import json_text
from fairstats._lib.untrusted_files import checked, read_text
from fairstats.publishing.signing_keys import PublicKey, public_part
from fairstats.publishing.site_folder import KEYS
from fairstats.release.contents import MANIFEST, RELEASES, Release, releases_of
from fairstats.release.manifest import RELEASE_NAME

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/svr/v0.2"
_VERIFIER = "https://github.com/fairstats/fairstats/verify@"

Kind = Literal["signature", "attestation"]

_HASHES = "FAIRSTATS_HASHES_MATCH"
_CHAIN = "FAIRSTATS_CHAIN_LINKED"
_FIGURES = "FAIRSTATS_FIGURES_RECOMPUTED"
#: Only for attestations, if the pages and the PDF were drawn again.
PAGES_PROPERTY = "FAIRSTATS_PAGES_REDRAWN"
# A publisher's signature and an attestation state different things. Without this property, a copy
# of an attestation among the signatures would pass as one.
_PUBLISHED = "FAIRSTATS_PUBLISHED_BY_SIGNER"
#: The properties that each kind of statement must have.
PROPERTIES: dict[Kind, tuple[str, ...]] = {
    "signature": (_HASHES, _CHAIN, _PUBLISHED),
    "attestation": (_HASHES, _FIGURES, _CHAIN),
}
_OPTIONAL: dict[Kind, tuple[str, ...]] = {"signature": (), "attestation": (PAGES_PROPERTY,)}

_MOST_SUBJECTS = 10_000
#: How far another machine's clock may be ahead.
_CLOCKS = timedelta(days=1)
#: A statement about a hundred releases takes some tens of kilobytes.
LARGEST_ENVELOPE = 1 << 20


@dataclass(frozen=True)
class Statement:
    """Hold a statement about the releases of a site.

    Attributes
    ----------
    kind : {"signature", "attestation"}
        Whether its properties are those of a publisher's signature or of a recomputation.
    manifests : dict of str to str
        The sha256 of each release's manifest, by the release's name, the oldest first.
    policies : dict of str to str
        The sha256 of each release's benchmark declarations, by path.
    created : datetime
        When it was signed, as its signer states.
    properties : tuple of str
        What was verified.
    versions : dict of str to str
        The versions of the software that verified it.
    """

    kind: Kind
    manifests: dict[str, str]
    policies: dict[str, str]
    created: datetime
    properties: tuple[str, ...]
    versions: dict[str, str]

    @property
    def release(self) -> str:
        """Return the newest release that the statement covers."""
        return list(self.manifests)[-1]

    @property
    def root(self) -> str:
        """Return the sha256 of the newest manifest that the statement covers."""
        return self.manifests[self.release]


@dataclass(frozen=True)
class State:
    """Hold the state of a site that statements are about.

    Attributes
    ----------
    manifests : dict of str to str
        The sha256 of each release's manifest, by the release's name, the oldest first.
    policies : dict of str to dict
        For each release, the sha256 of its benchmark declarations by path.
    published : dict of str to datetime
        When each release was published, by its manifest.
    """

    manifests: dict[str, str]
    policies: dict[str, dict[str, str]]
    published: dict[str, datetime]

    @property
    def root(self) -> str:
        """Return the sha256 of the newest manifest."""
        return list(self.manifests.values())[-1]

    def first(self, number: int) -> dict[str, str]:
        """Return the benchmark declarations of the first releases, up to this number."""
        return {
            path: digest
            for name in list(self.manifests)[:number]
            for path, digest in self.policies[name].items()
        }


def state_of(site: Path) -> State:
    """Return the hashes of a site's manifests and benchmark declarations."""
    releases = {release.path.name: release for release in releases_of(site)}
    manifests = {name: file_sha256(one.path / MANIFEST) for name, one in releases.items()}
    policies = {
        name: {f"{RELEASES}/{name}/{path}": digest for path, digest in _declarations(one)}
        for name, one in releases.items()
    }
    published = {name: one.created_at.to_pydatetime() for name, one in releases.items()}
    return State(manifests, policies, published)


def _declarations(release: Release) -> Iterator[tuple[str, str]]:
    for name, digest in sorted(release.manifest["files"].items()):
        if name.startswith("benchmarks/") and name.endswith(".toml"):
            yield name, digest


def statement_payload(
    state: State, kind: Kind, *, versions: Mapping[str, str], more: Sequence[str] = ()
) -> bytes:
    """Return a statement about all releases of a site, as canonical JSON.

    The caller verified the state with these `versions` of the software: the statement only
    records that. `more` are optional properties.
    """
    subject = [
        {"name": f"{RELEASES}/{name}/{MANIFEST}", "digest": {"sha256": digest}}
        for name, digest in state.manifests.items()
    ]
    policies = state.first(len(state.manifests))
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": subject,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "verifier": {
                "id": f"{_VERIFIER}{__version__}",
                "version": dict(versions),
                "policies": [
                    {"name": name, "digest": {"sha256": digest}}
                    for name, digest in policies.items()
                ],
            },
            "timeCreated": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "properties": [*PROPERTIES[kind], *more],
        },
    }
    return canonical_json(statement).encode()


_Sha256 = Annotated[str, Field(pattern=f"^{SHA256.pattern}$")]
_Version = Annotated[str, Field(pattern=r"^[\w.+-]{1,64}$")]


class _Digest(BaseModel):
    sha256: _Sha256


class _Entry(BaseModel):
    name: str
    digest: _Digest


def _distinct(entries: list[_Entry]) -> list[_Entry]:
    if len({entry.name for entry in entries}) < len(entries):
        raise ValueError("has an entry twice")
    return entries


class _Manifest(_Entry):
    name: Annotated[
        str, Field(pattern=rf"^{RELEASES}/{RELEASE_NAME.pattern}/{re.escape(MANIFEST)}$")
    ]


class _Verifier(BaseModel):
    id: Annotated[str, Field(pattern=f"^{re.escape(_VERIFIER)}")]
    version: dict[_Version, _Version]
    policies: Annotated[list[_Entry], Field(max_length=_MOST_SUBJECTS), AfterValidator(_distinct)]


def _past(text: str) -> str:
    if datetime.fromisoformat(text) > datetime.now(UTC) + _CLOCKS:
        raise ValueError("is in the future")
    return text


def _kind(properties: Sequence[str]) -> Kind:
    """Return the kind of a statement with these properties; no set fits both kinds."""
    for kind, needed in PROPERTIES.items():
        if set(needed) <= set(properties) <= {*needed, *_OPTIONAL[kind]}:
            return kind
    raise ValueError("are not those of a signature or an attestation")


def _of_a_kind(properties: list[str]) -> list[str]:
    _kind(properties)
    return properties


class _Predicate(BaseModel):
    verifier: _Verifier
    timeCreated: Annotated[
        str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), AfterValidator(_past)
    ]
    properties: Annotated[list[str], AfterValidator(_of_a_kind)]


class _Layout(BaseModel):
    """The layout of a statement; readers of in-toto ignore other entries."""

    type_: Literal[STATEMENT_TYPE] = Field(alias="_type")  # type: ignore[valid-type]
    predicateType: Literal[PREDICATE_TYPE]  # type: ignore[valid-type]
    subject: Annotated[
        list[_Manifest], Field(min_length=1, max_length=_MOST_SUBJECTS), AfterValidator(_distinct)
    ]
    predicate: _Predicate


_LAYOUT = TypeAdapter(_Layout)


def read_statement(payload: bytes, path: AnyPath) -> Statement:
    """Read a statement from the payload of an envelope; `path` is for messages.

    Raises
    ------
    InputError
        If it is not such a statement. The message contains no text of the payload.
    """
    message = "is signed, but is not a statement about a site"
    found = checked(_LAYOUT, payload, path, message, "remove it")
    predicate = found.predicate
    return Statement(
        kind=_kind(predicate.properties),
        manifests={Path(one.name).parts[1]: one.digest.sha256 for one in found.subject},
        policies={one.name: one.digest.sha256 for one in predicate.verifier.policies},
        created=datetime.fromisoformat(predicate.timeCreated),
        properties=tuple(predicate.properties),
        versions=predicate.verifier.version,
    )


def state_problems(
    statement: Statement, state: State, site: Path, *, path: Path, signer: str
) -> Iterator[Problem]:
    """Report how a site differs from the one that a statement is about.

    The statement has a correct signature, by `signer`. Releases that were published after it do
    not matter.
    """
    there, signed = state.manifests, statement.manifests
    when = f"{signer} signed on {statement.created.date()}"
    again = "download the site again from where it was published"
    differ = [name for name in signed if there.get(name) != signed[name]]
    for name in differ:
        folder = site / RELEASES / name
        if name in there:
            message = f"is not the manifest that {when} ({path.name})"
            yield Problem(str(folder / MANIFEST), message, again)
        else:
            message = f"is missing: release {name} is in the site that {when} ({path.name})"
            yield Problem(str(folder), message, again)
    if differ:
        return
    if list(there)[: len(signed)] != list(signed):
        message = f"does not list the oldest releases of this site in their order, as {when}"
        yield Problem(str(path), message, again)
    elif statement.policies != state.first(len(signed)):
        message = "does not name the benchmark declarations of its releases"
        yield Problem(str(path), message, "ask its signer to sign the site again")
    elif statement.created + _CLOCKS < state.published[statement.release]:
        # So a key that is not valid any more cannot be used with an old date for a new release.
        message = f"is dated {statement.created.date()}, before release {statement.release}"
        yield Problem(str(path), message, "ask its signer to sign the site again")


def sign_payload(payload: bytes, key: Ed25519PrivateKey) -> str:
    """Return a DSSE envelope with this payload and one signature, as JSON."""
    public = SSlibKey.from_crypto(key.public_key(), keyid=public_part(key.public_key()).id)
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key, public))
    return json_text(envelope.to_dict())


def _decoded(text: object) -> bytes:
    """Decode base64; the library would skip characters that are not part of it."""
    if not isinstance(text, str):
        raise ValueError("is not a text")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError("is not base64") from None


_Base64 = Annotated[bytes, BeforeValidator(_decoded)]


# DSSE lets readers ignore other entries. Nobody signed those, so they are refused here.
class _Signature(BaseModel, extra="forbid"):
    keyid: _Sha256
    sig: Annotated[_Base64, Field(min_length=64, max_length=64)]


class _Envelope(BaseModel, extra="forbid"):
    payload: _Base64
    payloadType: Literal[PAYLOAD_TYPE]  # type: ignore[valid-type]
    # DSSE allows several. With one per file, each signer adds a file and changes no other.
    signatures: Annotated[list[_Signature], Field(min_length=1, max_length=1)]


_ENVELOPE = TypeAdapter(_Envelope)


def signed_payload(path: AnyPath, keys: Mapping[str, PublicKey]) -> tuple[PublicKey, bytes]:
    """Read an envelope, and check its signature with the key that it names.

    Raises
    ------
    InputError
        If the file is too large, not UTF-8 or not an envelope, or has another type of payload, or
        does not have exactly one signature. If its key is not among `keys`, or the signature is
        wrong. If it is not written as `sign_payload` does.
    """
    message = "is not a signed statement of fairstats"
    remedy = "get the file again from whoever signed it, or remove it"
    text = read_text(path, LARGEST_ENVELOPE)
    found = checked(_ENVELOPE, text, path, message, remedy)
    (signature,) = found.signatures
    keyid = signature.keyid
    if keyid not in keys:
        message = f"names the key {keyid[:16]}, which is not in {KEYS}/"
        raise input_error(path, message, "get the public key from the same place as this file")
    public = SSlibKey.from_crypto(keys[keyid].ed25519, keyid=keyid)
    signed = Signature(keyid, signature.sig.hex())
    envelope = Envelope(found.payload, PAYLOAD_TYPE, {keyid: signed})
    try:
        public.verify_signature(signed, envelope.pae())
    except UnverifiedSignatureError:
        message = f"was changed, or was not signed with the key {keyid[:16]} that it names"
        raise input_error(path, message, "get the file again from whoever signed it") from None
    # Nobody signed the spaces, or the unused bits of base64.
    if text != json_text(envelope.to_dict()):
        message = "is not written as fairstats writes it: it has other spaces, or another base64"
        raise input_error(path, message, remedy)
    return keys[keyid], found.payload
