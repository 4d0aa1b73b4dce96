"""The agent of each stage of a build, as declared in ``build.toml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Strict

from fairstats._lib.problems import InputError
from fairstats._lib.toml_files import Flag, Number, Table, must
from fairstats.asking.models import Connect, Model

#: The stages in order, with the maximum length of a reply in tokens.
MAX_TOKENS = MappingProxyType(
    {"filter": 200, "neutralize": 1500, "generate": 300, "fuse": 2000, "validate": 24}
)
STAGES = tuple(MAX_TOKENS)
#: For which items the filter's model is asked.
Ask = Literal["doubtful", "all", "none"]
#: No model: only rules are used.
NOBODY = "none"

Wrong = Callable[[str, str, str], None]
# Settings that affect a reply; the others affect speed and cost.
_SHAPING = ("model", "base_url", "temperature", "max_tokens")


Line = Annotated[
    str,
    must(
        lambda text: text.strip() and text.isprintable(), "must be one line of text", "correct it"
    ),
]
Address = Annotated[
    str,
    must(
        lambda text: text.startswith(("http://", "https://")),
        "must be an address such as https://host/v1",
        "correct it",
    ),
]
Amount = Annotated[
    Number,
    must(lambda value: 0 <= value < 1e9, "must be a number from 0 on", "correct it"),
]
Whole = Annotated[int, Strict()]


class AgentTable(Table):
    """The agent of a stage: its model, and `fairstats.asking.models.AskingOptions`."""

    model: Line
    base_url: Address | None = None
    batch: Flag = False
    concurrency: Whole = 1
    max_cost: Amount | None = None
    max_tokens: Whole | None = None
    price: tuple[Amount, Amount] | None = None
    retries: Whole = 0
    rpm: Whole | None = None
    temperature: Amount = 0
    timeout: Amount = 0
    tpm: Whole | None = None

    def options(self) -> dict[str, Any]:
        """Return the options that are declared."""
        options = AgentTable.model_fields.keys() - {"model"}
        return {name: getattr(self, name) for name in sorted(options & self.model_fields_set)}


class FilterTable(AgentTable):
    """The agent of the filter, and for which items it is asked."""

    ask: Ask | None = None


class GenerateTable(AgentTable):
    """The agent that generates, and whether it sees the options."""

    sees_options: Flag = False


@dataclass(frozen=True)
class Declared:
    """The declared agent of a stage.

    Parameters
    ----------
    stage : str
        One of `STAGES`.
    model : str
        As in `fairstats_collectors.collect.collect`, or ``"none"``.
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
    tables: Mapping[str, AgentTable | None],
    wrong: Wrong,
    connect: Connect,
    *,
    generator: str,
    keep: str,
    ask: str,
) -> dict[str, Declared]:
    """Return the agents of all stages; errors are reported to `wrong`."""
    agents = {stage: _agent(tables[stage], stage, wrong, connect) for stage in STAGES}
    if generator == "substitute":
        for stage in ("generate", "fuse"):
            if tables[stage] is not None:
                remedy = 'remove it, or use generator = "agents"'
                wrong(stage, 'is not used with generator = "substitute"', remedy)
    elif not agents["generate"].asks:
        wrong("generate.model", "is missing", 'give a model, or use generator = "substitute"')
    if tables["validate"] is None:
        wrong("validate", "is missing", 'add it with a model, or with model = "none"')
    elif not agents["validate"].asks and keep == "as intended":
        remedy = 'give a model, or use keep = "sound"'
        wrong("validate.model", 'keep = "as intended" needs a model\'s answers', remedy)
    if ask != "none" and not agents["filter"].asks:
        wrong("filter.model", f'ask = "{ask}" needs a model', 'give a model, or use ask = "none"')
    return agents


def _agent(table: AgentTable | None, stage: str, wrong: Wrong, connect: Connect) -> Declared:
    if table is None or table.model == NOBODY:
        nothing = MappingProxyType({"model": NOBODY})
        return Declared(stage, NOBODY, MappingProxyType({}), nothing, connect)
    options = {"max_tokens": MAX_TOKENS[stage]} | table.options()
    shaping = {"model": table.model} | {k: options[k] for k in _SHAPING if k in options}
    found = Declared(
        stage, table.model, MappingProxyType(options), MappingProxyType(shaping), connect
    )
    try:
        found.connected()
    except InputError as error:
        for problem in error.problems:
            wrong(stage, f"{problem.path}: {problem.message}", problem.remedy)
    return found
