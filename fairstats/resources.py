"""Where the package's own data and pages lie: in a checkout beside it, in a wheel inside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(*parts: str) -> Path:
    """The path of a file or folder that is shipped with the package.

    Parameters
    ----------
    *parts : str
        Path parts below the repository's root, e.g. ``"data", "benchmarks"``.

    Raises
    ------
    FileNotFoundError
        When it is in neither place; the installation is then incomplete.
    """
    for base in (_PACKAGE.parent, _PACKAGE / "_resources"):
        path = base.joinpath(*parts)
        if path.exists():
            return path
    raise FileNotFoundError(f"{'/'.join(parts)} is not installed; reinstall fairstats")
