"""Limit a campaign's use of requests and tokens per minute, and of money."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from fairstats.asking.models import Reply, Task


@dataclass(frozen=True)
class Price:
    """Prices in dollars per million tokens.

    Examples
    --------
    >>> Price(2.0, 8.0).of(1_000_000, 500_000)
    6.0
    """

    prompt: float
    completion: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the cost of this many tokens in dollars."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


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


def estimate(tasks: Iterable[Task], max_tokens: int, price: Price | None) -> Estimate:
    """Estimate the needs of these requests."""
    tasks = list(tasks)
    sent, back = sum(task.prompt_tokens for task in tasks), len(tasks) * max_tokens
    return Estimate(len(tasks), sent, back, None if price is None else price.of(sent, back))


@dataclass(frozen=True)
class Estimate:
    """Hold the estimated needs of a campaign.

    Tokens of prompts are estimated at four characters each; replies are taken to have full length.
    """

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None

    def __str__(self) -> str:
        cost = (
            "cost unknown (no price known)"
            if self.cost is None
            else f"at most about ${self.cost:,.4f}"
        )
        return (
            f"{self.requests:,} requests, about {self.prompt_tokens:,} prompt tokens (estimated "
            f"at 4 characters per token), at most {self.completion_tokens:,} completion tokens, "
            f"{cost}"
        )
