"""Where the package's own data and pages lie: in a checkout beside it, in a wheel inside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def resource(*parts: str) -> Path:
    """The path of a file or folder that is shipped with the package.

    Parameters
    ----------
    *parts : str
        Path parts below the repository's root, e.g. ``"data", "benchmarks"``.

    Raises
    ------
    FileNotFoundError
        When it is not there; the installation is then incomplete.
    """
    # An installed package looks in itself alone: another package may have a folder `data`.
    installed = _PACKAGE / "_resources"
    path = (installed if installed.is_dir() else _PACKAGE.parent).joinpath(*parts)
    if path.exists():
        return path
    raise FileNotFoundError(f"{'/'.join(parts)} is not installed; reinstall fairstats")
