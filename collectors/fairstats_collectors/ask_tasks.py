"""Query a service for the tasks with no reply in the journal, and store every reply."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fairstats._lib.problems import InputError, check_numbers, input_error, keyword, wrong
from fairstats.asking.models import Ask, AskingOptions, Replies, Reply, Shard, Task
from fairstats_collectors.batch import has_batch, run_batch
from fairstats_collectors.campaign import (
    Budget,
    Campaign,
    Pace,
    estimate,
    noted_names,
    reconcile,
    show_progress,
    unfinished,
)
from fairstats_collectors.chat_requests import Service
from fairstats_collectors.http_clients import endpoint_of, in_a_loop, make_client
from fairstats_collectors.journal import SUFFIX, Journal
from fairstats_collectors.models import (
    EMBEDDED,
    EMBEDDED_MODEL,
    KnownModel,
    Price,
    find_model,
    serve_embedded,
)

if TYPE_CHECKING:
    import openai


@dataclass(frozen=True)
class Terms:
    """Hold how to query a `fairstats.asking.models.Model`.

    Attributes that are not listed here are those of `AskingOptions`.

    Parameters
    ----------
    model : str
        A known model, its name at the service, or ``"embedded"``.
    max_tokens : int
        The longest reply, without thinking tokens.

    Raises
    ------
    InputError
        If an argument cannot be used, or no known service has the model.
    """

    model: str
    _: KW_ONLY
    max_tokens: int
    base_url: str | None = None
    temperature: float = 0
    concurrency: int = 8
    rpm: int | None = None
    tpm: int | None = None
    price: tuple[float, float] | None = None
    max_cost: float | None = None
    timeout: float = 120
    retries: int = 5
    keep_failures: bool = False
    batch: bool = False
    poll_s: float = 30
    progress: bool = True

    def __post_init__(self) -> None:
        check_numbers(
            max_tokens=self.max_tokens, concurrency=self.concurrency, rpm=self.rpm, tpm=self.tpm
        )
        if not 0 < self.timeout < float("inf"):
            remedy = "use a positive number of seconds"
            raise wrong("timeout", "is out of range", remedy, value=self.timeout)
        for name, number in (("temperature", self.temperature), ("retries", self.retries)):
            if not 0 <= number < float("inf"):
                raise wrong(name, "must not be negative", "use 0 or more", value=number)
        # An unknown model is reported here, too.
        if self.known.price is None and self.max_cost is not None:
            remedy = f"give {keyword('price')}, dollars per million tokens of prompt and completion"
            message = f"the price of {self.model} is unknown"
            raise wrong("max_cost", message, remedy, value=self.max_cost)

    @property
    def here(self) -> bool:
        """Return whether it is the embedded model."""
        return self.model == EMBEDDED and self.base_url is None

    @property
    def name(self) -> str:
        """Return the model's name."""
        return EMBEDDED_MODEL if self.here else self.model

    @cached_property
    def known(self) -> KnownModel:
        """Return how to query the model."""
        if self.here:
            known = KnownModel(EMBEDDED_MODEL)
        else:
            known = find_model(self.model, base_url=self.base_url)
        return known if self.price is None else replace(known, price=Price(*self.price))

    @property
    def longest(self) -> int:
        """Return the longest reply, with thinking tokens."""
        return self.max_tokens + self.known.thinking

    @cached_property
    def budget(self) -> Budget:
        """Return the budget, with what was spent."""
        return Budget(self.known.price, self.max_cost, self.longest)

    def cost(self, task: Task, reply: Reply) -> float:
        """Return the cost of a reply, in dollars."""
        return self.budget.cost(task, reply)

    def estimate(self, tasks: Sequence[Task]) -> str:
        """State the most that these requests need, as far as it can be known."""
        return estimate(tasks, self.longest, self.known.price)

    def print_estimate(self, tasks: Sequence[Task]) -> None:
        """Print the planned requests and their possible cost, and show the first message."""
        print(self.estimate(tasks), "", _printable(tasks[0].prompt.text), sep="\n")

    @contextmanager
    def opened(self, path: Path, campaign: Mapping[str, str]) -> Iterator[Ask]:
        """Open the journal next to a file, and yield the object that queries and stores replies."""
        with open_journal(path, campaign) as journal:
            yield partial(ask_tasks, journal=journal, terms=self)


def connect(model: str, *, max_tokens: int, **options: Unpack[AskingOptions]) -> Terms:
    """Return how to query a model, see `Terms`."""
    return Terms(model, max_tokens=max_tokens, **options)


@contextmanager
def open_journal(
    path: Path, facts: Mapping[str, str], shard: Shard | None = None
) -> Iterator[Journal]:
    """Open the journal next to a file; delete an empty one on exit."""
    part = f"-shard-{shard.number}-of-{shard.of}" if shard else ""
    campaign = {**facts, "shard": f"{shard.number}/{shard.of}" if shard else "1/1"}
    with Journal(path.with_name(f"{path.stem}{part}{SUFFIX}"), campaign) as journal:
        try:
            yield journal
        finally:
            if not journal.has_replies and not has_batch(journal):
                journal.discard()


