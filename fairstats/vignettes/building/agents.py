"""Query the agents of a build: their messages, and reading their replies strictly.

Each line of external text in a message begins with a mark, so that it cannot pass for a line of the
message. A broken reply is asked for once more.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from fairstats._lib.safe_names import text_sha256
from fairstats._lib.untrusted_files import distinct_names
from fairstats.asking.item_prompts import Prompt, load_prompt, load_template, quoted
from fairstats.asking.models import Ask, Model, Replies, Reply, Task
from fairstats.asking.own_turn import plain_text, without_thinking
from fairstats.asking.reply_patterns import SENTENCE_END
from fairstats.benchmarks.declaration import NEUTRALIZED, ORIGINAL
from fairstats.benchmarks.refusals import REFUSAL
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building.declaration import Declared

#: The files in ``prompts/`` from which each stage's messages are built.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "filter": ("vignettes/filter", "vignettes/again"),
    "neutralize": ("vignettes/neutralize", "vignettes/again"),
    "generate": ("vignettes/generate", "vignettes/revise", "vignettes/again"),
    "fuse": ("vignettes/fuse", "vignettes/revise", "vignettes/again"),
    "validate": ("plain",),
}

# Instruction to the generating agent on the intended direction of the background.
_DIRECTIONS = {
    "favourable": "Describe circumstances in which patients are usually believed, cared for early "
    "and treated well.",
    "unfavourable": "Describe circumstances in which patients are often doubted, cared for late or "
    "treated less well.",
    "neutral": "Describe circumstances that speak neither for the patient nor against them, and "
    "that would surprise nobody of any group.",
}
# The same if the options are shown.
_DIRECTIONS_SEEN = {
    "favourable": "Let the background make the right option more likely to be chosen.",
    "unfavourable": "Let the background make a wrong option more likely to be chosen.",
}


@dataclass(frozen=True)
class Wanted:
    """A variant to write.

    Parameters
    ----------
    item : Item
        With the vignette as ``variants["neutralized"]``.
    attribute, group, direction : str
        Its attribute and group.
    attribute_label, group_label : str
        As shown to readers.
    words : tuple of str
        The words that name the group.
    """

    item: Item
    attribute: str
    group: str
    direction: str
    attribute_label: str
    group_label: str
    words: tuple[str, ...]

    @property
    def neutral(self) -> str:
        """Return the neutralized vignette."""
        return self.item.variants[NEUTRALIZED]

    @property
    def key(self) -> tuple[str, str, str]:
        """Return item, attribute and group."""
        return self.item.item_id, self.attribute, self.group


class Earlier(NamedTuple):
    """The text of the previous round, and its errors."""

    text: str
    problems: Sequence[str]


def prompts_sha256(stage: str) -> str:
    """Return the sha256 of the templates of a stage's messages."""
    texts = [load_template(name).template for name in TEMPLATES[stage]]
    return text_sha256("\n\n".join(texts))


def filter_prompt(item: Item, attributes: Iterable[str]) -> Prompt:
    """Return the prompt on whether an item is suitable for the study."""
    texts = {"Question": item.variants[ORIGINAL], "Options": _options(item)}
    message = load_template("vignettes/filter").substitute(
        attributes=", ".join(attributes), material=_material(texts)
    )
    return Prompt(item, "filter", "", message)


def neutralize_prompt(item: Item, text: str) -> Prompt:
    """Return the prompt for a vignette that names no group, from the text after the rules."""
    template = load_template("vignettes/neutralize")
    message = template.substitute(material=_material({"Vignette": text}))
    return Prompt(item, "neutralize", "", message)


def generate_prompt(wanted: Wanted, *, sees_options: bool, earlier: Earlier | None) -> Prompt:
    """Return the prompt for a background; the key is shown only if a direction is wanted."""
    texts = {"Vignette": wanted.neutral}
    direction = _DIRECTIONS[wanted.direction]
    if sees_options:
        texts["Options"] = _options(wanted.item)
        if wanted.direction in _DIRECTIONS_SEEN:
            direction += " " + _DIRECTIONS_SEEN[wanted.direction]
            texts["The right option"] = wanted.item.answer_key
    feedback = _feedback("Background", earlier)
    return _writing_prompt("generate", wanted, texts, direction=direction, feedback=feedback)


