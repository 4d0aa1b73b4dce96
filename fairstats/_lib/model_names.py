"""Names of models: whether two of them are the same model, in whatever spelling."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from fairstats._lib.safe_names import fold_name

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Providers and services that are not themselves the name of a model, as DeepSeek and Mistral are.
_PROVIDER = (
    "alibaba|amazon|anthropic|aws|azure|bedrock|deepmind|fireworks|google|groq|hf|huggingface|meta"
    "|microsoft|mistralai|ollama|openai|openrouter|together|vertex|vertexai|xai|zhipuai"
    "|api|batch|by|eu|free|from|global|latest|models|ours?|us|via"
)
# Of the same model: how far it is tried, thinks or learnt to chat, and the format of its weights.
_EDITION = (
    "preview|exp|experimental|chat|instruct|it|x?high|low|minimal|none|gguf|ggml|awq|gptq|mlx"
    r"|onnx|fp\d+|bf16|b?float\d+|nf4|bnb|int[48]|[48]bit|json|structured|(non?)?(reasoning|thinking)"
)
# Where such a word makes another model: phi-4-reasoning is not phi-4.
_OTHER_MODEL = (
    r"(?:.*-)?(?:(?:phi|\w*stral|gpt-?2|sonar)\b.*-medium|gpt-5\b.*-chat|gpt-3-5-turbo-instruct"
    r"|(?:phi|\w*stral|command-a|sonar)\b.*-reasoning|kimi(?:-k2)?-thinking|doubao-seed-\d"
    r"|(?:ernie|gemini-2-0|hunyuan|lfm2|longcat|qwen3(?!-[5-9]-)|seed|trinity)\b.*-thinking)"
)
# Words for a run, a prompt, a deployment or a server, with their numbers.
_RUN = (
    "((re)?(run|test)|final|seed|attempt|trial|repeat|replicate|sample|copy|backup|temp|temperature"
    "|cot|rag|plain|baseline|prompt|prompting|(few|zero|one)?-?shots?|prod|production|staging"
    r"|deployment|server|docker|vllm|sglang|tgi|litellm|lmdeploy)\d*"
)
# Other words of a snapshot that could be of any model, with their numbers.
_VERSION = (
    "(v|ver(sion)?|rev(ision)?|release|checkpoint|ckpt|step|commit|tag|build|snapshot|date|model|un"
    "|default|stable|main|master|current|new(est)?|final|alpha|beta|base|not|(un)?known|gpu|rtx|node"
    r"|transformers|(py)?torch|tensorrt|cuda|python|job|week|epoch|iter(ation)?|lora"
    r"|phase|round|wave|session|region|cluster)\d*|i?q\d|x+[sl]"
)
#: Most models that are taken for one and the same by the text of their snapshots.
_MOST_OF_ONE = 2
_HASH = re.compile(r"\b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{12,}\b")
# Files of weights (-Q4_K_M.gguf): a quarter such as -q1 or 2025-q4 is none.
_WEIGHTS = (
    r"(?<!20\d\d)[-.:]((ud|i1|imat)-)?([it]?q\d(-(k|x*[sml]|nl|\d))+|q[4-8](f16-\d)?|f(16|32)"
    r"|w\d+a\d+|mxfp4)(-\d{5}-of-\d{5})?([-.]gguf)?(?=-?[(\[,;@]|$)"
)
# A version or route at a service (-v1:0, :online), weights, settings (T=0), a number.
_SERVED = re.compile(
    r"-v\d+:\d[\w:]*|:(?:online|nitro|floor)$|" + _WEIGHTS + r"|[\w.]+=[^\s,;()-]*"
    r"|-(?:temp(?:erature)?-?\d|t-?[01])(?:\.\d+|$)|-#\d+$|\bllama[-._]?cpp\b"
)
# A model of somebody's own training has the name of the one that it was made from.
_FINE_TUNED = re.compile(r"^ft:([^:]*).*|^fine-?tuned-|-(fine-?tun|ft$|ft-|sft|lora).*")
# What is around a name as a remark, such as who made it or where it was asked.
_REMARK = re.compile(
    r"^[^\d(:]+:-|:-.*|[(\[{].*?([)\]}]|$)|[,;|@].*|-\+-.*"
    r"|\+\w.*|-(via|on|with(out)?|no|using|by|from|at|hosted|served)-.*"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = f"(?:{'|'.join(_MONTHS)})(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?"
_MM, _YEAR = "(?:0[1-9]|1[0-2])", r"(?P<year>20[2-4]\d)"
_MONTH, _SHORT_MONTH = (f"(?P<month>{n}|{_MONTH_NAME})" for n in (_MM, "1[0-2]|0?[1-9]"))
# GPT-4 July 2024 is of no day, but 4th July and 4Jul are.
_DAY, _SHORT_DAY = (
    rf"(?P<day>[12]\d|3[01]|{n})(?:st|nd|rd|th)?" for n in ("0[1-9]|[1-9](?=[a-z])", "0?[1-9]")
)
# Dates at the end of a name, tried in this order.
_DATES = [
    re.compile(f"(?P<name>.+?)-{date}")
    for date in (
        rf"{_YEAR}-?{_SHORT_MONTH}(?:-?{_SHORT_DAY}(?:-v\d+)?)?",
        # 07/08/2024 is a day in July or in August.
        f"{_MM}-{_MM}-{_YEAR}",
        f"(?:{_DAY}-?)?{_MONTH}-?{_YEAR}",
        f"(?P<month>{_MONTH_NAME})-?{_SHORT_DAY}(?:-?{_YEAR})?",
        f"{_MONTH}-?{_DAY}(?:-?{_YEAR})?",
        f"{_DAY}-?(?P<month>{_MONTH_NAME})",
        _YEAR,
        rf"(?P<year>2[2-9])(?P<month>{_MM})(?P<day>[0-3]\d)?",
        # Some snapshots are numbered. They differ from each other and from any date.
        r"(?P<year>(?P<month>(?P<day>00\d)))",
    )
]
_SLASHED = re.compile(r"\b(?=[\d./]*20\d\d)(\d+)[./](\d+)[./](\d+)\b|(?<![\w.])(\d\d?)/(20\d\d)\b")
# Below a name with a number, a version or a run of that model: gpt-4o/v1.
_BELOW = re.compile(rf"(\d[^/]*)/-?(ours?-)?(v|version|{_RUN})?-?\d*$")
_START = re.compile(f"(?:{_PROVIDER})(?:-|$)")
_END = re.compile(
    rf"(?!{_OTHER_MODEL}$)(.+?)-({_PROVIDER}|{_EDITION}|medium|\d+-?shots?"
    rf"|((\d+(st|nd|rd|th)|first|second|third)-)?{_RUN}(-\d{{1,3}})?|seed-\d+)"
)
_NO_MODEL = re.compile("|".join((_PROVIDER, _EDITION, _RUN, _VERSION, _MONTH_NAME)))


class _ModelName(NamedTuple):
    """A model's name in small letters and digits, also without remarks, and a snapshot's date.

    A name is two texts: with its words in their order, and with its numbers first. A point is
    before a size that follows a number.
    """

    name: frozenset[str]
    bare: frozenset[str]
    #: Year, month and day; each is empty if it is not in the name.
    date: tuple[str, ...]

    def same(self, other: _ModelName) -> bool:
        """Return whether both may name one model; a name without a date has any."""
        dates = all(a == b or "" in (a, b) for a, b in zip(self.date, other.date, strict=False))
        # Two remarks may say which of two models it is: Llama 3 (8B) and Llama 3 (70B).
        alike = self.name & (other.name | other.bare) or self.bare & other.name
        return bool(alike) and dates


def _model_name(name: str) -> _ModelName:
    text = re.sub(r"-w/(o\b)?-?", "-with-", fold_name(name)).replace("chatgpt", "gpt")
    text = re.sub(r"\+(?=\d\d-?20\d\d)", "+-", _SERVED.sub("", text))
    text = _FINE_TUNED.sub(lambda found: found[1] or "", text)
    # The plus of Command R+ is part of its name.
    whole, date = _last_part(re.sub(r"\+(?!\w)", "-plus", text))
    bare, bare_date = _last_part(re.sub(r"\+(?!\w)", "-plus", _REMARK.sub("", text)))
    return _ModelName(whole, bare or whole, date or bare_date)


def _last_part(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the name and the date at the end of a path such as openrouter/openai/gpt-4o-mini."""
    text = _SLASHED.sub(lambda date: "-".join(f"{n:0>2}" for n in date.groups() if n), text)
    parts = [_without_ends(part) for part in _BELOW.sub(r"\1", text).split("/")]
    return next((part for part in reversed(parts) if part[0]), (frozenset(), ()))


