"""The folder of a build: the files that `fairstats vignettes run` writes, and reading them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.problems import InputError, Problem, input_error, path_in, refuse
from fairstats._lib.records import (
    Record,
    csv_records,
    importable_files,
    json_lines,
    json_value,
)
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import json_text, table_csv
from fairstats._lib.toml_files import Flag, must, parse
from fairstats._lib.untrusted_files import refuse_links
from fairstats.benchmarks.benchmark_files import attribute_table, check_name, item_lines
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, ORIGINAL, POOLED
from fairstats.ratings.collection.subjects import MAX_TEXT, is_name
from fairstats.vignettes.building.agents import Key, prompts_sha256
from fairstats.vignettes.building.attempts import Outcome
from fairstats.vignettes.building.declaration import STAGES, Build, Keep

BUILD = "build.json"
FILTERED = "filtered.csv"
NEUTRALIZED_ITEMS = "neutralized.jsonl"
ITEMS = "items.jsonl"
VARIANTS = "variants.jsonl"
ROUNDS = "rounds.csv"
TRIGGERED = "triggered.csv"
#: Folder of the replies.
JOURNALS = "journals"

#: The names of a variant.
KEY = ("item_id", "attribute", "group")
#: Files that a build writes in addition to `BUILD`.
FILES = (FILTERED, NEUTRALIZED_ITEMS, ITEMS, VARIANTS, ROUNDS, TRIGGERED)

_REMEDY = "use the folder as `fairstats vignettes run` wrote it"


class Written(BaseModel):
    """What a build or review writes, and others may have changed."""

    model_config = ConfigDict(frozen=True)


class _MadeWith(Written):
    """What an earlier run of the build was made with."""

    declared: dict[str, Any]
    items_sha256: str
    prompts: dict[str, str]


@dataclass(frozen=True)
class BuildFolder:
    """The output folder of a build."""

    path: Path
    build: Build
    options: tuple[str, ...]
    limit: int | None

    @property
    def facts(self) -> dict[str, str]:
        """Return the facts recorded in every journal of this build."""
        return {
            "build": self.build.name,
            "build_sha256": self.build.sha256,
            "items_sha256": self.items_sha256,
        }

    @cached_property
    def items_sha256(self) -> str:
        """Return the hash of the file with the questions, from the beginning of the run."""
        return file_sha256(self.build.items)

    def check(self) -> None:
        """Refuse a folder that is not writable or contains another build's files."""
        path = path_in(self.path, BUILD)
        if not path.is_file():
            there = [name for name in FILES if (self.path / name).exists()]
            if there:
                message = f"contains {there[0]} but no {BUILD}"
                raise input_error(self.path, message, "use another folder")
            return
        try:
            found = _MadeWith.model_validate_json(path.read_bytes())
        except ValidationError:
            raise input_error(path, "is not the file of a build", "use another folder") from None
        now = json.loads(json.dumps(self._made_with()))
        problems = [
            Problem(
                str(path),
                f"was {_shown(old)} in the earlier run, but is now {_shown(new)}",
                "use another folder, or undo the change",
                column=key,
            )
            for key, old, new in _differences(found.model_dump(), now)
        ]
        refuse(problems)

    def write_build(self, agents: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the declaration of the build, and the agents used so far."""
        build = self.build
        content = {
            "name": build.name,
            "title": build.title,
            "description": build.description,
            "licence": build.licence,
            "citation": build.citation,
            "build_sha256": build.sha256,
            "items_file": build.items.name,
            "limit": self.limit,
            "options": list(self.options),
            "generator": build.generator,
            "keep": build.keep,
            "rounds": build.rounds,
            "sees_options": build.sees_options,
            "filter_ask": build.filter_ask,
            "attributes": {a.name: attribute_table(a) for a in build.attributes},
            "words": build.words,
            "directions": {
                a.name: {group: build.directions[group] for group in a.groups}
                for a in build.attributes
            },
            "agents": agents,
            **self._made_with(),
        }
        self._write(BUILD, json_text(content))

    def write_lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> Path:
        """Write a file of JSON Lines."""
        return self._write(name, item_lines(rows))

    def write_table(self, name: str, table: pd.DataFrame) -> Path:
        """Write a file of comma-separated values."""
        return self._write(name, table_csv(table))

    def _write(self, name: str, text: str) -> Path:
        with whole_file(self.path / name) as path:
            path.write_text(text, encoding="utf-8", newline="\n")
        return self.path / name

    def _made_with(self) -> dict[str, Any]:
        return {
            "items_sha256": self.items_sha256,
            "declared": self.build.declared,
            "prompts": {stage: prompts_sha256(stage) for stage in STAGES},
        }


def _differences(old: object, new: object, where: str = "") -> Iterator[tuple[str, object, object]]:
    """Return the differences between two declarations: (key, before, now)."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {**old, **new}:
            yield from _differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)
    elif old != new:
        yield where.removeprefix("declared."), old, new


