"""The exports among the downloads of a published release.

They are small, need no answer from the publisher, and have the same bytes on every machine.
`fairstats export` writes the others.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairstats._lib.table_text import json_line, json_text
from fairstats.exports.catalogues import CROISSANT, croissant
from fairstats.exports.every_eval_ever import figure_files
from fairstats.exports.export import zip_bytes
from fairstats.release.contents import DOWNLOADS, Release


@dataclass(frozen=True)
class SiteFile:
    """A file among the downloads, with its contents in words for the Data page."""

    contents: str
    made: Callable[[Release], bytes]


def _eee(release: Release) -> bytes:
    # Programs read these: without indentation they are shorter, and sooner written.
    files = {name: json_line(content).encode() for name, content in figure_files(release)}
    # Libraries differ in how they compress.
    return zip_bytes(files, zipfile.ZIP_STORED)


SITE_FILES: Mapping[str, SiteFile] = {
    "eee.zip": SiteFile(
        "every figure in the format of Every Eval Ever 0.3.0, without samples", _eee
    ),
    CROISSANT: SiteFile(
        "description of the data in the format Croissant 1.1",
        lambda release: json_text(croissant(release)).encode(),
    ),
}


def write_site_files(release: Release, folder: Path) -> None:
    """Write the exports of a release that belong to its downloads.

    Parameters
    ----------
    release : Release
        The release.
    folder : Path
        The folder of a release; the files go into its downloads.
    """
    for name, file in SITE_FILES.items():
        (folder / DOWNLOADS / name).write_bytes(file.made(release))
