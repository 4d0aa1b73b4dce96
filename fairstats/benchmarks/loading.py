"""Load benchmark files: a TOML file with a declaration, and a file with the answer keys."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError, Problem, keyword
from fairstats._lib.toml_files import Fault, Flag, Number, Proportion, Table, must, parse, read_toml
from fairstats._lib.untrusted_files import file_inside, read_json_lines
from fairstats._lib.untrusted_tables import load_csv
from fairstats.benchmarks.declaration import (
    BASELINE,
    Attribute,
    Benchmark,
    Family,
    MissingPolicy,
    contradictions,
)

Options = Annotated[tuple[str, ...], must(bool, "is empty", "declare at least one option")]
Margin = Annotated[
    Number,
    must(lambda value: 0 < value < 1, "must be between 0 and 1", "correct it"),
]
AboveOne = Annotated[
    float,
    must(
        lambda value: type(value) in (int, float) and 1 < value < math.inf,
        "must be a number above 1",
        "correct it, or remove it",
        validator=BeforeValidator,
    ),
]


class AttributeTable(Table):
    """The declaration of an `Attribute`."""

    label: str
    groups: dict[str, str]
    pairs: tuple[tuple[str, str], ...]
    crosses: tuple[str, ...] = ()
    levels: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_groups(self) -> Self:
        for group in (group for pair in self.pairs for group in pair):
            if group not in self.groups:
                message, remedy = "unknown group", "add it to the groups of the attribute"
                raise Fault(message, remedy, column="pairs", value=group)
        return self

    def named(self, name: str) -> Attribute:
        """Return the attribute."""
        groups, levels = MappingProxyType(self.groups), MappingProxyType(self.levels)
        return Attribute(name, self.label, groups, self.pairs, self.crosses, levels)


class _Ranking(Table):
    """The rules for a rank."""

    largest_missing: Proportion = 0.05
    lowest_accuracy: Proportion | None = None
    common_items: Proportion = 0.95


class _Declaration(Table):
    """A benchmark file; see `fairstats.benchmarks.declaration.Benchmark`."""

    name: str
    title: str
    description: str
    options: Options
    items_file: str | None = None
    keys_file: str | None = None
    publish_items: Flag = False
    missing: MissingPolicy
    equivalence_margin: Margin
    same_variants_odds_ratio: AboveOne | None = None
    family: Family = "board"
    ranking: _Ranking = Field(default_factory=_Ranking)
    sources: tuple[str, ...]
    licence: str
    citation: str
    notes: tuple[str, ...] = ()
    slanted: Flag = False
    swayed_by: str = ""
    changes: str = ""
    pair_terms: tuple[str, str] = ("first", "second")
    read_first: str = ""
    versions: dict[str, str]
    selected_on: dict[str, str] = Field(default_factory=dict)
    attributes: dict[str, AttributeTable]

    @model_validator(mode="after")
    def _has_keys(self) -> Self:
        if self.keys_file is None and self.items_file is None:
            raise Fault("is missing", "add it, or add items_file", column="keys_file")
        return self


def load_benchmark(source: str | os.PathLike[str], *, confined: bool = False) -> Benchmark:
    """Load a benchmark by the name of a built-in one, or from a file.

    Parameters
    ----------
    source : str or path
        A built-in benchmark's name (``"fairmedqa"``, ``"demo"``) or the path of a ``.toml`` file.
    confined : bool
        Whether its keys and items must be regular files in the folder of the ``.toml`` file, as in
        a release.

    Returns
    -------
    Benchmark

    Raises
    ------
    InputError
        If there is no such benchmark, or the file lacks required declarations or contradicts
        itself.

    Examples
    --------
    >>> demo = load_benchmark("demo")
    >>> demo.attributes["race"].pairs
    (('white', 'black'),)
    """
    path = Path(source)
    if path.suffix != ".toml":
        built_in = builtin_benchmarks()
        if str(source) not in built_in:
            remedy = f"use one of {', '.join(built_in)}, or the path of a benchmark's .toml"
            raise _no_such_benchmark(str(source), remedy)
        return _load_once(built_in[str(source)])
    declared = read_toml(path)
    if confined:
        _refuse_other_folders(declared, path)
    return _benchmark(declared, path)


@cache
def _load_once(built_in: Path) -> Benchmark:
    """Load a built-in benchmark: its files do not change, and every analysis needs it again."""
    return _benchmark(read_toml(built_in), built_in)


def _refuse_other_folders(declared: Mapping[str, Any], path: Path) -> None:
    """Refuse keys and items that are not regular files in the folder of the file."""
    for key in ("keys_file", "items_file"):
        name = declared.get(key)
        if name is None:
            continue
        file = path.parent / str(name)
        if Path(str(name)).name != name or file.is_symlink() or not file.is_file():
            message, remedy = "is not a regular file in the same folder", "give the name of one"
            raise InputError([Problem(str(path), message, remedy, column=key, value=str(name))])


def builtin_benchmarks() -> dict[str, Path]:
    """Return the files of the built-in benchmarks by name."""
    return {path.stem: path for path in sorted(resource("data", "benchmarks").glob("*.toml"))}


def load_benchmarks(
    names: Iterable[str], given: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> dict[str, Benchmark]:
    """Return the benchmarks with these names, from `given` if possible, else built-in ones.

    Raises
    ------
    InputError
        If a name is neither given nor built in.
    """
    known = by_name(given)
    built_in = builtin_benchmarks()
    loaded = {}
    for name in sorted(names):
        # By name only: a value in an answers table must not be opened as a path.
        if name not in known and name not in built_in:
            names = ", ".join({**built_in, **known})
            remedy = f"use one of {names}, or give its declaration with {keyword('benchmarks')}"
            raise _no_such_benchmark(name, remedy)
        loaded[name] = known[name] if name in known else _load_once(built_in[name])
    return loaded


def by_name(given: Iterable[Benchmark] | Mapping[str, Benchmark]) -> Mapping[str, Benchmark]:
    """Return benchmarks by name."""
    return given if isinstance(given, Mapping) else {b.name: b for b in given}


def _no_such_benchmark(name: str, remedy: str) -> InputError:
    return InputError([Problem(name, "no such benchmark", remedy)])


def _benchmark(declared: Mapping[str, Any], path: Path) -> Benchmark:
    table = parse(_Declaration, declared, path, example="demo.toml")
    named = {
        key: file_inside(path.parent, name, path=path, key=key)
        for key, name in (("items_file", table.items_file), ("keys_file", table.keys_file))
        if name is not None
    }
    keys_file = named.get("keys_file") or named["items_file"]
    keys: dict[str, str] = {}
    unreadable: tuple[Problem, ...] = ()
    try:
        keys = _answer_keys(keys_file)
    except InputError as error:
        unreadable = error.problems
    attributes = {name: entry.named(name) for name, entry in table.attributes.items()}
    same = {
        one.name: getattr(table, one.name)
        for one in fields(Benchmark)
        if one.name in _Declaration.model_fields
    }
    made = {
        "versions": MappingProxyType(table.versions),
        "attributes": MappingProxyType(attributes),
        "answer_keys": MappingProxyType(keys),
        "changes": table.changes or _changes(attributes),
        "read_first": table.read_first or next(iter(table.notes), ""),
        "items_file": named.get("items_file"),
        "keys_file": keys_file,
        "path": path,
    }
    benchmark = Benchmark(**same | table.ranking.model_dump() | made)
    if problems := [*unreadable, *contradictions(benchmark)]:
        raise InputError(problems)
    return benchmark


def _changes(attributes: Mapping[str, Attribute]) -> str:
    """Return the varied attributes, worded to complete "depends on …"."""
    names = [a.label[:1].lower() + a.label[1:] for a in attributes.values() if a.name != BASELINE]
    return "the " + " or ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def _answer_keys(path: Path) -> dict[str, str]:
    def wrong(message: str, remedy: str, **place: Any) -> InputError:
        return InputError([Problem(str(path), message, remedy, **place)])

    # A device or a pipe might never end.
    if not path.is_file():
        raise wrong("no such file", "correct keys_file or items_file")
    columns = ("item_id", "answer_key")
    rows: list[dict[str, Any]]
    if path.suffix == ".jsonl":
        rows = read_json_lines(path)
    else:
        table = load_csv(path).astype(object)
        for column in columns:
            if column not in table:
                raise wrong("is missing", "add it", column=column)
        rows = table.where(table.notna(), None).to_dict("records")
    keys: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        for column in columns:
            if type(row.get(column)) not in (str, int):
                remedy = "write the item's name and the letter of its answer key"
                raise wrong("must be text", remedy, row=number, column=column)
        item = str(row["item_id"])
        if item in keys:
            place = {"row": number, "column": "item_id", "value": item}
            raise wrong("the item appears twice", "drop one", **place)
        keys[item] = str(row["answer_key"])
    return keys
