"""Recompute a release from its own folder, and name what differs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import fairstats
from fairstats.answers import read_answers
from fairstats.benchmarks import MISSING_POLICIES
from fairstats.names import file_sha256
from fairstats.problems import InputError, Problem
from fairstats.ratings.table import check_ratings, no_ratings
from fairstats.release_facts import facts_of
from fairstats.release_tables import TABLES, ReleaseInputs
from fairstats.report.api import write_api
from fairstats.report.context import DOWNLOADS, MANIFEST, RELEASES, Release, releases_of
from fairstats.report.downloads import write_table
from fairstats.retrievals import check_retrievals
from fairstats.retrieved_lists import no_retrievals
from fairstats.site_folder import API, LATEST, derived_files, extra_files
from fairstats.vignettes.measures import check_measures

#: What the tables of a release are made from.
_INPUTS = ("answers", "retrievals", "ratings", "measures")


@dataclass(frozen=True)
class Verification:
    """What was found in a release.

    Attributes
    ----------
    path : Path
        The release, or the site around the releases.
    files : int
        How many files were hashed.
    rows : dict of str to int
        How many rows of each table were recomputed; none for a site.
    problems : tuple of Problem
        Every file that is not as the manifest says, and the first figure of each table that the
        answers do not give. Empty for what is as it says it is.
    """

    path: Path
    files: int
    rows: dict[str, int]
    problems: tuple[Problem, ...]


def verify(path: str | os.PathLike[str]) -> list[Verification]:
    """Verify a release, or a site with all of its releases.

    Parameters
    ----------
    path : path
        A release's folder, or that of a site.

    Returns
    -------
    list of Verification
        One a release, the oldest first, and for a site one more. The hash of every file is
        recomputed; from the answers, retrievals, ratings, measures and benchmarks in the folder,
        with the arguments of the manifest, every table is, and from those the other forms of each
        table and what the manifest says of them (pages and PDFs are not drawn again); that the
        release before is the one that the manifest names is checked where it lies beside it. Of a
        site, every file around the releases is compared with what they give, and that none is gone
        or was put in.

    Raises
    ------
    InputError
        Where there is no release, or a manifest cannot be read.

    Notes
    -----
    Figures are compared to a relative 1e-9: libraries may differ in their last digit, and the
    manifest names those that the release was made with. Each manifest holds the hash of the one
    before it, so that a change to an old release shows in every later one. Whoever can change the
    whole folder can change all of them; against that, compare the newest manifest with one that
    was published elsewhere.
    """
    folder = Path(path)
    if folder.resolve().name == LATEST and (folder.resolve().parent / RELEASES).is_dir():
        name = read_manifest(folder)["release"]
        message = f"is a copy of release {name}, with links of its own"
        remedy = f"verify {folder.resolve().parent / RELEASES / name}, or the whole site"
        raise InputError([Problem(str(folder), message, remedy)])
    if (folder / MANIFEST).exists():
        return [_verified(folder)]
    for manifest in (folder / RELEASES).glob(f"[!.]*/{MANIFEST}"):
        read_manifest(manifest.parent)
    releases = releases_of(folder)
    if not releases:
        remedy = "name a release's folder, or the one that was published --out"
        raise InputError([Problem(str(folder), "there is no release", remedy)])
    return [*(_verified(release.path) for release in releases), _site(folder)]


def _site(folder: Path) -> Verification:
    remedy = "publish again: it is made from the releases"
    problems = []
    made = set()
    for name, content in derived_files(folder):
        made.add(name)
        path = folder / name
        if not path.is_file():
            problems.append(Problem(str(path), "is missing", remedy))
        elif path.read_bytes() != content:
            problems.append(Problem(str(path), "is not what the releases give", remedy))
    for name in extra_files(folder, made):
        problems.append(Problem(str(folder / name), "is not part of the site", "remove it"))
    problems += _order_problems(releases_of(folder))
    return Verification(folder, len(made), {}, tuple(problems))


def _verified(path: Path) -> Verification:
    manifest = read_manifest(path)
    problems = [*_file_problems(path, manifest["files"]), *_chain_problems(path, manifest)]
    changed = {problem.path for problem in problems}
    release = Release(path)
    rows = dict.fromkeys(TABLES, 0)
    # What was changed after the fact is not computed with: a hash has said so already.
    if not changed & {str(_table_path(release, name)) for name in (*_INPUTS, *TABLES)}:
        try:
            rows, figures = _recomputed(release, manifest)
            problems += figures
        except InputError as error:
            problems += error.problems
        except (pa.ArrowException, OSError) as error:
            problems.append(Problem(str(path), f"cannot be read ({error})", "publish it again"))
    return Verification(path, len(manifest["files"]), rows, tuple(problems))


def read_manifest(path: Path) -> dict[str, Any]:
    """A release's manifest.

    Raises
    ------
    InputError
        Where it is no manifest.
    """
    file = path / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        _check_manifest(manifest)
    except OSError as error:
        raise InputError([Problem(str(file), error.strerror or "unreadable", "check it")]) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        message = "is no manifest of a release"
        raise InputError([Problem(str(file), message, "publish the release again")]) from None
    return manifest


def _check_manifest(manifest: dict[str, Any]) -> None:
    """Raise ValueError, KeyError or TypeError where it is laid out otherwise than a manifest."""
    texts = [manifest["release"], manifest["fairstats"], *manifest["files"].values()]
    previous = manifest.get("previous")
    if previous is not None:
        texts += [previous["release"], previous["manifest_sha256"]]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    if datetime.fromisoformat(manifest["created_at"]).tzinfo is None:
        raise ValueError
    if not 0 < float(manifest["arguments"]["alpha"]) < 1:
        raise ValueError
    if manifest["arguments"]["missing"] not in (None, *MISSING_POLICIES):
        raise ValueError


def _file_problems(path: Path, hashes: dict[str, str]) -> Iterator[Problem]:
    there = {
        file.relative_to(path).as_posix()
        for file in sorted(path.rglob("*"))
        if (file.is_file() or file.is_symlink()) and file != path / MANIFEST
    }
    remedy = "take the release from where it was published"
    for name, sha256 in hashes.items():
        # The names come from the manifest: none may lead out of the release.
        if name not in there:
            yield Problem(str(path / name), "is missing", remedy)
        elif (path / name).is_symlink():
            yield Problem(str(path / name), "is a link, and no file of the release", remedy)
        elif file_sha256(path / name) != sha256:
            yield Problem(str(path / name), "was changed after it was published", remedy)
    for name in sorted(there - set(hashes)):
        yield Problem(str(path / name), "is not part of the release", "remove it")


def _chain_problems(path: Path, manifest: dict[str, Any]) -> Iterator[Problem]:
    """Whether the release before, where it lies beside this one, is the one it was made after."""
    previous = manifest.get("previous")
    if previous is None:
        return
    before = path.parent / Path(previous["release"]).name / MANIFEST
    if before.is_file() and file_sha256(before) != previous["manifest_sha256"]:
        message = f"is not the manifest that release {path.name} was published after"
        yield Problem(str(before), message, "take the release from where it was published")


def _order_problems(releases: list[Release]) -> Iterator[Problem]:
    """Whether each release names the one before it in time, so that none is gone or was put in."""
    names = [None, *(release.name for release in releases)]
    remedy = "take the releases from where they were published"
    for release, before in zip(releases, names, strict=False):
        manifest = str(release.path / MANIFEST)
        if release.path.name != release.name:
            message = f"is that of release {release.name}"
            yield Problem(manifest, message, "give the folder its name back")
        previous = release.manifest.get("previous") or {}
        if previous.get("release") != before:
            message = (
                f"was published after {previous.get('release') or 'no other release'}, but "
                f"{before or 'no other release'} stands before it here"
            )
            yield Problem(manifest, message, remedy)


def _fact_problems(release: Release, facts: dict[str, Any]) -> Iterator[Problem]:
    """What the manifest says of the content, where the content says otherwise."""
    told = json.loads(json.dumps(facts))
    for name, value in told.items():
        if release.manifest.get(name) != value:
            message = "is not what the content of the release gives"
            remedy = "take the release from where it was published"
            yield Problem(str(release.path / MANIFEST), message, remedy, column=name)


def _copy_problems(release: Release) -> Iterator[Problem]:
    """Whether CSV, JSON and the documents of the API say what the tables say."""
    folder = release.path / DOWNLOADS
    with tempfile.TemporaryDirectory(prefix="fairstats-verify-") as temporary:
        again = Path(temporary)
        for file in sorted(folder.glob("*.parquet")):
            if file.stem not in _INPUTS:
                write_table(pd.read_parquet(file), again / DOWNLOADS, file.stem)
        # What the documents look like is a matter of the version; the tables are not.
        if release.manifest["fairstats"] == fairstats.__version__:
            write_api(release, again / API, model_pages="../reports/models")
        for made in sorted(again.rglob("*")):
            name = made.relative_to(again)
            if made.suffix in (".csv", ".json", ".svg") and made.is_file():
                path = release.path / name
                if path.is_file() and path.read_bytes() != made.read_bytes():
                    message = "does not say what the tables of the release say"
                    remedy = "take the release from where it was published"
                    yield Problem(str(path), message, remedy)


def _table_path(release: Release, name: str) -> Path:
    return release.path / DOWNLOADS / f"{name}.parquet"


def _retrievals(release: Release) -> pd.DataFrame:
    found, path = release.retrievals, str(release.retrievals_path)
    return check_retrievals(found, path=path) if len(found) else no_retrievals()


def _ratings(release: Release) -> pd.DataFrame:
    found, path = release.ratings, str(release.ratings_path)
    if found.empty:
        return no_ratings()
    return check_ratings(found, rubrics=release.rubrics, path=path)


def _recomputed(release: Release, manifest: dict[str, Any]) -> tuple[dict[str, int], list[Problem]]:
    of = ReleaseInputs(
        answers=read_answers(release.answers_path),
        retrievals=_retrievals(release),
        ratings=_ratings(release),
        measures=check_measures(release.measures, path=str(release.measures_path)),
        missing=manifest["arguments"]["missing"],
        alpha=manifest["arguments"]["alpha"],
        benchmarks=release.benchmarks,
        rubrics=release.rubrics,
    )
    problems = []
    tables = {}
    for name, table in TABLES.items():
        found = table.make(of)
        tables[name] = found
        path = str(_table_path(release, name))
        problem = first_difference(release.table(name), found, table.keys, table.columns, path)
        if problem is not None:
            problems.append(problem)
    if not problems:
        # Hashes of figures hold to the last digit; they are compared where the figures are.
        published = {name: release.table(name) for name in TABLES}
        problems += _fact_problems(release, facts_of(of, published))
        problems += _copy_problems(release)
    return {name: len(table) for name, table in tables.items()}, problems


def first_difference(
    published: pd.DataFrame,
    found: pd.DataFrame,
    keys: tuple[str, ...],
    columns: tuple[str, ...],
    path: str,
) -> Problem | None:
    """The first figure of a published table that is not the one that was found."""
    remedy = "the answers in this release do not give it"
    if list(published.columns) != list(columns):
        return Problem(path, "has other columns than this version of fairstats gives", remedy)
    if len(published) != len(found):
        message = f"has {len(published):,} rows where the answers give {len(found):,}"
        return Problem(path, message, remedy)
    for column in columns:
        differ = _differ(published[column], found[column])
        if differ.any():
            place = int(np.flatnonzero(differ)[0])
            row = published.iloc[place]
            which = ", ".join(str(row[key]) for key in keys if not pd.isna(row[key]))
            message = f"{which}: recomputed as {found[column].iloc[place]}"
            value = str(row[column])
            return Problem(path, message, remedy, place + 1, column, value)
    return None


def _differ(published: pd.Series, found: pd.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if pd.api.types.is_numeric_dtype(found):
        a, b = (
            pd.to_numeric(side, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
            for side in (published, found)
        )
        return ~np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
    a, b = (side.astype("object").where(side.notna(), None) for side in (published, found))
    return np.array([x != y for x, y in zip(a, b, strict=True)], dtype=bool)
