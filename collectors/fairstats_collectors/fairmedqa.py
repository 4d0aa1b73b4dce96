"""Get the released FairMedQA answer files, each verified by its sha256."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats_collectors.amqa import ReleasedFile, released_archives, released_files

_ADDRESS = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
_SECONDS = 30


@dataclass(frozen=True)
class Fetched:
    """The verified files, and the names of those that a folder did not hold."""

    files: tuple[Path, ...]
    not_found: tuple[str, ...]


def fetch_fairmedqa(
    out: str | os.PathLike[str], *, source: str | os.PathLike[str] | None = None
) -> Fetched:
    """Get every listed answer file into a folder.

    Parameters
    ----------
    out : path
        The folder; files that are there and verify are kept.
    source : path, optional
        Take the files from this folder instead of the network. They are known by their sha256,
        whatever their names; those that are not there are named.

    Returns
    -------
    Fetched

    Raises
    ------
    InputError
        When `source` is no folder, when a file on the network has another sha256, or when the
        network cannot be reached; files that were verified before that are kept.
    """
    folder = Path(out)
    if source is not None:
        return _take(Path(source), folder)
    files = []
    for listed in released_files():
        target = folder / _name(listed)
        if not (target.exists() and file_sha256(target) == listed.sha256):
            _download(listed, target, folder)
        files.append(target)
    return Fetched(tuple(files), ())


def _take(source: Path, folder: Path) -> Fetched:
    if not source.is_dir():
        raise InputError([Problem(str(source), "is no folder", "name the folder of the files")])
    sizes = {listed.bytes for listed in released_files()}
    found: dict[str, Path] = {}
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        # Only a file of a listed size can be a listed one: nothing else is read.
        if path.stat().st_size in sizes:
            found.setdefault(file_sha256(path), path)
    files, not_found = [], []
    for listed in released_files():
        if listed.sha256 not in found:
            not_found.append(str(_name(listed)))
            continue
        target = folder / _name(listed)
        if not (target.exists() and file_sha256(target) == listed.sha256):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found[listed.sha256], target)
        files.append(target)
    return Fetched(tuple(files), tuple(not_found))


def _download(listed: ReleasedFile, target: Path, folder: Path) -> None:
    archive, _, member = listed.path.partition("!")
    if not member:
        _retrieve(listed.repository, listed.commit, listed.path, listed.sha256, target)
        return
    packed = next(
        a for a in released_archives() if (a.repository, a.path) == (listed.repository, archive)
    )
    path = folder / Path(archive).name
    _retrieve(packed.repository, packed.commit, archive, packed.sha256, path)
    with zipfile.ZipFile(path) as opened, opened.open(member) as stream:
        # One byte more than listed is enough to see that it is another file.
        content = stream.read(listed.bytes + 1)
    if hashlib.sha256(content).hexdigest() != listed.sha256:
        raise _another_file(f"{archive}!{member}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _retrieve(repository: str, commit: str, path: str, sha256: str, target: Path) -> None:
    import pooch
    import requests

    address = _ADDRESS.format(repository=repository, commit=commit, path=path)
    try:
        pooch.retrieve(
            address,
            known_hash=f"sha256:{sha256}",
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=_SECONDS),
        )
    except requests.RequestException as error:
        remedy = (
            f"check the network, or get github.com/{repository} at commit {commit[:12]} by other "
            "means and name its folder with --from"
        )
        cause = type(error).__name__
        raise InputError([Problem(address, f"could not be reached ({cause})", remedy)]) from None
    except ValueError:
        raise _another_file(address) from None


def _another_file(name: str) -> InputError:
    message = "has another sha256 than the listed one"
    return InputError([Problem(name, message, "do not use it; report it to this project")])


def _name(listed: ReleasedFile) -> Path:
    return Path(listed.repository.split("/")[1]) / listed.path.rsplit("/", 1)[-1]
