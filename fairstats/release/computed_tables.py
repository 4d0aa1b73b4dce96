"""Compute the tables of a release, those of a large one in two processes."""

from __future__ import annotations

import copyreg
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from fairstats._lib.temporary_folders import temporary_folder
from fairstats.release.tables import TABLES, ReleaseInputs

#: Tables for the second process: about half of the time of all.
_APART = ("screening", "sensitivity", "vignette_findings")
#: Numbers of answers. A second process takes a few seconds to start, and copies the answers.
_FEWEST, _MOST = 50_000, 5_000_000
_ANSWERS, _MADE = "answers.pickle", "tables.pickle"


def _constant(mapping: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(mapping)


# Benchmarks hold constant mappings, which pickle does not know.
copyreg.pickle(MappingProxyType, lambda mapping: (_constant, (dict(mapping),)))


def tables_of(of: ReleaseInputs) -> dict[str, pd.DataFrame]:
    """Compute all tables of a release.

    Parameters
    ----------
    of : ReleaseInputs
        What they are computed from.

    Returns
    -------
    dict of str to pandas.DataFrame
        The tables by name, in the order of `fairstats.release.tables.TABLES`.
    """
    apart = [name for name in _APART if name in TABLES]
    if not _FEWEST <= len(of.answers) <= _MOST or (os.cpu_count() or 1) < 2:
        apart = []
    with temporary_folder("tables") as folder, _second_process(of, apart, folder) as process:
        made = {name: table.make(of) for name, table in TABLES.items() if name not in apart}
        if process is not None and process.wait() == 0:
            made |= pickle.loads((folder / _MADE).read_bytes())
    # If the second process failed, e.g. for lack of memory, its tables are computed here.
    return {name: made[name] if name in made else TABLES[name].make(of) for name in TABLES}


@contextmanager
def _second_process(
    of: ReleaseInputs, names: list[str], folder: Path
) -> Iterator[subprocess.Popen[bytes] | None]:
    """Compute these tables in another process of this Python, which ends with the block."""
    if not names:
        yield None
        return
    # A copy, without what this process has computed from the answers.
    (folder / _ANSWERS).write_bytes(pickle.dumps((replace(of), names)))
    process = subprocess.Popen(
        # -P: no module of the current folder is imported.
        [sys.executable, "-P", "-m", __name__, str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _compute(folder: Path) -> None:
    """Do the work of the second process."""
    of, names = pickle.loads((folder / _ANSWERS).read_bytes())
    made = {name: TABLES[name].make(of) for name in names}
    (folder / _MADE).write_bytes(pickle.dumps(made))


if __name__ == "__main__":
    _compute(Path(sys.argv[1]))
