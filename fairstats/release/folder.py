"""A release's folder, read safely: only regular files inside it, and its manifest."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem, laid_out
from fairstats._lib.safe_names import SHA256, file_sha256
from fairstats._lib.untrusted_json import parse_json
from fairstats.benchmarks.terms import MISSING_POLICIES
from fairstats.release.contents import MANIFEST, RELEASES, Release, is_release, named_release

RELEASE_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,40}")
#: At other levels, readers would mistake the verdicts for those at the usual level.
ALPHAS = (0.001, 0.1)
TAKE_AGAIN = "download the release again from where it was published"
#: Manifests and declarations are kilobytes; vignettes' texts and keys are some megabytes.
_LARGEST_MANIFEST = 16 << 20
_LARGEST_DECLARATION = 64 << 20
#: Folders that are read in full before anything is recomputed.
_DECLARATIONS = ("benchmarks", "rubrics")
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
_LINK = "is a link, not a file of the release"


def open_release(path: str | os.PathLike[str]) -> Release:
    """Open a release after checking its files against its manifest.

    Parameters
    ----------
    path : path
        The release's folder, or the name of a release in ``site/``.

    Raises
    ------
    InputError
        If the folder is not a release, or for each file that was changed, added or removed.
    """
    folder = Path(path)
    if not folder.is_dir():
        folder = named_release(folder) or folder
    if not is_release(folder):
        remedy = "give the folder of a release, e.g. site/v/2026.11"
        raise InputError([Problem(str(folder), "contains no release", remedy)])
    if problems := list(file_problems(folder, read_manifest(folder)["files"])):
        raise InputError(problems)
    return Release(folder)


def check_manifests(site: Path) -> None:
    """Check that the manifest of each release of a site can be read.

    Raises
    ------
    InputError
        For a release that is a link, or has an invalid manifest.
    """
    for path in [site / RELEASES, *sorted((site / RELEASES).glob("[!.]*"))]:
        if path.is_symlink():
            message = "is a link, not a folder of the site"
            raise InputError([Problem(str(path), message, TAKE_AGAIN)])
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
        if name.startswith(tuple(f"{folder}/" for folder in _DECLARATIONS)):
            yield from _size_problems(file, _LARGEST_DECLARATION)


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
                    problems.append(Problem(str(path), _LINK, TAKE_AGAIN))
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    files[path.relative_to(folder).as_posix()] = path
                else:
                    problems.append(Problem(str(path), "is not a regular file", TAKE_AGAIN))
    return dict(sorted(files.items())), sorted(problems, key=lambda problem: problem.path)


def _size_problems(file: Path, largest: int) -> Iterator[Problem]:
    size = file.stat().st_size
    if size > largest:
        message = f"has {size:,} bytes; the limit for such a file is {largest:,}"
        yield Problem(str(file), message, TAKE_AGAIN)


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
            raise InputError([Problem(str(file), _LINK, TAKE_AGAIN)])
        if not stat.S_ISREG(mode):
            raise InputError([Problem(str(file), "is not a regular file", TAKE_AGAIN)])
        if problems := list(_size_problems(file, _LARGEST_MANIFEST)):
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
