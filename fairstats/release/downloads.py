"""Download files of a release's tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairstats._lib.table_text import table_csv, table_json, write_text
from fairstats.answers.files import write_parquet


def write_table(table: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """Write any table of a release as ``name.parquet``, ``name.csv`` and ``name.json``.

    Parameters
    ----------
    table : pandas.DataFrame
        The table.
    folder : Path
        The target folder; created if it does not exist.
    name : str
        The files' name without suffix.

    Returns
    -------
    list of Path
        The three files.
    """
    # Use one type for texts, so that reading and writing again gives the same bytes.
    table = table.infer_objects()
    paths = [folder / f"{name}.{suffix}" for suffix in ("parquet", "csv", "json")]
    write_parquet(table, paths[0])
    write_text(table_csv(table), paths[1])
    write_text(table_json(table), paths[2])
    return paths