def _shown(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)


_Name = Annotated[str, must(is_name, "is not a valid name", _REMEDY)]
_Text = Annotated[
    str, must(lambda text: len(text) <= MAX_TEXT, "must be text that is not too long", _REMEDY)
]


_TextOrNone = Annotated[_Text, BeforeValidator(lambda text: "" if text is None else text)]


class BuiltItem(Written):
    """An item that was neutralized; `neutralized` is empty if it has no neutral text."""

    item_id: _Name
    options: dict[str, str]
    answer_key: str
    original: _Text
    neutralized: _Text


class OfVariant(Written):
    """What is written of one variant."""

    item_id: str
    attribute: str
    group: str

    @property
    def key(self) -> Key:
        """Return its item, attribute and group."""
        return self.item_id, self.attribute, self.group


class Variant(OfVariant):
    """One variant after the last round; `kept` is whether the build's rule keeps it.

    `text` is empty if there is none.
    """

    text: _TextOrNone = ""
    outcome: Outcome
    kept: Flag
    problems: list[str] = Field(default_factory=list)


class Filtered(Written):
    """The filter's decision on a source item."""

    item_id: str
    kept: bool
    decided_by: str | None = None
    reason: str | None = None


class _Attribute(Written):
    label: str
    groups: dict[_Name, str]
    pairs: list[tuple[str, str]]


