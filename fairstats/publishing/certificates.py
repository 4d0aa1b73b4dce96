"""Certificates (X.509) of people who sign reports, and those that a reader trusts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import datetime

from asn1crypto.x509 import Certificate as EncodedCertificate
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import read_once

# A certificate has some kilobytes; a file of them can have many.
_LARGEST_FILE = 1 << 20
_LONGEST_NAME = 200
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\s*", re.DOTALL)


def read_certificates(paths: Iterable[str | os.PathLike[str]]) -> list[x509.Certificate]:
    """Read the certificates that a reader trusts.

    Parameters
    ----------
    paths : iterable of paths
        Files with one or more certificates in PEM.

    Returns
    -------
    list of x509.Certificate

    Raises
    ------
    InputError
        If a file contains anything else, or no certificate.
    """
    return [certificate for path in paths for certificate in _read(path)]


def _read(path: str | os.PathLike[str]) -> list[x509.Certificate]:
    content = read_once(path, _LARGEST_FILE).content
    remedy = "give the signer's certificate, or the root that issued it, in PEM"
    if b"PRIVATE KEY" in content:
        message = "contains a private key"
        raise InputError([Problem(str(path), message, f"keep it secret, and {remedy}")])
    try:
        found = x509.load_pem_x509_certificates(content)
        readable = all(name_of(one) for one in found)
    except ValueError:
        readable = False
    if not readable or _CERTIFICATE.sub(b"", content).strip():
        raise InputError([Problem(str(path), "is not a file of certificates in PEM", remedy)])
    return found


def encoded(certificate: x509.Certificate) -> EncodedCertificate:
    """Return a certificate as pyHanko takes it."""
    return EncodedCertificate.load(certificate.public_bytes(Encoding.DER))


def decoded(certificate: EncodedCertificate) -> x509.Certificate:
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
