"""Names of models: whether two of them are the same model, in whatever spelling."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from fairstats._lib.safe_names import fold_name

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Providers and services that are not themselves the name of a model, as DeepSeek and Mistral are.
_PROVIDER = re.compile(
    "alibaba|amazon|anthropic|aws|azure|bedrock|deepmind|fireworks|google|groq|hf|huggingface|meta"
    "|microsoft|mistralai|ollama|openai|openrouter|together|vertex|vertexai|xai|zhipuai"
    "|api|batch|by|eu|free|from|latest|models|us|via"
)
_YEAR, _MONTH, _DAY = r"20[2-4]\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
# 2024-07-18, 20240718, 2024-07, 0718, 05-20 and 2407 (year and month), at the end of a name.
_DATE = re.compile(
    rf"(?P<name>.+?)-(?P<date>{_YEAR}-?{_MONTH}-?{_DAY}|{_YEAR}-{_MONTH}|{_MONTH}-?{_DAY}"
    rf"|2[2-9]{_MONTH})"
)


class _ModelName(NamedTuple):
    """A model's name in small letters and digits only, and the digits of the date of a snapshot."""

    name: str
    date: str

    def same(self, other: _ModelName) -> bool:
        """Return whether both may name one model; a name without a date has any."""
        dates = self.date.endswith(other.date) or other.date.endswith(self.date)
        return bool(self.name) and self.name == other.name and dates


def _model_name(name: str) -> _ModelName:
    # A path such as openrouter/openai/gpt-4o-mini ends with the model.
    parts = [_bare(part) for part in fold_name(name).split("/")]
    return next((part for part in reversed(parts) if part.name), _ModelName("", ""))


def _bare(text: str) -> _ModelName:
    """Remove providers and the date of a snapshot from the ends of a name."""
    words, date = re.findall(r"\w+", text.replace("_", "-")), ""
    while words:
        if _PROVIDER.fullmatch(words[-1]):
            del words[-1]
        elif _PROVIDER.fullmatch(words[0]):
            del words[0]
        elif not date and (found := _DATE.fullmatch("-".join(words))):
            words, date = found["name"].split("-"), found["date"].replace("-", "")
        else:
            break
    return _ModelName("".join(words), date)


def same_model(one: str, other: str) -> bool:
    """Return whether two names may be of the same model, or of a model and its snapshot.

    Letter case, blanks, punctuation, look-alikes (see `fold_name`), the provider before or after
    the name, and the date of a snapshot make no difference. Two different dates do.

    Examples
    --------
    >>> [same_model("GPT-4o-mini", name) for name in ("OpenAI/gpt-4o-mini-2024-07-18", "GPT-4o")]
    [True, False]
    """
    return _model_name(one).same(_model_name(other))


def models_of_snapshots(named: Iterable[tuple[str, str | None]]) -> dict[str, set[str]]:
    """Return the models that state a snapshot, or have its name, by the snapshot's `snapshot_key`.

    Examples
    --------
    >>> found = models_of_snapshots([("A", "a-2026"), ("B", "lab/A-2026"), ("C", None)])
    >>> sorted(found["a-2026"])
    ['A', 'B']
    """
    found: dict[str, set[str]] = {}
    for model, snapshot in named:
        for name in (model, snapshot or model):
            found.setdefault(snapshot_key(name), set()).add(model)
    return found


def snapshot_key(name: str) -> str:
    """Return a snapshot's name without its path and regardless of spelling."""
    return fold_name(name).rpartition("/")[2]


class ModelNames(Mapping[str, str]):
    """A mapping by models' names that finds a model in any spelling, see `same_model`.

    Iteration returns the names as declared.

    Examples
    --------
    >>> declared = ModelNames({"GPT-4o-mini": "wrote the items"})
    >>> declared["gpt-4o-mini (OpenAI)"], list(declared)
    ('wrote the items', ['GPT-4o-mini'])
    """

    def __init__(self, declared: Mapping[str, str]) -> None:
        self._declared = dict(declared)
        self._names = [(_model_name(name), value) for name, value in declared.items()]

    def __getitem__(self, name: str) -> str:
        if name in self._declared:
            return self._declared[name]
        asked = _model_name(name) if self._names else _ModelName("", "")
        for declared, value in self._names:
            if declared.same(asked):
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._declared!r})"


def named_in(names: Iterable[str], known: Container[str]) -> npt.NDArray[np.bool_]:
    """Return which of these names are in a container; `ModelNames` finds other spellings.

    Examples
    --------
    >>> named_in(["a_1", "b"], ModelNames({"A-1": "how"})).tolist()
    [True, False]
    """
    import numpy as np

    return np.array([name in known for name in names], dtype=np.bool_)
