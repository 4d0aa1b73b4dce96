"""Files that are written completely or not at all, and temporary folders that do not stay."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = re.compile(r"fairstats-[a-z]+-(\d+)-\w+")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it replaces `path` if there was no error.

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
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
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
def temporary_folder(kind: str, *, within: Path | None = None) -> Iterator[Path]:
    """Give a folder of this process, and remove it at the end.

    Parameters
    ----------
    kind : str
        Its purpose, in lower case; it becomes part of the name.
    within : Path, optional
        The parent folder; by default the system's temporary folder.

    Yields
    ------
    Path
        The folder. Its name contains the process id. Folders of processes that ended without
        removing them (because they were killed) are removed first.

    Examples
    --------
    >>> with temporary_folder("example") as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    parent = within or Path(tempfile.gettempdir())
    _sweep(parent)
    prefix = f"fairstats-{kind}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as folder:
        yield Path(folder)


def _sweep(folder: Path) -> None:
    # Windows has no signal 0: sending it would end the process.
    if os.name == "nt":
        return
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
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
