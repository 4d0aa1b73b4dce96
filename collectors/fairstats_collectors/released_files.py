"""Get files that others released: the answers of FairMedQA and the replies of BiasMedQA.

They are listed in ``data/sources``, and each is verified by its sha256.
"""

from __future__ import annotations

import csv
import hashlib
import shutil
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.installation import resource
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, input_error, keyword
from fairstats._lib.safe_names import file_sha256

_ADDRESS = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
# To connect, for each address of the host, and between two parts of a file. A packet that is lost
# on the way is sent again after one second.
_SECONDS = (3, 10)


@dataclass(frozen=True)
class ListedFile:
    """A file or an archive; a file inside an archive has the path ``archive!member``."""

    repository: str
    commit: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Fetched:
    """Hold the verified files, and the names of those missing from a folder."""

    files: tuple[Path, ...]
    not_found: tuple[str, ...]


@cache
def read_list(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a list in ``data/sources``."""
    with resource("data", "sources", name).open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def listed_file(row: Mapping[str, str]) -> ListedFile:
    """Return the file in a row of a list."""
    path, sha256 = row["path"], row["sha256"]
    return ListedFile(row["repository"], row["commit"], path, int(row["bytes"]), sha256)


@dataclass(frozen=True)
class ReleasedFile(ListedFile):
    """A released answer file as listed in ``data/sources/fairmedqa.csv``."""

    rows: int
    model: str
    snapshot: str
    strategy: str
    benchmark: str
    benchmark_version: str


def released_files() -> tuple[ReleasedFile, ...]:
    """Return every listed answer file."""
    numbers = ("bytes", "rows")
    rows: list[dict[str, Any]] = [
        row | {name: int(row[name]) for name in numbers}
        for row in read_list("fairmedqa.csv")
        if row["model"]
    ]
    return tuple(ReleasedFile(**row) for row in rows)


def released_archives() -> tuple[ListedFile, ...]:
    """Return every listed archive."""
    rows = read_list("fairmedqa.csv")
    return tuple(listed_file(row) for row in rows if not row["model"])


def fetch_fairmedqa(
    out: AnyPath, *, source: AnyPath | None = None, say: Callable[[str], object] = lambda line: None
) -> Fetched:
    """Copy or download every listed answer file into a folder per repository.

    Parameters and errors are those of `fetch_listed`.
    """
    # The file's name, without its folders in the repository or archive.
    listed = {
        Path(one.repository.split("/")[1]) / one.path.rsplit("/", 1)[-1]: one
        for one in released_files()
    }
    return fetch_listed(listed, out, archives=released_archives(), source=source, say=say)


def released_replies() -> dict[Path, ListedFile]:
    """Return the listed files that can be imported, by their paths in the fetched folder.

    Each is in the folder of its model, from which `import_biasmedqa` takes the model's name.
    """
    files = map(listed_file, read_list("biasmedqa.csv"))
    return {Path(one.repository.split("/")[1], *one.path.split("/")[-2:]): one for one in files}


def fetch_biasmedqa(
    out: AnyPath, *, source: AnyPath | None = None, say: Callable[[str], object] = lambda line: None
) -> Fetched:
    """Copy or download every listed file of replies into the folder of its model.

    Parameters and errors are those of `fetch_listed`.
    """
    return fetch_listed(released_replies(), out, source=source, say=say)


def fetch_listed(
    listed: Mapping[Path, ListedFile],
    out: AnyPath,
    *,
    archives: Iterable[ListedFile] = (),
    source: AnyPath | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> Fetched:
    """Copy or download every listed file into a folder.

    Parameters
    ----------
    listed : mapping of path to ListedFile
        The files by their paths in the folder.
    out : path
        The folder; verified files in it are left in place.
    archives : iterable of ListedFile
        The archives that contain files.
    source : path, optional
        Copy the files from this folder instead of downloading them. They are recognised by their
        sha256, whatever their names; missing ones are listed.
    say : callable, optional
        Called with one line before any download: how much, and from where.

    Raises
    ------
    InputError
        If `source` is not a folder, a file cannot be downloaded whole, or has another sha256. Files
        that were verified before stay.
    """
    folder = Path(out)
    if source is not None:
        return _take(listed, Path(source), folder)
    targets = {folder / name: one for name, one in listed.items()}
    online = {
        target: _online(one, archives)
        for target, one in targets.items()
        if not _verified(target, one)
    }
    if online:
        say(_announcement(set(online.values())))
    new = {path for path in (folder, *(t.parent for t in targets)) if not path.exists()}
    try:
        for target, download in online.items():
            _download(targets[target], download, target, folder)
    except _Unreachable as error:
        for path in sorted(new, reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        sources = sorted({f"{one.repository} at {one.commit[:12]}" for one in online.values()})
        remedy = (
            f"check the network, or download these from github.com yourself and give their "
            f"folder with {keyword('source')}: {', '.join(sources)}"
        )
        raise input_error(error.where, error.message, remedy) from None
    return Fetched(tuple(targets), ())


class _Unreachable(Exception):
    """Raised if a file could not be downloaded."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(where, message)
        self.where, self.message = where, message


def _take(listed: Mapping[Path, ListedFile], source: Path, folder: Path) -> Fetched:
    if not source.is_dir():
        raise input_error(source, "is not a folder", "give the folder of the files")
    sizes = {one.bytes for one in listed.values()}
    found: dict[str, Path] = {}
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        # Only a file of a listed size can be a listed one; others are not read.
        if path.stat().st_size in sizes:
            found.setdefault(file_sha256(path), path)
    files, not_found = [], []
    for name, one in listed.items():
        if one.sha256 not in found:
            not_found.append(str(name))
            continue
        target = folder / name
        if not _verified(target, one):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found[one.sha256], target)
        files.append(target)
    return Fetched(tuple(files), tuple(not_found))


def _verified(target: Path, listed: ListedFile) -> bool:
    return target.exists() and file_sha256(target) == listed.sha256


def _online(listed: ListedFile, archives: Iterable[ListedFile]) -> ListedFile:
    """Return the download of a listed file: the file, or the archive that contains it."""
    archive, _, member = listed.path.partition("!")
    if not member:
        return listed
    return next(a for a in archives if (a.repository, a.path) == (listed.repository, archive))


def _announcement(online: set[ListedFile]) -> str:
    count = "1 file" if len(online) == 1 else f"{len(online)} files"
    size = sum(one.bytes for one in online) / 1e6
    repositories = " and ".join(sorted({one.repository for one in online}))
    return f"Downloading {count} ({size:.1f} MB) of {repositories} from {_host()} ..."


def _host() -> str:
    return urlsplit(_ADDRESS).netloc


def _download(listed: ListedFile, online: ListedFile, target: Path, folder: Path) -> None:
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


def _retrieve(online: ListedFile, target: Path) -> None:
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
        if isinstance(error, (requests.ConnectionError, requests.Timeout)):
            raise _Unreachable(_host(), "cannot be reached") from None
        answered = error.response
        cause = type(error).__name__ if answered is None else f"HTTP {answered.status_code}"
        raise _Unreachable(address, f"could not be downloaded ({cause})") from None
    except ValueError:
        raise _another_file(address) from None


def _another_file(name: str) -> InputError:
    message = "does not have the listed sha256"
    return input_error(name, message, "do not use it; report it to this project")
