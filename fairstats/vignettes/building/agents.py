"""Query the agent of a stage and read its replies, with one retry for a broken reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from fairstats.asking.item_prompts import Prompt
from fairstats.asking.models import Ask, Model
from fairstats.asking.replies import Replies, Reply
from fairstats.asking.tasks import Task
from fairstats.vignettes.building.declared_agents import Declared
from fairstats.vignettes.building.messages import again_message, prompts_sha256
from fairstats.vignettes.building.replies import BrokenReply, Refused

T = TypeVar("T")

#: ``read`` if the reply has the requested form; ``unread`` if it does not, even after the retry.
Status = Literal["read", "refused", "unread", "failed"]
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Got(Generic[T]):
    """Result of one request.

    Parameters
    ----------
    status : {"read", "refused", "unread", "failed"}
        Whether there is a value.
    value : object or None
        The requested value.
    detail : str
        The reason why there is no value.
    tokens : int
        Tokens sent and received, as far as the service counts them.
    """

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
        """Query these prompts; replies in the journal of this name are reused.

        Parameters
        ----------
        prompts : sequence of Prompt
            Each for a different item, attribute or group.
        read : callable
            Reads a reply to a prompt; raises `BrokenReply` or `Refused`.
        name : str
            The journal's name: stage and round.
        once : bool
            Whether to accept a broken reply instead of retrying with a description of the error.
        all_may_fail : bool
            Whether it is not an error if every request fails permanently.

        Returns
        -------
        dict
            The result of each, by item, attribute and group.

        Raises
        ------
        Unfinished, InputError, KeyboardInterrupt
            As in `fairstats.asking.models.Ask`.
        """
        if not prompts:
            return {}
        facts = {**self.facts, "stage": name, "model": self.declared.model}
        model = self.declared.connected(keep_failures=self.keep_failures, progress=self.progress)
        with model.opened(self.folder / name, facts) as ask:
            tasks = [Task(prompt, 0) for prompt in prompts]
            replies = self._ask(tasks, model, ask, all_may_fail=all_may_fail, title=name)
            got = {task.variant: _read(replies[task.slot], task.prompt, read) for task in tasks}
            broken = [t.prompt for t in tasks if got[t.variant].status == "unread" and not once]
            # The second request is a separate sample, so it gets a different seed.
            again = [
                Task(replace(p, text=again_message(p.text, got[_key(p)].detail)), 1) for p in broken
            ]
            if again:
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


def _key(prompt: Prompt) -> Key:
    return prompt.item.item_id, prompt.attribute, prompt.group


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
