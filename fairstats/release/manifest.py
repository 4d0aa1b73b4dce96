"""A release's manifest: its entries are computed from the content, written, read and checked."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem, laid_out
from fairstats._lib.safe_names import SHA256, file_sha256
from fairstats._lib.table_text import json_text, write_text
from fairstats._lib.untrusted_json import parse_json
from fairstats.benchmarks.declaration import MISSING_POLICIES, Benchmark
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import MANIFEST, Release

if TYPE_CHECKING:  # To open a release takes no statistics.
    from fairstats.release.tables import ReleaseInputs

RELEASE_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,40}")
#: At other levels, readers would mistake the verdicts for those at the usual level.
ALPHAS = (0.001, 0.1)
TAKE_AGAIN = "download the release again from where it was published"
IS_A_LINK = "is a link, not a file of the release"
#: Manifests are kilobytes.
_LARGEST_MANIFEST = 16 << 20
_ANSWERS = {"benchmark", "benchmark_version", "model", "strategy", "items", "answers", "missing"}
_ENTRIES = frozenset(
    (
        "answers",
        "arguments",
        "content",
        "created_at",
        "drawn_by",
        "fairstats",
        "files",
        "libraries",
        "measures",
        "overruled",
        "previous",
        "python",
        "ratings",
        "release",
        "retrievals",
        "rows",
        "sources",
    )
)


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


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a release's manifest.

    Raises
    ------
    InputError
        If it is not a manifest, or not a regular file.
    """
    file = path / MANIFEST
    try:
        mode = file.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise InputError([Problem(str(file), IS_A_LINK, TAKE_AGAIN)])
        if not stat.S_ISREG(mode):
            raise InputError([Problem(str(file), "is not a regular file", TAKE_AGAIN)])
        if problems := list(size_problems(file, _LARGEST_MANIFEST)):
            raise InputError(problems)
        with laid_out(file, "is not the manifest of a release", "publish the release again"):
            manifest: dict[str, Any] = parse_json(file.read_text(encoding="utf-8"))
            _check_manifest(manifest)
    except OSError as error:
        raise InputError(
            [Problem(str(file), error.strerror or "unreadable", "check the file")]
        ) from None
    return manifest


def _check_manifest(manifest: dict[str, Any]) -> None:
    """Raise an error if it does not have the layout of a manifest."""
    if unknown := set(manifest) - _ENTRIES:
        raise ValueError(unknown)
    names, hashes = [manifest["release"]], list(manifest["files"].values())
    previous = manifest.get("previous")
    if previous is not None:
        names.append(previous["release"])
        hashes.append(previous["manifest_sha256"])
    # A release's name becomes part of a path.
    if not all(RELEASE_NAME.fullmatch(name) for name in names):
        raise ValueError
    if not all(SHA256.fullmatch(text) for text in [*hashes, *manifest["content"].values()]):
        raise ValueError
    if not all(isinstance(manifest[name], str) for name in ("fairstats", "drawn_by")):
        raise TypeError
    if not all(entry.keys() >= _ANSWERS for entry in manifest["answers"]):
        raise KeyError
    for name in ("libraries", "rows", "content"):
        if not all(isinstance(value, (str, int)) for value in manifest[name].values()):
            raise TypeError
    if not all(isinstance(text, str) for one in manifest["sources"] for text in one.values()):
        raise TypeError
    # Releases made before answers were screened have none.
    overruled = manifest.get("overruled", [])
    if not isinstance(overruled, list) or not all(isinstance(name, str) for name in overruled):
        raise TypeError
    if datetime.fromisoformat(manifest["created_at"]).tzinfo is None:
        raise ValueError
    pd.Timestamp(manifest["created_at"])
    alpha = manifest["arguments"]["alpha"]
    if isinstance(alpha, bool) or not math.isfinite(alpha) or not ALPHAS[0] <= alpha <= ALPHAS[1]:
        raise ValueError
    if manifest["arguments"]["missing"] not in (None, *MISSING_POLICIES):
        raise ValueError
    if set(manifest["arguments"]) != {"missing", "alpha", "renderer"}:
        raise ValueError
    if not isinstance(manifest["arguments"]["renderer"], str):
        raise TypeError


def chain_problems(path: Path, manifest: dict[str, Any]) -> Iterator[Problem]:
    """Report earlier releases in this site that differ from the one their successor recorded.

    Manifests that contain each other's hashes cannot form a cycle, so the loop ends.
    """
    after = path.name
    while (previous := manifest.get("previous")) is not None:
        before = path.parent / previous["release"]
        file = before / MANIFEST
        if not os.path.lexists(file):
            return
        try:
            manifest = read_manifest(before)
        except InputError as error:
            yield from error.problems
            return
        if file_sha256(file) != previous["manifest_sha256"]:
            message = f"is not the manifest that preceded release {after}"
            yield Problem(str(file), message, TAKE_AGAIN)
            return
        after = before.name


def size_problems(file: Path, largest: int) -> Iterator[Problem]:
    """Report a file that is larger than such a file ever is."""
    size = file.stat().st_size
    if size > largest:
        message = f"has {size:,} bytes; the limit for such a file is {largest:,}"
        yield Problem(str(file), message, TAKE_AGAIN)
