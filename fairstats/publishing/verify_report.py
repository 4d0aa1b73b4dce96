"""Verify the PDF of an audit report: its release, its signature and its pages."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

# If it is missing, its extra must be named: it also brings the libraries of the other modules.
import pyhanko  # noqa: F401

from fairstats._lib.problems import Problem
from fairstats._lib.safe_names import file_sha256
from fairstats.publishing.certificates import read_certificates
from fairstats.publishing.pdf_signature import Pdf, check_signature, read_pdf
from fairstats.publishing.redrawn_report import shows_the_release
from fairstats.publishing.verify import Verification, site_releases, verify
from fairstats.release.contents import MANIFEST
from fairstats.release.manifest import read_manifest
from fairstats.report.audit_origin import Origin, read_origin


def verify_report(
    path: str | os.PathLike[str],
    release: str | os.PathLike[str],
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
            notes.append("not checked: what its author declared (section Declarations)")
    report = Verification(
        Path(pdf.path),
        files=1,
        rows={},
        problems=(*problems, *signature.problems),
        notes=(*notes, *signature.notes),
        signed_by=signature.signed_by,
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
        "get the report again, or verify with the software that drew it; --no-pages checks only "
        "the release and the signature"
    )
    return [Problem(pdf.path, message, remedy)], []
