"""Read a PDF from outside, and check its digital signature.

A signature covers a range of bytes, so a signed PDF can have other bytes that show something else.
Here it must cover every byte but its own.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.ades.report import AdESIndeterminate
from pyhanko.sign.validation import EmbeddedPdfSignature, validate_pdf_signature
from pyhanko.sign.validation.settings import KeyUsageConstraints
from pyhanko_certvalidator import ValidationContext

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import read_once
from fairstats.publishing.certificates import (
    decoded,
    encoded,
    fingerprint,
    minute,
    name_of,
    why_unfit,
)

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

# A report has some hundred kilobytes.
_LARGEST_PDF = 16 << 20
_LOGGERS = ("pyhanko", "pyhanko_certvalidator")
_WEAK = (
    AdESIndeterminate.CRYPTO_CONSTRAINTS_FAILURE,
    AdESIndeterminate.CRYPTO_CONSTRAINTS_FAILURE_NO_POE,
)
# Clocks differ a little.
_AHEAD = timedelta(minutes=10)
_ASK = "get the signed report again from its signer"


@dataclass(frozen=True)
class Pdf:
    """Hold a PDF that was read once.

    Attributes
    ----------
    path : str
        Where it was read.
    content : bytes
        Its bytes.
    keywords : str
        The keywords in its metadata; empty if it has none.
    reader : PdfFileReader
        Its objects.
    """

    path: str
    content: bytes = field(repr=False)
    keywords: str
    reader: PdfFileReader = field(repr=False)


@dataclass(frozen=True)
class SignatureCheck:
    """Hold the result of checking the signature of a PDF.

    Attributes
    ----------
    signed : bool
        Whether it has a valid signature.
    signed_by : tuple of str
        The sha256 of the signer's certificate, if it is trusted.
    problems : tuple of Problem
        Why the signature does not count.
    notes : tuple of str
        Who signed, and what was not checked.
    """

    signed: bool = False
    signed_by: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def read_pdf(path: str | os.PathLike[str]) -> Pdf:
    """Read a PDF.

    Raises
    ------
    InputError
        If it is not a PDF, is damaged, encrypted or too large.
    """
    file = read_once(path, _LARGEST_PDF)
    with parsing(str(file), "cannot be read as a PDF"):
        reader = PdfFileReader(io.BytesIO(file.content))
        if reader.encrypted:
            problem = Problem(str(file), "is encrypted", "get a copy that is not encrypted")
            raise InputError([problem])
        keywords = str(entry(entry(reader.trailer_view, "/Info", {}), "/Keywords", ""))
    return Pdf(str(file), file.content, keywords, reader)


def entry(objects: Any, name: str, default: Any) -> Any:
    """Return an entry of a dictionary of a PDF; unlike its method `get`, follow references."""
    try:
        return objects[name]
    except KeyError:
        return default


@contextmanager
def parsing(path: str, message: str) -> Iterator[None]:
    """Report any error as a problem with this message, and leave out what pyHanko logs.

    It logs tracebacks.
    """
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    except InputError:
        raise
    # A damaged file can make a parser fail in any way.
    except Exception as error:
        cause = f"{type(error).__name__}: {str(error)[:200]}"
        raise InputError([Problem(path, f"{message} ({cause})", "get the report again")]) from None
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def check_signature(pdf: Pdf, trusted: Sequence[Certificate]) -> SignatureCheck:
    """Check the signature of a PDF with the certificates that its reader trusts.

    Parameters
    ----------
    pdf : Pdf
        A PDF that one person signed, or nobody.
    trusted : sequence of Certificate
        Signers, or roots that issue certificates to signers. Without any, the signature is checked
        with the certificate that it contains, which shows only that the file was not changed.

    Returns
    -------
    SignatureCheck
        With `trusted` certificates it is a problem if none of them leads to the signer's.

    Raises
    ------
    InputError
        If the signature cannot be parsed.
    """
    with parsing(pdf.path, "has a signature that cannot be checked"):
        found = pdf.reader.embedded_signatures
        if found:
            return _check(pdf, found, trusted)
    if trusted:
        return SignatureCheck(problems=(Problem(pdf.path, "is not signed", _ASK),))
    return SignatureCheck(notes=("not signed: this file does not show who issued it",))


def _check(
    pdf: Pdf, found: Sequence[EmbeddedPdfSignature], trusted: Sequence[Certificate]
) -> SignatureCheck:
    def wrong(message: str, remedy: str = _ASK) -> SignatureCheck:
        return SignatureCheck(problems=(Problem(pdf.path, message, remedy),))

    last = found[-1]
    if uncovered := _uncovered(pdf.content, last):
        return wrong(uncovered)
    if len(found) > 1:
        message = f"has {len(found)} signatures, but can be checked only with one"
        return wrong(message, "ask each person for a separately signed copy")
    claimed = last.self_reported_timestamp
    when = datetime.now(UTC) if claimed is None else _aware(claimed)
    status = validate_pdf_signature(
        last,
        # Without a list, it would trust the roots of the operating system.
        ValidationContext(trust_roots=[encoded(one) for one in trusted], moment=when),
        # The usage of the key is checked below, for certificates without that extension.
        key_usage_settings=KeyUsageConstraints(),
        skip_diff=True,
    )
    if not status.intact:
        return wrong("was changed after it was signed: its content does not match the signature")
    if not status.valid:
        return wrong("has a signature that its certificate does not match")
    if status.trust_problem_indic in _WEAK:
        message = "is signed with an algorithm or key that is too weak"
        return wrong(message, "ask the signer to sign it again, with a newer certificate")
    certificate = decoded(last.signer_cert)
    digest, name = fingerprint(certificate), name_of(certificate)
    who = f"{name} (certificate sha256 {digest})"
    at = "an unknown time" if claimed is None else minute(when)
    if when > datetime.now(UTC) + _AHEAD:
        return wrong(f"claims to be signed at {at}, which is in the future", "check the clock")
    if why := why_unfit(certificate, when):
        return wrong(f"was signed by {who} at {at}, but this certificate {why}")
    if trusted and not status.trusted:
        message = f"is signed by {who}, which is not trusted"
        remedy = "if the signer announced this certificate elsewhere, give it with --trust"
        return wrong(message, remedy)
    signed = f"signed by {who} at {at} by the signer's own clock, and not changed since"
    return SignatureCheck(
        signed=True,
        signed_by=(digest,) if trusted else (),
        notes=(signed, *_identity(certificate, trusted)),
    )


def _identity(certificate: Certificate, trusted: Sequence[Certificate]) -> Iterator[str]:
    """Describe what is known about the signer, and what was not checked."""
    if not trusted:
        yield (
            "identity not verified: anyone can make a certificate with this name. Give the "
            "signer's certificate, or the root that issued it, with --trust"
        )
        return
    if certificate in trusted:
        yield "identity: this certificate was given with --trust"
    else:
        yield "identity: the certificate was issued under a root given with --trust"
    ended = why_unfit(certificate, datetime.now(UTC))
    if ended:
        yield f"the certificate {ended}; only the signer's clock shows that it was used before"
    yield "not checked: whether the certificate was revoked"


def _uncovered(content: bytes, signature: EmbeddedPdfSignature) -> str | None:
    """Return which part of a file a signature does not cover; None if it covers all of it.

    It covers two ranges; between them are only its own bytes, as hexadecimal digits in brackets.
    """
    try:
        start, first, second, length = map(int, signature.byte_range)
    except (TypeError, ValueError):
        return "has a signature that does not cover two ranges of bytes"
    end = second + length
    if start != 0 or not 0 < first < second <= end:
        return "has a signature that does not cover the file from its beginning"
    gap = content[first:second]
    if gap != b"<" + gap[1:-1] + b">" or gap[1:-1].lower() != _hexadecimal(signature):
        return f"has a signature that does not cover bytes {first:,} to {second:,}"
    if end != len(content):
        return (
            f"was changed after it was signed: the signature covers the first {end:,} of "
            f"{len(content):,} bytes"
        )
    return None


def _hexadecimal(signature: EmbeddedPdfSignature) -> bytes:
    content: bytes = signature.pkcs7_content
    return content.hex().encode()


def _aware(time: datetime) -> datetime:
    """Return a time in UTC; without a time zone it is taken as UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
