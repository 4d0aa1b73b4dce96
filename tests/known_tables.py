"""The tables of releases, each computed once in a run of the tests for the same inputs.

Publishing the same small answers again, and verifying what was published, would compute the same
tables hundreds of times. What was computed lies in a folder that all workers share.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from fairstats.release.tables import ReleaseInputs

Make = Callable[[ReleaseInputs], pd.DataFrame]


def made_once(name: str, make: Make, folder: Path) -> Make:
    """Return what makes a table of a release, but looks among what was made before."""

    def made(of: ReleaseInputs) -> pd.DataFrame:
        path = folder / f"{name}-{_digest(of)}.pickle"
        if path.exists():
            return pickle.loads(path.read_bytes())
        table = make(of)
        # Written whole or not at all: another worker may be looking.
        with path.with_suffix(f".{id(table)}").open("wb") as file:
            pickle.dump(table, file)
        Path(file.name).replace(path)
        return table

    return made


def _digest(of: ReleaseInputs) -> str:
    """A hash of all that the tables of a release are made from."""
    known = vars(of).get("_digest")
    if known is None:
        digest = hashlib.sha256(repr((of.missing, of.alpha)).encode())
        for frame in (of.answers, of.retrievals, of.ratings, of.measures):
            digest.update(repr([*frame.dtypes.items()]).encode())
            digest.update(frame.to_csv().encode())
        for declared in (*of.benchmarks.values(), *of.rubrics.values()):
            # Where its files lie decides nothing.
            facts = {k: v for k, v in vars(declared).items() if not isinstance(v, Path)}
            facts = {k: dict(v) if isinstance(v, Mapping) else v for k, v in facts.items()}
            digest.update(repr(facts).encode())
        known = digest.hexdigest()
        vars(of)["_digest"] = known
    return known
