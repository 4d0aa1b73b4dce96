"""Read a signer's private key and certificate from a PKCS#12 file; no message has a part of them.

Certificate authorities give out such files, which end in ``.p12`` or ``.pfx``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from asn1crypto.keys import PrivateKeyInfo
from asn1crypto.pkcs12 import Pfx
from asn1crypto.x509 import Certificate
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12KeyAndCertificates,
    load_pkcs12,
)

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import read_once
from fairstats.publishing.certificates import encoded, why_unfit
from fairstats.publishing.keys import refuse_in_site, refuse_readable
from fairstats.publishing.passphrase import PASSPHRASE_VARIABLE

_LARGEST_FILE = 1 << 20
# As NIST SP 800-131A demands; readers of PDFs refuse signatures of shorter keys.
_SHORTEST_RSA = 2048
_EXPORT = "openssl pkcs12 -export -inkey KEY.pem -in CERT.pem -out CERT.p12"


@dataclass(frozen=True)
class Credentials:
    """Hold what a person signs with, in the types of asn1crypto.

    Attributes
    ----------
    key : PrivateKeyInfo
        The private key, which is not shown.
    certificate : Certificate
        The certificate of this key.
    chain : tuple of Certificate
        The certificates of its issuers, as far as the file has them.
    """

    key: PrivateKeyInfo = field(repr=False)
    certificate: Certificate
    chain: tuple[Certificate, ...]


def read_credentials(
    path: str | os.PathLike[str], *, passphrase: bytes | None = None
) -> Credentials:
    """Read a private key with its certificate.

    Parameters
    ----------
    path : path
        A PKCS#12 file that only its owner can read.
    passphrase : bytes, optional
        If the file is encrypted.

    Returns
    -------
    Credentials

    Raises
    ------
    InputError
        If it is a link, is inside a site, can be read by others or is not PKCS#12. If the
        passphrase is missing or wrong. If the key or its certificate is missing, too weak, expired
        or not for signatures.
    """
    file = Path(path)
    if file.is_symlink():
        raise InputError([Problem(str(file), "is a link", "give the file itself")])
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
        raise InputError([Problem(path, "is not a PKCS#12 file", f"make one: {_EXPORT}")])
    # The texts of the errors are left out: they come from the content.
    try:
        return load_pkcs12(content, passphrase)
    except UnsupportedAlgorithm:
        message = "is encrypted with a method that is not supported"
        raise InputError([Problem(path, message, f"make it again: {_EXPORT}")]) from None
    except ValueError:
        message = "is encrypted" if passphrase is None else "cannot be decrypted"
        if passphrase is not None:
            message += ": the passphrase is wrong, or the file is damaged"
        remedy = f"set {PASSPHRASE_VARIABLE} to its passphrase"
        raise InputError([Problem(path, message, remedy)]) from None


def _checked(found: PKCS12KeyAndCertificates, path: str) -> Credentials:
    def wrong(message: str, remedy: str) -> InputError:
        return InputError([Problem(path, message, remedy)])

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
