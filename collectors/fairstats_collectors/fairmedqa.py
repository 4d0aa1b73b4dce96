"""Get the released FairMedQA answer files, each verified by its sha256."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats_collectors.amqa import (
    ReleasedArchive,
    ReleasedFile,
    released_archives,
    released_files,
)

_ADDRESS = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
# To connect, for each address of the host, and between two parts of a file. A packet that is lost
# on the way is sent again after one second.
_SECONDS = (3, 10)


@dataclass(frozen=True)
class Fetched:
    """Hold the verified files, and the names of those missing from a folder."""

    files: tuple[Path, ...]
    not_found: tuple[str, ...]


def fetch_fairmedqa(
    out: str | os.PathLike[str],
    *,
    source: str | os.PathLike[str] | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> Fetched:
    """Copy or download every listed answer file into a folder.

    Parameters
    ----------
    out : path
        The folder; verified files in it are left in place.
    source : path, optional
        Copy the files from this folder instead of downloading them. They are recognised by their
        sha256, whatever their names; missing ones are listed.
    say : callable, optional
        Called with one line before any download: how much, and from where.

    Returns
    -------
    Fetched

    Raises
    ------
    InputError
        If `source` is not a folder, a file cannot be downloaded whole, or has another sha256. Files
        that were verified before stay.
    """
    folder = Path(out)
    if source is not None:
        return _take(Path(source), folder)
    targets = {listed: folder / _name(listed) for listed in released_files()}
    lacking = [listed for listed, target in targets.items() if not _verified(target, listed)]
    if lacking:
        say(_announcement({_online(listed) for listed in lacking}))
    for listed in lacking:
        _download(listed, targets[listed], folder)
    return Fetched(tuple(targets.values()), ())


def _take(source: Path, folder: Path) -> Fetched:
    if not source.is_dir():
        raise InputError([Problem(str(source), "is not a folder", "give the folder of the files")])
    sizes = {listed.bytes for listed in released_files()}
    found: dict[str, Path] = {}
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        # Only a file of a listed size can be a listed one; others are not read.
        if path.stat().st_size in sizes:
            found.setdefault(file_sha256(path), path)
    files, not_found = [], []
    for listed in released_files():
        if listed.sha256 not in found:
            not_found.append(str(_name(listed)))
            continue
        target = folder / _name(listed)
        if not _verified(target, listed):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found[listed.sha256], target)
        files.append(target)
    return Fetched(tuple(files), tuple(not_found))


def _verified(target: Path, listed: ReleasedFile) -> bool:
    return target.exists() and file_sha256(target) == listed.sha256


def _online(listed: ReleasedFile) -> ReleasedFile | ReleasedArchive:
    """Return the download of a listed file: the file, or the archive that contains it."""
    archive, _, member = listed.path.partition("!")
    if not member:
        return listed
    return next(
        a for a in released_archives() if (a.repository, a.path) == (listed.repository, archive)
    )


def _announcement(online: set[ReleasedFile | ReleasedArchive]) -> str:
    count = "1 file" if len(online) == 1 else f"{len(online)} files"
    size = sum(one.bytes for one in online) / 1e6
    repositories = " and ".join(sorted({one.repository for one in online}))
    return f"Downloading {count} ({size:.1f} MB) of {repositories} from {_host()} ..."


def _host() -> str:
    return urlsplit(_ADDRESS).netloc


def _download(listed: ReleasedFile, target: Path, folder: Path) -> None:
    online = _online(listed)
    if online is listed:
        _retrieve(online, target)
        return
    path = folder / Path(online.path).name
    _retrieve(online, path)
    member = listed.path.partition("!")[2]
    with zipfile.ZipFile(path) as opened, opened.open(member) as stream:
        # One byte more than listed is enough to see that it is another file.
        content = stream.read(listed.bytes + 1)
    if hashlib.sha256(content).hexdigest() != listed.sha256:
        raise _another_file(listed.path)
    with whole_file(target) as temporary:
        temporary.write_bytes(content)


def _retrieve(online: ReleasedFile | ReleasedArchive, target: Path) -> None:
    import pooch
    import requests

    # All downloads were announced in one line already.
    pooch.get_logger().setLevel("WARNING")
    address = _ADDRESS.format(repository=online.repository, commit=online.commit, path=online.path)
    try:
        pooch.retrieve(
            address,
            known_hash=f"sha256:{online.sha256}",
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=_SECONDS),
        )
    except requests.RequestException as error:
        remedy = (
            f"check the network, or download github.com/{online.repository} at commit "
            f"{online.commit[:12]} yourself and give its folder with --from"
        )
        if isinstance(error, (requests.ConnectionError, requests.Timeout)):
            problem = Problem(_host(), "cannot be reached", remedy)
        else:
            answered = error.response
            cause = type(error).__name__ if answered is None else f"HTTP {answered.status_code}"
            problem = Problem(address, f"could not be downloaded ({cause})", remedy)
        raise InputError([problem]) from None
    except ValueError:
        raise _another_file(address) from None


def _another_file(name: str) -> InputError:
    message = "does not have the listed sha256"
    return InputError([Problem(name, message, "do not use it; report it to this project")])


def _name(listed: ReleasedFile) -> Path:
    return Path(listed.repository.split("/")[1]) / listed.path.rsplit("/", 1)[-1]
