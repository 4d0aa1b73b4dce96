"""Ask many tasks at once, within limits of time and money, and keep each reply before it counts."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from fairstats._lib.problems import InputError, Problem
from fairstats.asking.models import Reply, Slot, Task
from fairstats_collectors.chat_requests import Service
from fairstats_collectors.journal import Journal
from fairstats_collectors.models import Price

Stop = Literal["interrupted", "budget", "disk", "service"]
Counted = Callable[[Sequence[Reply]], None]
# So many in a row that the service turned away, and at least twice as many as are under way.
_TURNED_AWAY = 20


class Pace:
    """Spreads requests evenly over the minute, by their number and by their tokens.

    With even spacing and no saving up, every span of one minute is within the limit. Services
    differ in the start of their minute.
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        self._a_request = 60 / requests if requests else 0.0
        self._a_token = 60 / tokens if tokens else 0.0
        self._free = 0.0

    def delay(self, tokens: int) -> float:
        """Take the next turn; the seconds until then."""
        if not (self._a_request or self._a_token):
            return 0.0
        now = time.monotonic()
        start = max(now, self._free)
        self._free = start + max(self._a_request, self._a_token * tokens)
        return start - now


class Budget:
    """Track the money spent, and decide whether another request fits.

    A request is only made if the money would suffice for it and every other one in progress, each
    with a reply of full length. So the limit holds, as far as the service's token counts and the
    price are right. Charges for failed requests are not known here.

    Parameters
    ----------
    price : Price or None
        None if it is not known.
    max_cost : float, optional
        The spending limit of the whole campaign, in dollars.
    max_tokens : int
        The longest reply.
    """

    def __init__(self, price: Price | None, max_cost: float | None, max_tokens: int) -> None:
        self.price = price
        self.max_cost = max_cost
        self.spent = 0.0
        self._max_tokens = max_tokens
        self._held: dict[tuple[str, str, str, int], float] = {}
        self._on_hold = 0.0
        # The largest share by which a message had more tokens than was estimated.
        self._excess = 1.0

    def worst(self, task: Task) -> float:
        """Return the highest possible cost of a request, as far as it can be known."""
        if self.price is None:
            return 0.0
        return self.price.of(task.prompt_tokens * self._excess, self._max_tokens)

    def take(self, task: Task) -> bool:
        """Set money aside for a request; False if there is not enough."""
        if self.max_cost is None:
            return True
        worst = self.worst(task)
        if self.spent + self._on_hold + worst > self.max_cost:
            return False
        self._held[task.slot] = worst
        self._on_hold += worst
        return True

    def pay(self, task: Task, reply: Reply) -> None:
        """Replace the amount reserved for a reply with its cost."""
        self._on_hold -= self._held.pop(task.slot, 0.0)
        if reply.prompt_tokens is not None:
            self._excess = max(self._excess, reply.prompt_tokens / max(1, task.prompt_tokens))
        self.spent += self.cost(task, reply)

    def cost(self, task: Task, reply: Reply) -> float:
        """Return the cost of a reply: by the service's token counts, else as estimated."""
        if self.price is None or reply.status == "failed":
            return 0.0
        sent = task.prompt_tokens if reply.prompt_tokens is None else reply.prompt_tokens
        back = self._max_tokens if reply.completion_tokens is None else reply.completion_tokens
        return self.price.of(sent, back)


def estimate(tasks: Sequence[Task], max_tokens: int, price: Price | None) -> str:
    """State the most that these requests need, as far as it can be known."""
    sent, back = sum(task.prompt_tokens for task in tasks), len(tasks) * max_tokens
    cost = "cost unknown (no price known)"
    if price is not None:
        cost = f"at most about ${price.of(sent, back):,.4f}"
    return (
        f"{len(tasks):,} requests, about {sent:,} prompt tokens (estimated at 4 characters per "
        f"token), at most {back:,} completion tokens, {cost}"
    )


