"""Temporary folders that do not accumulate: those of killed processes are removed."""

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
