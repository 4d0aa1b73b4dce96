"""Sign the PDF of an audit report (PAdES B-B) with a person's key and certificate (X.509).

Certificate authorities give out a key with its certificate as a PKCS#12 file, which ends in
``.p12`` or ``.pfx``. No message has a part of it.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

# If it is missing, its extra must be named: it also brings the other libraries.
import pyhanko  # noqa: F401
from asn1crypto.keys import PrivateKeyInfo
from asn1crypto.pkcs12 import Pfx
from asn1crypto.x509 import Certificate
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12KeyAndCertificates,
    load_pkcs12,
)
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign.fields import SigSeedSubFilter
from pyhanko.sign.signers import SimpleSigner
from pyhanko.sign.signers.cms_embedder import PdfCMSEmbedder, SigIOSetup, SigObjSetup
from pyhanko.sign.signers.constants import ESIC_EXTENSION_1
from pyhanko.sign.signers.pdf_byterange import SignatureObject
from pyhanko.sign.signers.pdf_cms import select_suitable_signing_md
from pyhanko_certvalidator.registry import SimpleCertificateStore

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import input_error
from fairstats._lib.untrusted_files import read_once
from fairstats.publishing.signing_keys import PASSPHRASE_VARIABLE, refuse_in_site, refuse_readable
from fairstats.publishing.signing_keys import passphrase as passphrase

# A certificate has some kilobytes; a file of them can have many.
_LARGEST_FILE = 1 << 20
_LONGEST_NAME = 200
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\s*", re.DOTALL)
# As NIST SP 800-131A demands; readers of PDFs refuse signatures of shorter keys.
_SHORTEST_RSA = 2048
_EXPORT = "openssl pkcs12 -export -inkey KEY.pem -in CERT.pem -out CERT.p12"
_FIELD = "Signature"
# Hexadecimal digits for a signature and its certificates.
_RESERVED = 32 << 10


def read_certificates(paths: Iterable[AnyPath]) -> list[x509.Certificate]:
    """Read the certificates that a reader trusts.

    A file may have several, in PEM.
    """
    return [certificate for path in paths for certificate in _read(path)]


def _read(path: AnyPath) -> list[x509.Certificate]:
    content = read_once(path, _LARGEST_FILE).content
    remedy = "give the signer's certificate, or the root that issued it, in PEM"
    if b"PRIVATE KEY" in content:
        raise input_error(path, "contains a private key", f"keep it secret, and {remedy}")
    try:
        found = x509.load_pem_x509_certificates(content)
        readable = all(name_of(one) for one in found)
    except ValueError:
        readable = False
    if not readable or _CERTIFICATE.sub(b"", content).strip():
        raise input_error(path, "is not a file of certificates in PEM", remedy)
    return found


def encoded(certificate: x509.Certificate) -> Certificate:
    """Return a certificate as pyHanko takes it."""
    return Certificate.load(certificate.public_bytes(Encoding.DER))


def decoded(certificate: Certificate) -> x509.Certificate:
    """Return a certificate of pyHanko as the cryptography library has it."""
    return x509.load_der_x509_certificate(certificate.dump())


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the sha256 of a certificate (DER), in hexadecimal digits."""
    return certificate.fingerprint(SHA256()).hex()


