"""Tables as Word documents."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fairstats._lib.pandoc import convert
from fairstats.exports.export import TABLE_OPTIONS, Export, Options
from fairstats.exports.grids import chosen_grids
from fairstats.exports.zip_files import write_office_file
from fairstats.release.contents import Release


def write_docx(release: Release, folder: Path, options: Options) -> list[Path]:
    """Write each chosen table as a ``.docx`` file.

    Parameters
    ----------
    release : Release
        The release.
    folder : Path
        The target folder.
    options : Options
        The tables.

    Returns
    -------
    list of Path
        The files.
    """
    written = []
    for grid in chosen_grids(release, options):
        path = folder / f"{grid.name}.docx"
        with tempfile.TemporaryDirectory() as temporary:
            made = Path(temporary) / path.name
            convert(grid.html(), source="html", target="docx", out=made)
            written.append(write_office_file(made.read_bytes(), release.created_at, path))
    return written


EXPORT = Export(contents="tables as Word documents", write=write_docx, takes=TABLE_OPTIONS)
