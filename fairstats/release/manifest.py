"""A release's folder and its manifest: made, read and checked before anything in it is used."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Problem, input_error, refuse
from fairstats._lib.safe_names import SHA256, declared, file_sha256, text_sha256
from fairstats._lib.table_text import hash_rows, json_text, records, write_text
from fairstats._lib.untrusted_files import checked, read_text
from fairstats.benchmarks.declaration import MissingPolicy
from fairstats.comparisons.successors import ModelFacts
from fairstats.release.contents import (
    INPUTS,
    MANIFEST,
    RELEASES,
    Release,
    is_release,
    named_release,
    releases_of,
)
from fairstats.release.stored_answers import StoredAnswers, summary_of

if TYPE_CHECKING:  # To open a release takes no statistics.
    from fairstats.release.tables import ReleaseInputs


RELEASE_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,40}")
#: At other levels, readers would mistake the verdicts for those at the usual level.
ALPHAS = (0.001, 0.1)
TAKE_AGAIN = "download the release again from where it was published"
_IS_A_LINK = "is a link, not a file of the release"
#: Manifests are kilobytes.
_LARGEST_MANIFEST = 16 << 20
#: The most characters of a reason to publish answers that screening blocks.
_LONGEST_REASON = 500
#: Declarations, with vignettes' texts and keys, are some megabytes.
_LARGEST_DECLARATION = 64 << 20
# Folders that are read in full before anything is recomputed.
_DECLARATIONS = ("benchmarks/", "rubrics/")


def _of_time(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("has no time zone")
    pd.Timestamp(text)
    return text


def reason_problem(text: str) -> str:
    """Return what is wrong with a reason to publish blocked answers; empty if it is right."""
    if text.strip() and len(text) <= _LONGEST_REASON and text.isprintable():
        return ""
    return f"must be a reason of 1 to {_LONGEST_REASON} printable characters"


def _of_reason(text: str) -> str:
    if problem := reason_problem(text):
        raise ValueError(problem)
    return text


# A release's name becomes part of a path.
_Name = Annotated[str, Field(pattern=f"^{RELEASE_NAME.pattern}$")]
_Sha256 = Annotated[str, Field(pattern=f"^{SHA256.pattern}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Arguments(_Strict):
    missing: MissingPolicy | None
    alpha: Annotated[float, Field(ge=ALPHAS[0], le=ALPHAS[1], allow_inf_nan=False)]
    renderer: str


class _Previous(BaseModel):
    release: _Name
    manifest_sha256: _Sha256


class _Unit(_Strict):
    benchmark: str
    benchmark_version: str
    model: str
    strategy: str


class _AnswerSet(_Unit):
    model_config = ConfigDict(extra="allow")

    items: int
    answers: int
    missing: int


class _Overruled(_Unit):
    reason: Annotated[str, AfterValidator(_of_reason)]


class _Manifest(_Strict):
    release: _Name
    created_at: Annotated[str, AfterValidator(_of_time)]
    fairstats: str
    python: Any = None
    libraries: dict[str, str]
    arguments: _Arguments
    sources: list[dict[str, str]]
    # Why answers were published although screening blocks them.
    overruled: list[_Overruled] = []
    successors: dict[str, str] = {}
    models: dict[str, ModelFacts] = {}
    rows: dict[str, int]
    answers: list[_AnswerSet]
    content: dict[str, _Sha256]
    previous: _Previous | None = None
    drawn_by: str
    files: dict[str, _Sha256]
    # Entries of older versions of fairstats, which `fairstats verify` reports.
    measures: Any = None
    ratings: Any = None
    retrievals: Any = None


_MANIFEST = TypeAdapter(_Manifest)


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
    whole = {name: getattr(of, name) for name in INPUTS} | dict(tables)
    return {
        "rows": {name: len(table) for name, table in whole.items()},
        "answers": answer_summary(of.answers),
        "content": _content(whole, of),
    }


def answer_summary(answers: pd.DataFrame | StoredAnswers) -> list[dict[str, Any]]:
    """Return the manifest's entries on the answer sets."""
    return records(summary_of(answers) if isinstance(answers, pd.DataFrame) else answers.summary)


