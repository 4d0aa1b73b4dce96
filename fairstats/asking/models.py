"""The interface to a model for building and rating; a collector provides it by entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypedDict

from fairstats.asking.replies import Replies, Reply
from fairstats.asking.tasks import Task


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
