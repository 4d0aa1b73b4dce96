"""List the known models: the service of each, its settings and its price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.toml_files import Number, Table, parse, read_toml
from fairstats_collectors.limits import Price

_FILE = Path(__file__).with_name("models.toml")
_SETTINGS = ("temperature", "seed", "max_tokens")


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

    Parameters
    ----------
    name : str
        A name of ``models.toml``, or the model's name at the service.
    base_url : str, optional
        The service; if given, `name` is the model's name there.

    Raises
    ------
    InputError
        If the model is known but no service has it.
    """
    known = None if base_url else known_models().get(name)
    if known is None:
        return KnownModel(name, base_url)
    if known.base_url is None:
        problem = Problem(
            f"model = {name!r}",
            f"no known service offers this version ({known.snapshot})",
            "give a service with base_url, and the model's name at that service",
        )
        raise InputError([problem])
    return known
