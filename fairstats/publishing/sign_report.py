"""Sign the PDF of an audit report (PAdES B-B) with a person's key and certificate."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial
from zoneinfo import ZoneInfoNotFoundError

from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign.fields import SigSeedSubFilter
from pyhanko.sign.signers import PdfSignatureMetadata, SimpleSigner, sign_pdf
from pyhanko_certvalidator.registry import SimpleCertificateStore

from fairstats._lib.problems import InputError, Problem
from fairstats.publishing.credentials import read_credentials

_FIELD = "Signature"


def report_signer(
    path: str | os.PathLike[str], *, passphrase: bytes | None = None
) -> Callable[[bytes], bytes]:
    """Return the function that signs a PDF.

    Parameters
    ----------
    path : path
        A PKCS#12 file with the signer's private key and certificate.
    passphrase : bytes, optional
        If the file is encrypted.

    Returns
    -------
    callable
        Makes the signed PDF from the unsigned one, for
        `fairstats.report.audit_document.report_model`. The signature is appended and invisible.

    Raises
    ------
    InputError
        As `fairstats.publishing.credentials.read_credentials`. The returned function raises it if
        the machine's time zone is not known.
    """
    mine = read_credentials(path, passphrase=passphrase)
    issuers = SimpleCertificateStore.from_certs(mine.chain)
    return partial(_sign, SimpleSigner(mine.certificate, mine.key, issuers))


def _sign(signer: SimpleSigner, content: bytes) -> bytes:
    metadata = PdfSignatureMetadata(field_name=_FIELD, subfilter=SigSeedSubFilter.PADES)
    writer = IncrementalPdfFileWriter(io.BytesIO(content))
    try:
        return sign_pdf(writer, metadata, signer=signer).getvalue()
    except ZoneInfoNotFoundError:
        message, remedy = "is not the name of a time zone", "set it to one, e.g. Europe/Zurich"
        raise InputError([Problem(f"TZ={os.environ.get('TZ', '')}", message, remedy)]) from None
