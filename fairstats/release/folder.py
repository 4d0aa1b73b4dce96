"""Open a release's folder safely: only regular files inside it, as its manifest lists them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats.release.contents import MANIFEST, RELEASES, Release, is_release, named_release
from fairstats.release.manifest import IS_A_LINK, TAKE_AGAIN, read_manifest, size_problems

#: Declarations, with vignettes' texts and keys, are some megabytes.
_LARGEST_DECLARATION = 64 << 20
#: Folders that are read in full before anything is recomputed.
_DECLARATIONS = ("benchmarks", "rubrics")


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
            yield from size_problems(file, _LARGEST_DECLARATION)


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
                    problems.append(Problem(str(path), IS_A_LINK, TAKE_AGAIN))
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    files[path.relative_to(folder).as_posix()] = path
                else:
                    problems.append(Problem(str(path), "is not a regular file", TAKE_AGAIN))
    return dict(sorted(files.items())), sorted(problems, key=lambda problem: problem.path)
