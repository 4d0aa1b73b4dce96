"""Location of the package's data and pages: next to it in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def resource(*parts: str) -> Path:
    """Return the path of a file or folder that is shipped with the package.

    Parameters
    ----------
    *parts : str
        Path parts below the repository's root, e.g. ``"data", "benchmarks"``.

    Raises
    ------
    FileNotFoundError
        If it is missing; the installation is then incomplete.
    """
    # An installed package looks only inside itself: another package may have a folder `data`.
    installed = _PACKAGE / "_resources"
    path = (installed if installed.is_dir() else _PACKAGE.parent).joinpath(*parts)
    if path.exists():
        return path
    raise FileNotFoundError(f"{'/'.join(parts)} is not installed; reinstall fairstats")
