"""Make and read ed25519 keys: a private one to sign with, and a public one to check with.

A key's id is the sha256 of its public part as DER (SubjectPublicKeyInfo, RFC 8410). Everyone can
compute it: ``openssl pkey -pubin -in NAME.pub -outform DER | sha256sum``.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from fairstats._lib.paths import AnyPath, Paths, each_path
from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.toml_files import Day, Table, must, parse, read_toml
from fairstats._lib.untrusted_files import read_once
from fairstats.release.contents import MANIFEST, RELEASES

#: The suffix of a public key.
PUBLIC = ".pub"
# A key is some hundred bytes.
_LARGEST_KEY = 16 << 10
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
#: The environment variable with the passphrase of a private key.
PASSPHRASE_VARIABLE = "FAIRSTATS_PASSPHRASE"


@dataclass(frozen=True)
class PublicKey:
    """Hold a public ed25519 key.

    Attributes
    ----------
    id : str
        The sha256 of the key as DER, in hexadecimal digits.
    pem : str
        The key as PEM.
    """

    id: str
    pem: str

    @property
    def short(self) -> str:
        """Return the first 16 digits of the id, for file names and messages."""
        return self.id[:16]

    @property
    def ed25519(self) -> Ed25519PublicKey:
        """Return the key as the cryptography library has it."""
        key = load_pem_public_key(self.pem.encode())
        assert isinstance(key, Ed25519PublicKey)
        return key


def create_key(out: AnyPath, *, passphrase: bytes | None = None) -> tuple[Path, PublicKey]:
    """Make a key pair: `out` with mode 0600, and `out`.pub.

    Raises
    ------
    InputError
        If one of the files exists, the passphrase is empty, or the place is inside a site. Then no
        file is written.

    Examples
    --------
    >>> import tempfile
    >>> file, key = create_key(Path(tempfile.mkdtemp()) / "board")
    >>> file.name, read_public_key(file) == key
    ('board.pub', True)
    """
    private, public = Path(out), Path(f"{os.fspath(out)}{PUBLIC}")
    refuse_in_site(private, "write it to a folder that is not published")
    if passphrase is not None and not passphrase:
        message, remedy = "is empty", "give a passphrase, or unset it for a key without one"
        raise input_error(PASSPHRASE_VARIABLE, message, remedy)
    remedy = "choose another name: a key is never overwritten"
    there = (path for path in (private, public) if os.path.lexists(path))
    refuse(Problem(str(path), "exists already", remedy) for path in there)
    made = Ed25519PrivateKey.generate()
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    secret = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    key = public_part(made.public_key())
    private.parent.mkdir(parents=True, exist_ok=True)
    _write_new(private, secret, 0o600)
    try:
        _write_new(public, key.pem.encode(), 0o644)
    except BaseException:
        private.unlink()
        raise
    return public, key


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that does not exist, with this mode from the beginning."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(content)
    except BaseException:
        path.unlink()
        raise


def read_private_key(path: AnyPath, *, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """Read a private key; no message contains a part of it.

    Raises
    ------
    InputError
        If it is not a private ed25519 key in PEM, others may read it, it is inside a site, or the
        passphrase is missing or wrong.
    """
    file = Path(path)
    content = read_once(file, _LARGEST_KEY).content
    wrong = partial(input_error, file)
    refuse_in_site(file, "move it to a folder that is not published, and use a new key")
    if b"PUBLIC KEY" in content:
        raise wrong("is a public key", f"give the private key, without {PUBLIC}")
    refuse_readable(file)
    try:
        key = load_pem_private_key(content, passphrase)
    except TypeError:
        if passphrase is None:
            raise wrong("is encrypted", f"set {PASSPHRASE_VARIABLE} to its passphrase") from None
        raise wrong("is not encrypted", f"unset {PASSPHRASE_VARIABLE}") from None
    except (ValueError, UnsupportedAlgorithm):
        message = "is not a private key in PEM"
        if passphrase is not None:
            message += ", or the passphrase is wrong"
        # The text of the error is left out: it comes from the content.
        raise wrong(message, "make a key with `fairstats keygen`") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise wrong("is not an ed25519 key", "make a key with `fairstats keygen`")
    return key


def read_public_key(path: AnyPath) -> PublicKey:
    """Read a public ed25519 key in PEM."""
    return parse_public_key(read_once(path, _LARGEST_KEY).content, str(path))


def parse_public_key(content: bytes, path: str) -> PublicKey:
    """Read a public key from the content of a file; `path` is for messages."""
    remedy = f"give the {PUBLIC} file that `fairstats keygen` wrote"
    if b"PRIVATE KEY" in content:
        raise input_error(path, "is a private key", f"keep it secret, and {remedy}")
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise input_error(path, "is not a public key in PEM", remedy) from None
    if not isinstance(key, Ed25519PublicKey):
        raise input_error(path, "is not an ed25519 key", remedy)
    found = public_part(key)
    # PEM readers skip text around a key; in a site it would be published.
    if content.decode(errors="replace").split() != found.pem.split():
        raise input_error(path, "contains more than a public key", remedy)
    return found


def public_part(key: Ed25519PublicKey) -> PublicKey:
    """Return a public key with its id."""
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return PublicKey(hashlib.sha256(der).hexdigest(), pem)


def refuse_readable(path: Path) -> None:
    """Refuse a secret file that other users of this machine can read."""
    if os.name == "posix" and path.stat().st_mode & _OTHERS:
        message = "can be read by other users of this machine"
        raise input_error(path, message, f"run chmod 600 {path.name}")


def refuse_in_site(path: Path, remedy: str) -> None:
    """Refuse a place in a site's folder, because all of that is published."""
    for folder in path.resolve().parents:
        if any((folder / RELEASES).glob(f"*/{MANIFEST}")):
            raise input_error(path, f"is inside the site {folder}, which is published", remedy)


def passphrase() -> bytes | None:
    """Return the passphrase of a private key; as an option, other users could read it.

    It is removed from the environment, because programs that draw pages would inherit it.
    """
    found = os.environ.pop(PASSPHRASE_VARIABLE, None)
    return None if found is None else os.fsencode(found)


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


def read_trusted(paths: Paths) -> dict[str, TrustedKey]:
    """Read the keys that a reader trusts, from public keys or ``.toml`` files, by their id.

    A ``.toml`` file has names, periods and revocations of keys.

    Raises
    ------
    InputError
        If a file is neither, or a key is in two of them.
    """
    found: dict[str, TrustedKey] = {}
    for path in each_path(paths):
        file = Path(path)
        toml = file.suffix == ".toml"
        for one in _read_toml(file) if toml else [TrustedKey(read_public_key(file), file.stem)]:
            if one.key.id in found:
                message = f"contains key {one.key.short}, which was given before"
                # Of two entries, one may revoke the key and the other not.
                raise input_error(file, message, "give each key once")
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