@dataclass(eq=False)
class Campaign:
    """Run the tasks that have no reply yet."""

    service: Service
    journal: Journal
    _: KW_ONLY
    pace: Pace
    budget: Budget
    concurrency: int

    #: Why it ended before its time, if it did.
    stopped: Stop | None = field(default=None, init=False)
    #: Replies that came and could not be committed.
    unkept: list[Reply] = field(default_factory=list, init=False)
    _finished: list[Reply] = field(default_factory=list, init=False)
    _workers: list[asyncio.Task[None]] = field(default_factory=list, init=False)
    _done: bool = field(default=False, init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def run(self, tasks: Sequence[Task], *, settle: bool, counted: Counted) -> None:
        """Send these tasks, the first one alone.

        Parameters
        ----------
        tasks : sequence of Task
            The tasks without a reply; at least one.
        settle : bool
            Whether the first one shows which settings the service accepts.
        counted : callable
            Gets the replies that were committed.

        Raises
        ------
        InputError
            If the first request is rejected for a reason that applies to all others.
        """
        async with self.service.client:
            with self._interruptible(), ThreadPoolExecutor(1) as thread:
                first, rest = tasks[0], iter(tasks[1:])
                if not self.budget.take(first):
                    return self.stop("budget")
                try:
                    reply = await self.service.ask_first(first, settle=settle)
                except asyncio.CancelledError:
                    return self.stop("interrupted")
                note_names(self.journal, self.service)
                committing = asyncio.create_task(self._commit(thread, counted))
                self._finish(first, reply)
                try:
                    async with asyncio.TaskGroup() as group:
                        for _ in range(min(self.concurrency, len(tasks) - 1)):
                            self._workers.append(group.create_task(self._work(rest)))
                finally:
                    self._done = True
                    self._news.set()
                    await committing

    def stop(self, why: Stop) -> None:
        """Begin no other request; those under way may finish, since they are paid for."""
        self.stopped = self.stopped or why
        self._stopping.set()

    async def _work(self, tasks: Iterator[Task]) -> None:
        for task in tasks:
            tokens = task.prompt_tokens + int(self.service.settings["max_tokens"])
            if delay := self.pace.delay(tokens):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), delay)
            if self.stopped:
                return
            if not self.budget.take(task):
                return self.stop("budget")
            self._finish(task, await self.service.ask(task))
            if self.service.turned_away >= max(_TURNED_AWAY, 2 * self.concurrency):
                self.stop("service")

    def _finish(self, task: Task, reply: Reply) -> None:
        self.budget.pay(task, reply)
        self._finished.append(reply)
        self._news.set()

    async def _commit(self, thread: ThreadPoolExecutor, counted: Counted) -> None:
        """Commit finished replies repeatedly; later ones are in the next commit."""
        loop = asyncio.get_running_loop()
        while not self._done or self._finished:
            await self._news.wait()
            self._news.clear()
            replies, self._finished = self.unkept + self._finished, []
            if not replies:
                continue
            try:
                await loop.run_in_executor(thread, self.journal.keep, replies)
            except sqlite3.Error:
                # Tried again with the next replies, at the latest with the last.
                self.unkept = replies
                self.stop("disk")
            else:
                self.unkept = []
                counted(replies)
                if not self.journal.has_reserve:
                    self.stop("disk")

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C stop cleanly; a second one drops the requests that are under way."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        main = asyncio.current_task()

        def interrupted() -> None:
            again = self.stopped == "interrupted"
            self.stop("interrupted")
            if self._workers:
                for worker in self._workers if again else ():
                    worker.cancel()
            elif main:
                main.cancel()  # the first request, while no other is waiting

        try:
            loop.add_signal_handler(signal.SIGINT, interrupted)
        except NotImplementedError:  # Windows: Ctrl-C drops requests in progress
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)


