"""The attributes of a build: groups, their words and the direction of each group."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.benchmark_files import toml_text
from fairstats.benchmarks.declaration import Attribute, load_benchmark, unknown_keys
from fairstats.benchmarks.terms import BASELINE, NEUTRALIZED, POOLED
from fairstats.vignettes.rules.groups import ORIGINAL

#: Intended effect of a group's background: towards a right answer, away from it, or none.
DIRECTIONS = ("favourable", "unfavourable", "neutral")

#: Keys of an attribute in a benchmark's file; additional keys are declared here.
_DECLARED = ("label", "groups", "pairs", "crosses", "levels")
_KEYS = (*_DECLARED, "words", "directions")
_LENGTH = 60


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
        One of `DIRECTIONS` for each group.
    """

    attributes: tuple[Attribute, ...]
    words: Mapping[str, tuple[str, ...]]
    directions: Mapping[str, str]


def read_attributes(declared: Mapping[str, Any], path: Path, problems: list[Problem]) -> Varied:
    """Read ``[attributes.*]``; errors are added to `problems`."""
    tables = declared.get("attributes")
    if not isinstance(tables, Mapping) or not tables:
        message, remedy = "must declare at least one attribute", "add one, e.g. [attributes.race]"
        problems.append(Problem(str(path), message, remedy, column="attributes"))
        return Varied((), {}, {})
    faults = [
        problem
        for name, table in tables.items()
        if isinstance(table, Mapping)
        for problem in unknown_keys(table, _KEYS, path, table=f"attributes.{name}")
    ]
    faults += [
        Problem(str(path), message, remedy, column=f"attributes.{where}")
        for where, message, remedy in _faults(tables)
    ]
    attributes: tuple[Attribute, ...] = ()
    if not faults:
        try:
            attributes = _as_benchmark(tables, path)
        except InputError as error:
            faults = list(error.problems)
    problems += faults
    if faults:
        return Varied((), {}, {})
    words: dict[str, tuple[str, ...]] = {}
    directions: dict[str, str] = {}
    for table in tables.values():
        for group in table["groups"]:
            words[group] = tuple(table["words"][group])
            directions[group] = table.get("directions", {}).get(group, "neutral")
    return Varied(attributes, MappingProxyType(words), MappingProxyType(directions))


def _faults(tables: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Return errors in the declared attributes: (key, message, remedy)."""
    seen = {ORIGINAL, NEUTRALIZED}
    for name, table in tables.items():
        if name in (BASELINE, POOLED) or not _is_name(name):
            yield name, "is not a valid name for an attribute", "use another name"
        if not isinstance(table, Mapping):
            yield name, "must be a table", f"write [attributes.{name}]"
            continue
        if not _is_name(table.get("label")):
            yield f"{name}.label", "must be text", "write a label for readers"
        groups = table.get("groups")
        if not isinstance(groups, Mapping) or len(groups) < 2:
            yield f"{name}.groups", "must have two or more groups", "give each group a label"
            continue
        pairs, levels = table.get("pairs"), table.get("levels", {})
        if not _are_lists(pairs):
            yield f"{name}.pairs", "must contain pairs of groups", 'write [["white", "black"]]'
        if not isinstance(levels, Mapping) or not _are_lists(
            [table.get("crosses", []), *levels.values()]
        ):
            yield name, "has an invalid `crosses` or `levels`", "see cpv.toml"
        words = table.get("words")
        words = words if isinstance(words, Mapping) else {}
        directions = table.get("directions", {})
        directions = directions if isinstance(directions, Mapping) else {"": directions}
        for key, given in (("words", words), ("directions", directions)):
            for group in sorted(set(given) - set(groups)):
                yield f"{name}.{key}.{group}", "is not one of the groups", "correct it"
        for group, label in groups.items():
            if not _is_name(group) or not _is_name(label):
                message = f"must have a label of up to {_LENGTH} printable characters"
                yield f"{name}.groups.{group}", message, "write a label for readers"
            if group in seen:
                yield (
                    f"{name}.groups.{group}",
                    "is already the name of another variant",
                    "use another name",
                )
            seen.add(group)
            own = words.get(group)
            if not isinstance(own, list) or not own or not all(map(_is_name, own)):
                remedy = f'list the words for the group, e.g. {group} = ["white"]'
                yield f"{name}.words.{group}", "must name the group", remedy
            if directions.get(group, "neutral") not in DIRECTIONS:
                remedy = f"use one of {', '.join(DIRECTIONS)}"
                yield f"{name}.directions.{group}", "is unknown", remedy


def _as_benchmark(tables: Mapping[str, Any], path: Path) -> tuple[Attribute, ...]:
    """Return the attributes as read by the benchmark's reader, with all of its checks."""
    trial = {
        **dict.fromkeys(("name", "title", "description", "licence", "citation"), "trial"),
        "options": ["A"],
        "keys_file": "keys.csv",
        "missing": "available",
        "equivalence_margin": 0.02,
        "sources": ["trial"],
        "versions": {"1": "trial"},
        "attributes": {
            **{name: {k: t[k] for k in _DECLARED if k in t} for name, t in tables.items()},
            BASELINE: {
                "label": "Baseline",
                "groups": {ORIGINAL: "Original", NEUTRALIZED: "Neutralized"},
                "pairs": [[ORIGINAL, NEUTRALIZED]],
            },
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "keys.csv").write_text("item_id,answer_key\n", encoding="utf-8")
        file = Path(folder, "trial.toml")
        file.write_text(toml_text(trial), encoding="utf-8")
        try:
            return load_benchmark(file).varied
        except InputError as error:
            raise InputError([replace(p, path=str(path)) for p in error.problems]) from None


def _are_lists(value: object) -> bool:
    """Return whether this is a list of lists of texts."""
    return isinstance(value, list) and all(
        isinstance(part, list) and all(isinstance(text, str) for text in part) for part in value
    )


def _is_name(value: object) -> bool:
    if not isinstance(value, str):
        return False
    return 0 < len(value) <= _LENGTH and value.isprintable() and value == value.strip()
