"""Read the groups for which variants are written, and the words that name them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.toml_files import Flag, Number, Table, must, parse, read_toml
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, POOLED, Attribute

#: The variants that items already have.
ORIGINAL = "original"
_EXAMPLE = "data/substitutions/cpv.toml"


@dataclass(frozen=True)
class Groups:
    """The attributes for which variants are written.

    Parameters
    ----------
    attributes : tuple of Attribute
        As declared by the benchmark, without the baseline.
    words : Mapping[str, str]
        The text inserted for each group, by the group's name.
    sex_specific : bool
        Whether one of them is unsound for items on sex-specific conditions.
    minimum_age : float
        The age in years below which one of them is unsound.
    """

    attributes: tuple[Attribute, ...]
    words: Mapping[str, str]
    sex_specific: bool
    minimum_age: float


def load_groups(path: Path) -> Groups:
    """Read a declaration of groups as in ``data/substitutions/cpv.toml``.

    Raises
    ------
    InputError
        If there is no such file, or it lacks required declarations or contradicts itself.
    """
    tables = parse(_Groups, read_toml(path), path, example=_EXAMPLE).attributes
    problems = [
        Problem(str(path), message, remedy, column=f"attributes.{where}")
        for where, message, remedy in _faults(tables)
    ]
    if problems:
        raise InputError(problems)
    words: dict[str, str] = {}
    attributes: dict[str, Attribute] = {}
    for name, table in tables.items():
        levels: dict[str, tuple[str, str]] = {}
        if table.crosses:
            first, second = (attributes[other] for other in table.crosses)
            # The reference of each comes first, so that the crossing's reference does too.
            cells = list(itertools.product(_reference_first(first), _reference_first(second)))
            levels = {"_".join(cell): cell for cell in cells}
            words |= {group: " ".join(words[level] for level in levels[group]) for group in levels}
        words |= table.groups
        groups = list(levels or table.groups)
        reference = table.reference or groups[0]
        attributes[name] = Attribute(
            name=name,
            label=table.label,
            groups=MappingProxyType({g: words[g][0].upper() + words[g][1:] for g in groups}),
            pairs=tuple((reference, group) for group in groups if group != reference),
            crosses=table.crosses or (),
            levels=MappingProxyType(levels),
        )
    return Groups(
        attributes=tuple(attributes.values()),
        words=MappingProxyType(words),
        sex_specific=any(table.sex_specific for table in tables.values()),
        minimum_age=max(table.minimum_age for table in tables.values()),
    )


def _reference_first(attribute: Attribute) -> list[str]:
    reference = attribute.pairs[0][0]
    return [reference, *(group for group in attribute.groups if group != reference)]


def is_name(value: str) -> bool:
    """Return whether this may be a name of a group, or a word to insert into a text."""
    return 0 < len(value) <= 60 and value.isprintable() and value == value.strip()


_Word = Annotated[
    str,
    must(
        is_name, "must be up to 60 printable characters", "write the words to insert into the text"
    ),
]
_Age = Annotated[
    Number,
    must(lambda value: 0 <= value < 150, "must be an age in years", "write a number"),
]


class _Attribute(Table):
    label: _Word
    groups: dict[str, _Word] = Field(default_factory=dict)
    reference: str | None = None
    crosses: tuple[str, str] | None = None
    sex_specific: Flag = False
    minimum_age: _Age = 0


class _Groups(Table):
    attributes: Annotated[dict[str, _Attribute], must(bool, "has no attribute", f"see {_EXAMPLE}")]


def _faults(tables: Mapping[str, _Attribute]) -> Iterator[tuple[str, str, str]]:
    """Return contradictions of the declared attributes: (key, message, remedy)."""
    seen = {ORIGINAL, NEUTRALIZED}
    plain: dict[str, list[str]] = {}
    for name, table in tables.items():
        if name in (BASELINE, POOLED):
            yield name, "is a reserved name", "use another name"
        if table.crosses is not None:
            first, second = table.crosses
            if first == second or first not in plain or second not in plain:
                remedy = "give two earlier attributes that do not cross others"
                yield f"{name}.crosses", "must cross two other attributes", remedy
                continue
            if table.groups or table.reference is not None:
                yield name, "must not declare groups", "remove them: they follow from `crosses`"
            groups = ["_".join(cell) for cell in itertools.product(plain[first], plain[second])]
        else:
            groups = plain[name] = list(table.groups)
            if len(groups) < 2:
                message, remedy = "must have two or more groups", "give each group its word"
                yield f"{name}.groups", message, remedy
                continue
            if len({word.lower() for word in table.groups.values()}) < len(groups):
                remedy = "give each group a different word"
                yield f"{name}.groups", "has the same word twice", remedy
            if table.reference not in groups:
                remedy = "give the privileged group, with which the others are compared"
                yield f"{name}.reference", "must be one of the groups", remedy
        for group in groups:
            if not is_name(group):
                yield f"{name}.groups", f"{group!r} is not a valid name", "use up to 60 characters"
            if group in seen:
                message = "is already the name of another variant"
                yield f"{name}.groups.{group}", message, "use another name"
            seen.add(group)
