"""The options of asking a model, which collecting answers and asking for ratings share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from fairstats._lib.problems import InputError, Problem

BaseUrl = Annotated[
    str | None, typer.Option(help="An OpenAI-compatible server; its key in OPENAI_API_KEY.")
]
MaxTokens = Annotated[int | None, typer.Option(help="The longest reply.")]
Temperature = Annotated[float, typer.Option(help="Where the service takes it.")]
Concurrency = Annotated[int, typer.Option(help="Requests under way at once.")]
RequestsAMinute = Annotated[int | None, typer.Option(help="The most requests a minute.")]
TokensAMinute = Annotated[int | None, typer.Option(help="The most tokens a minute.")]
Price = Annotated[
    str | None, typer.Option(help="PROMPT,COMPLETION in dollars for a million tokens.")
]
MaxCost = Annotated[float | None, typer.Option(help="Stop before it costs more.")]
Timeout = Annotated[float, typer.Option(help="Seconds until a request is repeated.")]
Retries = Annotated[int, typer.Option(help="How often a request is repeated.")]
KeepFailures = Annotated[
    bool, typer.Option("--keep-failures", help="Do not ask again what failed before.")
]
Batch = Annotated[bool, typer.Option("--batch", help="Ask through the service's Batch API.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be asked, and its cost.")]


@contextmanager
def stoppable() -> Iterator[None]:
    """End with 130 where the user stops a campaign, and say what it said last."""
    try:
        yield
    except KeyboardInterrupt as interrupted:
        typer.echo(str(interrupted) or "interrupted", err=True)
        raise typer.Exit(130) from None


def read_price(text: str) -> tuple[float, float]:
    """Dollars for a million tokens of prompt and of completion."""
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError:
        prompt = completion = -1.0
    if not (0 <= prompt < 1e6 and 0 <= completion < 1e6):
        remedy = "write dollars for a million tokens of prompt and of completion, e.g. 2,8"
        raise InputError([Problem("--price", f"{text!r} is no price", remedy)])
    return prompt, completion
