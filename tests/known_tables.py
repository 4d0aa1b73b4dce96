"""The tables of releases, each computed once in a run of the tests for the same inputs.

Publishing the same small answers again, and verifying what was published, would compute the same
tables hundreds of times. All workers share one folder of results.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairstats._lib.atomic_files import whole_file
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.release.stored_answers import StoredAnswers
from fairstats.release.tables import TABLES, ReleaseInputs

Make = Callable[[ReleaseInputs], pd.DataFrame]

#: The inputs that most tables are made from, and those of the others.
_READ = ("answers", "missing", "alpha", "benchmarks")
_MORE = {
    "comparisons": ("successors",),
    "overlap": ("retrievals",),
    "retrieval_effects": ("retrievals",),
    "screening": ("successors",),
    "vignette_findings": ("measures",),
}


def known_tables(folder: Path) -> dict[str, Any]:
    """Return the tables of releases, each made once; see `keep_ratings` for those of ratings."""
    return {
        name: replace(table, make=made_once(name, table.make, folder))
        for name, table in TABLES.items()
        if name not in RATING_TABLES
    }


def keep_ratings(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make each table of ratings once, for releases, reports and commands."""
    for name, table in RATING_TABLES.items():

        def of(*inputs: Any, name: str = name, make: Any = table.of) -> pd.DataFrame:
            digests = "".join(map(_digest, inputs))
            return _kept(folder, name, digests, lambda: make(*inputs))

        patch.setitem(vars(table), "of", of)


def made_once(name: str, make: Make, folder: Path) -> Make:
    """Return a function that makes a table of a release, but reuses stored results."""
    read = (*_READ, *_MORE.get(name, ()))

    def made(of: ReleaseInputs) -> pd.DataFrame:
        digests, views = (vars(of).setdefault(kept, {}) for kept in ("_digests", "_views"))
        for one in read:
            if one not in digests:
                digests[one] = _digest(getattr(of, one))
        if read not in views:
            views[read] = copy.copy(of)
            # A table that read another input would fail.
            unread = {one.name: None for one in fields(of) if one.name not in read}
            vars(views[read]).update(unread)
        return _kept(folder, name, "".join(digests[one] for one in read), lambda: make(views[read]))

    return made


def _kept(folder: Path, name: str, digests: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Return a stored table; make and store it if there is none."""
    path = folder / f"{name}-{hashlib.sha256(digests.encode()).hexdigest()}.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())
    table = make()
    # Another worker may be reading.
    with whole_file(path) as temporary:
        temporary.write_bytes(pickle.dumps(table))
    return table


def _digest(value: Any) -> str:
    """Return a hash of an input of tables."""
    digest = hashlib.sha256()
    if isinstance(value, StoredAnswers):
        digest.update(value.sha256.encode())
        value = value.units
    if isinstance(value, pd.DataFrame):
        digest.update(repr([*value.dtypes.items()]).encode())
        digest.update(pd.util.hash_pandas_object(value).to_numpy().tobytes())
    elif isinstance(value, Mapping) and all(map(is_dataclass, value.values())):
        for declared in value.values():
            # The paths of its files do not matter.
            facts = {k: v for k, v in vars(declared).items() if not isinstance(v, Path)}
            facts = {k: dict(v) if isinstance(v, Mapping) else v for k, v in facts.items()}
            digest.update(repr(facts).encode())
    else:
        digest.update(repr(value).encode())
    return digest.hexdigest()
