"""Read the declaration of a build: ``build.toml``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import canonical_json
from fairstats._lib.toml_files import Fault, Table, must, parse, read_toml
from fairstats._lib.untrusted_files import file_inside
from fairstats.asking.models import Connect
from fairstats.benchmarks.benchmark_files import check_name
from fairstats.benchmarks.declaration import Attribute
from fairstats.vignettes.building.declared_agents import (
    NOBODY,
    AgentTable,
    Declared,
    FilterTable,
    GenerateTable,
    Line,
    read_agents,
)
from fairstats.vignettes.building.declared_attributes import (
    BuiltAttribute,
    Varied,
    read_attributes,
)

#: How variants are written: by two agents, or by `fairstats.vignettes.rules.substitute`, which
#: needs no model.
Generator = Literal["agents", "substitute"]
#: Which variants are kept: every one without an error, or only those that the model answered as
#: intended.
Keep = Literal["sound", "as intended"]
#: The first round and two revisions.
MOST_ROUNDS = 3

_TEXTS = ("name", "title", "licence", "citation")


Rounds = Annotated[
    int,
    must(
        lambda value: type(value) is int and 1 <= value <= MOST_ROUNDS,
        "must be a number of rounds",
        f"use 1 to {MOST_ROUNDS}",
        validator=BeforeValidator,
    ),
]


def _is_free(name: str) -> str:
    try:
        check_name(name)
    except InputError as error:
        raise Fault(error.problems[0].message, error.problems[0].remedy) from None
    return name


class _Build(Table):
    """``build.toml``; see `Build`."""

    name: Annotated[Line, AfterValidator(_is_free)]
    title: Line
    description: Line | None = None
    licence: Line
    citation: Line
    items: Line
    generator: Generator = "agents"
    keep: Keep = "sound"
    rounds: Rounds = MOST_ROUNDS
    attributes: dict[str, BuiltAttribute]
    filter: FilterTable | None = None
    neutralize: AgentTable | None = None
    generate: GenerateTable | None = None
    fuse: AgentTable | None = None
    # A model of pydantic has a method of this name.
    validating: AgentTable | None = Field(default=None, alias="validate")


@dataclass(frozen=True)
class Build:
    """The declaration of a build: its input, settings and agents.

    Parameters
    ----------
    path : Path
        The declaration's file.
    name, title, description, licence, citation : str
        Name, title and version of the benchmark.
    items : Path
        The exam questions, as read by `fairstats.vignettes.building.source.read_source`.
    generator : {"agents", "substitute"}
        How variants are written.
    keep : {"sound", "as intended"}
        Which variants are kept; the second option selects by the validating model's answers.
    rounds : int
        Maximum number of rounds: the first and two revisions.
    filter_ask : {"doubtful", "all", "none"}
        For which items the filter's model is queried, in addition to the rules.
    sees_options : bool
        Whether the generating agent sees the options, and the key if a direction is wanted.
    varied : Varied
        The attributes, and each group's words and direction.
    agents : Mapping[str, Declared]
        The agent of each stage.
    declared : Mapping
        The parts of the file that affect the result; speed and cost settings do not.
    """

    path: Path
    name: str
    title: str
    description: str
    licence: str
    citation: str
    items: Path
    generator: str
    keep: str
    rounds: int
    filter_ask: str
    sees_options: bool
    varied: Varied
    agents: Mapping[str, Declared]
    declared: Mapping[str, Any]

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Return the attributes that are varied."""
        return self.varied.attributes

    @property
    def sha256(self) -> str:
        """Return the hash of the parts of the file that affect the result."""
        return hashlib.sha256(canonical_json(dict(self.declared)).encode()).hexdigest()


def load_build(path: Path, connect: Connect) -> Build:
    """Read a declaration.

    Parameters
    ----------
    path : Path
        A ``.toml`` file, as described in docs/building.md.
    connect : callable
        Returns the models, see `fairstats.asking.models.Connect`.

    Returns
    -------
    Build

    Raises
    ------
    InputError
        If there is no such file, or it lacks required declarations or contradicts itself; every
        error is named.
    """
    declared = read_toml(path)
    table = parse(_Build, declared, path, example="docs/building.md")
    problems: list[Problem] = []

    def wrong(column: str, message: str, remedy: str) -> None:
        problems.append(Problem(str(path), message, remedy, column=column))

    try:
        file_inside(path.parent, table.items, path=path, key="items")
    except InputError as error:
        problems += error.problems
    agents_of = {
        "filter": table.filter,
        "neutralize": table.neutralize,
        "generate": table.generate,
        "fuse": table.fuse,
        "validate": table.validating,
    }
    filtered = table.filter is not None and table.filter.model != NOBODY
    ask = (table.filter and table.filter.ask) or ("doubtful" if filtered else "none")
    sees_options = table.generate is not None and table.generate.sees_options
    varied = read_attributes(table.attributes, path, problems)
    choices = {"generator": table.generator, "keep": table.keep, "ask": ask}
    agents = read_agents(agents_of, wrong, connect, **choices)
    if problems:
        raise InputError(problems)
    shaping = {
        **{key: getattr(table, key) for key in _TEXTS},
        "description": table.description or table.title,
        "generator": table.generator,
        "keep": table.keep,
        "rounds": table.rounds,
        "attributes": declared["attributes"],
        "filter": {"ask": ask},
        "generate": {"sees_options": sees_options},
    }
    for stage, agent in agents.items():
        shaping[stage] = {**shaping.get(stage, {}), **agent.shaping}
    return Build(
        path=path,
        name=table.name,
        title=table.title,
        description=shaping["description"],
        licence=table.licence,
        citation=table.citation,
        items=path.parent / table.items,
        generator=table.generator,
        keep=table.keep,
        rounds=table.rounds,
        filter_ask=ask,
        sees_options=sees_options,
        varied=varied,
        agents=MappingProxyType(agents),
        declared=MappingProxyType(shaping),
    )
