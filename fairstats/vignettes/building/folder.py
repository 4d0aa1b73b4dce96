"""The folder of a build: its declaration and its files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.arguments import path_in
from fairstats._lib.atomic_files import whole_file
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import table_csv
from fairstats._lib.untrusted_json import parse_json
from fairstats.benchmarks.benchmark_files import attribute_table, item_lines
from fairstats.vignettes.building.declaration import Build
from fairstats.vignettes.building.declared_agents import STAGES
from fairstats.vignettes.building.messages import prompts_sha256

BUILD = "build.json"
FILTERED = "filtered.csv"
NEUTRALIZED_ITEMS = "neutralized.jsonl"
ITEMS = "items.jsonl"
VARIANTS = "variants.jsonl"
ROUNDS = "rounds.csv"
TRIGGERED = "triggered.csv"
#: Folder of the replies.
JOURNALS = "journals"

#: Files that a build writes in addition to `BUILD`.
FILES = (FILTERED, NEUTRALIZED_ITEMS, ITEMS, VARIANTS, ROUNDS, TRIGGERED)


@dataclass(frozen=True)
class BuildFolder:
    """The output folder of a build.

    Parameters
    ----------
    path : Path
        The folder.
    build : Build
        The declaration.
    items_sha256 : str
        Hash of the file with the questions.
    options : tuple of str
        The items' letters.
    limit : int or None
        Number of items to use; None for all.
    """

    path: Path
    build: Build
    items_sha256: str
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

    def check(self) -> None:
        """Refuse a folder that is not writable or contains another build's files.

        Raises
        ------
        InputError
            In that case; names every difference.
        """
        path = path_in(self.path, BUILD)
        if not path.is_file():
            there = [name for name in FILES if (self.path / name).exists()]
            if there:
                message = f"contains {there[0]} but no {BUILD}"
                raise InputError([Problem(str(self.path), message, "use another folder")])
            return
        try:
            found = parse_json(path.read_text(encoding="utf-8"))
            made_with = {key: found[key] for key in ("declared", "items_sha256", "prompts")}
        except (ValueError, LookupError, TypeError, RecursionError):
            raise InputError(
                [Problem(str(path), "is not the file of a build", "use another folder")]
            ) from None
        now = json.loads(json.dumps(self._made_with()))
        problems = [
            Problem(
                str(path),
                f"was {_shown(old)} in the earlier run, but is now {_shown(new)}",
                remedy,
                column=key,
            )
            for key, old, new in _differences(made_with, now)
            for remedy in ["use another folder, or undo the change"]
        ]
        if problems:
            raise InputError(problems)

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
            "words": {group: list(words) for group, words in build.varied.words.items()},
            "directions": {
                a.name: {group: build.varied.directions[group] for group in a.groups}
                for a in build.attributes
            },
            "agents": agents,
            **self._made_with(),
        }
        with whole_file(self.path / BUILD) as path:
            text = json.dumps(content, ensure_ascii=False, indent=1)
            path.write_text(text + "\n", encoding="utf-8", newline="\n")

    def write_lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> Path:
        """Write a file of JSON Lines."""
        with whole_file(self.path / name) as path:
            path.write_text(item_lines(rows), encoding="utf-8", newline="\n")
        return self.path / name

    def write_table(self, name: str, table: pd.DataFrame) -> Path:
        """Write a file of comma-separated values."""
        with whole_file(self.path / name) as path:
            path.write_text(table_csv(table), encoding="utf-8", newline="\n")
        return self.path / name

    def _made_with(self) -> dict[str, Any]:
        return {
            "items_sha256": self.items_sha256,
            "declared": dict(self.build.declared),
            "prompts": {stage: prompts_sha256(stage) for stage in STAGES},
        }


def folder_of(build: Build, out: Path, *, options: Iterable[str], limit: int | None) -> BuildFolder:
    """Return the folder of a build, without writing anything."""
    return BuildFolder(out, build, file_sha256(build.items), tuple(options), limit)


def _differences(old: object, new: object, where: str = "") -> Iterator[tuple[str, object, object]]:
    """Return the differences between two declarations: (key, before, now)."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {**old, **new}:
            yield from _differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)
    elif old != new:
        yield where.removeprefix("declared."), old, new


def _shown(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
