"""The origin of an audit report, which its PDF states where programs can read it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairstats._lib.safe_names import file_sha256
from fairstats.release.contents import MANIFEST, Release

_KEYWORDS = re.compile(
    r"fairstats audit report; model ([0-9a-z.-]{1,100}); manifest sha256 ([0-9a-f]{64})"
)


@dataclass(frozen=True)
class Origin:
    """Hold the model and the release of an audit report.

    Attributes
    ----------
    model : str
        The last part of the address of the model's page.
    manifest : str
        The sha256 of the release's manifest.
    """

    model: str
    manifest: str

    def __str__(self) -> str:
        """Return the keywords of the PDF."""
        return f"fairstats audit report; model {self.model}; manifest sha256 {self.manifest}"


def origin_of(release: Release, model: str) -> Origin:
    """Return the origin of the report of a model."""
    return Origin(release.slugs[model], file_sha256(release.path / MANIFEST))


def read_origin(keywords: str) -> Origin | None:
    """Return the origin that the keywords of a PDF state; None if they state none.

    Examples
    --------
    >>> origin = Origin("gpt-4.1", "0" * 64)
    >>> read_origin(str(origin)) == origin, read_origin(f"{origin}; manifest sha256 {'1' * 64}")
    (True, None)
    """
    found = _KEYWORDS.fullmatch(keywords)
    return None if found is None else Origin(found[1], found[2])
