"""Read what a benchmark is to be built of: ``build.toml``."""

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

#: Who writes the variants: two agents, or `fairstats.vignettes.rules.substitute`, which asks
#: no model.
GENERATORS = ("agents", "substitute")
#: Which variants stay: every one without a fault, or those only that the model's answer favours.
KEEP = ("sound", "as intended")
#: Which items the filter's model is asked about.
ASK = ("doubtful", "all", "none")
#: The first round and two revisions.
MOST_ROUNDS = 3

_TEXTS = ("name", "title", "licence", "citation")
_KEYS = (*_TEXTS, "description", "items", "generator", "keep", "rounds", "attributes", *AGENT_KEYS)


@dataclass(frozen=True)
class Build:
    """What a benchmark is to be built of, and by whom.

    Parameters
    ----------
    path : Path
        The file that declares it.
    name, title, description, licence, citation : str
        Of the benchmark.
    items : Path
        The exam questions, as `fairstats.vignettes.building.source.read_source` reads
        them.
    generator : {"agents", "substitute"}
        Who writes the variants.
    keep : {"sound", "as intended"}
        Which variants stay; the second is a selection by the validating model's answers.
    rounds : int
        How many rounds there are at most, the first and two revisions.
    filter_ask : {"doubtful", "all", "none"}
        Which items the filter's model is asked about, beside the rules.
    sees_options : bool
        Whether the generating agent sees the options, and the key where a direction is wanted.
    varied : Varied
        The attributes, and of each group its words and its direction.
    agents : Mapping[str, Declared]
        Who is asked at each stage.
    declared : Mapping
        Whatever of the file shapes the result; how fast and at what cost is asked does not.
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
        """The attributes that are varied."""
        return self.varied.attributes

    @property
    def sha256(self) -> str:
        """Of whatever of the file shapes the result."""
        return hashlib.sha256(canonical_json(dict(self.declared)).encode()).hexdigest()


def load_build(path: Path, connect: Connect) -> Build:
    """Read a declaration.

    Parameters
    ----------
    path : Path
        A ``.toml`` file, as docs/building.md shows it.
    connect : callable
        Gives the models, see `fairstats.asking.models.Connect`.

    Returns
    -------
    Build

    Raises
    ------
    InputError
        When there is no such file, or it lacks or contradicts what it has to declare; every fault
        is named.
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
