"""Checks before a function writes files or queries a model."""

from __future__ import annotations

import os
from pathlib import Path

from fairstats._lib.problems import ArgumentProblem, InputError


def path_in(out: Path, name: str) -> Path:
    """Return the path of a file in a folder; refuse a folder that is not writable.

    Raises
    ------
    InputError
        If the folder is not writable.
    """
    path = Path(out) / name
    folder = next(parent for parent in path.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise wrong(str(folder), "cannot be written to", "use another folder")
    return path


def check_numbers(**numbers: float | None) -> None:
    """Refuse counts below 1; None means the default."""
    for argument, number in numbers.items():
        if number is not None and not 1 <= number < float("inf"):
            raise wrong(f"{argument} = {number}", "must be at least 1", "use 1 or more")


def wrong(argument: str, message: str, remedy: str) -> InputError:
    """Return the error for an argument, given as its name or ``name = value``."""
    return InputError([ArgumentProblem(argument, message, remedy)])
