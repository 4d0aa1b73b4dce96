"""Read the declaration of a build: ``build.toml``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import canonical_json
from fairstats._lib.untrusted_files import file_inside
from fairstats.asking.models import Connect
from fairstats.benchmarks.benchmark_files import check_name
from fairstats.benchmarks.declaration import Attribute, read_toml, unknown_keys
from fairstats.vignettes.building.declared_agents import (
    AGENT_KEYS,
    Declared,
    read_agents,
)
from fairstats.vignettes.building.declared_attributes import Varied, read_attributes

#: How variants are written: by two agents, or by `fairstats.vignettes.rules.substitute`, which
#: needs no model.
GENERATORS = ("agents", "substitute")
#: Which variants are kept: every one without an error, or only those that the model answered as
#: intended.
KEEP = ("sound", "as intended")
#: For which items the filter's model is queried.
ASK = ("doubtful", "all", "none")
#: The first round and two revisions.
MOST_ROUNDS = 3

_TEXTS = ("name", "title", "licence", "citation")
_KEYS = (*_TEXTS, "description", "items", "generator", "keep", "rounds", "attributes", *AGENT_KEYS)


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
    problems = unknown_keys(declared, _KEYS, path)

    def wrong(column: str, message: str, remedy: str) -> None:
        problems.append(Problem(str(path), message, remedy, column=column))

    for key in _TEXTS:
        if not _is_line(declared.get(key)):
            wrong(key, "must be one line of text", "declare it")
    try:
        check_name(str(declared.get("name")))
    except InputError as error:
        wrong("name", error.problems[0].message, error.problems[0].remedy)
    if not _is_line(declared.get("items")):
        wrong("items", "must be the name of a file", "give the JSON Lines file of the questions")
    else:
        try:
            file_inside(path.parent, declared["items"], path=path, key="items")
        except InputError as error:
            problems += error.problems
    if not _is_line(declared.get("description", "-")):
        wrong("description", "must be one line of text", "correct it, or remove it")
    choices = {"generator": GENERATORS, "keep": KEEP}
    for key, allowed in choices.items():
        if declared.get(key, allowed[0]) not in allowed:
            wrong(key, "is unknown", f"use one of {', '.join(allowed)}")
    rounds = declared.get("rounds", MOST_ROUNDS)
    if type(rounds) is not int or not 1 <= rounds <= MOST_ROUNDS:
        wrong("rounds", "must be a number of rounds", f"use 1 to {MOST_ROUNDS}")
    generator, keep = (declared.get(key, allowed[0]) for key, allowed in choices.items())
    filtering, generating = (_table(declared, key) for key in ("filter", "generate"))
    ask = filtering.get("ask", "none" if filtering.get("model", "none") == "none" else "doubtful")
    if ask not in ASK:
        wrong("filter.ask", "is unknown", f"use one of {', '.join(ASK)}")
    sees_options = generating.get("sees_options", False)
    if not isinstance(sees_options, bool):
        wrong("generate.sees_options", "must be true or false", "write true or false")
    varied = read_attributes(declared, path, problems)
    agents = read_agents(declared, wrong, connect, generator=generator, keep=keep, ask=ask)
    if problems:
        raise InputError(problems)
    title = declared["title"]
    shaping = {
        **{key: declared[key] for key in _TEXTS},
        "description": declared.get("description", title),
        "generator": generator,
        "keep": keep,
        "rounds": rounds,
        "attributes": declared["attributes"],
        "filter": {"ask": ask},
        "generate": {"sees_options": sees_options},
    }
    for stage, agent in agents.items():
        shaping[stage] = {**shaping.get(stage, {}), **agent.shaping}
    return Build(
        path=path,
        name=declared["name"],
        title=title,
        description=shaping["description"],
        licence=declared["licence"],
        citation=declared["citation"],
        items=path.parent / declared["items"],
        generator=generator,
        keep=keep,
        rounds=rounds,
        filter_ask=ask,
        sees_options=sees_options,
        varied=varied,
        agents=MappingProxyType(agents),
        declared=MappingProxyType(shaping),
    )


def _table(declared: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = declared.get(key, {})
    return found if isinstance(found, Mapping) else {}


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()
