"""Verify the PDF of an audit report: its release, its digital signature and its pages.

A signature covers a range of bytes, so a signed PDF can have other bytes that show something else.
Here it must cover every byte but its own. With the pages, every other byte is compared with the
report that is drawn again from the release.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.ades.report import AdESIndeterminate
from pyhanko.sign.validation import EmbeddedPdfSignature, validate_pdf_signature
from pyhanko.sign.validation.settings import KeyUsageConstraints
from pyhanko_certvalidator import ValidationContext

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Problem, input_error, keyword
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.untrusted_files import read_once
from fairstats.publishing.report_signature import (
    decoded,
    encoded,
    fingerprint,
    minute,
    name_of,
    read_certificates,
    why_unfit,
    with_signature,
)
from fairstats.publishing.site_folder import Verification
from fairstats.publishing.verify import site_releases, verify
from fairstats.release.contents import MANIFEST
from fairstats.release.manifest import read_manifest
from fairstats.report.audit.document import Origin, read_origin, report_model

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


def read_pdf(path: AnyPath) -> Pdf:
    """Read a PDF; refuse one that is damaged, encrypted or too large."""
    file = read_once(path, _LARGEST_PDF)
    with parsing(str(file), "cannot be read as a PDF"):
        reader = PdfFileReader(io.BytesIO(file.content))
        if reader.encrypted:
            raise input_error(file, "is encrypted", "get a copy that is not encrypted")
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
        raise input_error(path, f"{message} ({cause})", "get the report again") from None
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def check_signature(pdf: Pdf, trusted: Sequence[Certificate]) -> Verification:
    """Verify the signature of a PDF with the certificates that its reader trusts.

    Certificates may be those of signers, or of roots that issue them. With `trusted` ones it is a
    problem if none of them leads to the signer's. Without any, the signature is checked with the
    certificate that it contains, which shows only that the file was not changed.
    """
    with parsing(pdf.path, "has a signature that cannot be checked"):
        found = pdf.reader.embedded_signatures
        if found:
            return _check(pdf, found, trusted)
    if trusted:
        return _failed(pdf, "is not signed")
    note = "not signed: this file does not show who issued it"
    return Verification(Path(pdf.path), 1, {}, (), (note,))


def _failed(pdf: Pdf, message: str, remedy: str = _ASK) -> Verification:
    return Verification(Path(pdf.path), 1, {}, (Problem(pdf.path, message, remedy),))


def _check(
    pdf: Pdf, found: Sequence[EmbeddedPdfSignature], trusted: Sequence[Certificate]
) -> Verification:
    wrong = partial(_failed, pdf)
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
        remedy = "if the signer announced this certificate elsewhere, give it with "
        return wrong(message, f"{remedy}{keyword('trust')}")
    signed = f"signed by {who} at {at} by the signer's own clock, and not changed since"
    notes = (signed, *_identity(certificate, trusted))
    return Verification(Path(pdf.path), 1, {}, (), notes, (digest,) if trusted else ())


def _identity(certificate: Certificate, trusted: Sequence[Certificate]) -> Iterator[str]:
    """Describe what is known about the signer, and what was not checked."""
    if not trusted:
        yield (
            "identity not verified: anyone can make a certificate with this name. Give the "
            f"signer's certificate, or the root that issued it, with {keyword('trust')}"
        )
        return
    if certificate in trusted:
        yield f"identity: this certificate was given with {keyword('trust')}"
    else:
        root = f"a root given with {keyword('trust')}"
        yield f"identity: the certificate was issued under {root}"
    ended = why_unfit(certificate, datetime.now(UTC))
    if ended:
        yield f"the certificate {ended}; only the signer's clock shows that it was used before"
    yield "not checked: whether the certificate was revoked"


def _uncovered(content: bytes, signature: EmbeddedPdfSignature) -> str | None:
    """Return which part of a file a signature does not cover; None if it covers all of it.

    It covers two ranges; between them are only its own bytes, as hexadecimal digits in brackets.
    """
    # Imported first, it would be named as missing in the place of the extra.
    from asn1crypto.cms import ContentInfo

    try:
        start, first, second, length = map(int, signature.byte_range)
    except (TypeError, ValueError):
        return "has a signature that does not cover two ranges of bytes"
    end = second + length
    if start != 0 or not 0 < first < second <= end:
        return "has a signature that does not cover the file from its beginning"
    gap, own = content[first:second], signature.pkcs7_content
    if gap != b"<" + gap[1:-1] + b">" or gap[1:-1].lower() != own.hex().encode():
        return f"has a signature that does not cover bytes {first:,} to {second:,}"
    if own[len(ContentInfo.load(own).dump()) :].strip(b"\0"):
        return "was changed after it was signed: bytes behind the signature are not zero"
    if end != len(content):
        return (
            f"was changed after it was signed: the signature covers the first {end:,} of "
            f"{len(content):,} bytes"
        )
    return None


def _aware(time: datetime) -> datetime:
    """Return a time in UTC; without a time zone it is taken as UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def shows_the_release(pdf: Pdf, release: Path, origin: Origin) -> bool:
    """Check whether a PDF is the report that this version of fairstats draws from a release.

    Returns
    -------
    bool
        Whether the PDF is the drawn one, byte by byte. If it is signed, the drawn one is signed
        again with its time and its signature: nothing else can be appended.
    """
    with temporary_folder("report") as folder:
        drawn = report_model(
            origin.model,
            release,
            out=folder / "again.pdf",
            crosswalk=origin.crosswalk,
            facts=origin.facts,
            # It only has to state that it is signed.
            sign=bytes if origin.signed else None,
        ).read_bytes()
    if pdf.content == drawn or not pdf.content.startswith(drawn):
        return pdf.content == drawn
    try:
        with parsing(pdf.path, "cannot be compared"):
            (signature,) = pdf.reader.embedded_signatures
            when, made = signature.self_reported_timestamp, signature.pkcs7_content
            return with_signature(drawn, when, lambda digest: made) == pdf.content
    except InputError:
        # It was not signed here.
        return False


