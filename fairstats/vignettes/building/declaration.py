"""Read the declaration of a build: ``build.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from fairstats._lib.problems import InputError, Problem, collected, refuse
from fairstats._lib.safe_names import canonical_json, text_sha256
from fairstats._lib.toml_files import Fault, Flag, Number, Table, must, parse, read_toml
from fairstats._lib.untrusted_files import file_inside
from fairstats.asking.models import Connect, Model
from fairstats.benchmarks.benchmark_files import check_name
from fairstats.benchmarks.contradictions import contradictory_attributes
from fairstats.benchmarks.declaration import (
    BASELINE,
    NEUTRALIZED,
    ORIGINAL,
    POOLED,
    Attribute,
)
from fairstats.benchmarks.loading import AttributeTable
from fairstats.vignettes.rules.substitute import is_name

#: The stages in order, with the maximum length of a reply in tokens.
MAX_TOKENS = MappingProxyType(
    {"filter": 200, "neutralize": 1500, "generate": 300, "fuse": 2000, "validate": 24}
)
STAGES = tuple(MAX_TOKENS)
#: No model: only rules are used.
NOBODY = "none"
#: Which variants are kept: every one without an error, or only those that the model answered as
#: intended.
Keep = Literal["sound", "as intended"]
#: The first round and two revisions.
MOST_ROUNDS = 3

# Settings that affect a reply; the others affect speed and cost.
_SHAPING = ("model", "base_url", "temperature", "max_tokens")
# Parts of a declaration: (key, message, remedy).
_Fault = tuple[str, str, str]


def _is_free(name: str) -> str:
    try:
        check_name(name)
    except InputError as error:
        raise Fault(error.problems[0].message, error.problems[0].remedy) from None
    return name


_Line = Annotated[
    str,
    must(
        lambda text: text.strip() and text.isprintable(), "must be one line of text", "correct it"
    ),
]
_Address = Annotated[
    str,
    must(
        lambda text: text.startswith(("http://", "https://")),
        "must be an address such as https://host/v1",
        "correct it",
    ),
]
_Amount = Annotated[
    Number,
    must(lambda value: 0 <= value < 1e9, "must be a number from 0 on", "correct it"),
]
_Whole = Annotated[int, Strict()]
_Rounds = Annotated[
    int,
    must(
        lambda value: type(value) is int and 1 <= value <= MOST_ROUNDS,
        "must be a number of rounds",
        f"use 1 to {MOST_ROUNDS}",
        validator=BeforeValidator,
    ),
]
_Word = Annotated[str, must(is_name, "must be up to 60 printable characters", "correct it")]
_Words = Annotated[
    tuple[_Word, ...],
    must(bool, "must name the group", 'list its words, e.g. ["white"]'),
]


class _Agent(Table):
    """The agent of a stage: its model, and `fairstats.asking.models.AskingOptions`."""

    model: _Line
    base_url: _Address | None = None
    batch: Flag = False
    concurrency: _Whole = 1
    max_cost: _Amount | None = None
    max_tokens: _Whole | None = None
    price: tuple[_Amount, _Amount] | None = None
    retries: _Whole = 0
    rpm: _Whole | None = None
    temperature: _Amount = 0
    timeout: _Amount = 0
    tpm: _Whole | None = None

    def options(self) -> dict[str, Any]:
        """Return the options that are declared."""
        options = _Agent.model_fields.keys() - {"model"}
        return {name: getattr(self, name) for name in sorted(options & self.model_fields_set)}


class _Filter(_Agent):
    """The agent of the filter, and for which items it is asked."""

    ask: Literal["doubtful", "all", "none"] | None = None


class _Generate(_Agent):
    """The agent that generates, and whether it sees the options."""

    sees_options: Flag = False


class _Attribute(AttributeTable):
    """An attribute, with the words that name each group and the direction of its variants.

    A direction is the intended effect of a group's background: towards a right answer, away from
    it, or none.
    """

    label: _Word
    groups: dict[_Word, _Word]
    words: dict[str, _Words]
    directions: dict[str, Literal["favourable", "unfavourable", "neutral"]] = Field(
        default_factory=dict
    )


class _Build(Table):
    """``build.toml``; see `Build`.

    The variants are written by two agents, or by `fairstats.vignettes.rules.substitute`, which
    needs no model.
    """

    name: Annotated[_Line, AfterValidator(_is_free)]
    title: _Line
    description: _Line | None = None
    licence: _Line
    citation: _Line
    items: _Line
    generator: Literal["agents", "substitute"] = "agents"
    keep: Keep = "sound"
    rounds: _Rounds = MOST_ROUNDS
    attributes: dict[str, _Attribute]
    filter: _Filter | None = None
    neutralize: _Agent | None = None
    generate: _Generate | None = None
    fuse: _Agent | None = None
    # A model of pydantic has a method of this name.
    validating: _Agent | None = Field(default=None, alias="validate")


@dataclass(frozen=True)
class Declared:
    """The declared agent of a stage."""

    stage: str
    model: str
    options: Mapping[str, Any]
    connect: Connect

    @property
    def asks(self) -> bool:
        """Return whether there is a model."""
        return self.model != NOBODY

    @property
    def shaping(self) -> dict[str, Any]:
        """Return the settings that affect a reply."""
        settings = {"model": self.model, **self.options}
        return {name: settings[name] for name in _SHAPING if name in settings}

    def connected(self, **more: Any) -> Model:
        """Return the model with these options."""
        return self.connect(self.model, **{**self.options, **more})


@dataclass(frozen=True)
class Build:
    """The declaration of a build: its input, settings and agents.

    Parameters
    ----------
    name, title, description, licence, citation : str
        Name, title and version of the benchmark.
    items : Path
        The exam questions, as read by `fairstats.vignettes.building.run.read_source`.
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
    attributes : tuple of Attribute
        The attributes that are varied, without the baseline.
    words : Mapping[str, tuple of str]
        The words that name each group, by the group's name; the first is the one to insert.
    directions : Mapping[str, str]
        ``favourable``, ``unfavourable`` or ``neutral`` for each group.
    agents : Mapping[str, Declared]
        The agent of each stage.
    declared : Mapping
        The parts of the file that affect the result; speed and cost settings do not.
    """

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
    attributes: tuple[Attribute, ...]
    words: Mapping[str, tuple[str, ...]]
    directions: Mapping[str, str]
    agents: Mapping[str, Declared]
    declared: Mapping[str, Any]

    @property
    def sha256(self) -> str:
        """Return the hash of the parts of the file that affect the result."""
        return text_sha256(canonical_json(dict(self.declared)))


def load_build(path: Path, connect: Connect) -> Build:
    """Read a declaration, a ``.toml`` file as described in docs/building.md."""
    declared = read_toml(path)
    table = parse(_Build, declared, path, example="docs/building.md")
    agents = {
        "filter": _declared_agent("filter", table.filter, connect),
        "neutralize": _declared_agent("neutralize", table.neutralize, connect),
        "generate": _declared_agent("generate", table.generate, connect),
        "fuse": _declared_agent("fuse", table.fuse, connect),
        "validate": _declared_agent("validate", table.validating, connect),
    }
    ask = "doubtful" if agents["filter"].asks else "none"
    ask = (table.filter and table.filter.ask) or ask
    attributes = {name: one.named(name) for name, one in table.attributes.items()}
    problems: list[Problem] = []
    with collected(problems):
        file_inside(path.parent, table.items, path=path, key="items")
    problems += [
        Problem(str(path), message, remedy, column=f"attributes.{where}".rstrip("."))
        for where, message, remedy in _attribute_faults(table.attributes)
    ]
    problems += contradictory_attributes(attributes, path)
    problems += [
        Problem(str(path), message, remedy, column=where)
        for where, message, remedy in _agent_faults(table, agents, ask)
    ]
    refuse(problems)
    tables = table.attributes.values()
    sees_options = table.generate is not None and table.generate.sees_options
    settings: dict[str, Any] = {
        "name": table.name,
        "title": table.title,
        "licence": table.licence,
        "citation": table.citation,
        "description": table.description or table.title,
        "generator": table.generator,
        "keep": table.keep,
        "rounds": table.rounds,
    }
    shaping = {
        **settings,
        "attributes": declared["attributes"],
        "filter": {"ask": ask},
        "generate": {"sees_options": sees_options},
    }
    for stage, agent in agents.items():
        shaping[stage] = {**shaping.get(stage, {}), **agent.shaping}
    return Build(
        **settings,
        items=path.parent / table.items,
        filter_ask=ask,
        sees_options=sees_options,
        attributes=tuple(attributes.values()),
        words={group: words for one in tables for group, words in one.words.items()},
        directions={g: one.directions.get(g, "neutral") for one in tables for g in one.groups},
        agents=agents,
        declared=shaping,
    )


def _declared_agent(stage: str, table: _Agent | None, connect: Connect) -> Declared:
    if table is None or table.model == NOBODY:
        return Declared(stage, NOBODY, {}, connect)
    options = {"max_tokens": MAX_TOKENS[stage], **table.options()}
    return Declared(stage, table.model, options, connect)


def _agent_faults(table: _Build, agents: Mapping[str, Declared], ask: str) -> Iterator[_Fault]:
    for stage, agent in agents.items():
        try:
            agent.connected() if agent.asks else None
        except InputError as error:
            for problem in error.problems:
                yield stage, f"{problem.path}: {problem.message}", problem.remedy
    if table.generator == "substitute":
        for stage in ("generate", "fuse"):
            if getattr(table, stage) is not None:
                remedy = 'remove it, or use generator = "agents"'
                yield stage, 'is not used with generator = "substitute"', remedy
    elif not agents["generate"].asks:
        yield "generate.model", "is missing", 'give a model, or use generator = "substitute"'
    if table.validating is None:
        yield "validate", "is missing", 'add it with a model, or with model = "none"'
    elif not agents["validate"].asks and table.keep == "as intended":
        remedy = 'give a model, or use keep = "sound"'
        yield "validate.model", 'keep = "as intended" needs a model\'s answers', remedy
    if ask != "none" and not agents["filter"].asks:
        yield "filter.model", f'ask = "{ask}" needs a model', 'give a model, or use ask = "none"'


def _attribute_faults(tables: Mapping[str, _Attribute]) -> Iterator[_Fault]:
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