def _without_ends(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Remove providers, editions, runs and the date of a snapshot from the ends of a name."""
    text, date = "-".join(re.findall(r"[^\W_]+", text)), tuple[str, ...]()
    while True:
        if found := _START.match(text):
            text = text[found.end() :]
        elif found := _END.fullmatch(text):
            text = found[1]
        elif not date and (dated := _dated(text)):
            text, date = dated
        else:
            break
    # Claude 3.5 Sonnet is also called Claude Sonnet 3.5.
    words = text.split("-")
    numbers, others = [w for w in words if w.isdigit()], [w for w in words if not w.isdigit()]
    # GPT-35 is GPT-3.5, but Qwen2.5-7B is not Qwen2-57B.
    ordered = ("-".join(words), "-".join([*numbers, *sorted(others)]))
    joined = (re.sub(r"(?<=\d)-(?=\d+b(?:-|$))", ".", name).replace("-", "") for name in ordered)
    return frozenset(joined) - {""}, date


def _dated(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the words before a date, and the date; None if there is none."""
    for pattern in _DATES:
        if found := pattern.fullmatch(text):
            year, month, day = (found.groupdict().get(k) or "" for k in ("year", "month", "day"))
            if month[:3] in _MONTHS:
                month = str(_MONTHS.index(month[:3]) + 1)
            return found["name"], (year[-2:], month.removeprefix("0"), day.removeprefix("0"))
    return None


def same_model(one: str, other: str) -> bool:
    """Return whether two names may be of the same model, or of a model and its snapshot.

    Letter case, blanks, punctuation, the order of words, look-alikes (see `fold_name`), the
    provider before or after the name, the date of a snapshot, the size of its thinking, the format
    of its weights, the run, the prompt or the deployment at the end, fine-tuning, and remarks (in
    parentheses, after a comma or colon, or with "via") make no difference.
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


def names_model(snapshot: str, models: Collection[str]) -> bool:
    """Return whether a snapshot says which model it is, rather than a version, a format or nothing.

    It is the name of one of the models that state it (see `same_model`), or a long hash. If at most
    two models state it, it may also have a word of three letters and a digit that are no version,
    edition, format, provider, server, run or date. What more of them state is rather where or when
    they were asked.

    Examples
    --------
    >>> [names_model(text, ["A", "B"]) for text in ("gpt-4.1-2025-04-14", "not known", "v1.0")]
    [True, False, False]
    """
    if any(same_model(snapshot, model) for model in models):
        return True
    text = _REMARK.sub("", _SERVED.sub("", snapshot_key(snapshot)))
    words = "-".join(word for word in re.findall(r"\w+", text) if not _NO_MODEL.fullmatch(word))
    while found := _dated(words):
        words = found[0]
    named = re.search(r"[^\W\d_]{3}", words) and re.search(r"\d", words)
    return bool((named and len(models) <= _MOST_OF_ONE) or _HASH.search(text))


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
        asked = _model_name(name if self._names else "")
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
