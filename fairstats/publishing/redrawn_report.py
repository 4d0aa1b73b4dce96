"""Draw an audit report again, and compare every byte of a PDF with it, except for a signature."""

from __future__ import annotations

import io
from collections.abc import Set
from pathlib import Path
from typing import Any

from pyhanko.pdf_utils.reader import PdfFileReader

from fairstats._lib.problems import InputError
from fairstats._lib.temporary_folders import temporary_folder
from fairstats.publishing.pdf_signature import Pdf, entry, parsing
from fairstats.report.audit_document import report_model
from fairstats.report.audit_origin import Origin

# Signing changes these entries of the catalogue, the document's root.
_CATALOGUE = frozenset(("/AcroForm", "/Extensions", "/Metadata", "/Version"))
_FORM = {"/Fields", "/SigFlags"}
_FIELD = {"/F", "/FT", "/P", "/Rect", "/Subtype", "/T", "/Type", "/V"}


def shows_the_release(pdf: Pdf, release: Path, origin: Origin) -> bool:
    """Check whether a PDF is the report that this version of fairstats draws from a release.

    Parameters
    ----------
    pdf : Pdf
        The report; it may be signed.
    release : Path
        The release's folder.
    origin : Origin
        What the report was drawn from.

    Returns
    -------
    bool
        Whether an unsigned PDF is the drawn one, byte by byte. A signed one must begin with it, and
        continue only with an invisible signature.

    Raises
    ------
    InputError
        As `fairstats.report.audit_document.report_model`.
    """
    with temporary_folder("report") as folder:
        drawn = report_model(
            origin.model,
            release,
            out=folder / "again.pdf",
            crosswalk=origin.crosswalk,
            facts=origin.facts,
        ).read_bytes()
    if pdf.content == drawn or not pdf.content.startswith(drawn):
        return pdf.content == drawn
    try:
        with parsing(pdf.path, "cannot be compared"):
            return _adds_a_signature(pdf.reader, PdfFileReader(io.BytesIO(drawn)))
    except InputError:
        # It was not signed here.
        return False


def _adds_a_signature(signed: PdfFileReader, drawn: PdfFileReader) -> bool:
    """Check that a signed PDF shows the same as the drawn one that it begins with.

    What was appended can replace any object. It may change only what signing changes: the metadata,
    the form in the catalogue, and the list of annotations of one page.
    """
    table = signed.xrefs
    if table.total_revisions != 2 or table.refs_freed_in_revision(1):
        return False
    # The older revision is the drawn document only if its table is at the same place.
    if table.get_startxref_for_revision(0) != drawn.xrefs.get_startxref_for_revision(0):
        return False
    old, new = signed.get_historical_resolver(0), signed.get_historical_resolver(1)
    if old.root_ref != new.root_ref or not _same(old.root, new.root, _CATALOGUE):
        return False
    form = new.root["/AcroForm"]
    (field,) = form["/Fields"]
    entries = field.get_object()
    if set(form) != _FORM or set(entries) != _FIELD or any(map(float, entries["/Rect"])):
        return False
    page = entries.raw_get("/P").reference
    before, after = old(page), new(page)
    shown = [*entry(before, "/Annots", ()), field]
    if before["/Type"] != "/Page" or not _same(before, after, {"/Annots"}):
        return False
    if list(after["/Annots"]) != shown:
        return False
    # Of the older revision: the newer one could name an object of a page as its metadata.
    metadata = (old.trailer_view.raw_get("/Info"), old.root.raw_get("/Metadata"))
    allowed = {old.root_ref, page, *(one.reference for one in metadata)}
    changed = table.explicit_refs_in_revision(1)
    return {ref for ref in changed if not old.is_ref_unassignable(ref)} <= allowed


def _same(old: Any, new: Any, but: Set[str]) -> bool:
    """Compare the entries of two dictionaries; references are equal if they are to one object."""
    names = set(old) - but
    return names == set(new) - but and all(old.raw_get(n) == new.raw_get(n) for n in names)
