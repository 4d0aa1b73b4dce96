"""Certificates of people who sign reports, made for one test run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509.oid import NameOID

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Person:
    """A private key and the certificate for it."""

    key: Any
    certificate: x509.Certificate

    @property
    def fingerprint(self) -> str:
        return self.certificate.fingerprint(SHA256()).hex()

    def pem(self, path: Path) -> Path:
        """Write the certificate."""
        path.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        return path

    def p12(self, path: Path, passphrase: bytes | None = None, *, chain: Any = ()) -> Path:
        """Write key and certificate, readable by their owner only."""
        return write_p12(path, self.key, self.certificate, passphrase, chain=chain)


def write_p12(
    path: Path, key: Any, certificate: Any, passphrase: bytes | None = None, *, chain: Any = ()
) -> Path:
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    path.write_bytes(serialize_key_and_certificates(None, key, certificate, chain, encryption))
    path.chmod(0o600)
    return path


def make_person(
    name: str,
    *,
    issuer: Person | None = None,
    key: Any = None,
    start: datetime = NOW - DAY,
    end: datetime = NOW + 365 * DAY,
    usage: str | None = None,
    issues: bool = False,
) -> Person:
    """Make a key and a certificate, by default signed with the same key.

    `usage` is the only usage that the certificate allows. With `issues`, it may sign others.
    """
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=issues, path_length=None), critical=True)
    )
    if usage:
        builder = builder.add_extension(key_usage(usage), critical=True)
    signer = issuer.key if issuer else key
    algorithm = None if "Ed25519" in type(signer).__name__ else SHA256()
    return Person(key, builder.sign(signer, algorithm))


def key_usage(only: str) -> x509.KeyUsage:
    names = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
        "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    assert only in names
    return x509.KeyUsage(**{name: name == only for name in names})
