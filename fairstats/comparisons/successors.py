"""Declared successors, i.e. the next version of a model, and reasons to overrule screening."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.toml_files import Table, parse, read_toml

_EXAMPLE = "docs/site.md"


class _Model(Table):
    successor_of: Annotated[str, Field(min_length=1)]


class _File(Table):
    models: dict[str, _Model] = Field(default_factory=dict)
    overrule: dict[str, str] = Field(default_factory=dict)


def read_overruled(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the models of a file whose answers are published although screening blocks them.

    Parameters
    ----------
    path : path
        A TOML file as of `read_successors`, with a table ``[overrule]``.

    Returns
    -------
    dict of str to str
        The reason for each model.

    Raises
    ------
    InputError
        If a key is unknown or has the wrong type.
    """
    file = Path(path)
    return dict(parse(_File, read_toml(file), file, example=_EXAMPLE).overrule)


def read_successors(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a file that declares successors.

    Parameters
    ----------
    path : path
        A TOML file with one table per newer model, e.g. ``[models."GPT-5"]`` with
        ``successor_of = "GPT-4.1"``.

    Returns
    -------
    dict of str to str
        The older model of each newer one.

    Raises
    ------
    InputError
        If a key is unknown or has the wrong type, or a model succeeds itself, also indirectly.
    """
    file = Path(path)
    found = parse(_File, read_toml(file), file, example=_EXAMPLE)
    older = {name: model.successor_of for name, model in found.models.items()}
    _refuse_cycles(older, older, file)
    return older


def known_successors(benchmarks: Collection[str]) -> dict[str, str]:
    """Return the successors that the studies of these benchmarks compare, as `read_successors`."""
    known: dict[str, str] = {}
    for path in sorted(resource("data", "models").glob("*.toml")):
        if path.stem in benchmarks:
            known |= read_successors(path)
    return known


def successors_of(
    models: Collection[str],
    earlier: Collection[str],
    benchmarks: Collection[str],
    path: str | os.PathLike[str] | None = None,
) -> dict[str, str]:
    """Return the successors among the models of a release.

    Parameters
    ----------
    models, earlier : collection of str
        The models of the release and those of earlier releases.
    benchmarks : collection of str
        The benchmarks of the release. Some have known successors.
    path : path, optional
        The publisher's file, which goes before what is known.

    Returns
    -------
    dict of str to str
        The older model of each newer one in this release. The older one may be in an earlier
        release.

    Raises
    ------
    InputError
        As `read_successors`; also names every model of the file without answers, and the closest
        known one.
    """
    known = known_successors(benchmarks)
    if path is None:
        return _newer_in(known, models)
    declared = read_successors(path)
    there = {*models, *earlier}
    problems = []
    for newer, older in declared.items():
        for unknown in sorted({newer, older} - there):
            closest = get_close_matches(unknown, sorted(there - {newer, older}), n=1)
            remedy = f"did you mean {closest[0]}?" if closest else "correct or remove it"
            message = f"{unknown} is not a model of this release or an earlier one"
            problems.append(_problem(path, newer, older, message, remedy))
    if problems:
        raise InputError(problems)
    _refuse_cycles(known | declared, declared, path)
    return _newer_in(known | declared, models)


def _newer_in(older: Mapping[str, str], models: Collection[str]) -> dict[str, str]:
    return {name: older[name] for name in sorted(older) if name in models}


def _refuse_cycles(
    older: Mapping[str, str], declared: Collection[str], path: str | os.PathLike[str]
) -> None:
    """Refuse a declared model that is before itself."""
    problems = []
    for newer in declared:
        before: list[str] = []
        model = newer
        while (model := older.get(model, "")) and model not in before:
            before.append(model)
        if newer in before:
            message = "makes the model a successor of itself"
            remedy = "name the version before it, or remove the line"
            problems.append(_problem(path, newer, older[newer], message, remedy))
    if problems:
        raise InputError(problems)


def _problem(
    path: str | os.PathLike[str], newer: str, older: str, message: str, remedy: str
) -> Problem:
    column = f"models.{newer}.successor_of"
    return Problem(str(path), message, remedy, column=column, value=older)
