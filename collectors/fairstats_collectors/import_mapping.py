"""From the records of a file to the answers of a declared benchmark, by named fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_json import read_json_lines
from fairstats.answers.schema import ANSWERS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark

#: The texts of the options, which a reply may name. Added to the columns of the answers table.
OPTIONS = "options"

#: The result of `found` if there is no such field.
ABSENT = object()

_OPTIONS = {
    "benchmark": "--benchmark",
    "columns": "--map",
    "values": "--values",
    "where": "--where",
    "wide": "--wide",
}
#: The constants that have separate options in `fairstats import`.
FACTS = ("model", "snapshot", "strategy", "benchmark_version")


class Given(TypedDict, total=False):
    """Hold a caller's description of the files; an importer refuses settings that it cannot use.

    Attributes
    ----------
    benchmark : str, path or Benchmark
        The benchmark that the answers belong to.
    columns : mapping
        A column of the answers table and the file's column that fills it; ``metadata.item_id``
        names one inside another.
    constants : mapping
        A column and its value in every row; it takes precedence over fields.
    values : mapping
        A column, a value as the file writes it, and its meaning.
    where : mapping
        A field and its value: other records are skipped.
    wide : mapping
        For a table with one row per item: the column of each group's answers, by ``"GROUP"`` or
        ``"ATTRIBUTE:GROUP"``. Its cells hold letters or replies; an empty one is a missing answer.
    """

    benchmark: str | Path | Benchmark | None
    columns: Mapping[str, str]
    constants: Mapping[str, str | None]
    values: Mapping[str, Mapping[str, str]]
    where: Mapping[str, str]
    wide: Mapping[str, str]


@dataclass(frozen=True)
class Mapped:
    """Hold the rules that turn fields of records into answers.

    Parameters
    ----------
    layout : str
        The importer's name.
    benchmark, columns, constants, values, where
        As given, see `Given`.
    defaults : Mapping[str, Sequence[str]]
        For a column that is not mapped, the fields that may contain it; the first existing one
        counts.
    """

    layout: str
    benchmark: Benchmark
    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def texts(self) -> Mapping[str, Mapping[str, str]]:
        """Return the shipped options of each item; empty if the benchmark does not ship them."""
        path = self.benchmark.items_file
        if path is None or not path.is_file():
            return {}
        return {str(row["item_id"]): row["options"] for row in read_json_lines(path)}

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """Return the attribute of each group that belongs to one attribute only."""
        groups = [group for _, group in self.benchmark.variants]
        return {g: a for a, g in self.benchmark.variants if groups.count(g) == 1}


def mapping(
    layout: str, given: Given, defaults: Mapping[str, Sequence[str]], *, wide: bool = False
) -> Mapped:
    """Return a checked `Mapped` from a caller's settings.

    Parameters
    ----------
    layout : str
        The importer's name.
    given : Given
        The caller's settings.
    defaults : Mapping[str, Sequence[str]]
        See `Mapped`.
    wide : bool
        Whether the importer reads tables with a column per group.

    Raises
    ------
    InputError
        If no benchmark is named, or a column is not in the answers table.
    """
    constants = {name: v for name, v in given.get("constants", {}).items() if v is not None}
    taken = [name for name in _OPTIONS if wide or name != "wide"]
    refuse_others(layout, given, taken, given.get("constants", {}))
    named = constants.pop("benchmark", None)
    source = given.get("benchmark") or named
    if source is None:
        remedy = "give a benchmark's name or .toml file"
        raise InputError([Problem("--benchmark", "is missing", remedy)])
    declared = source if isinstance(source, Benchmark) else load_benchmark(str(source))
    columns, values = given.get("columns", {}), given.get("values", {})
    known = [*ANSWERS.columns, OPTIONS]
    problems = [
        Problem(
            option,
            "is not a column of the answers table",
            f"use one of {', '.join(known)}",
            column=n,
        )
        for option, names in (("--map", columns), ("--set", constants), ("--values", values))
        for n in names
        if n not in known
    ]
    if "benchmark" in columns:
        problems.append(
            Problem("--map", "cannot be read from a field", "use --benchmark", column="benchmark")
        )
    if problems:
        raise InputError(problems)
    return Mapped(layout, declared, columns, constants, values, given.get("where", {}), defaults)


def refuse_others(
    layout: str, given: Given, taken: Collection[str] = (), constants: Collection[str] = ()
) -> None:
    """Refuse settings that an importer cannot use: its files provide them, or they are unknowable.

    Parameters
    ----------
    layout : str
        The importer's name.
    given : Given
        The caller's settings.
    taken, constants : collection of str
        The settings that it accepts, and the columns that may be constants.
    """
    options = [option for name, option in _OPTIONS.items() if given.get(name) and name not in taken]
    options += [
        f"--{name.replace('_', '-')}" if name in FACTS else f"--set {name}"
        for name in given.get("constants", {})
        if name not in constants
    ]
    if options:
        message = f"does not accept {', '.join(options)}"
        raise InputError([Problem(layout, message, "remove it, or use the importer `table`")])


def found(fields: Any, path: str) -> Any:
    """Return the value at a path of names; lists by number, names with dots unchanged."""
    if isinstance(fields, dict):
        if path in fields:
            return fields[path]
        for dot in re.finditer(r"\.", path):
            name = path[: dot.start()]
            if name in fields and (value := found(fields[name], path[dot.end() :])) is not ABSENT:
                return value
    elif isinstance(fields, list):
        place, _, rest = path.partition(".")
        if place.isdecimal() and place.isascii() and len(place) < 7 and int(place) < len(fields):
            return found(fields[int(place)], rest) if rest else fields[int(place)]
    return ABSENT


def is_there(value: object) -> bool:
    """Check whether `found` returned a value."""
    return value is not ABSENT


def _paths(fields: Mapping[str, Any], prefix: str = "", depth: int = 2) -> Iterable[str]:
    for name, value in fields.items():
        if isinstance(value, dict) and value and depth:
            yield from _paths(value, f"{prefix}{name[:40]}.", depth - 1)
        else:
            yield f"{prefix}{name[:40]}"


def field_names(fields: Mapping[str, Any]) -> str:
    """Return the names of the first fields, to help the user choose one."""
    return ", ".join(islice(_paths(fields), 20))