def verify_report(
    path: AnyPath,
    release: AnyPath,
    *,
    trust: Iterable[str | os.PathLike[str]] = (),
    pages: bool = True,
) -> list[Verification]:
    """Verify the PDF of an audit report against the release that it was made from.

    Parameters
    ----------
    path : path
        The PDF.
    release : path
        The release's folder, or that of a site with it.
    trust : iterable of paths
        Certificates in PEM, of the signer or a root (see docs/trust.md). Then it is a problem if
        none of them leads to the signature.
    pages : bool
        Whether to draw the report and the pages of the release again.

    Returns
    -------
    list of Verification
        One for the release, if the PDF names it, and one for the PDF.

    Raises
    ------
    InputError
        If the PDF, a certificate or a manifest cannot be read, or there is no release.

    Notes
    -----
    The PDF names its release by the sha256 of the manifest, which anyone can write into any file.
    What is compared depends on the check: the release's files with the manifest, as
    `fairstats.verify` does; the PDF's bytes with its signature; and with `pages`, these bytes with
    the report that is drawn here from the release.
    """
    trusted = read_certificates(trust)
    pdf = read_pdf(path)
    origin = read_origin(pdf.keywords)
    signature = check_signature(pdf, trusted)
    if origin is not None and origin.signed and not pdf.reader.embedded_signatures:
        signature = _failed(pdf, "states on page 1 that it is signed, but has no signature")
    manifests = _manifests(Path(release))
    found: list[Verification] = []
    notes: list[str] = []
    if origin is None:
        message = "does not name the release that it was made from"
        remedy = "draw the report again with `fairstats report`"
        problems = [Problem(pdf.path, message, remedy)]
    elif origin.manifest not in manifests:
        problems = [_other_release(pdf, origin, manifests, Path(release))]
    else:
        chosen = manifests[origin.manifest]
        found = verify(chosen, expect=origin.manifest, pages=pages)
        intact = not (signature.problems or any(one.problems for one in found))
        problems, notes = _pages(pdf, chosen, origin, pages=pages, intact=intact)
        notes = [f"names {chosen} as its release (manifest sha256 {origin.manifest})", *notes]
        if origin.facts.encoded:
            notes.append("not checked: what its author declared (page 1 and Declarations)")
    report = replace(
        signature,
        problems=(*problems, *signature.problems),
        notes=(*notes, *signature.notes),
    )
    return [*found, report]


def _manifests(folder: Path) -> dict[str, Path]:
    """Return the folder of each release by the sha256 of its manifest."""
    if os.path.lexists(folder / MANIFEST):
        read_manifest(folder)
        return {file_sha256(folder / MANIFEST): folder}
    return {file_sha256(one.path / MANIFEST): one.path for one in site_releases(folder)}


def _other_release(pdf: Pdf, origin: Origin, manifests: dict[str, Path], folder: Path) -> Problem:
    """Report that a PDF was not made from any of these releases, or that they changed."""
    message = f"was made from a release whose manifest has sha256 {origin.manifest}, but "
    if list(manifests.values()) == [folder]:
        message += f"that of {folder} has sha256 {next(iter(manifests))}"
    else:
        message += f"no release in {folder} has that"
    return Problem(pdf.path, message, "give the release that it was made from, or get a new report")


def _pages(
    pdf: Pdf, release: Path, origin: Origin, *, pages: bool, intact: bool
) -> tuple[list[Problem], list[str]]:
    """Compare a report with one that is drawn here, if there is no other problem."""
    if not intact:
        return [], ["not checked: the pages, because of other problems"]
    if not pages:
        return [], ["not checked: the pages; only a trusted signer vouches for their figures"]
    if shows_the_release(pdf, release, origin):
        return [], ["pages: the same as drawn again from the release"]
    message = "its pages differ from the report that this version of fairstats draws here"
    remedy = (
        "get the report again, or verify with the software that drew it; "
        f"{keyword('pages', False)} checks only the release and the signature"
    )
    return [Problem(pdf.path, message, remedy)], []