def ask_tasks(
    tasks: Sequence[Task],
    *,
    journal: Journal,
    terms: Terms,
    title: str,
    check: Callable[[Replies], None] = lambda there: None,
    all_may_fail: bool = False,
    max_cost: float | None = None,
) -> tuple[Replies, bool]:
    """Send the tasks that have no reply in the journal.

    `tasks` are all of the campaign. `check` gets the existing replies before any request. With
    `all_may_fail`, it is acceptable that all requests fail for good, as a few of many. `max_cost`
    is in dollars (default: that of `terms`). The result is the reply to every task, and whether any
    request was made now.
    """
    if max_cost is not None:
        terms = replace(terms, max_cost=max_cost)
    known, budget = terms.known, terms.budget
    with ExitStack() as stack:
        if terms.here:
            known = stack.enter_context(serve_embedded())
            endpoint = f"{EMBEDDED}/{known.snapshot}"  # its port is another every time
            client, hide = make_client(known.base_url, key="", proxies=False)
        else:
            client, hide = _client(known, timeout=terms.timeout, retries=terms.retries)
            endpoint = hide(endpoint_of(str(client.base_url)))
        # 0 and 0.0 are the same setting, and have to be the same in a reply's key.
        whole = int(terms.temperature) == terms.temperature
        service = Service(
            client,
            model=known.model,
            endpoint=endpoint,
            settings={
                "temperature": int(terms.temperature) if whole else terms.temperature,
                "max_tokens": terms.longest,
            },
            names=dict(known.names),
            hide=hide,
            key_variable=known.key_variable,
        )
        noted = noted_names(journal, service)
        service.names.update(noted or {})
        there = _replies(service, tasks, journal)
        check(there)
        kept = {"answered", "refused", *(["failed"] if terms.keep_failures else [])}
        missing = [t for t in tasks if t.slot not in there or there[t.slot].status not in kept]
        if not missing:
            return there, False
        budget.spent = sum(budget.cost(t, there[t.slot]) for t in tasks if t.slot in there)
        campaign = Campaign(
            service,
            journal,
            pace=Pace(terms.rpm, terms.tpm),
            budget=budget,
            # The embedded model has one slot: a second request would only wait.
            concurrency=1 if terms.here else terms.concurrency,
        )
        if terms.batch:
            _run_batch(campaign, missing, noted is None, terms)
        else:
            with show_progress(
                title,
                total=len(tasks),
                there=len(tasks) - len(missing),
                budget=budget,
                shown=terms.progress,
            ) as counted:
                in_a_loop(campaign.run(missing, settle=noted is None, counted=counted))
        there = _replies(service, tasks, journal)
        result = reconcile(tasks, there)
        if terms.progress:
            print(result, file=sys.stderr)
        if result.missing or (campaign.stopped and result.failed):
            raise unfinished(campaign, result)
        if not result.answered and not all_may_fail:
            reason = there[tasks[0].slot].text
            problem = service.problem(reason, "no request succeeded, so no answers were stored")
            raise InputError([problem])
        return there, True


def _client(
    known: KnownModel, *, timeout: float, retries: int
) -> tuple[openai.AsyncOpenAI, Callable[[str], str]]:
    key = os.environ.get(known.key_variable, "").strip()
    if known.snapshot and not key:
        remedy = f"set it to the API key for {known.model}"
        raise input_error(known.key_variable, "is not set", remedy)
    return make_client(
        known.base_url or os.environ.get("OPENAI_BASE_URL") or None,
        key=key,
        key_variable=known.key_variable,
        timeout=timeout,
        retries=retries,
    )


def _replies(service: Service, tasks: Sequence[Task], journal: Journal) -> Replies:
    """Return the journal's replies to these tasks, with their current settings."""
    replies = journal.replies()
    found = {task.slot: replies.get(service.key(task)) for task in tasks}
    return {slot: reply for slot, reply in found.items() if reply is not None}


def _printable(text: str) -> str:
    """Return text without characters that control a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _run_batch(campaign: Campaign, tasks: list[Task], settle: bool, terms: Terms) -> None:
    import openai

    budget, service, journal = campaign.budget, campaign.service, campaign.journal
    most = budget.spent + sum(budget.worst(task) for task in tasks)
    if budget.max_cost is not None and most > budget.max_cost and not has_batch(journal):
        return campaign.stop("budget")

    def say(text: str) -> None:
        if terms.progress:
            print(text, file=sys.stderr)

    try:
        asking = run_batch(service, journal, tasks, settle=settle, poll_s=terms.poll_s, say=say)
        in_a_loop(asking)
        return None
    except KeyboardInterrupt:
        return campaign.stop("interrupted")  # the batch itself goes on
    except openai.OpenAIError as error:
        said = service.hide(f"{type(error).__name__}: {error}")
    raise InputError([service.problem(said, "check whether the service has a Batch API")])
