"""The interface to a model: requests, replies, and how a collector sends them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, TypedDict

from fairstats._lib.problems import input_error
from fairstats.asking.item_prompts import Prompt

# English text in the tokenizers of large services; only an estimate, and labelled as one.
_CHARACTERS_A_TOKEN = 4

#: Item, attribute, group and sample.
Slot = tuple[str, str, str, int]


@dataclass(frozen=True)
class Task:
    """One request: a sample of a variant of an item."""

    prompt: Prompt
    sample: int

    @cached_property
    def prompt_sha256(self) -> str:
        """Return the sha256 of the prompt."""
        return hashlib.sha256(self.prompt.text.encode()).hexdigest()

    @property
    def variant(self) -> tuple[str, str, str]:
        """Return item, attribute and group."""
        return self.prompt.item.item_id, self.prompt.attribute, self.prompt.group

    @property
    def slot(self) -> Slot:
        """Return the key of a single answer: item, attribute, group and sample."""
        return *self.variant, self.sample

    @property
    def prompt_tokens(self) -> int:
        """Return the approximate number of tokens of the prompt."""
        return -(-len(self.prompt.text) // _CHARACTERS_A_TOKEN)


@dataclass(frozen=True)
class Shard:
    """One of several parts into which a campaign is split; numbers are from 1.

    Examples
    --------
    >>> [Shard(k, 3).holds("item-1") for k in (1, 2, 3)].count(True)
    1
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``k/n``, with k from 1 to n."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        number, of = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= of:
            raise input_error(
                f"shard = {text!r}", "is not a valid part", "write k/n, from 1/n to n/n"
            )
        return cls(number, of)

    def holds(self, item_id: str) -> bool:
        """Return whether an item, with all of its variants and samples, is in this part."""
        digest = hashlib.sha256(item_id.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1


def list_tasks(
    prompts: Iterable[Prompt], *, samples: int = 1, shard: Shard | None = None
) -> list[Task]:
    """Return the requests of a campaign, ordered by prompt and then by sample."""
    return [
        Task(prompt, sample)
        for prompt in prompts
        if shard is None or shard.holds(prompt.item.item_id)
        for sample in range(samples)
    ]


class Reply(NamedTuple):
    """A stored reply, or the reason why there is none.

    Parameters
    ----------
    key : str
        The hash of everything that affects the reply.
    model, endpoint : str
        The model's name at the service; the service's host and path, without credentials.
    parameters : str
        The settings sent with the messages, as canonical JSON.
    item_id, attribute, variant : str
        The item and variant; `variant` is the group for which it is written.
    sample : int
        The repeat, from 0.
    prompt_sha256 : str
        Hash of the prompt.
    status : {"answered", "refused", "failed"}
        ``refused`` if the service marks the reply as a refusal; ``failed`` if there was no reply
        after all retries.
    text : str
        The raw reply; for a failure, the reason.
    snapshot : str or None
        The model as reported by the service.
    latency_s, prompt_tokens, completion_tokens : number or None
        As measured and reported.
    collected_at : str
        The time, in UTC.
    """

    key: str
    model: str
    endpoint: str
    parameters: str
    item_id: str
    attribute: str
    variant: str
    sample: int
    prompt_sha256: str
    status: str
    text: str
    snapshot: str | None
    latency_s: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    collected_at: str


#: The reply to each request.
Replies = dict[Slot, Reply]


class AskingOptions(TypedDict, total=False):
    """Options for queries; the defaults are those of `connect`.

    Parameters
    ----------
    base_url : str, optional
        The service; by default that of ``models.toml``, ``OPENAI_BASE_URL``, or OpenAI. The key
        comes from ``OPENAI_API_KEY`` or the variable named in ``models.toml``. A service given by
        address may work without a key.
    temperature : float
        Sent if the service accepts it.
    concurrency : int
        Number of concurrent requests. The embedded model takes one at a time.
    rpm, tpm : int, optional
        Maximum number of requests, and of tokens, per minute.
    price : tuple of float, optional
        Price in dollars per million prompt and completion tokens, by default those of
        ``models.toml``.
    max_cost : float, optional
        Maximum cost of the whole campaign, in dollars; needs a price.
    timeout : float
        Seconds until a request without a reply is repeated.
    retries : int
        Number of retries by the client, which waits as long as the service requests.
    keep_failures : bool
        Whether to keep requests that failed permanently in an earlier run, without a retry.
    batch : bool
        Use the service's Batch API (``/files`` and ``/batches``).
    poll_s : float
        Seconds between two checks of a batch.
    progress : bool
        Whether to show a progress bar on the standard error output.
    """

    base_url: str | None
    temperature: float
    concurrency: int
    rpm: int | None
    tpm: int | None
    price: tuple[float, float] | None
    max_cost: float | None
    timeout: float
    retries: int
    keep_failures: bool
    batch: bool
    poll_s: float
    progress: bool


class Ask(Protocol):
    """Sends requests without a reply so far, and stores each reply before it counts."""

    def __call__(
        self,
        tasks: Sequence[Task],
        *,
        title: str,
        check: Callable[[Replies], None] = ...,
        all_may_fail: bool = ...,
        max_cost: float | None = ...,
    ) -> tuple[Replies, bool]:
        """Return the reply to every request, and whether any was sent now.

        `check` gets the available replies before any request is sent. `all_may_fail` is whether it
        is not an error if every request fails permanently.
        """
        ...


class Model(Protocol):
    """A model with its options."""

    @property
    def name(self) -> str:
        """Return the model's name."""
        ...

    @property
    def max_cost(self) -> float | None:
        """Return the maximum cost, in dollars."""
        ...

    @property
    def progress(self) -> bool:
        """Return whether to report progress."""
        ...

    def cost(self, task: Task, reply: Reply) -> float:
        """Return the cost of a reply, in dollars."""
        ...

    def estimate(self, tasks: Sequence[Task]) -> str:
        """Return the estimated maximum usage of these requests."""
        ...

    def print_estimate(self, tasks: Sequence[Task]) -> None:
        """Print the estimate and the first prompt."""
        ...

    def opened(self, path: Path, campaign: Mapping[str, str]) -> AbstractContextManager[Ask]:
        """Open the store of replies next to a file; no other process can write to it meanwhile.

        `campaign` identifies the replies: those of another campaign are refused.
        """
        ...


#: Returns a model, given its name, ``max_tokens`` and `AskingOptions`.
Connect = Callable[..., Model]
