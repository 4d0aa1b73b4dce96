"""Files that are written completely or not at all, and temporary folders that do not stay."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairstats._lib.problems import input_error
from fairstats._lib.safe_names import digest

try:
    import fcntl
except ImportError:  # not on this system: two processes can change a folder at once there
    fcntl = None  # type: ignore[assignment]

# Processes of other machines or containers have numbers of their own, and locks as well on most
# network file systems. So what they left unfinished is not removed here.
_MACHINE = digest(platform.node())
_TEMPORARY = re.compile(rf"\..+\.{_MACHINE}-(\d+)\.tmp")
_NAME = re.compile(rf"fairstats-[a-z]+-{_MACHINE}-(\d+)-\w+")


def unfinished(path: Path) -> Path:
    """Return the hidden path next to `path` where this process makes it, to rename it at the end.

    Examples
    --------
    >>> unfinished(Path("a.txt")).match(".a.txt.*-*.tmp")
    True
    """
    return path.with_name(f".{path.name}.{_MACHINE}-{os.getpid()}.tmp")


@contextmanager
def unfinished_folder(path: Path) -> Iterator[Path]:
    """Give the path of `unfinished` to make a folder there; what is still there is removed."""
    building = unfinished(path)
    try:
        yield building
    finally:
        shutil.rmtree(building, ignore_errors=True)


@contextmanager
def locked(folder: Path, *inside: str) -> Iterator[None]:
    """Hold a folder, which is created if missing; other processes of this machine wait.

    The folder itself is locked: a lock file would be published with it, or could be in another
    place for another process. The system releases the lock when the process ends, even after a
    crash. What dead processes left unfinished in it, and in the folders `inside`, is removed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise input_error(folder, "is not a directory", "name another") from None
    if fcntl is None:
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX)
        except OSError as error:
            message = f"cannot be locked ({error.strerror})"
            remedy = "use a folder on a disk of this machine, and copy it"
            raise input_error(folder, message, remedy) from None
        for path in (folder, *(folder / name for name in inside)):
            if not path.is_symlink():
                _sweep_unfinished(path, every=True)
        yield
    finally:
        os.close(opened)


def _sweep_unfinished(folder: Path, *, every: bool) -> None:
    """Remove what ended processes of this machine left unfinished in a folder.

    With its lock, everything unfinished is removed: nobody else writes there.
    """
    for path in list(folder.glob(".*.tmp")):
        found = _TEMPORARY.fullmatch(path.name)
        if not found or not (every or (_is_ours(path) and not _runs(int(found[1])))):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            # Another process may be sweeping as well.
            path.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it replaces `path` if there was no error.

    Files next to it that ended processes of this machine left unfinished are removed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new" / "a.txt"
    >>> with whole_file(path) as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> path.read_text(), len(list(path.parent.iterdir()))
    ('all of it', 1)
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep_unfinished(path.parent, every=False)
    temporary = unfinished(path)
    try:
        with named_errors(path):
            yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name the file in write errors that do not name it, e.g. if the disk is full.

    Examples
    --------
    >>> try:
    ...     with named_errors(Path("a.txt")):
    ...         raise OSError(28, "No space left on device")
    ... except OSError as error:
    ...     print(error.filename)
    a.txt
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def temporary_folder(kind: str) -> Iterator[Path]:
    """Give a folder of this process, and remove it at the end.

    Its name contains `kind`, the machine and the process id. Folders of this machine's processes
    that ended without removing them (because they were killed) are removed first.

    Examples
    --------
    >>> with temporary_folder("example") as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    parent = Path(tempfile.gettempdir())
    _sweep(parent)
    prefix = f"fairstats-{kind}-{_MACHINE}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as folder:
        yield Path(folder)


def _sweep(folder: Path) -> None:
    for path in folder.glob("fairstats-*"):
        found = _NAME.fullmatch(path.name)
        if found and not path.is_symlink() and _is_ours(path) and not _runs(int(found[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _runs(process: int) -> bool:
    # Windows has no signal 0: sending it would end the process.
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
