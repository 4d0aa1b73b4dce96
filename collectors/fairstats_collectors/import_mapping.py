"""From the records of a file to the answers of a declared benchmark, by named fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.answers.schema import answers_schema
from fairstats.benchmarks.declaration import Benchmark, load_benchmark

#: Beside the columns of the answers table: the texts of the options, which a reply may name.
OPTIONS = "options"

#: What `found` gives where there is no such field.
ABSENT = object()


@dataclass(frozen=True)
class Mapped:
    """How the fields of records become answers.

    Parameters
    ----------
    benchmark : Benchmark
        What was asked.
    columns : Mapping[str, str]
        A column of the answers table and the field that fills it, ``metadata.item_id`` for one
        inside another.
    constants : Mapping[str, str]
        A column and its value in every row; it wins over fields.
    values : Mapping[str, Mapping[str, str]]
        A column, a value as it is written there and what it means.
    where : Mapping[str, str]
        A field and its value: other records are passed over.
    defaults : Mapping[str, Sequence[str]]
        For a column that is not mapped, the fields that may hold it; the first that is there does.
    """

    benchmark: Benchmark
    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def texts(self) -> Mapping[str, Mapping[str, str]]:
        """The options of each item as the benchmark ships them; empty where it does not."""
        path = self.benchmark.items_file
        if path is None or not path.is_file():
            return {}
        return {str(row["item_id"]): row["options"] for row in read_json_lines(path)}

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The attribute of each group that only one attribute has."""
        groups = [group for _, group in self.benchmark.variants]
        return {g: a for a, g in self.benchmark.variants if groups.count(g) == 1}


def mapping(
    benchmark: str | Path | Benchmark | None,
    *,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str | None] | None = None,
    values: Mapping[str, Mapping[str, str]] | None = None,
    where: Mapping[str, str] | None = None,
    defaults: Mapping[str, Sequence[str]] | None = None,
) -> Mapped:
    """A `Mapped` of what a caller gave, checked.

    Raises
    ------
    InputError
        When no benchmark is named, or a column is none of the answers table.
    """
    given = {name: value for name, value in (constants or {}).items() if value is not None}
    named = given.pop("benchmark", None)
    if benchmark is None and named is None:
        remedy = "name a benchmark or its .toml with --benchmark"
        raise InputError([Problem("--benchmark", "it is not said what was asked", remedy)])
    source = named if benchmark is None else benchmark
    declared = source if isinstance(source, Benchmark) else load_benchmark(str(source))
    known = [*answers_schema().columns, OPTIONS]
    problems = [
        Problem(
            option, "is no column of the answers table", f"use one of {', '.join(known)}", None, n
        )
        for option, names in (("--map", columns), ("--set", given), ("--values", values))
        for n in names or {}
        if n not in known
    ]
    if "benchmark" in (columns or {}):
        problems.append(
            Problem("--map", "is declared, not read", "use --benchmark", None, "benchmark")
        )
    if problems:
        raise InputError(problems)
    return Mapped(declared, columns or {}, given, values or {}, where or {}, defaults or {})


def found(fields: Any, path: str) -> Any:
    """The value at a path of names; a list's by number, a name with dots as it stands."""
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
    """Whether `found` found it."""
    return value is not ABSENT


def _paths(fields: Mapping[str, Any], prefix: str = "", depth: int = 2) -> Iterable[str]:
    for name, value in fields.items():
        if isinstance(value, dict) and value and depth:
            yield from _paths(value, f"{prefix}{name[:40]}.", depth - 1)
        else:
            yield f"{prefix}{name[:40]}"


def field_names(fields: Mapping[str, Any]) -> str:
    """The names of the first fields, for whoever has to choose one."""
    return ", ".join(islice(_paths(fields), 20))