def _content(
    tables: Mapping[str, pd.DataFrame | StoredAnswers], of: ReleaseInputs
) -> dict[str, str]:
    """Return hashes of the published data, independent of parquet storage details.

    They decide whether two releases are the same: everything else can be computed from these.
    """
    hashes = {
        name: _csv_sha256(table) if isinstance(table, pd.DataFrame) else table.sha256
        for name, table in tables.items()
    }
    texts = {
        kind: "".join(declared(given[name]) for name in sorted(given))
        for kind, given in (("benchmarks", of.benchmarks), ("rubrics", of.rubrics))
    }
    if of.successors:
        texts["successors"] = json.dumps(sorted(of.successors.items()))
    if of.model_facts:
        texts["models"] = json.dumps(of.model_facts, sort_keys=True)
    return hashes | {name: text_sha256(text) for name, text in texts.items()}


def _csv_sha256(table: pd.DataFrame) -> str:
    """Return the hash of a table as CSV."""
    found = hashlib.sha256()
    hash_rows(found, table, header=True)
    return found.hexdigest()


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a release's manifest; refuse a file that is none."""
    file = path / MANIFEST
    if file.is_symlink():
        raise input_error(file, _IS_A_LINK, TAKE_AGAIN)
    message, remedy = "is not the manifest of a release", "publish the release again"
    found = checked(_MANIFEST, read_text(file, _LARGEST_MANIFEST), file, message, remedy)
    return found.model_dump(exclude_unset=True)


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


def open_release(path: AnyPath) -> Release:
    """Open a release after checking its files against its manifest.

    `path` is its folder, its name in ``site/``, or a site with one release.
    """
    folder = Path(path)
    if not folder.is_dir():
        folder = named_release(folder) or folder
    if not is_release(folder):
        there = [release.path for release in releases_of(folder)]
        if len(there) != 1:
            message = "is a site with several releases" if there else "contains no release"
            example = there[-1] if there else "site/v/2026.11"
            raise input_error(folder, message, f"give the folder of a release, e.g. {example}")
        folder = there[0]
    refuse(file_problems(folder, read_manifest(folder)["files"]))
    return Release(folder)


def check_manifests(site: Path) -> None:
    """Check that the manifest of each release of a site can be read."""
    for path in [site / RELEASES, *sorted((site / RELEASES).glob("[!.]*"))]:
        if path.is_symlink():
            raise input_error(path, "is a link, not a folder of the site", TAKE_AGAIN)
        if path.name != RELEASES and os.path.lexists(path / MANIFEST):
            read_manifest(path)


def file_problems(path: Path, hashes: dict[str, str]) -> Iterator[Problem]:
    """Report every file that differs from the manifest, and anything that is not a regular file.

    Links are not followed, and only regular files inside the folder are opened.
    """
    there, problems = regular_files(path)
    yield from problems
    named = {problem.path for problem in problems}
    for name, sha256 in hashes.items():
        # The names come from the manifest: look them up, but do not open them.
        if name in there:
            if file_sha256(there[name]) != sha256:
                yield Problem(str(path / name), "was changed after it was published", TAKE_AGAIN)
        elif str(path / name) not in named:
            yield Problem(str(path / name), "is missing", TAKE_AGAIN)
    for name in sorted(set(there) - set(hashes) - {MANIFEST}):
        yield Problem(str(path / name), "is not part of the release", "remove it")
    for name, file in there.items():
        size = file.stat().st_size
        if name.startswith(_DECLARATIONS) and size > _LARGEST_DECLARATION:
            message = f"has {size:,} bytes; the limit for such a file is {_LARGEST_DECLARATION:,}"
            yield Problem(str(file), message, TAKE_AGAIN)


def regular_files(folder: Path) -> tuple[dict[str, Path], list[Problem]]:
    """Return the regular files in a folder by name, and a problem for anything else.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "a").write_text("text")
    4
    >>> (folder / "b").symlink_to("/dev/zero")
    >>> files, problems = regular_files(folder)
    >>> list(files), [problem.message for problem in problems]
    (['a'], ['is a link, not a file of the release'])
    """
    files: dict[str, Path] = {}
    problems = []
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.is_symlink():
                    problems.append(Problem(str(path), _IS_A_LINK, TAKE_AGAIN))
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    files[path.relative_to(folder).as_posix()] = path
                else:
                    problems.append(Problem(str(path), "is not a regular file", TAKE_AGAIN))
    return dict(sorted(files.items())), sorted(problems, key=lambda problem: problem.path)