class _Declared(Written):
    """``build.json``, as far as reviews and releases need it."""

    name: str
    title: str
    licence: str
    citation: str
    agents: dict[str, dict[str, Any]]
    keep: Keep
    attributes: dict[_Name, _Attribute]
    options: list[str]
    directions: dict[str, dict[str, str]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Built:
    """A folder of ``fairstats vignettes run``.

    Parameters
    ----------
    path : Path
        The folder.
    declared : Mapping
        The content of ``build.json``.
    items : Mapping[str, BuiltItem]
        The items that were neutralized, in order.
    variants : Mapping[Key, Variant]
        The variants of these items.
    filtered : Mapping[str, Filtered]
        The filter's decision on every source item.
    not_neutral : Mapping[str, str]
        Why an item that passed the filter has no neutral text.
    """

    path: Path
    declared: Mapping[str, Any]
    items: Mapping[str, BuiltItem]
    variants: Mapping[Key, Variant]
    filtered: Mapping[str, Filtered]
    not_neutral: Mapping[str, str]

    @property
    def name(self) -> str:
        return str(self.declared["name"])

    @property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """Return every attribute and group for which an item has a variant, in order."""
        attributes = self.declared["attributes"]
        return tuple((name, group) for name, one in attributes.items() for group in one["groups"])

    @property
    def source_items(self) -> tuple[str, ...]:
        """Return the items at the start of the build."""
        return tuple(dict.fromkeys([*self.filtered, *self.items]))

    def keys(self, item_id: str) -> tuple[Key, ...]:
        """Return the required variants of an item."""
        return tuple((item_id, attribute, group) for attribute, group in self.groups)

    def kept(self, key: Key) -> bool:
        """Return whether this variant exists and the build's rule keeps it."""
        variant = self.variants.get(key)
        return variant is not None and bool(variant.text) and variant.kept

    @property
    def complete(self) -> tuple[str, ...]:
        """Return the items with every variant kept by the build; only these can be released."""
        return tuple(i for i in self.items if all(map(self.kept, self.keys(i))))


def read_built(folder: Path) -> Built:
    """Read the result of building a benchmark from its folder."""
    if not (folder / BUILD).is_file():
        remedy = "give the folder written by `fairstats vignettes run`"
        raise input_error(folder, f"contains no {BUILD}", remedy)
    refuse_links([path for path in folder.iterdir() if path.suffix in (".json", ".jsonl", ".csv")])
    declared = json_value(folder / BUILD)
    problems: list[Problem] = []
    checked = _checked(_Declared, declared, folder / BUILD, None, problems)
    if checked is None or (problems := list(_attribute_faults(checked, folder / BUILD))):
        raise InputError(problems)
    check_name(checked.name)
    letters = checked.options
    groups = {(name, group) for name, one in checked.attributes.items() for group in one.groups}

    items: dict[str, BuiltItem] = {}
    variants: dict[Key, Variant] = {}
    for path, row, item in read_rows(BuiltItem, folder / ITEMS, problems):
        found = _item_fault(item, items, letters)
        if found:
            problems.append(_problem(path, row, *found))
        elif item.neutralized:
            options = {letter: item.options[letter] for letter in letters}
            items[item.item_id] = item.model_copy(update={"options": options})
    # Variants of an item that was not read would be reported too.
    refuse(problems)
    for path, row, variant in read_rows(Variant, folder / VARIANTS, problems):
        item_id, attribute, group = variant.key
        if item_id not in items:
            problems.append(_problem(path, row, "item_id", item_id, "is not a neutralized item"))
        elif (attribute, group) not in groups:
            place = f"{attribute}, {group}"
            problems.append(_problem(path, row, "group", place, "is not declared"))
        elif variant.key in variants:
            message = f"has two variants for {attribute}, {group}"
            problems.append(_problem(path, row, "item_id", item_id, message))
        variants[variant.key] = variant
    filtered = read_rows(Filtered, folder / FILTERED, problems)
    refuse(problems)
    return Built(
        folder,
        declared,
        items,
        variants,
        {one.item_id: one for _, _, one in filtered},
        _not_neutral(folder / NEUTRALIZED_ITEMS),
    )


def _not_neutral(path: Path) -> dict[str, str]:
    rows = [record.fields for record in _records(path)] if path.is_file() else []
    return {str(row.get("item_id")): str(row["reason"]) for row in rows if row.get("reason")}


def _records(path: Path) -> list[Record]:
    """Return the rows of a file; one of JSON Lines may be empty."""
    if path.suffix == ".jsonl" and path.is_file() and path.stat().st_size == 0:
        return []
    importable_files(path, None, (".jsonl", ".csv"))
    return json_lines(path) if path.suffix == ".jsonl" else csv_records(path)


_Model = TypeVar("_Model", bound=BaseModel)


def read_rows(
    model: type[_Model], path: Path, problems: list[Problem]
) -> list[tuple[Path, int, _Model]]:
    """Return the rows of a file with their numbers; adds the problems of the others."""
    rows = (
        (record.row, _checked(model, record.fields, path, record.row, problems))
        for record in _records(path)
    )
    return [(path, row, one) for row, one in rows if one is not None]


def _checked(
    model: type[_Model], value: Any, path: Path, row: int | None, problems: list[Problem]
) -> _Model | None:
    try:
        return parse(model, value, path, example=BUILD)
    except InputError as error:
        problems += [
            replace(one, row=row, column=one.column or None, remedy=_REMEDY)
            for one in error.problems
        ]
    return None


def _problem(path: Path, row: int, column: str, value: str, message: str) -> Problem:
    return Problem(str(path), message, _REMEDY, row=row, column=column, value=value)


def _attribute_faults(declared: _Declared, path: Path) -> Iterator[Problem]:
    seen = {ORIGINAL, NEUTRALIZED}
    for name, attribute in declared.attributes.items():
        column = f"attributes.{name}"
        if name in (BASELINE, POOLED):
            yield Problem(str(path), "is a reserved name", _REMEDY, column=column)
        for group in attribute.groups:
            # An item's variants are named by their groups alone.
            if group in seen:
                message = "is also a group of another attribute"
                yield Problem(str(path), message, "rename the group", column=column, value=group)
            seen.add(group)


def _item_fault(
    item: BuiltItem, seen: Mapping[str, object], letters: list[str]
) -> tuple[str, str, str] | None:
    """Return column, value and message."""
    if item.item_id in seen:
        return "item_id", item.item_id, "appears twice"
    if {*item.options} != {*letters}:
        found = ", ".join(item.options)
        return "options", found, f"must have the letters {', '.join(letters)}"
    if item.answer_key not in letters:
        return "answer_key", item.answer_key, "must be one of the options"
    return None
