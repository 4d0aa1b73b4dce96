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
    "|api|batch|by|eu|free|from|global|latest|models|us|via"
)
# Of the same model: how far it is tried, thinks or learnt to chat, and the format of its weights.
_EDITION = re.compile(
    "preview|exp|experimental|chat|instruct|it|x?high|low|minimal|none|(non)?reasoning"
    "|(no|non)?thinking|gguf|ggml|awq|gptq|mlx|onnx|fp\\d+|bf16|nf4|bnb|int[48]|[48]bit|json|structured"
)
# Words of a snapshot that could be of any model, with their numbers.
_VERSION = re.compile(
    "(v|ver|version|rev|revision|release|checkpoint|ckpt|step|commit|tag|build|snapshot|date|model"
    "|default|stable|main|master|current|new|newest|final|alpha|beta|base|not|un|known|unknown)\\d*"
    "|i?q\\d|x+[sl]"
)
# Of the server, the run or the machine, with their numbers.
_SERVER = re.compile(
    "(vllm|sglang|tgi|transformers|torch|litellm|cuda|python|run|seed|epoch|temp|temperature|prompt"
    "|week|gpu|lora|attempt|trial|iter|iteration|sample|batch|job|node|server|docker|lmdeploy"
    "|tensorrt|rtx|(few)?shot)\\d*"
)
_LLAMA_CPP = re.compile(r"\bllama[-._]?cpp\b")
_HASH = re.compile(r"\b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{12,}\b")
# How long a model thinks, except for makers of a model of medium size.
_MEDIUM = re.compile(r"(?!phi|\w*stral|gpt-?2\b).+-medium")
# A version at a service (Bedrock's -v1:0), weights as in ollama's :8b-q4_K_M, settings (T=0), runs.
_SERVED = re.compile(
    r"-v\d+:\d[\w:]*|[-:]q\d(-\w)*$|[\w.]+=[^\s,;()-]*"
    r"|-(?:run|seed|attempt|temp|temperature)-?[\d.]+$|-#\d+$"
)
# A model of somebody's own training has the name of the one that it was made from.
_FINE_TUNED = re.compile(r"^ft:([^:]*).*|^fine-?tuned-|-(fine-?tun|ft$|ft-|sft|lora).*")
# What follows a name as a remark, such as where the model was asked.
_REMARK = re.compile(
    r"[(\[{].*?([)\]}]|$)|[,;|@].*|-(via|on|with|using|by|from|at|hosted|served)-.*|-\+-.*"
)
_MONTH_NAME = re.compile(
    "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    "(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR, _MONTH, _DAY = r"20[2-4]\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
# Dates at the end of a name, and how to write each as year, month and day, a dot for what is open.
_DATES = [
    (re.compile(rf"(?P<name>.+?)-{date}"), form)
    for date, form in (
        (rf"({_YEAR})-?({_MONTH})-?({_DAY})", r"\2\3\4"),
        # 07/08/2024 is a day in July or in August.
        (rf"({_MONTH})-({_MONTH})-({_YEAR})", r"\4...."),
        (rf"({_DAY})-({_MONTH})-({_YEAR})", r"\4\3\2"),
        (rf"({_MONTH})-({_DAY})-({_YEAR})", r"\4\2\3"),
        (rf"({_YEAR})-({_MONTH})", r"\2\3.."),
        (rf"({_MONTH})-({_YEAR})", r"\3\2.."),
        (rf"({_YEAR})", r"\2...."),
        (rf"({_MONTH})-?({_DAY})", r"....\2\3"),
        (rf"(2[2-9])({_MONTH})", r"20\2\3.."),
        # Some snapshots are numbered.
        (r"(00\d)", r"00000\2"),
    )
]


class _ModelName(NamedTuple):
    """A model's name in small letters and digits, also without remarks, and a snapshot's date.

    A name is two texts: with its words in their order, and with its numbers first.
    """

    name: frozenset[str]
    bare: frozenset[str]
    #: A dot is any digit.
    date: str

    def same(self, other: _ModelName) -> bool:
        """Return whether both may name one model; a name without a date has any."""
        pairs = zip(self.date, other.date, strict=False)
        dates = all(a == b or "." in (a, b) for a, b in pairs)
        # Two remarks may say which of two models it is: Llama 3 (8B) and Llama 3 (70B).
        alike = self.name & (other.name | other.bare) or self.bare & other.name
        return bool(alike) and dates


def _model_name(name: str) -> _ModelName:
    text = _SERVED.sub("", fold_name(name)).replace("chatgpt", "gpt")
    text = _FINE_TUNED.sub(lambda found: found[1] or "", text)
    # The plus of Command R+ is part of its name.
    whole, date = _last_part(re.sub(r"\+(?!\w)", "-plus", text))
    bare, bare_date = _last_part(re.sub(r"\+(?!\w)", "-plus", _REMARK.sub("", text)))
    return _ModelName(whole, bare or whole, date or bare_date)


def _last_part(text: str) -> tuple[frozenset[str], str]:
    """Return the name and the date at the end of a path such as openrouter/openai/gpt-4o-mini."""
    dashed = re.sub(r"\b(\d+)/(\d+)/(\d+)\b", r"\1-\2-\3", text)
    parts = [_without_ends(part) for part in dashed.split("/")]
    return next((part for part in reversed(parts) if part[0]), (frozenset(), ""))


def _without_ends(text: str) -> tuple[frozenset[str], str]:
    """Remove providers, editions and the date of a snapshot from the ends of a name."""
    words, date = re.findall(r"\w+", text.replace("_", "-")), ""
    while words:
        if _PROVIDER.fullmatch(words[-1]):
            del words[-1]
        elif _PROVIDER.fullmatch(words[0]):
            del words[0]
        elif len(words) > 1 and _is_edition(words):
            del words[-1]
        elif not date and (found := _dated(words)):
            words, date = found
        else:
            break
    # Claude 3.5 Sonnet is also called Claude Sonnet 3.5.
    numbers, others = [w for w in words if w.isdigit()], [w for w in words if not w.isdigit()]
    return frozenset({"".join(words), "".join([*numbers, *sorted(others)])} - {""}), date


def _is_edition(words: list[str]) -> bool:
    return bool(_EDITION.fullmatch(words[-1]) or _MEDIUM.fullmatch("-".join(words)))


def _dated(words: list[str]) -> tuple[list[str], str] | None:
    """Return the words before a date, and the date; None if there is none."""
    text = "-".join(
        f"{_MONTHS.index(month[1]) + 1:02}" if (month := _MONTH_NAME.fullmatch(word)) else word
        for word in words
    )
    for pattern, form in _DATES:
        if found := pattern.fullmatch(text):
            return words[: found["name"].count("-") + 1], found.expand(form)
    return None


def same_model(one: str, other: str) -> bool:
    """Return whether two names may be of the same model, or of a model and its snapshot.

    Letter case, blanks, punctuation, the order of words, look-alikes (see `fold_name`), the
    provider before or after the name, the date of a snapshot, the size of its thinking, the format
    of its weights or the number of a run at the end, fine-tuning, and remarks (in parentheses,
    after a comma, or with "via") make no difference.
    Two different dates do, and remarks if both names have one.

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
    >>> found = models_of_snapshots([("A", "a-2025, a-2026"), ("B", "lab/A-2026"), ("C", None)])
    >>> sorted(found["a-2026"])
    ['A', 'B']
    """
    found: dict[str, set[str]] = {}
    for model, snapshot in named:
        for name in (model, *(snapshots_in(snapshot) if snapshot else ())):
            found.setdefault(snapshot_key(name), set()).add(model)
    return found


def snapshots_in(text: str) -> list[str]:
    """Return each snapshot of a text that lists several, as a submission may.

    Examples
    --------
    >>> snapshots_in("a-2025, a-2026,b-2026; c")
    ['a-2025', 'a-2026', 'b-2026', 'c']
    """
    return [one for one in re.split(r"\s*[,;，；、]\s*", text.strip()) if one]


def snapshot_key(name: str) -> str:
    """Return a snapshot's name without its path and regardless of spelling."""
    return fold_name(name).rpartition("/")[2]


def names_model(snapshot: str, models: Iterable[str]) -> bool:
    """Return whether a snapshot says which model it is, rather than a version, a format or nothing.

    It is the name of one of the models that state it (see `same_model`), a long hash, or has a
    word of three letters and a digit that are no version, edition, format, provider, server, run
    or date.

    Examples
    --------
    >>> [names_model(text, ["A", "B"]) for text in ("gpt-4.1-2025-04-14", "not known", "v1.0")]
    [True, False, False]
    """
    if any(same_model(snapshot, model) for model in models):
        return True
    text = _LLAMA_CPP.sub("", _REMARK.sub("", _SERVED.sub("", snapshot_key(snapshot))))
    words = [word for word in re.findall(r"\w+", text) if not _says_no_model(word)]
    while found := _dated(words):
        words = found[0]
    left = " ".join(words)
    named = re.search(r"[^\W\d_]{3}", left) and re.search(r"\d", left)
    return bool(named or _HASH.search(text))


def _says_no_model(word: str) -> bool:
    return any(
        kind.fullmatch(word) for kind in (_PROVIDER, _EDITION, _VERSION, _SERVER, _MONTH_NAME)
    )


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
        asked = _model_name(name) if self._names else _ModelName(frozenset(), frozenset(), "")
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