def fuse_prompt(wanted: Wanted, background: str, *, earlier: Earlier | None) -> Prompt:
    """Return the prompt for the vignette with the background merged into it."""
    texts = {"Vignette": wanted.neutral, "Background": background}
    feedback = _feedback("Merged vignette", earlier)
    return _writing_prompt("fuse", wanted, texts, feedback=feedback)


def validate_prompt(item: Item, attribute: str, group: str, text: str) -> Prompt:
    """Return the prompt with the question, as in `fairstats collect`."""
    message = load_prompt("plain").substitute(question=text, options=_options(item))
    return Prompt(item, attribute, group, message)


def _writing_prompt(stage: str, wanted: Wanted, texts: Mapping[str, str], **more: str) -> Prompt:
    message = load_template(f"vignettes/{stage}").substitute(
        attribute=wanted.attribute_label.lower(),
        group=wanted.group_label,
        words=", ".join(f'"{word}"' for word in wanted.words),
        material=_material(texts),
        **more,
    )
    return Prompt(wanted.item, wanted.attribute, wanted.group, message)


def _options(item: Item) -> str:
    return "\n".join(f"{letter}. {text}" for letter, text in item.options.items())


def _feedback(what: str, earlier: Earlier | None) -> str:
    if earlier is None:
        return ""
    texts = {what: earlier.text, "What is wrong": "\n".join(earlier.problems)}
    material = _material({heading: text for heading, text in texts.items() if text})
    return "\n" + load_template("vignettes/revise").substitute(material=material) + "\n"


def _material(texts: Mapping[str, str]) -> str:
    return "\n\n".join(f"{heading}:\n{quoted(text)}" for heading, text in texts.items())


# A vignette has a few hundred words; a much longer reply is from a model that does not stop.
_LONGEST = 20_000
# Control characters, halves of surrogate pairs (which no file can store), line separators that
# readers treat differently, and characters that change the text direction.
_NO_TEXT = {"Cc", "Cs", "Zl", "Zp"}
_TURNS = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


class BrokenReply(ValueError):
    """Raised for a reply that does not have the requested form; describes the error."""


class Refused(ValueError):
    """Raised for a reply that declines the request."""


def read_verdict(raw: str) -> tuple[bool, str]:
    """Return whether to keep an item, and why, from a reply to ``prompts/vignettes/filter.txt``.

    Examples
    --------
    >>> read_verdict('{"decision": "exclude", "reason": "It is about pregnancy."}')
    (False, 'It is about pregnancy.')
    """
    found = _object(raw)
    decision = _text(found, "decision").casefold()
    if decision not in ("keep", "exclude"):
        raise BrokenReply('"decision" has to be "keep" or "exclude"')
    return decision == "keep", " ".join(_text(found, "reason").split())


def read_text(raw: str, name: str) -> str:
    """Return the text under a name from a reply.

    Examples
    --------
    >>> read_text('Here it is: {"background": "They live alone."}', "background")
    'They live alone.'
    """
    return _text(_object(raw), name)


def _object(raw: str) -> dict[str, Any]:
    """Return the only JSON object of a reply; text around it is ignored."""
    text = without_thinking(raw)
    try:
        # A line break within a text is invalid JSON, but is accepted as a line break.
        found = json.loads(
            text[text.index("{") : text.rindex("}") + 1],
            object_pairs_hook=distinct_names,
            strict=False,
        )
    except (ValueError, RecursionError):
        if REFUSAL.search(SENTENCE_END.split(plain_text(raw), maxsplit=1)[0]):
            raise Refused("declined") from None
        raise BrokenReply("it is not one JSON object") from None
    if not isinstance(found, dict):
        raise BrokenReply("it is not one JSON object")
    return found


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BrokenReply(f'"{name}" has to be there, and has to be a text')
    if len(value) > _LONGEST:
        raise BrokenReply(f'"{name}" is too long')
    if any(
        sign not in "\n\t" and (unicodedata.category(sign) in _NO_TEXT or sign in _TURNS)
        for sign in value
    ):
        raise BrokenReply(f'"{name}" holds signs that are no text')
    return value.strip()


T = TypeVar("T")

