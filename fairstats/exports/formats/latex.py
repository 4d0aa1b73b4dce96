"""Tables as LaTeX, for papers."""

from __future__ import annotations

from pathlib import Path

from fairstats._lib.pandoc import convert
from fairstats._lib.table_text import write_text
from fairstats.exports.export import TABLE_OPTIONS, Export, Options
from fairstats.exports.grids import chosen_grids
from fairstats.release.contents import Release


def write_latex(release: Release, folder: Path, options: Options) -> list[Path]:
    """Write each chosen table as a ``.tex`` file to be read with ``\\input``.

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
        The files. They need the packages ``longtable``, ``booktabs``, ``multirow`` and ``array``.
        All text in them is escaped.
    """
    return [
        write_text(
            convert(grid.html(), source="html", target="latex", options=["--wrap=none"]),
            folder / f"{grid.name}.tex",
        )
        for grid in chosen_grids(release, options)
    ]


EXPORT = Export(contents="tables as LaTeX", write=write_latex, takes=TABLE_OPTIONS)
