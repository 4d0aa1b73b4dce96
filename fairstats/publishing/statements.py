"""Make and read the statements that are signed about a site: in-toto, simple verification result.

A statement lists the manifest of every release, the oldest first, with its sha256. The last one is
the chain's root: it contains the hash of the manifest before it, and so on, and each manifest
contains the hash of every file of its release.

References: in-toto Statement v1 (https://github.com/in-toto/attestation, spec/v1/statement.md),
simple verification result (spec/predicates/svr.md), and the field `verifier.version` of SLSA's
verification summary (https://slsa.dev/spec/v1.1/verification_summary).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from fairstats._lib.problems import Problem
from fairstats._lib.safe_names import SHA256, canonical_json, file_sha256
from fairstats._lib.untrusted_json import parse_json
from fairstats._lib.version import __version__
from fairstats.release.contents import MANIFEST, RELEASES, Release, releases_of

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

_NAME = re.compile(rf"{RELEASES}/([0-9A-Za-z][0-9A-Za-z.-]{{0,40}})/{re.escape(MANIFEST)}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_VERSION = re.compile(r"[\w.+-]{1,64}")
_MOST_SUBJECTS = 10_000
#: How far another machine's clock may be ahead.
_CLOCKS = timedelta(days=1)


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

    Parameters
    ----------
    state : State
        The state that the caller verified: the statement only records that.
    kind : {"signature", "attestation"}
        What is stated.
    versions : mapping of str to str
        The versions of the software that verified the site.
    more : sequence of str
        Optional properties.
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


def read_statement(payload: bytes) -> Statement:
    """Read a statement from the payload of an envelope.

    Raises
    ------
    ValueError
        If it is not such a statement. The error contains no text of the payload.
    """
    found = parse_json(payload.decode())
    try:
        return _statement(found)
    except (AttributeError, LookupError, RecursionError, TypeError) as error:
        message = f"it does not have the layout of a statement ({type(error).__name__})"
        raise ValueError(message) from None


def _statement(found: Any) -> Statement:
    if found["_type"] != STATEMENT_TYPE:
        raise ValueError(f"_type is not {STATEMENT_TYPE}")
    if found["predicateType"] != PREDICATE_TYPE:
        raise ValueError(f"predicateType is not {PREDICATE_TYPE}")
    predicate = found["predicate"]
    verifier = predicate["verifier"]
    if not verifier["id"].startswith(_VERIFIER):
        raise ValueError(f"verifier.id does not begin with {_VERIFIER}")
    manifests = {}
    for name, digest in _digests(found["subject"], "subject").items():
        release = _NAME.fullmatch(name)
        if release is None:
            raise ValueError("a subject is not the manifest of a release")
        manifests[release[1]] = digest
    if not manifests:
        raise ValueError("it has no subject")
    properties = predicate["properties"]
    if not isinstance(properties, list) or not all(isinstance(one, str) for one in properties):
        raise ValueError("properties is not a list of texts")
    versions = verifier["version"]
    texts = [text for pair in versions.items() for text in pair]
    if not all(isinstance(text, str) and _VERSION.fullmatch(text) for text in texts):
        raise ValueError("version is not a table of versions")
    return Statement(
        kind=_kind(set(properties)),
        manifests=manifests,
        policies=_digests(verifier["policies"], "policies"),
        created=_time(predicate["timeCreated"]),
        properties=tuple(properties),
        versions=dict(versions),
    )


def _digests(entries: Any, what: str) -> dict[str, str]:
    if not isinstance(entries, list) or len(entries) > _MOST_SUBJECTS:
        raise ValueError(f"{what} is not a list of at most {_MOST_SUBJECTS:,} entries")
    found: dict[str, str] = {}
    for entry in entries:
        name, digest = entry["name"], entry["digest"]["sha256"]
        if not isinstance(name, str) or not SHA256.fullmatch(digest):
            raise ValueError(f"{what} has an entry without name or sha256")
        if name in found:
            raise ValueError(f"{what} has an entry twice")
        found[name] = digest
    return found


def _kind(properties: set[str]) -> Kind:
    """Return the kind of a statement with these properties; no set fits both kinds."""
    for kind, needed in PROPERTIES.items():
        if set(needed) <= properties <= {*needed, *_OPTIONAL[kind]}:
            return kind
    raise ValueError("its properties are not those of a signature or an attestation")


def _time(text: Any) -> datetime:
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise ValueError("timeCreated is not a time such as 2026-11-21T00:00:00Z")
    created = datetime.fromisoformat(text)
    if created > datetime.now(UTC) + _CLOCKS:
        raise ValueError(f"timeCreated is in the future ({text})")
    return created


def state_problems(
    statement: Statement, state: State, site: Path, *, path: Path, signer: str
) -> Iterator[Problem]:
    """Report how a site differs from the one that a statement is about.

    Parameters
    ----------
    statement : Statement
        A statement with a correct signature.
    state : State
        The site's state. Releases that were published after the statement do not matter.
    site : Path
        The site's folder, for the messages.
    path : Path
        The statement's file.
    signer : str
        Who signed it, for the messages.
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
