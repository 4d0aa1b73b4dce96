"""Show the stage of a long command on a terminal, and how long each stage took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from fairstats._lib.stages import Watch


@contextmanager
def watching(*, timings: bool) -> Iterator[Watch]:
    """Give what a task tells its stages to; print their times at the end if they are wanted."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    started: dict[str, float] = {}
    console = Console(stderr=True)
    # Without a thread, because pages are drawn in copies of this process.
    with Live(console=console, auto_refresh=False, transient=True) as line:

        def watch(stage: str, done: int = 0, parts: int = 0) -> None:
            started.setdefault(stage, time.perf_counter())
            if console.is_terminal:
                text = f"{stage}: {done} of {parts}" if parts else stage
                line.update(Text(f"{text} ..."), refresh=True)

        yield watch
    if timings:
        ends = [*list(started.values())[1:], time.perf_counter()]
        for (stage, start), end in zip(started.items(), ends, strict=True):
            typer.echo(f"{end - start:7.1f} s  {stage}", err=True)
