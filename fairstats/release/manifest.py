"""Write a release's manifest, and compute its entries from the content.

`fairstats.release.folder` reads and checks it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import json_text, write_text
from fairstats.benchmarks.declaration import Benchmark
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import MANIFEST, Release
from fairstats.release.tables import ReleaseInputs


def write_manifest(manifest: Mapping[str, Any], folder: Path) -> None:
    """Write a manifest into the folder of its release."""
    write_text(json_text(manifest), folder / MANIFEST)


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file of a release, except its manifest, by its path."""
    return {
        path.relative_to(folder).as_posix(): file_sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def previous_release(release: Release) -> dict[str, str]:
    """Return the hash of the previous manifest, which covers the hashes of all earlier files."""
    return {"release": release.name, "manifest_sha256": file_sha256(release.path / MANIFEST)}


def facts_of(of: ReleaseInputs, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return the manifest entries that are computed from a release's inputs and tables."""
    whole = {
        "answers": of.answers,
        "retrievals": of.retrievals,
        "ratings": of.ratings,
        "measures": of.measures,
        "submissions": of.submissions,
        **tables,
    }
    return {
        "rows": {name: len(table) for name, table in whole.items()},
        "answers": answer_summary(of.answers),
        "content": _content(whole, of),
    }


def answer_summary(answers: pd.DataFrame) -> list[dict[str, Any]]:
    """Count the answers and missing answers of each answer set."""
    optional = {c: answers.get(c) for c in ("snapshot", "collector")}
    frame = answers.assign(**optional, missing=answers["answer"].isna())
    keys = ["benchmark", "benchmark_version", "model", "snapshot", "strategy", "collector"]
    summary = frame.groupby(keys, as_index=False, dropna=False).agg(
        items=("item_id", "nunique"),
        answers=("status", "size"),
        missing=("missing", "sum"),
    )
    records: list[dict[str, Any]] = (
        summary.astype(object).where(summary.notna(), None).to_dict("records")
    )
    return records


def declared(one: Benchmark | Rubric) -> str:
    """Return everything that a benchmark or rubric declares, independent of file locations."""
    places = ("path", "keys_file", "items_file")
    values = {f.name: getattr(one, f.name) for f in fields(one) if f.name not in places}
    return json.dumps(values, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {f.name: getattr(value, f.name) for f in fields(value)}


def _content(tables: Mapping[str, pd.DataFrame], of: ReleaseInputs) -> dict[str, str]:
    """Return hashes of the published data, independent of parquet storage details.

    They decide whether two releases are the same: everything else can be computed from these.
    """
    texts = {name: table.to_csv(index=False) for name, table in tables.items()}
    for kind, given in (("benchmarks", of.benchmarks), ("rubrics", of.rubrics)):
        texts[kind] = "".join(declared(given[name]) for name in sorted(given))
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