def note_names(journal: Journal, service: Service) -> None:
    """Store the service's names of the settings: they are part of the keys."""
    journal.note(_names(service), json.dumps(service.names))


def noted_names(journal: Journal, service: Service) -> dict[str, str | None] | None:
    """Return the service's names of the settings in an earlier run; None without such a run."""
    noted = journal.campaign().get(_names(service))
    if noted is None:
        return None
    try:
        return TypeAdapter(dict[str, str | None]).validate_json(noted, strict=True)
    except ValidationError:
        raise journal.not_ours(_names(service), noted) from None


def _names(service: Service) -> str:
    return f"names at {service.endpoint} of {service.model}"


@dataclass(frozen=True)
class Reconciliation:
    """List every expected (item, attribute, group, sample), and its outcome.

    Missing are those that were not sent, or have no reply yet.
    """

    answered: int
    failed: Mapping[Slot, str]
    missing: tuple[Slot, ...]

    def __str__(self) -> str:
        expected = self.answered + len(self.failed) + len(self.missing)
        return (
            f"{expected:,} expected: {self.answered:,} answered, {len(self.failed):,} failed, "
            f"{len(self.missing):,} missing"
        )


def reconcile(tasks: Iterable[Task], replies: Mapping[Slot, Reply]) -> Reconciliation:
    """Compare the expected replies with the existing ones."""
    answered, failed, missing = 0, {}, []
    for task in tasks:
        reply = replies.get(task.slot)
        if reply is None:
            missing.append(task.slot)
        elif reply.status == "failed":
            failed[task.slot] = reply.text
        else:
            answered += 1
    return Reconciliation(answered, failed, tuple(missing))


class Unfinished(InputError):
    """Raised if a collection ends early; the journal has all replies so far."""


def unfinished(campaign: Campaign, result: Reconciliation) -> BaseException:
    """Describe how to continue a campaign that ended early."""
    budget, service = campaign.budget, campaign.service
    remedies = {
        "missing": ("some replies did not arrive", "run it again to request the rest"),
        "interrupted": ("interrupted", "run it again to continue"),
        "budget": (
            f"stopped before exceeding the budget of ${budget.max_cost} "
            f"(${budget.spent:,.4f} so far)",
            "run it again with a larger max_cost to continue",
        ),
        "disk": ("the disk is full", "free some space, then run it again to continue"),
        "service": (
            f"the service rejected {service.turned_away} requests in a row",
            f"{service.advice}, then run it again to continue",
        ),
    }
    message, remedy = remedies[campaign.stopped or "missing"]
    said = f"{message}; {result}; all answers so far are stored"
    if campaign.unkept:
        said = f"{message}; {result}; {len(campaign.unkept)} replies could not be stored"
    problem = Problem(str(campaign.journal.path), said, remedy)
    if campaign.stopped == "interrupted":
        return KeyboardInterrupt(str(problem))
    return Unfinished([problem])


@contextmanager
def show_progress(
    title: str, *, total: int, there: int, budget: Budget, shown: bool
) -> Iterator[Counted]:
    """Show a bar with the rate, the errors, the cost and the time left.

    Of the `total` replies, `there` existed before.

    Yields
    ------
    callable
        To be called with each batch of committed replies.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        "{task.fields[rate]:.1f}/s, {task.fields[errors]} errors{task.fields[cost]}",
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, refresh_per_second=4, disable=not shown) as bar:
        task = bar.add_task(
            escape(title), total=total, completed=there, rate=0.0, errors=0, cost=""
        )
        begin = time.monotonic()
        count = errors = 0

        def counted(replies: Sequence[Reply]) -> None:
            nonlocal count, errors
            count += len(replies)
            errors += sum(reply.status == "failed" for reply in replies)
            cost = "" if budget.price is None else f", ${budget.spent:,.4f}"
            rate = count / (time.monotonic() - begin)
            bar.update(task, completed=there + count, rate=rate, errors=errors, cost=cost)

        yield counted