def name_of(certificate: x509.Certificate) -> str:
    """Return the quoted name of a certificate's subject; its issuer may have checked it or not."""
    name = certificate.subject.rfc4514_string()
    return repr(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")


def why_unfit(certificate: x509.Certificate, when: datetime) -> str | None:
    """Return why a certificate cannot sign a document at this time; None if it can.

    Certificates without an extension for the key's usage can be used for everything (RFC 5280).
    """
    if when < certificate.not_valid_before_utc:
        return f"is valid only from {minute(certificate.not_valid_before_utc)}"
    if when > certificate.not_valid_after_utc:
        return f"expired on {minute(certificate.not_valid_after_utc)}"
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return None
    if usage.digital_signature or usage.content_commitment:
        return None
    return "is not for signatures (key usage)"


def minute(time: datetime) -> str:
    """Return a time in UTC, to the minute."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True)
class Credentials:
    """Hold what a person signs with, in the types of asn1crypto.

    The chain has the certificates of its issuers, as far as the file has them.
    """

    key: PrivateKeyInfo = field(repr=False)
    certificate: Certificate
    chain: tuple[Certificate, ...]


def read_credentials(path: AnyPath, *, passphrase: bytes | None = None) -> Credentials:
    """Read a private key with its certificate from a PKCS#12 file that only its owner can read.

    Raises
    ------
    InputError
        If it is a link, is inside a site, can be read by others or is not PKCS#12. If the
        passphrase is missing or wrong. If the key or its certificate is missing, too weak, expired
        or not for signatures.
    """
    file = Path(path)
    if file.is_symlink():
        raise input_error(file, "is a link", "give the file itself")
    content = read_once(file, _LARGEST_FILE).content
    refuse_in_site(file, "move it to a folder that is not published, and use a new certificate")
    refuse_readable(file)
    return _checked(_load(content, passphrase, str(file)), str(file))


def _load(content: bytes, passphrase: bytes | None, path: str) -> PKCS12KeyAndCertificates:
    try:
        kind = Pfx.load(content, strict=True)["auth_safe"]["content_type"].native
        known = kind in ("data", "signed_data")
    except (KeyError, TypeError, ValueError):
        known = False
    if not known:
        raise input_error(path, "is not a PKCS#12 file", f"make one: {_EXPORT}")
    # The texts of the errors are left out: they come from the content.
    try:
        return load_pkcs12(content, passphrase)
    except UnsupportedAlgorithm:
        message = "is encrypted with a method that is not supported"
        raise input_error(path, message, f"make it again: {_EXPORT}") from None
    except ValueError:
        message = "is encrypted" if passphrase is None else "cannot be decrypted"
        if passphrase is not None:
            message += ": the passphrase is wrong, or the file is damaged"
        raise input_error(path, message, f"set {PASSPHRASE_VARIABLE} to its passphrase") from None


def _checked(found: PKCS12KeyAndCertificates, path: str) -> Credentials:
    wrong = partial(input_error, path)
    again = f"make the file again, with both: {_EXPORT}"
    key, entry = found.key, found.cert
    if key is None:
        raise wrong("contains no private key", again)
    if entry is None:
        raise wrong("contains a private key, but not its certificate", again)
    certificate = entry.certificate
    if certificate.public_key() != key.public_key():
        raise wrong("contains a private key and the certificate of a different key", again)
    remedy = "get a certificate for an RSA key of at least 2,048 bits, or for an ECDSA key"
    if not isinstance(key, (RSAPrivateKey, EllipticCurvePrivateKey)):
        raise wrong("contains a key of a kind that few readers of PDFs can check", remedy)
    if isinstance(key, RSAPrivateKey) and key.key_size < _SHORTEST_RSA:
        raise wrong(f"contains an RSA key of only {key.key_size:,} bits", remedy)
    if why := why_unfit(certificate, datetime.now(UTC)):
        raise wrong(f"contains a certificate that {why}", "get a new one from its issuer")
    secret = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    chain = tuple(encoded(one.certificate) for one in found.additional_certs)
    return Credentials(PrivateKeyInfo.load(secret), encoded(certificate), chain)


def report_signer(path: AnyPath, *, passphrase: bytes | None = None) -> Callable[[bytes], bytes]:
    """Return the function that signs a PDF with the key and certificate in a PKCS#12 file.

    Returns
    -------
    callable
        Makes the signed PDF from the unsigned one, for
        `fairstats.report.audit.document.report_model`. The signature is appended and invisible.
    """
    mine = read_credentials(path, passphrase=passphrase)
    issuers = SimpleCertificateStore.from_certs(mine.chain)
    return partial(_sign, SimpleSigner(mine.certificate, mine.key, issuers))


def _sign(signer: SimpleSigner, content: bytes) -> bytes:
    certificate: Certificate = signer.signing_cert
    algorithm = select_suitable_signing_md(certificate.public_key)

    def sign(digest: bytes) -> bytes:
        made = asyncio.run(signer.async_sign(digest, algorithm, use_pades=True)).dump()
        if 2 * len(made) > _RESERVED:
            name = certificate.subject.human_friendly
            message = f"its certificates have {len(made):,} bytes; the limit is {_RESERVED // 2:,}"
            raise input_error(name, message, "leave out those of its issuers")
        return bytes(made)

    return with_signature(content, datetime.now(UTC), sign, algorithm=algorithm)


class _Update(IncrementalPdfFileWriter):
    """Append to a PDF, and change neither its metadata nor its identifier."""

    @classmethod
    def _handle_id(cls, prev: Any) -> Any:
        return prev.trailer["/ID"]

    def _update_meta(self) -> None:
        pass


def with_signature(
    content: bytes, when: datetime, sign: Callable[[bytes], bytes], *, algorithm: str = "sha256"
) -> bytes:
    """Append an invisible signature to a PDF; the same values give the same bytes.

    `sign` makes the signature (CMS) from the digest of everything else, and `when` is the time
    to state.
    """
    writer = _Update(io.BytesIO(content))
    writer.ensure_output_version(version=(1, 7))
    writer.register_extension(ESIC_EXTENSION_1)
    steps = PdfCMSEmbedder().write_cms(field_name=_FIELD, writer=writer)
    next(steps)
    place = SignatureObject(when, SigSeedSubFilter.PADES, bytes_reserved=_RESERVED)
    steps.send(SigObjSetup(sig_placeholder=place))
    digest, output = steps.send(SigIOSetup(md_algorithm=algorithm))
    steps.send(sign(digest.document_digest))
    return bytes(output.getvalue())
