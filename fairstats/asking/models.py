"""What building and rating need of a model: a collector gives it, found by its entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypedDict

from fairstats.asking.replies import Replies, Reply
from fairstats.asking.tasks import Task


class AskingOptions(TypedDict, total=False):
    """How to ask; the defaults are those of `connect`.

    Parameters
    ----------
    base_url : str, optional
        The service; by default that of ``models.toml``, ``OPENAI_BASE_URL``, or OpenAI's own. The
        key comes from ``OPENAI_API_KEY`` or the variable that ``models.toml`` names; a service
        named by its address may go without one.
    temperature : float
        Sent where the service takes it.
    concurrency : int
        How many requests are under way at once. The embedded model takes one at a time.
    rpm, tpm : int, optional
        The most requests, and the most tokens, a minute.
    price : tuple of float, optional
        Dollars for a million prompt and completion tokens, by default those of ``models.toml``.
    max_cost : float, optional
        The most that the whole campaign may cost, in dollars; needs a price.
    timeout : float
        Seconds until a request that gets no reply is asked again.
    retries : int
        How often a request is asked again by the client, which waits as long as the service says.
    keep_failures : bool
        Whether requests that failed for good in an earlier run are left as they are.
    batch : bool
        Ask through the service's Batch API (``/files`` and ``/batches``).
    poll_s : float
        Seconds between two looks at a batch.
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
    """Asks requests whose replies are not there yet, and keeps each reply before it counts."""

    def __call__(
        self,
        tasks: Sequence[Task],
        *,
        title: str,
        check: Callable[[Replies], None] = ...,
        all_may_fail: bool = ...,
        max_cost: float | None = ...,
    ) -> tuple[Replies, bool]:
        """Return the reply to every request, and whether any was asked now.

        `check` gets the replies that are there, before anything is asked; `all_may_fail` says
        whether it is no error that every request fails for good.
        """
        ...


class Model(Protocol):
    """A model, and on what terms it is asked."""

    @property
    def name(self) -> str:
        """What the model is called."""
        ...

    @property
    def max_cost(self) -> float | None:
        """The most that may be spent, in dollars."""
        ...

    @property
    def progress(self) -> bool:
        """Whether to say how far it is."""
        ...

    def cost(self, task: Task, reply: Reply) -> float:
        """What a reply cost, in dollars."""
        ...

    def estimate(self, tasks: Sequence[Task]) -> str:
        """What these requests need at most, as far as can be told."""
        ...

    def print_estimate(self, tasks: Sequence[Task]) -> None:
        """Print the estimate and the first message."""
        ...

    def opened(self, path: Path, campaign: Mapping[str, str]) -> AbstractContextManager[Ask]:
        """Open the store of replies next to a file; no other process can write to it meanwhile.

        `campaign` says what the replies are of: those of another campaign are refused.
        """
        ...


#: Gives a model by its name, ``max_tokens`` and `AskingOptions`.
Connect = Callable[..., Model]
