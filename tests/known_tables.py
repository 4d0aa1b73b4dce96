"""The tables of releases, each computed once in a run of the tests for the same inputs.

Publishing the same small answers again, and verifying what was published, would compute the same
tables hundreds of times. All workers share one folder of results.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.atomic_files import whole_file
from fairstats.release.tables import TABLES, ReleaseInputs

Make = Callable[[ReleaseInputs], pd.DataFrame]


def known_tables(folder: Path) -> dict[str, Any]:
    """Return the tables of releases, each made once."""
    return {
        name: replace(table, make=made_once(name, table.make, folder))
        for name, table in TABLES.items()
    }


def made_once(name: str, make: Make, folder: Path) -> Make:
    """Return a function that makes a table of a release, but reuses stored results."""

    def made(of: ReleaseInputs) -> pd.DataFrame:
        path = folder / f"{name}-{_digest(of)}.pickle"
        if path.exists():
            return pickle.loads(path.read_bytes())
        table = make(of)
        # Another worker may be reading.
        with whole_file(path) as temporary:
            temporary.write_bytes(pickle.dumps(table))
        return table

    return made


def _digest(of: ReleaseInputs) -> str:
    """Return a hash of everything that the tables of a release depend on."""
    known = vars(of).get("_digest")
    if known is None:
        digest = hashlib.sha256(repr((of.missing, of.alpha, of.successors)).encode())
        stored = not isinstance(of.answers, pd.DataFrame)
        if stored:
            digest.update(of.answers.sha256.encode())
        for frame in (of.units if stored else of.answers, of.retrievals, of.ratings, of.measures):
            digest.update(repr([*frame.dtypes.items()]).encode())
            digest.update(pd.util.hash_pandas_object(frame).to_numpy().tobytes())
        for declared in (*of.benchmarks.values(), *of.rubrics.values()):
            # The paths of its files do not matter.
            facts = {k: v for k, v in vars(declared).items() if not isinstance(v, Path)}
            facts = {k: dict(v) if isinstance(v, Mapping) else v for k, v in facts.items()}
            digest.update(repr(facts).encode())
        known = digest.hexdigest()
        vars(of)["_digest"] = known
    return known
