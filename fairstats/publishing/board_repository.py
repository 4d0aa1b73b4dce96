"""Create the repository of a board: folders, instructions for submitters, and workflows."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from fairstats._lib.atomic_files import named_errors
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.resources import resource
from fairstats._lib.version import __version__
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.declaration import Benchmark
from fairstats.publishing.submissions import ACCEPTED, BENCHMARKS, SUBMITTED

#: The files of a new repository, and the templates in ``data/board`` that they are made from.
_FILES = {
    "README.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "requirements.txt": "requirements.txt",
    ".gitignore": "gitignore",
    ".gitattributes": "gitattributes",
    ".github/workflows/check.yml": "workflows/check.yml",
    ".github/workflows/publish.yml": "workflows/publish.yml",
}
_LONGEST_TITLE = 100


def create_board(
    folder: Path, *, title: str = "Leaderboard", benchmarks: Iterable[Benchmark] = ()
) -> list[Path]:
    """Create the repository of a board.

    Parameters
    ----------
    folder : Path
        The folder. It may contain an empty git repository, but no other file.
    title : str
        The board's name.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in. The board gets a copy of each.

    Returns
    -------
    list of Path
        The files, relative to the folder, sorted.

    Raises
    ------
    InputError
        If the folder has files, or the title cannot be printed.
    """
    if not 0 < len(title) <= _LONGEST_TITLE or not title.isprintable():
        remedy = f"use 1 to {_LONGEST_TITLE} printable characters"
        raise InputError([Problem("--title", "cannot be used", remedy, value=title)])
    if os.path.lexists(folder) and (
        not folder.is_dir() or any(one.name != ".git" for one in folder.iterdir())
    ):
        raise InputError([Problem(str(folder), "is not empty", "choose a new folder")])
    with named_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, template in _FILES.items():
            text = resource("data", "board", *template.split("/")).read_text(encoding="utf-8")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = text.replace("{title}", title).replace("{version}", __version__)
            path.write_text(text, encoding="utf-8", newline="\n")
        copy_benchmarks({one.name: one for one in benchmarks}, folder / BENCHMARKS)
        for name in (ACCEPTED, SUBMITTED, BENCHMARKS):
            (folder / name).mkdir(exist_ok=True)
            # Git does not store an empty folder.
            (folder / name / ".gitkeep").touch()
    return sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    )
