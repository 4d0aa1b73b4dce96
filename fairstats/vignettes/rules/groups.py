"""Read the groups for which variants are written, and the words that name them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.declaration import Attribute, read_toml, refuse_unknown_keys, unknown_keys
from fairstats.benchmarks.terms import BASELINE, NEUTRALIZED, POOLED

#: The variants that items already have.
ORIGINAL = "original"


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
    declared = read_toml(path)
    refuse_unknown_keys(declared, ("attributes",), path)
    tables = declared.get("attributes")
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        tables = {}
    problems = [
        problem
        for name, table in tables.items()
        for problem in unknown_keys(table, _KEYS, path, table=f"attributes.{name}")
    ]
    problems += [
        Problem(str(path), message, remedy, column=column)
        for column, message, remedy in _faults(tables)
    ]
    if problems:
        raise InputError(problems)
    words: dict[str, str] = {}
    attributes: dict[str, Attribute] = {}
    for name, table in tables.items():
        crosses = tuple(table.get("crosses", ()))
        if crosses:
            first, second = (attributes[other] for other in crosses)
            # The reference of each comes first, so that the crossing's reference does too.
            cells = list(itertools.product(_reference_first(first), _reference_first(second)))
            levels = {"_".join(cell): cell for cell in cells}
            words |= {group: " ".join(words[level] for level in levels[group]) for group in levels}
            groups = list(levels)
        else:
            levels = {}
            words |= table["groups"]
            groups = list(table["groups"])
        reference = table.get("reference", groups[0])
        attributes[name] = Attribute(
            name=name,
            label=table["label"],
            groups=MappingProxyType({g: words[g][0].upper() + words[g][1:] for g in groups}),
            pairs=tuple((reference, group) for group in groups if group != reference),
            crosses=crosses,
            levels=MappingProxyType(levels),
        )
    return Groups(
        attributes=tuple(attributes.values()),
        words=MappingProxyType(words),
        sex_specific=any(table.get("sex_specific", False) for table in tables.values()),
        minimum_age=max(table.get("minimum_age", 0) for table in tables.values()),
    )


def _reference_first(attribute: Attribute) -> list[str]:
    reference = attribute.pairs[0][0]
    return [reference, *(group for group in attribute.groups if group != reference)]


_KEYS = ("label", "groups", "reference", "crosses", "sex_specific", "minimum_age")


def _faults(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Return errors in the declared attributes: (key, message, remedy)."""
    if not tables:
        yield "attributes", "is missing", "see data/substitutions/cpv.toml"
    seen = {ORIGINAL, NEUTRALIZED}
    plain: dict[str, list[str]] = {}
    for name, table in tables.items():
        where = f"attributes.{name}"
        if name in (BASELINE, POOLED):
            yield where, "is a reserved name", "use another name"
        if not _is_name(table.get("label")):
            yield f"{where}.label", "must be text", "write a label for readers"
        if not isinstance(table.get("sex_specific", False), bool):
            yield f"{where}.sex_specific", "must be true or false", "write true or false"
        age = table.get("minimum_age", 0)
        if isinstance(age, bool) or not isinstance(age, (int, float)) or not 0 <= age < 150:
            yield f"{where}.minimum_age", "must be an age in years", "write a number"
        if "crosses" in table:
            crosses = table["crosses"]
            if (
                not isinstance(crosses, list)
                or len(crosses) != 2
                or not all(isinstance(c, str) and c in plain for c in crosses)
                or crosses[0] == crosses[1]
            ):
                remedy = "give two earlier attributes that do not cross others"
                yield f"{where}.crosses", "must cross two other attributes", remedy
                continue
            if "groups" in table or "reference" in table:
                yield where, "must not declare groups", "remove them: they follow from `crosses`"
            groups = ["_".join(c) for c in itertools.product(*(plain[c] for c in crosses))]
        else:
            words = table.get("groups")
            if not isinstance(words, dict) or len(words) < 2:
                yield f"{where}.groups", "must have two or more groups", "give each group its word"
                continue
            for group, word in words.items():
                if not _is_name(word):
                    message = "must be up to 60 printable characters"
                    yield (
                        f"{where}.groups.{group}",
                        message,
                        "write the words to insert into the text",
                    )
            folded = [str(word).lower() for word in words.values()]
            if len(set(folded)) < len(folded):
                yield (
                    f"{where}.groups",
                    "has the same word twice",
                    "give each group a different word",
                )
            if table.get("reference") not in words:
                remedy = "give the privileged group, with which the others are compared"
                yield f"{where}.reference", "must be one of the groups", remedy
            groups = plain[name] = list(words)
        for group in groups:
            if not _is_name(group):
                yield f"{where}.groups", f"{group!r} is not a valid name", "use up to 60 characters"
            if group in seen:
                yield (
                    f"{where}.groups.{group}",
                    "is already the name of another variant",
                    "use another name",
                )
            seen.add(group)


def _is_name(value: object) -> bool:
    if not isinstance(value, str):
        return False
    return 0 < len(value) <= 60 and value.isprintable() and value == value.strip()