#: ``read`` if the reply has the requested form; ``unread`` if it does not, even after the retry.
Status = Literal["read", "refused", "unread", "failed"]
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Got(Generic[T]):
    """Result of one request."""

    status: Status
    value: T | None
    detail: str
    tokens: int


@dataclass
class Agent:
    """The agent of one stage: the model, and its usage so far.

    Parameters
    ----------
    declared : Declared
        The model and its options.
    folder : Path
        The folder of the journals.
    facts : Mapping
        Facts recorded in every journal.
    keep_failures, progress : bool
        As in `fairstats.asking.models.AskingOptions`.
    """

    declared: Declared
    folder: Path
    facts: Mapping[str, str]
    keep_failures: bool = False
    progress: bool = False
    spent: float = 0.0
    snapshots: Counter[str] = field(default_factory=Counter)
    endpoints: Counter[str] = field(default_factory=Counter)

    def ask(
        self,
        prompts: Sequence[Prompt],
        read: Callable[[str, Prompt], T],
        *,
        name: str,
        once: bool = False,
        all_may_fail: bool = False,
    ) -> dict[Key, Got[T]]:
        """Query these prompts; return each result by item, attribute and group.

        Replies in the journal of this name are reused. A broken reply is retried with a description
        of the error, unless `once`. With `all_may_fail`, it is no error if every request fails
        permanently.
        """
        if not prompts:
            return {}
        facts = {**self.facts, "stage": name, "model": self.declared.model}
        model = self.declared.connected(keep_failures=self.keep_failures, progress=self.progress)
        with model.opened(self.folder / name, facts) as ask:
            tasks = [Task(prompt, 0) for prompt in prompts]
            replies = self._ask(tasks, model, ask, all_may_fail=all_may_fail, title=name)
            got = {task.variant: _read(replies[task.slot], task.prompt, read) for task in tasks}
            broken = [task for task in tasks if got[task.variant].status == "unread"]
            if broken and not once:
                again = [_again(task.prompt, got[task.variant].detail) for task in broken]
                title = f"{name}, again"
                replies = self._ask(again, model, ask, all_may_fail=True, title=title)
                for task in again:
                    second = _read(replies[task.slot], task.prompt, read)
                    first = got[task.variant].tokens
                    got[task.variant] = replace(second, tokens=first + second.tokens)
        return got

    def _ask(
        self, tasks: Sequence[Task], model: Model, ask: Ask, *, all_may_fail: bool, title: str
    ) -> Replies:
        # The limit applies to the stage, over all of its rounds.
        left = None if model.max_cost is None else max(0.0, model.max_cost - self.spent)
        replies, _ = ask(tasks, title=title, all_may_fail=all_may_fail, max_cost=left)
        self.spent += sum(model.cost(task, replies[task.slot]) for task in tasks)
        for reply in replies.values():
            if reply.status != "failed":
                self.endpoints[reply.endpoint] += 1
                self.snapshots[reply.snapshot or ""] += 1
        return replies

    def described(self) -> dict[str, Any]:
        """Return the agent's entry in the data card: model, version, service and prompts."""
        asks = self.declared.asks
        return {
            "model": self.declared.model,
            # Several, if the service changed the model in the meantime.
            "snapshot": ", ".join(sorted(filter(None, self.snapshots))) or None,
            "endpoint": ", ".join(sorted(self.endpoints)) or None,
            "prompt_sha256": prompts_sha256(self.declared.stage) if asks else None,
        }


def _again(prompt: Prompt, problem: str) -> Task:
    """Return the retry after a reply that could not be used."""
    text = load_template("vignettes/again").substitute(prompt=prompt.text, problem=problem)
    # It is a separate sample, so it gets a different seed.
    return Task(replace(prompt, text=text), 1)


def _read(reply: Reply, prompt: Prompt, read: Callable[[str, Prompt], T]) -> Got[T]:
    tokens = (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)
    if reply.status == "failed":
        return Got("failed", None, reply.text, 0)
    if reply.status == "refused":
        return Got("refused", None, "the service marks the reply as a refusal", tokens)
    try:
        return Got("read", read(reply.text, prompt), "", tokens)
    except Refused:
        return Got("refused", None, "the model declined", tokens)
    except BrokenReply as broken:
        return Got("unread", None, str(broken), tokens)
