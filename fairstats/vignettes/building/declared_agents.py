"""The agent of each stage of a build, as declared in ``build.toml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairstats._lib.problems import InputError
from fairstats.asking.models import Connect, Model
from fairstats.benchmarks.declaration import unknown_keys

#: The stages in order, with the maximum length of a reply in tokens.
MAX_TOKENS = MappingProxyType(
    {"filter": 200, "neutralize": 1500, "generate": 300, "fuse": 2000, "validate": 24}
)
STAGES = tuple(MAX_TOKENS)
AGENT_KEYS = STAGES
#: No model: only rules are used.
NOBODY = "none"

_NUMBERS = ("temperature", "max_tokens", "concurrency", "rpm", "tpm", "max_cost", "timeout")
_OPTIONS = {"base_url", "price", "retries", "batch", *_NUMBERS}
_OWN = {"filter": ("ask",), "generate": ("sees_options",)}
#: Settings that affect a reply; the others affect speed and cost.
_SHAPING = ("model", "base_url", "temperature", "max_tokens")

Wrong = Callable[[str, str, str], None]


@dataclass(frozen=True)
class Declared:
    """The declared agent of a stage.

    Parameters
    ----------
    stage : str
        One of `STAGES`.
    model : str
        As in `fairstats_collectors.chat.collect`, or ``"none"``.
    options : Mapping
        ``max_tokens`` and `fairstats.asking.models.AskingOptions`.
    shaping : Mapping
        The settings that affect a reply.
    connect : callable
        Returns the model.
    """

    stage: str
    model: str
    options: Mapping[str, Any]
    shaping: Mapping[str, Any]
    connect: Connect

    @property
    def asks(self) -> bool:
        """Return whether there is a model."""
        return self.model != NOBODY

    def connected(self, **more: Any) -> Model:
        """Return the model with these options."""
        return self.connect(self.model, **{**self.options, **more})


def read_agents(
    declared: Mapping[str, Any],
    wrong: Wrong,
    connect: Connect,
    *,
    generator: str,
    keep: str,
    ask: str,
) -> dict[str, Declared]:
    """Return the agents of all stages; errors are reported to `wrong`."""
    agents = {stage: _agent(declared.get(stage), stage, wrong, connect) for stage in STAGES}
    if generator == "substitute":
        for stage in ("generate", "fuse"):
            if stage in declared:
                remedy = 'remove it, or use generator = "agents"'
                wrong(stage, 'is not used with generator = "substitute"', remedy)
    elif not agents["generate"].asks:
        wrong("generate.model", "is missing", 'give a model, or use generator = "substitute"')
    if "validate" not in declared:
        wrong("validate", "is missing", 'add it with a model, or with model = "none"')
    elif not agents["validate"].asks and keep == "as intended":
        remedy = 'give a model, or use keep = "sound"'
        wrong("validate.model", 'keep = "as intended" needs a model\'s answers', remedy)
    if ask != "none" and not agents["filter"].asks:
        wrong("filter.model", f'ask = "{ask}" needs a model', 'give a model, or use ask = "none"')
    return agents


def _agent(table: object, stage: str, wrong: Wrong, connect: Connect) -> Declared:
    table = {"model": NOBODY} if table is None else table
    nobody = Declared(
        stage, NOBODY, MappingProxyType({}), MappingProxyType({"model": NOBODY}), connect
    )
    if not isinstance(table, Mapping):
        wrong(stage, "must be a table", f"write [{stage}]")
        return nobody
    known = ("model", *_OWN.get(stage, ()), *sorted(_OPTIONS))
    # `wrong` adds the file's path.
    for problem in unknown_keys(table, known, Path(), table=stage):
        wrong(str(problem.column), problem.message, problem.remedy)
    model = table.get("model")
    if not isinstance(model, str) or not model.strip() or not model.isprintable():
        wrong(f"{stage}.model", "must be the name of a model", 'give one, or write "none"')
        return nobody
    if model == NOBODY:
        return nobody
    options: dict[str, Any] = {"max_tokens": MAX_TOKENS[stage]}
    for key in sorted(_OPTIONS & set(table)):
        if _fits(key, table[key]):
            options[key] = tuple(table[key]) if key == "price" else table[key]
        else:
            wrong(f"{stage}.{key}", "must be " + _kind(key), "correct it")
    shaping = {"model": model} | {k: options[k] for k in _SHAPING if k in options}
    found = Declared(stage, model, MappingProxyType(options), MappingProxyType(shaping), connect)
    try:
        found.connected()
    except InputError as error:
        for problem in error.problems:
            wrong(stage, f"{problem.path}: {problem.message}", problem.remedy)
    return found


def _fits(key: str, value: object) -> bool:
    if key == "base_url":
        return isinstance(value, str) and value.startswith(("http://", "https://"))
    if key == "batch":
        return isinstance(value, bool)
    if key == "price":
        return isinstance(value, list) and len(value) == 2 and all(map(_is_amount, value))
    if key in ("temperature", "timeout", "max_cost"):
        return _is_amount(value)
    return type(value) is int


def _kind(key: str) -> str:
    kinds = {
        "base_url": "an address such as https://host/v1",
        "batch": "true or false",
        "price": "the dollars per million tokens of prompt and of completion, e.g. [2, 8]",
    }
    return kinds.get(key, "a number")


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9
