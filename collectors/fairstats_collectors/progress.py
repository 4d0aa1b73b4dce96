"""Show a campaign's progress on the standard error output, if wanted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fairstats.asking.models import Reply
from fairstats_collectors.limits import Budget

Counted = Callable[[Sequence[Reply]], None]


@contextmanager
def show_progress(
    title: str, *, total: int, there: int, budget: Budget, shown: bool
) -> Iterator[Counted]:
    """Show a bar with the rate, the errors, the cost and the time left.

    Parameters
    ----------
    title : str
        The title of the bar.
    total, there : int
        The number of expected replies, and of those that existed before.
    budget : Budget
        The budget, with the money spent.
    shown : bool
        Whether to show anything.

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
