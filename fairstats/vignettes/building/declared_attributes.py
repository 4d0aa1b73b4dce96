"""The attributes of a build: groups, their words and the direction of each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from fairstats._lib.problems import Problem
from fairstats._lib.toml_files import must
from fairstats.benchmarks.declaration import (
    BASELINE,
    NEUTRALIZED,
    POOLED,
    Attribute,
    contradictory_attributes,
)
from fairstats.benchmarks.loading import AttributeTable
from fairstats.vignettes.rules.groups import ORIGINAL, is_name

#: Intended effect of a group's background: towards a right answer, away from it, or none.
Direction = Literal["favourable", "unfavourable", "neutral"]


@dataclass(frozen=True)
class Varied:
    """The attributes that are varied.

    Parameters
    ----------
    attributes : tuple of Attribute
        As declared by the benchmark, without the baseline.
    words : Mapping[str, tuple of str]
        The words that name each group, by the group's name; the first is the one to insert.
    directions : Mapping[str, str]
        A `Direction` for each group.
    """

    attributes: tuple[Attribute, ...]
    words: Mapping[str, tuple[str, ...]]
    directions: Mapping[str, str]


Word = Annotated[str, must(is_name, "must be up to 60 printable characters", "correct it")]
Words = Annotated[
    tuple[Word, ...],
    must(bool, "must name the group", 'list its words, e.g. ["white"]'),
]


class BuiltAttribute(AttributeTable):
    """An attribute, with the words that name each group and the direction of its variants."""

    label: Word
    groups: dict[Word, Word]
    words: dict[str, Words]
    directions: dict[str, Direction] = Field(default_factory=dict)


def read_attributes(
    tables: Mapping[str, BuiltAttribute], path: Path, problems: list[Problem]
) -> Varied:
    """Read ``[attributes.*]``; contradictions are added to `problems`."""
    problems += [
        Problem(str(path), message, remedy, column=f"attributes.{where}".rstrip("."))
        for where, message, remedy in _faults(tables)
    ]
    attributes = {name: table.named(name) for name, table in tables.items()}
    problems += contradictory_attributes(attributes, path)
    words = {group: named for table in tables.values() for group, named in table.words.items()}
    directions = {
        group: table.directions.get(group, "neutral")
        for table in tables.values()
        for group in table.groups
    }
    return Varied(tuple(attributes.values()), MappingProxyType(words), MappingProxyType(directions))


def _faults(tables: Mapping[str, BuiltAttribute]) -> Iterator[tuple[str, str, str]]:
    """Return errors in the declared attributes: (key, message, remedy)."""
    if not tables:
        yield "", "must declare at least one attribute", "add one, e.g. [attributes.race]"
    seen = {ORIGINAL, NEUTRALIZED}
    for name, table in tables.items():
        if name in (BASELINE, POOLED) or not is_name(name):
            yield name, "is not a valid name for an attribute", "use another name"
        if len(table.groups) < 2:
            yield f"{name}.groups", "must have two or more groups", "give each group a label"
        for key, given in (("words", table.words), ("directions", table.directions)):
            for group in sorted(set(given) - set(table.groups)):
                yield f"{name}.{key}.{group}", "is not one of the groups", "correct it"
        for group in table.groups:
            if group in seen:
                message = "is already the name of another variant"
                yield f"{name}.groups.{group}", message, "use another name"
            seen.add(group)
            if group not in table.words:
                remedy = f'list the words for the group, e.g. {group} = ["white"]'
                yield f"{name}.words.{group}", "must name the group", remedy
